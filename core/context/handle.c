/* handle: buffers, maps and typed scalars in host code; see handle.h. */
#include "core/context/handle.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/lex.h"
#include "base/mem.h"
#include "core/context/script.h"
#include "core/context/value.h"

#define KIND_BUFFER "buffer"
#define KIND_MAP "tensor map"
#define KIND_SCALAR "typed scalar"

enum { NAME_LEN_MAX = 63, LIST_MAX = 1 << 20 };

struct handle_run *handle_run_of(lua_State *L)
{
	return script_owner(L);
}

/* --- buffers ------------------------------------------------------------------------------------------------------ */
/* A.size, A.bytes, A.ld, A.rows, A.cols: what the declaration says about a buffer. */
static int buffer_index(lua_State *L)
{
	const struct plan_buffer *b = &handle_run_of(L)->plan->buffers[handle_need_buffer(L, 1, "buffer")];
	const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
	uint64_t size = plan_buffer_logical(b);
	int64_t cols = b->dims[b->rank - 1];
	if (strcmp(key, "size") == 0)
		lua_pushinteger(L, (lua_Integer)size);
	else if (strcmp(key, "bytes") == 0)
		lua_pushinteger(L, (lua_Integer)b->bytes);
	else if (strcmp(key, "ld") == 0)
		lua_pushinteger(L, b->ld);
	else if (strcmp(key, "cols") == 0)
		lua_pushinteger(L, cols);
	else if (strcmp(key, "rows") == 0)
		lua_pushinteger(L, (lua_Integer)(size / (uint64_t)cols));
	else
		return luaL_error(L, "buffer %s has no field %s; there are size, bytes, rows, cols and ld", b->name, key);
	return 1;
}

void handle_setup(lua_State *L)
{
	luaL_newmetatable(L, KIND_BUFFER);
	lua_pushcfunction(L, buffer_index);
	lua_setfield(L, -2, "__index");
	luaL_newmetatable(L, KIND_MAP);
	luaL_newmetatable(L, KIND_SCALAR);
	lua_pop(L, 3);
}

static void push_index(lua_State *L, unsigned index, const char *kind)
{
	unsigned *p = lua_newuserdatauv(L, sizeof *p, 0);
	*p = index;
	luaL_setmetatable(L, kind);
}

void handle_push_buffer(lua_State *L, unsigned buffer)
{
	push_index(L, buffer, KIND_BUFFER);
}

void handle_push_map(lua_State *L, unsigned map)
{
	push_index(L, map, KIND_MAP);
}

int handle_buffer(lua_State *L, int index)
{
	const unsigned *p = luaL_testudata(L, index, KIND_BUFFER);
	return p ? (int)*p : -1;
}

int handle_map(lua_State *L, int index)
{
	const unsigned *p = luaL_testudata(L, index, KIND_MAP);
	return p ? (int)*p : -1;
}

unsigned handle_need_buffer(lua_State *L, int index, const char *what)
{
	int b = handle_buffer(L, index);
	if (b < 0)
		luaL_error(L, "%s: expected a buffer, found %s", what, handle_describe(L, index));
	return (unsigned)b;
}

/* --- scalars ------------------------------------------------------------------------------------------------------ */
void handle_push_scalar(lua_State *L, struct handle_scalar scalar, const char *name)
{
	struct handle_scalar *p = lua_newuserdatauv(L, sizeof *p, 1);
	*p = scalar;
	luaL_setmetatable(L, KIND_SCALAR);
	if (name) {
		lua_pushstring(L, name);
		lua_setiuservalue(L, -2, 1);
	}
}

const struct handle_scalar *handle_scalar(lua_State *L, int index, const char **ret_name)
{
	const struct handle_scalar *p = luaL_testudata(L, index, KIND_SCALAR);
	*ret_name = NULL;
	if (p && lua_getiuservalue(L, index, 1) != LUA_TNONE) {
		*ret_name = lua_tostring(L, -1);
		lua_pop(L, 1);
	}
	return p;
}

const char *handle_describe(lua_State *L, int index)
{
	const char *name;
	int b = handle_buffer(L, index);
	if (b >= 0)
		return lua_pushfstring(L, "buffer %s", handle_run_of(L)->plan->buffers[b].name);
	if (handle_map(L, index) >= 0)
		return lua_pushstring(L, "a tensor map");
	if (handle_scalar(L, index, &name))
		return lua_pushfstring(L, "typed scalar %s", name ? name : "");
	if (lua_type(L, index) == LUA_TNUMBER)
		return lua_isinteger(L, index) ? lua_pushfstring(L, "number %I", lua_tointeger(L, index))
					       : lua_pushfstring(L, "number %f", lua_tonumber(L, index));
	if (lua_type(L, index) == LUA_TSTRING && lua_rawlen(L, index) < 40)
		return lua_pushfstring(L, "\"%s\"", lua_tostring(L, index));
	return lua_pushstring(L, lua_isnil(L, index) ? "no value" : luaL_typename(L, index));
}

