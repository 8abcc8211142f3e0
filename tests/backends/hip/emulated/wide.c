/* wide: lane by lane on 64 bits: integers and f64; divisions of f32 and f64; comparisons of all types. */
#include "tests/backends/hip/emulated/emulated.h"

#include <math.h>

struct wide { uint64_t x[LANES]; };
struct doubles { double x[LANES]; };

static void read_bits(const struct wave *w, const struct op *o, unsigned n, struct wide *to)
{
	struct lanes s0, s1;
	const uint32_t *lo = operand_plain(w, o, n, 0, &s0), *hi = operand_plain(w, o, n, 1, &s1);
	for (unsigned i = 0; i < LANES; i++)
		to->x[i] = lo[i] | (uint64_t)hi[i] << 32;
}

static void write_bits(struct wave *w, const struct op *o, const struct wide *from)
{
	struct lanes lo, hi;
	for (unsigned i = 0; i < LANES; i++) {
		lo.x[i] = (uint32_t)from->x[i];
		hi.x[i] = (uint32_t)(from->x[i] >> 32);
	}
	operand_put(w, o, 0, 0, lo.x);
	operand_put(w, o, 0, 1, hi.x);
}

static void read_f64(const struct wave *w, const struct op *o, unsigned n, struct doubles *to)
{
	struct lanes s0, s1;
	const uint32_t *lo = operand_plain(w, o, n, 0, &s0), *hi = operand_in(w, o, n, 1, &s1);
	for (unsigned i = 0; i < LANES; i++) {
		uint64_t bits = lo[i] | (uint64_t)hi[i] << 32;
		memcpy(&to->x[i], &bits, sizeof bits);
	}
}

static void write_f64(struct wave *w, const struct op *o, struct doubles *from)
{
	static const double times[] = { 1, 2, 4, 0.5 };
	struct wide bits;

	if (o->omod || o->clamp)
		for (unsigned i = 0; i < LANES; i++) {
			double x = from->x[i] * times[o->omod];
			from->x[i] = o->clamp ? (x > 0 ? (x < 1 ? x : 1) : 0) : x;
		}
	memcpy(&bits, from, sizeof bits);
	write_bits(w, o, &bits);
}

#define FN(name) static void do_##name(struct wave *w, const struct op *o)
#define EACH(body) for (unsigned i = 0; i < LANES; i++) { body }
/* The first source has 32 bits. */
#define UQ_2(name, e) \
	FN(name) \
	{ \
		struct lanes s; \
		const uint32_t *x = operand_plain(w, o, 1, 0, &s); \
		struct wide y, r; \
		read_bits(w, o, 2, &y); \
		EACH(uint32_t a = x[i]; uint64_t b = y.x[i]; r.x[i] = (uint64_t)(e);) \
		write_bits(w, o, &r); \
	}
#define UQ_3(name, e) \
	FN(name) \
	{ \
		struct wide x, y, r; \
		struct lanes s; \
		read_bits(w, o, 1, &x); read_bits(w, o, 3, &y); \
		const uint32_t *v = operand_plain(w, o, 2, 0, &s); \
		EACH(uint64_t a = x.x[i]; uint32_t b = v[i]; uint64_t c = y.x[i]; r.x[i] = e;) \
		write_bits(w, o, &r); \
	}
#define D_1(name, e) FN(name) { struct doubles x; read_f64(w, o, 1, &x); EACH(double a = x.x[i]; x.x[i] = e;) write_f64(w, o, &x); }
#define D_2(name, e) \
	FN(name) { struct doubles x, y; read_f64(w, o, 1, &x); read_f64(w, o, 2, &y); \
		EACH(double a = x.x[i]; double b = y.x[i]; x.x[i] = e;) write_f64(w, o, &x); }
#define D_3(name, e) \
	FN(name) \
	{ \
		struct doubles x, y, z; \
		read_f64(w, o, 1, &x); read_f64(w, o, 2, &y); read_f64(w, o, 3, &z); \
		EACH(double a = x.x[i]; double b = y.x[i]; double c = z.x[i]; x.x[i] = e;) \
		write_f64(w, o, &x); \
	}
