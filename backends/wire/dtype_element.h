/* dtype_element: how one element of each type is laid out, read and written. A part of dtype.c, and of the judge's CUDA kernels
 * (gpu/judge_kernels.cu), so it is C and C++. */
#ifndef PEAKD_BACKENDS_WIRE_DTYPE_ELEMENT_H
#define PEAKD_BACKENDS_WIRE_DTYPE_ELEMENT_H

#include <math.h>
#include <string.h>

#include "backends/wire/dtype.h"

/* The narrow formats are IEEE 754 binary16, bfloat16, and OCP 8-bit floating point (OFP8, revision 1.0). */
struct dtype_layout {
	size_t size;
	bool floating, is_signed;
	double roundoff;
	int exponent, fraction, bias; /* of a narrow float: bits of exponent and fraction */
	bool infinity;                /* it has infinities */
	char name[8];
};

/* In the order of enum dtype. */
static const struct dtype_layout dtype_layouts[DTYPE_COUNT] = {
	{ 1, false, true, 0, 0, 0, 0, false, "i8" },         { 2, false, true, 0, 0, 0, 0, false, "i16" },
	{ 4, false, true, 0, 0, 0, 0, false, "i32" },        { 8, false, true, 0, 0, 0, 0, false, "i64" },
	{ 1, false, false, 0, 0, 0, 0, false, "u8" },        { 2, false, false, 0, 0, 0, 0, false, "u16" },
	{ 4, false, false, 0, 0, 0, 0, false, "u32" },       { 8, false, false, 0, 0, 0, 0, false, "u64" },
	{ 2, true, true, 0x1p-11, 5, 10, 15, true, "f16" },  { 2, true, true, 0x1p-8, 8, 7, 127, true, "bf16" },
	{ 4, true, true, 0x1p-24, 8, 23, 127, true, "f32" }, { 8, true, true, 0x1p-53, 11, 52, 1023, true, "f64" },
	{ 1, true, true, 0x1p-4, 4, 3, 7, false, "e4m3" },   { 1, true, true, 0x1p-3, 5, 2, 15, true, "e5m2" },
};

/* Sign, exponent and fraction keep their places relative to each other. So a narrow number that is read as a float is
 * too small by a power of two, subnormal or not: one multiplication corrects that. Infinities and NaN have the largest
 * exponent in both. */
static inline float f16_load(uint16_t bits)
{
	uint32_t u = (uint32_t)(bits & 0x7fff) << 13, sign = (uint32_t)(bits & 0x8000) << 16;
	uint32_t special = -(uint32_t)((bits & 0x7c00) == 0x7c00) & 0x7f800000;
	float f;
	memcpy(&f, &u, sizeof f);
	f *= 0x1p112f;
	memcpy(&u, &f, sizeof u);
	u |= special | sign;
	memcpy(&f, &u, sizeof f);
	return f;
}

static inline uint32_t float_bits(float f)
{
	uint32_t u;
	memcpy(&u, &f, sizeof u);
	return u;
}

/* Rounds to nearest even. F. Giesen's float_to_half_fast3_rtne (public domain, 2016). */
static inline uint16_t f16_bits(float f)
{
	const uint32_t overflow = (127 + 16) << 23, smallest_normal = (127 - 14) << 23;
	const uint32_t magic = ((127 - 15) + (23 - 10) + 1) << 23;
	uint32_t sign = float_bits(f) & 0x80000000u, u = float_bits(f) ^ sign;
	if (u >= overflow) {
		u = u > 0x7f800000u ? 0x7e00 : 0x7c00;
	} else if (u < smallest_normal) {
		u = float_bits(fabsf(f) + 0.5f) - magic; /* 0.5f is the float whose bits are `magic` */
	} else {
		u = (u - ((127u - 15u) << 23) + 0xfff + (u >> 13 & 1)) >> 13;
	}
	return (uint16_t)(u | sign >> 16);
}

