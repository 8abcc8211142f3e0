/* vector: lane by lane on 32 bits: integers and f32. */
#include "tests/backends/hip/emulated/emulated.h"

#include <math.h>

/* The IEEE mode's minimum and maximum: of a number and not-a-number the number; -0 is less than 0. */
static inline float least(float a, float b) { return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b; }
static inline float greatest(float a, float b) { return a != a ? b : b != b ? a : a > b || (a == b && !signbit(a)) ? a : b; }
/* The instructions that are not fused know no subnormal numbers. */
static inline float flushed(float x) { return __builtin_fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }
static inline float mad(float a, float b, float c) { return flushed(flushed(flushed(a) * flushed(b)) + flushed(c)); }
static inline int32_t middle_i(int32_t a, int32_t b, int32_t c)
{
	return a < b ? (b < c ? b : a < c ? c : a) : a < c ? a : b < c ? c : b;
}
static inline uint32_t middle_u(uint32_t a, uint32_t b, uint32_t c)
{
	return a < b ? (b < c ? b : a < c ? c : a) : a < c ? a : b < c ? c : b;
}
static inline float middle_f(float a, float b, float c)
{
	if (a != a || b != b || c != c)
		return least(least(a, b), c);
	return greatest(least(a, b), least(greatest(a, b), c));
}

static inline uint32_t field_u(uint32_t x, uint32_t from, uint32_t n)
{
	from &= 31, n &= 31;
	return n + from < 32 ? x << (32 - from - n) >> (32 - n) % 32 & (n ? UINT32_MAX : 0) : n ? x >> from : 0;
}

static inline uint32_t field_i(uint32_t x, uint32_t from, uint32_t n)
{
	from &= 31, n &= 31;
	if (!n)
		return 0;
	return n + from < 32 ? (uint32_t)((int32_t)(x << (32 - from - n)) >> (32 - n)) : (uint32_t)((int32_t)x >> from);
}

/* Conversions saturate; not a number becomes 0. */
static inline uint32_t to_u32(float x) { return x > 0 ? (x < 4294967296.f ? (uint32_t)x : UINT32_MAX) : 0; }
static inline uint32_t to_i32(float x)
{
	return x != x ? 0 : x >= 2147483648.f ? INT32_MAX : x <= -2147483648.f ? 0x80000000u : (uint32_t)(int32_t)x;
}

static inline float unpacked_byte(uint32_t x, unsigned n) { return (float)(x >> 8 * n & 255); }

static inline uint32_t alignbits(uint32_t a, uint32_t b, uint32_t n) { return (uint32_t)(((uint64_t)a << 32 | b) >> (n & 31)); }

static inline uint32_t perm_byte(uint64_t both, uint32_t select)
{
	if (select < 8)
		return both >> 8 * select & 255;
	if (select < 12) /* the sign of bytes 1, 3, 5, 7 */
		return both >> (16 * (select - 8) + 15) & 1 ? 255 : 0;
	return select == 12 ? 0 : 255;
}

static inline uint32_t perm(uint32_t a, uint32_t b, uint32_t select)
{
	uint64_t both = (uint64_t)a << 32 | b;
	uint32_t r = 0;
	for (unsigned i = 0; i < 4; i++)
		r |= perm_byte(both, select >> 8 * i & 255) << 8 * i;
	return r;
}

static inline uint32_t sad_u8(uint32_t a, uint32_t b, uint32_t c)
{
	for (unsigned i = 0; i < 32; i += 8) {
		uint32_t x = a >> i & 255, y = b >> i & 255;
		c += x > y ? x - y : y - x;
	}
	return c;
}

static inline uint32_t sext24(uint32_t x) { return (uint32_t)((int32_t)(x << 8) >> 8); }

static inline uint32_t reversed(uint32_t x)
{
	x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
	x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
	x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(x);
}

static inline float frexp_mant(float x) { int e; return isfinite(x) ? frexpf(x, &e) : x; }
static inline uint32_t frexp_exp(float x) { int e = 0; if (isfinite(x)) frexpf(x, &e); return (uint32_t)e; }

/* --- shapes ----------------------------------------------------------------------------------------------------------------- */
#define IN(type, x, n) struct lanes space_##x; const type *in_##x = (const type *)operand_in(w, o, o->sources + n, 0, &space_##x)
#define PLAIN_IN(type, x, n) struct lanes space_##x; const type *in_##x = (const type *)operand_plain(w, o, o->sources + n, 0, \
	&space_##x)
#define EACH(body) for (unsigned i = 0; i < LANES; i++) { body }
#define FN(name) HOT static void do_##name(struct wave *w, const struct op *o)

