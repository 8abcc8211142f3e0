/* device: see device.h. */
#include "backends/cuda/device.h"

#include <stdlib.h>

#include "backends/cuda/facts.h"
#include "base/mem.h"

enum { FLUSH_MIN = 64 << 20 }; /* bytes; when the driver does not tell the size of the L2 */

/* Faults after which every later call in this process fails ("the context is corrupted", CUDA Driver API, CUresult). */
static bool is_fault(CUresult result)
{
	switch (result) {
	case CUDA_ERROR_ECC_UNCORRECTABLE:
	case CUDA_ERROR_ILLEGAL_ADDRESS:
	case CUDA_ERROR_LAUNCH_TIMEOUT:
	case CUDA_ERROR_ASSERT:
	case CUDA_ERROR_HARDWARE_STACK_ERROR:
	case CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case CUDA_ERROR_MISALIGNED_ADDRESS:
	case CUDA_ERROR_INVALID_ADDRESS_SPACE:
	case CUDA_ERROR_INVALID_PC:
	case CUDA_ERROR_LAUNCH_FAILED:
	case CUDA_ERROR_TENSOR_MEMORY_LEAK:
		return true;
	default: /* an open set of numbers, not an enum of ours */
		return false;
	}
}

static bool is_limit(CUresult result)
{
	return result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES ||
	       result == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE || result == CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

int cuda_device_fail(const struct backend_device *device, CUresult result, const char *doing, struct err *e)
{
	const char *name = NULL, *text = NULL;

	device->cu.error_name(result, &name);
	device->cu.error_text(result, &text);
	name = name ? name : "unknown error";
	text = text ? text : "the driver has no text for it";
	if (is_fault(result))
		return err_set(e, ERR_CRASH, "device fault %d while %s: %s (%s). The kernel reads or writes where it must not, or stops itself; "
		               "the worker process has to be replaced", result, doing, name, text);
	if (is_limit(result))
		return err_set(e, ERR_PRUNED, "%s refuses this configuration while %s: %d %s (%s)", device->facts.id, doing, result, name, text);
	return err_set(e, ERR_INTERNAL, "the CUDA driver fails while %s: %d %s (%s)", doing, result, name, text);
}

CUresult cuda_device_flush(struct backend_device *device)
{
	return device->flush ? CUDA_SUCCESS : device->cu.memory_alloc(&device->flush, device->flush_bytes);
}

void cuda_device_close(struct backend_device *device)
{
	if (!device)
		return;
	/* After a fault all of these fail, which changes nothing: the process ends. */
	if (device->flush)
		device->cu.memory_free(device->flush);
	if (device->start)
		device->cu.event_free(device->start);
	if (device->end)
		device->cu.event_free(device->end);
	if (device->stream)
		device->cu.stream_free(device->stream);
	if (device->context)
		device->cu.context_release(device->handle);
	free(device->gemms);
	free(device);
}

int cuda_device_open(uint32_t index, struct backend_device **ret_device, struct err *e)
{
	struct backend_device *d = MEM_NEW(struct backend_device);
	CUresult result;
	int value = 0, rc = cuda_library_driver(&d->cu, e);

	if (rc || (rc = cuda_facts_device(&d->cu, index, &d->facts, e)))
		goto out;
	d->cu.device_get(&d->handle, (int)index);
	result = d->cu.context_retain(&d->context, d->handle);
	if (result != CUDA_SUCCESS) {
		rc = cuda_device_fail(d, result, "opening the device (is it in exclusive mode and in use, or out of memory? see nvidia-smi)", e);
		goto out;
	}
	if ((result = d->cu.context_use(d->context)) != CUDA_SUCCESS ||
	    (result = d->cu.stream_new(&d->stream, CU_STREAM_NON_BLOCKING)) != CUDA_SUCCESS ||
	    (result = d->cu.event_new(&d->start, CU_EVENT_DEFAULT)) != CUDA_SUCCESS ||
	    (result = d->cu.event_new(&d->end, CU_EVENT_DEFAULT)) != CUDA_SUCCESS) {
		rc = cuda_device_fail(d, result, "making a stream and events", e);
		goto out;
	}
	d->cooperative = d->cu.device_attribute(&value, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, d->handle) == CUDA_SUCCESS && value;
	value = 0;
	d->tensor_maps = d->cu.tensor_map &&
	                 d->cu.device_attribute(&value, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, d->handle) == CUDA_SUCCESS && value;
	/* Twice the cache: with less, a cache that does not replace strictly in order keeps some of the old lines. */
	d->flush_bytes = 2 * d->facts.l2_bytes > FLUSH_MIN ? 2 * d->facts.l2_bytes : FLUSH_MIN;
	*ret_device = d;
	return 0;
out:
	cuda_device_close(d);
	return rc;
}
