/* atomic: read-modify-write on global memory, generic pointers and LDS, one lane after another. */
#include "tests/backends/hip/emulated/emulated.h"

#include <math.h>

/* What is written for an old value and the instruction's data (two for a compare-and-swap: new, expected). */
typedef uint64_t update_fn(uint64_t old, uint64_t data, uint64_t expected);

static float f32_of(uint64_t x) { uint32_t bits = (uint32_t)x; float f; memcpy(&f, &bits, sizeof f); return f; }
static uint64_t f32_bits(float f) { uint32_t bits; memcpy(&bits, &f, sizeof bits); return bits; }
static double f64_of(uint64_t x) { double d; memcpy(&d, &x, sizeof d); return d; }
static uint64_t f64_bits(double d) { uint64_t bits; memcpy(&bits, &d, sizeof bits); return bits; }

#define UPDATES(X) \
	X(swap, b) X(cmpswap, a == c ? b : a) X(add, a + b) X(sub, a - b) X(rsub, b - a) X(and, a & b) X(or, a | b) X(xor, a ^ b) \
	X(smin, (int32_t)a < (int32_t)b ? a : b) X(umin, (uint32_t)a < (uint32_t)b ? a : b) \
	X(smax, (int32_t)a > (int32_t)b ? a : b) \
	X(umax, (uint32_t)a > (uint32_t)b ? a : b) X(inc, (uint32_t)a >= (uint32_t)b ? 0 : a + 1) \
	X(dec, (uint32_t)a == 0 || (uint32_t)a > (uint32_t)b ? b : a - 1) \
	X(smin64, (int64_t)a < (int64_t)b ? a : b) X(umin64, a < b ? a : b) X(smax64, (int64_t)a > (int64_t)b ? a : b) \
	X(umax64, a > b ? a : b) \
	X(inc64, a >= b ? 0 : a + 1) X(dec64, a == 0 || a > b ? b : a - 1) \
	X(add_f32, f32_bits(f32_of(a) + f32_of(b))) X(add_f64, f64_bits(f64_of(a) + f64_of(b))) \
	X(min_f64, f64_bits(fmin(f64_of(a), f64_of(b)))) X(max_f64, f64_bits(fmax(f64_of(a), f64_of(b)))) \
	X(min_f32, f32_bits(fminf(f32_of(a), f32_of(b)))) X(max_f32, f32_bits(fmaxf(f32_of(a), f32_of(b)))) \
	X(pk_add_f16, (uint64_t)number_to_f16((double)number_f16(a & 0xffff) + (double)number_f16(b & 0xffff)) | \
	              (uint64_t)number_to_f16((double)number_f16(a >> 16 & 0xffff) + (double)number_f16(b >> 16 & 0xffff)) << 16)
#define DEFINE(name, e) static uint64_t update_##name(uint64_t a, uint64_t b, uint64_t c) { (void)a; (void)b; (void)c; return e; }
UPDATES(DEFINE)
#undef DEFINE

static uint64_t data_of(const struct wave *w, unsigned reg, unsigned lane, unsigned bytes)
{
	return w->v[reg][lane] | (bytes == 8 ? (uint64_t)w->v[reg + 1][lane] << 32 : 0);
}

static void one(struct wave *w, uint8_t *at, unsigned lane, unsigned bytes, update_fn *update, unsigned data, unsigned expected,
		int result)
{
	uint64_t old = 0, fresh;

	memcpy(&old, at, bytes);
	fresh = update(old, data_of(w, data, lane, bytes), data_of(w, expected, lane, bytes));
	memcpy(at, &fresh, bytes);
	if (result >= 0) {
		w->v[result][lane] = (uint32_t)old;
		if (bytes == 8)
			w->v[result + 1][lane] = (uint32_t)(old >> 32);
	}
}

/* [result,] address, data, scalar address; data of a compare-and-swap: new value, then the expected one. */
static void global(struct wave *w, const struct op *o, unsigned bytes, update_fn *update)
{
	unsigned first = o->glc ? 1 : 0;
	const struct operand *v = &o->o[first], *s = &o->o[first + 2];
	unsigned data = o->o[first + 1].reg;
	uint64_t exec = wave_exec(w);

	for (unsigned lane = 0; lane < LANES; lane++) {
		uint64_t at;
		uint8_t *p;
		if (!(exec >> lane & 1))
			continue;
		if (first + 2 < o->count && s->kind == OPERAND_SGPR)
			at = wave_s64(w, s->reg) + w->v[v->reg][lane];
		else
			at = w->v[v->reg][lane] | (uint64_t)w->v[v->reg + 1][lane] << 32;
		p = memory_at(w, o, lane, at + (uint64_t)(int64_t)o->offset, bytes);
		if (!p)
			return;
		one(w, p, lane, bytes, update, data, data + bytes / 4, o->glc ? o->o[0].reg : -1);
	}
}

