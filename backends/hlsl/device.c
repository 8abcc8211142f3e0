/* device: see device.h. */
#include "backends/hlsl/device.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { STAGING = 16 << 20 };
static const VkMemoryPropertyFlags host_memory = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

/* --- opening ------------------------------------------------------------------------------------------------------ */

static int pick_physical(struct backend_device *d, uint32_t index, struct err *e)
{
	VkPhysicalDeviceDriverProperties driver = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES };
	VkPhysicalDeviceSubgroupProperties subgroup = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
							.pNext = &driver };
	VkPhysicalDeviceProperties2 p = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &subgroup };
	VkPhysicalDevice *devices;
	uint32_t count;
	if (hlsl_library_devices(&d->vk, &devices, &count, e) < 0)
		return -(int)e->code;
	if (index < count)
		d->physical = devices[index];
	free(devices);
	if (index >= count)
		return err_set(e, ERR_UNSUPPORTED, "hlsl:%u does not exist: Vulkan finds %u device(s)", index, count);
	d->vk.GetPhysicalDeviceProperties2(d->physical, &p);
	d->vk.GetPhysicalDeviceMemoryProperties(d->physical, &d->memory);
	d->limits = p.properties.limits;
	d->wave = subgroup.subgroupSize;
	d->shares_cpu = p.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
	d->fences_wait = driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
	return 0;
}

/* The first queue family that computes, and how many bits its timestamps have. */
static int find_family(struct backend_device *d, uint32_t *ret_family, uint32_t *ret_bits, struct err *e)
{
	uint32_t count = 0, found = 0;
	d->vk.GetPhysicalDeviceQueueFamilyProperties(d->physical, &count, NULL);
	VkQueueFamilyProperties *families = MEM_NEW_N(VkQueueFamilyProperties, count);
	d->vk.GetPhysicalDeviceQueueFamilyProperties(d->physical, &count, families);
	while (found < count && !(families[found].queueFlags & VK_QUEUE_COMPUTE_BIT))
		found++;
	if (found < count)
		*ret_bits = families[found].timestampValidBits;
	free(families);
	if (found == count)
		return err_set(e, ERR_UNSUPPORTED, "this Vulkan device has no compute queue; choose another device");
	*ret_family = found;
	return 0;
}

static bool has_extension(struct backend_device *d, const char *name)
{
	uint32_t count = 0;
	bool found = false;
	if (d->vk.EnumerateDeviceExtensionProperties(d->physical, NULL, &count, NULL) != VK_SUCCESS)
		return false;
	VkExtensionProperties *list = MEM_NEW_N(VkExtensionProperties, count);
	if (d->vk.EnumerateDeviceExtensionProperties(d->physical, NULL, &count, list) == VK_SUCCESS)
		for (uint32_t i = 0; i < count; i++)
			found |= strcmp(list[i].extensionName, name) == 0;
	free(list);
	return found;
}

/* Enables the narrow and wide types that the device has, and nothing else; above all not robust buffer access. */
static int make_device(struct backend_device *d, uint32_t family, struct err *e)
{
	static const char *const small_types = VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME;
	VkPhysicalDevice16BitStorageFeatures storage = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES };
	VkPhysicalDeviceShaderFloat16Int8Features small = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES
	};
	VkPhysicalDeviceFeatures2 all = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &storage };
	bool has_small = has_extension(d, small_types);
	float priority = 1;
	VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
					  .queueFamilyIndex = family,
					  .queueCount = 1,
					  .pQueuePriorities = &priority };
	VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
				    .pNext = &all,
				    .queueCreateInfoCount = 1,
				    .pQueueCreateInfos = &queue,
				    .enabledExtensionCount = has_small,
				    .ppEnabledExtensionNames = &small_types };

	storage.pNext = has_small ? &small : NULL;
	d->vk.GetPhysicalDeviceFeatures2(d->physical, &all);
	d->float64 = all.features.shaderFloat64;
	d->int64 = all.features.shaderInt64;
	d->int16 = all.features.shaderInt16;
	d->storage16 = storage.storageBuffer16BitAccess;
	d->float16 = small.shaderFloat16;
	d->int8 = small.shaderInt8;
	all.features = (VkPhysicalDeviceFeatures){ .shaderFloat64 = d->float64, .shaderInt64 = d->int64, .shaderInt16 = d->int16 };
	storage = (VkPhysicalDevice16BitStorageFeatures){ .sType = storage.sType,
							  .pNext = storage.pNext,
							  .storageBuffer16BitAccess = d->storage16 };
	if (DEVICE_CALL(d, e, CreateDevice, d->physical, &info, NULL, &d->handle) < 0)
		return -(int)e->code;
	d->vk.GetDeviceQueue(d->handle, family, 0, &d->queue);
	return 0;
}

