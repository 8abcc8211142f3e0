/* backend: the HIP backend's table, and what only HIP does when it opens a device and prepares a plan. gpu/run.c does the
 * rest. */
#include "backends/hip/hip.h"

#include "backends/gpu/run.h"
#include "backends/hip/api.h"
#include "base/mem.h"

/* Bytes. The memory-side cache behind the L2 (256 MiB on MI300X, up to 128 MiB on RDNA) has no attribute, so it is always
 * assumed. */
enum { CACHE_MIN = 256 << 20 };
enum { GRAPHS_SINCE = 6 }; /* ROCm: captures were incomplete before (cooperative launches, memset nodes) */

static int open_device(uint32_t index, struct backend_device **ret_device, struct err *e)
{
	struct backend_device *d = MEM_NEW(struct backend_device);
	const struct gpu_driver *api = &d->api;
	gpu_result result;
	int rc = hip_library_runtime(&d->api, e);
	if (!rc)
		rc = hip_facts_device(api, index, &d->facts, e);
	if (rc)
		goto out;
	result = api->device_use((int)index);
	if (result != GPU_SUCCESS) {
		rc = gpu_device_fail(d, result, "opening the device (see rocminfo and dmesg)", e);
		goto out;
	}
	d->cooperative = api->launch_cooperative && gpu_facts_ask(api, (int)index, hipDeviceAttributeCooperativeLaunch);
	d->graphs = api->major >= GRAPHS_SINCE && api->capture_begin && api->capture_end && api->graph_free &&
		    api->graph_instantiate && api->graph_launch && api->graph_exec_free;
	d->cache_bytes = d->facts.l2_bytes > CACHE_MIN ? d->facts.l2_bytes : CACHE_MIN;
	if ((rc = gpu_device_start(d, 0, e)))
		goto out;
	*ret_device = d;
	return 0;
out:
	gpu_device_close(d);
	return rc;
}

static int prepare(struct backend_device *device, const void *binary, size_t len, const struct plan *plan,
		   struct backend_run **ret_run, struct err *e)
{
	struct backend_run *run = MEM_NEW(struct backend_run);
	struct gpu_module module = { .kernels = NULL };
	int rc;
	*run = (struct backend_run){ .device = device, .plan = plan };
	if (plan_is_library(plan))
		rc = err_set(e, ERR_UNSUPPORTED,
			     "peakd does not measure a library baseline on AMD devices: it has no support for hipBLAS");
	else
		rc = hip_object_read(binary, len, &module, e);
	if (!rc)
		rc = gpu_run_load(run, binary, &module, e);
	if (!rc)
		rc = gpu_run_record(run, e);
	gpu_module_fini(&module);
	if (rc)
		gpu_run_free(run);
	else
		*ret_run = run;
	return rc;
}

static int make_sets(struct backend_run *run, enum wire_cache cache, unsigned *ret_count, struct err *e)
{
	return gpu_run_make_sets(run, cache, gpu_run_record, ret_count, e);
}

const struct backend backend_hip = {
	.name = "hip",
	.devices = hip_facts_devices,
	.describe = hip_facts_describe,
	.compile = hip_compile,
	.open = open_device,
	.prepare = prepare,
	.make_sets = make_sets,
	.execute = gpu_run_execute,
	.release = gpu_run_free,
	GPU_RUN_BACKEND,
};
