/* run: see run.h. The recording of operations into a graph is in record.c. */
#include "backends/cuda/run.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cubin.h"
#include "backends/cuda/device.h"
#include "backends/cuda/gemm.h"
#include "backends/cuda/record.h"
#include "backends/cuda/set.h"
#include "base/mem.h"

/* Written before a timed window of rotated sets: hides the time that the CPU takes to submit, and is no more than a part of the L2. */
enum { HIDE_BYTES = 32 << 20 };

struct backend_run {
	struct backend_device *device; /* borrowed */
	const struct plan *plan;       /* borrowed */
	CUmodule module;
	struct cuda_gemm *gemm;        /* of a library plan; else NULL */
	struct cuda_set sets[CUDA_SET_MAX]; /* they take turns in cold timing */
	unsigned current;              /* the set that is written, read and executed warm */
	unsigned home;                 /* the set that was written last */
	unsigned set_count;            /* that are there */
	unsigned wanted;               /* sets for cold timing; 1: the cache is flushed; 0: not yet decided */
	unsigned turn;                 /* set of the last cold execution */
	bool stale;                    /* the current set was written after the others were copied from it */
};

void cuda_run_release(struct backend_run *run)
{
	const struct cuda_driver *cu;

	if (!run)
		return;
	cu = &run->device->cu;
	cu->context_use(run->device->context);
	for (unsigned i = 0; i < MEM_COUNT(run->sets); i++)
		cuda_set_fini(&run->sets[i], run->device, run->plan);
	if (run->module)
		cu->module_unload(run->module);
	cuda_gemm_free(run->gemm);
	free(run);
}

static int write_tables(struct backend_run *run, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < run->plan->buffer_count && !rc; i++)
		if (run->plan->buffers[i].role == PLAN_TABLE)
			rc = cuda_run_write(run, (unsigned)i, 0, run->plan->buffers[i].table, run->plan->buffers[i].bytes, e);
	return rc;
}

