/* params: one assignment of execution parameters; see params.h. Used by everything above core/context. */
#include "core/context/params.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "core/context/context.h"

struct params *params_new(void)
{
	return MEM_NEW(struct params);
}

void params_free(struct params *p)
{
	if (p == NULL)
		return;
	for (size_t k = 0; k < p->count; k++)
		free(p->at[k].name);
	free(p->at);
	free(p);
}

const struct param *params_find(const struct params *p, const char *name)
{
	for (size_t k = 0; k < p->count; k++)
		if (strcmp(p->at[k].name, name) == 0)
			return &p->at[k];
	return NULL;
}

static struct param *slot(struct params *p, const char *name, bool tuning)
{
	struct param *at = (struct param *)params_find(p, name);
	if (at == NULL) {
		at = MEM_PUSH(p->at, p->count);
		*at = (struct param){ .name = mem_str(name) };
	}
	at->tuning = tuning;
	return at;
}

void params_set_int(struct params *p, const char *name, bool tuning, int64_t value)
{
	struct param *at = slot(p, name, tuning);
	at->is_float = false;
	at->i = value;
	at->f = 0;
}

void params_set_float(struct params *p, const char *name, bool tuning, double value)
{
	int64_t whole;
	if (value_int(value_of_float(value), &whole)) {
		params_set_int(p, name, tuning, whole);
		return;
	}
	struct param *at = slot(p, name, tuning);
	at->is_float = true;
	at->i = 0;
	at->f = value;
}

static void set_copy(struct params *p, const struct param *from)
{
	if (from->is_float)
		params_set_float(p, from->name, from->tuning, from->f);
	else
		params_set_int(p, from->name, from->tuning, from->i);
}

struct params *params_copy(const struct params *p)
{
	struct params *copy = params_new();
	for (size_t k = 0; k < p->count; k++)
		set_copy(copy, &p->at[k]);
	return copy;
}

struct params *params_part(const struct params *p, bool tuning)
{
	struct params *part = params_new();
	for (size_t k = 0; k < p->count; k++)
		if (p->at[k].tuning == tuning)
			set_copy(part, &p->at[k]);
	return part;
}

struct params *params_merge(const struct params *p, const struct params *over)
{
	struct params *all = params_new();
	for (int tuning = 0; tuning < 2; tuning++) {
		for (size_t k = 0; k < p->count; k++)
			if (p->at[k].tuning == tuning)
				set_copy(all, &p->at[k]);
		for (size_t k = 0; k < over->count; k++)
			if (over->at[k].tuning == tuning)
				set_copy(all, &over->at[k]);
	}
	return all;
}

static bool same_value(const struct param *a, const struct param *b)
{
	return a->is_float == b->is_float && (a->is_float ? a->f == b->f : a->i == b->i);
}

bool params_contain(const struct params *p, const struct params *part)
{
	for (size_t k = 0; k < part->count; k++) {
		const struct param *found = params_find(p, part->at[k].name);
		if (found == NULL || !same_value(found, &part->at[k]))
			return false;
	}
	return true;
}

bool params_equal(const struct params *a, const struct params *b)
{
	return a->count == b->count && params_contain(a, b);
}

void param_value(const struct param *p, struct buf *out)
{
	char text[40];
	if (!p->is_float) {
		buf_addf(out, "%lld", (long long)p->i);
		return;
	}
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, p->f);
		if (strtod(text, NULL) == p->f)
			break;
	}
	buf_adds(out, text);
}

char *params_text(const struct params *p)
{
	struct buf out = BUF_INIT;
	for (size_t k = 0; k < p->count; k++) {
		buf_addf(&out, "%s%s=", k ? " " : "", p->at[k].name);
		param_value(&p->at[k], &out);
	}
	return buf_steal(&out);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */
static int unknown_name(const struct spec *s, const char *name, struct err *e)
{
	const char **names = MEM_NEW_N(const char *, s->var_count + 1);
	char hint[96];
	struct buf all = BUF_INIT;
	for (size_t k = 0; k < s->var_count; k++) {
		names[k] = s->vars[k].name;
		buf_addf(&all, "%s%s", k ? ", " : "", names[k]);
	}
	int rc = err_set(e, ERR_INPUT, "execution parameters: kernel %s has no parameter %s%s; it has %s", s->kernel, name,
			 suggest_hint(name, names, s->var_count, hint), s->var_count ? buf_text(&all) : "none");
	buf_fini(&all);
	free(names);
	return rc;
}

/* One "NAME=VALUE" of n characters. */
static int read_one(const struct spec *s, const char *text, size_t n, struct params *into, struct err *e)
{
	const char *eq = memchr(text, '=', n);
	if (eq == NULL)
		return err_set(e, ERR_INPUT, "execution parameters: expected NAME=VALUE, found `%.*s`", (int)n, text);
	char *name = mem_strn(text, (size_t)(eq - text)), *value = mem_strn(eq + 1, n - (size_t)(eq - text) - 1), *end, *end_f;
	int var = spec_find(s, name), rc = 0;
	errno = 0;
	long long i = strtoll(value, &end, 10);
	bool whole = end != value && *end == '\0' && errno == 0;
	double f = strtod(value, &end_f);
	if (var < 0)
		rc = unknown_name(s, name, e);
	else if (params_find(into, name))
		rc = err_set(e, ERR_INPUT, "execution parameters: %s is given twice", name);
	else if (whole)
		params_set_int(into, name, s->vars[var].tuning, i);
	else if (end_f != value && *end_f == '\0' && isfinite(f))
		params_set_float(into, name, s->vars[var].tuning, f);
	else
		rc = err_set(e, ERR_INPUT, "execution parameters: %s: expected a number, found `%s`", name, value);
	free(name);
	free(value);
	return rc;
}

int params_parse(const struct context *ctx, const char *text, bool complete, struct params **ret_params, struct err *e)
{
	const struct spec *s = context_spec(ctx);
	struct params *got = params_new(), *ordered = params_new();
	int rc = 0;
	for (const char *at = text; rc == 0;) {
		at += strspn(at, " ,\t\n");
		size_t n = strcspn(at, " ,\t\n");
		if (n == 0)
			break;
		rc = read_one(s, at, n, got, e);
		at += n;
	}
	for (size_t k = 0; rc == 0 && k < s->var_count; k++) {
		const struct param *p = params_find(got, s->vars[k].name);
		if (p)
			set_copy(ordered, p);
		else if (complete)
			rc = err_set(e, ERR_INPUT, "execution parameters: %s has no value in `%s`; give one as %s=VALUE",
				     s->vars[k].name, text, s->vars[k].name);
	}
	params_free(got);
	if (rc < 0)
		params_free(ordered);
	else
		*ret_params = ordered;
	return rc;
}
