/* half: lane by lane on 16 bits: f16 and 16-bit integers; conversions to and from f16. Results clear the upper half,
 * unless op_sel says that they go there. */
#include "tests/backends/hip/emulated/emulated.h"

#include <math.h>

struct floats { float x[LANES]; };

static uint32_t half_bits(const struct op *o, unsigned source, uint32_t x)
{
	return (o->op_sel >> source & 1 ? x >> 16 : x) & 0xffff;
}

static void read_f16(const struct wave *w, const struct op *o, unsigned source, struct floats *to)
{
	const struct operand *p = &o->o[o->sources + source];
	struct lanes space;
	const uint32_t *from = operand_plain(w, o, o->sources + source, 0, &space);

	for (unsigned i = 0; i < LANES; i++) {
		uint32_t bits = half_bits(o, source, from[i]);
		bits = p->abs ? bits & 0x7fff : bits;
		to->x[i] = number_f16(p->neg ? bits ^ 0x8000 : bits);
	}
}

static void read_16(const struct wave *w, const struct op *o, unsigned source, struct lanes *to)
{
	struct lanes space;
	const uint32_t *from = operand_plain(w, o, o->sources + source, 0, &space);

	for (unsigned i = 0; i < LANES; i++)
		to->x[i] = half_bits(o, source, from[i]);
}

static void write_16(struct wave *w, const struct op *o, struct lanes *r)
{
	const uint32_t *old = w->v[o->o[0].reg];

	for (unsigned i = 0; i < LANES; i++)
		r->x[i] = o->op_sel & 8 ? (r->x[i] & 0xffff) << 16 | (old[i] & 0xffff) : r->x[i] & 0xffff;
	operand_out(w, o, r->x);
}

static void write_f16(struct wave *w, const struct op *o, const double *from)
{
	static const double times[] = { 1, 2, 4, 0.5 };
	struct lanes r;

	for (unsigned i = 0; i < LANES; i++) {
		double x = from[i];
		if (o->omod || o->clamp) {
			x *= times[o->omod];
			x = o->clamp ? (x > 0 ? (x < 1 ? x : 1) : 0) : x;
		}
		r.x[i] = number_to_f16(x);
	}
	write_16(w, o, &r);
}

static inline double least(double a, double b) { return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b; }
static inline double greatest(double a, double b) { return a != a ? b : b != b ? a : a > b || (a == b && !signbit(a)) ? a : b; }
static inline uint32_t to_u16(double x) { return x > 0 ? (x < 65535 ? (uint32_t)x : 65535) : 0; }
static inline uint32_t to_i16(double x) { return x != x ? 0 : (uint32_t)(int32_t)(x > 32767 ? 32767 : x < -32768 ? -32768 : x); }

#define FN(name) static void do_##name(struct wave *w, const struct op *o)
#define EACH(body) for (unsigned i = 0; i < LANES; i++) { body }
#define H_1(name, e) FN(name) { struct floats x; double r[LANES]; read_f16(w, o, 0, &x); \
		EACH(double a = (double)x.x[i]; r[i] = e;) write_f16(w, o, r); }
#define H_2(name, e) \
	FN(name) { struct floats x, y; double r[LANES]; read_f16(w, o, 0, &x); read_f16(w, o, 1, &y); \
		EACH(double a = (double)x.x[i]; double b = (double)y.x[i]; r[i] = e;) write_f16(w, o, r); }
#define H_3(name, e) \
	FN(name) \
	{ \
		struct floats x, y, z; \
		double r[LANES]; \
		read_f16(w, o, 0, &x); read_f16(w, o, 1, &y); read_f16(w, o, 2, &z); \
		EACH(double a = (double)x.x[i]; double b = (double)y.x[i]; double c = (double)z.x[i]; r[i] = e;) \
		write_f16(w, o, r); \
	}
#define H_ACC(name, e) \
	FN(name) \
	{ \
		struct floats x, y; \
		double r[LANES]; \
		read_f16(w, o, 0, &x); read_f16(w, o, 1, &y); \
		EACH(double a = (double)x.x[i]; double b = (double)y.x[i]; double c = (double)number_f16(w->v[o->o[0].reg][i]); \
		r[i] = e;) \
		write_f16(w, o, r); \
	}
