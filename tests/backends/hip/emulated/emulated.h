/* emulated: a stand-in for the HIP runtime that executes gfx90a code objects on the CPU. It takes the machine code that AMD's own
 * compiler made, instruction by instruction, 64 lanes a wave. For tests only: it shows that kernels, launches and arguments are
 * right, and nothing about time. PEAKD_HIP_RUNTIME names the built library; its device calls itself "emulated gfx90a" and gives no
 * times.
 *
 * runtime.c has the functions that peakd calls; image.c loads a code object; decode.c and text.c turn comgr's
 * disassembly into ops; dispatch.c runs blocks of waves; memory.c knows what may be touched; the other files are the
 * instructions, one file a kind.
 *
 * Sources: AMD's "CDNA2" instruction set architecture reference guide (instructions, registers); LLVM's "User Guide for AMDGPU
 * Backend" (kernel descriptor, initial register state, code object metadata); comgr's reference manual.
 *
 * Differences from hardware, on purpose: blocks run one after another (a kernel that waits for another block hangs
 * here too often); rcp, rsq, sqrt, exp, log, sin and cos are rounded correctly; accesses outside of a block's LDS
 * stop the kernel, where hardware reads zero; waits and hazards do not exist. An instruction that is not in the
 * tables stops the kernel and is named. */
#ifndef PEAKD_TESTS_BACKENDS_HIP_EMULATED_EMULATED_H
#define PEAKD_TESTS_BACKENDS_HIP_EMULATED_EMULATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "backends/hip/api.h"
#include "backends/hip/hip.h"

/* The HIP runtime's own types and results, as far as this library exports functions with them. */
typedef int hipError_t;
typedef int hipDevice_t;
typedef void *hipDeviceptr_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
enum {
	hipSuccess = 0,
	hipErrorInvalidValue = 1,
	hipErrorOutOfMemory = 2,
	hipErrorInvalidConfiguration = 9,
	hipErrorInvalidDevice = 101,
	hipErrorInvalidImage = 200,
	hipErrorNoBinaryForGpu = 209,
	hipErrorNotFound = 500,
	hipErrorIllegalAddress = 700,
	hipErrorAssert = 710,
	hipErrorNotSupported = 801,
};

enum {
	LANES = 64,
	VGPRS = 512,
	AGPR0 = 256,
	SGPRS = 128,
	SGPR_FLAT = 102,
	SGPR_VCC = 106,
	SGPR_M0 = 124,
	SGPR_EXEC = 126,
	OPERANDS = 6
};
/* High halves of the addresses through which generic pointers reach LDS and private memory. */
enum { APERTURE_LDS = 0x00010000, APERTURE_PRIVATE = 0x00020000 };

struct op;
struct wave;
typedef void execute_fn(struct wave *w, const struct op *o);

enum operand_kind { OPERAND_NONE, OPERAND_VGPR, OPERAND_SGPR, OPERAND_CONST, OPERAND_SCC, OPERAND_VCCZ, OPERAND_EXECZ };
/* Which part of a 32-bit register an SDWA operand means. */
enum sdwa { SDWA_DWORD, SDWA_BYTE_0, SDWA_BYTE_1, SDWA_BYTE_2, SDWA_BYTE_3, SDWA_WORD_0, SDWA_WORD_1 };

struct operand {
	uint8_t kind;     /* enum operand_kind */
	uint8_t sel;      /* enum sdwa */
	bool neg, abs, sext;
	uint16_t reg;     /* of wave.v (accumulation registers from AGPR0 on) or wave.s */
	uint64_t value;   /* OPERAND_CONST: its bits, in the width that the instruction reads */
};

/* An instruction's row in a table. `types`: one letter an operand, in the order of the text; capital: written. A
 * source's letter says what a constant there means: h f16, f f32 or any 32 bits, d f64, q 64-bit integer. M: a lane
 * mask. '*' alone: operands are not read. */
struct rule { const char *name; execute_fn *execute; const char *types; };

/* One decoded instruction. */
struct op {
	execute_fn *execute;
	const struct rule *rule;  /* NULL: unknown */
	struct operand o[OPERANDS];
	uint8_t count;            /* of operands */
	uint8_t clamp, omod;      /* omod: 0 none, 1 times 2, 2 times 4, 3 halved */
	uint8_t sources;          /* number of the first source operand */
	uint8_t op_sel, op_sel_hi, neg_lo, neg_hi; /* a bit a source; op_sel bit 3: the result's half */
	bool glc, offen, idxen, special; /* special: MFMA with cbsz, abid or blgp */
	uint8_t sdwa_keep;        /* SDWA: 0 pads the rest of the result with 0, 2 keeps it, 1 fills it with the sign */
	bool dpp;                 /* the first source is taken from other lanes */
	bool dpp_zero;            /* bound_ctrl: lanes without a source read 0; else they keep their result */
	uint16_t dpp_ctrl;        /* as encoded */
	uint8_t row_mask, bank_mask;
	int32_t offset, offset1;  /* of memory accesses, bytes or elements as written */
	uint32_t detail;          /* what its family needs besides: a comparison's kind, a swizzle's pattern */
	uint32_t at, next;        /* byte offsets in .text: of this one and of the one behind it */
	char *text;               /* as disassembled */
};

/* A loaded code object. */
struct kernel {
	char *name;
	struct code *code;        /* borrowed */
	uint32_t shared, private_, arg_bytes; /* from its descriptor: LDS, private memory per lane, kernel arguments; bytes */
	uint32_t rsrc2;           /* compute_pgm_rsrc2 */
	uint16_t properties;      /* kernel_code_properties */
	uint32_t entry;           /* byte offset in .text */
};

