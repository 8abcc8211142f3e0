/* record: see record.h. Operations are captured from a stream; a stream's order is the plan's order. */
#include "backends/hip/record.h"

#include <stdlib.h>

#include "backends/hip/check.h"
#include "base/mem.h"

int hip_record_check(const struct backend_device *device, const struct plan_launch *launch, const struct hip_object *object,
                     struct err *e)
{
	const struct hip_kernel *k = hip_object_find(object, launch->kernel);

	if (!k)
		return hip_object_missing(object, launch->kernel, e);
	if (launch->cooperative && !device->cooperative)
		return err_set(e, ERR_UNSUPPORTED, "kernel \"%s\": %s has no cooperative launches", launch->kernel, device->facts.name);
	return hip_check_launch(launch, k, &device->facts, e);
}

static int check_cooperative(const struct hip_record *r, const struct plan_launch *l, hipFunction_t f, struct err *e)
{
	const struct backend_device *d = r->device;
	uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	int per_unit = 0;

	if (d->hip.occupancy_blocks(&per_unit, f, (int)(l->block[0] * l->block[1] * l->block[2]), l->shared) == hipSuccess &&
	    blocks > (uint64_t)per_unit * d->facts.units)
		return err_set(e, ERR_PRUNED, "kernel \"%s\": a cooperative grid of %llu blocks asked, the device holds %llu at once", l->kernel,
		               (unsigned long long)blocks, (unsigned long long)per_unit * d->facts.units);
	return 0;
}

int hip_record_ready(const struct hip_record *r, hipModule_t module, struct err *e)
{
	for (size_t i = 0; i < r->plan->op_count; i++) {
		const struct plan_launch *l = &r->plan->ops[i].launch;
		hipError_t result;
		int rc;

		if (r->plan->ops[i].kind != PLAN_OP_LAUNCH)
			continue;
		result = r->device->hip.module_function(&r->functions[i], module, l->kernel);
		if (result == hipErrorNotFound)
			return err_set(e, ERR_INPUT, "the code object has no kernel \"%s\"", l->kernel);
		if (result != hipSuccess)
			return hip_device_fail(r->device, result, "looking up a kernel", e);
		rc = l->cooperative ? check_cooperative(r, l, r->functions[i], e) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

/* One argument's value; the runtime copies it when the launch is submitted. */
union slot { char *address; int64_t integer; unsigned char scalar[16]; };

static void fill_slot(const struct hip_record *r, const struct plan_arg *a, union slot *to)
{
	if (a->kind == PLAN_ARG_BUFFER)
		to->address = r->buffers[a->index];
	else if (dtype_is_float(a->type))
		dtype_store(a->type, to->scalar, a->f);
	else
		to->integer = a->i; /* little-endian: narrower types are its first bytes */
}

static hipError_t launch(const struct hip_record *r, const struct plan_launch *l, hipFunction_t f)
{
	const struct backend_device *d = r->device;
	union slot *slots = MEM_NEW_N(union slot, l->arg_count + 1);
	void **args = MEM_NEW_N(void *, l->arg_count + 1);
	hipError_t result;

	for (size_t i = 0; i < l->arg_count; i++) {
		fill_slot(r, &l->args[i], &slots[i]);
		args[i] = &slots[i];
	}
	if (l->cooperative)
		result = d->hip.launch_cooperative(f, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->shared,
		                                   d->stream, args);
	else
		result = d->hip.launch(f, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->shared, d->stream, args,
		                       NULL);
	free(args);
	free(slots);
	return result;
}

static hipError_t issue(const struct hip_record *r, const struct plan_op *op, hipFunction_t f)
{
	const struct hip_runtime *hip = &r->device->hip;

	switch (op->kind) {
	case PLAN_OP_LAUNCH:
		return launch(r, &op->launch, f);
	case PLAN_OP_MEMSET:
		return hip->memory_set(r->buffers[op->memset.buffer] + op->memset.offset, op->memset.value, op->memset.bytes, r->device->stream);
	case PLAN_OP_COPY:
		return hip->copy_within(r->buffers[op->copy.dst] + op->copy.dst_offset, r->buffers[op->copy.src] + op->copy.src_offset,
		                        op->copy.bytes, r->device->stream);
	case PLAN_OP_GEMM:
		return hipErrorInvalidValue; /* refused by hip_run_prepare */
	}
	return hipErrorInvalidValue;
}

hipError_t hip_record_issue(const struct hip_record *r, size_t *ret_op)
{
	hipError_t result = hipSuccess;

	*ret_op = 0;
	for (size_t i = 0; i < r->plan->op_count && result == hipSuccess; i++) {
		*ret_op = i + 1;
		result = issue(r, &r->plan->ops[i], r->functions[i]);
	}
	return result;
}

int hip_record_fail(const struct hip_record *r, hipError_t result, size_t op, struct err *e)
{
	const struct plan_op *o = op ? &r->plan->ops[op - 1] : NULL;
	bool launches = o && o->kind == PLAN_OP_LAUNCH;
	char *doing = o ? mem_fmt("submitting operation %zu%s%s", op, launches ? ", kernel " : "", launches ? o->launch.kernel : "")
	                : mem_str("submitting the plan");
	int rc = hip_device_fail(r->device, result, doing, e);

	free(doing);
	return rc;
}

int hip_record_graph(const struct hip_record *r, hipGraphExec_t *ret_graph, struct err *e)
{
	const struct backend_device *d = r->device;
	hipGraph_t graph = NULL;
	hipError_t result = d->hip.capture_begin(d->stream, hipStreamCaptureModeThreadLocal), ended;
	size_t op = 0;
	int rc = 0;

	if (result != hipSuccess)
		return hip_device_fail(d, result, "starting to record the plan", e);
	result = hip_record_issue(r, &op);
	/* Ended in any case: a stream left in capture could never be used again. */
	ended = d->hip.capture_end(d->stream, &graph);
	if (result != hipSuccess)
		rc = hip_record_fail(r, result, op, e);
	else if (ended != hipSuccess || (ended = d->hip.graph_instantiate(ret_graph, graph, 0)) != hipSuccess)
		rc = hip_device_fail(d, ended, "making a graph of the plan", e);
	if (graph)
		d->hip.graph_free(graph);
	return rc;
}