#define S_2(name, e) \
	FN(name) { struct lanes x, y, r; read_16(w, o, 0, &x); read_16(w, o, 1, &y); \
		EACH(uint32_t a = x.x[i]; uint32_t b = y.x[i]; r.x[i] = (uint32_t)(e);) write_16(w, o, &r); }
#define S_3(name, e) \
	FN(name) \
	{ \
		struct lanes x, y, z, r; \
		read_16(w, o, 0, &x); read_16(w, o, 1, &y); read_16(w, o, 2, &z); \
		EACH(uint32_t a = x.x[i]; uint32_t b = y.x[i]; uint32_t c = z.x[i]; r.x[i] = (uint32_t)(e);) \
		write_16(w, o, &r); \
	}
/* f16 to 16-bit integers, and back. */
#define SH_1(name, e) FN(name) { struct floats x; struct lanes r; read_f16(w, o, 0, &x); \
		EACH(double a = (double)x.x[i]; r.x[i] = (uint32_t)(e);) write_16(w, o, &r); }
#define HS_1(name, e) FN(name) { struct lanes x; double r[LANES]; read_16(w, o, 0, &x); EACH(uint32_t a = x.x[i]; r[i] = e;) \
		write_f16(w, o, r); }

#define SIGNED(x) ((int32_t)(int16_t)(x))
#define LIST(X) \
	X(v_add_f16, H_2, "Hhh", a + b) X(v_sub_f16, H_2, "Hhh", a - b) X(v_subrev_f16, H_2, "Hhh", b - a) \
	X(v_mul_f16, H_2, "Hhh", a * b) \
	X(v_min_f16, H_2, "Hhh", least(a, b)) X(v_max_f16, H_2, "Hhh", greatest(a, b)) \
	X(v_fma_f16, H_3, "Hhhh", number_fma_f16(a, b, c)) X(v_fmac_f16, H_ACC, "Hhh", number_fma_f16(a, b, c)) \
	X(v_mad_f16, H_3, "Hhhh", (double)number_f16(number_to_f16(a * b)) + c) \
	X(v_min3_f16, H_3, "Hhhh", least(least(a, b), c)) X(v_max3_f16, H_3, "Hhhh", greatest(greatest(a, b), c)) \
	X(v_med3_f16, H_3, "Hhhh", greatest(least(a, b), least(greatest(a, b), c))) \
	X(v_rcp_f16, H_1, "Hh", 1 / a) X(v_rsq_f16, H_1, "Hh", 1 / sqrt(a)) X(v_sqrt_f16, H_1, "Hh", sqrt(a)) \
	X(v_exp_f16, H_1, "Hh", exp2(a)) \
	X(v_log_f16, H_1, "Hh", log2(a)) X(v_floor_f16, H_1, "Hh", floor(a)) X(v_ceil_f16, H_1, "Hh", ceil(a)) \
	X(v_trunc_f16, H_1, "Hh", trunc(a)) X(v_rndne_f16, H_1, "Hh", rint(a)) X(v_fract_f16, H_1, "Hh", a - floor(a)) \
	X(v_cvt_u16_f16, SH_1, "Hh", to_u16(a)) X(v_cvt_i16_f16, SH_1, "Hh", to_i16(a)) \
	X(v_cvt_f16_u16, HS_1, "Hf", (double)a) X(v_cvt_f16_i16, HS_1, "Hf", (double)SIGNED(a)) \
	X(v_add_u16, S_2, "Hff", a + b) X(v_sub_u16, S_2, "Hff", a - b) X(v_subrev_u16, S_2, "Hff", b - a) \
	X(v_mul_lo_u16, S_2, "Hff", a * b) \
	X(v_add_i16, S_2, "Hff", a + b) X(v_sub_i16, S_2, "Hff", a - b) \
	X(v_lshlrev_b16, S_2, "Hff", b << (a & 15)) X(v_lshrrev_b16, S_2, "Hff", b >> (a & 15)) \
	X(v_ashrrev_i16, S_2, "Hff", SIGNED(b) >> (a & 15)) \
	X(v_min_u16, S_2, "Hff", a < b ? a : b) X(v_max_u16, S_2, "Hff", a > b ? a : b) \
	X(v_min_i16, S_2, "Hff", SIGNED(a) < SIGNED(b) ? a : b) X(v_max_i16, S_2, "Hff", SIGNED(a) > SIGNED(b) ? a : b) \
	X(v_mad_u16, S_3, "Hfff", a * b + c) X(v_mad_i16, S_3, "Hfff", a * b + c) X(v_mad_legacy_u16, S_3, "Hfff", a * b + c)

