/* device: see device.h. */
#include "backends/hip/device.h"

#include <stdlib.h>

#include "backends/hip/facts.h"
#include "base/mem.h"

/* Bytes. The memory-side cache behind the L2 (256 MiB on MI300X, up to 128 MiB on RDNA) has no attribute, so it is covered always. */
enum { FLUSH_MIN = 512 << 20 };
enum { GRAPHS_SINCE = 6 }; /* ROCm: before, captures were incomplete (cooperative launches, memset nodes) */

/* Faults after which nothing on this device can be trusted in this process. Most faults never come this far: the runtime itself aborts
 * the process ("Memory access fault by GPU node"), which the daemon sees as a worker's death. */
static bool is_fault(hipError_t result)
{
	return result == hipErrorECCNotCorrectable || result == hipErrorIllegalAddress || result == hipErrorLaunchTimeOut ||
	       result == hipErrorAssert || result == hipErrorLaunchFailure || result == hipErrorRuntimeMemory ||
	       result == hipErrorRuntimeOther;
}

static bool is_limit(hipError_t result)
{
	return result == hipErrorOutOfMemory || result == hipErrorInvalidConfiguration || result == hipErrorLaunchOutOfResources ||
	       result == hipErrorCooperativeLaunchTooLarge;
}

int hip_device_fail(const struct backend_device *device, hipError_t result, const char *doing, struct err *e)
{
	const char *name = device->hip.error_name(result), *text = device->hip.error_text(result);

	name = name ? name : "unknown error";
	text = text ? text : "the runtime has no text for it";
	if (is_fault(result))
		return err_set(e, ERR_CRASH, "device fault %d while %s: %s (%s). The kernel reads or writes where it must not, or stops itself; "
		               "the worker process has to be replaced", result, doing, name, text);
	if (result == hipErrorNotSupported)
		return err_set(e, ERR_UNSUPPORTED, "%s cannot do this, while %s: %s (%s)", device->facts.id, doing, name, text);
	if (is_limit(result))
		return err_set(e, ERR_PRUNED, "%s refuses this configuration while %s: %d %s (%s)", device->facts.id, doing, result, name, text);
	return err_set(e, ERR_INTERNAL, "the HIP runtime fails while %s: %d %s (%s)", doing, result, name, text);
}

void hip_device_close(struct backend_device *device)
{
	if (!device)
		return;
	/* After a fault all of these fail, which changes nothing: the process ends. */
	if (device->flush)
		device->hip.memory_free(device->flush);
	if (device->start)
		device->hip.event_free(device->start);
	if (device->end)
		device->hip.event_free(device->end);
	if (device->stream)
		device->hip.stream_free(device->stream);
	free(device);
}

static bool has_graphs(const struct hip_runtime *rt)
{
	return rt->major >= GRAPHS_SINCE && rt->capture_begin && rt->capture_end && rt->graph_free && rt->graph_instantiate &&
	       rt->graph_launch && rt->graph_exec_free;
}

int hip_device_open(uint32_t index, struct backend_device **ret_device, struct err *e)
{
	struct backend_device *d = MEM_NEW(struct backend_device);
	hipError_t result;
	int value = 0, rc = hip_library_runtime(&d->hip, e);

	if (rc || (rc = hip_facts_device(&d->hip, index, &d->facts, e)))
		goto out;
	if ((result = d->hip.device_use((int)index)) != hipSuccess ||
	    (result = d->hip.stream_new(&d->stream, hipStreamNonBlocking)) != hipSuccess ||
	    (result = d->hip.event_new(&d->start, hipEventDefault)) != hipSuccess ||
	    (result = d->hip.event_new(&d->end, hipEventDefault)) != hipSuccess) {
		rc = hip_device_fail(d, result, "opening the device and making a stream and events (see rocminfo and dmesg)", e);
		goto out;
	}
	d->cooperative = d->hip.launch_cooperative &&
	                 d->hip.device_attribute(&value, hipDeviceAttributeCooperativeLaunch, (int)index) == hipSuccess && value;
	d->graphs = has_graphs(&d->hip);
	/* Twice the cache: with less, a cache that does not replace strictly in order keeps some of the old lines. */
	d->flush_bytes = 2 * d->facts.l2_bytes > FLUSH_MIN ? 2 * d->facts.l2_bytes : FLUSH_MIN;
	*ret_device = d;
	return 0;
out:
	hip_device_close(d);
	return rc;
}
