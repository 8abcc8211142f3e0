/* Hostile host code: each script ends with a clear error within 100 ms of processor time, and reaches nothing outside its
 * sandbox. */
#include "core/context/host.h"

#include <time.h>

#include "base/clock.h"
#include "core/context/sample.h"
#include "tap.h"

/* Sanitizers slow Lua down several times; the caps themselves do not change. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { LIMIT_MS = 600 };
#else
enum { LIMIT_MS = 100 };
#endif

static double cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void refuse(const char *what, const char *script, const char *message)
{
	struct err e = ERR_INIT;
	struct plan *plan = NULL;
	struct facts facts = sample_facts();
	struct params *p = NULL;
	struct context *ctx = sample_context("cuda", "", script);
	(void)params_parse(ctx, "n=64", true, &p, &e);
	double start = cpu_ms();
	int rc = host_run(ctx, p, &facts, &plan, &e);
	double ms = cpu_ms() - start;
	is_int(rc, -ERR_INPUT, "%s: refused", what);
	/* On a slow or loaded machine the cap on time can come before another one. */
	int slow = strncmp(message, "more ", 5) == 0 && strstr(e.text, "ms of processor time");
	has_str(slow ? message : e.text, message, "%s: says why", what);
	ok(ms < LIMIT_MS, "%s: within %d ms (%.1f ms)", what, LIMIT_MS, ms);
	if (rc == 0)
		plan_free(plan);
	params_free(p);
	context_free(ctx);
}

/* `unit` n times between head and tail. */
static void refuse_long(const char *what, const char *head, const char *unit, int n, const char *tail, const char *message)
{
	struct buf b = BUF_INIT;
	buf_adds(&b, head);
	for (int k = 0; k < n; k++)
		buf_adds(&b, unit);
	buf_adds(&b, tail);
	refuse(what, buf_text(&b), message);
	buf_fini(&b);
}

static void test_work(void)
{
	refuse("endless loop", "local x\nwhile true do end\n", "more than 1000000 steps");
	refuse("the line of an endless loop", "local x\nwhile true do end\n", "host code, line 2: more than ");
	refuse("the line of a loop over calls", "local x\n\nwhile true do x = cdiv(5, 3) end\n", "host code, line 3: more than ");
	refuse("endless numeric loop", "for i = 1, math or 1e18 do local x = i end\n", "more than 1000000 steps");
	refuse("goto", "::a:: goto a\n", "more than 1000000 steps");
	refuse("endless tail calls", "local function f() return f() end f()\n", "more than 1000000 steps");
	refuse("recursion", "local function f(x) return 1 + f(x+1) end f(1)\n", "host code");
	refuse("deep closures", "local f = abs\nwhile true do local g = f\n f = function() return g(1) end end\n", "host code");
	refuse("a loop hidden in a function", "local t = {}\nfor i = 1, 60000 do t[i] = 1 end\nwhile true do table(i8, t) end\n",
	       "more than 1000000 steps");
	refuse("many buffers", "while true do alloc(1) end\n", "more than 256 buffers");
	refuse("many operations", "while true do memset(C, 0) end\n", "more than 1024 operations");
	refuse("a launch with many arguments", "local t = {}\nfor i = 1, 1000 do t[i] = i end\nlaunch('k', 1, 1, t)\n",
	       "more than 64 arguments");
	refuse("a list with holes", "local t = {}\nt[60] = 1\nlaunch('k', 1, 1, t)\n", "argument 1 is nil");
	refuse("a huge index", "launch('k', 1, 1, {[2^53] = 1})\n", "has the key");
}

static void test_memory(void)
{
	refuse("string doubling", "local s = 'xxxxxxxx'\nwhile true do s = s .. s end\n", "more memory than");
	refuse("string copying", "local s = 'x'\nfor i = 1, 20 do s = s .. s end\nwhile true do local t = s .. 'y' end\n",
	       "more memory than");
	refuse("string comparing",
	       "local s = 'x'\nfor i = 1, 20 do s = s .. s end\nlocal a, b = s .. 'a', s .. 'b'\n"
	       "while true do local c = a < b end\n",
	       "host code");
	refuse("table bomb", "local t = {}\nwhile true do t = {t, {}, {}} end\n", "more memory than");
	refuse("array bomb", "local t, i = {}, 1\nwhile true do t[i] = i i = i + 1 end\n", "more memory than");
	refuse("million allocations", "while true do local t = {1, 2, 3} end\n", "host code");
	refuse("huge scratch", "alloc(2^50)\n", "out of range");
	refuse("scratch that overflows", "alloc({f64, 2^40, 2^40})\n", "alloc: more than");
	refuse("many tables", "local t = {}\nfor i = 1, 50000 do t[i] = i end\nwhile true do table(f64, t) end\n", "host code");
}