static int record(struct backend_run *run, struct cuda_set *set, struct err *e)
{
	struct cuda_record r = { .device = run->device, .plan = run->plan, .buffers = set->buffers, .maps = set->maps,
	                         .module = run->module, .gemm = run->gemm };
	return set->graph ? 0 : cuda_record_graph(&r, &set->graph, e);
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

static int ready_library(struct backend_run *run, struct err *e)
{
	int rc = cuda_gemm_new(run->device, run->plan, &run->gemm, e);
	return rc ? rc : cuda_set_init(&run->sets[0], run->device, run->plan, e);
}

static int ready_kernels(struct backend_run *run, const void *binary, size_t len, struct err *e)
{
	struct cuda_cubin cubin = { .kernels = NULL };
	int rc = cuda_cubin_read(binary, len, &cubin, e);

	if (!rc)
		rc = load(run, binary, &cubin, e);
	if (!rc)
		rc = cuda_set_init(&run->sets[0], run->device, run->plan, e);
	if (!rc)
		rc = write_tables(run, e);
	if (!rc)
		rc = record(run, &run->sets[0], e);
	cuda_cubin_fini(&cubin);
	return rc;
}

int cuda_run_prepare(struct backend_device *device, const void *binary, size_t len, const struct plan *plan,
                     struct backend_run **ret_run, struct err *e)
{
	struct backend_run *run = MEM_NEW(struct backend_run);
	int rc;

	*run = (struct backend_run){ .device = device, .plan = plan, .set_count = 1 };
	device->cu.context_use(device->context);
	rc = plan_is_library(plan) ? ready_library(run, e) : ready_kernels(run, binary, len, e);
	if (rc)
		cuda_run_release(run);
	else
		*ret_run = run;
	return rc;
}

/* The address of bytes [offset, offset+bytes) of a buffer with its red zones. */
static int address(const struct backend_run *run, unsigned buffer, int64_t offset, size_t bytes, CUdeviceptr *ret_at, struct err *e)
{
	uint64_t place = 0;
	int rc = backend_place(run->plan, buffer, offset, bytes, &place, e);

	if (!rc)
		*ret_at = run->sets[run->current].buffers[buffer] - BACKEND_RED_ZONE + place;
	return rc;
}

int cuda_run_write(struct backend_run *run, unsigned buffer, int64_t offset, const void *from, size_t bytes, struct err *e)
{
	struct backend_device *d = run->device;
	CUdeviceptr at = 0;
	CUresult result;
	int rc = address(run, buffer, offset, bytes, &at, e);

	if (rc || !bytes)
		return rc;
	run->stale = true;
	run->home = run->current;
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

int cuda_run_fill(struct backend_run *run, unsigned buffer, uint8_t value, struct err *e)
{
	struct backend_device *d = run->device;
	CUdeviceptr at = 0;
	CUresult result;
	int rc = address(run, buffer, 0, 0, &at, e);

	if (rc || !run->plan->buffers[buffer].bytes)
		return rc;
	run->stale = true;
	run->home = run->current;
	d->cu.context_use(d->context);
	result = d->cu.memory_set(at, value, run->plan->buffers[buffer].bytes, d->stream);
	return result == CUDA_SUCCESS ? 0 : cuda_device_fail(d, result, "filling a buffer", e);
}

/* One timed window around `times` replays; waits for its end. */
static CUresult window(struct backend_run *run, const struct cuda_set *set, uint32_t times, double *ret_ns)
{
	const struct backend_device *d = run->device;
	CUresult result = d->cu.event_record(d->start, d->stream);
	float ms = 0;

	for (uint32_t i = 0; i < times && result == CUDA_SUCCESS; i++)
		result = d->cu.graph_launch(set->graph, d->stream);
	if (result == CUDA_SUCCESS)
		result = d->cu.event_record(d->end, d->stream);
	if (result == CUDA_SUCCESS)
		result = d->cu.stream_wait(d->stream);
	if (result == CUDA_SUCCESS)
		result = d->cu.event_elapsed(&ms, d->start, d->end);
	*ret_ns = (double)ms * 1e6;
	return result;
}

/* The further sets, each with the current one's contents. What cannot be had is done without: then the cache is flushed. */
static int ready_cold(struct backend_run *run, struct err *e)
{
	struct backend_device *d = run->device;
	CUresult result = CUDA_SUCCESS;

	if (!run->wanted)
		run->wanted = cuda_set_wanted(d, run->plan);
	for (; run->set_count < run->wanted; run->set_count++) {
		struct err short_of = ERR_INIT;
		struct cuda_set *set = &run->sets[run->set_count];
		int rc = cuda_set_init(set, d, run->plan, &short_of);
		if (!rc)
			rc = record(run, set, &short_of);
		if (rc == -ERR_PRUNED) {
			for (unsigned i = 1; i <= run->set_count; i++)
				cuda_set_fini(&run->sets[i], d, run->plan);
			run->set_count = run->wanted = 1;
			return 0;
		}
		if (rc) {
			cuda_set_fini(set, d, run->plan);
			return err_set(e, short_of.code, "%s", short_of.text);
		}
		run->stale = true;
	}
	for (unsigned i = 0; run->stale && i < run->set_count && result == CUDA_SUCCESS; i++)
		if (i != run->current)
			result = cuda_set_copy(d, run->plan, &run->sets[run->current], &run->sets[i]);
	if (result == CUDA_SUCCESS && run->stale)
		result = d->cu.stream_wait(d->stream);
	run->stale = run->stale && result != CUDA_SUCCESS;
	return result == CUDA_SUCCESS ? 0 : cuda_device_fail(d, result, "copying buffers for cold timing", e);
}

/* Each in a window of its own, after what makes it cold. */
static CUresult windows_cold(struct backend_run *run, uint32_t times, bool rotated, double *ret_sum)
{
	struct backend_device *d = run->device;
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = 0; i < times && result == CUDA_SUCCESS; i++) {
		double ns = 0;
		if (rotated)
			run->turn = (run->turn + 1) % run->set_count;
		result = d->cu.memory_set(d->flush, 0, rotated && d->flush_bytes > HIDE_BYTES ? HIDE_BYTES : d->flush_bytes, d->stream);
		if (result == CUDA_SUCCESS)
			result = window(run, &run->sets[rotated ? run->turn : run->current], 1, &ns);
		*ret_sum += ns;
	}
	return result;
}

/* Whoever looks afterwards sees a set that only took turns, never the one that was written: a kernel that knows the addresses of its first
 * inputs again, and rests at all others, would otherwise be right wherever it is looked at and fast wherever it is timed. */
static void show_another(struct backend_run *run)
{
	run->current = run->turn == run->home ? (run->turn + run->set_count - 1) % run->set_count : run->turn;
}

int cuda_run_execute(struct backend_run *run, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e)
{
	struct backend_device *d = run->device;
	CUresult result = d->cu.context_use(d->context);
	bool cold = cache != WIRE_WARM, rotated;
	double sum = 0;
	int rc = 0;

	if (!times)
		return err_set(e, ERR_INPUT, "execute: 0 times asked, 1 or more expected");
	if (result != CUDA_SUCCESS)
		return cuda_device_fail(d, result, "taking up the device's context", e);
	/* A library's algorithm is sought when the inputs are there. */
	if (run->gemm && !run->sets[0].graph && !(rc = cuda_gemm_search(run->gemm, run->sets[0].buffers, e)))
		rc = record(run, &run->sets[0], e);
	if (!rc && cold && (result = cuda_device_flush(d)) != CUDA_SUCCESS)
		rc = cuda_device_fail(d, result, "allocating the scratch that flushes the L2 cache", e);
	if (!rc && cache == WIRE_COLD)
		rc = ready_cold(run, e);
	if (rc)
		return rc;
	rotated = cache == WIRE_COLD && run->set_count > 1;
	result = cold ? windows_cold(run, times, rotated, &sum) : window(run, &run->sets[run->current], times, &sum);
	if (result != CUDA_SUCCESS)
		return cuda_device_fail(d, result, "executing the plan", e);
	if (rotated)
		show_another(run);
	*ret_ns = (uint64_t)(sum / times + 0.5);
	return 0;
}
