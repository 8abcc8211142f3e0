/* backends/values/compare: every count of struct wire_compared on small cases worked out by hand, and its speed. */
#include "backends/values/compare.h"

#include <math.h>

#include "base/clock.h"
#include "pace.h"
#include "backends/sample_plan.h"
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
	is_int(c.mismatched, 1, "0.5 is beyond 16·0.0047·(4 + 2.5)");
	compare_outputs(&b, got, want, 0.0049, 0xFF, &c);
	is_int(c.mismatched, 0, "0.5 is within 16·0.0049·(4 + 2.5)");
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
	is_int(c.nan, 2, "NaN is counted where the reference has none");
	is_int(c.ref_nan, 3, "NaN and infinities of the reference are counted");
	is_int(c.untouched, 1, "one element still holds the poison");
	is_int(c.mismatched, 4, "NaN, infinity, the other infinity and poison are mismatches; NaN for NaN is not");
	is_int(c.mismatch_count, 4, "mismatches are listed");
	ok(c.mismatch[0].index == 1 && isnan(c.mismatch[0].got) && c.mismatch[0].want == 2 && c.mismatch[3].index == 6,
	   "with index, got and want");
	ok(c.error == 0 && isfinite(c.ref_norm), "only finite elements enter the error");
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
	ok(c.map[6][7] == 0.5f && c.map[7][7] == 0, "outer dimensions share the tiles");
	b.rank = 1;
	b.dims[0] = 3;
	got[0] = 5;
	compare_outputs(&b, got, want, 1e-6, 0xFF, &c);
	ok(c.map[0][0] == 1 && c.map[0][1] == 0 && c.map[0][3] == 0, "three elements are spread over eight tiles");
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
	ok(c.mismatched == 1 && c.max_abs == 1 && c.error > 0, "64-bit integers are compared exactly where doubles are equal");
	b = matrix(DTYPE_I64, 1, 2);
	int64_t low[2] = { INT64_MIN, 1 }, high[2] = { INT64_MAX, 1 };
	compare_outputs(&b, low, high, 1, 0, &c);
	ok(near(c.max_abs, 0x1p64), "the distance of 64-bit integers does not overflow");
}

static void test_poison(void)
{
	struct plan_buffer b = matrix(DTYPE_F16, 1, 4);
	uint16_t want[4] = { 0, 0x5555, 0x3c00, 0x5554 }, got[4] = { 0, 0x5555, 0x3c00, 0x5555 };
	struct wire_compared c;
	compare_outputs(&b, got, want, 1, 0x55, &c);
	ok(c.untouched == 1 && c.mismatched == 0, "poison counts where the reference is another value, also within the tolerance");
}

/* --- against each element on its own --------------------------------------------------------------------------------- */

static uint64_t state = 7;
static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* The contract of compare.h, element by element, with sums in order. */
static struct wire_compared plainly(const struct plan_buffer *b, const uint8_t *got, const uint8_t *want, double tolerance, int poison)
{
	struct wire_compared c = { .elements = plan_buffer_logical(b) };
	size_t size = dtype_size(b->type), wrong[8][8] = { { 0 } };
	double diff2 = 0, ref2 = 0, finite = 0;
	uint8_t hold[8];
	memset(hold, poison, sizeof hold);
	for (uint64_t i = 0; i < c.elements; i++) {
		double g = dtype_load(b->type, got + i * size), w = dtype_load(b->type, want + i * size);
		finite += isfinite(w) != 0;
		ref2 += isfinite(w) ? w * w : 0;
		diff2 += isfinite(w) && isfinite(g) ? (g - w) * (g - w) : 0;
		c.max_abs = isfinite(w) && isfinite(g) ? fmax(c.max_abs, fabs(g - w)) : c.max_abs;
	}
	for (uint64_t i = 0; i < c.elements; i++) {
		const uint8_t *x = got + i * size, *y = want + i * size;
		double g = dtype_load(b->type, x), w = dtype_load(b->type, y), bound = 16 * tolerance * (fabs(w) + sqrt(ref2 / finite));
		c.nan += isnan(g) && !isnan(w);
		c.ref_nan += !isfinite(w);
		c.untouched += memcmp(x, hold, size) == 0 && memcmp(y, hold, size) != 0;
		bool off = !dtype_is_float(b->type) ? memcmp(x, y, size) != 0 : isnan(w) ? false : isinf(w) ? g != w : !(fabs(g - w) <= bound);
		if (!off)
			continue;
		c.mismatched++;
		wrong[i / (uint64_t)b->dims[1] * 8 / (uint64_t)b->dims[0]][i % (uint64_t)b->dims[1] * 8 / (uint64_t)b->dims[1]]++;
		if (c.mismatch_count < WIRE_MISMATCHES)
			c.mismatch[c.mismatch_count++] = (struct wire_mismatch){ .index = (int64_t)i, .got = g, .want = w };
	}
	for (int k = 0; k < 64; k++) /* both dims are multiples of 8 */
		c.map[k / 8][k % 8] = (float)((double)wrong[k / 8][k % 8] * 64 / (double)c.elements);
	c.ref_norm = sqrt(ref2);
	c.error = ref2 > 0 ? sqrt(diff2) / sqrt(ref2) : sqrt(diff2);
	return c;
}

