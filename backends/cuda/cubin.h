/* cubin: reads what a compiled CUDA binary says about its kernels, without a driver or a GPU: registers, memory, launch bounds and
 * parameters. Called by compile.c (to report and check) and run.c (arguments on drivers that cannot be asked). */
#ifndef PEAKD_BACKENDS_CUDA_CUBIN_H
#define PEAKD_BACKENDS_CUDA_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct cuda_param { uint32_t offset, bytes; };

struct cuda_kernel {
	char *name;                  /* as the linker sees it */
	uint32_t registers;          /* per thread at entry */
	uint32_t shared;             /* static shared memory, bytes, without what the hardware reserves */
	uint32_t local;              /* bytes of local memory per thread: spills and indexed arrays, callees included */
	uint32_t bound;              /* __launch_bounds__ threads per block; 0 none given */
	uint32_t block[3];           /* __block_size__ / .reqntid; {0,0,0} none */
	uint32_t cluster[3];         /* __cluster_dims__; {0,0,0} none */
	struct cuda_param *params;   /* in order */
	size_t param_count;
	bool params_known;           /* false: the binary describes them in a form that is not known here */
};

struct cuda_cubin {
	struct cuda_kernel *kernels;
	size_t count;
	uint64_t state, tables;      /* bytes of module memory that begins as zeros, and of what begins with content (constants too) */
};

/* -ERR_INTERNAL when the bytes are not a CUDA ELF image or contradict themselves. The result is freed by cuda_cubin_fini. */
int cuda_cubin_read(const void *bytes, size_t len, struct cuda_cubin *ret_cubin, struct err *e);
void cuda_cubin_fini(struct cuda_cubin *cubin);
/* -ERR_INPUT when the module has memory that outlives a launch, other than tables of at most 64 KiB: it could keep results from one
 * execution to the next, which nothing poisons. (A __device__ const table cannot be told from a variable with an initial value.) */
int cuda_cubin_stateless(const struct cuda_cubin *cubin, struct err *e);
/* NULL when there is none of that name. */
const struct cuda_kernel *cuda_cubin_find(const struct cuda_cubin *cubin, const char *name);
/* -ERR_INPUT that lists the kernels that there are, and says when extern "C" was forgotten. */
int cuda_cubin_missing(const struct cuda_cubin *cubin, const char *name, struct err *e);

#endif
