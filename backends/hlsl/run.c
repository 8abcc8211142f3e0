/* run: see run.h. Operations are recorded afresh for every execution, with a full barrier between them. cold fills a
 * buffer larger than the caches before each execution, outside of the timestamps. On a CPU device the same cores do
 * the filling, so their own caches are cold afterwards; a last-level cache of hundreds of megabytes, as servers
 * have, is not. */
#include "backends/hlsl/run.h"

#include <assert.h>
#include <stdlib.h>

#include "backends/hlsl/device.h"
#include "backends/hlsl/kernel.h"
#include "base/mem.h"

struct backend_run {
	struct backend_device *device;
	const struct plan *plan;
	struct device_buffer **buffers;  /* as the plan's, each with BACKEND_RED_ZONE bytes before and behind it */
	struct kernel **kernels;         /* one per operation; NULL for those that are no launch */
};

/* Behind a buffer comes its red zone at once; the whole is rounded up for the widest view. */
static uint64_t with_zones(uint64_t bytes)
{
	return (BACKEND_RED_ZONE + bytes + BACKEND_RED_ZONE + 15) / 16 * 16;
}

static int make_buffers(struct backend_run *r, struct err *e)
{
	for (size_t i = 0; i < r->plan->buffer_count; i++) {
		const struct plan_buffer *b = &r->plan->buffers[i];
		if (hlsl_device_buffer_new(r->device, with_zones(b->bytes), r->device->shares_cpu, &r->buffers[i], e) < 0)
			return err_wrap(e, "buffer %s (%llu bytes)", b->name, (unsigned long long)b->bytes);
	}
	return 0;
}

static int make_kernels(struct backend_run *r, const struct module *m, struct err *e)
{
	for (size_t i = 0; i < r->plan->op_count; i++) {
		const struct plan_op *op = &r->plan->ops[i];
		if (op->kind != PLAN_OP_LAUNCH)
			continue;
		const struct module_kernel *code = hlsl_module_find(m, op->launch.kernel);
		if (code == NULL)
			return err_set(e, ERR_INPUT, "the binary has no kernel %s; it was compiled for another plan",
			               op->launch.kernel);
		if (hlsl_kernel_new(r->device, code, r->plan, &op->launch, r->buffers, &r->kernels[i], e) < 0)
			return -(int)e->code;
	}
	return 0;
}

/* vkCmdFillBuffer and the copies of 32-bit words that drivers make want whole words. */
static int check_words(const struct plan *plan, struct err *e)
{
	for (size_t i = 0; i < plan->op_count; i++) {
		const struct plan_memset *m = &plan->ops[i].memset;
		if (plan->ops[i].kind == PLAN_OP_MEMSET && (m->offset % 4 || m->bytes % 4))
			return err_set(e, ERR_PRUNED, "memset of bytes %llu to %llu: Vulkan fills whole words of 4 bytes",
			               (unsigned long long)m->offset, (unsigned long long)(m->offset + m->bytes));
	}
	return 0;
}

int hlsl_run_prepare(struct backend_device *d, const void *binary, size_t len, const struct plan *plan,
                     struct backend_run **ret_run, struct err *e)
{
	struct module module;
	if (plan_is_library(plan))
		return err_set(e, ERR_UNSUPPORTED, "Vulkan devices have no vendor library to compare with");
	if (check_words(plan, e) < 0 || hlsl_module_decode(binary, len, &module, e) < 0)
		return -(int)e->code;
	struct backend_run *r = MEM_NEW(struct backend_run);
	*r = (struct backend_run){ .device = d, .plan = plan,
	                           .buffers = MEM_NEW_N(struct device_buffer *, plan->buffer_count),
	                           .kernels = MEM_NEW_N(struct kernel *, plan->op_count) };
	int result = make_buffers(r, e);
	if (result == 0)
		result = make_kernels(r, &module, e);
	if (result < 0)
		hlsl_run_release(r);
	else
		*ret_run = r;
	hlsl_module_fini(&module);
	return result;
}

void hlsl_run_release(struct backend_run *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->plan->op_count; i++)
		hlsl_kernel_free(r->device, r->kernels[i]);
	for (size_t i = 0; i < r->plan->buffer_count; i++)
		hlsl_device_buffer_free(r->device, r->buffers[i]);
	free(r->kernels);
	free(r->buffers);
	free(r);
}

/* A place relative to the buffer's first byte, as one in the allocation. */
static uint64_t place(const struct backend_run *r, unsigned buffer, int64_t offset, size_t bytes)
{
	assert(buffer < r->plan->buffer_count && offset >= -BACKEND_RED_ZONE);
	uint64_t at = (uint64_t)(offset + BACKEND_RED_ZONE);
	assert(at + bytes <= r->buffers[buffer]->bytes);
	return at;
}

