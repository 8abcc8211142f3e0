/* compile: HLSL regions to a module of SPIR-V kernels, for the table in backend.c. */
#ifndef PEAKD_BACKENDS_HLSL_COMPILE_H
#define PEAKD_BACKENDS_HLSL_COMPILE_H

#include "backends/wire/wire.h"
#include "base/err.h"

/* As struct backend's compile. Defines go first, then the arguments' declarations (bind.h), macros, device code.
 * Checks every launch against its kernel: numthreads, and that all bindings and scalars it uses are passed
 * (-ERR_INPUT). */
int hlsl_compile(const struct wire_compile *request, struct wire_compiled *ret_compiled, struct err *e);

#endif
