/* backend: the HLSL backend's table, and a module with buffers for one plan on one Vulkan device. Every execution records its
 * operations afresh, with a full barrier between them. Before each timed execution, outside of the timestamps, its set of buffers
 * is reset, and backends/hlsl/scrub.c overwrites shared memory. Cold timing fills a buffer larger than the caches. On a CPU device
 * the same cores do the filling, so their own caches are cold afterwards; a server's last-level cache of hundreds of megabytes is
 * not. */
#include "backends/hlsl/hlsl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu.h"
#include "backends/hlsl/device.h"
#include "base/clock.h"
#include "base/mem.h"

/* One launch, ready to be recorded. */
struct kernel {
	struct device_pipeline pipeline;
	struct bound {
		uint32_t binding, buffer; /* number in the code, number in the plan */
	} * bound;
	uint32_t bound_count;
	uint32_t grid[3];
	uint8_t *scalars; /* the push constants */
	uint32_t scalar_bytes;
};

struct set {
	struct device_buffer **buffers; /* as the plan's, each with BACKEND_RED_ZONE bytes before and behind it */
	struct device_buffer **kept;    /* what inout buffers are restored from; NULL for others, and until it is known */
};

struct backend_run {
	struct backend_device *device; /* borrowed */
	const struct plan *plan;       /* borrowed */
	struct set sets[BACKEND_SETS];
	unsigned set_count;
	unsigned used;           /* the set that is written, read and executed */
	bool cpu_time;           /* use_cpu_time */
	bool shares;             /* memory between the threads of a group */
	bool keeps;              /* an execution may read what an earlier one left in buffers */
	struct kernel **kernels; /* one per operation; NULL for those that are not launches */
};

/* --- kernels ------------------------------------------------------------------------------------------------------ */

static int over(const char *kernel, const char *what, uint64_t asked, uint64_t allowed, struct err *e)
{
	return err_set(e, ERR_PRUNED, "launch of %s: %s is %llu, but the device allows %llu", kernel, what,
		       (unsigned long long)asked, (unsigned long long)allowed);
}

/* The device's limits and optional features. */
static int check_device(const struct backend_device *d, const struct plan_launch *l, const struct spirv *s, struct err *e)
{
	static const char *const blocks[] = { "block x", "block y", "block z" };
	static const char *const grids[] = { "grid x", "grid y", "grid z" };
	/* Capabilities (SPIR-V specification, 3.31) that a device may lack; the others come with Vulkan 1.1. */
	const struct {
		uint32_t capability;
		bool there;
		const char *what;
	} optional[] = {
		{ 9, d->float16, "16-bit floating-point arithmetic" },
		{ 10, d->float64, "double" },
		{ 11, d->int64, "64-bit integers" },
		{ 22, d->int16, "16-bit integers" },
		{ 39, d->int8, "8-bit integers" },
		{ 4433, d->storage16, "16-bit buffer elements" },
		{ 4434, false, "16-bit uniform elements" },
		{ 4435, false, "16-bit push constants" },
	};
	const VkPhysicalDeviceLimits *most = &d->limits;
	uint64_t threads = 1;

	for (int i = 0; i < 3; i++) {
		if (s->block[i] > most->maxComputeWorkGroupSize[i])
			return over(l->kernel, blocks[i], s->block[i], most->maxComputeWorkGroupSize[i], e);
		if (l->grid[i] > most->maxComputeWorkGroupCount[i])
			return over(l->kernel, grids[i], l->grid[i], most->maxComputeWorkGroupCount[i], e);
		threads *= s->block[i];
	}
	if (threads > most->maxComputeWorkGroupInvocations)
		return over(l->kernel, "threads per block", threads, most->maxComputeWorkGroupInvocations, e);
	if (s->shared > most->maxComputeSharedMemorySize)
		return over(l->kernel, "groupshared memory in bytes", s->shared, most->maxComputeSharedMemorySize, e);
	if (s->binding_count > most->maxPerStageDescriptorStorageBuffers)
		return over(l->kernel, "the number of buffers and views", s->binding_count,
			    most->maxPerStageDescriptorStorageBuffers, e);
	for (size_t i = 0; i < s->capability_count; i++)
		for (size_t k = 0; k < MEM_COUNT(optional); k++)
			if (s->capabilities[i] == optional[k].capability && !optional[k].there)
				return err_set(e, ERR_PRUNED, "kernel %s needs %s, which the device does not have", l->kernel,
					       optional[k].what);
	return 0;
}

