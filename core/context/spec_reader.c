/* spec_reader: reads the fields of a front matter into a typed specification; see spec.h. Called by spec.c alone. */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/front_matter.h"
#include "base/lex.h"
#include "base/mem.h"
#include "core/context/input.h"
#include "core/context/output.h"

struct reader {
	const char *file;
	const struct front_matter *front;
	struct spec *spec;
	struct err *e;
};

/* Puts "FILE:LINE: FIELD: [NAME: ]" in front of the message. */
static int place(struct reader *r, int line, const char *field, const char *name)
{
	if (line == 0)
		return err_wrap(r->e, "%s: %s%s%s", r->file, field, name ? ": " : "", name ? name : "");
	return err_wrap(r->e, "%s:%d: %s%s%s", r->file, line, field, name ? ": " : "", name ? name : "");
}

static const struct front_matter_line *field_line(struct reader *r, const char *key)
{
	int at = front_matter_find(r->front, key);
	return at < 0 ? NULL : &r->front->lines[at];
}

typedef int (*entry_reader)(struct reader *r, const struct front_matter_line *l);

/* Calls `fn` for every entry or item of a field; with a one-line list, for that one. */
static int each(struct reader *r, const char *field, entry_reader fn)
{
	int at = front_matter_find(r->front, field), rc = 0;
	if (at >= 0 && r->front->lines[at].value[0])
		rc = fn(r, &r->front->lines[at]);
	if (rc < 0)
		return place(r, r->front->lines[at].line, field, NULL);
	for (int k = front_matter_next(r->front, at, at); k >= 0; k = front_matter_next(r->front, at, k)) {
		const struct front_matter_line *l = &r->front->lines[k];
		rc = fn(r, l);
		if (rc < 0)
			return place(r, l->line, field, l->kind == FRONT_MATTER_ENTRY ? l->key : NULL);
	}
	return 0;
}

/* --- texts -------------------------------------------------------------------------------------------------------- */
static int read_identity(struct reader *r)
{
	const struct front_matter_line *kernel = field_line(r, "kernel"), *backend = field_line(r, "backend");
	if (kernel == NULL || backend == NULL)
		return err_set(r->e, ERR_INPUT,
			       "%s:1: the front matter has no `%s:` field; expected kernel, backend and inputs at least", r->file,
			       kernel ? "backend" : "kernel");
	for (const char *c = kernel->value; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("_-.", *c))
			return err_set(r->e, ERR_INPUT, "%s:%d: kernel: `%s`: expected a name of letters, digits, '_', '-' and '.'",
				       r->file, kernel->line, kernel->value);
	if (strcmp(backend->value, "cuda") != 0 && strcmp(backend->value, "hip") != 0 && strcmp(backend->value, "hlsl") != 0)
		return err_set(r->e, ERR_INPUT, "%s:%d: backend: expected cuda, hip or hlsl, found `%s`", r->file, backend->line,
			       backend->value);
	r->spec->kernel = mem_str(kernel->value);
	r->spec->backend = mem_str(backend->value);
	return 0;
}

static bool is_one_of(const char *word, const char *const *list)
{
	while (*list && strcmp(*list, word) != 0)
		list++;
	return *list != NULL;
}

/* `strict` or `tensor:IN/ACC`. */
static int read_precision(struct reader *r)
{
	static const char *const ins[] = { "f32", "f16", "bf16", "tf32", "e4m3", "e5m2", "i8", "u8", NULL };
	static const char *const accs[] = { "f16", "f32", "f64", "i32", NULL };
	const struct front_matter_line *l = field_line(r, "precision");
	struct spec *s = r->spec;
	int end = 0;
	s->precision_text = mem_str(l ? l->value : "strict");
	if (strcmp(s->precision_text, "strict") == 0)
		return 0;
	if (sscanf(s->precision_text, "tensor:%7[a-z0-9]/%7[a-z0-9]%n", s->precision_in, s->precision_acc, &end) == 2 &&
	    s->precision_text[end] == '\0' && is_one_of(s->precision_in, ins) && is_one_of(s->precision_acc, accs)) {
		s->precision = SPEC_TENSOR;
		return 0;
	}
	return err_set(r->e, ERR_INPUT,
		       "%s:%d: precision: expected strict or tensor:IN/ACC (tensor:f16/f32), found `%s`. IN: f32, f16, bf16, "
		       "tf32, e4m3, e5m2, i8, u8. ACC: f16, f32, f64, i32",
		       r->file, l->line, l->value);
}

