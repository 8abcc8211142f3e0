/* backends/values/compare_kind, compare_random: each kind of output passes what it permits and refuses what it does not. */
#include "backends/values/compare.h"

#include <math.h>

#include "tap.h"

static struct plan_buffer matrix(const char *name, enum dtype t, int64_t rows, int64_t columns)
{
	return (struct plan_buffer){ .name = (char *)name, .type = t, .rank = 2, .dims = { rows, columns }, .ld = columns,
	                             .bytes = (uint64_t)(rows * columns) * dtype_size(t) };
}

static struct wire_compared compare(const struct plan_buffer *b, const void *got, const void *want, struct judgement j,
				    const struct compare_indexed *x)
{
	struct compare_wanted w = { .type = b->type, .values = want, .poison = 0xFF };
	struct wire_compared c;
	j.declared = true;
	compare_by_kind(b, got, &w, &j, x, &c);
	if (c.finding[0])
		printf("# %s\n", c.finding);
	return c;
}

static void test_exact(void)
{
	struct plan_buffer b = matrix("y", DTYPE_F32, 1, 4);
	struct judgement j = { .kind = JUDGE_EXACT };
	float want[4] = { 1, 0, NAN, -4 }, same[4] = { 1, -0.0f, NAN, -4 }, off[4] = { 1.0000001f, 0, NAN, -4 };
	double wide[4] = { 1 + 1e-12, 0, NAN, -4 };
	is_int(compare(&b, same, want, j, NULL).mismatched, 0, "exact: equal values, zeros and NaN pass");
	is_int(compare(&b, off, want, j, NULL).mismatched, 1, "exact: one ulp off is wrong");
	struct compare_wanted w = { .type = DTYPE_F64, .values = wide, .poison = 0xFF };
	struct wire_compared c;
	compare_by_kind(&b, same, &w, &j, NULL, &c);
	is_int(c.mismatched, 0, "exact: a wider reference is rounded to the output's type");
}

static void test_within(void)
{
	struct plan_buffer b = matrix("y", DTYPE_F32, 1, 4);
	struct judgement ulp = { .kind = JUDGE_ULP, .amount = 2 }, units = { .kind = JUDGE_UNITS, .amount = 1 };
	float want[4] = { 1, -3, 1e30f, 0 }, near[4], far[4];
	for (int i = 0; i < 4; i++) {
		near[i] = nextafterf(nextafterf(want[i], 1e38f), 1e38f);
		far[i] = nextafterf(near[i], 1e38f);
	}
	far[3] = 1e-30f;
	is_int(compare(&b, near, want, ulp, NULL).mismatched, 0, "within 2 ulp: two steps pass");
	is_int(compare(&b, far, want, ulp, NULL).mismatched, 4, "within 2 ulp: three steps are wrong");
	b = matrix("q", DTYPE_I8, 1, 4);
	int8_t q[4] = { 0, 127, -128, 5 }, one[4] = { 1, 126, -127, 5 }, two[4] = { 0, 127, -126, 5 };
	is_int(compare(&b, one, q, units, NULL).mismatched, 0, "within 1 units: off by one passes");
	struct wire_compared c = compare(&b, two, q, units, NULL);
	ok(c.mismatched == 1 && c.mismatch[0].index == 2 && c.mismatch[0].bound == 1, "within 1 units: off by two is wrong");
}