static bool alike(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

static bool same_value(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static bool same_list(const struct wire_compared *a, const struct wire_compared *b)
{
	bool same = a->mismatch_count == b->mismatch_count;
	for (uint32_t i = 0; same && i < a->mismatch_count; i++)
		same = a->mismatch[i].index == b->mismatch[i].index && same_value(a->mismatch[i].got, b->mismatch[i].got) &&
		       same_value(a->mismatch[i].want, b->mismatch[i].want);
	return same;
}

/* Values of similar size, and `odd` elements that deviate, are not finite or hold the poison, in one of the two arrays. */
static void fill(const struct plan_buffer *b, uint8_t *got, uint8_t *want, unsigned odd, int poison)
{
	size_t size = dtype_size(b->type);
	uint64_t elements = plan_buffer_logical(b);
	for (uint64_t i = 0; i < elements; i++) {
		double w = (double)(draw() % 4096) / 1024 - 2;
		dtype_store(b->type, want + i * size, dtype_is_float(b->type) ? w : floor(w * 40));
		memcpy(got + i * size, want + i * size, size);
		if (dtype_is_float(b->type) && draw() % 2)
			dtype_store(b->type, got + i * size, w * (1 + (double)(draw() % 3) * dtype_roundoff(b->type)));
	}
	for (unsigned k = 0; k < odd; k++) {
		static const double specials[] = { NAN, INFINITY, -INFINITY, 0.0, 1.75, 77, -3 };
		uint64_t i = draw() % elements;
		uint8_t *in = draw() % 2 ? got : want;
		if (draw() % 3 == 0)
			memset(got + i * size, poison, size);
		else
			dtype_store(b->type, in + i * size, specials[draw() % MEM_COUNT(specials)]);
	}
}

static void test_plainly(void)
{
	static const enum dtype types[] = { DTYPE_F16, DTYPE_BF16, DTYPE_F32, DTYPE_F64, DTYPE_E4M3, DTYPE_E5M2, DTYPE_I8, DTYPE_U16, DTYPE_I32, DTYPE_I64 };
	static const int poisons[] = { 0xFF, 0x5A, 0x00, 0x3F };
	static const unsigned oddities[] = { 0, 1, 40, 20000 };
	static const int64_t columns[] = { 1032, 24 }; /* over several threads, with a last block that is no whole one; and one block in all */
	for (unsigned k = 0; k < 2 * MEM_COUNT(types) * MEM_COUNT(oddities); k++) {
		enum dtype t = types[k / 2 % MEM_COUNT(types)];
		struct plan_buffer b = matrix(t, k % 2 ? 16 : 264, columns[k % 2]);
		unsigned odd = oddities[k / 2 / MEM_COUNT(types)];
		int poison = poisons[draw() % 4];
		double tolerance = 8 * dtype_roundoff(t);
		uint8_t *got = mem_new(b.bytes, 1), *want = mem_new(b.bytes, 1);
		struct wire_compared c, p;
		fill(&b, got, want, k % 2 && odd > 40 ? 40 : odd, poison);
		compare_outputs(&b, got, want, tolerance, (uint32_t)poison, &c);
		p = plainly(&b, got, want, tolerance, poison);
		ok(c.elements == p.elements && alike(c.error, p.error) && alike(c.ref_norm, p.ref_norm) && c.max_abs == p.max_abs,
		   "%s, %u odd ones, poison %02x: sums", dtype_name(t), odd, poison);
		ok(c.mismatched == p.mismatched && c.nan == p.nan && c.ref_nan == p.ref_nan && c.untouched == p.untouched,
		   "%llu wrong, %llu NaN, %llu odd references, %llu untouched", (unsigned long long)p.mismatched, (unsigned long long)p.nan,
		   (unsigned long long)p.ref_nan, (unsigned long long)p.untouched);
		ok(same_list(&c, &p) && memcmp(c.map, p.map, sizeof c.map) == 0, "the first mismatches are listed with their places");
		free(got);
		free(want);
	}
}

/* Bounds that are infinite or NaN skip no element. */
static void test_no_bound(void)
{
	struct plan_buffer b = matrix(DTYPE_F64, 2, 1024);
	double *want = MEM_NEW_N(double, 2048), *got = MEM_NEW_N(double, 2048);
	struct wire_compared c;
	for (int i = 0; i < 2048; i++)
		want[i] = got[i] = i < 1024 ? 1e200 : 1;
	got[1500] = NAN;
	compare_outputs(&b, got, want, 1e-12, 0xFF, &c);
	ok(c.mismatched == 1 && c.nan == 1 && c.mismatch[0].index == 1500, "a reference whose norm overflows hides no NaN");
	compare_outputs(&b, want, want, NAN, 0xFF, &c);
	is_int(c.mismatched, 2048, "a tolerance of NaN accepts nothing");
	free(want);
	free(got);
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
	struct pace pace = pace_begin();
	compare_outputs(&b, got, want, 1e-3, 0xFF, &c);
	ok(pace_within(&pace, 500 * CLOCK_MS), "16 MiB of correct f32 are compared in time: %s", pace_text(&pace));
	got[n - 1] = NAN;
	pace = pace_begin();
	compare_outputs(&b, got, want, 1e-3, 0xFF, &c);
	ok(pace_within(&pace, 2 * CLOCK_S), "16 MiB of wrong f32 are compared in time: %s", pace_text(&pace));
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
	test_plainly();
	test_no_bound();
	test_speed();
	return tap_done();
}
