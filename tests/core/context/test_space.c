/* Enumeration, sampling, sizes, check: sizes, messages of empty spaces, and the speed of a million combinations. */
#include "core/context/space.h"

#include "base/clock.h"
#include "base/mem.h"
#include "core/context/sample.h"
#include "pace.h"
#include "tap.h"

static struct space *make(const struct context *ctx, const char *fixed, struct err *e)
{
	struct space *s = NULL;
	struct params *p = NULL;
	struct facts facts = sample_facts();
	*e = (struct err)ERR_INIT;
	if (fixed == NULL || params_parse(ctx, fixed, false, &p, e) == 0)
		(void)space_new(ctx, &facts, p, &s, e);
	params_free(p);
	return s;
}

static struct context *tuned(const char *fields)
{
	return sample_context("cuda", fields, SAMPLE_HOST);
}

static void test_points(void)
{
	struct err e;
	struct context *ctx =
		tuned("tune:\n  BX: 1<<i for i = 0,10\n  BY: {1, 2, 4, BX}\nwhere:\n  - BX*BY <= 64\n  - n % BX == 0\n");
	struct space *s = make(ctx, NULL, &e);
	size_t want = 0, seen = 0;
	for (int n = 64; n <= 128; n *= 2)
		for (int x = 1; x <= 1024; x *= 2)
			for (int k = 0; k < 4; k++) {
				int y = k < 3 ? 1 << k : x;
				bool again = k == 3 && (x == 1 || x == 2 || x == 4);
				want += !again && x * y <= 64 && n % x == 0;
			}
	is_int(space_count(s), want, "the space has as many points as a plain loop counts");
	for (size_t k = 0; k < space_count(s); k++) {
		struct params *p = space_at(s, k);
		seen += space_find(s, p) == k && params_find(p, "BX")->i * params_find(p, "BY")->i <= 64;
		params_free(p);
	}
	is_int(seen, want, "every point fulfils the constraints and is found again");
	is_int(space_size_count(s), 2, "both input sizes are found");
	size_t first, count;
	space_size_range(s, 1, &first, &count);
	struct params *size = space_size_at(s, 1), *p = space_at(s, first);
	char *text = params_text(size);
	is_str(text, "n=128", "a size can be read by number");
	ok(params_contain(p, size) && first + count == want, "the points of one size are contiguous");
	free(text);
	params_free(p);
	params_free(size);
	space_free(s);
	s = make(ctx, "n=96", &e);
	ok(s && space_size_count(s) == 1, "a fixed size need not be in the declared set");
	space_free(s);
	context_free(ctx);
}

static void test_sample(void)
{
	struct err e;
	struct context *ctx = tuned("tune:\n  BX: i for i = 1,50\n");
	struct space *s = make(ctx, "n=64", &e);
	size_t a[50], b[50], hits[50] = { 0 };
	is_int(space_sample(s, 7, 10, a), 10, "a sample has as many points as asked for");
	space_sample(s, 7, 10, b);
	ok(memcmp(a, b, 10 * sizeof *a) == 0, "the same seed gives the same sample");
	space_sample(s, 8, 10, b);
	ok(memcmp(a, b, 10 * sizeof *a) != 0, "another seed gives another sample");
	is_int(space_sample(s, 1, 90, a), 50, "a sample has at most all points");
	for (int k = 0; k < 50; k++)
		hits[a[k]]++;
	size_t once = 0;
	for (int k = 0; k < 50; k++)
		once += hits[k] == 1;
	is_int(once, 50, "a sample has each point once");
	memset(hits, 0, sizeof hits);
	for (uint64_t seed = 0; seed < 5000; seed++) {
		space_sample(s, seed, 5, a);
		for (int k = 0; k < 5; k++)
			hits[a[k]]++;
	}
	/* 500 expected each, deviation 21: six of them apart means that something is wrong. */
	size_t fair = 0;
	for (int k = 0; k < 50; k++)
		fair += hits[k] > 370 && hits[k] < 630;
	is_int(fair, 50, "samples are uniform");
	space_free(s);
	context_free(ctx);
}

