/* device: opening, closing and submitting; see device.h. Buffers are in device_buffer.c. */
#include "backends/hlsl/device.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The first queue family that computes. */
static int find_family(struct backend_device *d, uint32_t *ret_family, uint32_t *ret_bits, struct err *e)
{
	uint32_t count = 0;
	d->vk.GetPhysicalDeviceQueueFamilyProperties(d->physical, &count, NULL);
	VkQueueFamilyProperties *families = MEM_NEW_N(VkQueueFamilyProperties, count);
	d->vk.GetPhysicalDeviceQueueFamilyProperties(d->physical, &count, families);
	uint32_t found = count;
	for (uint32_t i = count; i-- > 0;)
		if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)
			found = i;
	if (found < count)
		*ret_bits = families[found].timestampValidBits;
	free(families);
	if (found == count)
		return err_set(e, ERR_UNSUPPORTED, "this Vulkan device has no compute queue; choose another device");
	*ret_family = found;
	return 0;
}

struct features {
	VkPhysicalDevice16BitStorageFeatures storage16;
	VkPhysicalDeviceShaderFloat16Int8Features float16;
	VkPhysicalDeviceFeatures2 all;
};

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

/* Asks for the narrow and wide types that are there, and for nothing else; above all not for robust buffer access. */
static void choose_features(struct backend_device *d, struct features *f, bool small)
{
	*f = (struct features){
		.storage16 = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES },
		.float16 = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES },
		.all = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2 },
	};
	f->all.pNext = &f->storage16;
	f->storage16.pNext = small ? &f->float16 : NULL;
	d->vk.GetPhysicalDeviceFeatures2(d->physical, &f->all);
	d->float64 = f->all.features.shaderFloat64;
	d->int64 = f->all.features.shaderInt64;
	d->int16 = f->all.features.shaderInt16;
	d->storage16 = f->storage16.storageBuffer16BitAccess;
	d->float16 = f->float16.shaderFloat16;
	d->int8 = f->float16.shaderInt8;
	f->all.features = (VkPhysicalDeviceFeatures){ .shaderFloat64 = d->float64, .shaderInt64 = d->int64,
	                                              .shaderInt16 = d->int16 };
	f->storage16 = (VkPhysicalDevice16BitStorageFeatures){ .sType = f->storage16.sType, .pNext = f->storage16.pNext,
	                                                       .storageBuffer16BitAccess = d->storage16 };
}

static int make_device(struct backend_device *d, uint32_t family, struct err *e)
{
	static const char *const small_types = VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME;
	float priority = 1;
	struct features f;
	bool small = has_extension(d, small_types);
	choose_features(d, &f, small);
	VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueFamilyIndex = family,
	                                  .queueCount = 1, .pQueuePriorities = &priority };
	VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &f.all,
	                            .queueCreateInfoCount = 1,
	                            .pQueueCreateInfos = &queue, .enabledExtensionCount = small,
	                            .ppEnabledExtensionNames = &small_types };
	VkResult result = d->vk.CreateDevice(d->physical, &info, NULL, &d->handle);
	if (result != VK_SUCCESS)
		return hlsl_library_failed(result, "vkCreateDevice", e);
	d->vk.GetDeviceQueue(d->handle, family, 0, &d->queue);
	return 0;
}

