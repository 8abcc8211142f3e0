/* handle_ops: the functions that host code calls and the plan records: launch, alloc, table, memset, copy and
 * tensor_map; see handle.h. Called by scripts that core/context/host runs.
 *
 * Lua raises errors by longjmp: what a half-made operation owns belongs to the plan from the start, so that plan_free
 * finds it. plan_check checks ranges, geometry and the hardware's rules for the whole plan; here only what has no
 * meaning is refused. */
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/order.h"
#include "base/suggest.h"
#include "core/context/handle.h"
#include "core/context/script.h"

enum { ARGS_MAX = 64, OPS_MAX = 1024, KERNEL_LEN_MAX = 200, BUFFERS_MAX = 256, TABLES_MAX = 16 << 20, MAPS_MAX = 64 };
#define BYTES_MAX (INT64_C(1) << 42)
#define EXTENT_MAX (INT64_C(1) << 40)

static void add_op(lua_State *L, struct plan_op op)
{
	struct plan *plan = handle_run_of(L)->plan;
	script_charge(L, 10);
	if (plan->op_count == OPS_MAX) {
		if (op.kind == PLAN_OP_LAUNCH)
			free(op.launch.kernel);
		luaL_error(L, "more than %d operations", OPS_MAX);
	}
	*MEM_PUSH(plan->ops, plan->op_count) = op;
}

/* --- launch: arguments -------------------------------------------------------------------------------------------- */
/* Numbers without a declaration: integers that fit are i32, others i64, fractions f32. */
static enum dtype default_type(lua_State *L, int index)
{
	int64_t i;
	struct value v = lua_isinteger(L, index) ? value_of_int(lua_tointeger(L, index)) : value_of_float(lua_tonumber(L, index));
	if (!value_int(v, &i))
		return DTYPE_F32;
	return i >= INT32_MIN && i <= INT32_MAX ? DTYPE_I32 : DTYPE_I64;
}

int handle_ops_arg(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);
	const struct spec *spec = handle_run_of(L)->spec;
	int var = spec_find(spec, name);
	if (lua_isnil(L, 2))
		return luaL_error(L, "launch: argument %s has no value (no input, parameter or local of that name)", name);
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
	a.name = mem_str(key ? key : name ? name : "");
	*MEM_PUSH(l->args, l->arg_count) = a;
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
	/* Keys of the list at `index`: how many positions it has and, sorted, its names. The keys stay alive in the list. */
	size_t count = 0, seen = 0;
	positions = 0;
	lua_pushnil(L);
	while (lua_next(L, index)) {
		lua_pop(L, 1);
		script_charge(L, 1);
		if (++seen > ARGS_MAX)
			luaL_error(L, "launch: more than %d arguments", ARGS_MAX);
		if (lua_isinteger(L, -1) && lua_tointeger(L, -1) >= 1 && lua_tointeger(L, -1) <= ARGS_MAX) {
			if (lua_tointeger(L, -1) > positions)
				positions = lua_tointeger(L, -1);
		} else if (lua_type(L, -1) == LUA_TSTRING) {
			names[count++] = lua_tostring(L, -1);
		} else {
			luaL_error(L, "launch: an argument has the key %s; expected positions and names", handle_describe(L, -1));
		}
	}
	qsort(names, count, sizeof *names, order_texts);
	size_t named = count;
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
	if (by_name) {
		/* HLSL binds by name, so every scalar needs a name of its own. */
		const struct plan_launch *l = current(L);
		for (size_t k = 0; k < l->arg_count; k++) {
			const struct plan_arg *a = &l->args[k];
			if (a->kind == PLAN_ARG_SCALAR && a->name[0] == '\0')
				luaL_error(L, "launch: argument %d has no name; HLSL binds by name: write {…, NAME = VALUE}",
					   (int)k + 1);
			/* A buffer may come twice, if both times under its own name. */
			for (size_t j = 0; j < k; j++)
				if ((a->kind == PLAN_ARG_SCALAR || (lua_Integer)k >= positions) &&
				    strcmp(l->args[j].name, a->name) == 0)
					luaL_error(L, "launch: two arguments are named %s", a->name);
		}
	}
}

/* --- launch: geometry and options --------------------------------------------------------------------------------- */
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
		luaL_error(L, "launch: options: expected {shared=, cluster=, cooperative=}, found %s", handle_describe(L, index));
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

int handle_ops_launch(lua_State *L)
{
	lua_settop(L, 5);
	if (lua_type(L, 1) != LUA_TSTRING || lua_rawlen(L, 1) == 0 || lua_rawlen(L, 1) > KERNEL_LEN_MAX ||
	    strlen(lua_tostring(L, 1)) != lua_rawlen(L, 1))
		return luaL_error(L, "launch: expected the kernel's name first, found %s", handle_describe(L, 1));
	struct plan_op op = { .kind = PLAN_OP_LAUNCH };
	op.launch = (struct plan_launch){ .cluster = { 1, 1, 1 }, .kernel = mem_str(lua_tostring(L, 1)) };
	add_op(L, op);
	read_geometry(L, 2, "launch: grid", current(L)->grid);
	read_geometry(L, 3, "launch: block", current(L)->block);
	read_args(L, 4);
	read_options(L, 5);
	return 0;
}

