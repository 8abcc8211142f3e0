/* race_arith: operations on scalars for the race check, called by the other race_*.c. Floats are computed as doubles and rounded
 * once, near enough to any device for control flow. Numbers of operations are SPIR-V's. */
#include <math.h>
#include <string.h>

#include "backends/hlsl/race_lane.h"
#include "backends/wire/dtype.h"
#include "base/mem.h"

double hlsl_race_float(const struct spirv_type *t, uint64_t bits)
{
	uint32_t u = (uint32_t)bits;
	uint16_t h = (uint16_t)bits;
	double d;
	float f;
	if (t->bits == 16)
		return dtype_load(DTYPE_F16, &h);
	memcpy(&f, &u, sizeof f);
	memcpy(&d, &bits, sizeof d);
	return t->bits == 64 ? d : (double)f;
}

uint64_t hlsl_race_bits(const struct spirv_type *t, double value)
{
	uint64_t bits;
	uint32_t u;
	uint16_t h = 0;
	float f = (float)value;
	memcpy(&bits, &value, sizeof bits);
	memcpy(&u, &f, sizeof u);
	if (t->bits == 16)
		dtype_store(DTYPE_F16, &h, value);
	return t->bits == 64 ? bits : t->bits == 16 ? h : u;
}

static int64_t as_signed(const struct spirv_type *t, uint64_t x)
{
	return t->bits >= 64   ? (int64_t)x
	       : t->bits == 32 ? (int32_t)(uint32_t)x
	       : t->bits == 16 ? (int16_t)(uint16_t)x
			       : (int8_t)(uint8_t)x;
}

static uint64_t cut(const struct spirv_type *t, uint64_t x)
{
	return t->bits >= 64 ? x : x & (((uint64_t)1 << t->bits) - 1);
}

/* Arithmetic whose result is a float of the operands' type. */
static double float_result(uint32_t op, double x, double y, bool *io_known)
{
	switch (op) {
	case 127: return -x;
	case 129: return x + y;
	case 131: return x - y;
	case 133: return x * y;
	case 136: return x / y;
	case 140: return fmod(x, y);
	case 141: return x - y * floor(x / y);
	default: *io_known = false; return 0;
	}
}

static uint64_t int_result(uint32_t op, const struct spirv_type *in, uint64_t a, uint64_t b, bool *io_known)
{
	int64_t x = as_signed(in, a), y = as_signed(in, b);
	uint64_t u = cut(in, a), v = cut(in, b), shift = v & (in->bits - 1), reversed = 0;
	bool bad = y == 0 || y == -1; /* the hardware's division by zero, and overflow */
	switch (op) {
	case 126: return 0 - u;
	case 128: return u + v;
	case 130: return u - v;
	case 132: return u * v;
	case 134: return v ? u / v : UINT64_MAX;
	case 135: return bad ? 0 - u : (uint64_t)(x / y);
	case 137: return v ? u % v : UINT64_MAX;
	case 138: return bad ? 0 : (uint64_t)(x % y);
	case 139: return bad ? 0 : (uint64_t)((x % y + y) % y);
	case 170: return u == v;
	case 171: return u != v;
	case 172: return u > v;
	case 173: return x > y;
	case 174: return u >= v;
	case 175: return x >= y;
	case 176: return u < v;
	case 177: return x < y;
	case 178: return u <= v;
	case 179: return x <= y;
	case 194: return u >> shift;
	case 195: return (uint64_t)(x >> shift);
	case 196: return u << shift;
	case 197: return u | v;
	case 198: return u ^ v;
	case 199: return u & v;
	case 200: return ~u;
	case 204:
		for (uint64_t i = 0; i < in->bits; i++)
			reversed |= (u >> i & 1) << (in->bits - 1 - i);
		return reversed;
	case 205: return (uint64_t)__builtin_popcountll(u);
	default: *io_known = false; return 0;
	}
}

/* Conversions, logic and comparisons of floats, whose results have a type of their own; then the arithmetic. `in`: the
 * operands' type. *io_known becomes false for an operation that is not here. */
