/* race_ops: see race_ops.h. Operation numbers are SPIR-V's; floats are computed as doubles and rounded once, which is as near to any
 * device as control flow needs. */
#include "backends/hlsl/race_ops.h"

#include <math.h>
#include <string.h>

#include "backends/wire/dtype.h"

double hlsl_race_ops_float(const struct race_type *t, uint64_t bits)
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

uint64_t hlsl_race_ops_bits(const struct race_type *t, double value)
{
	uint64_t bits;
	uint32_t u;
	uint16_t h;
	float f = (float)value;
	memcpy(&bits, &value, sizeof bits);
	memcpy(&u, &f, sizeof u);
	if (t->bits == 16)
		dtype_store(DTYPE_F16, &h, value);
	else
		h = 0;
	return t->bits == 64 ? bits : t->bits == 16 ? h : u;
}

static int64_t signed_of(const struct race_type *t, uint64_t x)
{
	return t->bits >= 64 ? (int64_t)x : t->bits == 32 ? (int32_t)(uint32_t)x : t->bits == 16 ? (int16_t)(uint16_t)x : (int8_t)(uint8_t)x;
}

static uint64_t cut(const struct race_type *t, uint64_t x)
{
	return t->bits >= 64 ? x : x & (((uint64_t)1 << t->bits) - 1);
}

static bool compare(uint32_t op, double x, double y, uint64_t *ret)
{
	bool odd = isnan(x) || isnan(y), unordered = (op & 1) != 0;
	switch (op & ~1u) {
	case 180: *ret = x == y; break;
	case 182: *ret = x != y; break;
	case 184: *ret = x < y; break;
	case 186: *ret = x > y; break;
	case 188: *ret = x <= y; break;
	case 190: *ret = x >= y; break;
	default: return false;
	}
	if (odd)
		*ret = unordered;
	return true;
}

static bool floating(uint32_t op, const struct race_type *out, const struct race_type *in, uint64_t a, uint64_t b, uint64_t *ret)
{
	double x = hlsl_race_ops_float(in, a), y = hlsl_race_ops_float(in, b), z;
	switch (op) {
	case 109: *ret = cut(out, (uint64_t)(x > 0 ? x < 1.8e19 ? x : 1.8e19 : 0)); return true;
	case 110: *ret = cut(out, (uint64_t)(int64_t)(fabs(x) < 9e18 ? x : 0)); return true;
	case 115: *ret = hlsl_race_ops_bits(out, x); return true;
	case 127: z = -x; break;
	case 129: z = x + y; break;
	case 131: z = x - y; break;
	case 133: z = x * y; break;
	case 136: z = x / y; break;
	case 140: z = fmod(x, y); break;
	case 141: z = x - y * floor(x / y); break;
	case 156: *ret = isnan(x) != 0; return true;
	case 157: *ret = isinf(x) != 0; return true;
	default: return op >= 180 && op <= 191 && compare(op, x, y, ret);
	}
	*ret = hlsl_race_ops_bits(out, z);
	return true;
}

static bool integer(uint32_t op, const struct race_type *in, uint64_t a, uint64_t b, uint64_t *ret)
{
	int64_t x = signed_of(in, a), y = signed_of(in, b);
	uint64_t u = cut(in, a), v = cut(in, b), shift = v & (in->bits - 1);
	switch (op) {
	case 126: *ret = 0 - u; return true;
	case 128: *ret = u + v; return true;
	case 130: *ret = u - v; return true;
	case 132: *ret = u * v; return true;
	case 134: *ret = v ? u / v : UINT64_MAX; return true;
	case 135: *ret = y == 0 || y == -1 ? 0 - u : (uint64_t)(x / y); return true;
	case 137: *ret = v ? u % v : UINT64_MAX; return true;
	case 138: *ret = y == 0 || y == -1 ? 0 : (uint64_t)(x % y); return true;
	case 139: *ret = y == 0 || y == -1 ? 0 : (uint64_t)((x % y + y) % y); return true;
	case 170: *ret = u == v; return true;
	case 171: *ret = u != v; return true;
	case 172: *ret = u > v; return true;
	case 173: *ret = x > y; return true;
	case 174: *ret = u >= v; return true;
	case 175: *ret = x >= y; return true;
	case 176: *ret = u < v; return true;
	case 177: *ret = x < y; return true;
	case 178: *ret = u <= v; return true;
	case 179: *ret = x <= y; return true;
	case 194: *ret = u >> shift; return true;
	case 195: *ret = (uint64_t)(x >> shift); return true;
	case 196: *ret = u << shift; return true;
	case 197: *ret = u | v; return true;
	case 198: *ret = u ^ v; return true;
	case 199: *ret = u & v; return true;
	case 200: *ret = ~u; return true;
	case 205: *ret = (uint64_t)__builtin_popcountll(u); return true;
	default: return false;
	}
}