static int make_objects(struct backend_device *d, uint32_t family, uint32_t bits, struct err *e)
{
	VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = family,
	                                 .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT };
	VkResult result = d->vk.CreateCommandPool(d->handle, &pool, NULL, &d->pool);
	if (result != VK_SUCCESS)
		return hlsl_library_failed(result, "vkCreateCommandPool", e);
	VkCommandBufferAllocateInfo commands = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
	                                         .commandPool = d->pool,
	                                         .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY, .commandBufferCount = 1 };
	result = d->vk.AllocateCommandBuffers(d->handle, &commands, &d->commands);
	if (result != VK_SUCCESS)
		return hlsl_library_failed(result, "vkAllocateCommandBuffers", e);
	VkFenceCreateInfo fence = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
	result = d->vk.CreateFence(d->handle, &fence, NULL, &d->fence);
	if (result != VK_SUCCESS)
		return hlsl_library_failed(result, "vkCreateFence", e);
	if (bits == 0)
		return 0;
	d->tick_mask = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
	VkQueryPoolCreateInfo queries = { .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
	                                  .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = DEVICE_QUERIES };
	result = d->vk.CreateQueryPool(d->handle, &queries, NULL, &d->queries);
	return result == VK_SUCCESS ? 0 : hlsl_library_failed(result, "vkCreateQueryPool", e);
}

static int pick_physical(struct backend_device *d, uint32_t index, struct err *e)
{
	VkPhysicalDevice *devices;
	uint32_t count;
	if (hlsl_library_devices(&d->vk, &devices, &count, e) < 0)
		return -(int)e->code;
	if (index < count)
		d->physical = devices[index];
	free(devices);
	if (index >= count)
		return err_set(e, ERR_UNSUPPORTED, "hlsl:%u does not exist, Vulkan finds %u device(s)", index, count);
	VkPhysicalDeviceProperties2 p = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2 };
	d->vk.GetPhysicalDeviceProperties2(d->physical, &p);
	d->vk.GetPhysicalDeviceMemoryProperties(d->physical, &d->memory);
	d->limits = p.properties.limits;
	d->shares_cpu = p.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
	return 0;
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

void hlsl_device_close(struct backend_device *d)
{
	if (d == NULL)
		return;
	if (d->handle) {
		d->vk.DeviceWaitIdle(d->handle);
		hlsl_device_buffer_free(d, d->staging);
		hlsl_device_buffer_free(d, d->flush);
		d->vk.DestroyQueryPool(d->handle, d->queries, NULL);
		d->vk.DestroyFence(d->handle, d->fence, NULL);
		d->vk.DestroyCommandPool(d->handle, d->pool, NULL);
		d->vk.DestroyDevice(d->handle, NULL);
	}
	hlsl_library_fini(&d->vk);
	free(d);
}

int hlsl_device_begin(struct backend_device *d, struct err *e)
{
	VkCommandBufferBeginInfo info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
	                                  .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT };
	VkResult result = d->vk.BeginCommandBuffer(d->commands, &info);
	return result == VK_SUCCESS ? 0 : hlsl_library_failed(result, "vkBeginCommandBuffer", e);
}

/* Waits without a limit: the daemon ends this process at its deadline, and a timed-out device could not be closed
 * anyway. */
int hlsl_device_submit(struct backend_device *d, struct err *e)
{
	VkResult result = d->vk.EndCommandBuffer(d->commands);
	if (result != VK_SUCCESS)
		return hlsl_library_failed(result, "vkEndCommandBuffer", e);
	VkSubmitInfo info = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1,
	                      .pCommandBuffers = &d->commands };
	result = d->vk.QueueSubmit(d->queue, 1, &info, d->fence);
	if (result != VK_SUCCESS)
		return hlsl_library_failed(result, "vkQueueSubmit", e);
	result = d->vk.WaitForFences(d->handle, 1, &d->fence, VK_TRUE, UINT64_MAX);
	if (result != VK_SUCCESS)
		return hlsl_library_failed(result, "vkWaitForFences", e);
	result = d->vk.ResetFences(d->handle, 1, &d->fence);
	return result == VK_SUCCESS ? 0 : hlsl_library_failed(result, "vkResetFences", e);
}

void hlsl_device_barrier(struct backend_device *d)
{
	VkMemoryBarrier all = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
	                        .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_WRITE_BIT,
	                        .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_READ_BIT };
	VkPipelineStageFlags stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT;
	d->vk.CmdPipelineBarrier(d->commands, stages, stages, 0, 1, &all, 0, NULL, 0, NULL);
}
