/* memory: scratch, tables, memset and copy in host code; see memory.h. Used by core/context/host. Ranges are checked
 * once for all by plan_check; here only what has no meaning is refused. */
#include "core/context/memory.h"

#include <lauxlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/context/handle.h"
#include "core/context/script.h"

enum { BUFFERS_MAX = 256, OPS_MAX = 1024, TABLES_MAX = 16 << 20 };
#define BYTES_MAX (INT64_C(1) << 42)

static struct plan_buffer *add_buffer(lua_State *L, char *take_name, enum plan_role role)
{
	struct plan *plan = handle_run_of(L)->plan;
	struct plan_buffer *b = MEM_PUSH(plan->buffers, plan->buffer_count);
	*b = (struct plan_buffer){ .name = take_name, .role = role, .rank = 1, .dims = { 1 }, .ld = 1, .bytes = 1 };
	return b;
}

static void check_room(lua_State *L, const char *what)
{
	script_charge(L, 10);
	if (handle_run_of(L)->plan->buffer_count >= BUFFERS_MAX)
		luaL_error(L, "%s: more than %d buffers", what, BUFFERS_MAX);
}

/* `{type, dims…}` at index 1. */
static unsigned read_shape(lua_State *L, enum dtype *ret_type, int64_t dims[PLAN_RANK_MAX])
{
	lua_Unsigned n = lua_rawlen(L, 1);
	if (n < 2 || n > PLAN_RANK_MAX + 1)
		luaL_error(L, "alloc: expected {type, extents…} with 1 to %d extents", PLAN_RANK_MAX);
	lua_rawgeti(L, 1, 1);
	*ret_type = handle_type(L, -1, "alloc");
	for (lua_Unsigned k = 2; k <= n; k++) {
		lua_rawgeti(L, 1, (lua_Integer)k);
		dims[k - 2] = handle_int(L, -1, "alloc: extent", 1, BYTES_MAX);
	}
	return (unsigned)n - 1;
}

int memory_alloc(lua_State *L)
{
	struct plan *plan = handle_run_of(L)->plan;
	enum dtype type = DTYPE_U8;
	int64_t dims[PLAN_RANK_MAX] = { 1 }, bytes;
	unsigned rank = 1;
	lua_settop(L, 2);
	check_room(L, "alloc");
	if (lua_type(L, 1) == LUA_TTABLE)
		rank = read_shape(L, &type, dims);
	else
		dims[0] = handle_int(L, 1, "alloc: bytes", 1, BYTES_MAX);
	bytes = (int64_t)dtype_size(type);
	for (unsigned k = 0; k < rank; k++)
		if (__builtin_mul_overflow(bytes, dims[k], &bytes) || bytes > BYTES_MAX)
			return luaL_error(L, "alloc: more than %I bytes", (lua_Integer)BYTES_MAX);
	struct plan_buffer *b = add_buffer(L, handle_new_name(L, 2, "scratch"), PLAN_SCRATCH);
	b->type = type;
	b->rank = rank;
	memcpy(b->dims, dims, sizeof dims);
	b->ld = dims[rank - 1];
	b->bytes = (uint64_t)bytes;
	handle_push_buffer(L, (unsigned)plan->buffer_count - 1);
	return 1;
}

