/* scalar: instructions on scalar registers, scalar loads, branches. */
#include "tests/backends/hip/emulated/emulated.h"

#include <stdlib.h>

#define FN(name) static void do_##name(struct wave *w, const struct op *o)
#define A operand_scalar(w, &o->o[1])
#define B operand_scalar(w, &o->o[2])
#define A64 operand_scalar64(w, &o->o[1])
#define B64 operand_scalar64(w, &o->o[2])

static void set(struct wave *w, const struct op *o, uint32_t value) { w->s[o->o[0].reg] = value; }
static void set64(struct wave *w, const struct op *o, uint64_t value) { wave_set64(w, o->o[0].reg, value); }

/* --- two sources; scc: what the last expression says, with the result in r ---------------------------------------------------- */
#define BINARY(X) \
	X(s_add_u32, a + b, r < a) \
	X(s_addc_u32, a + b + scc, (uint64_t)a + b + scc > UINT32_MAX) \
	X(s_sub_u32, a - b, b > a) \
	X(s_subb_u32, a - b - scc, (uint64_t)b + scc > a) \
	X(s_add_i32, a + b, ((a ^ r) & (b ^ r)) >> 31) \
	X(s_sub_i32, a - b, ((a ^ b) & (a ^ r)) >> 31) \
	X(s_min_i32, (int32_t)a < (int32_t)b ? a : b, (int32_t)a < (int32_t)b) \
	X(s_min_u32, a < b ? a : b, a < b) \
	X(s_max_i32, (int32_t)a > (int32_t)b ? a : b, (int32_t)a > (int32_t)b) \
	X(s_max_u32, a > b ? a : b, a > b) \
	X(s_and_b32, a & b, r != 0) X(s_or_b32, a | b, r != 0) X(s_xor_b32, a ^ b, r != 0) \
	X(s_andn2_b32, a & ~b, r != 0) X(s_orn2_b32, a | ~b, r != 0) X(s_nand_b32, ~(a & b), r != 0) \
	X(s_nor_b32, ~(a | b), r != 0) \
	X(s_xnor_b32, ~(a ^ b), r != 0) \
	X(s_lshl_b32, a << (b & 31), r != 0) X(s_lshr_b32, a >> (b & 31), r != 0) \
	X(s_ashr_i32, (uint32_t)((int32_t)a >> (b & 31)), r != 0) \
	X(s_bfm_b32, ((1u << (a & 31)) - 1) << (b & 31), scc) \
	X(s_bfe_u32, bits_u(a, b & 31, b >> 16 & 127), r != 0) X(s_bfe_i32, bits_i(a, b & 31, b >> 16 & 127), r != 0) \
	X(s_mul_i32, a * b, scc) X(s_mul_hi_u32, (uint32_t)((uint64_t)a * b >> 32), scc) \
	X(s_mul_hi_i32, (uint32_t)((int64_t)(int32_t)a * (int32_t)b >> 32), scc) \
	X(s_absdiff_i32, (uint32_t)llabs((long long)(int32_t)a - (int32_t)b), r != 0) \
	X(s_lshl1_add_u32, (a << 1) + b, ((uint64_t)a << 1) + b > UINT32_MAX) \
	X(s_lshl2_add_u32, (a << 2) + b, ((uint64_t)a << 2) + b > UINT32_MAX) \
	X(s_lshl3_add_u32, (a << 3) + b, ((uint64_t)a << 3) + b > UINT32_MAX) \
	X(s_lshl4_add_u32, (a << 4) + b, ((uint64_t)a << 4) + b > UINT32_MAX) \
	X(s_pack_ll_b32_b16, (a & 0xffff) | b << 16, scc) X(s_pack_lh_b32_b16, (a & 0xffff) | (b & 0xffff0000), scc) \
	X(s_pack_hh_b32_b16, a >> 16 | (b & 0xffff0000), scc) \
	X(s_cselect_b32, scc ? a : b, scc)

static uint32_t bits_u(uint32_t x, unsigned from, unsigned n)
{
	return n == 0 ? 0 : n + from >= 32 ? x >> from : x >> from & ((1u << n) - 1);
}

