/* draft_original: compares a draft's launches with its file's. See drafting.h. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/context/context.h"
#include "core/context/host.h"
#include "core/problems/drafting.h"

enum { DIFFERENCES_MAX = 8 };

/* An array of the host and its buffer in the plan. */
struct pair {
	char *host;
	unsigned buffer;
};

struct comparing {
	struct drafting *d;
	const struct params *params;
	const struct plan *plan;
	struct expression_names numbers; /* the draft's values of names to which the file gives none */
	struct pair *pairs;
	size_t pair_count;
	struct buf unknown;        /* parts that could not be compared */
	size_t differences, sized; /* sized: arrays whose bytes were compared */
	char *at;                  /* the parameters, for messages */
};

/* --- the file's own values -------------------------------------------------------------------------------------------------- */

static bool own_value(struct drafting *d, const struct spec_var *var, struct value *ret_value)
{
	const struct drafting_entry *x = draft_entry(d, var->name);
	const struct drafting_tune *t = draft_tune(d, var->name);
	if (t && t->known)
		*ret_value = value_of_int(t->value);
	return (t && t->known) || (x && draft_own_value(d, x, ret_value));
}

/* Chooses the file's own values, and the first declared value where the file has none. */
static int choose(struct drafting *d, const struct context *ctx, struct params **ret_params, struct err *e)
{
	const struct spec *spec = context_spec(ctx);
	struct value *env = spec_env(spec, NULL, NULL);
	struct params *params = params_new();
	int rc = 0;
	for (size_t i = 0; i < spec->var_count && rc == 0; i++) {
		const struct spec_var *var = &spec->vars[i];
		struct value *values = NULL, value;
		size_t count = 0;
		if (!own_value(d, var, &value)) {
			rc = expr_set_values(var->set, env, &values, &count, NULL, e);
			if (rc == 0 && count == 0)
				rc = err_set(e, ERR_INPUT, "%s has no value", var->name);
			if (rc < 0)
				break;
			value = values[0];
		}
		free(values);
		env[var->slot] = value_normal(value);
		if (env[var->slot].kind == VALUE_INT)
			params_set_int(params, var->name, var->tuning, env[var->slot].i);
		else
			params_set_float(params, var->name, var->tuning, value_double(value));
	}
	free(env);
	if (rc == 0)
		*ret_params = params;
	else
		params_free(params);
	return rc;
}

static bool number(const struct comparing *c, const struct tokens *t, struct source_range range, struct value *ret_value)
{
	return draft_expression_value(&c->d->source, t, range, &c->numbers, ret_value);
}

/* --- one launch ------------------------------------------------------------------------------------------------------------- */

