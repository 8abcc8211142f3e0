/* check: whether a launch of a plan can be made at all: arguments against the kernel's parameters, geometry and memory against the
 * kernel and the device. Called by compile.c (limits of the architecture) and run.c (limits of the device). */
#ifndef PEAKD_BACKENDS_CUDA_CHECK_H
#define PEAKD_BACKENDS_CUDA_CHECK_H

#include "backends/cuda/cubin.h"
#include "backends/wire/facts.h"
#include "backends/wire/plan.h"
#include "base/err.h"

/* Threads per block that the kernel can be launched with, from its registers and launch bounds. */
uint32_t cuda_check_max_threads(const struct cuda_kernel *k, const struct facts *limits);
/* -ERR_INPUT when arguments or a fixed block or cluster size do not fit the kernel, -ERR_PRUNED when the device cannot launch it: says
 * which limit, asked and allowed. */
int cuda_check_launch(const struct plan_launch *launch, const struct cuda_kernel *k, const struct facts *limits, struct err *e);

#endif
