/* mfma: matrix multiply-add of a whole wave, whatever lanes are active: D = A × B + C in `blocks` independent blocks of
 * M × M × K.
 *
 * Layouts (the "CDNA2" guide's chapter on matrix instructions; AMD's matrix instruction calculator). A lane's number,
 * from its lowest bits: row of A (column of B) within M, then the block, or where there is one block, the group of k.
 * Within a lane's A and B the values are consecutive k. Registers of C and D: 4 consecutive rows; lane / M goes on with
 * the rows (one block of 32: groups of 4 rows alternate between the halves of the wave).
 *
 * fp32 products and sums: one fused multiply-add a product, k ascending. f16 and bf16: subnormal inputs and results
 * are zero, as on MI200 (AMD's ROCm documentation on precision). */
#include "tests/backends/hip/emulated/emulated.h"

#include <math.h>

enum input { IN_F32, IN_F16, IN_BF16, IN_BF16_1K, IN_I8 };
struct shape { unsigned m, k, blocks, values; enum input input; };

struct matrix { float x[32 * 16 * 16]; };  /* [block][k][row]; at most 16 blocks × 4 × 4, 2 × 4 × 32, 1 × 16 × 16 */
struct integers { int32_t x[32 * 16 * 16]; };

static float input_value(const struct wave *w, const struct operand *p, enum input input, unsigned lane, unsigned value)
{
	uint32_t bits = w->v[p->reg + (input == IN_F32 ? value : value / 2)][lane], half = value & 1 ? bits >> 16 : bits & 0xffff;
	float x;

	if (input == IN_F16)
		return half & 0x7c00 ? number_f16(half) : 0;
	if (input != IN_F32)
		bits = half & 0x7f80 ? half << 16 : 0;
	memcpy(&x, &bits, sizeof x);
	return x;
}

static void gather(const struct wave *w, const struct op *o, unsigned n, const struct shape *s, struct matrix *to)
{
	for (unsigned lane = 0; lane < LANES; lane++)
		for (unsigned v = 0; v < s->values; v++) {
			unsigned row = lane % s->m, group = lane / s->m;
			unsigned block = s->blocks > 1 ? group : 0, k = (s->blocks > 1 ? 0 : group * s->values) + v;
			to->x[(block * s->k + k) * s->m + row] = input_value(w, &o->o[n], s->input, lane, v);
		}
}

/* Where register r of a lane's result lies. */
static void place(const struct shape *s, unsigned lane, unsigned r, unsigned *ret_block, unsigned *ret_row, unsigned *ret_column)
{
	unsigned each = s->m * s->m / LANES; /* registers a block, where a block takes the whole wave */

	*ret_column = lane % s->m;
	if (s->m == 4) {
		*ret_block = lane / 4;
		*ret_row = r;
		return;
	}
	*ret_block = r / each;
	r %= each;
	*ret_row = s->m == 32 ? 8 * (r / 4) + 4 * (lane / 32) + r % 4 : 4 * (lane / 16) + r;
}

static bool unsupported(struct wave *w, const struct op *o)
{
	if (o->special)
		dispatch_stop(w, o, hipErrorNotSupported, "this device does not know cbsz, abid and blgp");
	return o->special;
}

HOT static void multiply(struct wave *w, const struct op *o, const struct shape *s)
{
	struct matrix a, b;
	struct lanes out[32];
	unsigned registers = s->m * s->m * s->blocks / LANES;

	if (unsupported(w, o))
		return;
	gather(w, o, 1, s, &a);
	gather(w, o, 2, s, &b);
	for (unsigned r = 0; r < registers; r++) {
		struct lanes space;
		const float *c = (const float *)operand_plain(w, o, 3, o->o[3].kind == OPERAND_VGPR ? r : 0, &space);
		for (unsigned lane = 0; lane < LANES; lane++) {
			unsigned block, row, column;
			float sum = c[lane];
			place(s, lane, r, &block, &row, &column);
			for (unsigned k = 0; k < s->k; k++)
				sum = __builtin_fmaf(a.x[(block * s->k + k) * s->m + row], b.x[(block * s->k + k) * s->m + column],
						     sum);
			if (s->input != IN_F32 && fabsf(sum) < 0x1p-126f)
				sum = 0;
			memcpy(&out[r].x[lane], &sum, sizeof sum);
		}
	}
	memcpy(w->v[o->o[0].reg], out, registers * sizeof *out);
}

