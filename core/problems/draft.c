/* draft: see draft.h. The parts in order, declared lines, and the context's text. */
#include "core/problems/draft.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/lex.h"
#include "base/mem.h"
#include "core/problems/drafting.h"

/* --- declared lines: what follows the name is read by the reader of contexts -------------------------------------------------- */

static int read_line(const char *line, struct declared_line *ret_line, struct err *e)
{
	const char *at = line + strspn(line, " \t");
	size_t len = strlen(at);
	while (len && isspace((unsigned char)at[len - 1]))
		len--;
	struct declared_line x = { .kind = DECLARED_ENTRY };
	const char *name = at;
	if (strncmp(at, "local", 5) == 0 && (at[5] == ' ' || at[5] == '\t')) {
		x.kind = DECLARED_LOCAL;
		name = at + 5 + strspn(at + 5, " \t");
	} else if (strncmp(at, "launch", 6) == 0 && at[6 + strspn(at + 6, " ")] == '(') {
		x.kind = DECLARED_LAUNCH;
	}
	size_t n = x.kind == DECLARED_LAUNCH || isdigit((unsigned char)*name) ? 0 : lex_word(name);
	char sign = name[n + strspn(name + n, " \t")];
	bool good = x.kind == DECLARED_LAUNCH || (n && sign == (x.kind == DECLARED_LOCAL ? '=' : ':'));
	if (!good || memchr(at, '\n', len) || memchr(at, '\r', len) || strstr(at, "```"))
		return err_set(e, ERR_INPUT,
			       "\"%.200s\" is not a declaration: expected \"NAME: …\" as under inputs: or tune:, \"local NAME = "
			       "…\" or \"launch(…)\" as in host code, on one line",
			       at);
	x.name = mem_strn(name, n);
	x.line = mem_strn(at, len);
	*ret_line = x;
	return 0;
}

static struct declared_line *find(struct declared *d, enum declared_kind kind, const char *name)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->at[i].kind == kind && strcmp(d->at[i].name, name) == 0)
			return &d->at[i];
	return NULL;
}

int draft_declared_read(const char *const *lines, size_t count, struct declared *ret_declared, struct err *e)
{
	struct declared d = { 0 };
	for (size_t i = 0; i < count; i++) {
		struct declared_line x;
		int rc = read_line(lines[i], &x, e);
		if (rc < 0) {
			draft_declared_fini(&d);
			return rc;
		}
		/* Launches run one after another, and none replaces another. */
		struct declared_line *before = x.kind == DECLARED_LAUNCH ? NULL : find(&d, x.kind, x.name);
		if (before == NULL) {
			*MEM_PUSH(d.at, d.count) = x;
			continue;
		}
		free(before->line);
		before->line = x.line;
		free(x.name);
	}
	*ret_declared = d;
	return 0;
}

void draft_declared_fini(struct declared *d)
{
	for (size_t i = 0; i < d->count; i++) {
		free(d->at[i].name);
		free(d->at[i].line);
	}
	free(d->at);
	*d = (struct declared){ 0 };
}

const char *draft_declared_take(struct declared *d, enum declared_kind kind, const char *name)
{
	struct declared_line *x = find(d, kind, name);
	if (x == NULL)
		return NULL;
	x->used = true;
	return x->line;
}

int draft_declared_all_used(const struct declared *d, struct err *e)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct declared_line *x = &d->at[i];
		if (x->used)
			continue;
		switch (x->kind) {
		case DECLARED_ENTRY:
			return err_set(e, ERR_INPUT,
				       "\"%s\" names no kernel parameter, no variable of the host's code and no size of a block: "
				       "expected NAME: … as under inputs: or tune:",
				       x->line);
		case DECLARED_LOCAL: return err_set(e, ERR_INPUT, "\"%s\": no question asks for that name", x->line);
		case DECLARED_LAUNCH:
			return err_set(e, ERR_INPUT, "\"%s\": the file has its own launches, which are used as they are", x->line);
		}
	}
	return 0;
}

/* --- the draft while it is made ----------------------------------------------------------------------------------------------- */

void draft_note(struct drafting *d, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	*MEM_PUSH(d->out->notes, d->out->note_count) = mem_fmtv(fmt, ap);
	va_end(ap);
}

void draft_question(struct drafting *d, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	*MEM_PUSH(d->out->questions, d->out->question_count) = mem_fmtv(fmt, ap);
	va_end(ap);
}

struct drafting_entry *draft_entry(struct drafting *d, const char *name)
{
	for (size_t i = 0; i < d->entry_count; i++)
		if (strcmp(d->entries[i].name, name) == 0)
			return &d->entries[i];
	return NULL;
}

struct drafting_tune *draft_tune(struct drafting *d, const char *name)
{
	for (size_t i = 0; i < d->tune_count; i++)
		if (strcmp(d->tune[i].name, name) == 0)
			return &d->tune[i];
	return NULL;
}

