/* device_buffer: memory on a Vulkan device, and ways into and out of it; declared in device.h. */
#include <stdlib.h>
#include <string.h>

#include "backends/hlsl/device.h"
#include "base/mem.h"

enum { STAGING = 16 << 20 };

/* The first memory type among `allowed` with all of `flags`; -1 for none. */
static int find_type(const struct backend_device *d, uint32_t allowed, VkMemoryPropertyFlags flags)
{
	for (uint32_t i = 0; i < d->memory.memoryTypeCount; i++)
		if ((allowed >> i & 1) && (d->memory.memoryTypes[i].propertyFlags & flags) == flags)
			return (int)i;
	return -1;
}

static int choose_type(const struct backend_device *d, uint32_t allowed, bool visible, struct err *e)
{
	const VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
	int type = -1;
	if (visible)
		type = find_type(d, allowed, host | VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
	if (visible && type < 0)
		type = find_type(d, allowed, host);
	if (!visible)
		type = find_type(d, allowed, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
	if (type < 0)
		return err_set(e, ERR_UNSUPPORTED, "the Vulkan device has no %s memory for buffers; choose another device",
		               visible ? "host-visible" : "device-local");
	return type;
}

static int allocate(struct backend_device *d, struct device_buffer *b, bool visible, struct err *e)
{
	VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = b->bytes,
	                            .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
	                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT };
	VkResult result = d->vk.CreateBuffer(d->handle, &info, NULL, &b->handle);
	if (result != VK_SUCCESS)
		return hlsl_library_failed(result, "vkCreateBuffer", e);
	VkMemoryRequirements need;
	d->vk.GetBufferMemoryRequirements(d->handle, b->handle, &need);
	int type = choose_type(d, need.memoryTypeBits, visible, e);
	if (type < 0)
		return type;
	VkMemoryAllocateInfo memory = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = need.size,
	                                .memoryTypeIndex = (uint32_t)type };
	result = d->vk.AllocateMemory(d->handle, &memory, NULL, &b->memory);
	if (result != VK_SUCCESS)
		return hlsl_library_failed(result, "vkAllocateMemory", e);
	result = d->vk.BindBufferMemory(d->handle, b->handle, b->memory, 0);
	if (result != VK_SUCCESS)
		return hlsl_library_failed(result, "vkBindBufferMemory", e);
	const VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
	if ((d->memory.memoryTypes[type].propertyFlags & host) != host)
		return 0;
	result = d->vk.MapMemory(d->handle, b->memory, 0, VK_WHOLE_SIZE, 0, (void **)&b->host);
	return result == VK_SUCCESS ? 0 : hlsl_library_failed(result, "vkMapMemory", e);
}

int hlsl_device_buffer_new(struct backend_device *d, uint64_t bytes, bool visible, struct device_buffer **ret_buffer,
                           struct err *e)
{
	struct device_buffer *b = MEM_NEW(struct device_buffer);
	b->bytes = bytes;
	int r = allocate(d, b, visible, e);
	if (r < 0)
		hlsl_device_buffer_free(d, b);
	else
		*ret_buffer = b;
	return r < 0 ? r : 0;
}

void hlsl_device_buffer_free(struct backend_device *d, struct device_buffer *b)
{
	if (b == NULL)
		return;
	d->vk.DestroyBuffer(d->handle, b->handle, NULL);
	d->vk.FreeMemory(d->handle, b->memory, NULL);
	free(b);
}

static int need_staging(struct backend_device *d, struct err *e)
{
	return d->staging ? 0 : hlsl_device_buffer_new(d, STAGING, true, &d->staging, e);
}

static int copy(struct backend_device *d, struct device_buffer *to, uint64_t to_offset, struct device_buffer *from,
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

int hlsl_device_write(struct backend_device *d, struct device_buffer *b, uint64_t offset, const void *from,
                      size_t bytes, struct err *e)
{
	if (b->host) {
		memcpy(b->host + offset, from, bytes);
		return 0;
	}
	int r = need_staging(d, e);
	for (size_t at = 0; at < bytes && r == 0; at += STAGING) {
		size_t n = bytes - at < STAGING ? bytes - at : STAGING;
		memcpy(d->staging->host, (const uint8_t *)from + at, n);
		r = copy(d, b, offset + at, d->staging, 0, n, e);
	}
	return r;
}

int hlsl_device_read(struct backend_device *d, struct device_buffer *b, uint64_t offset, void *to, size_t bytes,
                     struct err *e)
{
	if (b->host) {
		memcpy(to, b->host + offset, bytes);
		return 0;
	}
	int r = need_staging(d, e);
	for (size_t at = 0; at < bytes && r == 0; at += STAGING) {
		size_t n = bytes - at < STAGING ? bytes - at : STAGING;
		r = copy(d, d->staging, 0, b, offset + at, n, e);
		if (r == 0)
			memcpy((uint8_t *)to + at, d->staging->host, n);
	}
	return r;
}

int hlsl_device_flush_buffer(struct backend_device *d, struct device_buffer **ret_buffer, struct err *e)
{
	uint64_t bytes = UINT64_C(1) << (d->shares_cpu ? 26 : 28);
	int r = d->flush ? 0 : hlsl_device_buffer_new(d, bytes, false, &d->flush, e);
	if (r == 0)
		*ret_buffer = d->flush;
	return r;
}