/* The number at `index`, typed scalars included; VALUE_NONE for anything else. */
static struct value number_at(lua_State *L, int index)
{
	const char *name;
	const struct handle_scalar *s = handle_scalar(L, index, &name);
	if (s)
		return dtype_is_float(s->type) ? value_normal(value_of_float(s->f)) : value_of_int(s->i);
	if (lua_type(L, index) != LUA_TNUMBER)
		return (struct value){ .kind = VALUE_NONE };
	return value_normal(lua_isinteger(L, index) ? value_of_int(lua_tointeger(L, index))
						    : value_of_float(lua_tonumber(L, index)));
}

static bool fits(enum dtype type, int64_t i)
{
	unsigned bits = 8 * (unsigned)dtype_size(type);
	if (!dtype_is_signed(type))
		return i >= 0 && (bits == 64 || i < INT64_C(1) << bits);
	return bits == 64 || (i >= -(INT64_C(1) << (bits - 1)) && i < INT64_C(1) << (bits - 1));
}

struct handle_scalar handle_convert(lua_State *L, int index, enum dtype type, const char *what)
{
	struct handle_scalar s = { .type = type };
	struct value v = number_at(L, index);
	if (v.kind == VALUE_NONE)
		luaL_error(L, "%s: expected a number, found %s", what, handle_describe(L, index));
	if (dtype_is_float(type))
		s.f = value_double(v);
	else if (!value_int(v, &s.i) || !fits(type, s.i))
		luaL_error(L, "%s: %s does not fit into %s", what, handle_describe(L, index), dtype_name(type));
	return s;
}

int64_t handle_int(lua_State *L, int index, const char *what, int64_t low, int64_t high)
{
	int64_t i = 0;
	struct value v = number_at(L, index);
	if (v.kind == VALUE_NONE)
		luaL_error(L, "%s: expected an integer, found %s", what, handle_describe(L, index));
	if (!value_int(v, &i))
		luaL_error(L, "%s: expected an integer, found %s (cdiv(a,b) and a//b give integers)", what,
			   handle_describe(L, index));
	if (i < low || i > high)
		luaL_error(L, "%s: %I is out of range; expected %I to %I", what, (lua_Integer)i, (lua_Integer)low,
			   (lua_Integer)high);
	return i;
}

unsigned handle_ints(lua_State *L, int index, const char *what, int64_t low, int64_t high, unsigned max, int64_t *ret)
{
	if (lua_type(L, index) != LUA_TTABLE) {
		ret[0] = handle_int(L, index, what, low, high);
		return 1;
	}
	unsigned n = (unsigned)(lua_rawlen(L, index) < max + 1 ? lua_rawlen(L, index) : max + 1);
	script_charge(L, n);
	if (n < 1 || n > max)
		luaL_error(L, "%s: expected 1 to %d numbers, found %s", what, (int)max, n ? "more" : "none");
	for (unsigned k = 0; k < n; k++) {
		lua_rawgeti(L, index, (lua_Integer)k + 1);
		ret[k] = handle_int(L, -1, what, low, high);
		lua_pop(L, 1);
	}
	return n;
}

/* --- types and names ---------------------------------------------------------------------------------------------- */
/* The constructors are closures over their type, so the type itself can be written as i32 too. */
enum dtype handle_type(lua_State *L, int index, const char *what)
{
	int type = -1;
	if (lua_type(L, index) == LUA_TSTRING) {
		type = dtype_parse(lua_tostring(L, index));
	} else if (lua_iscfunction(L, index) && lua_getupvalue(L, index, 1)) {
		type = lua_isinteger(L, -1) ? (int)lua_tointeger(L, -1) : -1;
		lua_pop(L, 1);
	}
	if (type < 0 || type >= DTYPE_COUNT)
		luaL_error(L, "%s: expected a type, such as f32 or i32, found %s", what, handle_describe(L, index));
	return (enum dtype)type;
}

static bool taken(const struct plan *plan, const char *name)
{
	for (size_t k = 0; k < plan->buffer_count; k++)
		if (strcmp(plan->buffers[k].name, name) == 0)
			return true;
	return false;
}

char *handle_new_name(lua_State *L, int index, const char *prefix)
{
	const struct plan *plan = handle_run_of(L)->plan;
	char *name = NULL;
	if (lua_isnoneornil(L, index)) {
		size_t number = plan->buffer_count - handle_run_of(L)->spec->array_count; /* rarely taken */
		do {
			free(name);
			name = mem_fmt("%s%zu", prefix, number++);
		} while (taken(plan, name));
		return name;
	}
	if (lua_type(L, index) != LUA_TSTRING || !lex_is_name(lua_tostring(L, index)) || lua_rawlen(L, index) > NAME_LEN_MAX ||
	    strlen(lua_tostring(L, index)) != lua_rawlen(L, index))
		luaL_error(L, "%s: expected a name of letters, digits and underscores, found %s", prefix,
			   handle_describe(L, index));
	if (taken(plan, lua_tostring(L, index)))
		luaL_error(L, "%s: there is a buffer %s already", prefix, lua_tostring(L, index));
	return mem_str(lua_tostring(L, index));
}
