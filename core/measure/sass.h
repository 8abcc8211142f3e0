/* sass: what NVIDIA's disassembler shows of a compiled kernel: how many instructions of which kind, how wide its loads and stores
 * are, and at which source lines it spills. nvdisasm comes with the CUDA toolkit; it is an inspection tool, no compiler. Called by
 * kernels.c. */
#ifndef PEAKD_CORE_MEASURE_SASS_H
#define PEAKD_CORE_MEASURE_SASS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/workers/cancel.h"

enum sass_kind {
	SASS_FLOAT,
	SASS_INTEGER, /* and addresses */
	SASS_CONVERT,
	SASS_TENSOR,
	SASS_LOAD,   /* from global memory */
	SASS_STORE,  /* to global memory */
	SASS_ASYNC,  /* copies from global to shared memory that no register takes part in: cp.async, TMA */
	SASS_SHARED, /* loads, stores and atomics */
	SASS_LOCAL,  /* spilled registers, and arrays that are indexed at run time */
	SASS_ATOMIC,
	SASS_BARRIER,
	SASS_CONTROL,
	SASS_OTHER,
	SASS_KINDS
};

/* Local loads and stores of one source line. */
struct sass_spill {
	char *region; /* "device", "macros"; "" not known */
	long line;    /* 0 not known */
	size_t count;
};

/* Of the kernel's loops where it has any (instructions that a backward branch spans), else of all of it: what runs most. */
struct sass_mix {
	char *kernel;
	size_t instructions, in_loops;
	size_t kinds[SASS_KINDS];
	double flops;                   /* of a thread, if each instruction ran once: a multiply-add counts two, halves in pairs */
	double load_bytes, store_bytes; /* a thread and instruction, on average; NAN: there are none */
	struct sass_spill *spills;      /* of the whole kernel, the most frequent first */
	size_t spill_count;
};
struct sass {
	struct sass_mix *at;
	size_t count;
};

/* Reads `nvdisasm --print-code --print-line-info`. What it does not know is passed over. */
void sass_read(const char *text, struct sass *ret_sass);
void sass_fini(struct sass *s);
/* Operations on floats for each instruction. */
double sass_flops(const struct sass_mix *m);
/* NULL when there is none of that name. */
const struct sass_mix *sass_find(const struct sass *s, const char *kernel);
/* "64 instructions in loops: 50 % float, 20 % integer; loads of 16 bytes; 4 tensor; spills at device:12 (6)". */
void sass_describe(const struct sass_mix *m, struct buf *out);
/* Runs the disassembler on a binary. PEAKD_NVDISASM names the program, or "off". -ERR_UNSUPPORTED: it is not on this machine, or
 * does not know the binary. */
int sass_disassemble(const void *binary, size_t len, const struct cancel *cancel, struct sass *ret_sass, struct err *e);

#endif
