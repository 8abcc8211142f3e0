/* backend: the HLSL backend's table, and a module with buffers for one plan on one Vulkan device. Every execution records
 * its operations afresh, with a full barrier between them. Cold timing fills a buffer larger than the caches before each
 * execution, outside of the timestamps. On a CPU device the same cores do the filling, so their own caches are cold
 * afterwards; a server's last-level cache of hundreds of megabytes is not. */
#include "backends/hlsl/backend.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hlsl/bind.h"
#include "backends/hlsl/compile.h"
#include "backends/hlsl/device.h"
#include "backends/hlsl/facts.h"
#include "backends/hlsl/object.h"
#include "backends/hlsl/race.h"
#include "base/mem.h"

/* One launch, ready to be recorded. */
struct kernel {
	VkShaderModule module;
	VkDescriptorSetLayout set_layout;
	VkPipelineLayout layout;
	VkPipeline pipeline;
	VkDescriptorPool pool;
	VkDescriptorSet set;
	uint32_t grid[3];
	uint8_t *scalars; /* the push constants */
	uint32_t scalar_bytes;
};

struct backend_run {
	struct backend_device *device;  /* borrowed */
	const struct plan *plan;        /* borrowed */
	struct device_buffer **buffers; /* as the plan's, each with BACKEND_RED_ZONE bytes before and behind it */
	struct kernel **kernels;        /* one per operation; NULL for those that are not launches */
};

/* --- kernels ------------------------------------------------------------------------------------------------------ */

static int over(const char *kernel, const char *what, uint64_t asked, uint64_t allowed, struct err *e)
{
	return err_set(e, ERR_PRUNED, "launch of %s: %s is %llu, the device allows %llu", kernel, what, (unsigned long long)asked,
		       (unsigned long long)allowed);
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

static int make_pipeline(struct backend_device *d, struct kernel *k, const struct hlsl_kernel *code, const struct spirv *s,
			 struct err *e)
{
	VkDescriptorSetLayoutBinding *list = MEM_NEW_N(VkDescriptorSetLayoutBinding, s->binding_count);
	VkDescriptorSetLayoutCreateInfo set = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
						.bindingCount = (uint32_t)s->binding_count,
						.pBindings = list };
	VkPushConstantRange push = { .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = k->scalar_bytes };
	VkPipelineLayoutCreateInfo layout = { .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
					      .setLayoutCount = 1,
					      .pSetLayouts = &k->set_layout,
					      .pushConstantRangeCount = k->scalar_bytes > 0,
					      .pPushConstantRanges = &push };
	VkShaderModuleCreateInfo module = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
					    .codeSize = code->count * sizeof(uint32_t),
					    .pCode = code->words };
	VkComputePipelineCreateInfo info = { .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO };
	int rc;

	for (size_t i = 0; i < s->binding_count; i++)
		list[i] = (VkDescriptorSetLayoutBinding){ .binding = s->bindings[i].binding,
							  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
							  .descriptorCount = 1,
							  .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT };
	rc = hlsl_library_check(d->vk.CreateDescriptorSetLayout(d->handle, &set, NULL, &k->set_layout),
				"vkCreateDescriptorSetLayout", e);
	free(list);
	if (rc == 0)
		rc = hlsl_library_check(d->vk.CreatePipelineLayout(d->handle, &layout, NULL, &k->layout), "vkCreatePipelineLayout",
					e);
	if (rc == 0)
		rc = hlsl_library_check(d->vk.CreateShaderModule(d->handle, &module, NULL, &k->module), "vkCreateShaderModule", e);
	if (rc < 0)
		return rc;
	info.layout = k->layout;
	info.stage = (VkPipelineShaderStageCreateInfo){ .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
							.stage = VK_SHADER_STAGE_COMPUTE_BIT,
							.module = k->module,
							.pName = code->name };
	return hlsl_library_check(d->vk.CreateComputePipelines(d->handle, VK_NULL_HANDLE, 1, &info, NULL, &k->pipeline),
				  "vkCreateComputePipelines", e);
}

/* A binding covers its buffer and the red zone behind it: a driver that checks bounds would hide accesses of the zone
 * otherwise. */