static void test_reach(void)
{
	refuse("string library", "string.rep('x', 1e9)\n", "attempt to index a nil value (global 'string')");
	refuse("string methods", "local s = ('x'):rep(1e9)\n", "attempt to index a string value");
	refuse("string metatable", "local m = ('').format\n", "attempt to index a string value");
	refuse("strings as numbers", "local x = '10' + 1\n", "attempt to perform arithmetic on a string value");
	refuse("metatables", "setmetatable({}, {__gc = function() while true do end end})\n", "global 'setmetatable'");
	refuse("finaliser by field", "local t = {__gc = 1, __close = 1}\nlocal x <close> = t\n", "non-closable value");
	refuse("pcall", "pcall(launch)\n", "global 'pcall'");
	refuse("error", "error({})\n", "global 'error'");
	refuse("load", "load('x')()\n", "global 'load'");
	refuse("require", "require('os')\n", "global 'require'");
	refuse("coroutines", "coroutine.wrap(abs)()\n", "global 'coroutine'");
	refuse("iterators", "for k in pairs({}) do end\n", "global 'pairs'");
	refuse("environment", "_G.launch = nil\n", "global '_G'");
	refuse("tostring", "local s = tostring(A)\n", "global 'tostring'");
	refuse("writing a buffer's field", "A.x = 1\n", "attempt to index a buffer value");
	refuse("unknown field", "local x = A.address\n", "has no field address; there are size, bytes");
	refuse("arithmetic on a handle", "local x = A + 1\n", "arithmetic on a buffer value");
	refuse("a number in place of a buffer", "memset(5, 0)\n", "memset: expected a buffer, found number 5");
	refuse("bytecode", "\033Lua\n", "host code");
}

/* Every function with too few arguments and with values of every wrong kind: an error, never a crash. */
static void test_wrong_arguments(void)
{
	static const char *const functions[] = { "cdiv",   "min",     "max",        "floor", "ceil",  "abs",
						 "need",   "invalid", "launch",     "__arg", "alloc", "table",
						 "memset", "copy",    "tensor_map", "i32",   "f16",   "u64" };
	static const char *const args[] = { "",
					    "nil",
					    "false",
					    "{}",
					    "'x'",
					    "A",
					    "i32(1)",
					    "abs",
					    "-1",
					    "0/0",
					    "1e300",
					    "A, A, A, A, A, A",
					    "nil, 5",
					    "{A}",
					    "{{}}, {}",
					    "'x', {}",
					    "{i32}",
					    "i32, {1, {}}",
					    "'k', 1, 1, {{}}",
					    "'k', 1, 1, {[1.5]=1}",
					    "{A, box={}}",
					    "{A, box={1,1,1,1,1,1}}" };
	int crashes = 0;
	for (size_t f = 0; f < MEM_COUNT(functions); f++)
		for (size_t a = 0; a < MEM_COUNT(args); a++) {
			char *script = mem_fmt("local x = %s(%s)\n", functions[f], args[a]);
			struct context *ctx = sample_context("cuda", "", script);
			struct facts facts = sample_facts();
			struct params *p = NULL;
			struct plan *plan = NULL;
			struct err e = ERR_INIT;
			(void)params_parse(ctx, "n=64", true, &p, &e);
			int rc = host_run(ctx, p, &facts, &plan, &e);
			crashes += rc == 0 || (e.code != ERR_INPUT && e.code != ERR_PRUNED);
			params_free(p);
			context_free(ctx);
			free(script);
		}
	is_int(crashes, 0, "every function refuses wrong arguments without a crash");
}

static void test_language(void)
{
	refuse("integer division by zero", "local x = 1 // (n - n)\n", "host code, line 1: attempt to divide by zero");
	refuse("modulo by zero", "local x = 1 % (n - n)\n", "attempt to perform 'n%");
	refuse("cdiv by zero", "local x = cdiv(1, 0)\n", "cdiv: division by zero");
	refuse("huge number", "launch('k', 1e308, 1, {})\n", "launch: grid: expected an integer");
	refuse("nan", "launch('k', 0/0, 1, {})\n", "launch: grid: expected an integer");
	refuse("number to text", "local s = 1e308 .. 1e308\nlaunch(s, 1, 1, {})\nx()\n",
	       "attempt to call a nil value (global 'x')");
	refuse("an unknown function", "lanch('k', 1, 1, {})\n", "(there are launch, alloc, table");
	refuse("an undefined name", "local x = cdiv(nn, 2)\n", "found no value; nothing is called nn here (did you mean n?)");
	refuse("an undefined function", "cdvi(n, 2)\n", "nothing is called cdvi here (did you mean cdiv?)");
	refuse("kernel with a zero byte", "launch('a\\0b', 1, 1, {})\n", "expected the kernel's name");
	refuse("name with a zero byte", "alloc(4, 'a\\0b')\n", "expected a name");
	refuse("assignment operator", "local x = 1\nx += 1\n",
	       "line 2: syntax error near '+' (Lua has no += or ++: write x = x + 1)");
	refuse("and", "if n > 1 && n < 3 then end\n", "(write and in place of &&)");
	refuse_long("nested parentheses", "local x = ", "(", 10000, "1\n", "host code");
	refuse_long("nested tables", "local x = ", "{", 10000, "1\n", "host code");
	refuse_long("nested blocks", "", "do ", 8000, "\n", "host code");
	refuse_long("nested functions", "", "local function f() ", 1500, "\n", "host code");
	refuse_long("unary operators", "local x = ", "-", 20000, "1\n", "host code");
	refuse_long("concatenations", "local x = ''", "..''", 5000, "\n", "host code");
	refuse_long("labels", "", "do goto a ::a:: end ", 1600, "x()\n", "global 'x'");
	refuse_long("elseif", "if n == 0 then ", "elseif n==1 then ", 1800, "end x()\n", "global 'x'");
	refuse_long("nested launches", "", "launch(1,2,3,{", 2300, "\n", "host code");
	refuse_long("unclosed brackets", "", "[=[", 10000, "\n", "host code");
	refuse_long("many locals", "", "local a = 1 ", 2500, "\n", "too many local variables");
}

int main(void)
{
	test_work();
	test_memory();
	test_reach();
	test_wrong_arguments();
	test_language();
	return tap_done();
}
