/* dtype: element types and their conversions; see dtype.h. Used by contexts, plans and every backend. */
#include "backends/wire/dtype.h"

#include <math.h>
#include <string.h>

/* The narrow formats are IEEE 754 binary16, bfloat16, and OCP 8-bit floating point (OFP8, revision 1.0). */
static const struct type {
	const char *name;
	size_t size;
	bool floating, is_signed;
	double roundoff;
	int exponent, fraction, bias; /* of a narrow float: bits of exponent and fraction */
	bool infinity;                /* it has infinities */
} types[DTYPE_COUNT] = {
	[DTYPE_I8] = { "i8", 1, .is_signed = true },
	[DTYPE_I16] = { "i16", 2, .is_signed = true },
	[DTYPE_I32] = { "i32", 4, .is_signed = true },
	[DTYPE_I64] = { "i64", 8, .is_signed = true },
	[DTYPE_U8] = { "u8", 1, .is_signed = false },
	[DTYPE_U16] = { "u16", 2, .is_signed = false },
	[DTYPE_U32] = { "u32", 4, .is_signed = false },
	[DTYPE_U64] = { "u64", 8, .is_signed = false },
	[DTYPE_F16] = { "f16", 2, true, true, 0x1p-11, 5, 10, 15, true },
	[DTYPE_BF16] = { "bf16", 2, true, true, 0x1p-8, 8, 7, 127, true },
	[DTYPE_F32] = { "f32", 4, true, true, 0x1p-24, .bias = 0 },
	[DTYPE_F64] = { "f64", 8, true, true, 0x1p-53, .bias = 0 },
	[DTYPE_E4M3] = { "e4m3", 1, true, true, 0x1p-4, 4, 3, 7, false },
	[DTYPE_E5M2] = { "e5m2", 1, true, true, 0x1p-3, 5, 2, 15, true },
};

size_t dtype_size(enum dtype t)
{
	return types[t].size;
}

const char *dtype_name(enum dtype t)
{
	return types[t].name;
}

bool dtype_is_float(enum dtype t)
{
	return types[t].floating;
}

bool dtype_is_signed(enum dtype t)
{
	return types[t].is_signed;
}

double dtype_roundoff(enum dtype t)
{
	return types[t].roundoff;
}

double dtype_smallest_normal(enum dtype t)
{
	if (!types[t].floating || t == DTYPE_F64)
		return t == DTYPE_F64 ? 0x1p-1022 : 0;
	return t == DTYPE_F32 ? 0x1p-126 : ldexp(1, 1 - types[t].bias);
}

int dtype_parse(const char *name)
{
	static const struct {
		const char *name;
		enum dtype type;
	} others[] = {
		{ "int", DTYPE_I32 },
		{ "float", DTYPE_F32 },
		{ "double", DTYPE_F64 },
		{ "half", DTYPE_F16 },
	};
	for (int t = 0; t < DTYPE_COUNT; t++)
		if (strcmp(name, types[t].name) == 0)
			return t;
	for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
		if (strcmp(name, others[k].name) == 0)
			return others[k].type;
	return -1;
}

static double narrow_load(const struct type *f, uint32_t bits)
{
	uint32_t top = (1u << f->exponent) - 1, exponent = bits >> f->fraction & top,
		 fraction = bits & ((1u << f->fraction) - 1);
	double sign = bits >> (f->exponent + f->fraction) & 1 ? -1.0 : 1.0;
	if (exponent == top && f->infinity)
		return fraction ? NAN : sign * INFINITY;
	if (exponent == top && fraction == (1u << f->fraction) - 1) /* e4m3: all ones is its only NaN */
		return NAN;
	if (exponent == 0)
		return sign * ldexp(fraction, 1 - f->bias - f->fraction);
	return sign * ldexp((double)(fraction | 1u << f->fraction), (int)exponent - f->bias - f->fraction);
}

