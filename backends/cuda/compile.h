/* compile: CUDA C++ to a binary in this process, through NVRTC. Fills backend.h's compile; needs no driver and no GPU. */
#ifndef PEAKD_BACKENDS_CUDA_COMPILE_H
#define PEAKD_BACKENDS_CUDA_COMPILE_H

#include "backends/gpu/compile.h"
#include "backends/wire/wire.h"
#include "base/err.h"

/* backend.h: compile. Besides its errors: -ERR_PRUNED when no device of the architecture can launch a kernel as the plan
 * wants, -ERR_INPUT when arguments do not fit or a launched kernel is missing, -ERR_UNSUPPORTED when NVRTC, its headers or
 * the architecture are missing. */
int cuda_compile(const struct wire_compile *request, struct wire_compiled *ret_compiled, struct err *e);

/* What `#include <stdint.h>` and the like give. */
extern const struct gpu_header cuda_compile_headers[];

#endif
