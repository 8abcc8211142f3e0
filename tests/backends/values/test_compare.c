/* backends/values/compare: every count of struct wire_compared on small cases worked out by hand, and its speed. */
#include "backends/values/compare.h"

#include <math.h>

#include "backends/sample_plan.h"
#include "base/clock.h"
#include "pace.h"
#include "tap.h"

static struct plan_buffer matrix(enum dtype t, int64_t rows, int64_t columns)
{
	return (struct plan_buffer){ .name = (char *)"C", .type = t, .rank = 2, .dims = { rows, columns }, .ld = columns,
	                             .bytes = (uint64_t)(rows * columns) * dtype_size(t) };
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * fabs(b);
}

static struct wire_compared compare_floats(const float *got, const float *want, const float *bounds, int64_t n)
{
	struct plan_buffer b = matrix(DTYPE_F32, 1, n);
	struct compare_wanted w = { .type = DTYPE_F32, .values = want, .bounds = bounds, .poison = 0xFF };
	struct wire_compared c;
	compare_outputs(&b, got, &w, &c);
	return c;
}

static void test_bounds(void)
{
	float want[5] = { 1, 2, 2, 4, 0 }, bounds[5] = { 0.5f, 0.5f, 1, 1, 0.25f }, got[5] = { 1, 2, 2, 4.5f, 0 };
	struct wire_compared c = compare_floats(want, want, bounds, 5);
	ok(c.error == 0 && c.max_abs == 0 && c.mismatched == 0 && c.elements == 5 && c.judged == 5 && near(c.ref_norm, 5) &&
		   c.worst_ratio == 0 && c.mean_ratio == 0,
	   "equal outputs have no error");
	c = compare_floats(got, want, bounds, 5);
	ok(c.mismatched == 0 && near(c.error, 0.1) && c.max_abs == 0.5 && c.worst_ratio == 0.5 && c.worst.index == 3 &&
		   c.worst.got == 4.5 && c.worst.want == 4 && c.worst.bound == 1 && near(c.mean_ratio, 0.1) &&
		   near(c.signed_mean, 0.1),
	   "an element within its bound passes, and the worst is named");
	bounds[3] = 0.25f;
	got[0] = 0.5f;
	c = compare_floats(got, want, bounds, 5);
	ok(c.mismatched == 1 && c.worst_ratio == 2 && c.worst.index == 3 && c.mismatch[0].index == 3 &&
		   c.mismatch[0].bound == 0.25 && near(c.mean_ratio, 0.6) && near(c.signed_mean, 0.2),
	   "an element beyond its bound is wrong, however good the others are");
	float both[4] = { 1, -1, 2, -2 }, nearer[4] = { 0.5f, -0.5f, 1.5f, -1.5f }, halves[4] = { 1, 1, 1, 1 };
	c = compare_floats(nearer, both, halves, 4);
	ok(c.mismatched == 0 && near(c.signed_mean, -0.5), "errors towards zero add up, whatever the signs of the values");
	bounds[3] = INFINITY;
	c = compare_floats(got, want, bounds, 5);
	ok(c.mismatched == 0 && c.judged == 4 && c.worst.index == 0 && near(c.mean_ratio, 0.25) && near(c.signed_mean, -0.25),
	   "an element with an infinite bound is not judged");
	bounds[3] = NAN;
	c = compare_floats(got, want, bounds, 5);
	is_int(c.judged, 4, "nor is one with a bound of NaN");
}

