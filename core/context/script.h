/* script: a Lua 5.4 state for text that is not trusted. The environment is built from nothing: no library is opened,
 * so there are no metatables, string methods, coroutines, pcall, load or iterators; work, time and memory are capped.
 * Used by core/context/host, which adds the functions that host code may call. */
#ifndef PEAKD_CORE_CONTEXT_SCRIPT_H
#define PEAKD_CORE_CONTEXT_SCRIPT_H

#include <lua.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
	SCRIPT_MEMORY_MAX = 8 << 20,   /* bytes alive at once */
	SCRIPT_TRAFFIC_MAX = 64 << 20, /* bytes asked for in total: bounds copying by `..` and by growing tables */
	SCRIPT_WORK_MAX = 1000000,     /* instructions, and what C functions charge */
	SCRIPT_CPU_MS = 50,            /* processor time of the thread */
};

struct script;

/* `name` stands in messages ("host code, line 3: …"); `owner` is handed to the C functions by script_owner. */
struct script *script_new(const char *name, void *owner);
void script_free(struct script *s);
void *script_owner(lua_State *L);

/* The script as its author wrote it, for messages that quote a line (script_load's text otherwise); borrowed while it
 * runs. */
void script_quote(struct script *s, const char *original);
/* Compiles text (never bytecode) and leaves it to be run. -ERR_INPUT with the line and what Lua expected. */
int script_load(struct script *s, const char *text, size_t len, struct err *e);
/* Runs what was loaded. -ERR_INPUT for an error in the script or a cap that was hit; -ERR_PRUNED after script_prune. */
int script_run(struct script *s, struct err *e);
/* Calls a C function in protected mode (to fill the environment): what it raises comes back as script_run's errors. */
int script_call(struct script *s, lua_CFunction fn, struct err *e);

/* For C functions: counts `units` of work against the cap, and raises when it is used up. Loops over what a script gave
 * charge per step, so that no function can run long unnoticed. */
void script_charge(lua_State *L, uint64_t units);
/* Ends the script as not applicable for these parameters; never returns. `why` may be NULL: the calling line is quoted
 * then. */
int script_prune(lua_State *L, const char *function, const char *why);

#endif
