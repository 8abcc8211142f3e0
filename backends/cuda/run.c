/* run: see run.h. The recording of operations into a graph is in record.c. */
#include "backends/cuda/run.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cubin.h"
#include "backends/cuda/device.h"
#include "backends/cuda/record.h"
#include "base/mem.h"

enum { ALIGN = 1024 }; /* bytes, of every buffer's first element: what 128-byte swizzled tiles want, and more than cuMemAlloc gives */

struct backend_run {
	struct backend_device *device; /* borrowed */
	const struct plan *plan;       /* borrowed */
	CUmodule module;
	CUdeviceptr *blocks;           /* per buffer: what was allocated, red zones included */
	CUdeviceptr *buffers;          /* per buffer: its first element */
	CUtensorMap *maps;             /* per tensor map of the plan */
	CUgraphExec graph;             /* one execution of all operations */
};

void cuda_run_release(struct backend_run *run)
{
	const struct cuda_driver *cu;

	if (!run)
		return;
	cu = &run->device->cu;
	cu->context_use(run->device->context);
	if (run->graph)
		cu->graph_exec_free(run->graph);
	if (run->module)
		cu->module_unload(run->module);
	for (size_t i = 0; run->blocks && i < run->plan->buffer_count; i++)
		if (run->blocks[i])
			cu->memory_free(run->blocks[i]);
	free(run->blocks);
	free(run->buffers);
	free(run->maps);
	free(run);
}

static int allocate(struct backend_run *run, struct err *e)
{
	const struct cuda_driver *cu = &run->device->cu;

	for (size_t i = 0; i < run->plan->buffer_count; i++) {
		const struct plan_buffer *b = &run->plan->buffers[i];
		/* Plain allocations only: managed memory would move pages while a kernel is timed. */
		CUresult result = cu->memory_alloc(&run->blocks[i], b->bytes + 2 * BACKEND_RED_ZONE + ALIGN);
		if (result == CUDA_ERROR_OUT_OF_MEMORY) {
			size_t left = 0, total = 0;
			cu->memory_info(&left, &total);
			return err_set(e, ERR_PRUNED, "buffer \"%s\" of %llu bytes does not fit into the memory of %s: %zu of %zu bytes are free",
			               b->name, (unsigned long long)b->bytes, run->device->facts.id, left, total);
		}
		if (result != CUDA_SUCCESS)
			return cuda_device_fail(run->device, result, "allocating buffers", e);
		run->buffers[i] = (run->blocks[i] + ALIGN - 1) / ALIGN * ALIGN + BACKEND_RED_ZONE;
		if (b->role == PLAN_TABLE) {
			int rc = cuda_run_write(run, (unsigned)i, 0, b->table, b->bytes, e);
			if (rc)
				return rc;
		}
	}
	return 0;
}

static int load(struct backend_run *run, const void *binary, const struct cuda_cubin *cubin, struct err *e)
{
	const struct facts *f = &run->device->facts;
	CUresult result;

	/* The driver is only asked for binaries whose kernels this room has checked against the plan and the device. */
	for (size_t i = 0; i < run->plan->op_count; i++)
		if (run->plan->ops[i].kind == PLAN_OP_LAUNCH) {
			int rc = cuda_record_check(run->device, &run->plan->ops[i].launch, cubin, e);
			if (rc)
				return rc;
		}
	result = run->device->cu.module_load(&run->module, binary);
	if (result == CUDA_ERROR_NO_BINARY_FOR_GPU || result == CUDA_ERROR_INVALID_IMAGE)
		return err_set(e, ERR_INPUT, "the binary does not run on %s (%s): it was compiled for another architecture than %s, or by a newer "
		               "toolkit than the driver knows (%s); compile it for this device", f->id, f->name, f->arch, f->driver);
	if (result != CUDA_SUCCESS)
		return cuda_device_fail(run->device, result, "loading the binary", e);
	return 0;
}

int cuda_run_prepare(struct backend_device *device, const void *binary, size_t len, const struct plan *plan,
                     struct backend_run **ret_run, struct err *e)
{
	struct backend_run *run = MEM_NEW(struct backend_run);
	struct cuda_cubin cubin = { .kernels = NULL };
	struct cuda_record record;
	int rc = cuda_cubin_read(binary, len, &cubin, e);

	run->device = device;
	run->plan = plan;
	run->blocks = MEM_NEW_N(CUdeviceptr, plan->buffer_count + 1);
	run->buffers = MEM_NEW_N(CUdeviceptr, plan->buffer_count + 1);
	/* Not mem_new: the driver wants maps aligned. */
	run->maps = aligned_alloc(_Alignof(CUtensorMap), (plan->map_count + 1) * sizeof *run->maps);
	if (!run->maps)
		abort();
	memset(run->maps, 0, (plan->map_count + 1) * sizeof *run->maps);
	if (rc)
		goto out;
	device->cu.context_use(device->context);
	record = (struct cuda_record){ .device = device, .plan = plan, .buffers = run->buffers, .maps = run->maps };
	if ((rc = load(run, binary, &cubin, e)) || (rc = allocate(run, e)))
		goto out;
	record.module = run->module;
	rc = cuda_record_graph(&record, &run->graph, e);
	if (rc)
		goto out;
	*ret_run = run;
	run = NULL;
out:
	cuda_run_release(run);
	cuda_cubin_fini(&cubin);
	return rc;
}