static void test_odd(void)
{
	float want[8] = { 1, 2, NAN, INFINITY, 5, INFINITY, 7, 8 }, got[8] = { 1, NAN, NAN, INFINITY, INFINITY, 6, 7, 8 };
	float bounds[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	memset(&got[6], 0xFF, 4);
	struct wire_compared c = compare_floats(got, want, bounds, 8);
	is_int(c.nan, 3, "NaN and infinity are counted where the reference has another value");
	is_int(c.ref_nan, 3, "NaN and infinities of the reference are counted");
	ok(c.untouched == 1 && c.first_untouched == 6, "one element still holds the poison");
	is_int(c.mismatched, 4, "NaN, infinity, the other infinity and poison are wrong; NaN for NaN is right");
	ok(c.mismatch_count == 4 && c.mismatch[0].index == 1 && isnan(c.mismatch[0].got) && c.mismatch[0].want == 2 &&
		   c.mismatch[3].index == 6,
	   "mismatches are listed with index, got and want");
	ok(c.error == 0 && isfinite(c.ref_norm) && isinf(c.worst_ratio) && c.worst.index == 1,
	   "only finite elements enter the error; NaN is infinitely far off");
	got[2] = 3;
	bounds[2] = 1e30f;
	c = compare_floats(got, want, bounds, 8);
	ok(c.mismatched == 5 && c.mismatch[1].index == 2, "a number where NaN is due is wrong, whatever its bound");
	bounds[2] = bounds[6] = INFINITY;
	c = compare_floats(got, want, bounds, 8);
	ok(c.mismatched == 3 && c.untouched == 1, "poison shows also where nothing is judged");
}

static void test_map(void)
{
	struct plan_buffer b = matrix(DTYPE_F32, 16, 24);
	float *want = MEM_NEW_N(float, 16 * 24), *got = MEM_NEW_N(float, 16 * 24);
	struct compare_wanted w = { .type = DTYPE_F32, .values = want, .poison = 0xFF };
	struct wire_compared c;
	for (int i = 0; i < 16 * 24; i++)
		want[i] = got[i] = 1;
	for (int x = 21; x < 24; x++)
		got[14 * 24 + x] = 9;
	compare_outputs(&b, got, &w, &c);
	ok(c.map[7][7] == 0.5f && c.map[7][6] == 0 && c.map[6][7] == 0 && c.mismatched == 3, "half of the last tile is wrong");
	b.rank = 3;
	b.dims[0] = 2, b.dims[1] = 8, b.dims[2] = 24;
	compare_outputs(&b, got, &w, &c);
	ok(c.map[6][7] == 0.5f && c.map[7][7] == 0, "outer dimensions share the tiles");
	b.rank = 1;
	b.dims[0] = 3;
	got[0] = 5;
	compare_outputs(&b, got, &w, &c);
	ok(c.map[0][0] == 1 && c.map[0][1] == 0 && c.map[0][3] == 0, "three elements are spread over eight tiles");
	free(want);
	free(got);
}

static void test_integers(void)
{
	struct plan_buffer b = matrix(DTYPE_I32, 1, 4);
	int32_t want[4] = { 1, 2, 3, 1000000 }, got[4] = { 1, 2, 3, 1000001 };
	float bounds[4] = { 0, 0, 0, 1 };
	struct compare_wanted w = { .type = DTYPE_I32, .values = want };
	struct wire_compared c;
	compare_outputs(&b, got, &w, &c);
	ok(c.mismatched == 1 && c.max_abs == 1 && c.error > 0 && c.judged == 4, "integers without bounds must be equal");
	w.bounds = bounds;
	compare_outputs(&b, got, &w, &c);
	ok(c.mismatched == 0 && c.worst_ratio == 1 && c.worst.index == 3, "integers may have bounds");
	b = matrix(DTYPE_U64, 1, 2);
	uint64_t big[2] = { UINT64_MAX, 1 }, off[2] = { UINT64_MAX - 1, 1 };
	w = (struct compare_wanted){ .type = DTYPE_U64, .values = big };
	compare_outputs(&b, off, &w, &c);
	ok(c.mismatched == 1 && c.max_abs == 1 && c.error > 0, "64-bit integers are compared where doubles are equal");
	b = matrix(DTYPE_I64, 1, 2);
	int64_t low[2] = { INT64_MIN, 1 }, high[2] = { INT64_MAX, 1 };
	w = (struct compare_wanted){ .type = DTYPE_I64, .values = high };
	compare_outputs(&b, low, &w, &c);
	ok(near(c.max_abs, 0x1p64), "the distance of 64-bit integers does not overflow");
}

static void test_poison(void)
{
	struct plan_buffer b = matrix(DTYPE_F16, 1, 4);
	float want[4] = { 0, 203.25f, 203.25f, 1 }, bounds[4] = { 1, 0.125f, 0.125f, 1 };
	uint16_t got[4] = { 0, 0x5a5a, 0x5a59, 0x5a5a };
	struct compare_wanted w = { .type = DTYPE_F32, .values = want, .bounds = bounds, .poison = 0x5A };
	struct wire_compared c;
	compare_outputs(&b, got, &w, &c);
	ok(c.untouched == 1 && c.first_untouched == 3 && c.mismatched == 1, "a right value that looks like the poison is right");
}

/* --- against each element on its own --------------------------------------------------------------------------------- */

static uint64_t state = 7;
static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* The contract of struct wire_compared, element by element, with sums in order. */
static struct wire_compared plainly(const struct plan_buffer *b, const uint8_t *got, const struct compare_wanted *want)
{
	struct wire_compared c = { .elements = plan_buffer_logical(b), .first_untouched = -1 };
	size_t size = dtype_size(b->type), want_size = dtype_size(want->type), wrong[8][8] = { { 0 } };
	double diff2 = 0, ref2 = 0, ratios = 0, signs = 0, outward = 0;
	uint8_t hold[8];
	memset(hold, (int)want->poison, sizeof hold);
	for (uint64_t i = 0; i < c.elements; i++) {
		const uint8_t *x = got + i * size, *y = (const uint8_t *)want->values + i * want_size;
		double g = dtype_load(b->type, x), w = dtype_load(want->type, y), d = g - w;
		double bound = want->type == DTYPE_F64 ? ((const double *)want->bounds)[i]
			       : want->bounds          ? (double)((const float *)want->bounds)[i]
						       : 0;
		bool judged = bound < INFINITY, same = isnan(w) ? isnan(g) : g == w;
		double ratio = same ? 0 : !isfinite(g) || !isfinite(w) ? INFINITY : fabs(d) / bound;
		c.ref_nan += !isfinite(w);
		ref2 += isfinite(w) ? w * w : 0;
		if (isfinite(w) && isfinite(g)) {
			diff2 += d * d;
			c.max_abs = fmax(c.max_abs, fabs(d));
		}
		if (memcmp(x, hold, size) == 0 && (!judged || ratio > 1) && c.untouched++ == 0)
			c.first_untouched = (int64_t)i;
		if (!judged)
			continue;
		c.judged++;
		c.nan += ratio > 1 && !isfinite(g);
		ratios += fmin(ratio, 16);
		signs += copysign(fmin(ratio, 16), isnan(d) ? 1 : d);
		outward += (d < 0) == (w < 0) ? fmin(ratio, 16) : -fmin(ratio, 16);
		c.worst_ratio = fmax(c.worst_ratio, ratio);
		if (ratio <= 1)
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
	c.mean_ratio = c.judged ? ratios / (double)c.judged : 0;
	c.signed_mean = c.judged ? (fabs(outward) > fabs(signs) ? outward : signs) / (double)c.judged : 0;
	return c;
}

static bool alike(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b) + 1e-12;
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

/* An output and what is wanted of it. */
struct sample {
	uint8_t *got, *want, *bounds;
	enum dtype want_type, bound_type;
};

/* Values of similar size, and `odd` elements that deviate, are not finite, hold the poison or are not judged. */
static struct sample make_sample(const struct plan_buffer *b, unsigned odd, int poison)
{
	static const double specials[] = { NAN, INFINITY, -INFINITY, 0.0, 1.75, 77, -3 };
	size_t size = dtype_size(b->type), n = plan_buffer_logical(b);
	bool is_float = dtype_is_float(b->type);
	struct sample s = { .got = mem_new(n, 8), .want = mem_new(n, 8), .bounds = mem_new(n, 8), .bound_type = DTYPE_F32 };
	s.want_type = is_float && b->type != DTYPE_F64 ? DTYPE_F32 : b->type;
	if (b->type == DTYPE_F64)
		s.bound_type = DTYPE_F64;
	size_t want_size = dtype_size(s.want_type), bound_size = dtype_size(s.bound_type);
	for (uint64_t i = 0; i < n; i++) {
		double w = (double)(draw() % 4096) / 1024 - 2;
		dtype_store(s.want_type, s.want + i * want_size, is_float ? w : floor(w * 40));
		dtype_store(b->type, s.got + i * size, dtype_load(s.want_type, s.want + i * want_size));
		dtype_store(s.bound_type, s.bounds + i * bound_size, is_float ? 8 * dtype_roundoff(b->type) : (double)(i % 2));
		if (is_float && draw() % 2)
			dtype_store(b->type, s.got + i * size, w * (1 + (double)(draw() % 3) * dtype_roundoff(b->type)));
	}
	for (unsigned k = 0; k < odd; k++) {
		uint64_t i = draw() % n;
		if (draw() % 5 == 0)
			memset(s.got + i * size, poison, size);
		else if (draw() % 4 == 0)
			dtype_store(s.bound_type, s.bounds + i * bound_size, draw() % 2 ? INFINITY : 0);
		else if (draw() % 2)
			dtype_store(b->type, s.got + i * size, specials[draw() % MEM_COUNT(specials)]);
		else
			dtype_store(s.want_type, s.want + i * want_size, specials[draw() % MEM_COUNT(specials)]);
	}
	return s;
}

static void test_plainly(void)
{
	static const enum dtype types[] = { DTYPE_F16, DTYPE_BF16, DTYPE_F32, DTYPE_F64, DTYPE_E4M3, DTYPE_E5M2, DTYPE_I8,
					    DTYPE_U16, DTYPE_I32, DTYPE_I64 };
	static const int poisons[] = { 0xFF, 0x5A, 0x00, 0x3F };
	static const unsigned oddities[] = { 0, 1, 40, 20000 };
	static const int64_t columns[] = {
		1032, 24
	}; /* over several threads, with a last block that is not full; and one block in all */
	for (unsigned k = 0; k < 2 * MEM_COUNT(types) * MEM_COUNT(oddities); k++) {
		enum dtype t = types[k / 2 % MEM_COUNT(types)];
		struct plan_buffer b = matrix(t, k % 2 ? 16 : 264, columns[k % 2]);
		unsigned odd = oddities[k / 2 / MEM_COUNT(types)];
		int poison = poisons[draw() % 4];
		struct sample s = make_sample(&b, k % 2 && odd > 40 ? 40 : odd, poison);
		struct compare_wanted want = { .type = s.want_type, .values = s.want, .bounds = s.bounds,
					       .poison = (uint32_t)poison };
		struct wire_compared c, p;
		compare_outputs(&b, s.got, &want, &c);
		p = plainly(&b, s.got, &want);
		ok(c.elements == p.elements && alike(c.error, p.error) && alike(c.ref_norm, p.ref_norm) &&
			   alike(c.max_abs, p.max_abs) && c.worst_ratio == p.worst_ratio && alike(c.mean_ratio, p.mean_ratio) &&
			   alike(c.signed_mean, p.signed_mean),
		   "%s, %u odd elements, poison %02x: sums and ratios", dtype_name(t), odd, poison);
		ok(c.mismatched == p.mismatched && c.nan == p.nan && c.ref_nan == p.ref_nan && c.untouched == p.untouched &&
			   c.first_untouched == p.first_untouched && c.judged == p.judged,
		   "%llu wrong, %llu NaN, %llu odd references, %llu untouched", (unsigned long long)p.mismatched,
		   (unsigned long long)p.nan, (unsigned long long)p.ref_nan, (unsigned long long)p.untouched);
		ok(same_list(&c, &p) && memcmp(c.map, p.map, sizeof c.map) == 0,
		   "the first mismatches are listed with their places");
		free(s.got);
		free(s.want);
		free(s.bounds);
	}
}

static void test_speed(void)
{
	struct plan_buffer b = matrix(DTYPE_F32, 2048, 2048);
	size_t n = 2048 * 2048;
	float *want = MEM_NEW_N(float, n), *got = MEM_NEW_N(float, n), *bounds = MEM_NEW_N(float, n);
	struct compare_wanted w = { .type = DTYPE_F32, .values = want, .bounds = bounds, .poison = 0xFF };
	struct wire_compared c;
	for (size_t i = 0; i < n; i++) {
		want[i] = got[i] = (float)i;
		bounds[i] = 1000;
	}
	struct pace pace = pace_begin();
	compare_outputs(&b, got, &w, &c);
	ok(pace_within(&pace, 500 * CLOCK_MS), "16 MiB of correct f32 are compared in time: %s", pace_text(&pace));
	for (size_t i = 0; i < n; i += 100)
		got[i] = NAN;
	pace = pace_begin();
	compare_outputs(&b, got, &w, &c);
	ok(pace_within(&pace, 2 * CLOCK_S), "16 MiB of wrong f32 are compared in time: %s", pace_text(&pace));
	free(want);
	free(got);
	free(bounds);
}

int main(void)
{
	test_bounds();
	test_odd();
	test_map();
	test_integers();
	test_poison();
	test_plainly();
	test_speed();
	return tap_done();
}