static int make_objects(struct backend_device *d, uint32_t family, uint32_t bits, struct err *e)
{
	VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
					 .queueFamilyIndex = family,
					 .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT };
	VkFenceCreateInfo fence = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
	VkQueryPoolCreateInfo queries = { .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
					  .queryType = VK_QUERY_TYPE_TIMESTAMP,
					  .queryCount = DEVICE_QUERIES };
	VkCommandBufferAllocateInfo commands = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
						 .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
						 .commandBufferCount = 1 };
	if (DEVICE_CALL(d, e, CreateCommandPool, d->handle, &pool, NULL, &d->pool) < 0)
		return -(int)e->code;
	commands.commandPool = d->pool;
	if (DEVICE_CALL(d, e, AllocateCommandBuffers, d->handle, &commands, &d->commands) < 0 ||
	    DEVICE_CALL(d, e, CreateFence, d->handle, &fence, NULL, &d->fence) < 0)
		return -(int)e->code;
	if (bits == 0)
		return 0;
	d->tick_mask = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
	return DEVICE_CALL(d, e, CreateQueryPool, d->handle, &queries, NULL, &d->queries);
}

int hlsl_device_open(uint32_t index, struct backend_device **ret_device, struct err *e)
{
	struct backend_device *d = MEM_NEW(struct backend_device);
	uint32_t family = 0, bits = 0;
	if (hlsl_library_init(&d->vk, e) < 0 || pick_physical(d, index, e) < 0 || find_family(d, &family, &bits, e) < 0 ||
	    make_device(d, family, e) < 0 || make_objects(d, family, bits, e) < 0) {
		hlsl_device_close(d);
		return -(int)e->code;
	}
	*ret_device = d;
	return 0;
}

static void destroy_pipeline(struct backend_device *d, const struct device_pipeline *p)
{
	d->vk.DestroyDescriptorPool(d->handle, p->pool, NULL);
	d->vk.DestroyPipeline(d->handle, p->handle, NULL);
	d->vk.DestroyPipelineLayout(d->handle, p->layout, NULL);
	d->vk.DestroyDescriptorSetLayout(d->handle, p->set_layout, NULL);
}

void hlsl_device_close(struct backend_device *d)
{
	if (d == NULL)
		return;
	if (d->handle) {
		d->vk.DeviceWaitIdle(d->handle);
		hlsl_device_buffer_free(d, d->staging);
		hlsl_device_buffer_free(d, d->flush);
		hlsl_scrub_fini(d);
		while (d->spare_count)
			destroy_pipeline(d, &d->spare[--d->spare_count]);
		d->vk.DestroyQueryPool(d->handle, d->queries, NULL);
		d->vk.DestroyFence(d->handle, d->fence, NULL);
		d->vk.DestroyCommandPool(d->handle, d->pool, NULL);
		d->vk.DestroyDevice(d->handle, NULL);
	}
	hlsl_library_fini(&d->vk);
	free(d);
}

/* --- commands ----------------------------------------------------------------------------------------------------- */

int hlsl_device_begin(struct backend_device *d, struct err *e)
{
	VkCommandBufferBeginInfo info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
					  .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT };
	return DEVICE_CALL(d, e, BeginCommandBuffer, d->commands, &info);
}

/* Waits without a limit: the daemon ends this process at its deadline, and a device that timed out could not be closed
 * anyway. */