#define F_1(name, e) FN(name) { float r[LANES]; IN(float, a, 0); EACH(float a = in_a[i]; r[i] = e;) operand_out_f32(w, o, r); }
#define F_2(name, e) \
	FN(name) { float r[LANES]; IN(float, a, 0); IN(float, b, 1); EACH(float a = in_a[i]; float b = in_b[i]; r[i] = e;) \
		operand_out_f32(w, o, r); }
#define F_3(name, e) \
	FN(name) \
	{ \
		float r[LANES]; \
		IN(float, a, 0); IN(float, b, 1); IN(float, c, 2); \
		EACH(float a = in_a[i]; float b = in_b[i]; float c = in_c[i]; r[i] = e;) \
		operand_out_f32(w, o, r); \
	}
/* The third source is the destination. */
#define F_ACC(name, e) \
	FN(name) \
	{ \
		float r[LANES]; \
		IN(float, a, 0); IN(float, b, 1); \
		const float *in_c = (const float *)w->v[o->o[0].reg]; \
		EACH(float a = in_a[i]; float b = in_b[i]; float c = in_c[i]; r[i] = e;) \
		operand_out_f32(w, o, r); \
	}
#define U_1(name, e) FN(name) { struct lanes r; PLAIN_IN(uint32_t, a, 0); EACH(uint32_t a = in_a[i]; r.x[i] = e;) \
		operand_out(w, o, r.x); }
#define U_2(name, e) \
	FN(name) { struct lanes r; PLAIN_IN(uint32_t, a, 0); PLAIN_IN(uint32_t, b, 1); \
		EACH(uint32_t a = in_a[i]; uint32_t b = in_b[i]; r.x[i] = e;) operand_out(w, o, r.x); }
#define U_3(name, e) \
	FN(name) \
	{ \
		struct lanes r; \
		PLAIN_IN(uint32_t, a, 0); PLAIN_IN(uint32_t, b, 1); PLAIN_IN(uint32_t, c, 2); \
		EACH(uint32_t a = in_a[i]; uint32_t b = in_b[i]; uint32_t c = in_c[i]; r.x[i] = (uint32_t)(e);) \
		operand_out(w, o, r.x); \
	}
/* f32 to 32 bits, and back. */
#define UF_1(name, e) FN(name) { struct lanes r; IN(float, a, 0); EACH(float a = in_a[i]; r.x[i] = e;) operand_out(w, o, r.x); }
#define FU_1(name, e) FN(name) { float r[LANES]; PLAIN_IN(uint32_t, a, 0); EACH(uint32_t a = in_a[i]; r[i] = e;) \
		operand_out_f32(w, o, r); }
#define FU_2(name, e) \
	FN(name) { float r[LANES]; IN(float, a, 0); PLAIN_IN(uint32_t, b, 1); \
		EACH(float a = in_a[i]; uint32_t b = in_b[i]; r[i] = e;) operand_out_f32(w, o, r); }

