/* packed: VOP3P: two values a register (or a pair of registers), dot products, mixed precision. */
#include "tests/backends/hip/emulated/emulated.h"

#include <math.h>

#define FN(name) static void do_##name(struct wave *w, const struct op *o)

/* Half `which` (0, 1) of a source as the selections say: its bits, not negated. */
static uint32_t chosen(const struct op *o, unsigned source, unsigned which, uint32_t x)
{
	uint8_t select = which ? o->op_sel_hi : o->op_sel;
	return (select >> source & 1 ? x >> 16 : x) & 0xffff;
}

static bool negated(const struct op *o, unsigned source, unsigned which) { return (which ? o->neg_hi : o->neg_lo) >> source & 1; }

typedef double half_fn(double a, double b, double c);
static double add(double a, double b, double c) { (void)c; return a + b; }
static double mul(double a, double b, double c) { (void)c; return a * b; }
static double least(double a, double b, double c)
{
	(void)c;
	return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b;
}
static double greatest(double a, double b, double c)
{
	(void)c;
	return a != a ? b : b != b ? a : a > b || (a == b && !signbit(a)) ? a : b;
}

static void packed_f16(struct wave *w, const struct op *o, unsigned sources, half_fn *f)
{
	struct lanes space[3], r;
	const uint32_t *in[3] = { 0 };

	for (unsigned n = 0; n < sources; n++)
		in[n] = operand_plain(w, o, 1 + n, 0, &space[n]);
	for (unsigned i = 0; i < LANES; i++) {
		r.x[i] = 0;
		for (unsigned h = 0; h < 2; h++) {
			double v[3] = { 0 }, x;
			for (unsigned n = 0; n < sources; n++) {
				uint32_t bits = chosen(o, n, h, in[n][i]);
				v[n] = (double)number_f16(negated(o, n, h) ? bits ^ 0x8000 : bits);
			}
			x = f(v[0], v[1], v[2]);
			x = o->clamp ? (x > 0 ? (x < 1 ? x : 1) : 0) : x;
			r.x[i] |= number_to_f16(x) << 16 * h;
		}
	}
	operand_put(w, o, 0, 0, r.x);
}
FN(v_pk_add_f16) { packed_f16(w, o, 2, add); }
FN(v_pk_mul_f16) { packed_f16(w, o, 2, mul); }
FN(v_pk_min_f16) { packed_f16(w, o, 2, least); }
FN(v_pk_max_f16) { packed_f16(w, o, 2, greatest); }
FN(v_pk_fma_f16) { packed_f16(w, o, 3, number_fma_f16); }

#define SIGNED(x) ((int32_t)(int16_t)(x))
#define LIST16(X) \
	X(v_pk_add_u16, 2, a + b) X(v_pk_sub_u16, 2, a - b) X(v_pk_add_i16, 2, a + b) X(v_pk_sub_i16, 2, a - b) \
	X(v_pk_mul_lo_u16, 2, a * b) \
	X(v_pk_lshlrev_b16, 2, b << (a & 15)) X(v_pk_lshrrev_b16, 2, b >> (a & 15)) \
	X(v_pk_ashrrev_i16, 2, (uint32_t)(SIGNED(b) >> (a & 15))) \
	X(v_pk_min_u16, 2, a < b ? a : b) X(v_pk_max_u16, 2, a > b ? a : b) X(v_pk_min_i16, 2, SIGNED(a) < SIGNED(b) ? a : b) \
	X(v_pk_max_i16, 2, SIGNED(a) > SIGNED(b) ? a : b) X(v_pk_mad_u16, 3, a * b + c) X(v_pk_mad_i16, 3, a * b + c)
#define DEFINE(name, sources, e) \
	FN(name) \
	{ \
		struct lanes space[3], r; \
		const uint32_t *in[3]; \
		for (unsigned n = 0; n < 3; n++) \
			in[n] = n < (sources) ? operand_plain(w, o, 1 + n, 0, &space[n]) : w->mask; \
		for (unsigned i = 0; i < LANES; i++) { \
			r.x[i] = 0; \
			for (unsigned h = 0; h < 2; h++) { \
				uint32_t a = chosen(o, 0, h, in[0][i]), b = chosen(o, 1, h, in[1][i]), \
				c = chosen(o, 2, h, in[2][i]); \
				(void)c; \
				r.x[i] |= ((uint32_t)(e) & 0xffff) << 16 * h; \
			} \
		} \
		operand_put(w, o, 0, 0, r.x); \
	}
