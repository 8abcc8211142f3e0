/* host: runs host code and records the plan; see host.h. Builds the environment that a script sees, from nothing. */
#include "core/context/host.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/lex.h"
#include "base/mem.h"
#include "core/context/content.h"
#include "core/context/handle.h"
#include "core/context/lift.h"
#include "core/context/script.h"

#define HOST_NAME "host code"
#define EXTENT_MAX (INT64_C(1) << 42)
enum { STEPS_MAX = 200000 }; /* of looking for the arguments of launches */

/* --- arithmetic, with the meaning that it has in front matter (core/context/value) -------------------------------- */
static int give(lua_State *L, struct value v)
{
	if (v.kind == VALUE_INT)
		lua_pushinteger(L, v.i);
	else
		lua_pushnumber(L, v.f);
	return 1;
}

/* cdiv, min, …: the function is the closure's upvalue, above the numbers of types, so that handle_type does not take it
 * for one. min and max fold pairs, so that any number of arguments works. */
static int fn_number(lua_State *L)
{
	enum value_function fn = (enum value_function)(lua_tointeger(L, lua_upvalueindex(1)) - DTYPE_COUNT);
	const char *name = value_function_names[fn];
	int count = value_arity(fn) ? (int)value_arity(fn) : lua_gettop(L) > 0 ? lua_gettop(L) : 1;
	struct value args[2];
	script_charge(L, (uint64_t)count);
	for (int k = 1; k <= count; k++) {
		if (lua_type(L, k) != LUA_TNUMBER)
			return luaL_error(L, "%s: expected a number, found %s", name, handle_describe(L, k));
		args[k > 1] =
			value_normal(lua_isinteger(L, k) ? value_of_int(lua_tointeger(L, k)) : value_of_float(lua_tonumber(L, k)));
		if (k == 2 && fn == VALUE_CDIV && value_call(fn, args, 2, &args[0]) != VALUE_OK)
			return luaL_error(L, "cdiv: division by zero");
		if (k > 1 && fn != VALUE_CDIV)
			(void)value_call(fn, args, 2, &args[0]);
	}
	if (count == 1)
		(void)value_call(fn, args, 1, &args[0]);
	return give(L, args[0]);
}

/* i32(5): the type is the closure's upvalue. */
static int fn_scalar(lua_State *L)
{
	enum dtype type = (enum dtype)lua_tointeger(L, lua_upvalueindex(1));
	handle_push_scalar(L, handle_convert(L, 1, type, dtype_name(type)), NULL);
	return 1;
}

/* --- "not for these parameters" ----------------------------------------------------------------------------------- */
static const char *reason(lua_State *L, int index)
{
	return lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : NULL;
}

static int fn_need(lua_State *L)
{
	luaL_checkany(L, 1);
	return lua_toboolean(L, 1) ? 0 : script_prune(L, "need", reason(L, 2));
}

static int fn_invalid(lua_State *L)
{
	return script_prune(L, "invalid", reason(L, 1));
}

/* --- environment -------------------------------------------------------------------------------------------------- */
static const struct {
	const char *name;
	lua_CFunction fn;
} functions[] = {
	{ "need", fn_need },
	{ "invalid", fn_invalid },
	{ "launch", handle_ops_launch },
	{ "__arg", handle_ops_arg },
	{ "alloc", handle_ops_alloc },
	{ "table", handle_ops_table },
	{ "memset", handle_ops_memset },
	{ "copy", handle_ops_copy },
	{ "tensor_map", handle_ops_tensor_map },
};
static const struct {
	const char *name;
	enum dtype type;
} constructors[] = {
	{ "int", DTYPE_I32 },
	{ "float", DTYPE_F32 },
	{ "double", DTYPE_F64 },
	{ "half", DTYPE_F16 },
};

static void set_type(lua_State *L, const char *name, enum dtype type)
{
	lua_pushinteger(L, type);
	lua_pushcclosure(L, fn_scalar, 1);
	lua_setglobal(L, name);
}

static void set_number(lua_State *L, const char *name, struct value v)
{
	give(L, v);
	lua_setglobal(L, name);
}