static void differs(struct comparing *c, const char *kernel, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void differs(struct comparing *c, const char *kernel, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *what = mem_fmtv(fmt, ap);
	va_end(ap);
	if (c->differences++ < DIFFERENCES_MAX)
		draft_question(c->d, "the launch of %s differs from the file's%s%s: %s", kernel, *c->at ? " at " : "", c->at, what);
	free(what);
}

static void unknown(struct comparing *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void unknown(struct comparing *c, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	buf_adds(&c->unknown, c->unknown.len ? ", " : "");
	buf_addv(&c->unknown, fmt, ap);
	va_end(ap);
}

/* A grid or a block. */
static void compare_extent(struct comparing *c, const char *kernel, const char *what, struct source_range range,
			   const uint32_t here[3])
{
	const struct tokens *t;
	struct source_range parts[3];
	size_t n = draft_launches_parts(&c->d->source, range, &t, parts);
	int64_t file[3] = { 1, 1, 1 };
	for (size_t i = 0; i < n; i++) {
		struct value v;
		if (!number(c, t, parts[i], &v) || !value_int(v, &file[i])) {
			unknown(c, "the %s of %s", what, kernel);
			return;
		}
	}
	if (file[0] != here[0] || file[1] != here[1] || file[2] != here[2])
		differs(c, kernel, "its %s is %u x %u x %u in the draft and %lld x %lld x %lld in the file", what, here[0], here[1],
			here[2], (long long)file[0], (long long)file[1], (long long)file[2]);
}

static void compare_shared(struct comparing *c, const char *kernel, struct source_range range, uint32_t here)
{
	struct value v = value_of_int(0);
	int64_t file = 0;
	if (range.to > range.from && (!number(c, &c->d->source.tokens, range, &v) || !value_int(v, &file)))
		unknown(c, "the shared memory of %s", kernel);
	else if (file != here)
		differs(c, kernel, "it has %u bytes of dynamic shared memory in the draft and %lld in the file", here,
			(long long)file);
}

static void compare_bytes(struct comparing *c, const char *kernel, const char *host, const struct plan_buffer *b)
{
	const struct source_buffer *file = draft_source_buffer(&c->d->source, host);
	const struct tokens *t;
	struct value v;
	int64_t bytes;
	struct source_range range = { 0, 0 };
	if (file)
		range = draft_inputs_bytes(&c->d->source, file, &t);
	if (file == NULL || !number(c, t, range, &v) || !value_int(v, &bytes))
		unknown(c, "the bytes of %s", b->name);
	else if ((uint64_t)bytes != b->bytes)
		differs(c, kernel, "%s has %llu bytes in the draft, and %s has %lld in the file", b->name,
			(unsigned long long)b->bytes, host, (long long)bytes);
	else
		c->sized++;
}

static void compare_array(struct comparing *c, const char *kernel, const struct source_param *p, struct source_range arg,
			  const struct plan_arg *here)
{
	const struct tokens *t = &c->d->source.tokens;
	if (here->kind != PLAN_ARG_BUFFER) {
		differs(c, kernel, "%s is not an array in the draft", p->name);
		return;
	}
	if (arg.to != arg.from + 1 || t->at[arg.from].kind != TOKEN_NAME) {
		unknown(c, "which array %s of %s is", p->name, kernel);
		return;
	}
	char *host = draft_token_text(&t->at[arg.from]);
	for (size_t i = 0; i < c->pair_count; i++) {
		bool one = strcmp(c->pairs[i].host, host) == 0, other = c->pairs[i].buffer == here->index;
		if (one != other)
			differs(c, kernel, "%s is %s in the file, and in the draft that is %s array", p->name, host,
				one ? "another" : "the same as another");
		if (one || other) {
			free(host);
			return;
		}
	}
	compare_bytes(c, kernel, host, &c->plan->buffers[here->index]);
	*MEM_PUSH(c->pairs, c->pair_count) = (struct pair){ host, here->index };
}

static void compare_scalar(struct comparing *c, const char *kernel, const struct source_param *p, struct source_range arg,
			   const struct plan_arg *here)
{
	struct value v;
	if (here->kind != PLAN_ARG_SCALAR) {
		differs(c, kernel, "%s is not a number in the draft", p->name);
		return;
	}
	bool real = dtype_is_float(here->type);
	if (p->type >= 0 &&
	    (dtype_size((enum dtype)p->type) != dtype_size(here->type) || dtype_is_float((enum dtype)p->type) != real)) {
		differs(c, kernel, "%s has type %s in the draft, and the kernel takes %s", p->name, dtype_name(here->type),
			dtype_name((enum dtype)p->type));
	} else if (!number(c, &c->d->source.tokens, arg, &v)) {
		unknown(c, "%s of %s", p->name, kernel);
	} else {
		double file = value_double(v), ours = real ? here->f : (double)here->i;
		if (here->type == DTYPE_F32 ? (float)file != (float)ours : dtype_size(here->type) < 4 ? false : file != ours)
			differs(c, kernel, "%s is %.9g in the draft and %.9g in the file", p->name, ours, file);
	}
}

static void compare_launch(struct comparing *c, const struct source_launch *file, const struct plan_launch *here)
{
	const struct source_kernel *k = &c->d->source.kernels[file->kernel];
	if (strcmp(k->name, here->kernel) != 0) {
		differs(c, k->name, "the draft launches %s instead", here->kernel);
		return;
	}
	compare_extent(c, k->name, "grid", file->grid, here->grid);
	compare_extent(c, k->name, "block", file->block, here->block);
	compare_shared(c, k->name, file->shared, here->shared);
	if (here->arg_count != k->param_count) {
		differs(c, k->name, "it has %zu arguments in the draft, and the kernel takes %zu", here->arg_count, k->param_count);
		return;
	}
	size_t n = 0;
	for (size_t from = file->args.from; from < file->args.to && n < k->param_count; n++) {
		size_t to = draft_tokens_find(&c->d->source.tokens, from, file->args.to, ",");
		const struct source_param *p = &k->params[n];
		if (p->pointer)
			compare_array(c, k->name, p, (struct source_range){ from, to }, &here->args[n]);
		else
			compare_scalar(c, k->name, p, (struct source_range){ from, to }, &here->args[n]);
		from = to + 1;
	}
}

/* --- the whole -------------------------------------------------------------------------------------------------------------- */

static void compare(struct drafting *d, const struct params *params, const struct plan *plan)
{
	struct comparing c = { .d = d, .params = params, .plan = plan, .unknown = BUF_INIT, .at = params_text(params) };
	size_t n = 0;
	/* Gives the draft's values to names without a value in the file: "m" is the draft's n, "block.x" its BX, or 1. */
	const struct expression_names *names = &c.d->names;
	for (size_t i = 0; i < names->count; i++) {
		const struct expression_meaning *m = &names->at[i];
		const struct source_variable *v = draft_source_variable(&c.d->source, m->host);
		const struct param *p = params_find(c.params, m->context);
		struct value own;
		struct buf text = BUF_INIT;
		if (v && !v->dim3 &&
		    draft_expression_value(&c.d->source, draft_source_tokens(&c.d->source, v), v->value, NULL, &own))
			continue;
		if (p)
			param_value(p, &text);
		else if (strspn(m->context, "0123456789") == strlen(m->context))
			buf_adds(&text, m->context);
		if (text.len)
			draft_expression_name(&c.numbers, m->host, buf_text(&text));
		buf_fini(&text);
	}
	for (size_t i = 0; i < plan->op_count; i++) {
		if (plan->ops[i].kind != PLAN_OP_LAUNCH)
			differs(&c, d->source.kernels[0].name, "the draft has an operation besides launches");
		else if (n++ < d->source.launch_count)
			compare_launch(&c, &d->source.launches[n - 1], &plan->ops[i].launch);
	}
	if (n != d->source.launch_count)
		differs(&c, d->source.kernels[0].name, "the draft has %zu launches, and the file %zu", n, d->source.launch_count);
	const struct source *s = &c.d->source;
	if (c.differences > DIFFERENCES_MAX)
		draft_question(c.d, "%zu further differences from the file's launches", c.differences - DIFFERENCES_MAX);
	if (!c.differences) {
		draft_note(c.d,
			   "compared with the file's launches%s%s: kernels, grids, blocks, shared memory and arguments of %zu, the "
			   "bytes "
			   "of %zu arrays: no difference%s%s",
			   *c.at ? " at " : "", c.at, s->launch_count, c.sized, c.unknown.len ? "; could not be compared: " : "",
			   buf_text(&c.unknown));
	}
	for (size_t i = 0; i < c.pair_count; i++)
		free(c.pairs[i].host);
	free(c.pairs);
	free(c.at);
	draft_expression_names_fini(&c.numbers);
	buf_fini(&c.unknown);
}

void draft_original_check(struct drafting *d)
{
	struct context *ctx = NULL;
	struct params *params = NULL;
	struct plan *plan = NULL;
	struct err e = ERR_INIT;
	int rc = context_parse("draft", d->out->text, &ctx, &e);
	if (rc == 0)
		rc = host_check(ctx, &e);
	if (rc == 0)
		rc = choose(d, ctx, &params, &e);
	if (rc == 0)
		rc = host_run(ctx, params, NULL, &plan, &e);
	if (rc < 0)
		draft_question(d, "the draft is not a context that runs: %s", e.text);
	else if (d->source.launch_count == 0)
		draft_note(d, "the file launches nothing, so the draft's launch could not be compared");
	else
		compare(d, params, plan);
	plan_free(plan);
	params_free(params);
	context_free(ctx);
}