/* --- buffers ------------------------------------------------------------------------------------------------------ */
/* A new buffer of one element. `name`: where its name stands on Lua's stack. */
static struct plan_buffer *add_buffer(lua_State *L, int name, const char *prefix, enum plan_role role)
{
	struct plan *plan = handle_run_of(L)->plan;
	char *own_name = handle_new_name(L, name, prefix);
	struct plan_buffer *b = MEM_PUSH(plan->buffers, plan->buffer_count);
	*b = (struct plan_buffer){ .name = own_name, .role = role, .rank = 1, .dims = { 1 }, .ld = 1, .bytes = 1 };
	return b;
}

static void check_room(lua_State *L, const char *what)
{
	script_charge(L, 10);
	if (handle_run_of(L)->plan->buffer_count >= BUFFERS_MAX)
		luaL_error(L, "%s: more than %d buffers", what, BUFFERS_MAX);
}

int handle_ops_alloc(lua_State *L)
{
	enum dtype type = DTYPE_U8;
	int64_t dims[PLAN_RANK_MAX] = { 1 };
	unsigned rank = 1;
	lua_settop(L, 2);
	check_room(L, "alloc");
	if (lua_type(L, 1) == LUA_TTABLE) {
		lua_Unsigned n = lua_rawlen(L, 1);
		if (n < 2 || n > PLAN_RANK_MAX + 1)
			return luaL_error(L, "alloc: expected {type, extents…} with 1 to %d extents", PLAN_RANK_MAX);
		rank = (unsigned)n - 1;
		lua_rawgeti(L, 1, 1);
		type = handle_type(L, -1, "alloc");
		for (unsigned k = 0; k < rank; k++) {
			lua_rawgeti(L, 1, (lua_Integer)k + 2);
			dims[k] = handle_int(L, -1, "alloc: extent", 1, BYTES_MAX);
		}
	} else {
		dims[0] = handle_int(L, 1, "alloc: bytes", 1, BYTES_MAX);
	}
	int64_t bytes = (int64_t)dtype_size(type);
	for (unsigned k = 0; k < rank; k++)
		if (__builtin_mul_overflow(bytes, dims[k], &bytes) || bytes > BYTES_MAX)
			return luaL_error(L, "alloc: more than %I bytes", (lua_Integer)BYTES_MAX);
	struct plan_buffer *b = add_buffer(L, 2, "scratch", PLAN_SCRATCH);
	b->type = type;
	b->rank = rank;
	memcpy(b->dims, dims, sizeof dims);
	b->ld = dims[rank - 1];
	b->bytes = (uint64_t)bytes;
	handle_push_buffer(L, (unsigned)handle_run_of(L)->plan->buffer_count - 1);
	return 1;
}

int handle_ops_table(lua_State *L)
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
	struct plan_buffer *b = add_buffer(L, 3, "table", PLAN_TABLE);
	b->type = type;
	b->dims[0] = b->ld = (int64_t)n;
	b->bytes = n * size;
	b->table = mem_new(n, size);
	for (size_t k = 0; k < n; k++) {
		lua_rawgeti(L, 2, (lua_Integer)k + 1);
		struct handle_scalar s = handle_convert(L, -1, type, "table: entry");
		lua_pop(L, 1);
		char *to = (char *)b->table + k * size;
		if (dtype_is_float(type))
			dtype_store(type, to, s.f);
		else
			memcpy(to, &s.i, size); /* hosts and devices are little-endian */
	}
	handle_push_buffer(L, (unsigned)run->plan->buffer_count - 1);
	return 1;
}

static uint64_t optional(lua_State *L, int index, const char *what, uint64_t otherwise, int64_t low)
{
	return lua_isnoneornil(L, index) ? otherwise : (uint64_t)handle_int(L, index, what, low, BYTES_MAX);
}

int handle_ops_memset(lua_State *L)
{
	lua_settop(L, 4);
	unsigned buffer = handle_need_buffer(L, 1, "memset");
	const struct plan_buffer *b = &handle_run_of(L)->plan->buffers[buffer];
	uint8_t value = (uint8_t)handle_int(L, 2, "memset: byte", 0, UINT8_MAX);
	uint64_t offset = optional(L, 4, "memset: offset", 0, 0);
	uint64_t bytes = optional(L, 3, "memset: bytes", offset < b->bytes ? b->bytes - offset : 0, 1);
	if (bytes == 0 || bytes > b->bytes || offset > b->bytes - bytes)
		return luaL_error(L, "memset: bytes %I at offset %I are not inside buffer %s of %I bytes", (lua_Integer)bytes,
				  (lua_Integer)offset, b->name, (lua_Integer)b->bytes);
	struct plan_op op = { .kind = PLAN_OP_MEMSET };
	op.memset = (struct plan_memset){ .buffer = buffer, .offset = offset, .bytes = bytes, .value = value };
	add_op(L, op);
	return 0;
}

