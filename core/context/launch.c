/* launch: recording of kernel launches; see launch.h. Used by core/context/host.
 *
 * Lua raises errors by longjmp: what a half-made launch owns belongs to the plan from the start, so that plan_free
 * finds it. */
#include "core/context/launch.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "core/context/handle.h"
#include "core/context/script.h"

enum { ARGS_MAX = 64, OPS_MAX = 1024, KERNEL_LEN_MAX = 200 };

/* Numbers without a declaration: integers that fit are i32, others i64, fractions f32. */
static enum dtype default_type(lua_State *L, int index)
{
	int64_t i;
	struct value v = lua_isinteger(L, index) ? value_of_int(lua_tointeger(L, index))
						 : value_of_float(lua_tonumber(L, index));
	if (!value_int(v, &i))
		return DTYPE_F32;
	return i >= INT32_MIN && i <= INT32_MAX ? DTYPE_I32 : DTYPE_I64;
}

int launch_arg(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);
	const struct spec *spec = handle_run_of(L)->spec;
	int var = spec_find(spec, name);
	if (lua_isnil(L, 2))
		return luaL_error(L, "launch: argument %s has no value (no input, parameter or local of that name)",
				  name);
	if (lua_type(L, 2) != LUA_TNUMBER) {
		lua_settop(L, 2);
		return 1;
	}
	enum dtype type = var >= 0 && !spec->vars[var].tuning ? spec->vars[var].type : default_type(L, 2);
	handle_push_scalar(L, handle_convert(L, 2, type, name), name);
	return 1;
}

static struct plan_launch *current(lua_State *L)
{
	struct plan *plan = handle_run_of(L)->plan;
	return &plan->ops[plan->op_count - 1].launch;
}