#define LIST(X) \
	X(v_add_f32, F_2, a + b) X(v_sub_f32, F_2, a - b) X(v_subrev_f32, F_2, b - a) X(v_mul_f32, F_2, a * b) \
	X(v_mul_legacy_f32, F_2, a == 0 || b == 0 ? 0 : a * b) X(v_min_f32, F_2, least(a, b)) X(v_max_f32, F_2, greatest(a, b)) \
	X(v_fma_f32, F_3, __builtin_fmaf(a, b, c)) X(v_fmac_f32, F_ACC, __builtin_fmaf(a, b, c)) X(v_mad_f32, F_3, mad(a, b, c)) \
	X(v_mac_f32, F_ACC, mad(a, b, c)) \
	X(v_madmk_f32, F_3, mad(a, b, c)) X(v_madak_f32, F_3, mad(a, b, c)) \
	X(v_fmamk_f32, F_3, __builtin_fmaf(a, b, c)) X(v_fmaak_f32, F_3, __builtin_fmaf(a, b, c)) \
	X(v_min3_f32, F_3, least(least(a, b), c)) X(v_max3_f32, F_3, greatest(greatest(a, b), c)) \
	X(v_med3_f32, F_3, middle_f(a, b, c)) \
	X(v_rcp_f32, F_1, 1 / a) X(v_rcp_iflag_f32, F_1, 1 / a) X(v_rsq_f32, F_1, 1 / sqrtf(a)) X(v_sqrt_f32, F_1, sqrtf(a)) \
	X(v_exp_f32, F_1, exp2f(a)) X(v_log_f32, F_1, log2f(a)) X(v_exp_legacy_f32, F_1, exp2f(a)) \
	X(v_log_legacy_f32, F_1, log2f(a)) \
	X(v_sin_f32, F_1, (float)sin(6.283185307179586 * (double)a)) X(v_cos_f32, F_1, (float)cos(6.283185307179586 * (double)a)) \
	X(v_floor_f32, F_1, floorf(a)) X(v_ceil_f32, F_1, ceilf(a)) X(v_trunc_f32, F_1, truncf(a)) X(v_rndne_f32, F_1, rintf(a)) \
	X(v_fract_f32, F_1, least(a - floorf(a), 0x1.fffffep-1f)) X(v_frexp_mant_f32, F_1, frexp_mant(a)) \
	X(v_frexp_exp_i32_f32, UF_1, frexp_exp(a)) X(v_ldexp_f32, FU_2, ldexpf(a, (int32_t)b)) \
	X(v_cvt_f32_i32, FU_1, (float)(int32_t)a) X(v_cvt_f32_u32, FU_1, (float)a) X(v_cvt_u32_f32, UF_1, to_u32(a)) \
	X(v_cvt_i32_f32, UF_1, to_i32(a)) X(v_cvt_rpi_i32_f32, UF_1, to_i32(floorf(a + 0.5f))) \
	X(v_cvt_flr_i32_f32, UF_1, to_i32(floorf(a))) \
	X(v_cvt_f32_ubyte0, FU_1, unpacked_byte(a, 0)) X(v_cvt_f32_ubyte1, FU_1, unpacked_byte(a, 1)) \
	X(v_cvt_f32_ubyte2, FU_1, unpacked_byte(a, 2)) X(v_cvt_f32_ubyte3, FU_1, unpacked_byte(a, 3)) \
	X(v_mov_b32, U_1, a) X(v_accvgpr_read_b32, U_1, a) X(v_accvgpr_write_b32, U_1, a) X(v_accvgpr_mov_b32, U_1, a) \
	X(v_not_b32, U_1, ~a) X(v_bfrev_b32, U_1, reversed(a)) X(v_ffbl_b32, U_1, a ? (uint32_t)__builtin_ctz(a) : UINT32_MAX) \
	X(v_ffbh_u32, U_1, a ? (uint32_t)__builtin_clz(a) : UINT32_MAX) \
	X(v_ffbh_i32, U_1, a == 0 || a == UINT32_MAX ? UINT32_MAX : (uint32_t)__builtin_clz((int32_t)a < 0 ? ~a : a)) \
	X(v_add_u32, U_2, a + b) X(v_sub_u32, U_2, a - b) X(v_subrev_u32, U_2, b - a) X(v_add_i32, U_2, a + b) \
	X(v_sub_i32, U_2, a - b) \
	X(v_mul_lo_u32, U_2, a * b) X(v_mul_hi_u32, U_2, (uint32_t)((uint64_t)a * b >> 32)) \
	X(v_mul_hi_i32, U_2, (uint32_t)((int64_t)(int32_t)a * (int32_t)b >> 32)) \
	X(v_mul_i32_i24, U_2, sext24(a) * sext24(b)) X(v_mul_u32_u24, U_2, (a & 0xffffff) * (b & 0xffffff)) \
	X(v_mul_hi_u32_u24, U_2, (uint32_t)((uint64_t)(a & 0xffffff) * (b & 0xffffff) >> 32)) \
	X(v_mul_hi_i32_i24, U_2, (uint32_t)((int64_t)(int32_t)sext24(a) * (int32_t)sext24(b) >> 32)) \
	X(v_mad_i32_i24, U_3, sext24(a) * sext24(b) + c) X(v_mad_u32_u24, U_3, (a & 0xffffff) * (b & 0xffffff) + c) \
	X(v_and_b32, U_2, a & b) X(v_or_b32, U_2, a | b) X(v_xor_b32, U_2, a ^ b) X(v_xnor_b32, U_2, ~(a ^ b)) \
	X(v_lshlrev_b32, U_2, b << (a & 31)) X(v_lshrrev_b32, U_2, b >> (a & 31)) \
	X(v_ashrrev_i32, U_2, (uint32_t)((int32_t)b >> (a & 31))) \
	X(v_min_i32, U_2, (int32_t)a < (int32_t)b ? a : b) X(v_max_i32, U_2, (int32_t)a > (int32_t)b ? a : b) \
	X(v_min_u32, U_2, a < b ? a : b) X(v_max_u32, U_2, a > b ? a : b) \
	X(v_add3_u32, U_3, a + b + c) X(v_lshl_add_u32, U_3, (a << (b & 31)) + c) X(v_add_lshl_u32, U_3, (a + b) << (c & 31)) \
	X(v_lshl_or_b32, U_3, a << (b & 31) | c) X(v_and_or_b32, U_3, (a & b) | c) X(v_or3_b32, U_3, a | b | c) \
	X(v_xad_u32, U_3, (a ^ b) + c) \
	X(v_bfi_b32, U_3, (a & b) | (~a & c)) X(v_bfe_u32, U_3, field_u(a, b, c)) X(v_bfe_i32, U_3, field_i(a, b, c)) \
	X(v_bfm_b32, U_2, ((1u << (a & 31)) - 1) << (b & 31)) \
	X(v_alignbit_b32, U_3, alignbits(a, b, c)) X(v_alignbyte_b32, U_3, alignbits(a, b, 8 * (c & 3))) \
	X(v_perm_b32, U_3, perm(a, b, c)) \
	X(v_min3_i32, U_3, (int32_t)a < (int32_t)b ? ((int32_t)a < (int32_t)c ? a : c) : (int32_t)b < (int32_t)c ? b : c) \
	X(v_max3_i32, U_3, (int32_t)a > (int32_t)b ? ((int32_t)a > (int32_t)c ? a : c) : (int32_t)b > (int32_t)c ? b : c) \
	X(v_min3_u32, U_3, a < b ? (a < c ? a : c) : b < c ? b : c) X(v_max3_u32, U_3, a > b ? (a > c ? a : c) : b > c ? b : c) \
	X(v_med3_i32, U_3, middle_i((int32_t)a, (int32_t)b, (int32_t)c)) X(v_med3_u32, U_3, middle_u(a, b, c)) \
	X(v_sad_u8, U_3, sad_u8(a, b, c)) X(v_sad_u32, U_3, (a > b ? a - b : b - a) + c) \
	X(v_bcnt_u32_b32, U_2, (uint32_t)__builtin_popcount(a) + b)