/* Rounds to nearest even: scales so that the last place is one unit, then calls nearbyint. */
static uint32_t narrow_store(const struct type *f, double value)
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

static double integer_load(enum dtype t, const void *p)
{
	int64_t i = 0;
	uint64_t u = 0;
	size_t n = types[t].size;
	memcpy(&u, p, n); /* little-endian, as all hosts and devices here are */
	if (!types[t].is_signed)
		return (double)u;
	i = (int64_t)(u << (64 - 8 * n)) >> (64 - 8 * n);
	return (double)i;
}

static void integer_store(enum dtype t, void *p, double value)
{
	size_t n = types[t].size;
	int bits = (int)(8 * n) - types[t].is_signed;
	double high = ldexp(1, bits), low = types[t].is_signed ? -high : 0;
	uint64_t u;
	value = isnan(value) ? 0 : nearbyint(value);
	if (value >= high)
		u = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
	else if (value <= low)
		u = types[t].is_signed ? UINT64_C(1) << bits : 0;
	else
		u = types[t].is_signed ? (uint64_t)(int64_t)value : (uint64_t)value;
	memcpy(p, &u, n);
}

double dtype_load(enum dtype t, const void *element)
{
	uint32_t bits = 0;
	float f;
	double d;
	if (!types[t].floating)
		return integer_load(t, element);
	if (t == DTYPE_F32)
		return memcpy(&f, element, sizeof f), f;
	if (t == DTYPE_F64)
		return memcpy(&d, element, sizeof d), d;
	memcpy(&bits, element, types[t].size);
	return narrow_load(&types[t], bits);
}

/* Sign, exponent and fraction keep their places relative to each other, so a narrow number that is read as a float is
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

/* The number is a constant and source and destination cannot overlap, so compilers make vectors of these loops. */
enum { MANY = 16 };

static void load_f16(const uint8_t *from, double *to)
{
	uint16_t half[MANY];
	float f[MANY];
	memcpy(half, from, sizeof half);
	for (size_t i = 0; i < MANY; i++)
		f[i] = f16_load(half[i]);
	for (size_t i = 0; i < MANY; i++)
		to[i] = (double)f[i];
}

static void load_bf16(const uint8_t *from, double *to)
{
	uint16_t half[MANY];
	uint32_t u[MANY];
	float f[MANY];
	memcpy(half, from, sizeof half);
	for (size_t i = 0; i < MANY; i++)
		u[i] = (uint32_t)half[i] << 16;
	memcpy(f, u, sizeof f);
	for (size_t i = 0; i < MANY; i++)
		to[i] = (double)f[i];
}

static void load_f32(const uint8_t *from, double *to)
{
	float f[MANY];
	memcpy(f, from, sizeof f);
	for (size_t i = 0; i < MANY; i++)
		to[i] = (double)f[i];
}

void dtype_load_all(enum dtype t, const void *elements, double *to, size_t n)
{
	void (*many)(const uint8_t *from, double *to) = t == DTYPE_F16    ? load_f16
							: t == DTYPE_BF16 ? load_bf16
							: t == DTYPE_F32  ? load_f32
									  : NULL;
	const uint8_t *from = elements;
	size_t size = types[t].size, i = 0;
	if (t == DTYPE_F64) {
		memcpy(to, from, n * size);
		return;
	}
	for (; many && i + MANY <= n; i += MANY)
		many(from + i * size, to + i);
	for (; i < n; i++)
		to[i] = dtype_load(t, from + i * size);
}

void dtype_store(enum dtype t, void *element, double value)
{
	float f = (float)value;
	if (!types[t].floating) {
		integer_store(t, element, value);
	} else if (t == DTYPE_F32) {
		memcpy(element, &f, sizeof f);
	} else if (t == DTYPE_F64) {
		memcpy(element, &value, sizeof value);
	} else {
		uint32_t bits = narrow_store(&types[t], value);
		memcpy(element, &bits, types[t].size);
	}
}