/* The address of bytes [offset, offset+bytes) of a buffer with its red zones. */
static int address(const struct backend_run *run, unsigned buffer, int64_t offset, size_t bytes, CUdeviceptr *ret_at, struct err *e)
{
	uint64_t from = (uint64_t)offset + BACKEND_RED_ZONE, whole; /* what lies before the red zone wraps to a huge number */

	if (buffer >= run->plan->buffer_count)
		return err_set(e, ERR_INPUT, "there is no buffer %u: the plan has %zu", buffer, run->plan->buffer_count);
	whole = run->plan->buffers[buffer].bytes + 2 * BACKEND_RED_ZONE;
	if (from > whole || bytes > whole - from)
		return err_set(e, ERR_INPUT, "%zu bytes at offset %lld are outside of buffer \"%s\" (%llu bytes) and its red zones", bytes,
		               (long long)offset, run->plan->buffers[buffer].name, (unsigned long long)run->plan->buffers[buffer].bytes);
	*ret_at = run->buffers[buffer] + (CUdeviceptr)offset;
	return 0;
}

int cuda_run_write(struct backend_run *run, unsigned buffer, int64_t offset, const void *from, size_t bytes, struct err *e)
{
	struct backend_device *d = run->device;
	CUdeviceptr at = 0;
	CUresult result;
	int rc = address(run, buffer, offset, bytes, &at, e);

	if (rc || !bytes)
		return rc;
	d->cu.context_use(d->context);
	result = d->cu.copy_in(at, from, bytes, d->stream);
	if (result == CUDA_SUCCESS)
		result = d->cu.stream_wait(d->stream);
	return result == CUDA_SUCCESS ? 0 : cuda_device_fail(d, result, "writing a buffer", e);
}

int cuda_run_read(struct backend_run *run, unsigned buffer, int64_t offset, void *to, size_t bytes, struct err *e)
{
	struct backend_device *d = run->device;
	CUdeviceptr at = 0;
	CUresult result;
	int rc = address(run, buffer, offset, bytes, &at, e);

	if (rc || !bytes)
		return rc;
	d->cu.context_use(d->context);
	result = d->cu.copy_out(to, at, bytes, d->stream);
	if (result == CUDA_SUCCESS)
		result = d->cu.stream_wait(d->stream);
	return result == CUDA_SUCCESS ? 0 : cuda_device_fail(d, result, "reading a buffer", e);
}

/* One timed window around `times` replays; waits for its end. */
static CUresult window(struct backend_run *run, uint32_t times, double *ret_ns)
{
	const struct backend_device *d = run->device;
	CUresult result = d->cu.event_record(d->start, d->stream);
	float ms = 0;

	for (uint32_t i = 0; i < times && result == CUDA_SUCCESS; i++)
		result = d->cu.graph_launch(run->graph, d->stream);
	if (result == CUDA_SUCCESS)
		result = d->cu.event_record(d->end, d->stream);
	if (result == CUDA_SUCCESS)
		result = d->cu.stream_wait(d->stream);
	if (result == CUDA_SUCCESS)
		result = d->cu.event_elapsed(&ms, d->start, d->end);
	*ret_ns = (double)ms * 1e6;
	return result;
}

int cuda_run_execute(struct backend_run *run, uint32_t times, bool cold, uint64_t *ret_ns, struct err *e)
{
	struct backend_device *d = run->device;
	CUresult result = d->cu.context_use(d->context);
	double sum = 0;

	if (!times)
		return err_set(e, ERR_INPUT, "execute: 0 times asked, 1 or more expected");
	if (cold && !d->flush) {
		result = d->cu.memory_alloc(&d->flush, d->flush_bytes);
		if (result != CUDA_SUCCESS)
			return cuda_device_fail(d, result, "allocating the scratch that flushes the L2 cache", e);
	}
	for (uint32_t i = 0; i < (cold ? times : 1) && result == CUDA_SUCCESS; i++) {
		double ns = 0;
		if (cold)
			result = d->cu.memory_set(d->flush, 0, d->flush_bytes, d->stream);
		if (result == CUDA_SUCCESS)
			result = window(run, cold ? 1 : times, &ns);
		sum += ns;
	}
	if (result != CUDA_SUCCESS)
		return cuda_device_fail(d, result, "executing the plan", e);
	*ret_ns = (uint64_t)(sum / times + 0.5);
	return 0;
}
