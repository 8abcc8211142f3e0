/* run: see run.h. The submitting and recording of operations is in record.c. */
#include "backends/hip/run.h"

#include <stdlib.h>
#include <string.h>

#include "backends/hip/device.h"
#include "backends/hip/object.h"
#include "backends/hip/record.h"
#include "base/mem.h"

enum { ALIGN = 1024 }; /* bytes, of every buffer's first element: the same as on the other backends */

struct backend_run {
	struct backend_device *device; /* borrowed */
	const struct plan *plan;       /* borrowed */
	hipModule_t module;
	hipFunction_t *functions;      /* per operation */
	void **blocks;                 /* per buffer: what was allocated, red zones included */
	char **buffers;                /* per buffer: its first element */
	hipGraphExec_t graph;          /* one execution of all operations; NULL where the device submits them each time */
};

void hip_run_release(struct backend_run *run)
{
	const struct hip_runtime *hip;

	if (!run)
		return;
	hip = &run->device->hip;
	if (run->graph)
		hip->graph_exec_free(run->graph);
	if (run->module)
		hip->module_unload(run->module);
	for (size_t i = 0; run->blocks && i < run->plan->buffer_count; i++)
		if (run->blocks[i])
			hip->memory_free(run->blocks[i]);
	free(run->functions);
	free(run->blocks);
	free(run->buffers);
	free(run);
}

static struct hip_record record_of(const struct backend_run *run)
{
	return (struct hip_record){ .device = run->device, .plan = run->plan, .buffers = run->buffers, .functions = run->functions };
}

static int allocate(struct backend_run *run, struct err *e)
{
	const struct hip_runtime *hip = &run->device->hip;

	for (size_t i = 0; i < run->plan->buffer_count; i++) {
		const struct plan_buffer *b = &run->plan->buffers[i];
		hipError_t result = hip->memory_alloc(&run->blocks[i], b->bytes + 2 * BACKEND_RED_ZONE + ALIGN);
		if (result == hipErrorOutOfMemory) {
			size_t left = 0, total = 0;
			hip->memory_info(&left, &total);
			return err_set(e, ERR_PRUNED, "buffer \"%s\" of %llu bytes does not fit into the memory of %s: %zu of %zu bytes are free",
			               b->name, (unsigned long long)b->bytes, run->device->facts.id, left, total);
		}
		if (result != hipSuccess)
			return hip_device_fail(run->device, result, "allocating buffers", e);
		run->buffers[i] = (char *)(((uintptr_t)run->blocks[i] + ALIGN - 1) / ALIGN * ALIGN) + BACKEND_RED_ZONE;
		if (b->role == PLAN_TABLE) {
			int rc = hip_run_write(run, (unsigned)i, 0, b->table, b->bytes, e);
			if (rc)
				return rc;
		}
	}
	return 0;
}

static int load(struct backend_run *run, const void *binary, const struct hip_object *object, struct err *e)
{
	const struct facts *f = &run->device->facts;
	hipError_t result;

	/* The runtime is only asked for code whose kernels this room has checked against the plan and the device. */
	for (size_t i = 0; i < run->plan->op_count; i++)
		if (run->plan->ops[i].kind == PLAN_OP_LAUNCH) {
			int rc = hip_record_check(run->device, &run->plan->ops[i].launch, object, e);
			if (rc)
				return rc;
		}
	result = run->device->hip.module_load(&run->module, binary);
	if (result == hipErrorNoBinaryForGpu || result == hipErrorInvalidImage || result == hipErrorInvalidKernelFile)
		return err_set(e, ERR_INPUT, "the code object does not run on %s (%s): it was compiled for another architecture than %s, or by a "
		               "newer ROCm than this runtime (%s); compile it for this device", f->id, f->name, f->arch, f->driver);
	return result == hipSuccess ? 0 : hip_device_fail(run->device, result, "loading the code object", e);
}

int hip_run_prepare(struct backend_device *device, const void *binary, size_t len, const struct plan *plan,
                    struct backend_run **ret_run, struct err *e)
{
	struct backend_run *run = MEM_NEW(struct backend_run);
	struct hip_object object = { .kernels = NULL };
	struct hip_record record;
	int rc;

	run->device = device;
	run->plan = plan;
	if (plan_is_library(plan)) {
		rc = err_set(e, ERR_UNSUPPORTED, "a library baseline on AMD devices is not measured: peakd does not speak to hipBLAS");
		goto out;
	}
	run->functions = MEM_NEW_N(hipFunction_t, plan->op_count + 1);
	run->blocks = MEM_NEW_N(void *, plan->buffer_count + 1);
	run->buffers = MEM_NEW_N(char *, plan->buffer_count + 1);
	if ((rc = hip_object_read(binary, len, &object, e)) || (rc = load(run, binary, &object, e)) || (rc = allocate(run, e)))
		goto out;
	record = record_of(run);
	rc = hip_record_ready(&record, run->module, e);
	if (!rc && device->graphs)
		rc = hip_record_graph(&record, &run->graph, e);
	if (rc)
		goto out;
	*ret_run = run;
	run = NULL;
out:
	hip_run_release(run);
	hip_object_fini(&object);
	return rc;
}

