/* core/context/aim: which configurations the code tells apart. */
#include "core/context/aim.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/lex.h"
#include "base/mem.h"
#include "core/context/context.h"
#include "tap.h"

static const struct facts facts = { .backend = "hlsl", .max_threads = 1024 };

/* A kernel with this code, and these lines of tuning parameters. */
static struct context *context_with(const char *tune, const char *code, const char *host)
{
	struct context *ctx = NULL;
	struct err e = ERR_INIT;
	char *text = mem_fmt("---\nkernel: k\nbackend: hlsl\ninputs:\n  n: int = 64\n  C: out f32[n]\ntune:\n%s---\n```hlsl\n%s\n"
			     "[numthreads(1, 1, 1)] void k(uint3 id : SV_DispatchThreadID) { C[id.x] = 1; }\n```\n"
			     "```lua host\n%s\nlaunch(\"k\", n, 1, {C, n})\n```\n",
			     tune, code, host);
	is_int(context_parse("fixture", text, &ctx, &e), 0, "the fixture is a context %s", e.text);
	free(text);
	return ctx;
}

static bool compares(const struct aim *a, const char *left, const char *right)
{
	for (size_t k = 0; k < aim_count(a); k++) {
		const char *x, *y;
		aim_text(a, k, &x, &y);
		if (strcmp(x, left) == 0 && strcmp(y, right) == 0)
			return true;
	}
	return false;
}

static void comparisons_are_read(void)
{
	struct context *ctx = context_with(
		"  BX: {1, 2, 4}\n  U: {1, 2}\n",
		"#if BX == 4 && \\\n U != 2 // BX == 7\n[unroll]\n#endif\n#define WIDE (BX * U)\nstatic const uint warps = BX * 32 "
		"/ 64, other = "
		"warps + 1u;\n"
		"void f(uint x) { if (warps >= 17) x = 1; if (x < BX) x = 2; if (f(BX) == 3) x = 4; if (x + BX == 5) x = 5;\n"
		"if (U % 3) x = 6; for (uint i = 0; i < U; i++) x = BX << 1 > WIDE ? 1 : 2; if (a[BX] == 1) x = 3; if ((BX + 1) * "
		"2 < other) x = 3;\n"
		"if (BX == x + 1) x = 0; if (uint(n) / (BX * 3) == 1u || (int)U > 7) x = 1; switch (BX * U) { case 8: x = 1; "
		"break; case 16: x = 2; } }",
		"if BX // 2 == 3 then prune() end -- BX == 9\nfor k = 1, 2 do local m = k end");
	struct aim *a = aim_new(ctx, &facts);
	ok(compares(a, "BX", "4") && compares(a, "U", "2"), "conditions of the preprocessor");
	ok(compares(a, "(BX*32//64)", "17"), "names that stand for expressions");
	ok(compares(a, "(BX+1)*2", "((BX*32//64)+1)"), "which name others");
	ok(compares(a, "BX<<1", "((BX*U))"), "and macros that do");
	ok(compares(a, "(U)%3", "0") && compares(a, "(BX*32)%64", "0"), "remainders, and quotients that are cut off");
	ok(compares(a, "BX*U", "8") && compares(a, "BX*U", "16"), "the cases of a switch");
	ok(compares(a, "BX//2", "3") && !compares(a, "BX", "9"), "and host code's, but for comments");
	ok(compares(a, "max(BX,U)%U", "0"), "whether one parameter divides another");
	ok(compares(a, "BX", "0") && compares(a, "(BX*32//64)+1", "0"), "and amounts, whose ends count");
	ok(compares(a, "((n))%(BX*3)", "0") && compares(a, "U", "7"), "conversions change nothing");
	is_int((long long)aim_count(a), 26, "nothing that depends on something else, no comment and no call");
	for (size_t k = 0; k < aim_count(a); k++) {
		const char *x, *y;
		aim_text(a, k, &x, &y);
		printf("# %s : %s\n", x, y);
	}
	aim_free(a);
	context_free(ctx);
}