static uint32_t bits_i(uint32_t x, unsigned from, unsigned n)
{
	if (n == 0)
		return 0;
	if (n + from >= 32)
		return (uint32_t)((int32_t)x >> from);
	return (uint32_t)((int32_t)(x << (32 - from - n)) >> (32 - n));
}

#define DEFINE(name, result, carry) \
	FN(name) \
	{ \
		uint32_t a = A, b = B, scc = w->scc, r = result; \
		(void)scc; (void)a; (void)b; \
		w->scc = (carry) != 0; \
		set(w, o, r); \
	}
BINARY(DEFINE)
#undef DEFINE

/* --- one source ------------------------------------------------------------------------------------------------------------- */
static uint32_t reverse(uint32_t x)
{
	uint32_t r = 0;
	for (unsigned i = 0; i < 32; i++)
		r |= (x >> i & 1) << (31 - i);
	return r;
}

#define FLBIT_I32(a) ((int32_t)(a) < 0 ? ~(a) : (a))
#define UNARY(X) \
	X(s_mov_b32, a, scc) X(s_not_b32, ~a, r != 0) X(s_brev_b32, reverse(a), scc) \
	X(s_bcnt0_i32_b32, 32u - (uint32_t)__builtin_popcount(a), r != 0) \
	X(s_bcnt1_i32_b32, (uint32_t)__builtin_popcount(a), r != 0) \
	X(s_ff0_i32_b32, ~a ? (uint32_t)__builtin_ctz(~a) : UINT32_MAX, scc) \
	X(s_ff1_i32_b32, a ? (uint32_t)__builtin_ctz(a) : UINT32_MAX, scc) \
	X(s_flbit_i32_b32, a ? (uint32_t)__builtin_clz(a) : UINT32_MAX, scc) \
	X(s_flbit_i32, FLBIT_I32(a) ? (uint32_t)__builtin_clz(FLBIT_I32(a)) : UINT32_MAX, scc) \
	X(s_sext_i32_i8, (uint32_t)(int8_t)a, scc) X(s_sext_i32_i16, (uint32_t)(int16_t)a, scc) \
	X(s_abs_i32, (int32_t)a < 0 ? 0 - a : a, r != 0) \
	X(s_bitset0_b32, w->s[o->o[0].reg] & ~(1u << (a & 31)), scc) X(s_bitset1_b32, w->s[o->o[0].reg] | 1u << (a & 31), scc) \
	X(s_movk_i32, (uint32_t)(int16_t)a, scc) X(s_mulk_i32, w->s[o->o[0].reg] * (uint32_t)(int16_t)a, scc) \
	X(s_cmov_b32, scc ? a : w->s[o->o[0].reg], scc) X(s_cmovk_i32, scc ? (uint32_t)(int16_t)a : w->s[o->o[0].reg], scc)

#define DEFINE(name, result, carry) \
	FN(name) \
	{ \
		uint32_t a = A, scc = w->scc, r = result; \
		(void)scc; \
		w->scc = (carry) != 0; \
		set(w, o, r); \
	}
UNARY(DEFINE)
#undef DEFINE

FN(s_addk_i32)
{
	uint32_t a = w->s[o->o[0].reg], b = (uint32_t)(int16_t)A, r = a + b;
	w->scc = ((a ^ r) & (b ^ r)) >> 31;
	set(w, o, r);
}

/* --- 64 bits ---------------------------------------------------------------------------------------------------------------- */
#define BINARY64(X) \
	X(s_and_b64, a & b) X(s_or_b64, a | b) X(s_xor_b64, a ^ b) X(s_andn2_b64, a & ~b) X(s_orn2_b64, a | ~b) \
	X(s_nand_b64, ~(a & b)) \
	X(s_nor_b64, ~(a | b)) X(s_xnor_b64, ~(a ^ b)) \
	X(s_lshl_b64, a << (b & 63)) X(s_lshr_b64, a >> (b & 63)) X(s_ashr_i64, (uint64_t)((int64_t)a >> (b & 63))) \
	X(s_bfe_u64, (b >> 16 & 127) == 0              ? 0 \
	             : (b >> 16 & 127) + (b & 63) >= 64 ? a >> (b & 63) \
	                                                : a >> (b & 63) & ((UINT64_C(1) << (b >> 16 & 127)) - 1))