LIST16(DEFINE)
#undef DEFINE

/* --- two f32 in a pair of registers ----------------------------------------------------------------------------------------- */
/* A constant has no upper half. */
static const float *pair_half(struct wave *w, const struct op *o, unsigned source, unsigned which, struct lanes *space)
{
	const struct operand *p = &o->o[1 + source];
	unsigned word = (which ? o->op_sel_hi : o->op_sel) >> source & 1;
	const uint32_t *from;

	if (p->kind == OPERAND_CONST && word && p->value)
		dispatch_stop(w, o, hipErrorNotSupported, "this device does not know the upper half of a constant");
	from = operand_plain(w, o, 1 + source, word, space);
	if (negated(o, source, which)) {
		for (unsigned i = 0; i < LANES; i++)
			space->x[i] = from[i] ^ 0x80000000;
		from = space->x;
	}
	return (const float *)from;
}

#define PAIR(name, sources, e) \
	HOT FN(name) \
	{ \
		struct lanes space[3], r[2]; \
		const float *in[3]; \
		for (unsigned h = 0; h < 2; h++) { \
			for (unsigned n = 0; n < 3; n++) \
				in[n] = n < (sources) ? pair_half(w, o, n, h, &space[n]) : in[0]; \
			for (unsigned i = 0; i < LANES; i++) { \
				float a = in[0][i], b = in[1][i], c = in[2][i], x = e; \
				(void)c; \
				memcpy(&r[h].x[i], &x, sizeof x); \
			} \
		} \
		operand_put(w, o, 0, 0, r[0].x); \
		operand_put(w, o, 0, 1, r[1].x); \
	}
PAIR(v_pk_add_f32, 2, a + b)
PAIR(v_pk_mul_f32, 2, a * b)
PAIR(v_pk_fma_f32, 3, __builtin_fmaf(a, b, c))

FN(v_pk_mov_b32)
{
	struct lanes s0, s1, r;
	const uint32_t *a = operand_plain(w, o, 1, o->op_sel & 1, &s0), *b = operand_plain(w, o, 2, o->op_sel >> 1 & 1, &s1);

	memcpy(&r, a, sizeof r);
	memcpy(&s0, b, sizeof s0);
	operand_put(w, o, 0, 0, r.x);
	operand_put(w, o, 0, 1, s0.x);
}

/* --- f16 and f32 mixed: op_sel_hi says that a source is f16, op_sel which half; neg_hi is its absolute value ---------------- */
static void read_mix(const struct wave *w, const struct op *o, unsigned n, double *to)
{
	struct lanes space;
	const uint32_t *from = operand_plain(w, o, 1 + n, 0, &space);

	for (unsigned i = 0; i < LANES; i++) {
		float x;
		if (o->op_sel_hi >> n & 1)
			x = number_f16((o->op_sel >> n & 1 ? from[i] >> 16 : from[i]) & 0xffff);
		else
			memcpy(&x, &from[i], sizeof x);
		x = o->neg_hi >> n & 1 ? fabsf(x) : x;
		to[i] = (double)(o->neg_lo >> n & 1 ? -x : x);
	}
}

static void mix(struct wave *w, const struct op *o, float *r)
{
	double a[LANES], b[LANES], c[LANES];

	read_mix(w, o, 0, a);
	read_mix(w, o, 1, b);
	read_mix(w, o, 2, c);
	for (unsigned i = 0; i < LANES; i++) {
		r[i] = __builtin_fmaf((float)a[i], (float)b[i], (float)c[i]);
		r[i] = o->clamp ? (r[i] > 0 ? (r[i] < 1 ? r[i] : 1) : 0) : r[i];
	}
}
FN(v_fma_mix_f32) { float r[LANES]; mix(w, o, r); operand_put(w, o, 0, 0, (const uint32_t *)r); }