static int fill_environment(lua_State *L)
{
	struct handle_run *run = handle_run_of(L);
	handle_setup(L);
	for (size_t k = 0; k < MEM_COUNT(functions); k++) {
		lua_pushcfunction(L, functions[k].fn);
		lua_setglobal(L, functions[k].name);
	}
	for (int fn = 0; fn < VALUE_FUNCTIONS; fn++) {
		lua_pushinteger(L, DTYPE_COUNT + fn);
		lua_pushcclosure(L, fn_number, 1);
		lua_setglobal(L, value_function_names[fn]);
	}
	for (int t = 0; t < DTYPE_COUNT; t++)
		set_type(L, dtype_name((enum dtype)t), (enum dtype)t);
	for (size_t k = 0; k < MEM_COUNT(constructors); k++)
		set_type(L, constructors[k].name, constructors[k].type);
	for (size_t k = 0; k < run->spec->constant_count; k++)
		set_number(L, run->spec->constants[k].name, run->spec->constants[k].value);
	for (size_t k = 0; k < run->params->count; k++) {
		const struct param *p = &run->params->at[k];
		if (!strchr(p->name, '.')) /* "A.size" is the handle's field */
			set_number(L, p->name, p->is_float ? value_of_float(p->f) : value_of_int(p->i));
	}
	for (size_t k = 0; k < run->spec->array_count; k++) {
		handle_push_buffer(L, (unsigned)k);
		lua_setglobal(L, run->spec->arrays[k].name);
	}
	lua_newtable(L);
	for (size_t k = 0; run->facts && k < SPEC_DEVICE_NAMES; k++) {
		lua_pushinteger(L, spec_device_value(run->facts, k));
		lua_setfield(L, -2, spec_device_name(k));
	}
	lua_setglobal(L, "device");
	return 0;
}

/* --- declared arrays ---------------------------------------------------------------------------------------------- */
static int extent(const struct spec_array *a, const struct expr *x, const struct value *env, int64_t *ret_n, struct err *e)
{
	struct value v;
	enum value_status st = expr_eval(x, env, &v);
	if (st != VALUE_OK)
		return err_set(e, ERR_INPUT, "inputs: %s: an extent cannot be computed: %s", a->name, value_status_text(st));
	if (!value_int(v, ret_n) || *ret_n < 1 || *ret_n > EXTENT_MAX)
		return err_set(e, ERR_INPUT, "inputs: %s: an extent is %g; expected a positive integer", a->name, value_double(v));
	return 0;
}

static int declare_array(const struct spec_array *a, const struct value *env, struct plan *plan, struct err *e)
{
	struct plan_buffer b = { .type = a->type, .role = a->role, .rank = a->rank };
	int64_t elements = 1;
	int rc = a->role == PLAN_OUT ? 0 : content_place(a, env, &b, e);
	for (unsigned k = 0; rc == 0 && k < a->rank; k++)
		rc = extent(a, a->dims[k], env, &b.dims[k], e);
	b.ld = b.dims[a->rank - 1];
	if (rc == 0 && a->ld)
		rc = extent(a, a->ld, env, &b.ld, e);
	if (rc < 0)
		return rc;
	if (b.ld < b.dims[a->rank - 1])
		return err_set(e, ERR_INPUT, "inputs: %s: the leading dimension %lld is smaller than a row of %lld", a->name,
			       (long long)b.ld, (long long)b.dims[a->rank - 1]);
	for (unsigned k = 0; k + 1 < a->rank; k++)
		if (__builtin_mul_overflow(elements, b.dims[k], &elements) || elements > EXTENT_MAX)
			return err_set(e, ERR_INPUT, "inputs: %s is larger than any memory", a->name);
	if (__builtin_mul_overflow(elements, b.ld, &elements) || elements > EXTENT_MAX)
		return err_set(e, ERR_INPUT, "inputs: %s is larger than any memory", a->name);
	b.bytes = (uint64_t)elements * dtype_size(a->type);
	b.name = mem_str(a->name);
	*MEM_PUSH(plan->buffers, plan->buffer_count) = b;
	return 0;
}