int hlsl_device_submit(struct backend_device *d, struct err *e)
{
	VkSubmitInfo info = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &d->commands };
	int rc = DEVICE_CALL(d, e, EndCommandBuffer, d->commands);
	if (rc == 0)
		rc = DEVICE_CALL(d, e, QueueSubmit, d->queue, 1, &info, d->fence);
	if (rc == 0)
		rc = DEVICE_CALL(d, e, WaitForFences, d->handle, 1, &d->fence, VK_TRUE, UINT64_MAX);
	return rc < 0 ? rc : DEVICE_CALL(d, e, ResetFences, d->handle, 1, &d->fence);
}

void hlsl_device_barrier(struct backend_device *d)
{
	VkMemoryBarrier all = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
				.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_WRITE_BIT,
				.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_READ_BIT };
	VkPipelineStageFlags stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT;
	d->vk.CmdPipelineBarrier(d->commands, stages, stages, 0, 1, &all, 0, NULL, 0, NULL);
}

/* --- buffers ------------------------------------------------------------------------------------------------------ */

/* The first memory type among `allowed` with all of `flags`; -1 for none. */
static int find_type(const struct backend_device *d, uint32_t allowed, VkMemoryPropertyFlags flags)
{
	for (uint32_t i = 0; i < d->memory.memoryTypeCount; i++)
		if ((allowed >> i & 1) && (d->memory.memoryTypes[i].propertyFlags & flags) == flags)
			return (int)i;
	return -1;
}

static int allocate(struct backend_device *d, struct device_buffer *b, bool visible, struct err *e)
{
	VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
				    .size = b->bytes,
				    .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
					     VK_BUFFER_USAGE_TRANSFER_DST_BIT };
	VkMemoryAllocateInfo memory = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO };
	VkMemoryRequirements need;
	if (DEVICE_CALL(d, e, CreateBuffer, d->handle, &info, NULL, &b->handle) < 0)
		return -(int)e->code;
	d->vk.GetBufferMemoryRequirements(d->handle, b->handle, &need);
	int type = find_type(d, need.memoryTypeBits,
			     visible ? host_memory | VK_MEMORY_PROPERTY_HOST_CACHED_BIT : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
	if (visible && type < 0)
		type = find_type(d, need.memoryTypeBits, host_memory);
	if (type < 0)
		return err_set(e, ERR_UNSUPPORTED, "the Vulkan device has no %s memory for buffers; choose another device",
			       visible ? "host-visible" : "device-local");
	memory.allocationSize = need.size;
	memory.memoryTypeIndex = (uint32_t)type;
	if (DEVICE_CALL(d, e, AllocateMemory, d->handle, &memory, NULL, &b->memory) < 0 ||
	    DEVICE_CALL(d, e, BindBufferMemory, d->handle, b->handle, b->memory, 0) < 0)
		return -(int)e->code;
	if ((d->memory.memoryTypes[type].propertyFlags & host_memory) != host_memory)
		return 0;
	return DEVICE_CALL(d, e, MapMemory, d->handle, b->memory, 0, VK_WHOLE_SIZE, 0, (void **)&b->host);
}

int hlsl_device_buffer_new(struct backend_device *d, uint64_t bytes, bool visible, struct device_buffer **ret_buffer, struct err *e)
{
	struct device_buffer *b = MEM_NEW(struct device_buffer);
	b->bytes = bytes;
	int rc = allocate(d, b, visible, e);
	/* What fits into an empty device may fit later. */
	uint64_t most = hlsl_device_memory(&d->memory);
	if (rc == -ERR_BUSY && bytes > most)
		rc = err_set(e, ERR_PRUNED, "%llu bytes do not fit into the device's memory of %llu bytes; use smaller inputs",
			     (unsigned long long)bytes, (unsigned long long)most);
	if (rc < 0)
		hlsl_device_buffer_free(d, b);
	else
		*ret_buffer = b;
	return rc;
}

void hlsl_device_buffer_free(struct backend_device *d, struct device_buffer *b)
{
	if (b == NULL)
		return;
	d->vk.DestroyBuffer(d->handle, b->handle, NULL);
	d->vk.FreeMemory(d->handle, b->memory, NULL);
	free(b);
}

