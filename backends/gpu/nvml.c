/* nvml: see gpu.h. Names and values are NVIDIA's published interface (NVML API Reference Guide). */
#include "backends/gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

typedef int nvmlReturn_t;
typedef struct nvmlDevice_st *nvmlDevice_t;
enum { NVML_SUCCESS = 0, NVML_ERROR_NOT_FOUND = 6, NVML_ERROR_INSUFFICIENT_SIZE = 7 };
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_TEMPERATURE_GPU = 0 };

typedef struct {
	unsigned pid;
	unsigned long long time;                 /* microseconds since 1970 */
	unsigned core, memory, encoder, decoder; /* percent */
} nvmlProcessUtilizationSample_t;

typedef struct {
	unsigned pid;
	unsigned long long memory; /* bytes */
	unsigned instance, compute_instance;
} nvmlProcessInfo_t;

/* X(need, member, symbol, (parameters)) */
#define NVML_LIST(X)                                                                                                               \
	X(1, init, nvmlInit_v2, (void))                                                                                            \
	X(1, error_text, nvmlErrorString, (nvmlReturn_t result))                                                                   \
	X(1, device_by_uuid, nvmlDeviceGetHandleByUUID, (const char *uuid, nvmlDevice_t *device))                                  \
	X(1, clock, nvmlDeviceGetClockInfo, (nvmlDevice_t device, int type, unsigned *mhz))                                        \
	X(0, clock_max, nvmlDeviceGetMaxClockInfo, (nvmlDevice_t device, int type, unsigned *mhz))                                 \
	X(1, power, nvmlDeviceGetPowerUsage, (nvmlDevice_t device, unsigned *milliwatts))                                          \
	X(1, temperature, nvmlDeviceGetTemperature, (nvmlDevice_t device, int sensor, unsigned *celsius))                          \
	X(0, throttle, nvmlDeviceGetCurrentClocksEventReasons, (nvmlDevice_t device, unsigned long long *reasons))                 \
	X(0, throttle_old, nvmlDeviceGetCurrentClocksThrottleReasons, (nvmlDevice_t device, unsigned long long *reasons))          \
	X(0, energy, nvmlDeviceGetTotalEnergyConsumption, (nvmlDevice_t device, unsigned long long *millijoules))                  \
	X(0, processes, nvmlDeviceGetComputeRunningProcesses_v3, (nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *list))  \
	X(0, load, nvmlDeviceGetProcessUtilization,                                                                                \
	  (nvmlDevice_t device, nvmlProcessUtilizationSample_t * list, unsigned *count, unsigned long long since))

enum { PROCESSES = 64, SAMPLES = 256, REASONS = 0xff };

#define MEMBER(need, member, symbol, parameters) nvmlReturn_t(*member) parameters;
#define SYMBOL(need, member, symbol, parameters) GPU_SYMBOL(nvml, member, symbol, need)

struct nvml {
	NVML_LIST(MEMBER)
	nvmlDevice_t device;
	uint32_t max_mhz;
};

static const struct gpu_symbol symbols[] = { NVML_LIST(SYMBOL) };

#define UNWATCHED "clocks, power and other load are not monitored"

static int fail(const struct nvml *n, nvmlReturn_t result, const char *doing, struct err *e)
{
	/* Declared like the others, but it returns a text. */
	const char *(*text)(nvmlReturn_t) = NULL;
	*(void **)&text = *(void *const *)&n->error_text;
	return err_set(e, ERR_UNSUPPORTED, UNWATCHED ": NVML answers \"%s\" to %s; see nvidia-smi", text(result), doing);
}

/* "GPU-01234567-89ab-…"; what has no such digits is left as it is. */
static const char *name_of(const char *uuid, char name[64])
{
	char d[FACTS_UUID_DIGITS + 1];
	if (!facts_uuid_digits(uuid, d))
		return uuid;
	snprintf(name, 64, "GPU-%.8s-%.4s-%.4s-%.4s-%.12s", d, d + 8, d + 12, d + 16, d + 20);
	return name;
}

