/* drafting: see drafting.h. */
#include "core/problems/drafting.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void drafting_fini(struct drafting *d)
{
	for (size_t i = 0; i < d->entry_count; i++) {
		free(d->entries[i].name);
		free(d->entries[i].host);
		free(d->entries[i].type_text);
		free(d->entries[i].line);
	}
	free(d->entries);
	for (size_t i = 0; i < d->tune_count; i++) {
		free(d->tune[i].name);
		free(d->tune[i].line);
	}
	free(d->tune);
	for (size_t i = 0; i < d->dropped_count; i++)
		free(d->dropped[i]);
	free(d->dropped);
	expression_names_fini(&d->names);
	declared_fini(&d->declared);
	buf_fini(&d->locals);
	buf_fini(&d->host);
}

void drafting_note(struct drafting *d, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	*MEM_PUSH(d->out->notes, d->out->note_count) = mem_fmtv(fmt, ap);
	va_end(ap);
}

void drafting_question(struct drafting *d, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	*MEM_PUSH(d->out->questions, d->out->question_count) = mem_fmtv(fmt, ap);
	va_end(ap);
}

struct drafting_entry *drafting_entry(struct drafting *d, const char *name)
{
	for (size_t i = 0; i < d->entry_count; i++)
		if (strcmp(d->entries[i].name, name) == 0)
			return &d->entries[i];
	return NULL;
}

struct drafting_tune *drafting_tune(struct drafting *d, const char *name)
{
	for (size_t i = 0; i < d->tune_count; i++)
		if (strcmp(d->tune[i].name, name) == 0)
			return &d->tune[i];
	return NULL;
}

bool drafting_own_value(const struct drafting *d, const struct drafting_entry *x, struct value *ret_value)
{
	const struct source_variable *v = *x->host ? source_variable(&d->source, x->host) : NULL;
	if (x->value.to > x->value.from)
		return expression_value(&d->source, &d->source.tokens, x->value, NULL, ret_value);
	return v && !v->dim3 && expression_value(&d->source, source_tokens(&d->source, v), v->value, NULL, ret_value);
}