static void mix_half(struct wave *w, const struct op *o, unsigned shift)
{
	float r[LANES];
	struct lanes out;

	mix(w, o, r);
	for (unsigned i = 0; i < LANES; i++)
		out.x[i] = (w->v[o->o[0].reg][i] & ~(0xffffu << shift)) | number_to_f16((double)r[i]) << shift;
	operand_put(w, o, 0, 0, out.x);
}
FN(v_fma_mixlo_f16) { mix_half(w, o, 0); }
FN(v_fma_mixhi_f16) { mix_half(w, o, 16); }

/* --- dot products: pairs and fours into 32 bits ----------------------------------------------------------------------------- */
static void dot_f16(struct wave *w, const struct op *o, unsigned third)
{
	struct lanes sa, sb, sc;
	const uint32_t *a = operand_plain(w, o, 1, 0, &sa), *b = operand_plain(w, o, 2, 0, &sb),
		       *c = operand_plain(w, o, third, 0, &sc);
	float r[LANES];

	for (unsigned i = 0; i < LANES; i++) {
		float x = ((const float *)c)[i];
		r[i] = number_f16(a[i] & 0xffff) * number_f16(b[i] & 0xffff) + number_f16(a[i] >> 16) * number_f16(b[i] >> 16) + x;
	}
	operand_out_f32(w, o, r);
}
FN(v_dot2_f32_f16) { dot_f16(w, o, 3); }
FN(v_dot2c_f32_f16) { dot_f16(w, o, 0); }

static void dot_int(struct wave *w, const struct op *o, unsigned bits, bool is_signed, unsigned third)
{
	struct lanes sa, sb, sc, r;
	const uint32_t *a = operand_plain(w, o, 1, 0, &sa), *b = operand_plain(w, o, 2, 0, &sb),
		       *c = operand_plain(w, o, third, 0, &sc);

	for (unsigned i = 0; i < LANES; i++) {
		uint32_t sum = c[i];
		for (unsigned at = 0; at < 32; at += bits) {
			uint32_t x = a[i] << (32 - bits - at), y = b[i] << (32 - bits - at);
			sum += is_signed ? (uint32_t)(((int32_t)x >> (32 - bits)) * ((int32_t)y >> (32 - bits)))
					 : (x >> (32 - bits)) * (y >> (32 - bits));
		}
		r.x[i] = sum;
	}
	operand_put(w, o, 0, 0, r.x);
}
FN(v_dot4_i32_i8) { dot_int(w, o, 8, true, 3); }
FN(v_dot4c_i32_i8) { dot_int(w, o, 8, true, 0); }
FN(v_dot4_u32_u8) { dot_int(w, o, 8, false, 3); }
FN(v_dot2_i32_i16) { dot_int(w, o, 16, true, 3); }
FN(v_dot2_u32_u16) { dot_int(w, o, 16, false, 3); }

#define ROW2(name, sources, e) { #name, do_##name, (sources) == 2 ? "Fff" : "Ffff" },
#define PLAIN(name, types) { #name, do_##name, types },
const struct rule packed_rules[] = {
	LIST16(ROW2)
	PLAIN(v_pk_add_f16, "Fhh") PLAIN(v_pk_mul_f16, "Fhh") PLAIN(v_pk_min_f16, "Fhh") PLAIN(v_pk_max_f16, "Fhh")
	PLAIN(v_pk_fma_f16, "Fhhh")
	PLAIN(v_pk_add_f32, "Fff") PLAIN(v_pk_mul_f32, "Fff") PLAIN(v_pk_fma_f32, "Ffff") PLAIN(v_pk_mov_b32, "Fff")
	PLAIN(v_fma_mix_f32, "Ffff") PLAIN(v_fma_mixlo_f16, "Ffff") PLAIN(v_fma_mixhi_f16, "Ffff")
	PLAIN(v_dot2_f32_f16, "Ffff") PLAIN(v_dot2c_f32_f16, "Fff") PLAIN(v_dot4_i32_i8, "Ffff") PLAIN(v_dot4c_i32_i8, "Fff")
	PLAIN(v_dot4_u32_u8, "Ffff") PLAIN(v_dot2_i32_i16, "Ffff") PLAIN(v_dot2_u32_u16, "Ffff")
	{ NULL, NULL, NULL },
};