/* Appends the value on top of the stack as an argument; `key` is its name when the list gave one. */
static void add_arg(lua_State *L, const char *key, const char *what)
{
	struct plan_launch *l = current(L);
	const char *name = NULL;
	int buffer = handle_buffer(L, -1), map = handle_map(L, -1);
	const struct handle_scalar *typed = handle_scalar(L, -1, &name);
	struct plan_arg a = { .kind = PLAN_ARG_SCALAR };
	if (buffer >= 0) {
		a.kind = PLAN_ARG_BUFFER;
		a.index = (unsigned)buffer;
		name = handle_run_of(L)->plan->buffers[buffer].name;
	} else if (map >= 0) {
		a.kind = PLAN_ARG_MAP;
		a.index = (unsigned)map;
	} else {
		if (typed == NULL && lua_type(L, -1) != LUA_TNUMBER)
			luaL_error(L, "launch: %s: expected a buffer, a number or a tensor map, found %s", what,
				   handle_describe(L, -1));
		struct handle_scalar s = typed ? *typed : handle_convert(L, -1, default_type(L, -1), what);
		a.type = s.type;
		a.i = s.i;
		a.f = s.f;
	}
	if (l->arg_count == ARGS_MAX)
		luaL_error(L, "launch: more than %d arguments", ARGS_MAX);
	a.name = mem_str(key && a.kind != PLAN_ARG_BUFFER ? key : name ? name : "");
	*MEM_PUSH(l->args, l->arg_count) = a;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Keys of the list at `index`: how many positions it has and, sorted, its names. The keys stay alive in the list. */
static size_t read_keys(lua_State *L, int index, const char *names[ARGS_MAX], lua_Integer *ret_positions)
{
	size_t count = 0, seen = 0;
	*ret_positions = 0;
	lua_pushnil(L);
	while (lua_next(L, index)) {
		lua_pop(L, 1);
		script_charge(L, 1);
		if (++seen > ARGS_MAX)
			luaL_error(L, "launch: more than %d arguments", ARGS_MAX);
		if (lua_isinteger(L, -1) && lua_tointeger(L, -1) >= 1 && lua_tointeger(L, -1) <= ARGS_MAX) {
			if (lua_tointeger(L, -1) > *ret_positions)
				*ret_positions = lua_tointeger(L, -1);
		} else if (lua_type(L, -1) == LUA_TSTRING) {
			names[count++] = lua_tostring(L, -1);
		} else {
			luaL_error(L, "launch: an argument has the key %s; expected positions and names",
				   handle_describe(L, -1));
		}
	}
	qsort(names, count, sizeof *names, by_text);
	return count;
}

static void check_names(lua_State *L)
{
	const struct plan_launch *l = current(L);
	for (size_t k = 0; k < l->arg_count; k++) {
		const struct plan_arg *a = &l->args[k];
		if (a->kind == PLAN_ARG_SCALAR && a->name[0] == '\0')
			luaL_error(L, "launch: argument %d has no name; HLSL binds by name: write {…, NAME = VALUE}",
				   (int)k + 1);
		for (size_t j = 0; j < k; j++)
			if (a->kind == PLAN_ARG_SCALAR && strcmp(l->args[j].name, a->name) == 0)
				luaL_error(L, "launch: two arguments are named %s", a->name);
	}
}

static void read_args(lua_State *L, int index)
{
	bool by_name = strcmp(context_backend(handle_run_of(L)->ctx), "hlsl") == 0;
	const char *names[ARGS_MAX];
	lua_Integer positions = 0;
	if (lua_isnoneornil(L, index))
		return;
	if (lua_type(L, index) != LUA_TTABLE)
		luaL_error(L, "launch: args: expected a list such as {A, B, n}, found %s", handle_describe(L, index));
	size_t named = read_keys(L, index, names, &positions);
	if (named && !by_name)
		luaL_error(L, "launch: argument %s has a name; in CUDA and HIP arguments go by position", names[0]);
	for (lua_Integer k = 1; k <= positions; k++) {
		char what[32];
		snprintf(what, sizeof what, "argument %d", (int)k);
		if (lua_rawgeti(L, index, k) == LUA_TNIL)
			luaL_error(L, "launch: %s is nil (a misspelt name?)", what);
		add_arg(L, NULL, what);
		lua_pop(L, 1);
	}
	for (size_t k = 0; k < named; k++) {
		lua_getfield(L, index, names[k]);
		add_arg(L, names[k], names[k]);
		lua_pop(L, 1);
	}
	if (by_name)
		check_names(L);
}

static void read_geometry(lua_State *L, int index, const char *what, uint32_t out[3])
{
	int64_t n[3] = { 1, 1, 1 };
	handle_ints(L, index, what, 1, INT32_MAX, 3, n);
	for (int k = 0; k < 3; k++)
		out[k] = (uint32_t)n[k];
}

static void read_options(lua_State *L, int index)
{
	static const char *const known[] = { "shared", "cluster", "cooperative" };
	struct plan_launch *l = current(L);
	if (lua_isnoneornil(L, index))
		return;
	if (lua_type(L, index) != LUA_TTABLE)
		luaL_error(L, "launch: options: expected {shared=, cluster=, cooperative=}, found %s",
			   handle_describe(L, index));
	lua_pushnil(L);
	while (lua_next(L, index)) {
		script_charge(L, 1);
		const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
		char hint[96];
		if (strcmp(key, "shared") == 0)
			l->shared = (uint32_t)handle_int(L, -1, "launch: shared", 0, INT32_MAX);
		else if (strcmp(key, "cluster") == 0)
			read_geometry(L, lua_gettop(L), "launch: cluster", l->cluster);
		else if (strcmp(key, "cooperative") == 0)
			l->cooperative = lua_toboolean(L, -1);
		else
			luaL_error(L, "launch: no option %s%s; there are shared, cluster and cooperative", key,
				   suggest_hint(key, known, MEM_COUNT(known), hint));
		lua_pop(L, 1);
	}
}

int launch_record(lua_State *L)
{
	struct plan *plan = handle_run_of(L)->plan;
	lua_settop(L, 5);
	script_charge(L, 10);
	if (lua_type(L, 1) != LUA_TSTRING || lua_rawlen(L, 1) == 0 || lua_rawlen(L, 1) > KERNEL_LEN_MAX ||
	    strlen(lua_tostring(L, 1)) != lua_rawlen(L, 1))
		return luaL_error(L, "launch: expected the kernel's name first, found %s", handle_describe(L, 1));
	if (plan->op_count == OPS_MAX)
		return luaL_error(L, "launch: more than %d operations", OPS_MAX);
	struct plan_op op = { .kind = PLAN_OP_LAUNCH };
	op.launch = (struct plan_launch){ .cluster = { 1, 1, 1 }, .kernel = mem_str(lua_tostring(L, 1)) };
	*MEM_PUSH(plan->ops, plan->op_count) = op;
	read_geometry(L, 2, "launch: grid", current(L)->grid);
	read_geometry(L, 3, "launch: block", current(L)->block);
	read_args(L, 4);
	read_options(L, 5);
	return 0;
}