static int fill_scalars(const struct backend_run *r, struct kernel *k, const struct plan_launch *launch, const struct spirv *s,
			struct err *e)
{
	uint32_t allowed = r->device->limits.maxPushConstantsSize;
	for (size_t i = 0; i < s->member_count; i++) {
		const struct spirv_member *m = &s->members[i];
		uint64_t end = (uint64_t)m->offset + m->bits / 8;
		if (end > allowed)
			return over(launch->kernel, "the size of all scalar arguments in bytes", end, allowed, e);
		k->scalar_bytes = end > k->scalar_bytes ? (uint32_t)(end + 3) / 4 * 4 : k->scalar_bytes;
	}
	k->scalars = mem_new(k->scalar_bytes, 1);
	for (size_t i = 0; i < s->member_count; i++) {
		const struct plan_arg *a = hlsl_bind_find(r->plan, launch, s->members[i].name);
		bool fits = true;
		if (!s->members[i].used || a == NULL)
			continue;
		if (!dtype_is_float(a->type))
			fits = dtype_is_signed(a->type) ? a->i >= INT32_MIN && a->i <= INT32_MAX : (uint64_t)a->i <= UINT32_MAX;
		if (!fits)
			return err_set(e, ERR_INPUT, "launch of %s: scalar %s = %lld does not fit the 32 bits that HLSL code sees",
				       launch->kernel, s->members[i].name, (long long)a->i);
		hlsl_bind_store(&s->members[i], a, k->scalars + s->members[i].offset);
	}
	return 0;
}

/* Whether executions leave something in the buffer. */
static bool is_left(const struct plan *plan, unsigned buffer)
{
	return plan->buffers[buffer].role != PLAN_IN && plan->buffers[buffer].role != PLAN_TABLE;
}

/* A binding covers its buffer and the red zone behind it: a driver that checks bounds would hide accesses of the zone
 * otherwise. */
static void bind_set(const struct backend_run *r, const struct kernel *k, unsigned set)
{
	for (uint32_t i = 0; i < k->bound_count; i++)
		hlsl_device_bind(r->device, &k->pipeline, set, k->bound[i].binding, r->sets[set].buffers[k->bound[i].buffer],
				 BACKEND_RED_ZONE);
}

static void kernel_free(struct backend_device *d, struct kernel *k)
{
	if (k == NULL)
		return;
	hlsl_device_pipeline_fini(d, &k->pipeline);
	free(k->bound);
	free(k->scalars);
	free(k);
}