struct code {
	uint8_t *memory;          /* its segments, as they would lie in the device's memory */
	size_t bytes;
	uint64_t text_at, text_bytes; /* .text in memory */
	struct op *ops;           /* decoded when a kernel of it is first launched */
	size_t op_count;
	int32_t *op_at;           /* per word of .text: the op that begins there, -1 none */
	struct kernel *kernels;
	size_t kernel_count;
	struct gpu_module *args;  /* where parameters go */
	uint8_t abi;              /* ELF's ABI version: 2 is code object V4, 3 is V5 */
};

/* What ended a launch; code 0: nothing. */
struct stop { hipError_t code; char text[512]; };

struct group {
	const struct kernel *kernel;
	uint8_t *lds;
	uint32_t lds_bytes;
	const uint8_t *args, *packet; /* kernel arguments; the dispatch packet */
	struct stop stop;
};

struct wave {
	_Alignas(64) uint32_t v[VGPRS][LANES];
	uint32_t s[SGPRS];
	bool scc, waits, ended;
	uint32_t pc;              /* index of the next op */
	uint32_t mask[LANES];     /* all bits set in active lanes */
	uint64_t mask_of;         /* the exec that mask was made from */
	struct group *group;
	uint8_t *private_;        /* LANES times the kernel's private memory */
};

/* --- dispatch.c: launching */
struct launch { const struct kernel *kernel; uint32_t grid[3], block[3], shared; const uint8_t *args; };
void dispatch_run(const struct launch *l, struct stop *ret_stop);
/* Ends the launch; the first reason counts. */
__attribute__((format(printf, 4, 5))) void dispatch_stop(struct wave *w, const struct op *o, hipError_t code, const char *fmt, ...);
/* Continues at a byte offset of .text. */
void dispatch_jump(struct wave *w, const struct op *o, uint64_t at);

/* --- image.c: code objects. -1 when it is none for gfx90a. */
int image_load(const void *bytes, struct code **ret_code, struct stop *ret_stop);
void image_free(struct code *code);

/* --- decode.c, text.c: NULL text when all went well, else what went wrong. */
int decode_code(struct code *code, struct stop *ret_stop);
/* Parses the operands and modifiers behind the name, as o->rule says; false when one is not understood. */
bool text_parse(const char *operands, struct op *o);

/* --- memory.c: the device's memory */
void *memory_new(size_t bytes);
bool memory_free(void *address);
void memory_info(size_t *ret_left, size_t *ret_total);
/* Makes memory that something else owns readable and writable by kernels, or takes it back. */
void memory_lend(const void *address, size_t bytes);
void memory_take(const void *address);
/* Whether [address, address + bytes) lies in one allocation. */
bool memory_has(uint64_t address, size_t bytes);
/* Where a lane's access goes: global memory, LDS or private memory by its aperture; NULL after it stopped the
 * kernel. */
void *memory_at(struct wave *w, const struct op *o, unsigned lane, uint64_t address, size_t bytes);
void *memory_lds(struct wave *w, const struct op *o, unsigned lane, uint64_t offset, size_t bytes);
void *memory_private(struct wave *w, const struct op *o, unsigned lane, uint64_t offset, size_t bytes);

/* --- the tables, each ending in a row without a name */
extern const struct rule scalar_rules[], vector_rules[], wide_rules[], half_rules[], packed_rules[], lane_rules[], mfma_rules[],
                         access_rules[], lds_rules[], atomic_rules[];
/* Handlers of families whose names are taken apart by decode.c. */
execute_fn compare_execute;

/* --- operands: 64 lanes of 32 bits; a pointer into the registers where nothing has to be changed, else into *space */
struct lanes { _Alignas(64) uint32_t x[LANES]; };

static inline uint64_t wave_s64(const struct wave *w, unsigned reg) { return w->s[reg] | (uint64_t)w->s[reg + 1] << 32; }
static inline void wave_set64(struct wave *w, unsigned reg, uint64_t value)
{
	w->s[reg] = (uint32_t)value;
	w->s[reg + 1] = (uint32_t)(value >> 32);
}
static inline uint64_t wave_exec(const struct wave *w) { return wave_s64(w, SGPR_EXEC); }

/* A scalar source of 32 or 64 bits. */
uint32_t operand_scalar(const struct wave *w, const struct operand *p);
uint64_t operand_scalar64(const struct wave *w, const struct operand *p);
/* word: 1 for the upper half of 64 bits. Modifiers: those of f32 (word 0) or f64 (word 1); operand_f16 has those of
 * f16. */
const uint32_t *operand_in(const struct wave *w, const struct op *o, unsigned n, unsigned word, struct lanes *space);
const uint32_t *operand_plain(const struct wave *w, const struct op *o, unsigned n, unsigned word, struct lanes *space);
/* Writes active lanes. operand_out applies SDWA's destination; operand_out_f32 clamp and omod before. */
void operand_put(struct wave *w, const struct op *o, unsigned n, unsigned word, const uint32_t *from);
void operand_out(struct wave *w, const struct op *o, const uint32_t *from);
void operand_out_f32(struct wave *w, const struct op *o, float *from);
/* A lane mask to a scalar pair; lanes that are not active give 0. */
void operand_mask(struct wave *w, const struct op *o, unsigned n, uint64_t mask);
const uint32_t *wave_mask(struct wave *w);

/* --- numbers.c: f16 and bf16 */
float number_f16(uint32_t bits);
uint32_t number_to_f16(double value); /* one rounding, to nearest even */
double number_fma_f16(double a, double b, double c); /* a value that rounds to f16 as the exact a*b+c does */

/* Two versions of hot loops, the better taken where the CPU has it. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define HOT __attribute__((target_clones("arch=haswell", "default")))
#else
#define HOT
#endif

#endif
