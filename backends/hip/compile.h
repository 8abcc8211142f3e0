/* compile: HIP C++ to an AMD code object in this process, through hiprtc. Fills backend.h's compile; needs no driver and no GPU. */
#ifndef PEAKD_BACKENDS_HIP_COMPILE_H
#define PEAKD_BACKENDS_HIP_COMPILE_H

#include "backends/wire/wire.h"
#include "base/err.h"

/* backend.h: compile. The log starts with one line per launched kernel: vector, accumulation and scalar registers, LDS, scratch, spills
 * and the computed occupancy. Besides backend.h's errors: -ERR_PRUNED when a kernel cannot be launched as the plan wants on any
 * device of the architecture, -ERR_INPUT when arguments do not fit or a launched kernel is missing, -ERR_UNSUPPORTED when hiprtc is
 * missing or does not know the architecture (comgr is asked before: hiprtc would abort the process). */
int hip_compile(const struct wire_compile *request, struct wire_compiled *ret_compiled, struct err *e);

#endif