#define DEFINE(name, result) \
	FN(name) \
	{ \
		uint64_t a = A64, b = B64, r = result; \
		w->scc = r != 0; \
		set64(w, o, r); \
	}
BINARY64(DEFINE)
#undef DEFINE

FN(s_bfe_i64)
{
	uint64_t a = A64;
	uint32_t b = B, from = b & 63, n = b >> 16 & 127, room;
	room = n + from >= 64 ? 0 : 64 - from - n;
	a = n ? (uint64_t)((int64_t)(a << room) >> (room + from)) : 0;
	w->scc = a != 0;
	set64(w, o, a);
}

FN(s_bfm_b64) { set64(w, o, ((UINT64_C(1) << (A & 63)) - 1) << (B & 63)); }
FN(s_cselect_b64) { set64(w, o, w->scc ? A64 : B64); }
FN(s_mov_b64) { set64(w, o, A64); }
FN(s_cmov_b64) { if (w->scc) set64(w, o, A64); }
FN(s_not_b64) { uint64_t r = ~A64; w->scc = r != 0; set64(w, o, r); }
FN(s_bcnt1_i32_b64) { uint32_t r = (uint32_t)__builtin_popcountll(A64); w->scc = r != 0; set(w, o, r); }
FN(s_bcnt0_i32_b64) { uint32_t r = 64u - (uint32_t)__builtin_popcountll(A64); w->scc = r != 0; set(w, o, r); }
FN(s_ff1_i32_b64) { uint64_t a = A64; set(w, o, a ? (uint32_t)__builtin_ctzll(a) : UINT32_MAX); }
FN(s_ff0_i32_b64) { uint64_t a = ~A64; set(w, o, a ? (uint32_t)__builtin_ctzll(a) : UINT32_MAX); }
FN(s_flbit_i32_b64) { uint64_t a = A64; set(w, o, a ? (uint32_t)__builtin_clzll(a) : UINT32_MAX); }
FN(s_brev_b64) { uint64_t a = A64; set64(w, o, (uint64_t)reverse((uint32_t)a) << 32 | reverse((uint32_t)(a >> 32))); }

/* Each quad of lanes that has one active: all four. */
FN(s_wqm_b64)
{
	uint64_t a = A64, any = (a | a >> 1 | a >> 2 | a >> 3) & UINT64_C(0x1111111111111111), r = any * 15;
	w->scc = r != 0;
	set64(w, o, r);
}

#define SAVEEXEC(X) \
	X(s_and_saveexec_b64, a & exec) X(s_or_saveexec_b64, a | exec) X(s_xor_saveexec_b64, a ^ exec) \
	X(s_andn2_saveexec_b64, a & ~exec) \
	X(s_orn2_saveexec_b64, a | ~exec) X(s_nand_saveexec_b64, ~(a & exec)) X(s_nor_saveexec_b64, ~(a | exec)) \
	X(s_xnor_saveexec_b64, ~(a ^ exec)) X(s_andn1_saveexec_b64, ~a & exec) X(s_orn1_saveexec_b64, ~a | exec)
#define DEFINE(name, result) \
	FN(name) \
	{ \
		uint64_t a = A64, exec = wave_exec(w), r = result; \
		set64(w, o, exec); \
		wave_set64(w, SGPR_EXEC, r); \
		w->scc = r != 0; \
	}
SAVEEXEC(DEFINE)
#undef DEFINE

FN(s_andn1_wrexec_b64) { uint64_t r = ~A64 & wave_exec(w); wave_set64(w, SGPR_EXEC, r); set64(w, o, r); w->scc = r != 0; }
FN(s_andn2_wrexec_b64) { uint64_t r = A64 & ~wave_exec(w); wave_set64(w, SGPR_EXEC, r); set64(w, o, r); w->scc = r != 0; }