bool hlsl_race_ops_scalar(uint32_t op, const struct race_type *out, const struct race_type *in, uint64_t a, uint64_t b, uint64_t c,
                          uint64_t *ret)
{
	switch (op) {
	case 83: case 124: *ret = a; return true;
	case 111: *ret = hlsl_race_ops_bits(out, (double)signed_of(in, a)); return true;
	case 112: *ret = hlsl_race_ops_bits(out, (double)cut(in, a)); return true;
	case 113: *ret = cut(out, cut(in, a)); return true;
	case 114: *ret = cut(out, (uint64_t)signed_of(in, a)); return true;
	case 164: *ret = a == b; return true;
	case 165: *ret = a != b; return true;
	case 166: *ret = a | b; return true;
	case 167: *ret = a & b; return true;
	case 168: *ret = !a; return true;
	case 169: *ret = a ? b : c; return true;
	default: break;
	}
	if (floating(op, out, in, a, b, ret))
		return true;
	if (!integer(op, in, a, b, ret))
		return false;
	*ret = cut(out, *ret);
	return true;
}

static bool ext_integer(uint32_t n, const struct race_type *t, uint64_t a, uint64_t b, uint64_t c, uint64_t *ret)
{
	int64_t x = signed_of(t, a), y = signed_of(t, b), z = signed_of(t, c);
	switch (n) {
	case 5: *ret = cut(t, (uint64_t)(x < 0 ? -x : x)); return true;
	case 7: *ret = cut(t, (uint64_t)((x > 0) - (x < 0))); return true;
	case 38: *ret = a < b ? a : b; return true;
	case 39: *ret = x < y ? a : b; return true;
	case 41: *ret = a > b ? a : b; return true;
	case 42: *ret = x > y ? a : b; return true;
	case 44: *ret = a < b ? b : a > c ? c : a; return true;
	case 45: *ret = x < y ? b : x > z ? c : a; return true;
	default: return false;
	}
}

bool hlsl_race_ops_ext(uint32_t n, const struct race_type *t, uint64_t a, uint64_t b, uint64_t c, uint64_t *ret)
{
	double x = hlsl_race_ops_float(t, a), y = hlsl_race_ops_float(t, b), z = hlsl_race_ops_float(t, c), r;
	if (ext_integer(n, t, a, b, c, ret))
		return true;
	switch (n) {
	case 1: case 2: r = nearbyint(x); break;
	case 3: r = trunc(x); break;
	case 4: r = fabs(x); break;
	case 6: r = (x > 0) - (x < 0); break;
	case 8: r = floor(x); break;
	case 9: r = ceil(x); break;
	case 10: r = x - floor(x); break;
	case 13: r = sin(x); break;
	case 14: r = cos(x); break;
	case 15: r = tan(x); break;
	case 21: r = tanh(x); break;
	case 26: r = pow(x, y); break;
	case 27: r = exp(x); break;
	case 28: r = log(x); break;
	case 29: r = exp2(x); break;
	case 30: r = log2(x); break;
	case 31: r = sqrt(x); break;
	case 32: r = 1 / sqrt(x); break;
	case 37: case 79: r = fmin(x, y); break;
	case 40: case 80: r = fmax(x, y); break;
	case 43: case 81: r = fmin(fmax(x, y), z); break;
	case 46: r = x * (1 - z) + y * z; break;
	case 48: r = y < x ? 0 : 1; break;
	case 50: r = fma(x, y, z); break;
	default: return false;
	}
	*ret = hlsl_race_ops_bits(t, r);
	return true;
}
