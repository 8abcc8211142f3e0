/* nvml: NVIDIA's management library as a watch (backends/timing/gpu_monitor.h): clocks, power, temperature, throttling, other processes, the energy
 * counter. Names and values are NVIDIA's published interface (NVML API Reference Guide). Opened at run time (libnvidia-ml.so.1 comes with
 * the driver); PEAKD_CUDA_NVML names another file. */
#ifndef PEAKD_BACKENDS_CUDA_NVML_H
#define PEAKD_BACKENDS_CUDA_NVML_H

#include "backends/timing/gpu_monitor.h"

typedef int nvmlReturn_t;
typedef struct nvmlDevice_st *nvmlDevice_t;
enum { NVML_SUCCESS = 0, NVML_ERROR_NOT_FOUND = 6, NVML_ERROR_INSUFFICIENT_SIZE = 7 };
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_TEMPERATURE_GPU = 0 };

typedef struct {
	unsigned pid;
	unsigned long long time;  /* microseconds since 1970 */
	unsigned core, memory, encoder, decoder; /* percent */
} nvmlProcessUtilizationSample_t;

typedef struct {
	unsigned pid;
	unsigned long long memory; /* bytes */
	unsigned instance, compute_instance;
} nvmlProcessInfo_t;

/* X(need, member, symbol, (parameters)): as in api.h. */
#define CUDA_NVML_LIST(X) \
	X(1, init, nvmlInit_v2, (void)) \
	X(1, error_text, nvmlErrorString, (nvmlReturn_t result)) \
	X(1, device_by_uuid, nvmlDeviceGetHandleByUUID, (const char *uuid, nvmlDevice_t *device)) \
	X(1, clock, nvmlDeviceGetClockInfo, (nvmlDevice_t device, int type, unsigned *mhz)) \
	X(0, clock_max, nvmlDeviceGetMaxClockInfo, (nvmlDevice_t device, int type, unsigned *mhz)) \
	X(1, power, nvmlDeviceGetPowerUsage, (nvmlDevice_t device, unsigned *milliwatts)) \
	X(1, temperature, nvmlDeviceGetTemperature, (nvmlDevice_t device, int sensor, unsigned *celsius)) \
	X(0, throttle, nvmlDeviceGetCurrentClocksEventReasons, (nvmlDevice_t device, unsigned long long *reasons)) \
	X(0, throttle_old, nvmlDeviceGetCurrentClocksThrottleReasons, (nvmlDevice_t device, unsigned long long *reasons)) \
	X(0, energy, nvmlDeviceGetTotalEnergyConsumption, (nvmlDevice_t device, unsigned long long *millijoules)) \
	X(0, processes, nvmlDeviceGetComputeRunningProcesses_v3, (nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *list)) \
	X(0, load, nvmlDeviceGetProcessUtilization, (nvmlDevice_t device, nvmlProcessUtilizationSample_t *list, unsigned *count, \
	                                              unsigned long long since))

extern const struct gpu_monitor_source cuda_nvml_watch;

#endif
