/* counters: hardware counters of a plan's kernels by CUPTI's range profiler, in a worker that the daemon started for that alone
 * (PEAKD_COUNTERS_WORKER=1 in its environment): the library changes how the driver launches, so nothing is timed there. Called by
 * cuda/backend.c. */
#ifndef PEAKD_BACKENDS_CUDA_COUNTERS_H
#define PEAKD_BACKENDS_CUDA_COUNTERS_H

#include "backends/worker/backend.h"
#include "base/err.h"

/* After the device was opened and before any binary is loaded: opens the library where the worker is for counters. What fails is
 * said by cuda_counters_read. */
void cuda_counters_start(struct backend_device *device);
void cuda_counters_free(struct backend_device *device);
/* backend.h: counters. One launch of each kernel is counted, its largest, from cold caches; the plan is executed once for each pass
 * that the metrics need. */
int cuda_counters_read(struct backend_run *run, struct wire_counters *ret_counters, struct err *e);

#endif
