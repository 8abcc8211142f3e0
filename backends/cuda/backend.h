/* backend: the CUDA backend's entry in backends/worker/backend.c. */
#ifndef PEAKD_BACKENDS_CUDA_BACKEND_H
#define PEAKD_BACKENDS_CUDA_BACKEND_H

#include "backends/worker/backend.h"

extern const struct backend backend_cuda;

#endif
