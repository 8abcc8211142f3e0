/* lane: values that move between lanes and scalars. */
#include "tests/backends/hip/emulated/emulated.h"

#define FN(name) static void do_##name(struct wave *w, const struct op *o)

FN(v_readfirstlane_b32)
{
	uint64_t exec = wave_exec(w);
	w->s[o->o[0].reg] = w->v[o->o[1].reg][exec ? __builtin_ctzll(exec) : 0];
}

FN(v_readlane_b32) { w->s[o->o[0].reg] = w->v[o->o[1].reg][operand_scalar(w, &o->o[2]) & 63]; }
FN(v_writelane_b32) { w->v[o->o[0].reg][operand_scalar(w, &o->o[2]) & 63] = operand_scalar(w, &o->o[1]); }

/* How many bits of the mask belong to lower lanes; `from`: the mask's first lane. */
static void count_below(struct wave *w, const struct op *o, unsigned from)
{
	struct lanes sa, sb, r;
	const uint32_t *mask = operand_plain(w, o, 1, 0, &sa), *base = operand_plain(w, o, 2, 0, &sb);

	for (unsigned i = 0; i < LANES; i++) {
		uint32_t below = i >= from + 32 ? UINT32_MAX : i <= from ? 0 : (1u << (i - from)) - 1;
		r.x[i] = base[i] + (uint32_t)__builtin_popcount(mask[i] & below);
	}
	operand_put(w, o, 0, 0, r.x);
}
FN(v_mbcnt_lo_u32_b32) { count_below(w, o, 0); }
FN(v_mbcnt_hi_u32_b32) { count_below(w, o, 32); }

FN(v_swap_b32)
{
	struct lanes a, b;

	memcpy(&a, w->v[o->o[0].reg], sizeof a);
	memcpy(&b, w->v[o->o[1].reg], sizeof b);
	operand_put(w, o, 0, 0, b.x);
	operand_put(w, o, 1, 0, a.x);
}

/* ds_permute and ds_bpermute move data through the LDS's crossbar and touch no memory. */
FN(ds_bpermute_b32)
{
	const uint32_t *index = w->v[o->o[1].reg], *from = w->v[o->o[2].reg];
	uint64_t exec = wave_exec(w);
	struct lanes r;

	for (unsigned i = 0; i < LANES; i++) {
		unsigned lane = (index[i] + (uint32_t)o->offset) / 4 & 63;
		r.x[i] = exec >> lane & 1 ? from[lane] : 0;
	}
	operand_put(w, o, 0, 0, r.x);
}

FN(ds_permute_b32)
{
	const uint32_t *index = w->v[o->o[1].reg], *from = w->v[o->o[2].reg];
	uint64_t exec = wave_exec(w);
	struct lanes r = { { 0 } };

	for (unsigned i = 0; i < LANES; i++)
		if (exec >> i & 1)
			r.x[(index[i] + (uint32_t)o->offset) / 4 & 63] = from[i];
	operand_put(w, o, 0, 0, r.x);
}

/* Quads when bit 15 is set, else lanes within 32: (lane & and | or) ^ xor. */
FN(ds_swizzle_b32)
{
	const uint32_t *from = w->v[o->o[1].reg];
	uint64_t exec = wave_exec(w);
	uint32_t p = o->detail;
	struct lanes r;

	for (unsigned i = 0; i < LANES; i++) {
		unsigned lane = p & 0x8000 ? (i & ~3u) + (p >> 2 * (i & 3) & 3)
					   : (i & 32) + (((i & p & 31) | (p >> 5 & 31)) ^ (p >> 10 & 31));
		r.x[i] = exec >> lane & 1 ? from[lane] : 0;
	}
	operand_put(w, o, 0, 0, r.x);
}

#define PLAIN(name, types) { #name, do_##name, types },
const struct rule lane_rules[] = {
	PLAIN(v_readfirstlane_b32, "Ff") PLAIN(v_readlane_b32, "Fff") PLAIN(v_writelane_b32, "Fff") PLAIN(v_mbcnt_lo_u32_b32, "Fff")
	PLAIN(v_mbcnt_hi_u32_b32, "Fff") PLAIN(v_swap_b32, "FF") PLAIN(ds_bpermute_b32, "Fff") PLAIN(ds_permute_b32, "Fff")
	PLAIN(ds_swizzle_b32, "Ff")
	{ NULL, NULL, NULL },
};