static int kernel_new(struct backend_run *r, const struct hlsl_kernel *code, const struct plan_launch *launch,
		      struct kernel **ret_kernel, struct err *e)
{
	struct spirv s;
	if (hlsl_spirv_read(code->words, code->bytes / sizeof *code->words, &s, e) < 0)
		return -(int)e->code;
	struct kernel *k = MEM_NEW(struct kernel);
	memcpy(k->grid, launch->grid, sizeof k->grid);
	r->shares |= s.shared > 0;
	int rc = hlsl_bind_check(r->plan, launch, &s, e);
	if (rc == 0)
		rc = check_device(r->device, launch, &s, e);
	if (rc == 0)
		rc = fill_scalars(r, k, launch, &s, e);
	if (rc == 0)
		rc = hlsl_device_pipeline_init(r->device, &k->pipeline, code, s.bindings, s.binding_count, k->scalar_bytes, e);
	k->bound = MEM_NEW_N(struct bound, s.binding_count);
	for (; k->bound_count < s.binding_count && rc == 0; k->bound_count++) {
		const struct spirv_binding *b = &s.bindings[k->bound_count];
		uint32_t buffer = hlsl_bind_find(r->plan, launch, b->name)->index;
		uint64_t range = r->sets[0].buffers[buffer]->bytes - BACKEND_RED_ZONE,
			 allowed = r->device->limits.maxStorageBufferRange;
		k->bound[k->bound_count] = (struct bound){ b->binding, buffer };
		r->keeps |= b->read && is_left(r->plan, buffer);
		if (range > allowed)
			rc = over(launch->kernel, "the size of a buffer in bytes", range, allowed, e);
	}
	if (rc < 0) {
		kernel_free(r->device, k);
	} else {
		bind_set(r, k, 0);
		*ret_kernel = k;
	}
	hlsl_spirv_fini(&s);
	return rc;
}

/* --- preparing ---------------------------------------------------------------------------------------------------- */

static void set_fini(const struct backend_run *r, struct set *s)
{
	for (size_t i = 0; s->buffers && i < r->plan->buffer_count; i++) {
		hlsl_device_buffer_free(r->device, s->buffers[i]);
		hlsl_device_buffer_free(r->device, s->kept[i]);
	}
	free(s->buffers);
	free(s->kept);
	*s = (struct set){ .buffers = NULL };
}

static int set_init(const struct backend_run *r, struct set *s, struct err *e)
{
	int rc = 0;
	s->buffers = MEM_NEW_N(struct device_buffer *, r->plan->buffer_count);
	s->kept = MEM_NEW_N(struct device_buffer *, r->plan->buffer_count);
	for (size_t i = 0; i < r->plan->buffer_count && rc == 0; i++) {
		const struct plan_buffer *b = &r->plan->buffers[i];
		/* The red zone follows a buffer's last byte at once; the whole is rounded up for the widest view. */
		uint64_t bytes = (BACKEND_RED_ZONE + b->bytes + BACKEND_RED_ZONE + 15) / 16 * 16;
		if (hlsl_device_buffer_new(r->device, bytes, r->device->shares_cpu, &s->buffers[i], e) < 0)
			rc = err_wrap(e, "buffer %s (%llu bytes)", b->name, (unsigned long long)b->bytes);
	}
	return rc;
}

static void release(struct backend_run *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->plan->op_count; i++)
		kernel_free(r->device, r->kernels[i]);
	for (unsigned i = 0; i < BACKEND_SETS; i++)
		set_fini(r, &r->sets[i]);
	free(r->kernels);
	free(r);
}

static int prepare(struct backend_device *d, const void *binary, size_t len, const struct plan *plan, struct backend_run **ret_run,
		   struct err *e)
{
	struct hlsl_object object;
	int rc = 0;
	if (plan_is_library(plan))
		return err_set(e, ERR_UNSUPPORTED, "Vulkan devices have no vendor library to compare with");
	for (size_t i = 0; i < plan->op_count; i++) {
		const struct plan_memset *m = &plan->ops[i].memset;
		if (plan->ops[i].kind == PLAN_OP_MEMSET && (m->offset % 4 || m->bytes % 4))
			return err_set(e, ERR_PRUNED, "memset of bytes %llu to %llu: Vulkan fills whole words of 4 bytes",
				       (unsigned long long)m->offset, (unsigned long long)(m->offset + m->bytes));
	}
	if (hlsl_object_decode(binary, len, &object, e) < 0)
		return -(int)e->code;
	struct backend_run *r = MEM_NEW(struct backend_run);
	*r = (struct backend_run){ .device = d, .plan = plan, .set_count = 1 };
	r->kernels = MEM_NEW_N(struct kernel *, plan->op_count);
	rc = set_init(r, &r->sets[0], e);
	for (size_t i = 0; i < plan->op_count && rc == 0; i++) {
		const struct plan_launch *l = &plan->ops[i].launch;
		const struct hlsl_kernel *code;
		r->keeps |= plan->ops[i].kind == PLAN_OP_COPY && is_left(plan, plan->ops[i].copy.src);
		if (plan->ops[i].kind != PLAN_OP_LAUNCH)
			continue;
		code = hlsl_object_find(&object, l->kernel);
		if (code == NULL)
			rc = err_set(e, ERR_INPUT, "the binary has no kernel %s; it was compiled for another plan", l->kernel);
		else
			rc = kernel_new(r, code, l, &r->kernels[i], e);
	}
	if (rc < 0)
		release(r);
	else
		*ret_run = r;
	hlsl_object_fini(&object);
	return rc;
}