#define D_ACC(name, e) \
	FN(name) \
	{ \
		struct doubles x, y, z; \
		read_f64(w, o, 1, &x); read_f64(w, o, 2, &y); read_f64(w, o, 0, &z); \
		EACH(double a = x.x[i]; double b = y.x[i]; double c = z.x[i]; x.x[i] = e;) \
		write_f64(w, o, &x); \
	}
/* f64 from 32 bits, 32 bits from f64. */
#define DU_1(name, e) FN(name) { struct lanes s; const uint32_t *x = operand_plain(w, o, 1, 0, &s); struct doubles r; \
		EACH(uint32_t a = x[i]; r.x[i] = e;) write_f64(w, o, &r); }
#define DF_1(name, e) FN(name) { struct lanes s; const float *x = (const float *)operand_in(w, o, 1, 0, &s); struct doubles r; \
		EACH(float a = x[i]; r.x[i] = (double)e;) write_f64(w, o, &r); }
#define UD_1(name, e) FN(name) { struct doubles x; struct lanes r; read_f64(w, o, 1, &x); EACH(double a = x.x[i]; r.x[i] = e;) \
		operand_out(w, o, r.x); }
#define FD_1(name, e) FN(name) { struct doubles x; float r[LANES]; read_f64(w, o, 1, &x); \
		EACH(double a = x.x[i]; r[i] = (float)(e);) operand_out_f32(w, o, r); }
#define DDU_2(name, e) \
	FN(name) \
	{ \
		struct doubles x; \
		struct lanes s; \
		read_f64(w, o, 1, &x); \
		const uint32_t *y = operand_plain(w, o, 2, 0, &s); \
		EACH(double a = x.x[i]; uint32_t b = y[i]; x.x[i] = e;) \
		write_f64(w, o, &x); \
	}

static inline double least(double a, double b) { return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b; }
static inline double greatest(double a, double b) { return a != a ? b : b != b ? a : a > b || (a == b && !signbit(a)) ? a : b; }
static inline uint32_t to_u32(double x) { return x > 0 ? (x < 4294967295.0 ? (uint32_t)x : UINT32_MAX) : 0; }
static inline uint32_t to_i32(double x)
{
	return x != x ? 0 : x >= 2147483647.0 ? INT32_MAX : x <= -2147483648.0 ? 0x80000000u : (uint32_t)(int32_t)x;
}
static inline double mantissa(double x) { int e; return isfinite(x) ? frexp(x, &e) : x; }
static inline uint32_t exponent(double x) { int e = 0; if (isfinite(x)) frexp(x, &e); return (uint32_t)e; }

#define LIST(X) \
	X(v_lshlrev_b64, UQ_2, "Qfq", b << (a & 63)) X(v_lshrrev_b64, UQ_2, "Qfq", b >> (a & 63)) \
	X(v_ashrrev_i64, UQ_2, "Qfq", (int64_t)b >> (a & 63)) X(v_lshl_add_u64, UQ_3, "Qqfq", (a << (b & 7)) + c) \
	X(v_add_f64, D_2, "Ddd", a + b) X(v_mul_f64, D_2, "Ddd", a * b) X(v_min_f64, D_2, "Ddd", least(a, b)) \
	X(v_max_f64, D_2, "Ddd", greatest(a, b)) X(v_fma_f64, D_3, "Dddd", fma(a, b, c)) X(v_fmac_f64, D_ACC, "Ddd", fma(a, b, c)) \
	X(v_rcp_f64, D_1, "Dd", 1 / a) X(v_rsq_f64, D_1, "Dd", 1 / sqrt(a)) X(v_sqrt_f64, D_1, "Dd", sqrt(a)) \
	X(v_floor_f64, D_1, "Dd", floor(a)) X(v_ceil_f64, D_1, "Dd", ceil(a)) X(v_trunc_f64, D_1, "Dd", trunc(a)) \
	X(v_rndne_f64, D_1, "Dd", rint(a)) X(v_fract_f64, D_1, "Dd", least(a - floor(a), 0x1.fffffffffffffp-1)) \
	X(v_frexp_mant_f64, D_1, "Dd", mantissa(a)) X(v_frexp_exp_i32_f64, UD_1, "Fd", exponent(a)) \
	X(v_ldexp_f64, DDU_2, "Ddf", ldexp(a, (int32_t)b)) \
	X(v_cvt_f64_f32, DF_1, "Df", a) X(v_cvt_f64_i32, DU_1, "Df", (double)(int32_t)a) X(v_cvt_f64_u32, DU_1, "Df", (double)a) \
	X(v_cvt_f32_f64, FD_1, "Fd", a) X(v_cvt_i32_f64, UD_1, "Fd", to_i32(a)) X(v_cvt_u32_f64, UD_1, "Fd", to_u32(a))