/* --- comparisons: scc alone ------------------------------------------------------------------------------------------------- */
#define COMPARE(X) \
	X(eq_i32, a == b) X(lg_i32, a != b) X(gt_i32, (int32_t)a > (int32_t)b) X(ge_i32, (int32_t)a >= (int32_t)b) \
	X(lt_i32, (int32_t)a < (int32_t)b) X(le_i32, (int32_t)a <= (int32_t)b) X(eq_u32, a == b) X(lg_u32, a != b) \
	X(gt_u32, a > b) \
	X(ge_u32, a >= b) X(lt_u32, a < b) X(le_u32, a <= b)
#define DEFINE(name, result) \
	FN(s_cmp_##name) { uint32_t a = operand_scalar(w, &o->o[0]), b = A; w->scc = result; } \
	FN(s_cmpk_##name) \
	{ \
		static const char unsigned_[] = #name; \
		uint32_t a = operand_scalar(w, &o->o[0]), b = A; \
		b = unsigned_[3] == 'u' ? (uint16_t)b : (uint32_t)(int16_t)b; \
		w->scc = result; \
	}
COMPARE(DEFINE)
#undef DEFINE

FN(s_cmp_eq_u64) { w->scc = operand_scalar64(w, &o->o[0]) == A64; }
FN(s_cmp_lg_u64) { w->scc = operand_scalar64(w, &o->o[0]) != A64; }
FN(s_bitcmp0_b32) { w->scc = !(operand_scalar(w, &o->o[0]) >> (A & 31) & 1); }
FN(s_bitcmp1_b32) { w->scc = operand_scalar(w, &o->o[0]) >> (A & 31) & 1; }
FN(s_bitcmp0_b64) { w->scc = !(operand_scalar64(w, &o->o[0]) >> (A & 63) & 1); }
FN(s_bitcmp1_b64) { w->scc = operand_scalar64(w, &o->o[0]) >> (A & 63) & 1; }

/* --- where to go on --------------------------------------------------------------------------------------------------------- */
static void branch(struct wave *w, const struct op *o, bool taken)
{
	if (taken)
		dispatch_jump(w, o, o->next + 4 * (int64_t)(int16_t)o->o[0].value);
}

FN(s_branch) { branch(w, o, true); }
FN(s_cbranch_scc0) { branch(w, o, !w->scc); }
FN(s_cbranch_scc1) { branch(w, o, w->scc); }
FN(s_cbranch_vccz) { branch(w, o, wave_s64(w, SGPR_VCC) == 0); }
FN(s_cbranch_vccnz) { branch(w, o, wave_s64(w, SGPR_VCC) != 0); }
FN(s_cbranch_execz) { branch(w, o, wave_exec(w) == 0); }
FN(s_cbranch_execnz) { branch(w, o, wave_exec(w) != 0); }

static uint64_t text_of(const struct wave *w)
{
	const struct code *c = w->group->kernel->code;
	return (uintptr_t)c->memory + c->text_at;
}

FN(s_getpc_b64) { set64(w, o, text_of(w) + o->next); }
FN(s_setpc_b64) { dispatch_jump(w, o, operand_scalar64(w, &o->o[0]) - text_of(w)); }

FN(s_swappc_b64)
{
	uint64_t to = A64;
	set64(w, o, text_of(w) + o->next);
	dispatch_jump(w, o, to - text_of(w));
}

FN(s_endpgm) { (void)o; w->ended = true; }
FN(s_barrier) { (void)o; w->waits = true; }
FN(s_nop) { (void)w; (void)o; }
FN(s_trap) { dispatch_stop(w, o, hipErrorAssert, "the kernel stops itself"); }

/* The mode register: rounding and denormals stay as at the start, which is how kernels are compiled. */
FN(s_setreg)
{
	if (!strstr(o->text, "HW_REG_MODE"))
		dispatch_stop(w, o, hipErrorNotSupported, "this device has no such hardware register");
}

/* --- loads: base, offset; consecutive registers ----------------------------------------------------------------------------- */
static void load(struct wave *w, const struct op *o, unsigned words)
{
	uint64_t at = (wave_s64(w, o->o[1].reg) + operand_scalar(w, &o->o[2]) + (uint64_t)(int64_t)o->offset) & ~UINT64_C(3);
	const void *from = memory_at(w, o, 0, at, 4 * (size_t)words);

	if (from && o->o[0].reg + words <= SGPRS)
		memcpy(&w->s[o->o[0].reg], from, 4 * (size_t)words);
}

FN(s_load_dword) { load(w, o, 1); }
FN(s_load_dwordx2) { load(w, o, 2); }
FN(s_load_dwordx4) { load(w, o, 4); }
FN(s_load_dwordx8) { load(w, o, 8); }
FN(s_load_dwordx16) { load(w, o, 16); }

#define ROW(name, ...) { #name, do_##name, "Fff" },
#define ROW1(name, ...) { #name, do_##name, "Ff" },
#define ROW64(name, ...) { #name, do_##name, "Qqq" },
#define ROW_SAVE(name, ...) { #name, do_##name, "Qq" },
#define ROW_COMPARE(name, ...) { "s_cmp_" #name, do_s_cmp_##name, "ff" }, { "s_cmpk_" #name, do_s_cmpk_##name, "ff" },
#define PLAIN(name, types) { #name, do_##name, types },
const struct rule scalar_rules[] = {
	BINARY(ROW) UNARY(ROW1) BINARY64(ROW64) SAVEEXEC(ROW_SAVE) COMPARE(ROW_COMPARE)
	PLAIN(s_addk_i32, "Ff") PLAIN(s_bfe_i64, "Qqf") PLAIN(s_bfm_b64, "Qff") PLAIN(s_cselect_b64, "Qqq") PLAIN(s_mov_b64, "Qq")
	PLAIN(s_cmov_b64, "Qq") PLAIN(s_not_b64, "Qq") PLAIN(s_bcnt1_i32_b64, "Fq") PLAIN(s_bcnt0_i32_b64, "Fq")
	PLAIN(s_ff1_i32_b64, "Fq")
	PLAIN(s_ff0_i32_b64, "Fq") PLAIN(s_flbit_i32_b64, "Fq") PLAIN(s_brev_b64, "Qq") PLAIN(s_wqm_b64, "Qq")
	PLAIN(s_andn1_wrexec_b64, "Qq") PLAIN(s_andn2_wrexec_b64, "Qq")
	PLAIN(s_cmp_eq_u64, "qq") PLAIN(s_cmp_lg_u64, "qq") PLAIN(s_bitcmp0_b32, "ff") PLAIN(s_bitcmp1_b32, "ff")
	PLAIN(s_bitcmp0_b64, "qf")
	PLAIN(s_bitcmp1_b64, "qf")
	PLAIN(s_branch, "f") PLAIN(s_cbranch_scc0, "f") PLAIN(s_cbranch_scc1, "f") PLAIN(s_cbranch_vccz, "f")
	PLAIN(s_cbranch_vccnz, "f")
	PLAIN(s_cbranch_execz, "f") PLAIN(s_cbranch_execnz, "f")
	PLAIN(s_getpc_b64, "Q") PLAIN(s_setpc_b64, "q") PLAIN(s_swappc_b64, "Qq")
	PLAIN(s_endpgm, "*") PLAIN(s_barrier, "*") PLAIN(s_nop, "*") PLAIN(s_trap, "*")
	{ "s_waitcnt", do_s_nop, "*" }, { "s_sleep", do_s_nop, "*" }, { "s_setprio", do_s_nop, "*" },
	{ "s_inst_prefetch", do_s_nop, "*" },
	{ "s_icache_inv", do_s_nop, "*" }, { "s_dcache_inv", do_s_nop, "*" }, { "s_dcache_wb", do_s_nop, "*" },
	{ "s_setreg_b32", do_s_setreg, "*" }, { "s_setreg_imm32_b32", do_s_setreg, "*" },
	PLAIN(s_load_dword, "Fqf") PLAIN(s_load_dwordx2, "Fqf") PLAIN(s_load_dwordx4, "Fqf") PLAIN(s_load_dwordx8, "Fqf")
	PLAIN(s_load_dwordx16, "Fqf")
	{ NULL, NULL, NULL },
};
