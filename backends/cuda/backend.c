/* backend: the CUDA backend's table, listed in backends/worker/backend.c. */
#include "backends/cuda/backend.h"

#include "backends/cuda/ceilings.h"
#include "backends/cuda/compile.h"
#include "backends/cuda/device.h"
#include "backends/cuda/facts.h"
#include "backends/cuda/nvml.h"
#include "backends/cuda/run.h"

const struct backend backend_cuda = {
	.name = "cuda",
	.watch = &cuda_nvml_watch,
	.ceilings = cuda_ceilings,
	.devices = cuda_facts_devices,
	.describe = cuda_facts_describe,
	.compile = cuda_compile,
	.open = cuda_device_open,
	.close = cuda_device_close,
	.prepare = cuda_run_prepare,
	.write = cuda_run_write,
	.read = cuda_run_read,
	.fill = cuda_run_fill,
	.execute = cuda_run_execute,
	.release = cuda_run_release,
};
