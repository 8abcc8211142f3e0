/* facts: AMD devices and architectures: names, limits, register files, peaks. Fills backend.h's devices and describe;
 * backend.c asks for the device that it opens, compile.c for an architecture. */
#ifndef PEAKD_BACKENDS_HIP_FACTS_H
#define PEAKD_BACKENDS_HIP_FACTS_H

#include "backends/gpu/api.h"
#include "backends/wire/facts.h"
#include "base/err.h"

/* What occupancy is computed from; see facts.c for the sources. Sizes are of one SIMD unless said otherwise. */
struct hip_arch {
	const char *name;   /* "gfx90a"; a family when it ends in '*' */
	uint32_t wave;      /* lanes per wave that the compiler chooses */
	uint32_t simds;     /* per compute unit; of a work-group processor from gfx10 on */
	uint32_t waves;     /* at most resident on one SIMD */
	uint32_t vgprs;     /* per lane, to be shared by the resident waves */
	uint32_t vgpr_step; /* granularity in which registers are allocated */
	bool unified;       /* accumulation registers share the file (else they have their own of the same size) */
	uint32_t lds_unit;  /* KiB of LDS that the blocks of one compute unit (work-group processor) share */
	uint32_t lds_block; /* KiB at most for one block */
	uint32_t lanes_f32; /* fp32 multiply-adds per clock and unit at most, matrix units included where they do fp32; 0 unknown */
	uint32_t fma_f16, fma_tf32; /* dense matrix multiply-adds per clock and unit, fp32 accumulation; 0 none or unknown */
};

/* backend.h: devices. */
int hip_facts_devices(struct facts **ret_facts, size_t *ret_count, struct err *e);
/* backend.h: describe. "gfx90a", "gfx1100", …; units, clocks and peaks stay 0: those belong to a product. */
int hip_facts_describe(const char *arch, struct facts *ret_facts, struct err *e);
/* Of the device with that index, through an opened runtime. -ERR_NOT_FOUND when there are fewer. */
int hip_facts_device(const struct gpu_driver *runtime, uint32_t index, struct facts *ret_facts, struct err *e);
/* NULL for an architecture whose registers peakd does not know. `arch` without features ("gfx90a", not "gfx90a:xnack-"). */
const struct hip_arch *hip_facts_arch(const char *arch);

#endif