/* Whatever the code is, reading it takes little time. */
static void long_code_is_read_soon(void)
{
	enum { REPEATED = 40000 };
	struct buf code = BUF_INIT;
	buf_adds(&code, "/* */ #define A BX\n");
	for (int i = 0; i < 20; i++)
		buf_addf(&code, "#define %c%c %c * %c + BX\n", 'A' + i, 'A' + i + 1, 'A' + i, 'A' + i);
	buf_adds(&code, "#if 0\nBX");
	for (int i = 0; i < REPEATED; i++)
		buf_adds(&code, " % BX");
	for (int i = 0; i < REPEATED; i++)
		buf_adds(&code, " < ((((BX + 1");
	buf_adds(&code, "\n#endif\n");
	struct context *ctx = context_with("  BX: {1, 2, 4}\n", code.data, "");
	int64_t begun = clock_now();
	struct aim *a = aim_new(ctx, &facts);
	ok(clock_now() - begun < 2 * CLOCK_S, "long code is read in %lld ms", (long long)((clock_now() - begun) / CLOCK_MS));
	aim_free(a);
	context_free(ctx);
	buf_fini(&code);
}

/* How many points aim_next gives before this one. */
static int before(const struct context *ctx, const struct params *wanted)
{
	struct aim *a = aim_new(ctx, &facts);
	struct space *space = NULL;
	struct err e = ERR_INIT;
	int n = 0, found = -1;
	if (!ok(space_new(ctx, &facts, NULL, &space, &e) == 0, "the space: %s", e.text))
		return -1;
	struct aim_size *s = aim_size_new(a, space, 5);
	for (size_t at; n < 40 && found < 0 && (at = aim_next(s)) != SIZE_MAX; n++) {
		struct params *p = space_at(space, at);
		if (params_contain(p, wanted))
			found = n;
		aim_had(s, at);
		params_free(p);
	}
	aim_size_free(s);
	space_free(space);
	aim_free(a);
	return found;
}

/* A raw string's delimiter is short, so that many of them are read in little time. */
static void quotes_are_read_soon(void)
{
	enum { REPEATED = 200000 };
	struct buf code = BUF_INIT;
	for (int i = 0; i < REPEATED; i++)
		buf_adds(&code, "R\"\"");
	buf_adds(&code, "(");
	int64_t begun = clock_now();
	ok(!lex_c_has(code.data, "clock", 5) && clock_now() - begun < 2 * CLOCK_S, "quotes are read in %lld ms",
	   (long long)((clock_now() - begun) / CLOCK_MS));
	buf_fini(&code);
}

static void rare_ones_come_first(void)
{
	static const struct {
		const char *tune, *code, *wanted;
		int at_most;
	} cases[] = {
		{ "  TX: 8*i for i = 1,16\n  TY: {1, 2, 3, 4, 5, 6, 7, 8}\n  U: {1, 2, 3, 4, 5, 6, 7, 8}\n",
		  "#if TX == 56 && TY == 4 && U == 7\n#endif", "TX=56 TY=4 U=7", 2 },
		{ "  BX: 32*i for i = 1,32\n  IPT: {1, 2, 4, 8, 16}\n",
		  "static const uint warps = BX / 32;\n#if IPT == 8\nstatic const uint h = warps > 17 ? 16 : warps > 8 ? 8 : warps "
		  "> 4 ? 4 : 1;\n"
		  "#endif\n",
		  "IPT=8 BX=544", 8 },
		{ "  BX: 128*i for i = 1,8\n  IPT: {4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64}\n", "", "BX=1024 IPT=64", 1 },
	};
	for (size_t i = 0; i < MEM_COUNT(cases); i++) {
		struct context *ctx = context_with(cases[i].tune, cases[i].code, "");
		struct params *wanted = NULL;
		struct err e = ERR_INIT;
		params_parse(ctx, cases[i].wanted, false, &wanted, &e);
		int at = before(ctx, wanted);
		ok(at >= 0 && at < cases[i].at_most, "%s is aimed at soon: number %d", cases[i].wanted, at + 1);
		params_free(wanted);
		context_free(ctx);
	}
}

int main(void)
{
	comparisons_are_read();
	long_code_is_read_soon();
	quotes_are_read_soon();
	rare_ones_come_first();
	return tap_done();
}