int memory_table(lua_State *L)
{
	struct handle_run *run = handle_run_of(L);
	lua_settop(L, 3);
	check_room(L, "table");
	enum dtype type = handle_type(L, 1, "table");
	if (lua_type(L, 2) != LUA_TTABLE)
		return luaL_error(L, "table: expected a list of numbers, found %s", handle_describe(L, 2));
	size_t n = lua_rawlen(L, 2), size = dtype_size(type);
	if (n == 0)
		return luaL_error(L, "table: the list is empty");
	script_charge(L, n);
	run->table_bytes += n * size;
	if (run->table_bytes > TABLES_MAX)
		return luaL_error(L, "table: more than %d bytes of tables", TABLES_MAX);
	unsigned index = (unsigned)run->plan->buffer_count;
	struct plan_buffer *b = add_buffer(L, handle_new_name(L, 3, "table"), PLAN_TABLE);
	b->type = type;
	b->dims[0] = b->ld = (int64_t)n;
	b->bytes = n * size;
	b->table = mem_new(n, size);
	for (size_t k = 0; k < n; k++) {
		lua_rawgeti(L, 2, (lua_Integer)k + 1);
		struct handle_scalar s = handle_convert(L, -1, type, "table: entry");
		lua_pop(L, 1);
		if (dtype_is_float(type))
			dtype_store(type, (char *)b->table + k * size, s.f);
		else
			memcpy((char *)b->table + k * size, &s.i,
			       size); /* little-endian, as every host and device here is */
	}
	handle_push_buffer(L, index);
	return 1;
}

static void add_op(lua_State *L, struct plan_op op)
{
	struct plan *plan = handle_run_of(L)->plan;
	script_charge(L, 10);
	if (plan->op_count == OPS_MAX)
		luaL_error(L, "more than %d operations", OPS_MAX);
	*MEM_PUSH(plan->ops, plan->op_count) = op;
}

static uint64_t optional(lua_State *L, int index, const char *what, uint64_t otherwise, int64_t low)
{
	return lua_isnoneornil(L, index) ? otherwise : (uint64_t)handle_int(L, index, what, low, BYTES_MAX);
}

int memory_set(lua_State *L)
{
	lua_settop(L, 4);
	unsigned buffer = handle_need_buffer(L, 1, "memset");
	uint8_t value = (uint8_t)handle_int(L, 2, "memset: byte", 0, UINT8_MAX);
	uint64_t size = handle_run_of(L)->plan->buffers[buffer].bytes, offset = optional(L, 4, "memset: offset", 0, 0);
	uint64_t bytes = optional(L, 3, "memset: bytes", offset < size ? size - offset : 0, 1);
	if (bytes == 0 || bytes > size || offset > size - bytes)
		return luaL_error(L, "memset: bytes %I at offset %I are not inside buffer %s of %I bytes",
				  (lua_Integer)bytes, (lua_Integer)offset, handle_run_of(L)->plan->buffers[buffer].name,
				  (lua_Integer)size);
	struct plan_op op = { .kind = PLAN_OP_MEMSET };
	op.memset = (struct plan_memset){ .buffer = buffer, .offset = offset, .bytes = bytes, .value = value };
	add_op(L, op);
	return 0;
}

int memory_copy(lua_State *L)
{
	lua_settop(L, 5);
	const struct plan_buffer *buffers = handle_run_of(L)->plan->buffers;
	unsigned dst = handle_need_buffer(L, 1, "copy: to"), src = handle_need_buffer(L, 2, "copy: from");
	uint64_t to = buffers[dst].bytes, from = buffers[src].bytes;
	uint64_t to_offset = optional(L, 4, "copy: to_offset", 0, 0),
		 from_offset = optional(L, 5, "copy: from_offset", 0, 0);
	if (to_offset >= to || from_offset >= from)
		return luaL_error(L, "copy: an offset is behind the end of its buffer");
	uint64_t room = to - to_offset < from - from_offset ? to - to_offset : from - from_offset;
	uint64_t bytes = optional(L, 3, "copy: bytes", room, 1);
	if (bytes > room)
		return luaL_error(L, "copy: %I bytes, but only %I are inside both buffers", (lua_Integer)bytes,
				  (lua_Integer)room);
	struct plan_op op = { .kind = PLAN_OP_COPY };
	op.copy = (struct plan_copy){
		.dst = dst, .src = src, .dst_offset = to_offset, .src_offset = from_offset, .bytes = bytes
	};
	add_op(L, op);
	return 0;
}