static void test_argmax(void)
{
	struct plan_buffer x = matrix("x", DTYPE_F32, 3, 4), b = { .name = (char *)"idx", .type = DTYPE_I32, .rank = 1,
								   .dims = { 3 }, .ld = 3 };
	x.ld = 5; /* padded rows */
	float values[15] = { 1, 9, 9, 2, NAN, 5, 0, 5, 1, NAN, 7, 7, 7, 7, NAN };
	struct compare_indexed indexed = { &x, values };
	struct judgement j = { .kind = JUDGE_INDICES, .of = 1, .axis = 1 };
	int32_t want[3] = { 1, 0, 0 }, ties[3] = { 2, 2, 3 }, wrong[3] = { 1, 3, 0 }, outside[3] = { 1, 4, -1 };
	is_int(compare(&b, want, want, j, &indexed).mismatched, 0, "indices: the reference's pass");
	is_int(compare(&b, ties, want, j, &indexed).mismatched, 0, "indices: ties in another order pass");
	struct wire_compared c = compare(&b, wrong, want, j, &indexed);
	ok(c.mismatched == 1 && c.mismatch[0].got == 3 && c.mismatch[0].want == 0, "indices: another value is wrong");
	has_str(c.finding, "in row 1, x is 1 at index 3, and 5 at the reference's index 0", "the finding names both values");
	c = compare(&b, outside, want, j, &indexed);
	is_int(c.mismatched, 2, "indices: what lies outside a row is wrong");
	has_str(c.finding, "4 is not an index of a row of x, which has 4 elements", "the finding names the range");
	struct plan_buffer along = { .name = (char *)"idx", .type = DTYPE_I64, .rank = 1, .dims = { 4 }, .ld = 4 };
	int64_t down[4] = { 2, 0, 0, 2 }, other[4] = { 2, 0, 2, 2 };
	j.axis = 0;
	is_int(compare(&along, down, down, j, &indexed).mismatched, 0, "indices along another axis pass");
	is_int(compare(&along, other, down, j, &indexed).mismatched, 1, "indices along another axis: another value is wrong");
}

static void test_top(void)
{
	struct plan_buffer x = matrix("x", DTYPE_F16, 2, 5), b = matrix("idx", DTYPE_U8, 2, 3);
	uint16_t values[10] = { 0x3c00, 0x4000, 0x4000, 0x3800, 0x4000, 0x3c00, 0x3c00, 0x3c00, 0x4000, 0x3800 };
	struct compare_indexed indexed = { &x, values };
	struct judgement j = { .kind = JUDGE_INDICES, .of = 1, .axis = 1 };
	uint8_t want[6] = { 1, 2, 4, 3, 0, 1 }, ties[6] = { 4, 1, 2, 3, 2, 0 }, twice[6] = { 1, 1, 1, 3, 0, 1 },
		mixed[6] = { 1, 2, 4, 2, 3, 0 }, less[6] = { 1, 2, 4, 0, 4, 1 };
	is_int(compare(&b, ties, want, j, &indexed).mismatched, 0, "top-k: ties in another order pass");
	struct wire_compared c = compare(&b, twice, want, j, &indexed);
	ok(c.mismatched > 0, "top-k: one index three times is wrong");
	has_str(c.finding, "row 0 has the index 1 more than once", "the finding names row and index");
	ok(compare(&b, mixed, want, j, &indexed).mismatched > 0, "top-k: another order of unequal values is wrong");
	j.any_order = true;
	is_int(compare(&b, mixed, want, j, &indexed).mismatched, 0, "top-k in any order: another order of unequal values passes");
	is_int(compare(&b, less, want, j, &indexed).mismatched, 1, "top-k in any order: one that is too small is wrong");
	ok(compare(&b, twice, want, j, &indexed).mismatched > 0, "top-k in any order: one index three times is wrong");
}

static void test_nan(void)
{
	struct plan_buffer x = matrix("x", DTYPE_F32, 2, 3), b = matrix("idx", DTYPE_I32, 2, 2);
	float values[6] = { 1, NAN, 3, 1, 2, 3 };
	struct compare_indexed indexed = { &x, values };
	struct judgement j = { .kind = JUDGE_INDICES, .of = 1, .axis = 1 };
	int32_t want[4] = { 1, 1, 2, 1 }, other[4] = { 2, 0, 2, 1 }, outside[4] = { 2, 3, 2, 1 }, wrong[4] = { 1, 1, 2, 0 };
	is_int(compare(&b, other, want, j, &indexed).mismatched, 0, "a row with NaN: any indices in range pass");
	is_int(compare(&b, outside, want, j, &indexed).mismatched, 1, "a row with NaN: one outside is wrong");
	is_int(compare(&b, wrong, want, j, &indexed).mismatched, 1, "a row beside it is judged");
}