#define DEFINE(name, shape, types, e) shape(name, e)
LIST(DEFINE)
#undef DEFINE

FN(v_mov_b64) { struct wide x; read_bits(w, o, 1, &x); write_bits(w, o, &x); }

/* result 64, carry, 32, 32, 64 */
static void mad64(struct wave *w, const struct op *o, bool is_signed)
{
	struct lanes sa, sb;
	struct wide c, r;
	const uint32_t *a = operand_plain(w, o, 2, 0, &sa), *b = operand_plain(w, o, 3, 0, &sb);
	uint64_t out = 0;

	read_bits(w, o, 4, &c);
	for (unsigned i = 0; i < LANES; i++) {
		uint64_t p = is_signed ? (uint64_t)((int64_t)(int32_t)a[i] * (int32_t)b[i]) : (uint64_t)a[i] * b[i];
		r.x[i] = p + c.x[i];
		out |= (uint64_t)(r.x[i] < p) << i;
	}
	write_bits(w, o, &r);
	operand_mask(w, o, 1, out);
}
FN(v_mad_u64_u32) { mad64(w, o, false); }
FN(v_mad_i64_i32) { mad64(w, o, true); }

/* --- division: div_scale, a Newton iteration with fma, div_fmas, div_fixup ("CDNA2" guide, the instructions' pseudo-code) --- */
static double scaled(double s0, double s1, double s2, bool wide, bool *ret_flag)
{
	int least_normal = wide ? -1022 : -126, e1 = 0, e2 = 0, far = wide ? 768 : 96, up = wide ? 128 : 64, small = wide ? 53 : 23;
	double q = s2 / s1;
	bool q_denormal = wide ? fpclassify(q) == FP_SUBNORMAL : q != 0 && fabs(q) < 0x1p-126;
	bool inverse_denormal = wide ? fpclassify(1 / s1) == FP_SUBNORMAL : fabs(1 / s1) < 0x1p-126;
	bool denormal1 = fabs(s1) < ldexp(1, least_normal);

	*ret_flag = false;
	if (s1 == 0 || s2 == 0 || !isfinite(s1) || !isfinite(s2))
		return s1 == 0 || s2 == 0 ? NAN : s0;
	frexp(s1, &e1);
	frexp(s2, &e2);
	if (e2 - e1 >= far) { /* the quotient is near the largest numbers */
		*ret_flag = true;
		return s0 == s1 ? ldexp(s0, up) : s0;
	}
	if (denormal1)
		return ldexp(s0, up);
	if (inverse_denormal && q_denormal) {
		*ret_flag = true;
		return s0 == s1 ? ldexp(s0, up) : s0;
	}
	if (inverse_denormal)
		return ldexp(s0, -up);
	if (q_denormal) {
		*ret_flag = true;
		return s0 == s2 ? ldexp(s0, up) : s0;
	}
	return e2 - (wide ? -1021 : -125) + 1 <= small ? ldexp(s0, up) : s0;
}

static void div_scale(struct wave *w, const struct op *o, bool wide)
{
	struct doubles s[3], r;
	uint64_t flags = 0;

	for (unsigned n = 0; n < 3; n++) {
		struct lanes space;
		const float *narrow = (const float *)operand_in(w, o, 2 + n, 0, &space);
		if (wide)
			read_f64(w, o, 2 + n, &s[n]);
		for (unsigned i = 0; i < LANES && !wide; i++)
			s[n].x[i] = (double)narrow[i];
	}
	for (unsigned i = 0; i < LANES; i++) {
		bool flag;
		r.x[i] = scaled(s[0].x[i], s[1].x[i], s[2].x[i], wide, &flag);
		flags |= (uint64_t)flag << i;
	}
	if (wide) {
		write_f64(w, o, &r);
	} else {
		float narrow[LANES];
		for (unsigned i = 0; i < LANES; i++)
			narrow[i] = (float)r.x[i];
		operand_out_f32(w, o, narrow);
	}
	operand_mask(w, o, 1, flags);
}
FN(v_div_scale_f32) { div_scale(w, o, false); }
FN(v_div_scale_f64) { div_scale(w, o, true); }

