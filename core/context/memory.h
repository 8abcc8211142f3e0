/* memory: host code's alloc, table, memset and copy. Used by core/context/host. */
#ifndef PEAKD_CORE_CONTEXT_MEMORY_H
#define PEAKD_CORE_CONTEXT_MEMORY_H

#include <lua.h>

/* alloc(bytes [, name]), alloc({type, dims…} [, name]): scratch, poisoned before every run; returns its handle. */
int memory_alloc(lua_State *L);
/* table(type, {…} [, name]): constants that are written once at set-up; returns the handle. */
int memory_table(lua_State *L);
/* memset(buffer, byte [, bytes [, offset]]): timed; all of the buffer by default. */
int memory_set(lua_State *L);
/* copy(to, from [, bytes [, to_offset [, from_offset]]]): timed; as many bytes as fit into both by default. */
int memory_copy(lua_State *L);

#endif