static uint64_t undeclared(const struct plan_buffer *b, const int32_t *got, const int32_t *want, const struct compare_indexed *x)
{
	struct judgement j = { .kind = JUDGE_INDICES, .of = 1, .axis = 1 };
	struct compare_wanted w = { .type = b->type, .values = want, .poison = 0xFF };
	struct wire_compared c;
	compare_by_kind(b, got, &w, &j, x, &c);
	return c.mismatched;
}

/* Integers for which nothing is declared: argmax may differ in ties; flags and counts may not. */
static void test_undeclared(void)
{
	struct plan_buffer x = matrix("x", DTYPE_F32, 3, 3), b = { .name = (char *)"idx", .type = DTYPE_I32, .rank = 1,
								   .dims = { 3 }, .ld = 3 };
	float values[9] = { 1, 5, 5, 0, 0, 0, 7, NAN, 9 };
	struct compare_indexed indexed = { &x, values };
	int32_t most[3] = { 1, 0, 2 }, tie[3] = { 2, 2, 2 }, nan[3] = { 1, 0, 1 }, zero_row[3] = { 0, 1, 0 },
		never[3] = { 0, 0, 0 };
	is_int(undeclared(&b, tie, most, &indexed), 0, "undeclared argmax: ties in another order pass");
	is_int(undeclared(&b, nan, most, &indexed), 1, "undeclared argmax: another index in a row with NaN is wrong");
	memcpy(values, (float[9]){ 2, 1, 5, 0, 0, 0, 7, 3, 9 }, sizeof values);
	is_int(undeclared(&b, never, zero_row, &indexed), 1, "an undeclared flag of zero rows that is never raised is wrong");
}

/* Indices that the reference repeats, and its mark for none, may be repeated. */
static void test_gather(void)
{
	struct plan_buffer x = matrix("x", DTYPE_F32, 1, 3), b = matrix("idx", DTYPE_I32, 1, 4);
	float values[3] = { 1, 2, 1 };
	struct compare_indexed indexed = { &x, values };
	struct judgement j = { .kind = JUDGE_INDICES, .of = 1, .axis = 1 };
	int32_t want[4] = { 1, 1, 0, -1 }, tie[4] = { 1, 1, 2, -1 }, mark[4] = { 1, 1, 2, -2 };
	is_int(compare(&b, tie, want, j, &indexed).mismatched, 0, "gather: repeated indices and -1 pass");
	is_int(compare(&b, mark, want, j, &indexed).mismatched, 1, "gather: another number outside the row is wrong");
	j.any_order = true;
	int32_t turned[4] = { -1, 2, 1, 1 };
	is_int(compare(&b, turned, want, j, &indexed).mismatched, 0, "gather in any order passes");
	is_int(compare(&b, mark, want, j, &indexed).mismatched, 1, "gather in any order: another number outside is wrong");
}

static void test_sets(void)
{
	struct plan_buffer b = matrix("y", DTYPE_I64, 2, 3);
	struct judgement set = { .kind = JUDGE_SET }, up = { .kind = JUDGE_PERMUTATION, .order = JUDGE_ASCENDING },
			 down = { .kind = JUDGE_PERMUTATION, .order = JUDGE_DESCENDING };
	int64_t big = INT64_MAX, want[6] = { -5, 0, big, 1, 1, 2 }, other[6] = { big, -5, 0, 2, 1, 1 },
		lost[6] = { big - 1, -5, 0, 2, 2, 1 }, rows[6] = { 1, 1, 2, -5, 0, big };
	is_int(compare(&b, other, want, set, NULL).mismatched, 0, "set: another order passes");
	struct wire_compared c = compare(&b, lost, want, set, NULL);
	is_int(c.mismatched, 2, "set: a lost element and one that is there too often are wrong");
	is_int(compare(&b, rows, want, set, NULL).mismatched, 6, "set: elements of another row are wrong");
	is_int(compare(&b, want, want, up, NULL).mismatched, 0, "permutation: the declared order passes");
	c = compare(&b, other, want, up, NULL);
	ok(c.mismatched > 0, "permutation ascending: another order is wrong");
	has_str(c.finding, "row 0 is not ascending at column 1", "the finding names the place");
	int64_t falling[6] = { big, 0, -5, 2, 1, 1 };
	is_int(compare(&b, falling, want, down, NULL).mismatched, 0, "permutation descending passes");
}

