/* tensor: recording of CUDA tensor maps; see tensor.h. Used by core/context/host. The hardware's rules
 * (cuTensorMapEncodeTiled in the CUDA driver API) are checked by plan_check for the whole plan. */
#include "core/context/tensor.h"

#include <lauxlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "core/context/handle.h"
#include "core/context/script.h"

enum { MAPS_MAX = 64 };

/* What a buffer's own declaration gives: its extents innermost first, rows ld apart. */
static void from_buffer(const struct plan_buffer *b, struct plan_map *m)
{
	uint64_t stride = dtype_size(b->type);
	m->type = b->type;
	m->rank = b->rank;
	for (unsigned k = 0; k < b->rank; k++) {
		m->dims[k] = (uint64_t)b->dims[b->rank - 1 - k];
		if (k > 0)
			m->strides[k] = stride;
		stride *= k == 0 ? (uint64_t)b->ld : m->dims[k];
		m->box[k] = 1;
	}
}

static void read_dims(lua_State *L, const char *what, struct plan_map *m, uint64_t out[PLAN_RANK_MAX])
{
	int64_t n[PLAN_RANK_MAX + 1];
	m->rank = handle_ints(L, lua_gettop(L), what, 1, INT64_C(1) << 40, PLAN_RANK_MAX, n);
	for (unsigned k = 0; k < m->rank; k++)
		out[k] = (uint64_t)n[k];
}

/* Strides of the dimensions behind the first, in bytes: one fewer than dims. */
static void read_strides(lua_State *L, struct plan_map *m)
{
	int64_t n[PLAN_RANK_MAX + 1];
	unsigned count = handle_ints(L, lua_gettop(L), "tensor_map: strides", 1, INT64_C(1) << 40, PLAN_RANK_MAX, n);
	if (count != m->rank - 1)
		luaL_error(L,
			   "tensor_map: strides: %d given, expected %d (bytes, for every dimension but the innermost)",
			   (int)count, (int)m->rank - 1);
	for (unsigned k = 1; k < m->rank; k++)
		m->strides[k] = (uint64_t)n[k - 1];
}

static void read_box(lua_State *L, struct plan_map *m)
{
	int64_t n[PLAN_RANK_MAX + 1];
	unsigned count = handle_ints(L, lua_gettop(L), "tensor_map: box", 1, 256, PLAN_RANK_MAX, n);
	if (count != m->rank)
		luaL_error(L, "tensor_map: box: %d extents given, expected %d", (int)count, (int)m->rank);
	for (unsigned k = 0; k < count; k++)
		m->box[k] = (uint32_t)n[k];
}

static bool field(lua_State *L, const char *name)
{
	lua_settop(L, 1);
	return lua_getfield(L, 1, name) != LUA_TNIL;
}

static void check_keys(lua_State *L)
{
	static const char *const known[] = { "dims", "strides", "box", "dtype", "swizzle", "fill" };
	lua_pushnil(L);
	while (lua_next(L, 1)) {
		script_charge(L, 1);
		lua_pop(L, 1);
		if (lua_isinteger(L, -1) && lua_tointeger(L, -1) == 1)
			continue;
		const char *key = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "?";
		char hint[96];
		size_t k = 0;
		while (k < MEM_COUNT(known) && strcmp(known[k], key) != 0)
			k++;
		if (k == MEM_COUNT(known))
			luaL_error(L,
				   "tensor_map: no field %s%s; there are dims, strides, box, dtype, swizzle and fill",
				   key, suggest_hint(key, known, MEM_COUNT(known), hint));
	}
}

static void read_fill(lua_State *L, struct plan_map *m)
{
	const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
	if (strcmp(text, "nan") != 0 && strcmp(text, "zero") != 0)
		luaL_error(L, "tensor_map: fill: expected \"zero\" or \"nan\", found %s", handle_describe(L, -1));
	m->fill_nan = text[0] == 'n';
}

int tensor_record(lua_State *L)
{
	struct handle_run *run = handle_run_of(L);
	struct plan_map m = { .rank = 0 };
	if (strcmp(context_backend(run->ctx), "cuda") != 0)
		return luaL_error(L, "tensor_map: only CUDA has tensor maps; the context is for %s",
				  context_backend(run->ctx));
	if (lua_type(L, 1) != LUA_TTABLE)
		return luaL_error(L, "tensor_map: expected tensor_map{buffer, box = {…}, …}");
	script_charge(L, 10);
	check_keys(L);
	lua_settop(L, 1);
	lua_rawgeti(L, 1, 1);
	m.buffer = handle_need_buffer(L, -1, "tensor_map");
	from_buffer(&run->plan->buffers[m.buffer], &m);
	if (field(L, "dtype"))
		m.type = handle_type(L, -1, "tensor_map: dtype");
	if (field(L, "dims"))
		read_dims(L, "tensor_map: dims", &m, m.dims);
	if (field(L, "strides"))
		read_strides(L, &m);
	if (!field(L, "box"))
		return luaL_error(L, "tensor_map: box: expected the extents of one tile, innermost first");
	read_box(L, &m);
	if (field(L, "swizzle"))
		m.swizzle = (unsigned)handle_int(L, -1, "tensor_map: swizzle", 0, 128);
	if (field(L, "fill"))
		read_fill(L, &m);
	if (run->plan->map_count == MAPS_MAX)
		return luaL_error(L, "tensor_map: more than %d maps", MAPS_MAX);
	*MEM_PUSH(run->plan->maps, run->plan->map_count) = m;
	handle_push_map(L, (unsigned)run->plan->map_count - 1);
	return 1;
}
