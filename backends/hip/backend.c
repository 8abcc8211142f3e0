/* backend: the HIP backend's table, listed in backends/worker/backend.c. */
#include "backends/hip/backend.h"

#include "backends/hip/compile.h"
#include "backends/hip/device.h"
#include "backends/hip/facts.h"
#include "backends/hip/run.h"

const struct backend backend_hip = {
	.name = "hip",
	.devices = hip_facts_devices,
	.describe = hip_facts_describe,
	.compile = hip_compile,
	.open = hip_device_open,
	.close = hip_device_close,
	.prepare = hip_run_prepare,
	.write = hip_run_write,
	.read = hip_run_read,
	.fill = hip_run_fill,
	.execute = hip_run_execute,
	.release = hip_run_release,
};