/* Lists of different lengths in no order, with zeros behind them. */
static void test_filled_sets(void)
{
	enum { ROWS = 3, COLUMNS = 12 };
	static const int32_t want[ROWS][COLUMNS] = { { 5, 2, 9 }, { 7 }, { 1, 8, 3, 4 } },
			     turned[ROWS][COLUMNS] = { { 9, 5, 2 }, { 7 }, { 4, 3, 8, 1 } },
			     gaps[ROWS][COLUMNS] = { { 5, 2, 9 }, { 7 }, { 1, 0, 8, 3, 4 } };
	struct plan_buffer b = matrix("y", DTYPE_I32, ROWS, COLUMNS);
	struct judgement set = { .kind = JUDGE_SET };
	is_int(compare(&b, turned, want, set, NULL).mismatched, 0, "set: lists in another order pass");
	struct wire_compared c = compare(&b, gaps, want, set, NULL);
	ok(c.mismatched == 1 && strstr(c.finding, "row 2 has a gap at column 1"), "set: a list with a gap is wrong");
	is_int(compare(&b, want, gaps, set, NULL).mismatched, 0, "set: where the reference has gaps, they are free");
	/* Whole lists, of which one ends with equal elements that stand nowhere else. */
	static const int32_t whole[ROWS][COLUMNS] = { { 5, 2, 6, 1, 3, 4, 8, 9, 9, 9, 9, 9 },
						      { 1, 3, 2, 5, 4, 6, 8, 7, 1, 3, 2, 4 },
						      { 7, 2, 6, 1, 3, 4, 8, 5, 2, 1, 3, 6 } },
			     mixed[ROWS][COLUMNS] = { { 9, 5, 9, 2, 6, 9, 1, 3, 4, 8, 9, 9 },
						      { 1, 3, 2, 5, 4, 6, 8, 7, 1, 3, 2, 4 },
						      { 7, 2, 6, 1, 3, 4, 8, 5, 2, 1, 3, 6 } };
	is_int(compare(&b, mixed, whole, set, NULL).mismatched, 0, "set: equal elements at the end of one row are no filler");
}

/* Long rows are sorted in another way. */
static void test_long_sets(void)
{
	enum { LONG = 5000 };
	struct plan_buffer b = matrix("y", DTYPE_F32, 1, LONG), wide = matrix("y", DTYPE_I64, 1, LONG);
	struct judgement set = { .kind = JUDGE_SET };
	float want[LONG], got[LONG];
	int64_t far[LONG], turned[LONG];
	for (int i = 0; i < LONG; i++) {
		want[i] = (float)((i * 7919) % 2003 - 1000) * 0.37f;
		far[i] = (int64_t)(i - LONG / 2) * INT64_C(1000000000000007);
	}
	for (int i = 0; i < LONG; i++) {
		got[i] = want[LONG - 1 - i];
		turned[i] = far[(i * 3 + 1) % LONG];
	}
	is_int(compare(&b, got, want, set, NULL).mismatched, 0, "set: a long row in another order passes");
	is_int(compare(&wide, turned, far, set, NULL).mismatched, 0, "set: a long row of 64-bit integers passes");
	got[4321] = 0.123f;
	struct wire_compared c = compare(&b, got, want, set, NULL);
	ok(c.mismatched == 1 && c.mismatch[0].got == 0.123f, "set: one wrong element of a long row is found");
	turned[17]++;
	is_int(compare(&wide, turned, far, set, NULL).mismatched, 1,
	       "set: one that is off by 1 in a long row of 64-bit integers is found");
}

