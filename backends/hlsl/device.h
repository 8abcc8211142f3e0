/* device: one opened Vulkan device with its queue and one command buffer, and buffers on it. Used by backend.c. */
#ifndef PEAKD_BACKENDS_HLSL_DEVICE_H
#define PEAKD_BACKENDS_HLSL_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/hlsl/library.h"
#include "base/err.h"

enum { DEVICE_QUERIES = 128 };

struct backend_device {
	struct library vk;
	VkPhysicalDevice physical;
	VkDevice handle;
	VkQueue queue;
	VkCommandPool pool;
	VkCommandBuffer commands;
	VkFence fence;
	VkQueryPool queries; /* DEVICE_QUERIES timestamps; null when the queue has none */
	uint64_t tick_mask;  /* valid bits of a timestamp */
	uint32_t wave;       /* lanes of a wave; 0 unknown */
	VkPhysicalDeviceLimits limits;
	VkPhysicalDeviceMemoryProperties memory;
	bool float16, float64, int16, int64, storage16, int8; /* features that the device has, and that are enabled */
	bool shares_cpu;
	struct device_buffer *staging; /* for memory that the host cannot see; made when first needed */
	struct device_buffer *flush;   /* filled to push everything else out of the caches; made when first needed */
	struct device_scrub {
		VkDescriptorSetLayout set_layout;
		VkPipelineLayout layout;
		VkDescriptorPool pool;
		VkDescriptorSet set;
		VkPipeline pipelines[2];
		struct device_buffer *meeting;
	} scrub; /* overwrites shared memory (scrub.c); made when first needed */
};

struct device_buffer {
	VkBuffer handle;
	VkDeviceMemory memory;
	uint64_t bytes;
	uint8_t *host; /* mapped; NULL when the host cannot see it */
};

int hlsl_device_open(uint32_t index, struct backend_device **ret_device, struct err *e);
void hlsl_device_close(struct backend_device *d);

/* Command recording: begin, record with d->commands, submit (which waits). */
int hlsl_device_begin(struct backend_device *d, struct err *e);
int hlsl_device_submit(struct backend_device *d, struct err *e);
/* Everything before is finished and visible to everything after, the host included. */
void hlsl_device_barrier(struct backend_device *d);

/* visible: the host must see it. */
int hlsl_device_buffer_new(struct backend_device *d, uint64_t bytes, bool visible, struct device_buffer **ret_buffer,
			   struct err *e);
void hlsl_device_buffer_free(struct backend_device *d, struct device_buffer *b);
int hlsl_device_write(struct backend_device *d, struct device_buffer *b, uint64_t offset, const void *from, size_t bytes,
		      struct err *e);
int hlsl_device_read(struct backend_device *d, struct device_buffer *b, uint64_t offset, void *to, size_t bytes, struct err *e);
/* Copies on the device, and waits. */
int hlsl_device_copy(struct backend_device *d, struct device_buffer *to, uint64_t to_offset, struct device_buffer *from,
		     uint64_t from_offset, uint64_t bytes, struct err *e);
/* The buffer that empties the caches when it is filled: 64 MiB beside a CPU, 256 MiB on a GPU. */
int hlsl_device_flush_buffer(struct backend_device *d, struct device_buffer **ret_buffer, struct err *e);

#endif
