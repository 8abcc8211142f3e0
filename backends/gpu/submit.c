/* submit: see run.h. */
#include "backends/gpu/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* One argument's value; the driver copies it when the launch is submitted. */
union slot {
	struct gpu_tensor_map map;
	gpu_address address;
	int64_t integer;
	unsigned char scalar[16];
};

unsigned gpu_submit_attributes(const struct plan_launch *l, struct gpu_launch_attribute to[GPU_ATTRIBUTES])
{
	unsigned n = 0;

	memset(to, 0, GPU_ATTRIBUTES * sizeof *to);
	if (gpu_check_volume(l->cluster) > 1) {
		to[n].id = GPU_ATTRIBUTE_CLUSTER;
		to[n].value.cluster.x = l->cluster[0];
		to[n].value.cluster.y = l->cluster[1];
		to[n++].value.cluster.z = l->cluster[2];
	}
	if (l->cooperative) {
		to[n].id = GPU_ATTRIBUTE_COOPERATIVE;
		to[n++].value.cooperative = 1;
	}
	return n;
}

static gpu_result launch(const struct backend_device *d, const struct gpu_set *set, const struct plan_launch *l, gpu_function f)
{
	const uint32_t *grid = l->grid, *block = l->block;
	union slot *slots = aligned_alloc(_Alignof(union slot), (l->arg_count + 1) * sizeof *slots);
	void **args = MEM_NEW_N(void *, l->arg_count + 1);
	struct gpu_launch_attribute attrs[GPU_ATTRIBUTES];
	struct gpu_launch_config config = { .grid = { grid[0], grid[1], grid[2] },
					    .block = { block[0], block[1], block[2] },
					    .shared = l->shared,
					    .stream = d->stream,
					    .attrs = attrs,
					    .attr_count = gpu_submit_attributes(l, attrs) };
	gpu_result result;

	if (!slots)
		abort();
	for (size_t i = 0; i < l->arg_count; i++) {
		const struct plan_arg *a = &l->args[i];
		args[i] = &slots[i];
		if (a->kind == PLAN_ARG_BUFFER)
			slots[i].address = set->buffers[a->index];
		else if (a->kind == PLAN_ARG_MAP)
			slots[i].map = set->maps[a->index];
		else if (dtype_is_float(a->type))
			dtype_store(a->type, slots[i].scalar, a->f);
		else
			slots[i].integer = a->i; /* little-endian: narrower types are its first bytes */
	}
	if (config.attr_count && d->api.launch_extended)
		result = d->api.launch_extended(&config, f, args, NULL);
	else if (l->cooperative)
		result = d->api.launch_cooperative(f, grid[0], grid[1], grid[2], block[0], block[1], block[2], l->shared, d->stream,
						   args);
	else
		result =
			d->api.launch(f, grid[0], grid[1], grid[2], block[0], block[1], block[2], l->shared, d->stream, args, NULL);
	free(args);
	free(slots);
	return result;
}

gpu_result gpu_submit_op(const struct backend_run *run, const struct gpu_set *set, size_t i)
{
	const struct backend_device *d = run->device;
	const struct plan_op *op = &run->plan->ops[i];

	switch (op->kind) {
	case PLAN_OP_LAUNCH: return launch(d, set, &op->launch, run->functions[i]);
	case PLAN_OP_MEMSET:
		return d->api.memory_set(set->buffers[op->memset.buffer] + op->memset.offset, op->memset.value, op->memset.bytes,
					 d->stream);
	case PLAN_OP_COPY:
		return d->api.copy_within(set->buffers[op->copy.dst] + op->copy.dst_offset,
					  set->buffers[op->copy.src] + op->copy.src_offset, op->copy.bytes, d->stream);
	case PLAN_OP_GEMM: break; /* a library plan has no other operations; cuda/gemm.c records it */
	}
	return GPU_INVALID_VALUE;
}

gpu_result gpu_submit_plan(const struct backend_run *run, const struct gpu_set *set, size_t *ret_op)
{
	gpu_result result = GPU_SUCCESS;

	*ret_op = 0;
	for (size_t i = 0; i < run->plan->op_count && result == GPU_SUCCESS; i++) {
		*ret_op = i + 1;
		result = gpu_submit_op(run, set, i);
	}
	return result;
}
