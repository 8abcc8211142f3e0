/* script: the sandbox around Lua; see script.h. Used by core/context/host.
 *
 * What bounds a hostile script: the parser's own limit on nesting (LUAI_MAXCCALLS); a count hook for instructions and processor
 * time; an allocator that counts live and total bytes; C functions that charge for their loops. Lua calls nothing of ours in
 * between, so the largest string or table that fits into SCRIPT_MEMORY_MAX bounds a single instruction. */
#include "core/context/script.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/suggest.h"

enum { HOOK_EVERY = 10, LINE_SHOWN = 100 };
/* What counts between two looks, at most: a virtual machine's processor that is busy elsewhere adds much at once, a script little
 * by little, since ten instructions on the longest strings take less. */
#define LOOK_MOST_NS (8 * CLOCK_MS)
enum stop { STOP_NONE, STOP_WORK, STOP_TIME, STOP_PRUNED };

struct script {
	lua_State *L;
	char *name;
	void *owner;
	const char *text;      /* for quoting lines; borrowed while it runs */
	size_t alive, traffic; /* bytes */
	uint64_t work;
	int64_t cpu;     /* thread's processor time at the last look, ns, */
	int64_t checked; /* its monotonic time, */
	int64_t used;    /* and what counted until then */
	enum stop stop;
	int stopped_at;                /* the line; 0: unknown */
	char *why;                     /* STOP_PRUNED */
	char missing[SUGGEST_MAX + 1]; /* the undefined name that was read last; "" for none */
};

static struct script *script_of(lua_State *L)
{
	return *(struct script **)lua_getextraspace(L);
}

void *script_owner(lua_State *L)
{
	return script_of(L)->owner;
}

static int64_t cpu_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * CLOCK_S + t.tv_nsec;
}

/* Lua relies on shrinking never to fail. */
static void *allocate(void *ud, void *p, size_t old, size_t n)
{
	struct script *s = ud;
	if (p == NULL)
		old = 0; /* it holds a type tag then */
	if (n > old && (s->alive - old + n > SCRIPT_MEMORY_MAX || s->traffic + n > SCRIPT_TRAFFIC_MAX))
		return NULL;
	s->alive += n - old;
	s->traffic += n > old ? n : 0;
	if (n == 0) {
		free(p);
		return NULL;
	}
	return mem_resize(p, n, 1);
}

/* In a hook the script itself is at level 0, in a C function that it called at level 1. */
static void halt(lua_State *L, struct script *s, enum stop stop)
{
	lua_Debug ar;
	s->stop = stop;
	for (int level = 0; s->stopped_at <= 0 && level < 2 && lua_getstack(L, level, &ar); level++)
		s->stopped_at = lua_getinfo(L, "l", &ar) ? ar.currentline : 0;
	luaL_error(L, "stopped");
}

void script_charge(lua_State *L, uint64_t units)
{
	struct script *s = script_of(L);
	s->work += units;
	if (s->work > SCRIPT_WORK_MAX)
		halt(L, s, STOP_WORK);
	int64_t now = clock_now();
	/* The monotonic clock is cheap, the thread's own clock is a system call: look at that only now and then. */
	if (now - s->checked < CLOCK_MS)
		return;
	s->checked = now;
	int64_t cpu = cpu_now(), more = cpu - s->cpu;
	s->cpu = cpu;
	s->used += more < LOOK_MOST_NS ? more : LOOK_MOST_NS;
	if (s->used > SCRIPT_CPU_MS * CLOCK_MS)
		halt(L, s, STOP_TIME);
}

static void hook(lua_State *L, lua_Debug *ar)
{
	(void)ar;
	script_charge(L, HOOK_EVERY);
}

/* A name that nothing defines is nil, as ever in Lua, but an error that follows from it names it. */
static int note_missing(lua_State *L)
{
	struct script *s = script_of(L);
	if (lua_type(L, 2) == LUA_TSTRING)
		snprintf(s->missing, sizeof s->missing, "%s", lua_tostring(L, 2));
	lua_pushnil(L);
	return 1;
}

struct script *script_new(const char *name, void *owner)
{
	struct script *s = MEM_NEW(struct script);
	s->name = mem_str(name);
	s->owner = owner;
	s->L = lua_newstate(allocate, s);
	if (s->L == NULL)
		abort(); /* out of memory: a fresh state is far below the cap */
	*(struct script **)lua_getextraspace(s->L) = s;
	s->cpu = cpu_now();
	s->checked = clock_now();
	lua_sethook(s->L, hook, LUA_MASKCOUNT, HOOK_EVERY);
	lua_pushglobaltable(s->L);
	lua_createtable(s->L, 0, 1);
	lua_pushcfunction(s->L, note_missing);
	lua_setfield(s->L, -2, "__index");
	lua_setmetatable(s->L, -2);
	lua_pop(s->L, 1);
	return s;
}

void script_free(struct script *s)
{
	if (s == NULL)
		return;
	lua_close(s->L);
	free(s->name);
	free(s->why);
	free(s);
}

/* Line of the script that called the running C function; 0 when unknown. */
static int line_of(lua_State *L)
{
	lua_Debug ar;
	if (!lua_getstack(L, 1, &ar) || !lua_getinfo(L, "l", &ar) || ar.currentline < 0)
		return 0;
	return ar.currentline;
}

