/* scrub: a kernel of ours that overwrites the shared memory of every multiprocessor. Shared memory keeps what the last launch
 * left, and a kernel could find its results there. Called by run.c before executions that are judged or timed, outside of their windows. */
#ifndef PEAKD_BACKENDS_GPU_SCRUB_H
#define PEAKD_BACKENDS_GPU_SCRUB_H

#include "backends/gpu/device.h"

/* Loads the kernel, once for each device. Without one (HIP; a driver without its compiler of PTX), gpu_scrub does nothing. */
void gpu_scrub_prepare(struct backend_device *d);
void gpu_scrub_free(struct backend_device *d);
/* True where gpu_scrub works. */
bool gpu_scrub_works(const struct backend_device *d);
/* Submits a launch to the device's stream: all shared memory holds the word then. */
gpu_result gpu_scrub(const struct backend_device *d, uint32_t word);

#endif
