/* kernel: see kernel.h. */
#include "backends/hlsl/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "backends/worker/backend.h"
#include "backends/hlsl/bind.h"
#include "base/mem.h"

struct kernel {
	VkShaderModule module;
	VkDescriptorSetLayout set_layout;
	VkPipelineLayout layout;
	VkPipeline pipeline;
	VkDescriptorPool pool;
	VkDescriptorSet set;
	uint32_t grid[3];
	uint8_t *scalars;       /* the push constants */
	uint32_t scalar_bytes;
};

/* --- checks ------------------------------------------------------------------------------------------------------- */

static int check_geometry(const struct plan_launch *l, const struct spirv *s, struct err *e)
{
	if (memcmp(l->block, s->block, sizeof s->block) != 0)
		return err_set(e, ERR_INPUT, "launch of %s: host code asks for blocks of %u×%u×%u, the kernel has "
		               "[numthreads(%u, %u, %u)]; make them the same", l->kernel, l->block[0], l->block[1], l->block[2],
		               s->block[0], s->block[1], s->block[2]);
	if (l->cluster[0] != 1 || l->cluster[1] != 1 || l->cluster[2] != 1 || l->cooperative)
		return err_set(e, ERR_INPUT, "launch of %s: HLSL has no cluster and no cooperative launches; leave them out",
		               l->kernel);
	if (l->shared)
		return err_set(e, ERR_INPUT,
		               "launch of %s: HLSL has no dynamic shared memory (%u bytes asked for); declare groupshared "
		               "arrays", l->kernel, l->shared);
	return 0;
}

static int check_bindings(const struct plan *plan, const struct plan_launch *l, const struct spirv *s, struct err *e)
{
	for (size_t i = 0; i < s->binding_count; i++) {
		const struct spirv_binding *b = &s->bindings[i];
		const struct plan_arg *a = hlsl_bind_find(plan, l, b->name);
		if (!b->storage || b->set != 0)
			return err_set(e, ERR_INPUT,
			               "kernel %s has a resource %s that is no buffer of the plan; only buffers and scalars "
			               "that the launch passes exist", l->kernel, b->name);
		if (a == NULL || a->kind != PLAN_ARG_BUFFER)
			return err_set(e, ERR_INPUT,
			               "kernel %s uses the buffer %s, which its launch does not pass; add it to the launch's "
			               "arguments", l->kernel, b->name);
	}
	for (size_t i = 0; i < s->member_count; i++) {
		const struct spirv_member *m = &s->members[i];
		const struct plan_arg *a = hlsl_bind_find(plan, l, m->name);
		if (m->used && (a == NULL || a->kind != PLAN_ARG_SCALAR || m->bits < 32))
			return err_set(e, ERR_INPUT,
			               "kernel %s uses the scalar %s, which its launch does not pass; add it to the launch's "
			               "arguments", l->kernel, m->name);
	}
	return 0;
}

int hlsl_kernel_fits(const struct plan *plan, const struct plan_launch *launch, const struct spirv *s, struct err *e)
{
	int r = check_geometry(launch, s, e);
	return r < 0 ? r : check_bindings(plan, launch, s, e);
}

static int over(const char *kernel, const char *what, uint64_t asked, uint64_t allowed, struct err *e)
{
	return err_set(e, ERR_PRUNED, "launch of %s: %s is %llu, the device allows %llu", kernel, what,
	               (unsigned long long)asked, (unsigned long long)allowed);
}

static int check_limits(const struct backend_device *d, const struct plan_launch *l, const struct spirv *s,
                        struct err *e)
{
	static const char *const blocks[] = { "block x", "block y", "block z" };
	static const char *const grids[] = { "grid x", "grid y", "grid z" };
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
	return 0;
}

/* Capabilities (SPIR-V specification, 3.31) that a device may lack; the others come with Vulkan 1.1. */
static int check_capabilities(const struct backend_device *d, const char *kernel, const struct spirv *s, struct err *e)
{
	const struct { uint32_t capability; bool there; const char *what; } optional[] = {
		{ 9, d->float16, "16-bit floating-point arithmetic" }, { 10, d->float64, "double" },
		{ 11, d->int64, "64-bit integers" }, { 22, d->int16, "16-bit integers" }, { 39, d->int8, "8-bit integers" },
		{ 4433, d->storage16, "16-bit buffer elements" }, { 4434, false, "16-bit uniform elements" },
		{ 4435, false, "16-bit push constants" },
	};
	for (size_t i = 0; i < s->capability_count; i++)
		for (size_t k = 0; k < MEM_COUNT(optional); k++)
			if (s->capabilities[i] == optional[k].capability && !optional[k].there)
				return err_set(e, ERR_PRUNED, "kernel %s needs %s, which the device does not have", kernel,
				               optional[k].what);
	return 0;
}