#define DEFINE(name, shape, e) shape(name, e)
LIST(DEFINE)
#undef DEFINE

/* --- carries: result, carry out, two sources, carry in ---------------------------------------------------------------------- */
static void carry(struct wave *w, const struct op *o, bool subtract, bool reverse, bool with)
{
	struct lanes sa, sb, r;
	const uint32_t *a = operand_plain(w, o, o->sources, 0, &sa), *b = operand_plain(w, o, o->sources + 1, 0, &sb);
	uint64_t in = with ? operand_scalar64(w, &o->o[4]) : 0, out = 0;

	for (unsigned i = 0; i < LANES; i++) {
		uint64_t x = reverse ? b[i] : a[i], y = (reverse ? a[i] : b[i]) + (in >> i & 1);
		uint64_t sum = subtract ? x - y : x + y;
		r.x[i] = (uint32_t)sum;
		out |= (sum >> 32 & 1) << i;
	}
	operand_out(w, o, r.x);
	operand_mask(w, o, 1, out);
}

#define FN1(name) static void do_##name(struct wave *w, const struct op *o)
FN1(v_add_co_u32) { carry(w, o, false, false, false); }
FN1(v_addc_co_u32) { carry(w, o, false, false, true); }
FN1(v_sub_co_u32) { carry(w, o, true, false, false); }
FN1(v_subb_co_u32) { carry(w, o, true, false, true); }
FN1(v_subrev_co_u32) { carry(w, o, true, true, false); }
FN1(v_subbrev_co_u32) { carry(w, o, true, true, true); }

FN1(v_cndmask_b32)
{
	struct lanes sa, sb, r;
	const uint32_t *a = operand_in(w, o, 1, 0, &sa), *b = operand_in(w, o, 2, 0, &sb);
	uint64_t mask = operand_scalar64(w, &o->o[3]);

	for (unsigned i = 0; i < LANES; i++)
		r.x[i] = mask >> i & 1 ? b[i] : a[i];
	operand_out(w, o, r.x);
}

#define TYPES_F_1 "Ff"
#define TYPES_F_2 "Fff"
#define TYPES_F_3 "Ffff"
#define TYPES_F_ACC "Fff"
#define TYPES_U_1 "Ff"
#define TYPES_U_2 "Fff"
#define TYPES_U_3 "Ffff"
#define TYPES_UF_1 "Ff"
#define TYPES_FU_1 "Ff"
#define TYPES_FU_2 "Fff"
#define ROW(name, shape, e) { #name, do_##name, TYPES_##shape },
#define PLAIN(name, types) { #name, do_##name, types },
const struct rule vector_rules[] = {
	LIST(ROW)
	PLAIN(v_add_co_u32, "FMff") PLAIN(v_addc_co_u32, "FMffm") PLAIN(v_sub_co_u32, "FMff") PLAIN(v_subb_co_u32, "FMffm")
	PLAIN(v_subrev_co_u32, "FMff") PLAIN(v_subbrev_co_u32, "FMffm") PLAIN(v_cndmask_b32, "Fffm")
	{ NULL, NULL, NULL },
};