/* The arrays are the plan's first buffers. */
static int check_indices(const struct spec_array *a, size_t index, const struct plan *plan, struct err *e)
{
	struct judgement_rows rows;
	if (a->judged.kind != JUDGE_INDICES ||
	    judgement_find_rows(&plan->buffers[index], &plan->buffers[a->judged.of - 1], a->judged.axis, &rows))
		return 0;
	return err_set(e, ERR_INPUT,
		       "inputs: %s: its extents do not fit indices of %s. Expected those of %s without axis %u, or with the "
		       "number of indices in its place",
		       a->name, a->indexed, a->indexed, a->judged.axis);
}

/* --- names of launch arguments: a small lexer for Lua (reference manual, section 3.1) ----------------------------- */
struct token {
	const char *at;
	size_t len;
	bool name; /* an identifier or a keyword */
	bool wrap; /* to be rewritten */
};

struct tokens {
	struct token *at;
	size_t count;
	size_t steps; /* taken so far by mark_*; bounds the cost of launches nested in launches */
};

/* Length of `[==[ … ]==]` at s, 0 when there is none; up to the end of the text when it is never closed. */
static size_t long_bracket(const char *s)
{
	size_t level = 0;
	if (s[0] != '[')
		return 0;
	while (s[1 + level] == '=')
		level++;
	if (s[1 + level] != '[')
		return 0;
	for (const char *c = s + 2 + level; *c; c++)
		if (*c == ']' && strspn(c + 1, "=") >= level && c[1 + level] == ']')
			return (size_t)(c - s) + 2 + level;
	return strlen(s);
}

/* Length of white space or a comment at s, 0 when there is none. */
static size_t skipped(const char *s)
{
	if (isspace((unsigned char)*s))
		return 1;
	if (s[0] != '-' || s[1] != '-')
		return 0;
	size_t n = long_bracket(s + 2);
	return 2 + (n ? n : strcspn(s + 2, "\n"));
}

static struct tokens scan(const char *s)
{
	struct tokens t = { NULL, 0, 0 };
	while (*s) {
		size_t n = skipped(s);
		if (n) {
			s += n;
			continue;
		}
		bool word = lex_in_word(*s);
		n = *s == '"' || *s == '\'' ? lex_quoted(s) : long_bracket(s);
		if (word)
			n = lex_word(s);
		if (n == 0)
			n = 1;
		*MEM_PUSH(t.at, t.count) = (struct token){ .at = s, .len = n, .name = word && !isdigit((unsigned char)*s) };
		s += n;
	}
	return t;
}

static bool is_token(const struct tokens *t, size_t k, const char *text)
{
	return k < t->count && t->at[k].len == strlen(text) && memcmp(t->at[k].at, text, t->at[k].len) == 0;
}

static int nesting(const struct tokens *t, size_t k)
{
	if (t->at[k].len != 1)
		return 0;
	char c = *t->at[k].at;
	return (c == '(' || c == '{' || c == '[') - (c == ')' || c == '}' || c == ']');
}

static bool plain_name(const struct tokens *t, size_t k)
{
	return t->at[k].name && !is_token(t, k, "nil") && !is_token(t, k, "true") && !is_token(t, k, "false");
}

/* The elements of the table whose opening brace is token `open`. */
static void mark_table(struct tokens *t, size_t open)
{
	int depth = 0;
	size_t from = open + 1;
	for (size_t k = open; k < t->count && t->steps++ < STEPS_MAX; k++) {
		depth += nesting(t, k);
		if (depth == 0 || (depth == 1 && (is_token(t, k, ",") || is_token(t, k, ";")))) {
			if (k > from) {
				if (k - from == 1 && plain_name(t, from))
					t->at[from].wrap = true;
				else if (k - from == 3 && t->at[from].name && is_token(t, from + 1, "=") && plain_name(t, from + 2))
					t->at[from + 2].wrap = true;
			}
			from = k + 1;
		}
		if (depth == 0)
			return;
	}
}