static void test_float_sets(void)
{
	struct plan_buffer b = matrix("y", DTYPE_F32, 1, 4);
	struct judgement set = { .kind = JUDGE_SET, .declared = true };
	float got[4] = { 4.01f, 1, 3, 2 }, worse[4] = { 4.01f, 1, 3.2f, 2 };
	double want[8] = { 1, 2, 3, 4, 0.001, 0.001, 0.1, 0.1 };
	struct compare_wanted w = { .type = DTYPE_F64, .values = want, .bounds = want + 4, .poison = 0xFF };
	struct wire_compared c;
	compare_by_kind(&b, got, &w, &set, NULL, &c);
	is_int(c.mismatched, 0, "set of floats: each within the bound of its partner passes");
	compare_by_kind(&b, worse, &w, &set, NULL, &c);
	ok(c.mismatched == 1 && c.mismatch[0].index == 2 && c.mismatch[0].want == 3,
	   "set of floats: one that is further off is wrong");
	ok(compare(&b, worse, got, set, NULL).mismatched == 1, "set of floats without bounds: equal values");
	memset(got, 0xFF, sizeof got);
	compare_by_kind(&b, got, &w, &set, NULL, &c);
	is_int(c.untouched, 4, "set: what was never written is counted");
}

/* --- random numbers -------------------------------------------------------------------------------------------------- */

enum { N = 1 << 14 };

