/* round: which code asks for NaN, and what is judged then. */
#include "core/judge/round.h"

#include "tests/tap.h"

static void test_asks(void)
{
	static const struct {
		const char *code;
		bool asks;
	} cases[] = {
		{ "if (isnan(x)) x = 0;", true },
		{ "if (__hisnan(h)) h = zero;", true },
		{ "y = x == x ? x : 0;", true },
		{ "if (row.x!=row.x) continue;", true },
		{ "if (x != y) y = x;", false },
		{ "if (a == ab) b = 1;", false },
		{ "if (x == x[1]) b = 1;", false },
		{ "while (0 != 0) ;", false },
		{ "for (i = 0; i <= n; i++) s += x[i];", false },
		{ "", false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		is_int(round_asks_nan(cases[i].code), cases[i].asks, "\"%s\" %s for NaN", cases[i].code,
		       cases[i].asks ? "asks" : "does not ask");
}

static void test_absorbing(void)
{
	size_t count;
	const enum plan_values *others = round_absorbing(PLAN_SPECIAL, "m = max(m, x);", &count);
	is_int(count, 3, "what becomes of infinities and of NaN is asked apart");
	others = round_absorbing(PLAN_SPECIAL, "m = isnan(x) ? m : x;", &count);
	ok(count == 1 && others[0] == PLAN_SPECIAL_NANS, "NaN that code asks for are never absorbed");
	round_absorbing(PLAN_NAN_RUNS, "m = isnan(x) ? m : x;", &count);
	is_int(count, 0, "nor are runs of them");
}

int main(void)
{
	test_asks();
	test_absorbing();
	return tap_done();
}