static int read_options(struct reader *r, const struct front_matter_line *l)
{
	for (const char *at = l->value; *at;) {
		size_t n = strcspn(at, " ");
		*MEM_PUSH(r->spec->options, r->spec->option_count) = mem_strn(at, n);
		at += n + (at[n] == ' ');
	}
	return 0;
}

/* --- names -------------------------------------------------------------------------------------------------------- */
static int read_constant(struct reader *r, const struct front_matter_line *l)
{
	struct spec *s = r->spec;
	int rc = input_name(s, l->key, r->e);
	struct expr *x = NULL;
	if (rc == 0)
		rc = expr_parse(s->scope, l->value, strlen(l->value), &x, r->e);
	if (rc < 0)
		return rc;
	struct value *env = spec_env(s, NULL, NULL), v;
	enum value_status st = expr_eval(x, env, &v);
	if (st != VALUE_OK || v.kind == VALUE_BOOL)
		rc = err_set(r->e, ERR_INPUT, "`%s`: %s; a constant is a number made of numbers and earlier constants", l->value,
			     st != VALUE_OK ? value_status_text(st) : "a truth value");
	else
		*MEM_PUSH(s->constants, s->constant_count) =
			(struct spec_const){ .name = mem_str(l->key), .slot = expr_scope_add(s->scope, l->key), .value = v };
	free(env);
	expr_free(x);
	return rc;
}

/* The entry of inputs: with this name; NULL when there is none. */
static const struct front_matter_line *input_line(struct reader *r, const char *name, size_t len)
{
	int at = front_matter_find(r->front, "inputs");
	for (int k = front_matter_next(r->front, at, at); k >= 0; k = front_matter_next(r->front, at, k))
		if (strlen(r->front->lines[k].key) == len && strncmp(r->front->lines[k].key, name, len) == 0)
			return &r->front->lines[k];
	return NULL;
}

/* Length of NAME in "NAME.size", 0 for any other key. */
static size_t sized_length(const char *key)
{
	size_t n = strlen(key);
	return n > 5 && strcmp(key + n - 5, ".size") == 0 ? n - 5 : 0;
}

/* NAME.size makes NAME an array without brackets. */
static bool is_array(struct reader *r, const struct front_matter_line *l)
{
	char *size = mem_fmt("%s.size", l->key);
	bool sized = input_line(r, size, strlen(size)) != NULL;
	free(size);
	return sized_length(l->key) == 0 && (sized || input_is_array(l->value));
}

static int read_scalar(struct reader *r, const struct front_matter_line *l)
{
	size_t n = sized_length(l->key);
	if (is_array(r, l))
		return 0;
	if (n == 0)
		return input_scalar(r->spec, l->key, l->value, l->line, r->e);
	if (input_line(r, l->key, n))
		return input_var(r->spec, l->key, false, DTYPE_I64, l->value, l->line, r->e);
	return err_set(r->e, ERR_INPUT, "no array %.*s is declared", (int)n, l->key);
}

static int read_array(struct reader *r, const struct front_matter_line *l)
{
	struct spec *s = r->spec;
	struct spec_input in = { .is_array = is_array(r, l) };
	int rc = 0;
	if (in.is_array) {
		in.index = s->array_count;
		rc = input_array(s, l->key, l->value, l->line, r->e);
	} else {
		in.index = (size_t)spec_find(s, l->key);
	}
	*MEM_PUSH(s->inputs, s->inputs_len) = in;
	return rc;
}

static int read_tune(struct reader *r, const struct front_matter_line *l)
{
	int rc = input_name(r->spec, l->key, r->e);
	return rc < 0 ? rc : input_var(r->spec, l->key, true, DTYPE_I32, l->value, l->line, r->e);
}

static int read_inputs(struct reader *r)
{
	bool output = false;
	int rc = each(r, "inputs", read_scalar);
	if (rc == 0)
		rc = each(r, "inputs", read_array);
	if (rc < 0)
		return rc;
	for (size_t k = 0; k < r->spec->array_count; k++) {
		struct spec_array *a = &r->spec->arrays[k];
		output = output || a->role != PLAN_IN;
		if (output_resolve(r->spec, a, r->e) < 0)
			return place(r, a->line, "inputs", a->name);
	}
	if (!output)
		return err_set(r->e, ERR_INPUT,
			       "%s:%d: inputs: no array is declared `out` or `inout`; without an output nothing can be checked "
			       "(write `C: out f32[n, n]`)",
			       r->file, field_line(r, "inputs") ? field_line(r, "inputs")->line : 1);
	return 0;
}