int hlsl_device_copy(struct backend_device *d, struct device_buffer *to, uint64_t to_offset, struct device_buffer *from,
		     uint64_t from_offset, uint64_t bytes, struct err *e)
{
	VkBufferCopy region = { .srcOffset = from_offset, .dstOffset = to_offset, .size = bytes };
	if (hlsl_device_begin(d, e) < 0)
		return -(int)e->code;
	hlsl_device_barrier(d);
	d->vk.CmdCopyBuffer(d->commands, from->handle, to->handle, 1, &region);
	hlsl_device_barrier(d);
	return hlsl_device_submit(d, e);
}

int hlsl_device_transfer(struct backend_device *d, struct device_buffer *b, uint64_t offset, void *host_bytes, size_t bytes,
			 bool write, struct err *e)
{
	uint8_t *host = host_bytes;
	if (b->host) {
		memcpy(write ? b->host + offset : host, write ? host : b->host + offset, bytes);
		return 0;
	}
	int rc = d->staging ? 0 : hlsl_device_buffer_new(d, STAGING, true, &d->staging, e);
	for (size_t at = 0; at < bytes && rc == 0; at += STAGING) {
		size_t n = bytes - at < STAGING ? bytes - at : STAGING;
		if (write)
			memcpy(d->staging->host, host + at, n);
		rc = write ? hlsl_device_copy(d, b, offset + at, d->staging, 0, n, e)
			   : hlsl_device_copy(d, d->staging, 0, b, offset + at, n, e);
		if (rc == 0 && !write)
			memcpy(host + at, d->staging->host, n);
	}
	return rc;
}

/* --- pipelines ---------------------------------------------------------------------------------------------------- */

/* Mesa's llvmpipe (seen with 22.3.6) has a group wait at a fence as at a barrier. In a loop that some threads do not run, waves
 * then pass their group's barriers. Its atomic operations order all of a thread's memory accesses, so nothing is lost without
 * fences. Returns a copy of the code. free(). */
static uint32_t *without_fences(const struct hlsl_kernel *code)
{
	enum { FENCE = 3 << 16 | 225 /* OpMemoryBarrier, of three words */, NOP = 1 << 16 };
	size_t count = code->bytes / sizeof *code->words;
	uint32_t *words = MEM_NEW_N(uint32_t, count + 1);
	memcpy(words, code->words, count * sizeof *words);
	for (size_t at = SPIRV_HEADER, n; (n = hlsl_spirv_length(code->words, count, at)) > 0; at += n)
		if (words[at] == FENCE)
			words[at] = words[at + 1] = words[at + 2] = NOP;
	return words;
}

static int make_pipeline(struct backend_device *d, struct device_pipeline *p, const struct hlsl_kernel *code, struct err *e)
{
	VkShaderModuleCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
					  .codeSize = code->bytes,
					  .pCode = code->words };
	VkComputePipelineCreateInfo pipeline = { .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .layout = p->layout };
	VkShaderModule module = VK_NULL_HANDLE;
	uint32_t *words = d->fences_wait ? without_fences(code) : NULL;
	if (words)
		info.pCode = words;
	int rc = DEVICE_CALL(d, e, CreateShaderModule, d->handle, &info, NULL, &module);
	pipeline.stage = (VkPipelineShaderStageCreateInfo){ .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
							    .stage = VK_SHADER_STAGE_COMPUTE_BIT,
							    .module = module,
							    .pName = code->name };
	if (rc == 0)
		rc = DEVICE_CALL(d, e, CreateComputePipelines, d->handle, VK_NULL_HANDLE, 1, &pipeline, NULL, &p->handle);
	d->vk.DestroyShaderModule(d->handle, module, NULL);
	free(words);
	return rc;
}

