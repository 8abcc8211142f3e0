/* stalls: where and why warps wait, by CUPTI's PC sampling: source line, reason, samples. Called by counters.c, in a worker that was
 * started for counters. */
#ifndef PEAKD_BACKENDS_CUDA_STALLS_H
#define PEAKD_BACKENDS_CUDA_STALLS_H

#include "backends/gpu/run.h"
#include "backends/wire/wire.h"
#include "base/err.h"

/* Before any binary is loaded, so that the library knows their functions. What fails is kept for cuda_stalls_read. */
void cuda_stalls_enable(struct backend_device *device);
/* Samples some executions and adds the stalls, the most frequent first; then sampling is disabled, because it and range profiling
 * exclude each other. -ERR_UNSUPPORTED says why there are none. */
int cuda_stalls_read(struct backend_run *run, struct wire_counters *io_counters, struct err *e);

#endif