/* --- rules and expressions ---------------------------------------------------------------------------------------- */
static int read_rule(struct reader *r, const struct front_matter_line *l, bool requires)
{
	struct spec *s = r->spec;
	struct spec_rule rule = { .line = l->line };
	int rc = expr_parse(s->scope, l->value, strlen(l->value), &rule.expr, r->e);
	if (rc < 0)
		return rc;
	size_t count;
	const uint16_t *slots = expr_slots(rule.expr, &count);
	for (size_t k = 0; k < count; k++) {
		rule.device = rule.device || (slots[k] >= s->device_slot && slots[k] < s->device_slot + SPEC_DEVICE_NAMES);
		for (size_t v = s->input_count; v < s->var_count; v++)
			rule.tuning = rule.tuning || s->vars[v].slot == slots[k];
	}
	rule.text = mem_str(l->value);
	if (requires && rule.tuning)
		rc = err_set(r->e, ERR_INPUT, "`%s` mentions a tuning parameter; write it below where:", l->value);
	if (requires)
		*MEM_PUSH(s->requires, s->requires_count) = rule;
	else
		*MEM_PUSH(s->where, s->where_count) = rule;
	return rc;
}

static int read_where(struct reader *r, const struct front_matter_line *l)
{
	return read_rule(r, l, false);
}

static int read_requires(struct reader *r, const struct front_matter_line *l)
{
	return read_rule(r, l, true);
}

/* `NAME = SET {, NAME = SET}`. */
static int read_check(struct reader *r, const struct front_matter_line *l)
{
	struct spec *s = r->spec;
	struct spec_check *c = MEM_PUSH(s->checks, s->check_count);
	*c = (struct spec_check){ .sets = MEM_NEW_N(struct expr_set *, s->var_count + 1), .line = l->line };
	for (const char *at = l->value; *at;) {
		size_t n = lex_until(at, ","), eq = strcspn(at, "=");
		char *name = front_matter_collapse(at, eq < n ? eq : n);
		int var = spec_find(s, name), rc = 0;
		if (eq >= n)
			rc = err_set(r->e, ERR_INPUT, "`%s`: expected `NAME = VALUES`, as in n = {67, 257}", l->value);
		else if (var < 0 || s->vars[var].tuning)
			rc = err_set(r->e, ERR_INPUT, "%s is not a scalar input; check: gives further input sizes", name);
		else if (c->sets[var])
			rc = err_set(r->e, ERR_INPUT, "%s is given twice in `%s`", name, l->value);
		else
			rc = expr_set_parse(s->scope, at + eq + 1, n - eq - 1, &c->sets[var], r->e);
		free(name);
		if (rc < 0)
			return rc;
		at += n + (at[n] == ',');
		while (*at == ' ')
			at++;
	}
	return 0;
}

/* flops: and bytes: depend on inputs and constants only, so that they mean the same for every variant. */
static int read_amount(struct reader *r, const char *field, struct expr **ret_x)
{
	const struct front_matter_line *l = field_line(r, field);
	struct spec *s = r->spec;
	if (l == NULL)
		return 0;
	int rc = expr_parse(s->scope, l->value, strlen(l->value), ret_x, r->e);
	for (size_t v = s->input_count; rc == 0 && v < s->var_count; v++)
		if (expr_mentions(*ret_x, s->vars[v].slot))
			rc = err_set(r->e, ERR_INPUT,
				     "`%s` mentions tuning parameter %s; the amount of work must not depend on tuning", l->value,
				     s->vars[v].name);
	for (size_t k = 0; rc == 0 && k < SPEC_DEVICE_NAMES; k++)
		if (expr_mentions(*ret_x, s->device_slot + k))
			rc = err_set(r->e, ERR_INPUT, "`%s` mentions the device; the amount of work must not depend on it",
				     l->value);
	return rc < 0 ? place(r, l->line, field, NULL) : 0;
}

/* --- library: ----------------------------------------------------------------------------------------------------- */
#define GEMM "expected `gemm C = A * B`, the names of arrays, with ^T behind A or B when it is stored transposed"