static uint64_t scalar_result(uint32_t op, const struct spirv_type *out, const struct spirv_type *in, const uint64_t v[3],
			      bool *io_known)
{
	uint64_t a = v[0], b = v[1];
	double x = hlsl_race_float(in, a), y = hlsl_race_float(in, b), z;
	bool is_float = true;
	switch (op) {
	case 83:
	case 124: return a;
	case 109: return cut(out, (uint64_t)(x > 0 ? x < 1.8e19 ? x : 1.8e19 : 0));
	case 110: return cut(out, (uint64_t)(int64_t)(fabs(x) < 9e18 ? x : 0));
	case 111: return hlsl_race_bits(out, (double)as_signed(in, a));
	case 112: return hlsl_race_bits(out, (double)cut(in, a));
	case 113: return cut(out, cut(in, a));
	case 114: return cut(out, (uint64_t)as_signed(in, a));
	case 115: return hlsl_race_bits(out, x);
	case 156: return isnan(x) != 0;
	case 157: return isinf(x) != 0;
	case 164: return a == b;
	case 165: return a != b;
	case 166: return a | b;
	case 167: return a & b;
	case 168: return !a;
	case 169: return a ? b : v[2];
	default: break;
	}
	if (op >= 180 && op <= 191) {
		if (isnan(x) || isnan(y))
			return (op & 1) != 0; /* the odd ones are the unordered comparisons */
		switch (op & ~1u) {
		case 180: return x == y;
		case 182: return x != y;
		case 184: return x < y;
		case 186: return x > y;
		case 188: return x <= y;
		default: return x >= y;
		}
	}
	z = float_result(op, x, y, &is_float);
	return is_float ? hlsl_race_bits(out, z) : cut(out, int_result(op, in, a, b, io_known));
}

/* An instruction of GLSL.std.450. */
static uint64_t ext_result(uint32_t n, const struct spirv_type *t, const uint64_t v[3], bool *io_known)
{
	static double (*const of_one[])(double) = {
		[1] = nearbyint, [2] = nearbyint, [3] = trunc, [4] = fabs,  [8] = floor, [9] = ceil,  [13] = sin,  [14] = cos,
		[15] = tan,      [16] = asin,     [17] = acos, [18] = atan, [19] = sinh, [20] = cosh, [21] = tanh, [22] = asinh,
		[23] = acosh,    [24] = atanh,    [27] = exp,  [28] = log,  [29] = exp2, [30] = log2, [31] = sqrt,
	};
	uint64_t a = v[0], b = v[1], c = v[2];
	int64_t i = as_signed(t, a), j = as_signed(t, b), k = as_signed(t, c);
	double x = hlsl_race_float(t, a), y = hlsl_race_float(t, b), z = hlsl_race_float(t, c);

	if (n < MEM_COUNT(of_one) && of_one[n])
		return hlsl_race_bits(t, of_one[n](x));
	switch (n) {
	case 5: return cut(t, (uint64_t)(i < 0 ? -i : i));
	case 6: return hlsl_race_bits(t, (x > 0) - (x < 0));
	case 7: return cut(t, (uint64_t)((i > 0) - (i < 0)));
	case 10: return hlsl_race_bits(t, x - floor(x));
	case 11: return hlsl_race_bits(t, x * (M_PI / 180));
	case 12: return hlsl_race_bits(t, x * (180 / M_PI));
	case 25: return hlsl_race_bits(t, atan2(x, y));
	case 26: return hlsl_race_bits(t, pow(x, y));
	case 32: return hlsl_race_bits(t, 1 / sqrt(x));
	case 37:
	case 79: return hlsl_race_bits(t, fmin(x, y));
	case 38: return a < b ? a : b;
	case 39: return i < j ? a : b;
	case 40:
	case 80: return hlsl_race_bits(t, fmax(x, y));
	case 41: return a > b ? a : b;
	case 42: return i > j ? a : b;
	case 43:
	case 81: return hlsl_race_bits(t, fmin(fmax(x, y), z));
	case 44: return a < b ? b : a > c ? c : a;
	case 45: return i < j ? b : i > k ? c : a;
	case 46: return hlsl_race_bits(t, x * (1 - z) + y * z);
	case 48: return hlsl_race_bits(t, y < x ? 0 : 1);
	case 49: z = fmin(fmax((z - x) / (y - x), 0), 1); return hlsl_race_bits(t, z * z * (3 - 2 * z));
	case 50: return hlsl_race_bits(t, fma(x, y, z));
	case 53: return hlsl_race_bits(t, ldexp(x, (int)(int32_t)(uint32_t)b));
	case 73:
	case 74:
	case 75: {
		uint64_t u = cut(t, n == 74 && as_signed(t, a) < 0 ? ~a : a);
		return u == 0 ? UINT32_MAX : n == 73 ? (uint64_t)__builtin_ctzll(u) : 63 - (uint64_t)__builtin_clzll(u);
	}
	default: *io_known = false; return 0;
	}
}

uint64_t hlsl_race_compute(uint32_t op, bool ext, const struct spirv_type *out, const struct spirv_type *in, const uint64_t v[3],
			   bool *io_known)
{
	return ext ? ext_result(op, out, v, io_known) : scalar_result(op, out, in, v, io_known);
}

uint64_t hlsl_race_scalar(uint32_t op, bool ext, const struct spirv_type *t, uint64_t a, uint64_t b)
{
	bool known = true;
	return hlsl_race_compute(op, ext, t, t, (const uint64_t[3]){ a, b, 0 }, &known);
}