/* Not of NaN that a GPU made: their bits are all ones. */
static inline uint16_t bf16_bits(float f)
{
	uint32_t u = float_bits(f);
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static inline double narrow_load(const struct dtype_layout *f, uint32_t bits)
{
	uint32_t top = (1u << f->exponent) - 1, exponent = bits >> f->fraction & top, fraction = bits & ((1u << f->fraction) - 1);
	double sign = bits >> (f->exponent + f->fraction) & 1 ? -1.0 : 1.0;
	if (exponent == top && f->infinity)
		return fraction ? NAN : sign * INFINITY;
	if (exponent == top && fraction == (1u << f->fraction) - 1) /* e4m3: all ones is its only NaN */
		return NAN;
	if (exponent == 0)
		return sign * ldexp((double)fraction, 1 - f->bias - f->fraction);
	return sign * ldexp((double)(fraction | 1u << f->fraction), (int)exponent - f->bias - f->fraction);
}

/* Rounds to nearest even: scales so that the last place is one unit, then calls nearbyint. */
static inline uint32_t narrow_store(const struct dtype_layout *f, double value)
{
	uint32_t top = (1u << f->exponent) - 1, sign = (uint32_t)(signbit(value) != 0) << (f->exponent + f->fraction);
	uint32_t infinity = f->infinity ? top << f->fraction : (top << f->fraction | ((1u << f->fraction) - 1));
	uint32_t nan = f->infinity ? top << f->fraction | 1u << (f->fraction - 1) : infinity;
	uint32_t largest = infinity - 1;
	double size = fabs(value);
	if (isnan(value))
		return sign | nan;
	if (size == 0)
		return sign;
	int exponent = isinf(value) ? 1 << 20 : ilogb(size);
	if (exponent < 1 - f->bias)
		exponent = 1 - f->bias; /* subnormal: the last place does not move */
	if (exponent > f->bias + 2)
		return sign | infinity;
	double units = nearbyint(ldexp(size, f->fraction - exponent)); /* default rounding: to nearest, ties to even */
	uint32_t bits = (uint32_t)units + ((uint32_t)(exponent + f->bias - 1) << f->fraction);
	return sign | (bits > largest ? infinity : bits);
}

static inline double integer_load(const struct dtype_layout *t, const void *p)
{
	int64_t i = 0;
	uint64_t u = 0;
	size_t n = t->size;
	memcpy(&u, p, n); /* little-endian, as all hosts and devices here are */
	if (!t->is_signed)
		return (double)u;
	i = (int64_t)(u << (64 - 8 * n)) >> (64 - 8 * n);
	return (double)i;
}

static inline void integer_store(const struct dtype_layout *t, void *p, double value)
{
	size_t n = t->size;
	int bits = (int)(8 * n) - t->is_signed;
	double high = ldexp(1.0, bits), low = t->is_signed ? -high : 0;
	uint64_t u;
	value = isnan(value) ? 0 : nearbyint(value);
	if (value >= high)
		u = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
	else if (value <= low)
		u = t->is_signed ? UINT64_C(1) << bits : 0;
	else
		u = t->is_signed ? (uint64_t)(int64_t)value : (uint64_t)value;
	memcpy(p, &u, n);
}

/* The smallest normal number; 0 for integers. */
static inline double dtype_element_normal(enum dtype t)
{
	const struct dtype_layout *l = &dtype_layouts[t];
	return l->floating ? ldexp(1.0, 1 - l->bias) : 0;
}

static inline double dtype_element_load(enum dtype t, const void *element)
{
	const struct dtype_layout *l = &dtype_layouts[t];
	uint32_t bits = 0;
	float f;
	double d;
	if (!l->floating)
		return integer_load(l, element);
	if (t == DTYPE_F32) {
		memcpy(&f, element, sizeof f);
		return f;
	}
	if (t == DTYPE_F64) {
		memcpy(&d, element, sizeof d);
		return d;
	}
	memcpy(&bits, element, l->size);
	return narrow_load(l, bits);
}

static inline void dtype_element_store(enum dtype t, void *element, double value)
{
	const struct dtype_layout *l = &dtype_layouts[t];
	float f = (float)value;
	if (!l->floating) {
		integer_store(l, element, value);
	} else if (t == DTYPE_F32) {
		memcpy(element, &f, sizeof f);
	} else if (t == DTYPE_F64) {
		memcpy(element, &value, sizeof value);
	} else {
		uint32_t bits = narrow_store(l, value);
		memcpy(element, &bits, l->size);
	}
}

#endif
