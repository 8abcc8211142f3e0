/* occupancy: how many waves of a kernel run at once on an AMD device, computed from registers, LDS and the block's size.
 * Called by compile.c for its report. */
#ifndef PEAKD_BACKENDS_HIP_OCCUPANCY_H
#define PEAKD_BACKENDS_HIP_OCCUPANCY_H

#include "backends/gpu/module.h"
#include "backends/hip/facts.h"

struct hip_occupancy {
	uint32_t waves;    /* resident on one SIMD, rounded down when blocks do not divide evenly */
	uint32_t max;      /* that the architecture allows */
	uint32_t blocks;   /* resident on one compute unit (work-group processor) */
	const char *limit; /* what allows no more waves: "the architecture", "vector registers", …; static storage */
};

/* `shared`: dynamic LDS, bytes. */
struct hip_occupancy hip_occupancy(const struct gpu_kernel *k, const struct hip_arch *a, uint64_t threads, uint32_t shared);

#endif