static void test_check(void)
{
	struct err e = ERR_INIT;
	struct facts facts = sample_facts();
	struct space *s = NULL;
	struct context *ctx = tuned(SAMPLE_TUNE "check:\n  - n = {67, 257}\n  - n = 67\n");
	is_int(space_new_check(ctx, &facts, NULL, &s, &e), 0, "check sizes %s", e.text);
	is_int(space_count(s), 4, "two sizes with two tuning configurations, each once");
	is_int(space_size_count(s), 2, "check: sizes are counted once");
	space_free(s);
	context_free(ctx);
	ctx = tuned(SAMPLE_TUNE "requires: n % 8 == 0\ncheck: n = {67, 257}\n");
	is_int(space_new_check(ctx, &facts, NULL, &s, &e), 0, "check: sizes that requires: excludes are not an error");
	is_int(space_count(s), 0, "check: sizes that requires: excludes leave no point");
	space_free(s);
	context_free(ctx);
	ctx = tuned(SAMPLE_TUNE);
	is_int(space_new_check(ctx, &facts, NULL, &s, &e), 0, "a context without check: is not an error");
	is_int(space_count(s), 0, "a context without check: has no check points");
	space_free(s);
	context_free(ctx);
}

static void test_empty(void)
{
	struct err e;
	struct context *ctx = tuned(SAMPLE_TUNE "where:\n  - BX > 8\n  - BX*4 < n/8\n  - BX >= 64\n");
	struct space *s = make(ctx, NULL, &e);
	ok(s == NULL && e.code == ERR_INPUT, "an empty space is an error");
	has_str(e.text, "sample.peak.md: no valid execution parameters", "the message says that nothing is valid");
	has_str(e.text, "where: BX >= 64 (line 13) removed 4 of 4", "the message names the constraint that removed most");
	context_free(ctx);
	ctx = tuned(SAMPLE_TUNE "requires:\n  - device.sm >= 100\n");
	s = make(ctx, NULL, &e);
	ok(s == NULL && e.code == ERR_UNSUPPORTED, "a device that does not meet requires: is unsupported");
	has_str(e.text, "requires device.sm >= 100, which device cuda:0 (Sample) does not fulfil",
		"the message names the device and the requirement");
	is_int(space_new(ctx, NULL, NULL, &s, &e), 0, "without a device that requirement is left out");
	space_free(s);
	context_free(ctx);
	ctx = tuned("tune:\n  BX: i for i = 1,4096\n  BY: i for i = 1,4096\n");
	s = make(ctx, NULL, &e);
	has_str(e.text,
		"more than 8000000 valid points (raw product 3.36e+07). Tighten where:", "a space that is too large is refused");
	context_free(ctx);
	ctx = tuned("tune:\n  BX: i for i = 1,4\nwhere: n // (BX-1) > 0\n");
	s = make(ctx, NULL, &e);
	is_int(space_count(s), 6, "a constraint that divides by zero does not hold");
	space_free(s);
	context_free(ctx);
}

static void test_types(void)
{
	struct err e;
	struct context *ctx = tuned(SAMPLE_TUNE "where: BX + (n == 64) > 3\n");
	struct space *s = make(ctx, NULL, &e);
	ok(s == NULL, "a constraint that cannot be computed is an error");
	has_str(e.text, "sample.peak.md:10: where: `BX + (n == 64) > 3` cannot be computed: arithmetic on a truth value",
		"the message has file and line");
	context_free(ctx);
	ctx = tuned(SAMPLE_TUNE "where: BX + (n == 64) > 3 and BX > 100\n");
	s = make(ctx, NULL, &e);
	has_str(e.text, "cannot be computed: arithmetic on a truth value",
		"it is an error even where the rest of the constraint cannot hold");
	space_free(s);
	context_free(ctx);
}

