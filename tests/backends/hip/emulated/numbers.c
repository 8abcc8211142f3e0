/* numbers: f16 as bits, with one rounding to nearest even. */
#include "tests/backends/hip/emulated/emulated.h"

#include <math.h>

float number_f16(uint32_t bits)
{
	uint32_t sign = (bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 1023, f32;
	float x;

	if (exponent == 0) {
		x = (float)fraction * 0x1p-24f;
		return sign ? -x : x;
	}
	f32 = sign | (exponent == 31 ? 0x7f800000 : (exponent + 112) << 23) | fraction << 13;
	memcpy(&x, &f32, sizeof x);
	return x;
}

uint32_t number_to_f16(double value)
{
	uint64_t bits;
	uint32_t sign;
	int exponent, shift;
	uint64_t fraction, half, rest;

	memcpy(&bits, &value, sizeof bits);
	sign = (uint32_t)(bits >> 48) & 0x8000;
	exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	fraction = (bits & 0xfffffffffffff) | (UINT64_C(1) << 52);
	if (exponent == 1024)
		return sign | 0x7c00 | ((bits & 0xfffffffffffff) ? 0x200 | (uint32_t)(bits >> 42 & 0x3ff) : 0);
	if (exponent > 15)
		return sign | 0x7c00;
	if (exponent < -25)
		return sign;
	/* Below 2^-14 the last place stays at 2^-24. */
	shift = exponent >= -14 ? 42 : 42 + (-14 - exponent);
	half = UINT64_C(1) << (shift - 1);
	rest = fraction & (2 * half - 1);
	fraction >>= shift;
	fraction += rest > half || (rest == half && (fraction & 1));
	/* A carry out of the fraction runs into the exponent, up to infinity. */
	return sign | (uint32_t)(exponent >= -14 ? ((uint64_t)(exponent + 14) << 10) + fraction : fraction);
}

double number_fma_f16(double a, double b, double c)
{
	/* The product is exact. The sum is rounded to odd, so that rounding again to f16 gives the right result
	 * (Boldo, Melquiond 2008). */
	double p = a * b, s = p + c, back = s - p, lost = (p - (s - back)) + (c - back);
	uint64_t bits;

	if (lost == 0 || !isfinite(s))
		return s;
	memcpy(&bits, &s, sizeof bits);
	if (!(bits & 1)) {
		bits += (lost > 0) == (s > 0) ? 1 : (uint64_t)-1;
		memcpy(&s, &bits, sizeof s);
	}
	return s;
}
