/* Expressions compared with Lua: thousands of random ones must give the same value as in Lua 5.4. Then error messages, limits and
 * sets. */
#include "core/context/expr.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "tap.h"

static uint64_t state = 42;

static unsigned roll(unsigned n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(state >> 33) % n;
}

static void generate(struct buf *out, int depth)
{
	static const char *const leaves[] = { "a", "b", "c", "d", "0", "1", "2", "3", "7", "0x10", "0.5", "2.0", "1e3", "64" };
	static const char *const ops[] = { "+", "-", "*", "/",  "//", "%",  "^",  "<<", ">>",  "&",
					   "|", "~", "<", "<=", ">",  ">=", "==", "~=", "and", "or" };
	if (depth == 0 || roll(5) == 0) {
		buf_adds(out, leaves[roll(sizeof leaves / sizeof leaves[0])]);
		return;
	}
	unsigned kind = roll(10);
	if (kind == 0) {
		buf_adds(out, (const char *[]){ "- ", "~", "not " }[roll(3)]);
		generate(out, depth - 1);
	} else if (kind <= 3) {
		buf_addc(out, '(');
		generate(out, depth - 1);
		buf_addc(out, ')');
	} else {
		generate(out, depth - 1);
		buf_addf(out, " %s ", ops[roll(sizeof ops / sizeof ops[0])]);
		generate(out, depth - 1);
	}
}

/* Evaluates the text in Lua: false when Lua raises an error. */
static int ask_lua(lua_State *L, const char *text, struct value *ret_v)
{
	struct buf code = BUF_INIT;
	buf_addf(&code, "return %s", text);
	int rc = luaL_dostring(L, buf_text(&code));
	buf_fini(&code);
	if (rc == LUA_OK)
		*ret_v = lua_isboolean(L, -1)   ? value_of_bool(lua_toboolean(L, -1))
			 : lua_isinteger(L, -1) ? value_of_int(lua_tointeger(L, -1))
						: value_of_float(lua_tonumber(L, -1));
	lua_settop(L, 0);
	return rc == LUA_OK;
}

static void test_against_lua(void)
{
	static const int64_t ints[] = { 0, 1, -1, 5, 64, -7, INT64_MAX, INT64_MIN };
	lua_State *L = luaL_newstate();
	struct expr_scope *scope = expr_scope_new();
	struct value env[4];
	int differences = 0, computed = 0;
	for (int k = 0; k < 4; k++)
		expr_scope_add(scope, (const char *[]){ "a", "b", "c", "d" }[k]);
	for (int round = 0; round < 30000; round++) {
		struct buf text = BUF_INIT;
		struct expr *x = NULL;
		struct err e = ERR_INIT;
		struct value mine, lua = { .kind = VALUE_NONE };
		for (int k = 0; k < 4; k++) {
			env[k] = roll(3) ? value_of_int(ints[roll(8)]) : value_of_float((double)roll(100) / 4);
			if (env[k].kind == VALUE_INT)
				lua_pushinteger(L, env[k].i);
			else
				lua_pushnumber(L, env[k].f);
			lua_setglobal(L, scope->names[k]);
		}
		generate(&text, 5);
		int good = ask_lua(L, buf_text(&text), &lua);
		int parsed = expr_parse(scope, buf_text(&text), text.len, &x, &e) == 0;
		enum value_status st = parsed ? expr_eval(x, env, &mine) : VALUE_TYPE;
		if (!parsed || good != (st == VALUE_OK) || (good && !value_same(mine, value_normal(lua)))) {
			if (differences++ < 5)
				printf("# differs: %s (%s)\n", buf_text(&text), e.text);
		}
		computed += good;
		expr_free(x);
		buf_fini(&text);
	}
	is_int(differences, 0, "30000 random expressions have the same value as in Lua");
	ok(computed > 10000, "most of them can be computed (%d)", computed);
	expr_scope_free(scope);
	lua_close(L);
}

static struct expr_scope *small_scope(void)
{
	struct expr_scope *s = expr_scope_new();
	expr_scope_add(s, "n");
	expr_scope_add(s, "BX");
	expr_scope_add(s, "A.size");
	return s;
}

static void gives(const char *text, double want)
{
	struct expr_scope *s = small_scope();
	struct value env[3] = { value_of_int(512), value_of_int(16), value_of_int(100) }, v = value_of_int(0);
	struct expr *x = NULL;
	struct err e = ERR_INIT;
	int rc = expr_parse(s, text, strlen(text), &x, &e);
	if (rc == 0)
		rc = (int)expr_eval(x, env, &v);
	ok(rc == 0 && (v.kind == VALUE_BOOL ? v.b == (want != 0) : value_double(v) == want), "%s = %g %s", text, want, e.text);
	expr_free(x);
	expr_scope_free(s);
}

