/* compile: HIP C++ to an AMD code object in this process, through hiprtc. Fills backend.h's compile; needs no driver and no
 * GPU. */
#ifndef PEAKD_BACKENDS_HIP_COMPILE_H
#define PEAKD_BACKENDS_HIP_COMPILE_H

#include "backends/wire/wire.h"
#include "base/err.h"

/* backend.h: compile. The log starts with one line per launched kernel: vector, accumulation and scalar registers, LDS,
 * scratch, spills and the computed occupancy. Besides backend.h's errors: -ERR_PRUNED when no device of the architecture can
 * launch a kernel as the plan wants, -ERR_INPUT when arguments do not fit or a launched kernel is missing, -ERR_UNSUPPORTED
 * when hiprtc is missing or does not know the architecture (comgr is asked before: hiprtc would abort the process). */
int hip_compile(const struct wire_compile *request, struct wire_compiled *ret_compiled, struct err *e);

/* The text before and after every translation unit: HIP's older names of the indices, which hiprtc lacks, and helper
 * functions without __device__ as device code (there is no host code in a device region). */
extern const char hip_compile_begin[], hip_compile_end[];

#endif
