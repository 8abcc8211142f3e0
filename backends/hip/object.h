/* object: reads what a compiled AMD code object says about its kernels, without a driver or a GPU: registers, memory, launch bounds
 * and parameters. The counterpart of backends/cuda/cubin. Called by compile.c (to report and check) and run.c.
 *
 * Format: LLVM's "User Guide for AMDGPU Backend", code object V3 and later: an ELF note "AMDGPU" of type NT_AMDGPU_METADATA (32)
 * whose content is a MessagePack map. */
#ifndef PEAKD_BACKENDS_HIP_OBJECT_H
#define PEAKD_BACKENDS_HIP_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct hip_param { uint32_t offset, bytes; };

struct hip_kernel {
	char *name;                  /* as the linker sees it */
	uint32_t vgprs;              /* vector registers per lane; with unified files (gfx90a, gfx94x) accumulation registers included */
	uint32_t agprs;              /* accumulation vector registers per lane */
	uint32_t sgprs;              /* scalar registers per wave */
	uint32_t vgpr_spills, sgpr_spills; /* registers that did not fit */
	uint32_t shared;             /* static LDS, bytes */
	uint32_t scratch;            /* private memory, bytes per lane: spills, indexed arrays, stack */
	uint32_t bound;              /* threads per block that it was compiled for (1024, or __launch_bounds__) */
	uint32_t wave;               /* lanes per wave that it was compiled for: 32 or 64 */
	uint32_t block[3];           /* reqd_work_group_size; {0,0,0} none */
	struct hip_param *params;    /* in order, without the hidden ones */
	size_t param_count;
};

struct hip_object {
	struct hip_kernel *kernels;
	size_t count;
	uint64_t state;              /* bytes of variables that begin as zero and can be written: .bss */
	uint64_t tables;             /* bytes of initialised ones, and of __constant__: .data */
};

/* -ERR_INTERNAL when the bytes are not an AMD code object with kernel metadata. The result is freed by hip_object_fini. */
int hip_object_read(const void *bytes, size_t len, struct hip_object *ret_object, struct err *e);
void hip_object_fini(struct hip_object *object);
/* -ERR_INPUT when the module has memory that outlives an execution: results could be kept there. */
int hip_object_stateless(const struct hip_object *object, struct err *e);
/* NULL when there is none of that name. */
const struct hip_kernel *hip_object_find(const struct hip_object *object, const char *name);
/* -ERR_INPUT that lists the kernels that there are, and says when extern "C" was forgotten. */
int hip_object_missing(const struct hip_object *object, const char *name, struct err *e);

#endif