static void multiply_i8(struct wave *w, const struct op *o, const struct shape *s)
{
	struct integers a, b;
	struct lanes out[32];
	unsigned registers = s->m * s->m * s->blocks / LANES;

	if (unsupported(w, o))
		return;
	for (unsigned lane = 0; lane < LANES; lane++)
		for (unsigned v = 0; v < s->values; v++) {
			unsigned row = lane % s->m, group = lane / s->m;
			unsigned block = s->blocks > 1 ? group : 0, k = (s->blocks > 1 ? 0 : group * s->values) + v;
			a.x[(block * s->k + k) * s->m + row] = (int8_t)(w->v[o->o[1].reg][lane] >> 8 * v);
			b.x[(block * s->k + k) * s->m + row] = (int8_t)(w->v[o->o[2].reg][lane] >> 8 * v);
		}
	for (unsigned r = 0; r < registers; r++) {
		struct lanes space;
		const uint32_t *c = operand_plain(w, o, 3, o->o[3].kind == OPERAND_VGPR ? r : 0, &space);
		for (unsigned lane = 0; lane < LANES; lane++) {
			unsigned block, row, column;
			uint32_t sum = c[lane];
			place(s, lane, r, &block, &row, &column);
			for (unsigned k = 0; k < s->k; k++)
				sum += (uint32_t)(a.x[(block * s->k + k) * s->m + row] * b.x[(block * s->k + k) * s->m + column]);
			out[r].x[lane] = sum;
		}
	}
	memcpy(w->v[o->o[0].reg], out, registers * sizeof *out);
}

#define LIST(X) \
	X(v_mfma_f32_32x32x1f32, 32, 1, 2, 1, IN_F32) X(v_mfma_f32_16x16x1f32, 16, 1, 4, 1, IN_F32) \
	X(v_mfma_f32_4x4x1f32, 4, 1, 16, 1, IN_F32) \
	X(v_mfma_f32_32x32x2f32, 32, 2, 1, 1, IN_F32) X(v_mfma_f32_16x16x4f32, 16, 4, 1, 1, IN_F32) \
	X(v_mfma_f32_32x32x4f16, 32, 4, 2, 4, IN_F16) X(v_mfma_f32_16x16x4f16, 16, 4, 4, 4, IN_F16) \
	X(v_mfma_f32_4x4x4f16, 4, 4, 16, 4, IN_F16) \
	X(v_mfma_f32_32x32x8f16, 32, 8, 1, 4, IN_F16) X(v_mfma_f32_16x16x16f16, 16, 16, 1, 4, IN_F16) \
	X(v_mfma_f32_32x32x2bf16, 32, 2, 2, 2, IN_BF16) X(v_mfma_f32_16x16x2bf16, 16, 2, 4, 2, IN_BF16) \
	X(v_mfma_f32_4x4x2bf16, 4, 2, 16, 2, IN_BF16) \
	X(v_mfma_f32_32x32x4bf16, 32, 4, 1, 2, IN_BF16) X(v_mfma_f32_16x16x8bf16, 16, 8, 1, 2, IN_BF16) \
	X(v_mfma_f32_32x32x4bf16_1k, 32, 4, 2, 4, IN_BF16_1K) X(v_mfma_f32_16x16x4bf16_1k, 16, 4, 4, 4, IN_BF16_1K) \
	X(v_mfma_f32_4x4x4bf16_1k, 4, 4, 16, 4, IN_BF16_1K) X(v_mfma_f32_32x32x8bf16_1k, 32, 8, 1, 4, IN_BF16_1K) \
	X(v_mfma_f32_16x16x16bf16_1k, 16, 16, 1, 4, IN_BF16_1K) \
	X(v_mfma_i32_32x32x4i8, 32, 4, 2, 4, IN_I8) X(v_mfma_i32_16x16x4i8, 16, 4, 4, 4, IN_I8) \
	X(v_mfma_i32_4x4x4i8, 4, 4, 16, 4, IN_I8) \
	X(v_mfma_i32_32x32x8i8, 32, 8, 1, 4, IN_I8) X(v_mfma_i32_16x16x16i8, 16, 16, 1, 4, IN_I8)

#define DEFINE(name, m, k, blocks, values, input) \
	static void do_##name(struct wave *w, const struct op *o) \
	{ \
		static const struct shape s = { m, k, blocks, values, input }; \
		if ((input) == IN_I8) \
			multiply_i8(w, o, &s); \
		else \
			multiply(w, o, &s); \
	}
LIST(DEFINE)

#define ROW(name, ...) { #name, do_##name, "Ffff" },
const struct rule mfma_rules[] = { LIST(ROW) { NULL, NULL, NULL } };