/* --- Vulkan objects ----------------------------------------------------------------------------------------------- */

static int make_layouts(struct backend_device *d, struct kernel *k, const struct spirv *s, struct err *e)
{
	VkDescriptorSetLayoutBinding *list = MEM_NEW_N(VkDescriptorSetLayoutBinding, s->binding_count);
	for (size_t i = 0; i < s->binding_count; i++)
		list[i] = (VkDescriptorSetLayoutBinding){
			.binding = s->bindings[i].binding, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = 1,
			.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
		};
	VkDescriptorSetLayoutCreateInfo set = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
	                                        .bindingCount = (uint32_t)s->binding_count, .pBindings = list };
	VkResult result = d->vk.CreateDescriptorSetLayout(d->handle, &set, NULL, &k->set_layout);
	free(list);
	if (result != VK_SUCCESS)
		return hlsl_library_failed(result, "vkCreateDescriptorSetLayout", e);
	VkPushConstantRange push = { .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = k->scalar_bytes };
	VkPipelineLayoutCreateInfo info = { .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1,
	                                    .pSetLayouts = &k->set_layout, .pushConstantRangeCount = k->scalar_bytes > 0,
	                                    .pPushConstantRanges = &push };
	result = d->vk.CreatePipelineLayout(d->handle, &info, NULL, &k->layout);
	return result == VK_SUCCESS ? 0 : hlsl_library_failed(result, "vkCreatePipelineLayout", e);
}

static int make_pipeline(struct backend_device *d, struct kernel *k, const struct module_kernel *code, struct err *e)
{
	VkShaderModuleCreateInfo module = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
	                                    .codeSize = code->count * sizeof(uint32_t), .pCode = code->words };
	VkResult result = d->vk.CreateShaderModule(d->handle, &module, NULL, &k->module);
	if (result != VK_SUCCESS)
		return hlsl_library_failed(result, "vkCreateShaderModule", e);
	VkComputePipelineCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .layout = k->layout,
		.stage = { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .stage = VK_SHADER_STAGE_COMPUTE_BIT,
		           .module = k->module, .pName = code->name },
	};
	result = d->vk.CreateComputePipelines(d->handle, VK_NULL_HANDLE, 1, &info, NULL, &k->pipeline);
	return result == VK_SUCCESS ? 0 : hlsl_library_failed(result, "vkCreateComputePipelines", e);
}

/* A binding covers its buffer and the red zone behind it: drivers that check bounds would else hide what the zone is
 * for. */
static int make_set(struct backend_device *d, struct kernel *k, const struct plan *plan,
                    const struct plan_launch *launch, struct device_buffer *const *buffers, const struct spirv *s, struct err *e)
{
	uint32_t count = (uint32_t)s->binding_count;
	VkDescriptorPoolSize size = { .type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = count ? count : 1 };
	VkDescriptorPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1,
	                                    .poolSizeCount = 1, .pPoolSizes = &size };
	VkResult result = d->vk.CreateDescriptorPool(d->handle, &pool, NULL, &k->pool);
	if (result != VK_SUCCESS)
		return hlsl_library_failed(result, "vkCreateDescriptorPool", e);
	VkDescriptorSetAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
	                                     .descriptorPool = k->pool,
	                                     .descriptorSetCount = 1, .pSetLayouts = &k->set_layout };
	result = d->vk.AllocateDescriptorSets(d->handle, &info, &k->set);
	if (result != VK_SUCCESS)
		return hlsl_library_failed(result, "vkAllocateDescriptorSets", e);
	for (uint32_t i = 0; i < count; i++) {
		const struct plan_arg *a = hlsl_bind_find(plan, launch, s->bindings[i].name);
		const struct device_buffer *b = buffers[a->index];
		VkDescriptorBufferInfo where = { .buffer = b->handle, .offset = BACKEND_RED_ZONE,
		                                 .range = b->bytes - BACKEND_RED_ZONE };
		if (where.range > d->limits.maxStorageBufferRange)
			return over(launch->kernel, "the size of a buffer in bytes", where.range, d->limits.maxStorageBufferRange,
			            e);
		VkWriteDescriptorSet write = { .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = k->set,
		                               .dstBinding = s->bindings[i].binding, .descriptorCount = 1,
		                               .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .pBufferInfo = &where };
		d->vk.UpdateDescriptorSets(d->handle, 1, &write, 0, NULL);
	}
	return 0;
}

