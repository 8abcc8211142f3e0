/* device: see run.h. */
#include "backends/gpu/run.h"

#include <stdlib.h>
#include <string.h>

enum { NEARLY_FULL = 16 /* the part of a device's memory that launches need at most beside buffers */ };

/* After these every later call in the process fails ("the context is corrupted", CUDA Driver API, CUresult). Most faults on
 * AMD never come this far: the runtime aborts the process itself ("Memory access fault by GPU node"), which the daemon sees
 * as a worker's death. */
static const gpu_result faults[] = {
	GPU_ILLEGAL_ADDRESS,    GPU_LAUNCH_TIMEOUT,        GPU_ASSERT,     GPU_HARDWARE_STACK_ERROR, GPU_ILLEGAL_INSTRUCTION,
	GPU_MISALIGNED_ADDRESS, GPU_INVALID_ADDRESS_SPACE, GPU_INVALID_PC, GPU_LAUNCH_FAILED,        GPU_TENSOR_MEMORY_LEAK,
	GPU_RUNTIME_MEMORY,     GPU_RUNTIME_OTHER,
};

/* The same, but no kernel is to blame. */
static const gpu_result troubles[] = {
	GPU_DEINITIALIZED,      GPU_DEVICE_UNAVAILABLE, GPU_INVALID_CONTEXT,   GPU_ECC_UNCORRECTABLE,
	GPU_LINK_UNCORRECTABLE, GPU_CONTAINED,          GPU_CONTEXT_DESTROYED, GPU_UNKNOWN,
};

static bool is_among(const gpu_result *list, size_t count, gpu_result result)
{
	for (size_t i = 0; i < count; i++)
		if (result == list[i])
			return true;
	return false;
}

/* Then a lack of memory says nothing about a configuration. */
static bool is_nearly_full(const struct backend_device *device)
{
	size_t left = 0, total = 0;
	return device->api.memory_info(&left, &total) != GPU_SUCCESS || left < total / NEARLY_FULL;
}

int gpu_device_fail(const struct backend_device *device, gpu_result result, const char *doing, struct err *e)
{
	bool amd = strcmp(device->facts.backend, "hip") == 0;
	const char *name = NULL, *text = NULL;

	if (amd) {
		name = device->api.name_of_error(result);
		text = device->api.text_of_error(result);
	} else {
		device->api.error_name(result, &name);
		device->api.error_text(result, &text);
	}
	name = name ? name : "unknown error";
	text = text ? text : "the driver has no text for it";
	if (is_among(troubles, sizeof troubles / sizeof *troubles, result))
		return err_set(e, ERR_IO, "%s is in trouble: %d while %s: %s (%s)", device->facts.id, result, doing, name, text);
	if (is_among(faults, sizeof faults / sizeof *faults, result))
		return err_set(e, ERR_CRASH,
			       "device fault %d while %s: %s (%s). The kernel accesses memory that it must not, or stops itself; "
			       "the worker process has to be replaced",
			       result, doing, name, text);
	if (result == GPU_NOT_SUPPORTED)
		return err_set(e, ERR_UNSUPPORTED, "%s does not support this, while %s: %s (%s)", device->facts.id, doing, name,
			       text);
	if (result == GPU_OUT_OF_MEMORY && is_nearly_full(device))
		return err_set(e, ERR_BUSY,
			       "%s has hardly any memory left while %s (%s): another process may hold it; try again later",
			       device->facts.id, doing, name);
	if (result == GPU_OUT_OF_MEMORY || result == GPU_INVALID_CONFIGURATION || result == GPU_OUT_OF_RESOURCES ||
	    result == GPU_COOPERATIVE_TOO_LARGE || result == GPU_INVALID_CLUSTER_SIZE)
		return err_set(e, ERR_PRUNED, "%s refuses this configuration while %s: %d %s (%s)", device->facts.id, doing, result,
			       name, text);
	return err_set(e, ERR_INTERNAL, "the %s fails while %s: %d %s (%s)", amd ? "HIP runtime" : "CUDA driver", doing, result,
		       name, text);
}

int gpu_device_start(struct backend_device *d, size_t flush_min, struct err *e)
{
	gpu_result result = d->api.stream_new(&d->stream, GPU_STREAM_NON_BLOCKING);

	if (result == GPU_SUCCESS)
		result = d->api.event_new(&d->start, GPU_EVENT_DEFAULT);
	if (result == GPU_SUCCESS)
		result = d->api.event_new(&d->end, GPU_EVENT_DEFAULT);
	if (result != GPU_SUCCESS)
		return gpu_device_fail(d, result, "making a stream and events", e);
	/* Twice the cache: one that does not replace strictly in order would keep some of the old lines. */
	d->flush_bytes = 2 * d->cache_bytes > flush_min ? 2 * d->cache_bytes : flush_min;
	return 0;
}

void gpu_device_close(struct backend_device *device)
{
	if (!device)
		return;
	/* After a fault all of these fail, which does not matter: the process ends. */
	gpu_judge_free(device);
	gpu_scrub_free(device);
	if (device->flush)
		device->api.memory_free(device->flush);
	if (device->start)
		device->api.event_free(device->start);
	if (device->end)
		device->api.event_free(device->end);
	if (device->stream)
		device->api.stream_free(device->stream);
	if (device->context)
		device->api.context_release(device->handle);
	free(device->gemms);
	free(device->cupti);
	free(device);
}

gpu_result gpu_device_flush(struct backend_device *device)
{
	return device->flush ? GPU_SUCCESS : device->api.memory_alloc(&device->flush, device->flush_bytes);
}

gpu_result gpu_device_window_end(const struct backend_device *device, float *ret_ms)
{
	gpu_result result = device->api.event_record(device->end, device->stream);

	if (result == GPU_SUCCESS)
		result = device->api.stream_wait(device->stream);
	return result == GPU_SUCCESS ? device->api.event_elapsed(ret_ms, device->start, device->end) : result;
}

gpu_result gpu_device_write(const struct backend_device *device, gpu_address to, const void *from, size_t bytes)
{
	gpu_result result = device->api.copy_in(to, from, bytes, device->stream);

	return result == GPU_SUCCESS ? device->api.stream_wait(device->stream) : result;
}

gpu_result gpu_device_read(const struct backend_device *device, void *to, gpu_address from, size_t bytes)
{
	gpu_result result = device->api.copy_out(to, from, bytes, device->stream);

	return result == GPU_SUCCESS ? device->api.stream_wait(device->stream) : result;
}
