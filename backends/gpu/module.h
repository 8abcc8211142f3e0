/* module: what a compiled binary says about its kernels: registers, memory, launch bounds and parameters. cuda/object.c and
 * hip/object.c read it from their vendor's format; check.c, compile.c and run.c use it. */
#ifndef PEAKD_BACKENDS_GPU_MODULE_H
#define PEAKD_BACKENDS_GPU_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct gpu_param {
	uint32_t offset, bytes;
};

struct gpu_kernel {
	char *name;            /* as the linker sees it */
	uint32_t registers;    /* per thread; AMD: vector registers, with those for accumulation where both share a file (gfx90a,
				  gfx94x) */
	uint32_t shared;       /* bytes of static shared memory (AMD: LDS), without what the hardware reserves */
	uint32_t local;        /* bytes of local memory per thread: spills, indexed arrays, stack */
	uint32_t bound;        /* threads per block from __launch_bounds__ (AMD: 1024 without); 0 none */
	uint32_t block[3];     /* block size that the code fixes; {0,0,0} none */
	uint32_t cluster[3];   /* CUDA: __cluster_dims__; {0,0,0} none */
	uint32_t agprs, sgprs; /* AMD: accumulation registers per lane; scalar registers per wave */
	uint32_t vgpr_spills, sgpr_spills; /* AMD: registers that did not fit */
	uint32_t wave;                     /* AMD: lanes per wave, 32 or 64 */
	struct gpu_param *params;          /* in order, without the compiler's hidden ones */
	size_t param_count;
	bool params_known; /* false: the binary describes its parameters in a form that peakd does not know */
};

struct gpu_module {
	struct gpu_kernel *kernels;
	size_t count;
	uint64_t state;  /* bytes of variables that begin as zeros */
	uint64_t tables; /* bytes of variables that begin with content; AMD: __constant__ too */
	bool allocates;  /* CUDA: calls malloc(), free() or new */
};

void gpu_module_fini(struct gpu_module *module);
/* NULL when there is none of that name. */
const struct gpu_kernel *gpu_module_find(const struct gpu_module *module, const char *name);
/* -ERR_INPUT that lists the module's kernels, and says when extern "C" was forgotten. */
int gpu_module_missing(const struct gpu_module *module, const char *name, struct err *e);
/* -ERR_INPUT when the module has memory that outlives a launch, other than tables of at most 64 KiB: a kernel could keep
 * results there from one execution to the next; memory from malloc() in device code outlives a launch, too. (A __device__ const table looks like a variable with an initial value.) */
int gpu_module_stateless(const struct gpu_module *module, struct err *e);

#endif
