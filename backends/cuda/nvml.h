/* nvml: NVIDIA's management library as a gpu_monitor (backends/timing/gpu_monitor.h): clocks, power, temperature,
 * throttling, other processes, the energy counter. Opened at run time: libnvidia-ml.so.1 comes with the driver;
 * PEAKD_CUDA_NVML names another file. Listed in backend.c. */
#ifndef PEAKD_BACKENDS_CUDA_NVML_H
#define PEAKD_BACKENDS_CUDA_NVML_H

#include "backends/timing/gpu_monitor.h"

extern const struct gpu_monitor_source cuda_nvml_monitor;

#endif