static void refuses(const char *text, const char *message)
{
	struct expr_scope *s = small_scope();
	struct expr *x = NULL;
	struct err e = ERR_INIT;
	is_int(expr_parse(s, text, strlen(text), &x, &e), -ERR_INPUT, "`%.40s` is refused", text);
	has_str(e.text, message, "the error gives the reason");
	expr_scope_free(s);
}

static void test_language(void)
{
	gives("2*n^3", 2.0 * 512 * 512 * 512);
	gives("cdiv(n, 100)", 6);
	gives("cdiv(-7, 2)", -3);
	gives("min(n, BX, 3) + max(1, 2.5)", 5.5);
	gives("floor(7.9) + ceil(7.1) + abs(-3)", 18);
	gives("A.size == 100 and n % BX == 0", 1);
	gives("n > 600 or BX", 16);
	gives("1<<4 | 1", 17);
	gives("  -2^2", -4);
	gives("not (n == 512)", 0);
	refuses("n != 5", "column 3: write ~= in place of !=");
	refuses("n > 1 && n < 3", "write and in place of &&");
	refuses("n > 1 || n < 3", "write or in place of ||");
	refuses("n**2", "write ^ in place of **");
	refuses("!n", "write not in place of !");
	refuses("BX = 3", "write == in place of =");
	refuses("Bx + 1", "no parameter, input or constant Bx is known here (did you mean BX?)");
	refuses("flor(3)", "no function flor (did you mean floor?)");
	refuses("cdiv(3)", "cdiv takes two numbers");
	refuses("(n + 1", "expected ')', found the end");
	refuses("n +", "expected a number or a name, found the end");
	refuses("n 5", "expected an operator or the end, found '5'");
	refuses("", "expected a number or a name");
	refuses("3x", "expected a number");
	refuses("'text'", "expected a number or a name");
	struct buf deep = BUF_INIT;
	for (int k = 0; k < 100000; k++)
		buf_addc(&deep, '(');
	struct expr_scope *s = small_scope();
	struct expr *x = NULL;
	struct err e = ERR_INIT;
	is_int(expr_parse(s, deep.data, deep.len, &x, &e), -ERR_INPUT, "100000 parentheses are refused");
	has_str(e.text, "nested too deep", "the refusal says that parentheses are nested too deep");
	buf_fini(&deep);
	expr_scope_free(s);
}

static void values(const char *text, const char *want)
{
	struct expr_scope *s = small_scope();
	struct value env[8] = { value_of_int(512), value_of_int(16), value_of_int(100) }, *v = NULL;
	struct expr_set *set = NULL;
	struct err e = ERR_INIT;
	struct buf got = BUF_INIT;
	size_t count = 0;
	if (expr_set_parse(s, text, strlen(text), &set, &e) == 0 && expr_set_values(set, env, &v, &count, NULL, &e) == 0)
		for (size_t k = 0; k < count; k++)
			buf_addf(&got, "%s%g", k ? " " : "", value_double(v[k]));
	else
		buf_adds(&got, e.text);
	has_str(buf_text(&got), want, "%s", text);
	free(v);
	expr_set_free(set);
	expr_scope_free(s);
	buf_fini(&got);
}

static void test_sets(void)
{
	values("{16, 32, 64}", "16 32 64");
	values("{16, 32, 16}", "16 32");
	values("n/2", "256");
	values("{0.5, 2.0}", "0.5 2");
	values("1<<i for i = 0,4", "1 2 4 8 16");
	values("{8*i for i = 1,3}", "8 16 24");
	values("i for i = 10,1,-4", "10 6 2");
	values("i for i = 1,10 if n % i == 0", "1 2 4 8");
	values("i for i = 0,4 if n % i == 0", "1 2 4");
	values("BX*i for i = 1,cdiv(n, 256)", "16 32");
	values("{min(1,2), max(3,4)}", "1 4");
	values("1, 2", "write several values in braces: {1, 2}");
	values("{1, 2", "expected '}'");
	values("{}", "expected values, such as {16, 32, 64}");
	values("i for i = 1", "expected `EXPR for NAME = FROM, TO");
	values("i for i = 1,", "expected `EXPR for NAME = FROM, TO");
	values("BX for BX = 1,2", "the loop variable BX is also the name");
	values("i for i = 1,2,0", "the range's step is 0");
	values("i for i = 1,10^9", "more than 4096 values");
	values("0 for i = 1,10^9", "more than 1048576 steps");
	values("i for i = 1,0.5*n+0.5", "the range's end is not an integer");
	values("{1 < 2}", "a value is true or false");
	values("{1 // 0}", "division by zero");
}

int main(void)
{
	test_against_lua();
	test_language();
	test_sets();
	return tap_done();
}