static int make_set(const struct backend_run *r, struct kernel *k, const struct plan_launch *launch, const struct spirv *s,
		    struct err *e)
{
	struct backend_device *d = r->device;
	uint32_t count = (uint32_t)s->binding_count;
	VkDescriptorPoolSize size = { .type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = count ? count : 1 };
	VkDescriptorPoolCreateInfo pool = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size
	};
	VkDescriptorSetAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
					     .descriptorSetCount = 1,
					     .pSetLayouts = &k->set_layout };

	if (hlsl_library_check(d->vk.CreateDescriptorPool(d->handle, &pool, NULL, &k->pool), "vkCreateDescriptorPool", e) < 0)
		return -(int)e->code;
	info.descriptorPool = k->pool;
	if (hlsl_library_check(d->vk.AllocateDescriptorSets(d->handle, &info, &k->set), "vkAllocateDescriptorSets", e) < 0)
		return -(int)e->code;
	for (uint32_t i = 0; i < count; i++) {
		const struct plan_arg *a = hlsl_bind_find(r->plan, launch, s->bindings[i].name);
		const struct device_buffer *b = r->buffers[a->index];
		VkDescriptorBufferInfo where = { .buffer = b->handle,
						 .offset = BACKEND_RED_ZONE,
						 .range = b->bytes - BACKEND_RED_ZONE };
		VkWriteDescriptorSet write = { .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
					       .dstSet = k->set,
					       .dstBinding = s->bindings[i].binding,
					       .descriptorCount = 1,
					       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
					       .pBufferInfo = &where };

		if (where.range > d->limits.maxStorageBufferRange)
			return over(launch->kernel, "the size of a buffer in bytes", where.range, d->limits.maxStorageBufferRange,
				    e);
		d->vk.UpdateDescriptorSets(d->handle, 1, &write, 0, NULL);
	}
	return 0;
}

static void kernel_free(struct backend_device *d, struct kernel *k)
{
	if (k == NULL)
		return;
	d->vk.DestroyDescriptorPool(d->handle, k->pool, NULL);
	d->vk.DestroyPipeline(d->handle, k->pipeline, NULL);
	d->vk.DestroyPipelineLayout(d->handle, k->layout, NULL);
	d->vk.DestroyDescriptorSetLayout(d->handle, k->set_layout, NULL);
	d->vk.DestroyShaderModule(d->handle, k->module, NULL);
	free(k->scalars);
	free(k);
}

static int kernel_new(const struct backend_run *r, const struct hlsl_kernel *code, const struct plan_launch *launch,
		      struct kernel **ret_kernel, struct err *e)
{
	struct kernel *k;
	struct spirv s;
	int rc;

	if (hlsl_spirv_read(code->words, code->count, &s, e) < 0)
		return -(int)e->code;
	k = MEM_NEW(struct kernel);
	memcpy(k->grid, launch->grid, sizeof k->grid);
	rc = hlsl_bind_check(r->plan, launch, &s, e);
	if (rc == 0)
		rc = check_device(r->device, launch, &s, e);
	if (rc == 0)
		rc = fill_scalars(r, k, launch, &s, e);
	if (rc == 0)
		rc = make_pipeline(r->device, k, code, &s, e);
	if (rc == 0)
		rc = make_set(r, k, launch, &s, e);
	if (rc < 0)
		kernel_free(r->device, k);
	else
		*ret_kernel = k;
	hlsl_spirv_fini(&s);
	return rc;
}

/* --- preparing ---------------------------------------------------------------------------------------------------- */

static void release(struct backend_run *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->plan->op_count; i++)
		kernel_free(r->device, r->kernels[i]);
	for (size_t i = 0; i < r->plan->buffer_count; i++)
		hlsl_device_buffer_free(r->device, r->buffers[i]);
	free(r->kernels);
	free(r->buffers);
	free(r);
}