/* `open` is the parenthesis behind `launch`: the argument list is the fourth argument. */
static void mark_launch(struct tokens *t, size_t open)
{
	int depth = 0, commas = 0;
	for (size_t k = open; k < t->count && t->steps++ < STEPS_MAX; k++) {
		depth += nesting(t, k);
		if (depth == 0)
			return;
		if (depth != 1 || !is_token(t, k, ","))
			continue;
		if (++commas == 3) {
			if (is_token(t, k + 1, "{"))
				mark_table(t, k + 1);
			return;
		}
	}
}

/* In `launch(k, grid, block, {A, n, m = x})` the value of `n` does not say that it is input n of its declared type. So `n` becomes
 * `__arg("n",n)`, on the same line, as does every element of a literal argument list that is a single name. Any text is accepted,
 * Lua or not. Owned by the caller. */
static char *name_arguments(const char *script)
{
	struct tokens t = scan(script);
	struct buf out = BUF_INIT;
	for (size_t k = 0; k + 1 < t.count; k++)
		if (is_token(&t, k, "launch") && is_token(&t, k + 1, "(") &&
		    (k == 0 || !(is_token(&t, k - 1, ".") || is_token(&t, k - 1, ":") || is_token(&t, k - 1, "function"))))
			mark_launch(&t, k + 1);
	const char *at = script;
	for (size_t k = 0; k < t.count; k++) {
		if (!t.at[k].wrap)
			continue;
		buf_add(&out, at, (size_t)(t.at[k].at - at));
		buf_addf(&out, "__arg(\"%.*s\",%.*s)", (int)t.at[k].len, t.at[k].at, (int)t.at[k].len, t.at[k].at);
		at = t.at[k].at + t.at[k].len;
	}
	buf_adds(&out, at);
	free(t.at);
	return buf_steal(&out);
}

static int run_script(struct handle_run *run, struct err *e)
{
	char *text = name_arguments(context_region(run->ctx, REGION_HOST));
	struct script *s = script_new(HOST_NAME, run);
	script_quote(s, context_region(run->ctx, REGION_HOST));
	int rc = script_call(s, fill_environment, e);
	if (rc == 0)
		rc = script_load(s, text, strlen(text), e);
	if (rc == 0)
		rc = script_run(s, e);
	script_free(s);
	free(text);
	return rc;
}

int host_run(const struct context *ctx, const struct params *params, const struct facts *facts, struct plan **ret_plan,
	     struct err *e)
{
	const struct spec *spec = context_spec(ctx);
	struct handle_run run = { .ctx = ctx, .spec = spec, .params = params, .facts = facts, .plan = plan_new() };
	struct value *env = spec_env(spec, facts, params);
	char *why = NULL;
	int rc = 0;
	for (size_t k = 0; rc == 0 && k < spec->var_count; k++)
		if (params_find(params, spec->vars[k].name) == NULL)
			rc = err_set(e, ERR_INPUT, "execution parameters: %s has no value", spec->vars[k].name);
	if (rc == 0 && (!spec_device_ok(spec, facts, params, &why) || !spec_domain_ok(spec, params, &why)))
		rc = err_set(e, ERR_PRUNED, "%s", why);
	free(why);
	for (size_t k = 0; rc == 0 && k < spec->array_count; k++)
		rc = declare_array(&spec->arrays[k], env, run.plan, e);
	for (size_t k = 0; rc == 0 && k < spec->array_count; k++)
		rc = check_indices(&spec->arrays[k], k, run.plan, e);
	free(env);
	if (rc == 0)
		rc = run_script(&run, e);
	if (rc == 0 && context_lift(ctx))
		rc = lift_plan(context_lift(ctx), run.plan, e);
	if (rc == 0) {
		rc = plan_check(run.plan, e);
		if (rc < 0)
			rc = err_wrap(e, HOST_NAME);
	}
	if (rc < 0) {
		plan_free(run.plan);
		return err_wrap(e, "%s", context_file(ctx));
	}
	*ret_plan = run.plan;
	return 0;
}

int host_check(const struct context *ctx, struct err *e)
{
	const char *text = context_region(ctx, REGION_HOST);
	struct script *s = script_new(HOST_NAME, NULL);
	int rc = script_load(s, text, strlen(text), e);
	script_free(s);
	return rc < 0 ? err_wrap(e, "%s", context_file(ctx)) : 0;
}