static int transfer(struct backend_run *r, unsigned buffer, int64_t offset, void *host, size_t bytes, bool write, struct err *e)
{
	uint64_t at = 0;
	int rc = backend_place(r->plan, buffer, offset, bytes, &at, e);
	return rc < 0 ? rc : hlsl_device_transfer(r->device, r->sets[r->used].buffers[buffer], at, host, bytes, write, e);
}

static int write_buffer(struct backend_run *r, unsigned buffer, int64_t offset, const void *from, size_t bytes, struct err *e)
{
	return transfer(r, buffer, offset, (void *)(uintptr_t)from, bytes, true, e);
}

static int read_buffer(struct backend_run *r, unsigned buffer, int64_t offset, void *to, size_t bytes, struct err *e)
{
	return transfer(r, buffer, offset, to, bytes, false, e);
}

/* --- sets of buffers ---------------------------------------------------------------------------------------------- */

static int make_sets(struct backend_run *r, enum wire_cache cache, unsigned *ret_count, struct err *e)
{
	enum { SHARE = 8, SEARCHED = 64 << 20 };
	uint64_t bytes = 0, room = hlsl_device_memory(&r->device->memory) / SHARE;

	(void)e;
	for (size_t i = 0; i < r->plan->buffer_count; i++)
		bytes += r->sets[0].buffers[i]->bytes;
	if (cache == WIRE_FLUSHED && room > SEARCHED)
		room = SEARCHED;
	while (r->set_count < BACKEND_SETS && r->set_count * bytes <= room) {
		struct err why = ERR_INIT;
		struct set *s = &r->sets[r->set_count];
		if (set_init(r, s, &why) < 0) {
			/* Fewer sets will do. */
			set_fini(r, s);
			break;
		}
		for (size_t i = 0; i < r->plan->op_count; i++)
			if (r->kernels[i])
				bind_set(r, r->kernels[i], r->set_count);
		r->set_count++;
	}
	*ret_count = r->set_count;
	return 0;
}

static void use_set(struct backend_run *r, unsigned set)
{
	assert(set < r->set_count);
	r->used = set;
}

static unsigned used_set(const struct backend_run *r)
{
	return r->used;
}

static int keep_inout(struct backend_run *r, struct err *e)
{
	struct set *s = &r->sets[r->used];
	struct backend_device *d = r->device;
	int rc = 0;
	for (size_t i = 0; i < r->plan->buffer_count && rc == 0; i++) {
		const struct plan_buffer *b = &r->plan->buffers[i];
		if (b->role != PLAN_INOUT)
			continue;
		if (s->kept[i] == NULL)
			rc = hlsl_device_buffer_new(d, (b->bytes + 15) / 16 * 16, false, &s->kept[i], e);
		if (rc == 0)
			rc = hlsl_device_copy(d, s->kept[i], 0, s->buffers[i], BACKEND_RED_ZONE, b->bytes, e);
	}
	return rc;
}

/* Without shared memory of its own, no kernel sees what another one left there. */
static int scrub(struct backend_run *r, uint32_t word, struct err *e)
{
	if (!r->shares)
		return 0;
	if (hlsl_scrub_prepare(r->device, e) < 0 || hlsl_device_begin(r->device, e) < 0)
		return -(int)e->code;
	hlsl_scrub_record(r->device, word);
	return hlsl_device_submit(r->device, e);
}

