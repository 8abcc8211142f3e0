/* launch: host code's launch(kernel, grid, block, args, {shared=, cluster=, cooperative=}). Used by
 * core/context/host. */
#ifndef PEAKD_CORE_CONTEXT_LAUNCH_H
#define PEAKD_CORE_CONTEXT_LAUNCH_H

#include <lua.h>

/* Appends a launch to the plan. */
int launch_record(lua_State *L);
/* `__arg("n", n)`, which names.c writes into argument lists: gives a number its name and, for an input, its declared
 * type. */
int launch_arg(lua_State *L);

#endif