static int prepare(struct backend_device *d, const void *binary, size_t len, const struct plan *plan, struct backend_run **ret_run,
		   struct err *e)
{
	struct hlsl_object object;
	struct backend_run *r;
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
	r = MEM_NEW(struct backend_run);
	*r = (struct backend_run){ .device = d, .plan = plan };
	r->buffers = MEM_NEW_N(struct device_buffer *, plan->buffer_count);
	r->kernels = MEM_NEW_N(struct kernel *, plan->op_count);
	for (size_t i = 0; i < plan->buffer_count && rc == 0; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		/* The red zone follows a buffer's last byte at once; the whole is rounded up for the widest view. */
		uint64_t bytes = (BACKEND_RED_ZONE + b->bytes + BACKEND_RED_ZONE + 15) / 16 * 16;

		if (hlsl_device_buffer_new(d, bytes, d->shares_cpu, &r->buffers[i], e) < 0)
			rc = err_wrap(e, "buffer %s (%llu bytes)", b->name, (unsigned long long)b->bytes);
	}
	for (size_t i = 0; i < plan->op_count && rc == 0; i++) {
		const struct plan_launch *l = &plan->ops[i].launch;
		const struct hlsl_kernel *code;

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

/* A place relative to the buffer's first byte, as one in the allocation. */
static uint64_t place(const struct backend_run *r, unsigned buffer, int64_t offset, size_t bytes)
{
	uint64_t at = (uint64_t)(offset + BACKEND_RED_ZONE);

	assert(buffer < r->plan->buffer_count && offset >= -BACKEND_RED_ZONE && at + bytes <= r->buffers[buffer]->bytes);
	return at;
}

static int write_buffer(struct backend_run *r, unsigned buffer, int64_t offset, const void *from, size_t bytes, struct err *e)
{
	return hlsl_device_write(r->device, r->buffers[buffer], place(r, buffer, offset, bytes), from, bytes, e);
}

static int read_buffer(struct backend_run *r, unsigned buffer, int64_t offset, void *to, size_t bytes, struct err *e)
{
	return hlsl_device_read(r->device, r->buffers[buffer], place(r, buffer, offset, bytes), to, bytes, e);
}

/* --- executing ---------------------------------------------------------------------------------------------------- */

static void record_ops(struct backend_run *r)
{
	struct backend_device *d = r->device;

	for (size_t i = 0; i < r->plan->op_count; i++) {
		const struct plan_op *op = &r->plan->ops[i];
		const struct kernel *k = r->kernels[i];
		VkBufferCopy region;

		switch (op->kind) {
		case PLAN_OP_LAUNCH:
			d->vk.CmdBindPipeline(d->commands, VK_PIPELINE_BIND_POINT_COMPUTE, k->pipeline);
			d->vk.CmdBindDescriptorSets(d->commands, VK_PIPELINE_BIND_POINT_COMPUTE, k->layout, 0, 1, &k->set, 0, NULL);
			if (k->scalar_bytes)
				d->vk.CmdPushConstants(d->commands, k->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, k->scalar_bytes,
						       k->scalars);
			d->vk.CmdDispatch(d->commands, k->grid[0], k->grid[1], k->grid[2]);
			break;
		case PLAN_OP_MEMSET:
			d->vk.CmdFillBuffer(d->commands, r->buffers[op->memset.buffer]->handle,
					    BACKEND_RED_ZONE + op->memset.offset, op->memset.bytes,
					    op->memset.value * UINT32_C(0x01010101));
			break;
		case PLAN_OP_COPY:
			region = (VkBufferCopy){ .srcOffset = BACKEND_RED_ZONE + op->copy.src_offset,
						 .dstOffset = BACKEND_RED_ZONE + op->copy.dst_offset,
						 .size = op->copy.bytes };
			d->vk.CmdCopyBuffer(d->commands, r->buffers[op->copy.src]->handle, r->buffers[op->copy.dst]->handle, 1,
					    &region);
			break;
		case PLAN_OP_GEMM: /* refused by prepare */ break;
		}
		hlsl_device_barrier(d);
	}
}

static void record_timestamp(struct backend_device *d, uint32_t query)
{
	if (d->queries)
		d->vk.CmdWriteTimestamp(d->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, d->queries, query);
}

/* One submission: `pairs` timed stretches of `times` executions each, whose nanoseconds are added to *io_ns. */
static int submit(struct backend_run *r, uint32_t pairs, uint32_t times, struct device_buffer *flush, double *io_ns, struct err *e)
{
	struct backend_device *d = r->device;
	uint64_t ticks[DEVICE_QUERIES];

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
	if (hlsl_device_submit(d, e) < 0)
		return -(int)e->code;
	if (!d->queries)
		return 0;
	if (hlsl_library_check(d->vk.GetQueryPoolResults(d->handle, d->queries, 0, 2 * pairs, sizeof ticks, ticks, sizeof ticks[0],
							 VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
			       "vkGetQueryPoolResults", e) < 0)
		return -(int)e->code;
	for (uint32_t i = 0; i < pairs; i++)
		*io_ns += (double)((ticks[2 * i + 1] - ticks[2 * i]) & d->tick_mask) * (double)d->limits.timestampPeriod;
	return 0;
}

static int execute(struct backend_run *r, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e)
{
	bool cold = cache != WIRE_WARM;
	struct device_buffer *flush = NULL;
	double ns = 0;
	int rc = cold ? hlsl_device_flush_buffer(r->device, &flush, e) : submit(r, 1, times, NULL, &ns, e);

	for (uint32_t done = 0; cold && done < times && rc == 0;) {
		uint32_t pairs = times - done < DEVICE_QUERIES / 2 ? times - done : DEVICE_QUERIES / 2;
		rc = submit(r, pairs, 1, flush, &ns, e);
		done += pairs;
	}
	if (rc == 0)
		*ret_ns = (uint64_t)(ns / times + 0.5);
	return rc;
}

static int races(const struct backend_device *d, const void *binary, size_t len, const struct plan *plan, uint64_t seed,
		 char **ret_finding, struct err *e)
{
	return hlsl_race_check(binary, len, plan, seed, d->wave, ret_finding, e);
}

const struct backend backend_hlsl = {
	.name = "hlsl",
	.devices = hlsl_facts_devices,
	.describe = hlsl_facts_describe,
	.compile = hlsl_compile,
	.open = hlsl_device_open,
	.close = hlsl_device_close,
	.prepare = prepare,
	.write = write_buffer,
	.read = read_buffer,
	.execute = execute,
	.release = release,
	.races = races,
};