static bool take_text(const char **at, const char *what)
{
	const char *next = *at + strspn(*at, " ");
	if (strncmp(next, what, strlen(what)) != 0)
		return false;
	*at = next + strlen(what);
	return true;
}

/* Reads the name of an array. */
static int take_array(const struct spec *spec, const char **at, size_t *ret_index, struct err *e)
{
	for (size_t k = 0; k < spec->array_count; k++) {
		const struct spec_array *a = &spec->arrays[k];
		if (!lex_take(at, a->name))
			continue;
		if (a->rank != 2 || dtype_size(a->type) < 2 || !dtype_is_float(a->type))
			return err_set(e, ERR_INPUT, "gemm: %s is not a matrix of f16, bf16, f32 or f64", a->name);
		*ret_index = k;
		return 0;
	}
	*at += strspn(*at, " ");
	return err_set(e, ERR_INPUT, "gemm: there is no array `%.*s`; " GEMM, (int)lex_word(*at), *at);
}

/* `gemm C = A * B`. The extents are expressions; plan_check compares them once they are numbers. */
static int parse_gemm(const struct spec *spec, const char *text, struct spec_gemm **ret_gemm, struct err *e)
{
	struct spec_gemm g = { .a = 0 };
	const char *at = text;
	bool good = lex_take(&at, "gemm");
	int rc = good ? take_array(spec, &at, &g.c, e) : 0;
	good = good && rc == 0 && take_text(&at, "=");
	if (good)
		rc = take_array(spec, &at, &g.a, e);
	g.a_transposed = good && rc == 0 && take_text(&at, "^T");
	good = good && rc == 0 && take_text(&at, "*");
	if (good)
		rc = take_array(spec, &at, &g.b, e);
	if (rc < 0)
		return rc;
	if (!good)
		return err_set(e, ERR_INPUT, "`%s`: " GEMM, text);
	g.b_transposed = take_text(&at, "^T");
	at += strspn(at, " ");
	if (*at)
		return err_set(e, ERR_INPUT, "`%s`: unexpected `%s`; " GEMM, text, at);
	if (spec->arrays[g.c].role == PLAN_IN)
		return err_set(e, ERR_INPUT, "gemm: %s is an input; the product must be an output", spec->arrays[g.c].name);
	if (spec->arrays[g.a].role == PLAN_OUT || spec->arrays[g.b].role == PLAN_OUT ||
	    spec->arrays[g.a].type != spec->arrays[g.b].type)
		return err_set(e, ERR_INPUT, "gemm: %s and %s must be inputs of one type", spec->arrays[g.a].name,
			       spec->arrays[g.b].name);
	*ret_gemm = mem_copy(&g, sizeof g);
	return 0;
}

static int read_library(struct reader *r)
{
	const struct front_matter_line *l = field_line(r, "library");
	int rc = l ? parse_gemm(r->spec, l->value, &r->spec->gemm, r->e) : 0;
	return rc < 0 ? place(r, l->line, "library", NULL) : 0;
}

int spec_reader_fill(const char *file, const struct front_matter *front, struct spec *s, struct err *e)
{
	static const struct {
		const char *field;
		entry_reader fn;
	} lists[] = { { "tune", read_tune },
		      { "where", read_where },
		      { "requires", read_requires },
		      { "check", read_check },
		      { "options", read_options } };
	struct reader reader = { .file = file, .front = front, .spec = s, .e = e }, *r = &reader;
	int rc = read_identity(r);
	if (rc == 0)
		rc = each(r, "constants", read_constant);
	s->device_slot = s->scope->count;
	for (size_t k = 0; k < SPEC_DEVICE_NAMES; k++) {
		char *name = mem_fmt("device.%s", spec_device_name(k));
		expr_scope_add(s->scope, name);
		free(name);
	}
	if (rc == 0)
		rc = read_inputs(r);
	for (size_t k = 0; rc == 0 && k < MEM_COUNT(lists); k++)
		rc = each(r, lists[k].field, lists[k].fn);
	if (rc == 0)
		rc = read_precision(r);
	if (rc == 0)
		rc = read_amount(r, "flops", &s->flops);
	if (rc == 0)
		rc = read_amount(r, "bytes", &s->bytes);
	if (rc == 0)
		rc = read_library(r);
	return rc;
}