int handle_ops_copy(lua_State *L)
{
	lua_settop(L, 5);
	const struct plan_buffer *buffers = handle_run_of(L)->plan->buffers;
	unsigned dst = handle_need_buffer(L, 1, "copy: to"), src = handle_need_buffer(L, 2, "copy: from");
	uint64_t to = buffers[dst].bytes, from = buffers[src].bytes;
	uint64_t to_offset = optional(L, 4, "copy: to_offset", 0, 0), from_offset = optional(L, 5, "copy: from_offset", 0, 0);
	if (to_offset >= to || from_offset >= from)
		return luaL_error(L, "copy: an offset is beyond the end of its buffer");
	uint64_t room = to - to_offset < from - from_offset ? to - to_offset : from - from_offset;
	uint64_t bytes = optional(L, 3, "copy: bytes", room, 1);
	if (bytes > room)
		return luaL_error(L, "copy: %I bytes, but only %I are inside both buffers", (lua_Integer)bytes, (lua_Integer)room);
	struct plan_op op = { .kind = PLAN_OP_COPY };
	op.copy = (struct plan_copy){ .dst = dst, .src = src, .dst_offset = to_offset, .src_offset = from_offset, .bytes = bytes };
	add_op(L, op);
	return 0;
}

/* --- tensor maps -------------------------------------------------------------------------------------------------- */
/* What a buffer's own declaration gives: its extents innermost first, rows ld apart, strides in bytes. */
static void map_buffer(const struct plan_buffer *b, struct plan_map *m)
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

static void check_map_fields(lua_State *L)
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
			luaL_error(L, "tensor_map: no field %s%s; there are dims, strides, box, dtype, swizzle and fill", key,
				   suggest_hint(key, known, MEM_COUNT(known), hint));
	}
}

/* Pushes the field of the table at index 1; false when it is not there. */
static bool has_field(lua_State *L, const char *name)
{
	lua_settop(L, 1);
	return lua_getfield(L, 1, name) != LUA_TNIL;
}

int handle_ops_tensor_map(lua_State *L)
{
	struct handle_run *run = handle_run_of(L);
	struct plan_map m = { .rank = 0 };
	int64_t n[PLAN_RANK_MAX + 1];
	if (strcmp(context_backend(run->ctx), "cuda") != 0)
		return luaL_error(L, "tensor_map: only CUDA has tensor maps; the context is for %s", context_backend(run->ctx));
	if (lua_type(L, 1) != LUA_TTABLE)
		return luaL_error(L, "tensor_map: expected tensor_map{buffer, box = {…}, …}");
	script_charge(L, 10);
	check_map_fields(L);
	lua_settop(L, 1);
	lua_rawgeti(L, 1, 1);
	m.buffer = handle_need_buffer(L, -1, "tensor_map");
	map_buffer(&run->plan->buffers[m.buffer], &m);
	if (has_field(L, "dtype"))
		m.type = handle_type(L, -1, "tensor_map: dtype");
	if (has_field(L, "dims")) {
		m.rank = handle_ints(L, 2, "tensor_map: dims", 1, EXTENT_MAX, PLAN_RANK_MAX, n);
		for (unsigned k = 0; k < m.rank; k++)
			m.dims[k] = (uint64_t)n[k];
	}
	if (has_field(L, "strides")) {
		unsigned count = handle_ints(L, 2, "tensor_map: strides", 1, EXTENT_MAX, PLAN_RANK_MAX, n);
		if (count != m.rank - 1)
			return luaL_error(
				L, "tensor_map: strides: %d given, expected %d (bytes, for every dimension but the innermost)",
				(int)count, (int)m.rank - 1);
		for (unsigned k = 1; k < m.rank; k++)
			m.strides[k] = (uint64_t)n[k - 1];
	}
	if (!has_field(L, "box"))
		return luaL_error(L, "tensor_map: box: expected the extents of one tile, innermost first");
	unsigned count = handle_ints(L, 2, "tensor_map: box", 1, 256, PLAN_RANK_MAX, n);
	if (count != m.rank)
		return luaL_error(L, "tensor_map: box: %d extents given, expected %d", (int)count, (int)m.rank);
	for (unsigned k = 0; k < count; k++)
		m.box[k] = (uint32_t)n[k];
	if (has_field(L, "swizzle"))
		m.swizzle = (unsigned)handle_int(L, -1, "tensor_map: swizzle", 0, 128);
	if (has_field(L, "fill")) {
		const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
		m.fill_nan = strcmp(text, "nan") == 0;
		if (!m.fill_nan && strcmp(text, "zero") != 0)
			return luaL_error(L, "tensor_map: fill: expected \"zero\" or \"nan\", found %s", handle_describe(L, -1));
	}
	if (run->plan->map_count == MAPS_MAX)
		return luaL_error(L, "tensor_map: more than %d maps", MAPS_MAX);
	*MEM_PUSH(run->plan->maps, run->plan->map_count) = m;
	handle_push_map(L, (unsigned)run->plan->map_count - 1);
	return 1;
}