static int open_device(const char *uuid, void **ret_state, struct err *e)
{
	char name[64];
	struct buf tried = BUF_INIT;
	void *handle = gpu_library_open_driver("PEAKD_CUDA_NVML", "libnvidia-ml.so.1", &tried);
	const char *missing;
	struct nvml *n;
	nvmlReturn_t result;
	unsigned mhz = 0;
	int rc = 0;

	buf_fini(&tried);
	if (!handle)
		return err_set(e, ERR_UNSUPPORTED,
			       UNWATCHED
			       ": libnvidia-ml.so.1 cannot be loaded; it comes with NVIDIA's driver (Debian: libnvidia-ml1)");
	n = MEM_NEW(struct nvml);
	missing = gpu_library_fill(handle, symbols, MEM_COUNT(symbols), n);
	if (missing)
		rc = err_set(e, ERR_UNSUPPORTED, UNWATCHED ": libnvidia-ml has no %s", missing);
	else if ((result = n->init()) != NVML_SUCCESS)
		rc = fail(n, result, "nvmlInit", e);
	else if ((result = n->device_by_uuid(name_of(uuid, name), &n->device)) != NVML_SUCCESS)
		rc = fail(n, result, "the device's UUID", e);
	if (rc) {
		free(n);
		return rc;
	}
	if (n->clock_max && n->clock_max(n->device, NVML_CLOCK_SM, &mhz) == NVML_SUCCESS)
		n->max_mhz = mhz;
	*ret_state = n;
	return 0;
}

static void read_device(void *state, struct wire_condition *c, uint32_t *ret_max_mhz)
{
	struct nvml *n = state;
	unsigned long long reasons = 0;

	n->clock(n->device, NVML_CLOCK_SM, &c->core_mhz);
	n->clock(n->device, NVML_CLOCK_MEM, &c->memory_mhz);
	n->power(n->device, &c->milliwatts);
	n->temperature(n->device, NVML_TEMPERATURE_GPU, &c->celsius);
	/* The bits of nvmlClocksEventReason… are those of enum wire_throttle. */
	if (n->throttle)
		n->throttle(n->device, &reasons);
	else if (n->throttle_old)
		n->throttle_old(n->device, &reasons);
	c->throttle = (uint32_t)(reasons & REASONS);
	*ret_max_mhz = n->max_mhz;
}

static uint32_t foreign(void *state, uint64_t since)
{
	struct nvml *n = state;
	nvmlProcessUtilizationSample_t list[SAMPLES];
	nvmlProcessInfo_t users[PROCESSES];
	unsigned count = SAMPLES, user_count = PROCESSES, own = (unsigned)getpid(), most = 0, i = 0;
	nvmlReturn_t result;

	if (!n->load || !n->processes || n->processes(n->device, &user_count, users) != NVML_SUCCESS)
		return WIRE_UNKNOWN;
	while (i < user_count && i < PROCESSES && users[i].pid != own)
		i++;
	if (i == user_count || i == PROCESSES)
		return WIRE_UNKNOWN; /* in a container the list has the host's process numbers, so this process is not in it */
	result = n->load(n->device, list, &count, since);
	if (result == NVML_ERROR_NOT_FOUND)
		return 0; /* no samples: nobody has used the device since then */
	if (result != NVML_SUCCESS)
		return WIRE_UNKNOWN;
	for (i = 0; i < count && i < SAMPLES; i++)
		if (list[i].pid != own && list[i].pid != 0 && list[i].time > since && list[i].core > most)
			most = list[i].core;
	return most > 100 ? 100 : most;
}

static bool energy(void *state, uint64_t *ret_millijoules)
{
	struct nvml *n = state;
	unsigned long long value = 0;

	if (!n->energy || n->energy(n->device, &value) != NVML_SUCCESS)
		return false;
	*ret_millijoules = value;
	return true;
}

const struct gpu_monitor_source gpu_nvml_monitor = {
	.open = open_device,
	.read = read_device,
	.foreign = foreign,
	.energy = energy,
	.close = free,
};