static void read_three(const struct wave *w, const struct op *o, bool wide, struct doubles s[3])
{
	for (unsigned n = 0; n < 3; n++) {
		struct lanes space;
		const float *narrow = (const float *)operand_in(w, o, 1 + n, 0, &space);
		for (unsigned i = 0; i < LANES && !wide; i++)
			s[n].x[i] = (double)narrow[i];
		if (wide)
			read_f64(w, o, 1 + n, &s[n]);
	}
}

static void write_one(struct wave *w, const struct op *o, bool wide, struct doubles *r)
{
	float narrow[LANES];

	for (unsigned i = 0; i < LANES && !wide; i++)
		narrow[i] = (float)r->x[i];
	if (wide)
		write_f64(w, o, r);
	else
		operand_out_f32(w, o, narrow);
}

/* fma, then undoes the scaling where vcc says so. */
static void div_fmas(struct wave *w, const struct op *o, bool wide)
{
	struct doubles s[3], r;
	uint64_t vcc = wave_s64(w, SGPR_VCC);

	read_three(w, o, wide, s);
	for (unsigned i = 0; i < LANES; i++) {
		double a = s[0].x[i], b = s[1].x[i], c = s[2].x[i], x;
		int by = !(vcc >> i & 1) ? 0 : wide ? (fabs(c) >= 2 ? 128 : -128) : fabs(c) >= 2 ? 64 : -64;
		if (wide)
			x = ldexp(fma(a, b, c), by);
		else
			x = (double)ldexpf(__builtin_fmaf((float)a, (float)b, (float)c), by);
		r.x[i] = x;
	}
	write_one(w, o, wide, &r);
}
FN(v_div_fmas_f32) { div_fmas(w, o, false); }
FN(v_div_fmas_f64) { div_fmas(w, o, true); }

/* Special cases of q = n / d, with q computed. */
static double fixed_up(double q, double d, double n)
{
	bool negative = !signbit(d) != !signbit(n);

	if (n != n || d != d || (d == 0 && n == 0) || (isinf(d) && isinf(n)))
		return n != n ? n : NAN;
	if (d == 0 || isinf(n))
		return negative ? -(double)INFINITY : (double)INFINITY;
	if (isinf(d) || n == 0)
		return negative ? -0.0 : 0.0;
	return negative ? -fabs(q) : fabs(q);
}

static void div_fixup(struct wave *w, const struct op *o, bool wide)
{
	struct doubles s[3], r;

	read_three(w, o, wide, s);
	for (unsigned i = 0; i < LANES; i++)
		r.x[i] = fixed_up(s[0].x[i], s[1].x[i], s[2].x[i]);
	write_one(w, o, wide, &r);
}
FN(v_div_fixup_f32) { div_fixup(w, o, false); }
FN(v_div_fixup_f64) { div_fixup(w, o, true); }

/* --- comparisons; o->detail as decode.c's compare_rule made it -------------------------------------------------------------- */
enum { CMP_F16, CMP_F32, CMP_F64, CMP_I16, CMP_U16, CMP_I32, CMP_U32, CMP_I64, CMP_U64 };

#define RELATION(type, a, b) ((type)(a) < (type)(b) ? 1u : (type)(a) == (type)(b) ? 2u : (type)(a) > (type)(b) ? 4u : 8u)
#define LOOP(e) for (unsigned i = 0; i < LANES; i++) result |= (uint64_t)(when >> __builtin_ctz(e) & 1) << i; break

static uint64_t compare_narrow(const struct wave *w, const struct op *o, uint32_t type, uint32_t when)
{
	struct lanes sa, sb;
	bool floats = type == CMP_F32;
	const uint32_t *a = floats ? operand_in(w, o, 1, 0, &sa) : operand_plain(w, o, 1, 0, &sa);
	const uint32_t *b = floats ? operand_in(w, o, 2, 0, &sb) : operand_plain(w, o, 2, 0, &sb);
	const struct operand *p = &o->o[1], *q = &o->o[2];
	uint64_t result = 0;

#define HALF(x, p) ((p->neg ? -1 : 1) * (p->abs ? fabsf(number_f16(x)) : number_f16(x)))
	switch (type) {
	case CMP_F16:
		LOOP(RELATION(float, HALF(a[i], p), HALF(b[i], q)));
	case CMP_F32:
		LOOP(RELATION(float, ((const float *)a)[i], ((const float *)b)[i]));
	case CMP_I16:
		LOOP(RELATION(int16_t, a[i], b[i]));
	case CMP_U16:
		LOOP(RELATION(uint16_t, a[i], b[i]));
	case CMP_I32:
		LOOP(RELATION(int32_t, a[i], b[i]));
	case CMP_U32:
		LOOP(RELATION(uint32_t, a[i], b[i]));
	}
	return result;
}