/* The address of bytes [offset, offset+bytes) of a buffer with its red zones. */
static int address(const struct backend_run *run, unsigned buffer, int64_t offset, size_t bytes, char **ret_at, struct err *e)
{
	uint64_t place = 0;
	int rc = backend_place(run->plan, buffer, offset, bytes, &place, e);

	if (!rc)
		*ret_at = run->buffers[buffer] - BACKEND_RED_ZONE + place;
	return rc;
}

int hip_run_write(struct backend_run *run, unsigned buffer, int64_t offset, const void *from, size_t bytes, struct err *e)
{
	struct backend_device *d = run->device;
	char *at = NULL;
	hipError_t result;
	int rc = address(run, buffer, offset, bytes, &at, e);

	if (rc || !bytes)
		return rc;
	/* The runtime's parameter is not const (until ROCm 7), but only read from. */
	result = d->hip.copy_in(at, (void *)(uintptr_t)from, bytes, d->stream);
	if (result == hipSuccess)
		result = d->hip.stream_wait(d->stream);
	return result == hipSuccess ? 0 : hip_device_fail(d, result, "writing a buffer", e);
}

int hip_run_read(struct backend_run *run, unsigned buffer, int64_t offset, void *to, size_t bytes, struct err *e)
{
	struct backend_device *d = run->device;
	char *at = NULL;
	hipError_t result;
	int rc = address(run, buffer, offset, bytes, &at, e);

	if (rc || !bytes)
		return rc;
	result = d->hip.copy_out(to, at, bytes, d->stream);
	if (result == hipSuccess)
		result = d->hip.stream_wait(d->stream);
	return result == hipSuccess ? 0 : hip_device_fail(d, result, "reading a buffer", e);
}

int hip_run_fill(struct backend_run *run, unsigned buffer, uint8_t value, struct err *e)
{
	struct backend_device *d = run->device;
	char *at = NULL;
	hipError_t result;
	int rc = address(run, buffer, 0, 0, &at, e);

	if (rc || !run->plan->buffers[buffer].bytes)
		return rc;
	result = d->hip.memory_set(at, value, run->plan->buffers[buffer].bytes, d->stream);
	return result == hipSuccess ? 0 : hip_device_fail(d, result, "filling a buffer", e);
}

static hipError_t replay(struct backend_run *run)
{
	struct hip_record record = record_of(run);
	size_t op;

	return run->graph ? run->device->hip.graph_launch(run->graph, run->device->stream) : hip_record_issue(&record, &op);
}

/* One timed window around `times` replays; waits for its end. */
static hipError_t window(struct backend_run *run, uint32_t times, double *ret_ns)
{
	const struct backend_device *d = run->device;
	hipError_t result = d->hip.event_record(d->start, d->stream);
	float ms = 0;

	for (uint32_t i = 0; i < times && result == hipSuccess; i++)
		result = replay(run);
	if (result == hipSuccess)
		result = d->hip.event_record(d->end, d->stream);
	if (result == hipSuccess)
		result = d->hip.stream_wait(d->stream);
	if (result == hipSuccess)
		result = d->hip.event_elapsed(&ms, d->start, d->end);
	*ret_ns = (double)ms * 1e6;
	return result;
}

int hip_run_execute(struct backend_run *run, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e)
{
	bool cold = cache != WIRE_WARM;
	struct backend_device *d = run->device;
	hipError_t result = hipSuccess;
	double sum = 0;

	if (!times)
		return err_set(e, ERR_INPUT, "execute: 0 times asked, 1 or more expected");
	if (cold && !d->flush) {
		result = d->hip.memory_alloc(&d->flush, d->flush_bytes);
		if (result != hipSuccess)
			return hip_device_fail(d, result, "allocating the scratch that flushes the caches", e);
	}
	for (uint32_t i = 0; i < (cold ? times : 1) && result == hipSuccess; i++) {
		double ns = 0;
		if (cold)
			result = d->hip.memory_set(d->flush, 0, d->flush_bytes, d->stream);
		if (result == hipSuccess)
			result = window(run, cold ? 1 : times, &ns);
		sum += ns;
	}
	if (result != hipSuccess)
		return hip_device_fail(d, result, "executing the plan", e);
	*ret_ns = (uint64_t)(sum / times + 0.5);
	return 0;
}