/* [result,] address, data [, data]; a compare-and-swap has the expected value first. */
static void lds(struct wave *w, const struct op *o, unsigned bytes, update_fn *update, bool returns)
{
	unsigned first = returns ? 1 : 0, data = o->o[first + 1].reg, expected = data;
	uint64_t exec = wave_exec(w);

	if (update == update_cmpswap)
		data = o->o[first + 2].reg;
	for (unsigned lane = 0; lane < LANES; lane++) {
		uint8_t *p;
		if (!(exec >> lane & 1))
			continue;
		p = memory_lds(w, o, lane, (uint64_t)w->v[o->o[first].reg][lane] + (uint32_t)o->offset, bytes);
		if (!p)
			return;
		one(w, p, lane, bytes, update, data, expected, returns ? o->o[0].reg : -1);
	}
}

#define GLOBAL(X) \
	X(swap, 4, swap) X(cmpswap, 4, cmpswap) X(add, 4, add) X(sub, 4, sub) X(and, 4, and) X(or, 4, or) X(xor, 4, xor) \
	X(smin, 4, smin) \
	X(umin, 4, umin) X(smax, 4, smax) X(umax, 4, umax) X(inc, 4, inc) X(dec, 4, dec) \
	X(swap_x2, 8, swap) X(cmpswap_x2, 8, cmpswap) X(add_x2, 8, add) X(sub_x2, 8, sub) X(and_x2, 8, and) X(or_x2, 8, or) \
	X(xor_x2, 8, xor) \
	X(smin_x2, 8, smin64) X(umin_x2, 8, umin64) X(smax_x2, 8, smax64) X(umax_x2, 8, umax64) X(inc_x2, 8, inc64) \
	X(dec_x2, 8, dec64) \
	X(add_f32, 4, add_f32) X(add_f64, 8, add_f64) X(min_f64, 8, min_f64) X(max_f64, 8, max_f64) X(pk_add_f16, 4, pk_add_f16)
#define LDS(X) \
	X(add, u32, 4, add) X(sub, u32, 4, sub) X(rsub, u32, 4, rsub) X(inc, u32, 4, inc) X(dec, u32, 4, dec) X(min, i32, 4, smin) \
	X(max, i32, 4, smax) \
	X(min, u32, 4, umin) X(max, u32, 4, umax) X(and, b32, 4, and) X(or, b32, 4, or) X(xor, b32, 4, xor) \
	X(cmpst, b32, 4, cmpswap) \
	X(min, f32, 4, min_f32) X(max, f32, 4, max_f32) X(add, f32, 4, add_f32) X(add, u64, 8, add) X(sub, u64, 8, sub) \
	X(min, i64, 8, smin64) \
	X(max, i64, 8, smax64) X(min, u64, 8, umin64) X(max, u64, 8, umax64) X(and, b64, 8, and) X(or, b64, 8, or) \
	X(xor, b64, 8, xor) \
	X(cmpst, b64, 8, cmpswap) X(add, f64, 8, add_f64) X(min, f64, 8, min_f64) X(max, f64, 8, max_f64)

#define DEFINE_LDS(name, type, bytes, update) \
	static void do_##name##_##type(struct wave *w, const struct op *o) { lds(w, o, bytes, update_##update, false); } \
	static void do_##name##_rtn_##type(struct wave *w, const struct op *o) { lds(w, o, bytes, update_##update, true); }
#define DEFINE_GLOBAL(name, bytes, update) \
	static void do_global_##name(struct wave *w, const struct op *o) { global(w, o, bytes, update_##update); }
GLOBAL(DEFINE_GLOBAL)
LDS(DEFINE_LDS)

/* The exchange has other names there. */
static void do_wrxchg_b32(struct wave *w, const struct op *o) { lds(w, o, 4, update_swap, true); }
static void do_wrxchg_b64(struct wave *w, const struct op *o) { lds(w, o, 8, update_swap, true); }

#define ROW_GLOBAL(name, ...) \
	{ "global_atomic_" #name, do_global_##name, "ffff" }, { "flat_atomic_" #name, do_global_##name, "ffff" },
#define ROW_LDS(name, type, ...) \
	{ "ds_" #name "_" #type, do_##name##_##type, "ffff" }, \
	{ "ds_" #name "_rtn_" #type, do_##name##_rtn_##type, "ffff" },
const struct rule atomic_rules[] = {
	GLOBAL(ROW_GLOBAL) LDS(ROW_LDS) { "ds_wrxchg_rtn_b32", do_wrxchg_b32, "fff" },
	{ "ds_wrxchg_rtn_b64", do_wrxchg_b64, "fff" },
	{ NULL, NULL, NULL },
};