/* A product that must be equal to a number: only its divisors are looked at further, in whatever way the constraint says so. */
static void equal_products(void)
{
	static const struct {
		const char *where;
		size_t valid;
	} cases[] = {
		{ "X*Y*Z == 1009*1009", 3 }, /* a prime: it twice and 1 */
		{ "X*Y*Z == 7919*7919", 0 }, /* a prime above all values */
		{ "X*Y*Z - 7919^2 == 0", 0 }, { "7919 == X*(Y*Z)", 0 }, { "1009*1009 % (X*Y*Z) == 0 and X*Y*Z >= 1009*1009", 3 },
		{ "X*Y*Z == 4093*3*5", 12 }, /* a prime in three places, beside it the four products that are 15 */
	};
	for (size_t i = 0; i < MEM_COUNT(cases); i++) {
		struct err e = ERR_INIT;
		struct space *s = NULL;
		char *why = NULL,
		     *fields = mem_fmt("tune:\n  X: i for i = 1,4096\n  Y: i for i = 1,4096\n  Z: i for i = 1,4096\nwhere: %s\n",
				       cases[i].where);
		struct context *ctx = tuned(fields);
		struct facts facts = sample_facts();
		struct params *size = params_new();
		params_set_int(size, "n", false, 64);
		int rc = space_new_maybe(ctx, &facts, size, &s, &why, &e);
		ok(rc == 0 && space_count(s) == cases[i].valid, "%s: %zu of 7×10^10 hold (%zu) %s", cases[i].where, cases[i].valid,
		   s ? space_count(s) : 0, e.text);
		ok(s && space_visited(s) < 100000, "found in %llu visits", s ? (unsigned long long)space_visited(s) : 0);
		params_free(size);
		space_free(s);
		free(why);
		free(fields);
		context_free(ctx);
	}
}

/* What cannot hold is seen before all combinations have been looked at, and the constraint that is to blame is named. */
static void test_hopeless(void)
{
	struct err e;
	struct context *ctx =
		tuned("tune:\n  X: i for i = 1,4096\n  Y: i for i = 1,4096\n  Z: i for i = 1,4096\nwhere:\n  - X % Y == 0\n"
		      "  - X*Y*Z > 4096^4\n");
	struct space *s = make(ctx, NULL, &e);
	ok(s == NULL, "constraints that nothing fulfils are an error");
	has_str(e.text, "no valid execution parameters: where: X*Y*Z > 4096^4 (line 14) removed 137438953472 of 137438953472",
		"impossible constraints are found without trying 10^11 combinations");
	context_free(ctx);
	ctx = tuned("tune:\n  A1: i for i = 1,32\n  A2: i for i = 1,32\n  A3: i for i = 1,32\n  A4: i for i = 1,32\n  A5: i for i "
		    "= 1,32\n"
		    "where: A1*A2*A3*A4*A5 <= 8\n");
	s = make(ctx, "n=64", &e);
	size_t want = 0;
	for (int a = 1; a <= 8; a++)
		for (int b = 1; a * b <= 8; b++)
			for (int c = 1; a * b * c <= 8; c++)
				for (int d = 1; a * b * c * d <= 8; d++)
					want += (size_t)(8 / (a * b * c * d));
	ok(s && space_count(s) == want, "a product of five that must stay small: %zu points", want);
	ok(s && space_visited(s) < 20000, "of 3×10^7, found in %llu visits", s ? (unsigned long long)space_visited(s) : 0);
	space_free(s);
	context_free(ctx);
	equal_products();
	ctx = tuned("tune:\n  X: i for i = 1,50\n  Y: {1, 2, X}\nwhere: X > 1000 or Y\n"); /* a number is true */
	s = make(ctx, "n=64", &e);
	is_int(s ? space_count(s) : 0, 2 + 2 + 48 * 3,
	       "a set that depends on another parameter is enumerated for each of its values");
	space_free(s);
	context_free(ctx);
}

static bool stop_at_third(void *arg)
{
	return ++*(int *)arg == 3;
}