/* --- scalars ------------------------------------------------------------------------------------------------------ */

static void store_scalar(uint8_t *to, const struct spirv_member *m, const struct plan_arg *a)
{
	bool given_float = dtype_is_float(a->type);
	double f = given_float ? a->f : (double)a->i;
	float single = (float)f;
	int64_t i = given_float ? (int64_t)a->f : a->i;
	if (!m->floating)
		memcpy(to, &i, m->bits / 8);
	else if (m->bits == 64)
		memcpy(to, &f, sizeof f);
	else
		memcpy(to, &single, sizeof single);
}

/* An integer argument wider than the 32 bits that the code sees must still fit them. */
static bool fits_32(const struct plan_arg *a)
{
	if (dtype_is_float(a->type))
		return true;
	return dtype_is_signed(a->type) ? a->i >= INT32_MIN && a->i <= INT32_MAX : (uint64_t)a->i <= UINT32_MAX;
}

static int fill_scalars(struct backend_device *d, struct kernel *k, const struct plan *plan,
                        const struct plan_launch *launch, const struct spirv *s, struct err *e)
{
	for (size_t i = 0; i < s->member_count; i++) {
		const struct spirv_member *m = &s->members[i];
		uint64_t end = (uint64_t)m->offset + m->bits / 8;
		if (end > d->limits.maxPushConstantsSize)
			return over(launch->kernel, "the size of all scalar arguments in bytes", end,
			            d->limits.maxPushConstantsSize, e);
		k->scalar_bytes = end > k->scalar_bytes ? (uint32_t)(end + 3) / 4 * 4 : k->scalar_bytes;
	}
	k->scalars = mem_new(k->scalar_bytes, 1);
	for (size_t i = 0; i < s->member_count; i++) {
		const struct plan_arg *a = hlsl_bind_find(plan, launch, s->members[i].name);
		if (!s->members[i].used || a == NULL)
			continue;
		if (!fits_32(a))
			return err_set(e, ERR_INPUT,
			               "launch of %s: scalar %s = %lld does not fit 32 bits, which is what HLSL code sees",
			               launch->kernel, s->members[i].name, (long long)a->i);
		store_scalar(k->scalars + s->members[i].offset, &s->members[i], a);
	}
	return 0;
}

/* --- the kernel --------------------------------------------------------------------------------------------------- */

int hlsl_kernel_new(struct backend_device *d, const struct module_kernel *code, const struct plan *plan,
               const struct plan_launch *launch, struct device_buffer *const *buffers, struct kernel **ret_kernel,
               struct err *e)
{
	struct spirv s;
	if (hlsl_spirv_read(code->words, code->count, &s, e) < 0)
		return -(int)e->code;
	struct kernel *k = MEM_NEW(struct kernel);
	memcpy(k->grid, launch->grid, sizeof k->grid);
	int r = hlsl_kernel_fits(plan, launch, &s, e);
	if (r < 0 || (r = check_limits(d, launch, &s, e)) < 0 || (r = check_capabilities(d, launch->kernel, &s, e)) < 0 ||
	    (r = fill_scalars(d, k, plan, launch, &s, e)) < 0 || (r = make_layouts(d, k, &s, e)) < 0 ||
	    (r = make_pipeline(d, k, code, e)) < 0 || (r = make_set(d, k, plan, launch, buffers, &s, e)) < 0)
		hlsl_kernel_free(d, k);
	else
		*ret_kernel = k;
	hlsl_spirv_fini(&s);
	return r;
}

void hlsl_kernel_free(struct backend_device *d, struct kernel *k)
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

void hlsl_kernel_record(struct backend_device *d, const struct kernel *k)
{
	d->vk.CmdBindPipeline(d->commands, VK_PIPELINE_BIND_POINT_COMPUTE, k->pipeline);
	d->vk.CmdBindDescriptorSets(d->commands, VK_PIPELINE_BIND_POINT_COMPUTE, k->layout, 0, 1, &k->set, 0, NULL);
	if (k->scalar_bytes)
		d->vk.CmdPushConstants(d->commands, k->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, k->scalar_bytes, k->scalars);
	d->vk.CmdDispatch(d->commands, k->grid[0], k->grid[1], k->grid[2]);
}