#define DEFINE(name, shape, types, e) shape(name, e)
LIST(DEFINE)
#undef DEFINE

/* --- conversions between f32 and f16; two halves into one register ---------------------------------------------------------- */
FN(v_cvt_f16_f32)
{
	struct lanes space;
	const float *a = (const float *)operand_in(w, o, 1, 0, &space);
	double r[LANES];

	for (unsigned i = 0; i < LANES; i++)
		r[i] = (double)a[i];
	write_f16(w, o, r);
}

FN(v_cvt_f32_f16)
{
	struct floats r;
	read_f16(w, o, 0, &r);
	operand_out_f32(w, o, r.x);
}

static uint32_t half_with_modifiers(const struct operand *p, uint32_t bits)
{
	return (p->abs ? bits & 0x7fff : bits) ^ (p->neg ? 0x8000 : 0);
}

FN(v_pack_b32_f16)
{
	struct lanes a, b;

	read_16(w, o, 0, &a);
	read_16(w, o, 1, &b);
	for (unsigned i = 0; i < LANES; i++)
		a.x[i] = half_with_modifiers(&o->o[1], a.x[i]) | half_with_modifiers(&o->o[2], b.x[i]) << 16;
	operand_put(w, o, 0, 0, a.x);
}

/* Toward zero. */
static uint32_t truncated_f16(float x)
{
	uint32_t r = number_to_f16((double)x);
	if (fabsf(number_f16(r)) > fabsf(x))
		r--;
	return r;
}

FN(v_cvt_pkrtz_f16_f32)
{
	struct lanes sa, sb, r;
	const float *a = (const float *)operand_in(w, o, 1, 0, &sa), *b = (const float *)operand_in(w, o, 2, 0, &sb);

	for (unsigned i = 0; i < LANES; i++)
		r.x[i] = truncated_f16(a[i]) | truncated_f16(b[i]) << 16;
	operand_put(w, o, 0, 0, r.x);
}

FN(v_ldexp_f16)
{
	struct floats x;
	struct lanes n;
	double r[LANES];

	read_f16(w, o, 0, &x);
	read_16(w, o, 1, &n);
	for (unsigned i = 0; i < LANES; i++)
		r[i] = ldexp((double)x.x[i], SIGNED(n.x[i]));
	write_f16(w, o, r);
}

FN(v_div_fixup_f16)
{
	struct floats q, d, n;
	double r[LANES];

	read_f16(w, o, 0, &q);
	read_f16(w, o, 1, &d);
	read_f16(w, o, 2, &n);
	for (unsigned i = 0; i < LANES; i++) {
		float a = d.x[i], b = n.x[i];
		bool special = a == 0 || b == 0 || !isfinite(a) || !isfinite(b);
		r[i] = (double)(special ? b / a : copysignf(q.x[i], (float)((signbit(a) ? -1 : 1) * (signbit(b) ? -1 : 1))));
	}
	write_f16(w, o, r);
}

#define ROW(name, shape, types, e) { #name, do_##name, types },
#define PLAIN(name, types) { #name, do_##name, types },
const struct rule half_rules[] = {
	LIST(ROW)
	PLAIN(v_cvt_f16_f32, "Hf") PLAIN(v_cvt_f32_f16, "Fh") PLAIN(v_pack_b32_f16, "Fhh") PLAIN(v_cvt_pkrtz_f16_f32, "Fff")
	PLAIN(v_ldexp_f16, "Hhf") PLAIN(v_div_fixup_f16, "Hhhh")
	{ NULL, NULL, NULL },
};
