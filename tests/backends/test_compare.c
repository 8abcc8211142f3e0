/* backends/compare: every count of struct wire_compared on small cases worked out by hand, and its speed. */
#include "backends/compare.h"

#include <math.h>

#include "base/clock.h"
#include "sample_plan.h"
#include "tap.h"

static struct plan_buffer matrix(enum dtype t, int64_t rows, int64_t columns)
{
	return (struct plan_buffer){ .name = (char *)"C", .type = t, .rank = 2, .dims = { rows, columns }, .ld = columns,
	                             .bytes = (uint64_t)(rows * columns) * dtype_size(t) };
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-12 * fabs(b);
}

static void test_equal(void)
{
	struct plan_buffer b = matrix(DTYPE_F32, 2, 2);
	float want[4] = { 1, 2, 2, 4 };
	struct wire_compared c;
	compare_outputs(&b, want, want, 0, 0xFF, &c);
	ok(c.error == 0 && c.max_abs == 0 && c.mismatched == 0 && c.elements == 4 && near(c.ref_norm, 5),
	   "equal is equal at tolerance 0");
	float got[4] = { 1, 2, 2, 4.5 };
	compare_outputs(&b, got, want, 1, 0xFF, &c);
	ok(near(c.error, 0.1) && c.max_abs == 0.5 && c.mismatched == 0, "the error is relative to the norm");
	compare_outputs(&b, got, want, 0.0047, 0xFF, &c);
	is_int(c.mismatched, 1, "0.5 off is beyond 16·0.0047·(4 + 2.5)");
	compare_outputs(&b, got, want, 0.0049, 0xFF, &c);
	is_int(c.mismatched, 0, "and within 16·0.0049·(4 + 2.5)");
	float zero[4] = { 0 };
	compare_outputs(&b, want, zero, 1, 0xFF, &c);
	ok(near(c.error, 5) && c.ref_norm == 0 && c.mismatched == 4, "against zeros the error is the output's norm");
}

static void test_odd(void)
{
	struct plan_buffer b = matrix(DTYPE_F32, 1, 8);
	float want[8] = { 1, 2, NAN, INFINITY, 5, INFINITY, 7, 8 }, got[8] = { 1, NAN, NAN, INFINITY, INFINITY, 6, 7, 8 };
	struct wire_compared c;
	memset(&got[6], 0xFF, 4);
	compare_outputs(&b, got, want, 1e-6, 0xFF, &c);
	is_int(c.nan, 2, "NaN where the reference has none");
	is_int(c.ref_nan, 3, "NaN and infinities of the reference are counted");
	is_int(c.untouched, 1, "one element still holds the poison");
	is_int(c.mismatched, 4, "NaN, infinity, another infinity and poison are mismatches; NaN for NaN is none");
	is_int(c.mismatch_count, 4, "they are listed");
	ok(c.mismatch[0].index == 1 && isnan(c.mismatch[0].got) && c.mismatch[0].want == 2 && c.mismatch[3].index == 6,
	   "with index, got and want");
	ok(c.error == 0 && isfinite(c.ref_norm), "the error is of what is finite");
}

static void test_map(void)
{
	struct plan_buffer b = matrix(DTYPE_F32, 16, 24);
	float *want = MEM_NEW_N(float, 16 * 24), *got = MEM_NEW_N(float, 16 * 24);
	struct wire_compared c;
	for (int y = 0; y < 16; y++)
		for (int x = 0; x < 24; x++)
			want[y * 24 + x] = got[y * 24 + x] = 1;
	for (int x = 21; x < 24; x++)
		got[14 * 24 + x] = 9;
	compare_outputs(&b, got, want, 1e-6, 0xFF, &c);
	ok(c.map[7][7] == 0.5f && c.map[7][6] == 0 && c.map[6][7] == 0 && c.mismatched == 3,
	   "half of the last tile is wrong");
	b.rank = 3;
	b.dims[0] = 2, b.dims[1] = 8, b.dims[2] = 24;
	compare_outputs(&b, got, want, 1e-6, 0xFF, &c);
	ok(c.map[6][7] == 0.5f && c.map[7][7] == 0, "outer dimensions lie over each other");
	b.rank = 1;
	b.dims[0] = 3;
	got[0] = 5;
	compare_outputs(&b, got, want, 1e-6, 0xFF, &c);
	ok(c.map[0][0] == 1 && c.map[0][1] == 0 && c.map[0][3] == 0, "three elements in eight tiles");
	free(want);
	free(got);
}

static void test_integers(void)
{
	struct plan_buffer b = matrix(DTYPE_I32, 1, 4);
	int32_t want[4] = { 1, 2, 3, 1000000 }, got[4] = { 1, 2, 3, 1000001 };
	struct wire_compared c;
	compare_outputs(&b, got, want, 1, 0, &c);
	ok(c.mismatched == 1 && c.max_abs == 1 && c.error > 0, "integers are compared exactly, whatever the tolerance");
	b = matrix(DTYPE_U64, 1, 2);
	uint64_t big[2] = { UINT64_MAX, 1 }, off[2] = { UINT64_MAX - 1, 1 };
	compare_outputs(&b, off, big, 1, 0, &c);
	ok(c.mismatched == 1 && c.max_abs == 1 && c.error > 0, "64-bit integers too, where doubles cannot tell them apart");
	b = matrix(DTYPE_I64, 1, 2);
	int64_t low[2] = { INT64_MIN, 1 }, high[2] = { INT64_MAX, 1 };
	compare_outputs(&b, low, high, 1, 0, &c);
	ok(near(c.max_abs, 0x1p64), "their distance does not overflow");
}

static void test_poison(void)
{
	struct plan_buffer b = matrix(DTYPE_F16, 1, 4);
	uint16_t want[4] = { 0, 0x5555, 0x3c00, 0x5554 }, got[4] = { 0, 0x5555, 0x3c00, 0x5555 };
	struct wire_compared c;
	compare_outputs(&b, got, want, 1, 0x55, &c);
	ok(c.untouched == 1 && c.mismatched == 0, "poison counts where the reference is not it, also within the tolerance");
}

static void test_speed(void)
{
	struct plan_buffer b = matrix(DTYPE_F32, 2048, 2048);
	size_t n = 2048 * 2048;
	float *want = MEM_NEW_N(float, n), *got = MEM_NEW_N(float, n);
	struct wire_compared c;
	for (size_t i = 0; i < n; i++)
		want[i] = got[i] = (float)i;
	got[n - 1] *= 1.00001f;
	int64_t start = clock_now();
	compare_outputs(&b, got, want, 1e-3, 0xFF, &c);
	double good = (double)(clock_now() - start) / 1e6;
	got[n - 1] = NAN;
	start = clock_now();
	compare_outputs(&b, got, want, 1e-3, 0xFF, &c);
	double wrong = (double)(clock_now() - start) / 1e6;
	ok(good < 500 && wrong < 2000, "16 MiB of f32: %.1f ms when well, %.1f ms when not", good, wrong);
	free(want);
	free(got);
}

int main(void)
{
	test_equal();
	test_odd();
	test_map();
	test_integers();
	test_poison();
	test_speed();
	return tap_done();
}