static bool keeps(const struct backend_run *r)
{
	return r->keeps || r->shares;
}

static bool scrubs(const struct backend_run *r)
{
	return hlsl_scrub_works(r->device);
}

/* --- executing ---------------------------------------------------------------------------------------------------- */

static void record_op(struct backend_run *r, unsigned set, size_t i)
{
	struct backend_device *d = r->device;
	struct device_buffer **buffers = r->sets[set].buffers;
	const struct plan_op *op = &r->plan->ops[i];
	const struct kernel *k = r->kernels[i];
	VkBufferCopy region;
	switch (op->kind) {
	case PLAN_OP_LAUNCH:
		hlsl_device_use(d, &k->pipeline, set);
		if (k->scalar_bytes)
			d->vk.CmdPushConstants(d->commands, k->pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, k->scalar_bytes,
					       k->scalars);
		d->vk.CmdDispatch(d->commands, k->grid[0], k->grid[1], k->grid[2]);
		break;
	case PLAN_OP_MEMSET:
		d->vk.CmdFillBuffer(d->commands, buffers[op->memset.buffer]->handle, BACKEND_RED_ZONE + op->memset.offset,
				    op->memset.bytes, op->memset.value * UINT32_C(0x01010101));
		break;
	case PLAN_OP_COPY:
		region = (VkBufferCopy){ .srcOffset = BACKEND_RED_ZONE + op->copy.src_offset,
					 .dstOffset = BACKEND_RED_ZONE + op->copy.dst_offset,
					 .size = op->copy.bytes };
		d->vk.CmdCopyBuffer(d->commands, buffers[op->copy.src]->handle, buffers[op->copy.dst]->handle, 1, &region);
		break;
	case PLAN_OP_GEMM: /* refused by prepare */ break;
	}
	hlsl_device_barrier(d);
}

static void record_ops(struct backend_run *r, unsigned set)
{
	for (size_t i = 0; i < r->plan->op_count; i++)
		record_op(r, set, i);
}

static void record_restore(struct backend_run *r, unsigned set)
{
	struct backend_device *d = r->device;
	const struct set *s = &r->sets[set];
	for (size_t i = 0; i < r->plan->buffer_count; i++) {
		VkBufferCopy region = { .dstOffset = BACKEND_RED_ZONE, .size = r->plan->buffers[i].bytes };
		if (s->kept[i])
			d->vk.CmdCopyBuffer(d->commands, s->kept[i]->handle, s->buffers[i]->handle, 1, &region);
	}
	hlsl_device_barrier(d);
}

/* Nothing that an earlier execution computed is left in a set's outputs and scratch. */
static void record_poison(struct backend_run *r, unsigned set)
{
	struct backend_device *d = r->device;
	for (size_t i = 0; i < r->plan->buffer_count; i++) {
		const struct plan_buffer *b = &r->plan->buffers[i];
		VkBuffer buffer = r->sets[set].buffers[i]->handle;
		uint64_t whole = b->bytes / 4 * 4;
		VkBufferCopy tail = { .srcOffset = BACKEND_RED_ZONE,
				      .dstOffset = BACKEND_RED_ZONE + whole,
				      .size = b->bytes - whole };
		if (b->role != PLAN_OUT && b->role != PLAN_SCRATCH)
			continue;
		if (whole)
			d->vk.CmdFillBuffer(d->commands, buffer, BACKEND_RED_ZONE, whole, WIRE_TIMED_POISON * UINT32_C(0x01010101));
		/* Vulkan fills words; what is left over is copied from the first of them. */
		if (whole && tail.size) {
			hlsl_device_barrier(d);
			d->vk.CmdCopyBuffer(d->commands, buffer, buffer, 1, &tail);
		}
	}
}

