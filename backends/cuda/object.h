/* object: reads what a compiled CUDA binary (a cubin) says about its kernels, without a driver or a GPU. Called by
 * compile.c, to report and check, and by backend.c. */
#ifndef PEAKD_BACKENDS_CUDA_OBJECT_H
#define PEAKD_BACKENDS_CUDA_OBJECT_H

#include "backends/gpu/module.h"
#include "base/err.h"

/* -ERR_INTERNAL when the bytes are not a CUDA ELF image or contradict themselves. gpu_module_fini frees the result. */
int cuda_object_read(const void *bytes, size_t len, struct gpu_module *ret_module, struct err *e);

#endif
