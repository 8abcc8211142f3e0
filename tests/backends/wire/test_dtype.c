/* Element types: every 8- and 16-bit pattern survives a round trip, rounding is to nearest even, overflow and
 * saturation. */
#include "backends/wire/dtype.h"

#include <math.h>
#include <string.h>

#include "tap.h"

static double stored(enum dtype t, double value)
{
	unsigned char bytes[8] = { 0 };
	dtype_store(t, bytes, value);
	return dtype_load(t, bytes);
}

static void test_patterns(enum dtype t)
{
	int bits = (int)(8 * dtype_size(t)), wrong = 0, misordered = 0;
	double last = -1;
	for (uint32_t pattern = 0; pattern < 1u << bits; pattern++) {
		uint32_t back = 0;
		double v = dtype_load(t, &pattern);
		dtype_store(t, &back, v);
		wrong += isnan(v) ? !isnan(dtype_load(t, &back)) : back != pattern;
		if (pattern < 1u << (bits - 1) && !isnan(v)) {
			misordered += v <= last;
			/* Halfway between two neighbours goes to the even one, just beyond to the next. */
			double half = last + (v - last) / 2;
			if (pattern > 0 && isfinite(v)) {
				uint32_t even = pattern & 1 ? pattern - 1 : pattern, up = 0, tie = 0;
				dtype_store(t, &tie, half);
				dtype_store(t, &up, nextafter(half, INFINITY));
				wrong += tie != even || up != pattern;
			}
			last = v;
		}
	}
	is_int(wrong, 0, "%s: every pattern is restored, ties round to even", dtype_name(t));
	is_int(misordered, 0, "%s: patterns are in order", dtype_name(t));
}

/* The quick way gives what the slow one gives, bit for bit, for every pattern. */
static void test_all(enum dtype t)
{
	enum { N = 1 << 16 };
	static uint64_t patterns[N];
	static double quick[N];
	size_t size = dtype_size(t);
	int wrong = 0;
	for (uint32_t i = 0; i < N; i++)
		memcpy((uint8_t *)patterns + i * size, &(uint64_t){ size < 4 ? i : i * UINT64_C(0x9e3779b97f4a7c15) }, size);
	dtype_load_all(t, patterns, quick, N);
	for (uint32_t i = 0; i < N; i++) {
		double slow = dtype_load(t, (uint8_t *)patterns + i * size);
		wrong += isnan(slow) ? !isnan(quick[i]) : slow != quick[i] || signbit(slow) != signbit(quick[i]);
	}
	is_int(wrong, 0, "%s: many elements load like single ones", dtype_name(t));
	/* Any number of them, from any place, and none beyond. */
	wrong = 0;
	for (uint32_t n = 0; n < 70; n++) {
		double some[71];
		some[n] = 7;
		dtype_load_all(t, (uint8_t *)patterns + n * size, some, n);
		for (uint32_t i = 0; i < n; i++)
			wrong += memcmp(&some[i], &quick[n + i], sizeof some[i]) != 0 && !isnan(quick[n + i]);
		wrong += some[n] != 7;
	}
	is_int(wrong, 0, "%s: few elements load like single ones", dtype_name(t));
}

int main(void)
{
	for (int t = 0; t < DTYPE_COUNT; t++)
		test_all((enum dtype)t);
	static const enum dtype narrow[] = { DTYPE_F16, DTYPE_BF16, DTYPE_E4M3, DTYPE_E5M2 };
	for (int k = 0; k < 4; k++)
		test_patterns(narrow[k]);
	ok(stored(DTYPE_F16, 65504) == 65504 && isinf(stored(DTYPE_F16, 65520)), "f16 overflows to infinity");
	ok(stored(DTYPE_F16, 65519) == 65504, "f16 overflows only beyond the middle");
	ok(isnan(stored(DTYPE_F16, NAN)) && signbit(stored(DTYPE_F16, -0.0)), "f16 keeps NaN and -0");
	ok(stored(DTYPE_E4M3, 448) == 448 && isnan(stored(DTYPE_E4M3, 1000)), "e4m3 has no infinity");
	ok(stored(DTYPE_E5M2, 57344) == 57344 && isinf(stored(DTYPE_E5M2, -70000)), "e5m2 has an infinity");
	ok(stored(DTYPE_BF16, 1e38) > 9.9e37 && stored(DTYPE_BF16, 1.0 + 0x1p-9) == 1.0, "bf16 rounds to 8 bits");
	ok(stored(DTYPE_F16, 0x1p-24) == 0x1p-24 && stored(DTYPE_F16, 0x1p-26) == 0, "f16 has subnormals");
	ok(stored(DTYPE_F32, 0.1) == (double)0.1f && isinf(stored(DTYPE_F32, 1e300)), "f32 rounds and overflows");
	ok(stored(DTYPE_I8, 200) == 127 && stored(DTYPE_I8, -200) == -128 && stored(DTYPE_U8, -1) == 0,
	   "integers saturate");
	ok(stored(DTYPE_U8, 300) == 255 && stored(DTYPE_I16, -3) == -3 && stored(DTYPE_I32, 2.5) == 2,
	   "integers round to even");
	ok(stored(DTYPE_I64, -0x1p63) == -0x1p63 && stored(DTYPE_U64, 1e30) == 0x1p64, "64-bit integers saturate");
	is_int(dtype_parse("int"), DTYPE_I32, "int is i32");
	is_int(dtype_parse("half"), DTYPE_F16, "half is f16");
	is_int(dtype_parse("f128"), -1, "f128 is not a type");
	for (int t = 0; t < DTYPE_COUNT; t++)
		is_int(dtype_parse(dtype_name((enum dtype)t)), t, "%s is found by its name", dtype_name((enum dtype)t));
	for (int t = DTYPE_F16; t < DTYPE_COUNT; t++) {
		double u = dtype_roundoff((enum dtype)t);
		ok(stored((enum dtype)t, 1 + 2 * u) == 1 + 2 * u && stored((enum dtype)t, 1 + u) == 1,
		   "%s: u = %g is half the distance to the next number", dtype_name((enum dtype)t), u);
	}
	ok(dtype_is_float(DTYPE_E4M3) && !dtype_is_float(DTYPE_U8) && !dtype_is_signed(DTYPE_U64),
	   "floats and signed types are known");
	return tap_done();
}