/* Nor in shared memory. What is last is also what precedes an execution that is not reset. */
static void record_reset(struct backend_run *r, unsigned set)
{
	if (r->shares)
		hlsl_scrub_record(r->device, BACKEND_SCRUB_TIMED);
	record_poison(r, set);
	record_restore(r, set);
}

static void record_timestamp(struct backend_device *d, uint32_t query)
{
	if (d->queries)
		d->vk.CmdWriteTimestamp(d->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, d->queries, query);
}

/* What precedes a timed window that has one execution. */
static void record_before(struct backend_run *r, enum wire_cache cache, uint32_t value)
{
	struct backend_device *d = r->device;
	switch (cache) {
	case WIRE_WARM: break;
	case WIRE_HOT:
		record_ops(r, r->used);
		record_reset(r, r->used);
		break;
	case WIRE_UNRESET:
		record_restore(r, r->used);
		record_ops(r, r->used);
		/* Threads that sleep meanwhile, and caches, move short times: so another set is reset in place of this one. */
		if (r->set_count > 1)
			record_poison(r, (r->used + 1) % r->set_count);
		record_restore(r, r->used);
		break;
	case WIRE_COLD:
	case WIRE_FLUSHED:
		r->used = (r->used + 1) % r->set_count;
		record_reset(r, r->used);
		d->vk.CmdFillBuffer(d->commands, d->flush->handle, 0, VK_WHOLE_SIZE, value);
		break;
	}
	hlsl_device_barrier(d);
}