static uint64_t state;
static double uniform(void)
{
	state += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t z = (state ^ (state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (double)((z ^ (z >> 31)) >> 40) * 0x1p-24;
}

static void draw(float *to, uint64_t seed)
{
	state = seed;
	for (int i = 0; i < N; i++)
		to[i] = (float)uniform();
}

static const char *finding(const float *got, const float *want)
{
	static struct wire_compared c;
	struct plan_buffer b = matrix("y", DTYPE_F32, N / 64, 64);
	c = compare(&b, got, want, (struct judgement){ .kind = JUDGE_DISTRIBUTION }, NULL);
	is_int(c.mismatched, c.finding[0] ? N : 0, "a finding counts for every element");
	return c.finding;
}

static void test_random(void)
{
	float *want = MEM_NEW_N(float, N), *got = MEM_NEW_N(float, N);
	draw(want, 1);
	is_str(finding(want, want), "", "distribution: the reference's numbers pass");
	for (uint64_t seed = 2; seed < 40; seed++) {
		draw(got, seed * 1000003);
		is_str(finding(got, want), "", "distribution: other numbers pass");
	}
	for (int i = 0; i < N; i++)
		got[i] = 0.5f;
	has_str(finding(got, want), "the variance is 0", "distribution: a constant is wrong");
	draw(got, 50);
	for (int i = 0; i < N; i++)
		got[i] = 0.5f + (got[i] - 0.5f) * 0.8f;
	has_str(finding(got, want), "the variance is", "distribution: another variance is wrong");
	draw(got, 51);
	for (int i = 0; i < N; i++)
		got[i] = got[i] < 0.5f ? 0.2113f : 0.7887f;
	has_str(finding(got, want), "chance explains", "distribution: another shape with the same moments is wrong");
	draw(got, 52);
	for (int i = 100; i < N; i++)
		got[i] = got[i % 100];
	ok(*finding(got, want), "distribution: a period of 100 is wrong");
	draw(got, 53);
	for (int i = 0; i < N / 2; i++)
		got[N / 2 + i] = got[i];
	has_str(finding(got, want), "the numbers repeat", "distribution: a second half that repeats the first is wrong");
	draw(got, 60);
	for (int i = 0; i < N / 2; i++)
		got[N / 2 + (i * 4099 & (N / 2 - 1))] = got[i];
	has_str(finding(got, want), "have the magnitude of another one",
		"distribution: numbers that occur twice, rearranged, are wrong");
	draw(got, 63);
	for (int i = 0; i < N; i += N / 32)
		got[i] = 0.25f;
	has_str(finding(got, want), "32 elements are 0.25, of the reference's 0",
		"distribution: one number that comes too often is wrong");
	draw(got, 61);
	for (int i = 0; i < N / 2; i++)
		got[N - 1 - i] = 1 - got[i];
	has_str(finding(got, want), "mirror images", "distribution: a second half that mirrors the first is wrong");
	draw(got, 62);
	for (int i = 0; i < N / 2; i++)
		got[N / 2 + i] = 1 - got[i];
	has_str(finding(got, want), "elements 8192 apart", "distribution: a second half that balances the first is wrong");
	draw(got, 54);
	for (int i = 0; i < N; i += 2)
		got[i + 1] = got[i];
	has_str(finding(got, want), "elements 1 apart have correlation 0.5", "distribution: pairs of equal numbers are wrong");
	for (int i = 0; i < N; i++)
		got[i] = (float)i / N;
	ok(*finding(got, want), "distribution: an ascending sequence is wrong");
	draw(got, 55);
	got[77] = NAN;
	has_str(finding(got, want), "1 elements are not finite, the first at index 77", "distribution: one NaN is wrong");
	draw(got, 56);
	for (int i = N - N / 16; i < N; i++)
		got[i] = 0.5f;
	ok(*finding(got, want), "distribution: a constant tail is wrong");
	free(want);
	free(got);
}

/* A mask of zeros and ones: most elements are equal by chance. */
static void test_mask(void)
{
	float *want = MEM_NEW_N(float, N), *got = MEM_NEW_N(float, N);
	draw(want, 3);
	for (int i = 0; i < N; i++)
		want[i] = want[i] < 0.25f ? 0 : 4.0f / 3;
	for (uint64_t seed = 5; seed < 15; seed++) {
		draw(got, seed);
		for (int i = 0; i < N; i++)
			got[i] = got[i] < 0.25f ? 0 : 4.0f / 3;
		is_str(finding(got, want), "", "mask: another mask of that rate passes");
	}
	for (int i = 0; i < N; i++)
		got[i] = got[i] != 0 ? nextafterf(4.0f / 3, 2) : 0;
	is_str(finding(got, want), "", "mask: so does one whose scale is rounded otherwise");
	for (int i = 2048; i < N; i++)
		got[i] = got[i % 2048];
	has_str(finding(got, want), "the numbers repeat", "mask: a period of 2048 is wrong");
	draw(got, 20);
	for (int i = 0; i < N; i++)
		got[i] = got[i] < 0.30f ? 0 : 4.0f / 3;
	ok(*finding(got, want), "mask: another rate is wrong");
	for (int i = 0; i < N; i++)
		got[i] = i % 4 == 0 ? 0 : 4.0f / 3;
	ok(*finding(got, want), "mask: every fourth element is wrong");
	free(want);
	free(got);
}

/* Rows of four different numbers of a hundred, and rows that are drawn with replacement. */
static void test_once(void)
{
	enum { ROWS = N / 4, CHOICES = 100 };
	struct plan_buffer b = matrix("y", DTYPE_I32, ROWS, 4);
	struct judgement random = { .kind = JUDGE_DISTRIBUTION };
	int32_t *samples[3];
	for (int k = 0; k < 3; k++) {
		samples[k] = MEM_NEW_N(int32_t, N);
		state = (uint64_t)(k + 1) * 1000003;
		for (int i = 0; i < N; i++) {
			bool again = true;
			while (again) {
				samples[k][i] = (int32_t)(uniform() * CHOICES);
				again = false;
				for (int j = i / 4 * 4; j < i && k < 2; j++)
					again = again || samples[k][j] == samples[k][i];
			}
		}
	}
	is_str(compare(&b, samples[1], samples[0], random, NULL).finding, "", "rows without repetitions: others pass");
	has_str(compare(&b, samples[2], samples[0], random, NULL).finding,
		" rows hold a number more than once, of the reference's none", "rows with repetitions are wrong");
	is_str(compare(&b, samples[2], samples[2], random, NULL).finding, "", "where the reference has them, they pass");
	/* 29 of them may be chance. */
	for (int row = 0; row < 29; row++)
		samples[1][4 * row] = samples[1][4 * row + 1];
	is_str(compare(&b, samples[1], samples[0], random, NULL).finding, "", "and so do a few that may be chance");
	for (int k = 0; k < 3; k++)
		free(samples[k]);
}

int main(void)
{
	test_once();
	test_exact();
	test_within();
	test_argmax();
	test_top();
	test_nan();
	test_undeclared();
	test_gather();
	test_sets();
	test_float_sets();
	test_filled_sets();
	test_long_sets();
	test_random();
	test_mask();
	return tap_done();
}
