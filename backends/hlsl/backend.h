/* backend: the HLSL backend's table, for backends/worker/backend.c. HLSL is compiled to SPIR-V in this process and run by
 * Vulkan. */
#ifndef PEAKD_BACKENDS_HLSL_BACKEND_H
#define PEAKD_BACKENDS_HLSL_BACKEND_H

#include "backends/worker/backend.h"

extern const struct backend backend_hlsl;

#endif