static uint64_t compare_wide(const struct wave *w, const struct op *o, uint32_t type, uint32_t when)
{
	struct wide a, b;
	struct doubles x, y;
	uint64_t result = 0;

	switch (type) {
	case CMP_F64:
		read_f64(w, o, 1, &x);
		read_f64(w, o, 2, &y);
		LOOP(RELATION(double, x.x[i], y.x[i]));
	case CMP_I64:
		read_bits(w, o, 1, &a);
		read_bits(w, o, 2, &b);
		LOOP(RELATION(int64_t, a.x[i], b.x[i]));
	case CMP_U64:
		read_bits(w, o, 1, &a);
		read_bits(w, o, 2, &b);
		LOOP(RELATION(uint64_t, a.x[i], b.x[i]));
	}
	return result;
}

void compare_execute(struct wave *w, const struct op *o)
{
	uint32_t when = o->detail & 15, type = o->detail >> 4 & 15;
	bool wide = type == CMP_F64 || type == CMP_I64 || type == CMP_U64;
	uint64_t result = wide ? compare_wide(w, o, type, when) : compare_narrow(w, o, type, when);

	result &= wave_exec(w);
	wave_set64(w, o->o[0].reg, result);
	if (o->detail >> 8)
		wave_set64(w, SGPR_EXEC, result);
}

/* Bits of the second source: signaling NaN, quiet NaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf. */
static bool is_class(double x, bool denormal, uint32_t classes)
{
	unsigned bit;

	if (x != x)
		return classes & 3;
	bit = isinf(x) ? 2 : x == 0 ? 5 : denormal ? 4 : 3;
	return classes >> (signbit(x) ? bit : 11 - bit) & 1;
}

static void cmp_class(struct wave *w, const struct op *o, bool wide, bool half)
{
	struct lanes sa, sb;
	struct doubles x;
	const uint32_t *b = operand_plain(w, o, 2, 0, &sb), *a = operand_in(w, o, 1, 0, &sa);
	uint64_t result = 0;

	if (wide)
		read_f64(w, o, 1, &x);
	for (unsigned i = 0; i < LANES; i++) {
		double v = wide ? x.x[i] : half ? (double)number_f16(a[i]) : (double)((const float *)a)[i];
		double least_normal = wide ? 0x1p-1022 : half ? 0x1p-14 : 0x1p-126;
		result |= (uint64_t)is_class(v, fabs(v) < least_normal, b[i]) << i;
	}
	operand_mask(w, o, 0, result);
}
FN(v_cmp_class_f32) { cmp_class(w, o, false, false); }
FN(v_cmp_class_f64) { cmp_class(w, o, true, false); }
FN(v_cmp_class_f16) { cmp_class(w, o, false, true); }

#define ROW(name, shape, types, e) { #name, do_##name, types },
#define PLAIN(name, types) { #name, do_##name, types },
const struct rule wide_rules[] = {
	LIST(ROW)
	PLAIN(v_mov_b64, "Qq") PLAIN(v_mad_u64_u32, "QMffq") PLAIN(v_mad_i64_i32, "QMffq")
	PLAIN(v_div_scale_f32, "FMfff") PLAIN(v_div_scale_f64, "DMddd") PLAIN(v_div_fmas_f32, "Ffff") PLAIN(v_div_fmas_f64, "Dddd")
	PLAIN(v_div_fixup_f32, "Ffff") PLAIN(v_div_fixup_f64, "Dddd")
	PLAIN(v_cmp_class_f32, "Mff") PLAIN(v_cmp_class_f64, "Mdf") PLAIN(v_cmp_class_f16, "Mhf")
	{ NULL, NULL, NULL },
};
