/* handle: what host code works with besides numbers: opaque buffers, tensor maps and typed scalars; how C functions read
 * what host code passes; and the functions that host code may call. Whatever raises an error does so through Lua, with
 * the script's line. Used by core/context/host. */
#ifndef PEAKD_CORE_CONTEXT_HANDLE_H
#define PEAKD_CORE_CONTEXT_HANDLE_H

#include <lua.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/wire/plan.h"
#include "core/context/context.h"

/* One run of host code: what the C functions work on. */
struct handle_run {
	const struct context *ctx;
	const struct spec *spec;
	const struct params *params;
	const struct facts *facts; /* may be NULL */
	struct plan *plan;
	size_t table_bytes; /* of all tables so far */
};
struct handle_run *handle_run_of(lua_State *L);

/* A scalar with a type, as i32(5) makes it. */
struct handle_scalar {
	enum dtype type;
	int64_t i;
	double f;
};

/* Makes the kinds of handles known to the state. To be called first. */
void handle_setup(lua_State *L);

void handle_push_buffer(lua_State *L, unsigned buffer);
void handle_push_map(lua_State *L, unsigned map);
/* With the name that its argument has in the script; NULL for none. */
void handle_push_scalar(lua_State *L, struct handle_scalar scalar, const char *name);

/* -1 when the value is not such a handle. */
int handle_buffer(lua_State *L, int index);
int handle_map(lua_State *L, int index);
/* NULL when the value is not a typed scalar; *ret_name is NULL or the script's, alive as long as the value. */
const struct handle_scalar *handle_scalar(lua_State *L, int index, const char **ret_name);

/* The number as a scalar of a type: raises when it does not fit. `what` names the place in messages. */
struct handle_scalar handle_convert(lua_State *L, int index, enum dtype type, const char *what);
/* An integer in [low, high], from a number or a typed scalar; raises otherwise. */
int64_t handle_int(lua_State *L, int index, const char *what, int64_t low, int64_t high);
/* The buffer at this place; raises otherwise. */
unsigned handle_need_buffer(lua_State *L, int index, const char *what);
/* A type, as "f32" or as the constructor f32; raises otherwise. */
enum dtype handle_type(lua_State *L, int index, const char *what);
/* 1 … max integers of the list at `index` into ret; returns how many. Raises otherwise. */
unsigned handle_ints(lua_State *L, int index, const char *what, int64_t low, int64_t high, unsigned max, int64_t *ret);
/* Copies an identifier of at most 63 characters that no buffer has yet; NULL argument for none or nil: then
 * "PREFIXn". Owned by the caller. */
char *handle_new_name(lua_State *L, int index, const char *prefix);
/* What a value is, for messages: "a buffer", "number 5", "nil". Pushes a string onto the stack. */
const char *handle_describe(lua_State *L, int index);

/* --- what host code may call (handle_ops.c) ----------------------------------------------------------------------- */
/* launch(kernel, grid, block, args, {shared=, cluster=, cooperative=}): appends a launch to the plan. */
int handle_ops_launch(lua_State *L);
/* `__arg("n", n)`, which host.c writes into argument lists: gives a number its name and, for an input, its declared
 * type. */
int handle_ops_arg(lua_State *L);
/* alloc(bytes [, name]), alloc({type, dims…} [, name]): scratch, poisoned before every run; returns its handle. */
int handle_ops_alloc(lua_State *L);
/* table(type, {…} [, name]): constants that are written once at set-up; returns the handle. */
int handle_ops_table(lua_State *L);
/* memset(buffer, byte [, bytes [, offset]]): timed; all of the buffer by default. */
int handle_ops_memset(lua_State *L);
/* copy(to, from [, bytes [, to_offset [, from_offset]]]): timed; as many bytes as fit into both by default. */
int handle_ops_copy(lua_State *L);
/* tensor_map{buffer, box =, [dims =, strides =, dtype =, swizzle =, fill =]}; returns the map's handle. */
int handle_ops_tensor_map(lua_State *L);

#endif