/* The source line, without white space around it, cut to LINE_SHOWN. */
static char *quote_line(const struct script *s, int line)
{
	const char *at = s->text;
	for (int k = 1; at && k < line; k++) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	if (at == NULL || line <= 0)
		return mem_str("");
	at += strspn(at, " \t");
	size_t n = strcspn(at, "\r\n");
	return mem_strn(at, n < LINE_SHOWN ? n : LINE_SHOWN);
}

int script_prune(lua_State *L, const char *function, const char *why)
{
	struct script *s = script_of(L);
	int line = line_of(L);
	char *quote = quote_line(s, line);
	free(s->why);
	s->why = why ? mem_fmt("%s: %s (%s, line %d)", function, why, s->name, line)
		     : mem_fmt("%s, line %d: %s", s->name, line, quote);
	free(quote);
	halt(L, s, STOP_PRUNED);
	return 0;
}

/* Habits from other languages, and what Lua writes instead. */
static const char *advice(const struct script *s, const char *message)
{
	const char *line_at = strchr(message, ':');
	int line = line_at ? atoi(line_at + 1) : 0;
	char *text = quote_line(s, line);
	const char *found = strstr(text, "!=")   ? " (write ~= in place of !=)"
			    : strstr(text, "&&") ? " (write and in place of &&)"
			    : strstr(text, "||") ? " (write or in place of ||)"
			    : strstr(text, "+=") || strstr(text, "-=") || strstr(text, "*=") || strstr(text, "++")
				    ? " (Lua has no += or ++: write x = x + 1)"
			    : strstr(text, "//") && strstr(message, "unexpected symbol") ? " (comments begin with --)"
			    : strstr(message, "attempt to call a nil value (global")
				    ? " (there are launch, alloc, table, memset, copy, tensor_map, need, invalid, cdiv, min, max, "
				      "floor, ceil, abs, and types as i64)"
				    : "";
	free(text);
	return found;
}

/* "; nothing is called BQ here (did you mean BX?)" where the error follows from an undefined name. */
static void add_missing(struct script *s, struct err *e)
{
	struct suggest near;
	if (!s->missing[0] || (!strstr(e->text, "nil") && !strstr(e->text, "no value")))
		return;
	suggest_init(&near, s->missing);
	lua_pushglobaltable(s->L);
	for (lua_pushnil(s->L); lua_next(s->L, -2); lua_pop(s->L, 1))
		if (lua_type(s->L, -2) == LUA_TSTRING)
			suggest_offer(&near, lua_tostring(s->L, -2));
	lua_pop(s->L, 1);
	const char *best = suggest_best(&near);
	char *text = mem_str(e->text);
	err_set(e, e->code, "%s; nothing is called %s here%s%s%s", text, s->missing, best ? " (did you mean " : "",
		best ? best : "", best ? "?)" : "");
	free(text);
}

static int finish(struct script *s, int status, struct err *e)
{
	if (status == LUA_OK)
		return 0;
	const char *message = lua_type(s->L, -1) == LUA_TSTRING ? lua_tostring(s->L, -1) : "an error without a text";
	char where[32] = "";
	if (s->stopped_at > 0)
		snprintf(where, sizeof where, ", line %d", s->stopped_at);
	switch (s->stop) {
	case STOP_PRUNED: return err_set(e, ERR_PRUNED, "%s", s->why);
	case STOP_WORK:
		return err_set(e, ERR_INPUT, "%s%s: more than %d steps; it only describes launches and must end (an endless loop?)",
			       s->name, where, SCRIPT_WORK_MAX);
	case STOP_TIME:
		return err_set(e, ERR_INPUT, "%s%s: more than %d ms of processor time; it only describes launches", s->name, where,
			       SCRIPT_CPU_MS);
	case STOP_NONE: break;
	}
	if (status == LUA_ERRMEM)
		return err_set(e, ERR_INPUT, "%s: more memory than a host script may use (%d MiB at once, %d MiB in total)",
			       s->name, SCRIPT_MEMORY_MAX >> 20, SCRIPT_TRAFFIC_MAX >> 20);
	/* "NAME:3: what" → "NAME, line 3: what". */
	size_t n = strlen(s->name);
	if (strncmp(message, s->name, n) == 0 && message[n] == ':') {
		int line = atoi(message + n + 1);
		const char *rest = strchr(message + n + 1, ':');
		int rc = err_set(e, ERR_INPUT, "%s, line %d:%s%s", s->name, line, rest ? rest + 1 : "", advice(s, message));
		add_missing(s, e);
		return rc;
	}
	return err_set(e, ERR_INPUT, "%s: %s", s->name, message);
}

void script_quote(struct script *s, const char *original)
{
	s->text = original;
}

int script_load(struct script *s, const char *text, size_t len, struct err *e)
{
	char *chunk = mem_fmt("=%s", s->name);
	if (s->text == NULL)
		s->text = text;
	int status = luaL_loadbufferx(s->L, text, len, chunk, "t");
	free(chunk);
	return finish(s, status, e);
}

int script_run(struct script *s, struct err *e)
{
	return finish(s, lua_pcall(s->L, 0, 0, 0), e);
}

int script_call(struct script *s, lua_CFunction fn, struct err *e)
{
	lua_pushcfunction(s->L, fn);
	return finish(s, lua_pcall(s->L, 0, 0, 0), e);
}
