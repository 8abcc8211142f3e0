/* operand: what instructions read and write: registers and constants with their modifiers, for one wave. */
#include "tests/backends/hip/emulated/emulated.h"

uint32_t operand_scalar(const struct wave *w, const struct operand *p)
{
	switch ((enum operand_kind)p->kind) {
	case OPERAND_SGPR:
		return w->s[p->reg];
	case OPERAND_VGPR:
		return w->v[p->reg][0];
	case OPERAND_CONST:
		return (uint32_t)p->value;
	case OPERAND_SCC:
		return w->scc;
	case OPERAND_VCCZ:
		return wave_s64(w, SGPR_VCC) == 0;
	case OPERAND_EXECZ:
		return wave_exec(w) == 0;
	case OPERAND_NONE:
		break;
	}
	return 0;
}

uint64_t operand_scalar64(const struct wave *w, const struct operand *p)
{
	return p->kind == OPERAND_SGPR ? wave_s64(w, p->reg) : p->kind == OPERAND_CONST ? p->value : operand_scalar(w, p);
}

const uint32_t *wave_mask(struct wave *w)
{
	uint64_t exec = wave_exec(w);

	if (exec != w->mask_of) {
		for (unsigned i = 0; i < LANES; i++)
			w->mask[i] = exec >> i & 1 ? UINT32_MAX : 0;
		w->mask_of = exec;
	}
	return w->mask;
}

/* --- DPP: lane i reads lane dpp_source(i); -1: none --------------------------------------------------------------------------- */
static int dpp_source(const struct op *o, int i)
{
	unsigned c = o->dpp_ctrl, n = c & 15;
	int row = i & ~15, in_row = i & 15;

	if (c < 0x100)
		return (i & ~3) + (int)(c >> 2 * (i & 3) & 3);
	switch (c >> 4) {
	case 0x10:
		return in_row + (int)n < 16 ? i + (int)n : -1;
	case 0x11:
		return in_row >= (int)n ? i - (int)n : -1;
	case 0x12:
		return row + ((in_row + 16 - (int)n) & 15);
	case 0x15:
		return row + (int)n;
	}
	switch (c) {
	case 0x130:
		return i < 63 ? i + 1 : -1;
	case 0x134:
		return (i + 1) & 63;
	case 0x138:
		return i - 1;
	case 0x13c:
		return (i + 63) & 63;
	case 0x140:
		return row + 15 - in_row;
	case 0x141:
		return (i & ~7) + 7 - (i & 7);
	case 0x142:
		return i >= 16 ? row - 1 : -1;
	case 0x143:
		return i >= 32 ? 31 : -1;
	}
	return -1;
}

/* The lanes that a DPP instruction writes, of all. */
static uint64_t dpp_lanes(const struct wave *w, const struct op *o)
{
	uint64_t exec = wave_exec(w), lanes = 0;

	for (int i = 0; i < LANES; i++) {
		int from = dpp_source(o, i);
		bool there = from >= 0 && (exec >> from & 1);
		if ((there || o->dpp_zero) && (o->row_mask >> (i / 16) & 1) && (o->bank_mask >> (i / 4 % 4) & 1))
			lanes |= UINT64_C(1) << i;
	}
	return lanes;
}

static void apply_dpp(const struct wave *w, const struct op *o, const uint32_t *from, struct lanes *to)
{
	uint64_t exec = wave_exec(w);
	struct lanes moved;

	for (int i = 0; i < LANES; i++) {
		int source = dpp_source(o, i);
		moved.x[i] = source >= 0 && (exec >> source & 1) ? from[source] : 0;
	}
	*to = moved;
}

static void apply_sdwa(const struct operand *p, const uint32_t *from, struct lanes *to)
{
	bool word = p->sel == SDWA_WORD_0 || p->sel == SDWA_WORD_1;
	unsigned shift = p->sel == SDWA_WORD_1 ? 16 : word || p->sel == SDWA_DWORD ? 0 : 8 * (p->sel - SDWA_BYTE_0);

	for (unsigned i = 0; i < LANES; i++) {
		uint32_t x = from[i] >> shift;
		if (p->sel != SDWA_DWORD)
			x = word ? (p->sext ? (uint32_t)(int16_t)x : (uint16_t)x) : p->sext ? (uint32_t)(int8_t)x : (uint8_t)x;
		to->x[i] = x;
	}
}

