/* compile: HLSL regions to SPIR-V kernels (object.h), for the table in backend.c. */
#ifndef PEAKD_BACKENDS_HLSL_COMPILE_H
#define PEAKD_BACKENDS_HLSL_COMPILE_H

#include "backends/wire/wire.h"
#include "base/err.h"

/* backend.h: compile. Defines come first, then the arguments' declarations (bind.h), macros, device code. Checks every
 * launch against its kernel: numthreads, and that the launch passes all bindings and scalars that the kernel uses
 * (-ERR_INPUT). */
int hlsl_compile(const struct wire_compile *request, struct wire_compiled *ret_compiled, struct err *e);

#endif
