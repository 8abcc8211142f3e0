/* ceilings: the kernels that keep a Vulkan device busy; see backends/timing/ceilings.h. Listed in backend.c. */
#ifndef PEAKD_BACKENDS_HLSL_CEILINGS_H
#define PEAKD_BACKENDS_HLSL_CEILINGS_H

#include "backends/timing/ceilings.h"

/* Ends with a NULL name. */
extern const struct ceilings_kernel hlsl_ceilings[];

#endif
