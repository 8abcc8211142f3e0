/* check: whether a launch of a plan is possible at all: arguments against the kernel's parameters, geometry and memory
 * against the kernel and the device. compile.c calls it with an architecture's limits, run.c with a device's. */
#ifndef PEAKD_BACKENDS_GPU_CHECK_H
#define PEAKD_BACKENDS_GPU_CHECK_H

#include "backends/gpu/module.h"
#include "backends/wire/facts.h"
#include "backends/wire/plan.h"
#include "base/err.h"

enum { GPU_CLUSTER_PORTABLE = 8 }; /* blocks per cluster that need no opt-in */

/* x · y · z */
uint64_t gpu_check_volume(const uint32_t v[3]);
/* Threads per block that the kernel can be launched with, from its registers and launch bounds. */
uint32_t gpu_check_max_threads(const struct gpu_kernel *k, const struct facts *limits);
/* Names the limit, what was asked and what is allowed. -ERR_INPUT: arguments, or a fixed block or cluster size, do not fit
 * the kernel. -ERR_PRUNED: the device cannot launch it. -ERR_UNSUPPORTED: clusters and tensor maps on AMD. */
int gpu_check_launch(const struct plan_launch *launch, const struct gpu_kernel *k, const struct facts *limits, struct err *e);

#endif