const uint32_t *operand_plain(const struct wave *w, const struct op *o, unsigned n, unsigned word, struct lanes *space)
{
	const struct operand *p = &o->o[n];
	const uint32_t *from = p->kind == OPERAND_VGPR ? w->v[p->reg + word] : space->x;

	if (p->kind != OPERAND_VGPR) {
		uint32_t x = p->kind == OPERAND_SGPR    ? w->s[p->reg + word]
			     : p->kind == OPERAND_CONST ? (uint32_t)(p->value >> 32 * word)
			     : word                     ? 0
							: operand_scalar(w, p);
		for (unsigned i = 0; i < LANES; i++)
			space->x[i] = x;
	}
	if (o->dpp && n == o->sources) {
		apply_dpp(w, o, from, space);
		from = space->x;
	}
	if (p->sel != SDWA_DWORD || p->sext) {
		apply_sdwa(p, from, space);
		from = space->x;
	}
	return from;
}

const uint32_t *operand_in(const struct wave *w, const struct op *o, unsigned n, unsigned word, struct lanes *space)
{
	const struct operand *p = &o->o[n];
	const uint32_t *from = operand_plain(w, o, n, word, space);
	uint32_t keep = p->abs ? 0x7fffffff : UINT32_MAX, flip = p->neg ? 0x80000000 : 0;

	if (!p->abs && !p->neg)
		return from;
	for (unsigned i = 0; i < LANES; i++)
		space->x[i] = (from[i] & keep) ^ flip;
	return space->x;
}

/* --- results ---------------------------------------------------------------------------------------------------------------- */
void operand_put(struct wave *w, const struct op *o, unsigned n, unsigned word, const uint32_t *from)
{
	uint32_t *to = w->v[o->o[n].reg + word];
	const uint32_t *mask = wave_mask(w);

	if (o->dpp) {
		uint64_t lanes = dpp_lanes(w, o);
		for (unsigned i = 0; i < LANES; i++)
			if (mask[i] && (lanes >> i & 1))
				to[i] = from[i];
		return;
	}
	if (w->mask_of == UINT64_MAX) {
		memcpy(to, from, LANES * sizeof *to);
		return;
	}
	for (unsigned i = 0; i < LANES; i++)
		to[i] = (from[i] & mask[i]) | (to[i] & ~mask[i]);
}

void operand_out(struct wave *w, const struct op *o, const uint32_t *from)
{
	const struct operand *p = &o->o[0];
	bool word = p->sel == SDWA_WORD_0 || p->sel == SDWA_WORD_1;
	unsigned shift = p->sel == SDWA_WORD_1 ? 16 : word ? 0 : 8 * (p->sel - SDWA_BYTE_0);
	uint32_t part = word ? 0xffff : 0xff;
	struct lanes r;

	if (p->sel == SDWA_DWORD) {
		operand_put(w, o, 0, 0, from);
		return;
	}
	for (unsigned i = 0; i < LANES; i++) {
		uint32_t x = (from[i] & part) << shift, sign = from[i] & ((part >> 1) + 1) ? UINT32_MAX : 0;
		if (o->sdwa_keep == 2)
			x |= w->v[p->reg][i] & ~(part << shift);
		else if (o->sdwa_keep == 1)
			x |= shift + (word ? 16 : 8) < 32 ? sign << (shift + (word ? 16 : 8)) : 0;
		r.x[i] = x;
	}
	operand_put(w, o, 0, 0, r.x);
}

void operand_out_f32(struct wave *w, const struct op *o, float *from)
{
	static const float times[] = { 1, 2, 4, 0.5f };

	if (o->omod || o->clamp)
		for (unsigned i = 0; i < LANES; i++) {
			float x = from[i] * times[o->omod];
			/* DX10_CLAMP: not a number becomes 0. */
			from[i] = o->clamp ? (x > 0 ? (x < 1 ? x : 1) : 0) : x;
		}
	operand_out(w, o, (const uint32_t *)from);
}

void operand_mask(struct wave *w, const struct op *o, unsigned n, uint64_t mask)
{
	wave_set64(w, o->o[n].reg, mask & wave_exec(w));
}
