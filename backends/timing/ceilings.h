/* ceilings: the speeds that a device really reaches, pipe by pipe. A backend ships small kernels
 * (backends/{cuda,hlsl}/ceiling_*, listed in ceilings.c beside them) with plans, which are compiled and timed like any other;
 * core/measure measures each once per device. Percentages of them are shown, but nothing is judged by them. Called by worker.c. */
#ifndef PEAKD_BACKENDS_TIMING_CEILINGS_H
#define PEAKD_BACKENDS_TIMING_CEILINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/wire/wire.h"

struct ceilings_kernel {
	const char *name;    /* "f32", "tensor.f16", "copy", "launch" */
	const char *unit;    /* "flop", "byte" or "launch" */
	const char *needs;   /* what the architecture must begin with ("sm_90"); the first that fits is used */
	const char *defines; /* lines before the file's text */
	const char *file;    /* embedded source with an entry "ceiling": (const float *from, float *to, int n) */
	uint32_t threads;    /* per block */
	uint32_t blocks;     /* per multiprocessor; of the whole grid where their number is unknown */
	double work; /* units per block and step; "byte", "launch": ignored, elements are read and written once, it is one launch */
	int32_t steps; /* n; "byte": float elements */
	bool on_cpu;   /* for devices that share the CPU; else for all others */
};

/* The kernels that fit the device; none when the table is NULL. ret_list owned by the caller (wire_ceilings_fini). */
void ceilings_list(const struct ceilings_kernel *table, const struct wire_target *target, struct wire_ceilings *ret_list);

#endif