int hlsl_device_pipeline_init(struct backend_device *d, struct device_pipeline *p, const struct hlsl_kernel *code,
			      const struct spirv_binding *bindings, size_t count, uint32_t push_bytes, struct err *e)
{
	struct hash_state *state = hash_new();
	hash_add(state, code->name, strlen(code->name) + 1);
	hash_add(state, code->words, code->bytes);
	p->code = hash_end(state);
	for (unsigned i = 0; i < d->spare_count; i++)
		if (strcmp(d->spare[i].code.hex, p->code.hex) == 0) {
			*p = d->spare[i];
			memmove(&d->spare[i], &d->spare[i + 1], (--d->spare_count - i) * sizeof *d->spare);
			return 0;
		}
	VkDescriptorSetLayoutBinding *list = MEM_NEW_N(VkDescriptorSetLayoutBinding, count);
	VkDescriptorSetLayoutCreateInfo set = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
						.bindingCount = (uint32_t)count,
						.pBindings = list };
	VkPushConstantRange push = { .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = push_bytes };
	VkPipelineLayoutCreateInfo layout = { .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
					      .setLayoutCount = 1,
					      .pSetLayouts = &p->set_layout,
					      .pushConstantRangeCount = push_bytes > 0,
					      .pPushConstantRanges = &push };
	VkDescriptorPoolSize size = { .type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
				      .descriptorCount = BACKEND_SETS * (count ? (uint32_t)count : 1) };
	VkDescriptorPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
					    .maxSets = BACKEND_SETS,
					    .poolSizeCount = 1,
					    .pPoolSizes = &size };
	VkDescriptorSetLayout layouts[BACKEND_SETS];
	VkDescriptorSetAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
					     .descriptorSetCount = BACKEND_SETS,
					     .pSetLayouts = layouts };
	for (size_t i = 0; i < count; i++)
		list[i] = (VkDescriptorSetLayoutBinding){ .binding = bindings[i].binding,
							  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
							  .descriptorCount = 1,
							  .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT };
	int rc = DEVICE_CALL(d, e, CreateDescriptorSetLayout, d->handle, &set, NULL, &p->set_layout);
	free(list);
	if (rc == 0)
		rc = DEVICE_CALL(d, e, CreatePipelineLayout, d->handle, &layout, NULL, &p->layout);
	if (rc == 0)
		rc = make_pipeline(d, p, code, e);
	if (rc == 0)
		rc = DEVICE_CALL(d, e, CreateDescriptorPool, d->handle, &pool, NULL, &p->pool);
	for (unsigned i = 0; i < BACKEND_SETS; i++)
		layouts[i] = p->set_layout;
	info.descriptorPool = p->pool;
	return rc < 0 ? rc : DEVICE_CALL(d, e, AllocateDescriptorSets, d->handle, &info, p->sets);
}

void hlsl_device_pipeline_fini(struct backend_device *d, struct device_pipeline *p)
{
	bool whole = p->sets[0] != VK_NULL_HANDLE; /* allocated last */
	if (whole && d->spare_count == DEVICE_SPARE) {
		destroy_pipeline(d, &d->spare[0]);
		memmove(d->spare, d->spare + 1, --d->spare_count * sizeof *d->spare);
	}
	if (whole)
		d->spare[d->spare_count++] = *p;
	else
		destroy_pipeline(d, p);
	*p = (struct device_pipeline){ .handle = VK_NULL_HANDLE };
}

void hlsl_device_bind(struct backend_device *d, const struct device_pipeline *p, unsigned set, uint32_t binding,
		      const struct device_buffer *b, uint64_t offset)
{
	VkDescriptorBufferInfo where = { .buffer = b->handle, .offset = offset, .range = b->bytes - offset };
	VkWriteDescriptorSet write = { .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
				       .dstSet = p->sets[set],
				       .dstBinding = binding,
				       .descriptorCount = 1,
				       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
				       .pBufferInfo = &where };
	d->vk.UpdateDescriptorSets(d->handle, 1, &write, 0, NULL);
}

void hlsl_device_use(struct backend_device *d, const struct device_pipeline *p, unsigned set)
{
	d->vk.CmdBindPipeline(d->commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->handle);
	d->vk.CmdBindDescriptorSets(d->commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->layout, 0, 1, &p->sets[set], 0, NULL);
}

int hlsl_device_need_flush(struct backend_device *d, struct err *e)
{
	return d->flush ? 0 : hlsl_device_buffer_new(d, UINT64_C(1) << (d->shares_cpu ? 26 : 28), false, &d->flush, e);
}
