/* names: what is said when host code launches a kernel that a module does not have. Called by backends/cuda/ and backends/hip/. */
#ifndef PEAKD_BACKENDS_GPU_NAMES_H
#define PEAKD_BACKENDS_GPU_NAMES_H

#include <stddef.h>

#include "base/err.h"

/* -ERR_INPUT that lists the module's kernels, as the linker sees them, and says when extern "C" was forgotten. */
int names_missing(const char *const *names, size_t count, const char *name, struct err *e);

#endif