/* Work is counted, so that a space is refused on every machine or on none. */
static void test_hard(void)
{
	struct err e = ERR_INIT;
	struct context *ctx = tuned("tune:\n  X: i for i = 1,4096\n  Y: i for i = 1,4096\n  Z: i for i = 1,4096\n"
				    "where: (X*Y*Z) % 1000003 == 77777\n");
	struct space *s = NULL;
	int asked = 0;
	const struct space_stop stop = { .wanted = stop_at_third, .arg = &asked };
	is_int(space_new_until(ctx, NULL, NULL, &stop, &s, &e), -ERR_CANCELLED, "an enumeration ends when its caller is gone");
	ok(s == NULL && asked == 3, "after it was asked %d times", asked);
	has_str(e.text, "sample.peak.md: the enumeration of the space was cancelled", "the message says that it was cancelled");
	is_int(space_new(ctx, NULL, NULL, &s, &e), -ERR_INPUT, "a space that is too hard is refused");
	has_str(e.text, "sample.peak.md:12: where: `(X*Y*Z) % 1000003 == 77777` is too hard", "the message names the constraint");
	has_str(e.text, "depends on 3 parameters", "the message gives the reason");
	has_str(e.text, "Split it into constraints on fewer parameters", "the message says what to do");
	context_free(ctx);
	ctx = tuned("tune:\n  X: i for i = 1,4096\n  Y: i*X for i = 1,4096\n  Z: i*Y for i = 1,4096\nwhere: X*Y*Z > 7\n");
	is_int(space_new(ctx, NULL, NULL, &s, &e), -ERR_INPUT, "sets that depend on one another are counted as well");
	has_str(e.text, "sample.peak.md: the space of kernel", "the message names the file");
	context_free(ctx);
}

static void test_speed(void)
{
	struct err e;
	/* 2 × 10^6 raw combinations as a tiled kernel has them. */
	struct context *ctx =
		tuned("tune:\n  A1: i for i = 1,10\n  A2: i for i = 1,10\n  A3: i for i = 1,10\n  A4: i for i = 1,10\n"
		      "  A5: i for i = 1,10\n  A6: i for i = 1,10\n"
		      "where:\n  - A1*A2 <= 40\n  - A3*A4 % 2 == 0\n  - A5 <= A6\n  - (A1+A6)*A3 < 100\n");
	struct pace pace = pace_begin();
	struct space *s = make(ctx, NULL, &e);
	bool soon = pace_within(&pace, 3 * CLOCK_S);
	double ms = (double)pace.took / 1e6;
	printf("# %.0f raw, %zu valid, %llu visited: %.1f ms\n", space_raw(s), space_count(s), (unsigned long long)space_visited(s),
	       ms);
	ok(space_raw(s) == 2e6 && soon, "two million combinations within three seconds (%s)", pace_text(&pace));
	space_free(s);
	context_free(ctx);
	/* 10^9 raw combinations of which tight constraints leave few: the work follows what is visited. */
	ctx = tuned("tune:\n  A1: i for i = 1,32\n  A2: i for i = 1,32\n  A3: i for i = 1,32\n  A4: i for i = 1,32\n  "
		    "A5: i for i = 1,32\n"
		    "  A6: i for i = 1,32\nwhere:\n  - A1 == A2\n  - A2 == A3\n  - A3 + A4 == 33\n  - A5 == A6\n  - "
		    "A4*A5 == 32\n");
	int64_t start = clock_now();
	s = make(ctx, "n=64", &e);
	ms = (double)(clock_now() - start) / 1e6;
	printf("# %.3g raw, %zu valid, %llu visited: %.2f ms\n", space_raw(s), space_count(s), (unsigned long long)space_visited(s),
	       ms);
	ok(space_raw(s) > 1e9 && space_visited(s) < 10000 && space_count(s) == 6, "a thousand million in a few thousand visits");
	space_free(s);
	context_free(ctx);
}

int main(void)
{
	test_points();
	test_sample();
	test_check();
	test_empty();
	test_types();
	test_hopeless();
	test_hard();
	test_speed();
	return tap_done();
}
