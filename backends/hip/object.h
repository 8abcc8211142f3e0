/* object: reads what a compiled AMD code object says about its kernels, without a driver or a GPU. Called by compile.c, to
 * report and check, and by backend.c.
 *
 * Format: LLVM's "User Guide for AMDGPU Backend", code object V3 and later: an ELF note "AMDGPU" of type NT_AMDGPU_METADATA
 * (32) whose content is a MessagePack map. */
#ifndef PEAKD_BACKENDS_HIP_OBJECT_H
#define PEAKD_BACKENDS_HIP_OBJECT_H

#include "backends/gpu/module.h"
#include "base/err.h"

/* -ERR_INTERNAL when the bytes are not an AMD code object with kernel metadata. gpu_module_fini frees the result. */
int hip_object_read(const void *bytes, size_t len, struct gpu_module *ret_module, struct err *e);

#endif
