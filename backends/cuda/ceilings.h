/* ceilings: the kernels that keep one pipe of an NVIDIA GPU busy; see backends/timing/ceilings.h. Listed in backend.c. */
#ifndef PEAKD_BACKENDS_CUDA_CEILINGS_H
#define PEAKD_BACKENDS_CUDA_CEILINGS_H

#include "backends/timing/ceilings.h"

/* Ends with a NULL name. */
extern const struct ceilings_kernel cuda_ceilings[];

#endif