bool draft_own_value(const struct drafting *d, const struct drafting_entry *x, struct value *ret_value)
{
	const struct source_variable *v = *x->host ? draft_source_variable(&d->source, x->host) : NULL;
	if (x->value.to > x->value.from)
		return draft_expression_value(&d->source, &d->source.tokens, x->value, NULL, ret_value);
	return v && !v->dim3 && draft_expression_value(&d->source, draft_source_tokens(&d->source, v), v->value, NULL, ret_value);
}

/* --- the context's text ------------------------------------------------------------------------------------------------------- */

/* Numbers come first, because extents mention them; declared numbers keep their order, because their sets may mention earlier ones.
 */
static void write_inputs(struct drafting *d, struct buf *out)
{
	for (size_t i = 0; i < d->declared.count; i++) {
		const struct drafting_entry *x =
			d->declared.at[i].kind == DECLARED_ENTRY ? draft_entry(d, d->declared.at[i].name) : NULL;
		if (x && x->declared && !x->array)
			buf_adds(out, x->line);
	}
	for (int arrays = 0; arrays < 2; arrays++)
		for (size_t i = 0; i < d->entry_count; i++) {
			const struct drafting_entry *x = &d->entries[i];
			if (x->line && x->array == arrays && !x->scratch && (arrays || !x->declared))
				buf_adds(out, x->line);
		}
}

static int make(struct drafting *d, const char *const *declared, size_t count, struct err *e)
{
	struct buf text = BUF_INIT;
	int rc = draft_declared_read(declared, count, &d->declared, e);
	if (rc < 0)
		return rc;
	draft_inputs_name(d);
	draft_launches_write(d);
	draft_inputs_write(d);
	rc = draft_declared_all_used(&d->declared, e);
	if (rc < 0)
		return rc;
	if (d->tune_count)
		draft_note(d, "tuning parameters have the file's values only: widen them where the kernel works with others");
	draft_note(d, "inputs are random: declare = zeros, ones, normal or random(lo, hi) where that does not fit; flops: and "
		      "bytes: give rates");
	buf_addf(&text, "---\nkernel: %s\nbackend: %s\ninputs:\n", d->source.kernels[0].name, d->backend);
	write_inputs(d, &text);
	for (size_t i = 0; i < d->tune_count; i++)
		buf_addf(&text, "%s%s", i ? "" : "tune:\n", d->tune[i].line ? d->tune[i].line : "");
	buf_addf(&text, "---\n```%s\n", d->backend);
	/* Device code without the #define lines of what became tuning parameters. */
	for (const char *line = buf_text(&d->source.device); *line;) {
		size_t n = strcspn(line, "\n") + 1;
		bool drop = false;
		for (size_t i = 0; i < d->dropped_count; i++) {
			const char *at = line + strspn(line, "# \t");
			size_t word = strlen(d->dropped[i]);
			if (*line == '#' && strncmp(at, "define", 6) == 0) {
				at += 6 + strspn(at + 6, " \t");
				drop |= strncmp(at, d->dropped[i], word) == 0 && strchr(" \t", at[word]) != NULL;
			}
		}
		if (!drop)
			buf_add(&text, line, n);
		line += n;
	}
	buf_adds(&text, "```\n```macros\n```\n```lua host\n");
	for (size_t i = 0; i < d->entry_count; i++)
		if (d->entries[i].scratch && d->entries[i].line)
			buf_adds(&text, d->entries[i].line);
	buf_addf(&text, "%s%s```\n", buf_text(&d->locals), buf_text(&d->host));
	d->out->text = buf_steal(&text);
	if (d->out->question_count == 0)
		draft_original_check(d);
	draft_losses(d);
	return 0;
}

int draft_make(const char *source, const char *backend, const char *const *declared, size_t declared_count, struct draft *ret_draft,
	       struct err *e)
{
	struct drafting d = { .backend = backend, .locals = BUF_INIT, .host = BUF_INIT, .out = ret_draft };
	*ret_draft = (struct draft){ 0 };
	int rc = draft_source_read(source, &d.source, e);
	if (rc == 0) {
		rc = make(&d, declared, declared_count, e);
		draft_source_fini(&d.source);
	}
	for (size_t i = 0; i < d.entry_count; i++) {
		free(d.entries[i].name);
		free(d.entries[i].host);
		free(d.entries[i].type_text);
		free(d.entries[i].line);
	}
	free(d.entries);
	for (size_t i = 0; i < d.tune_count; i++) {
		free(d.tune[i].name);
		free(d.tune[i].line);
	}
	free(d.tune);
	mem_free_texts(d.dropped, d.dropped_count);
	draft_expression_names_fini(&d.names);
	draft_declared_fini(&d.declared);
	buf_fini(&d.locals);
	buf_fini(&d.host);
	if (rc < 0)
		draft_fini(ret_draft);
	return rc;
}

void draft_fini(struct draft *d)
{
	mem_free_texts(d->questions, d->question_count);
	mem_free_texts(d->notes, d->note_count);
	free(d->text);
	*d = (struct draft){ 0 };
}