/* The nanoseconds between each of the first `count` timestamps and the next. */
static int read_clock(struct backend_device *d, uint32_t count, double *ret_ns, struct err *e)
{
	uint64_t ticks[DEVICE_QUERIES];
	int rc = DEVICE_CALL(d, e, GetQueryPoolResults, d->handle, d->queries, 0, count, sizeof ticks, ticks, sizeof ticks[0],
			     VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
	for (uint32_t i = 0; i + 1 < count && rc == 0; i++)
		ret_ns[i] = (double)((ticks[i + 1] - ticks[i]) & d->tick_mask) * (double)d->limits.timestampPeriod;
	return rc;
}

/* One submission: `windows` timed windows of `times` executions each, whose nanoseconds are added to *io_ns. */
static int submit(struct backend_run *r, uint32_t windows, uint32_t times, enum wire_cache cache, double *io_ns, struct err *e)
{
	struct backend_device *d = r->device;
	double ns[DEVICE_QUERIES];
	if (hlsl_device_begin(d, e) < 0)
		return -(int)e->code;
	if (d->queries)
		d->vk.CmdResetQueryPool(d->commands, d->queries, 0, 2 * windows);
	for (uint32_t i = 0; i < windows; i++) {
		record_before(r, cache, i);
		record_timestamp(d, 2 * i);
		for (uint32_t k = 0; k < times; k++)
			record_ops(r, r->used);
		record_timestamp(d, 2 * i + 1);
	}
	if (hlsl_device_submit(d, e) < 0)
		return -(int)e->code;
	if (!d->queries)
		return 0;
	if (read_clock(d, 2 * windows, ns, e) < 0)
		return -(int)e->code;
	for (uint32_t i = 0; i < windows; i++)
		*io_ns += ns[2 * i];
	return 0;
}

/* One window in processor time. What precedes it is a submission of its own, whose time does not count. */
static int submit_cpu(struct backend_run *r, enum wire_cache cache, double *io_ns, struct err *e)
{
	struct backend_device *d = r->device;
	int64_t began = 0;
	for (int timed = 0; timed < 2; timed++) {
		if (hlsl_device_begin(d, e) < 0)
			return -(int)e->code;
		if (timed)
			record_ops(r, r->used);
		else
			record_before(r, cache, 0);
		began = clock_cpu();
		if (hlsl_device_submit(d, e) < 0)
			return -(int)e->code;
	}
	*io_ns += (double)(clock_cpu() - began);
	return 0;
}

static int execute(struct backend_run *r, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e)
{
	bool flushes = cache == WIRE_COLD || cache == WIRE_FLUSHED;
	double ns = 0;
	int rc = 0;
	if (cache == WIRE_WARM)
		rc = submit(r, 1, times, cache, &ns, e);
	else if (cache != WIRE_UNRESET)
		rc = hlsl_scrub_prepare(r->device, e);
	if (rc == 0 && flushes)
		rc = hlsl_device_need_flush(r->device, e);
	for (uint32_t done = 0; cache != WIRE_WARM && done < times && rc == 0;) {
		bool cpu = r->cpu_time && !flushes;
		uint32_t most = cpu ? 1 : DEVICE_QUERIES / 2, windows = times - done < most ? times - done : most;
		rc = cpu ? submit_cpu(r, cache, &ns, e) : submit(r, windows, 1, cache, &ns, e);
		done += windows;
	}
	if (rc == 0)
		*ret_ns = (uint64_t)(ns / times + 0.5);
	return rc;
}

static void use_cpu_time(struct backend_run *r, bool on)
{
	r->cpu_time = on && r->device->shares_cpu;
}

/* As many operations in a submission as there are timestamps for; flushed before the first. */
static int split(struct backend_run *r, uint64_t *ret_ns, struct err *e)
{
	struct backend_device *d = r->device;
	double ns[DEVICE_QUERIES];
	int rc = hlsl_scrub_prepare(d, e);

	if (rc == 0)
		rc = hlsl_device_need_flush(d, e);
	if (rc == 0 && !d->queries)
		rc = err_set(e, ERR_UNSUPPORTED, "this Vulkan device has no timestamps");
	for (size_t from = 0; from < r->plan->op_count && rc == 0;) {
		uint32_t n = 0;
		rc = hlsl_device_begin(d, e);
		if (rc < 0)
			break;
		d->vk.CmdResetQueryPool(d->commands, d->queries, 0, DEVICE_QUERIES);
		if (from == 0)
			record_before(r, WIRE_FLUSHED, 0);
		record_timestamp(d, n);
		while (from + n < r->plan->op_count && n + 1 < DEVICE_QUERIES) {
			record_op(r, r->used, from + n);
			record_timestamp(d, ++n);
		}
		rc = hlsl_device_submit(d, e);
		if (rc == 0)
			rc = read_clock(d, n + 1, ns, e);
		for (uint32_t i = 0; i < n && rc == 0; i++)
			ret_ns[from + i] = (uint64_t)ns[i];
		from += n;
	}
	return rc;
}

static int races(const struct backend_device *d, const void *binary, size_t len, const struct plan *plan,
		 const struct wire_races *asked, struct wire_raced *ret_raced, struct err *e)
{
	return hlsl_race_check(binary, len, plan, asked, d->wave, ret_raced, e);
}

static int count(const struct backend_device *d, const void *binary, size_t len, const struct plan *plan, uint64_t seed,
		 struct wire_counted *ret_counted, struct err *e)
{
	return hlsl_race_count(binary, len, plan, seed, d->wave, ret_counted, e);
}

const struct backend backend_hlsl = {
	.name = "hlsl",
	.monitor = &gpu_nvml_monitor,
	.ceilings = hlsl_ceilings,
	.devices = hlsl_facts_devices,
	.describe = hlsl_facts_describe,
	.compile = hlsl_compile,
	.open = hlsl_device_open,
	.close = hlsl_device_close,
	.prepare = prepare,
	.write = write_buffer,
	.read = read_buffer,
	.make_sets = make_sets,
	.use_set = use_set,
	.used_set = used_set,
	.keep_inout = keep_inout,
	.execute = execute,
	.use_cpu_time = use_cpu_time,
	.split = split,
	.scrubs = scrubs,
	.keeps = keeps,
	.scrub = scrub,
	.release = release,
	.races = races,
	.count = count,
};
