/* check: whether a launch of a plan can be made at all: arguments against the kernel's parameters, geometry and memory against the
 * kernel and the device; and how many waves then run at once. Called by compile.c (limits of the architecture) and run.c
 * (limits of the device). */
#ifndef PEAKD_BACKENDS_HIP_CHECK_H
#define PEAKD_BACKENDS_HIP_CHECK_H

#include "backends/wire/facts.h"
#include "backends/hip/facts.h"
#include "backends/hip/object.h"
#include "backends/wire/plan.h"
#include "base/err.h"

/* What stands in the way of more waves. */
enum hip_limit { HIP_LIMIT_NONE, HIP_LIMIT_VGPRS, HIP_LIMIT_SGPRS, HIP_LIMIT_LDS, HIP_LIMIT_BLOCK };

struct hip_occupancy {
	uint32_t waves;        /* resident on one SIMD, rounded down when blocks do not divide evenly */
	uint32_t max;          /* that the architecture allows */
	uint32_t blocks;       /* resident on one compute unit (work-group processor) */
	enum hip_limit limit;  /* the tightest */
};

/* Threads per block that the kernel can be launched with. */
uint32_t hip_check_max_threads(const struct hip_kernel *k, const struct facts *limits);
/* -ERR_INPUT when arguments or a fixed block size do not fit the kernel, -ERR_PRUNED when the device cannot launch it: says which limit,
 * asked and allowed. -ERR_UNSUPPORTED for what AMD devices do not have: clusters, tensor maps. */
int hip_check_launch(const struct plan_launch *launch, const struct hip_kernel *k, const struct facts *limits, struct err *e);
/* Computed, not measured: from registers, LDS and the block's size (threads, dynamic LDS in bytes). */
struct hip_occupancy hip_check_occupancy(const struct hip_kernel *k, const struct hip_arch *a, uint64_t threads, uint32_t shared);
/* "vector registers", …; "the architecture" for none. Static storage. */
const char *hip_check_limit_name(enum hip_limit limit);

#endif