int hlsl_run_write(struct backend_run *r, unsigned buffer, int64_t offset, const void *from, size_t bytes,
                   struct err *e)
{
	return hlsl_device_write(r->device, r->buffers[buffer], place(r, buffer, offset, bytes), from, bytes, e);
}

int hlsl_run_read(struct backend_run *r, unsigned buffer, int64_t offset, void *to, size_t bytes, struct err *e)
{
	return hlsl_device_read(r->device, r->buffers[buffer], place(r, buffer, offset, bytes), to, bytes, e);
}

/* --- executing ---------------------------------------------------------------------------------------------------- */

static void record_memset(struct backend_run *r, const struct plan_memset *m)
{
	r->device->vk.CmdFillBuffer(r->device->commands, r->buffers[m->buffer]->handle, BACKEND_RED_ZONE + m->offset,
	                            m->bytes, m->value * UINT32_C(0x01010101));
}

static void record_copy(struct backend_run *r, const struct plan_copy *c)
{
	VkBufferCopy region = { .srcOffset = BACKEND_RED_ZONE + c->src_offset,
	                        .dstOffset = BACKEND_RED_ZONE + c->dst_offset,
	                        .size = c->bytes };
	r->device->vk.CmdCopyBuffer(r->device->commands, r->buffers[c->src]->handle, r->buffers[c->dst]->handle, 1,
	                            &region);
}

static void record_ops(struct backend_run *r)
{
	for (size_t i = 0; i < r->plan->op_count; i++) {
		const struct plan_op *op = &r->plan->ops[i];
		switch (op->kind) {
		case PLAN_OP_LAUNCH: hlsl_kernel_record(r->device, r->kernels[i]); break;
		case PLAN_OP_MEMSET: record_memset(r, &op->memset); break;
		case PLAN_OP_COPY: record_copy(r, &op->copy); break;
		case PLAN_OP_GEMM: break; /* refused by hlsl_run_prepare */
		}
		hlsl_device_barrier(r->device);
	}
}

static void record_timestamp(struct backend_device *d, uint32_t query)
{
	if (d->queries)
		d->vk.CmdWriteTimestamp(d->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, d->queries, query);
}

/* Adds the nanoseconds between each pair of timestamps. */
static int add_times(struct backend_device *d, uint32_t pairs, double *ns, struct err *e)
{
	uint64_t ticks[DEVICE_QUERIES];
	if (!d->queries)
		return 0;
	VkResult result = d->vk.GetQueryPoolResults(d->handle, d->queries, 0, 2 * pairs, sizeof ticks, ticks,
	                                            sizeof ticks[0], VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
	if (result != VK_SUCCESS)
		return hlsl_library_failed(result, "vkGetQueryPoolResults", e);
	for (uint32_t i = 0; i < pairs; i++)
		*ns += (double)((ticks[2 * i + 1] - ticks[2 * i]) & d->tick_mask) * (double)d->limits.timestampPeriod;
	return 0;
}

/* One submission: `pairs` timed stretches of `times` executions each. */
static int submit(struct backend_run *r, uint32_t pairs, uint32_t times, struct device_buffer *flush, double *ns,
                  struct err *e)
{
	struct backend_device *d = r->device;
	if (hlsl_device_begin(d, e) < 0)
		return -(int)e->code;
	if (d->queries)
		d->vk.CmdResetQueryPool(d->commands, d->queries, 0, 2 * pairs);
	for (uint32_t i = 0; i < pairs; i++) {
		if (flush)
			d->vk.CmdFillBuffer(d->commands, flush->handle, 0, VK_WHOLE_SIZE, i);
		hlsl_device_barrier(d);
		record_timestamp(d, 2 * i);
		for (uint32_t k = 0; k < times; k++)
			record_ops(r);
		record_timestamp(d, 2 * i + 1);
	}
	int result = hlsl_device_submit(d, e);
	return result < 0 ? result : add_times(d, pairs, ns, e);
}

int hlsl_run_execute(struct backend_run *r, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e)
{
	bool cold = cache != WIRE_WARM;
	struct device_buffer *flush = NULL;
	double ns = 0;
	int result = cold ? hlsl_device_flush_buffer(r->device, &flush, e) : submit(r, 1, times, NULL, &ns, e);
	for (uint32_t done = 0; cold && done < times && result == 0;) {
		uint32_t pairs = times - done < DEVICE_QUERIES / 2 ? times - done : DEVICE_QUERIES / 2;
		result = submit(r, pairs, 1, flush, &ns, e);
		done += pairs;
	}
	if (result == 0)
		*ret_ns = (uint64_t)(ns / times + 0.5);
	return result;
}
