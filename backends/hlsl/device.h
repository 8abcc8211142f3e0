/* device: one opened Vulkan device with its queue and one command buffer, and buffers and pipelines on it. Used by backend.c and
 * scrub.c. */
#ifndef PEAKD_BACKENDS_HLSL_DEVICE_H
#define PEAKD_BACKENDS_HLSL_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include "backends/hlsl/object.h"
#include "backends/worker/backend.h"
#include "base/err.h"
#include "base/hash.h"

/* --- library.c: Vulkan's loader, opened at run time, and every function of it that peakd calls, in one list ----------- */

/* Functions of an instance and of its devices; vkGetInstanceProcAddr finds both. */
#define LIBRARY_FUNCTIONS(F)                                                                                                       \
	F(DestroyInstance)                                                                                                         \
	F(EnumeratePhysicalDevices)                                                                                                \
	F(GetPhysicalDeviceProperties2)                                                                                            \
	F(GetPhysicalDeviceFeatures2)                                                                                              \
	F(GetPhysicalDeviceMemoryProperties)                                                                                       \
	F(GetPhysicalDeviceQueueFamilyProperties)                                                                                  \
	F(EnumerateDeviceExtensionProperties)                                                                                      \
	F(CreateDevice)                                                                                                            \
	F(DestroyDevice) F(GetDeviceQueue) F(DeviceWaitIdle) F(QueueSubmit) F(CreateFence) F(DestroyFence) F(WaitForFences)        \
		F(ResetFences) F(CreateBuffer) F(DestroyBuffer) F(GetBufferMemoryRequirements) F(AllocateMemory) F(FreeMemory) F(  \
			BindBufferMemory) F(MapMemory) F(CreateShaderModule) F(DestroyShaderModule) F(CreateDescriptorSetLayout)   \
			F(DestroyDescriptorSetLayout) F(CreatePipelineLayout) F(DestroyPipelineLayout) F(CreateComputePipelines)   \
				F(DestroyPipeline) F(CreateDescriptorPool) F(DestroyDescriptorPool) F(AllocateDescriptorSets)      \
					F(UpdateDescriptorSets) F(CreateCommandPool) F(DestroyCommandPool)                         \
						F(AllocateCommandBuffers) F(BeginCommandBuffer) F(EndCommandBuffer)                \
							F(CmdBindPipeline) F(CmdBindDescriptorSets) F(CmdPushConstants)            \
								F(CmdDispatch) F(CmdPipelineBarrier) F(CmdCopyBuffer)              \
									F(CmdFillBuffer) F(CmdUpdateBuffer) F(CmdResetQueryPool)   \
										F(CmdWriteTimestamp) F(CreateQueryPool)            \
											F(DestroyQueryPool) F(GetQueryPoolResults)

struct library {
	void *handle; /* of dlopen */
	VkInstance instance;
#define F(name) PFN_vk##name name;
	LIBRARY_FUNCTIONS(F)
#undef F
};

/* Opens libvulkan.so.1 and makes an instance (Vulkan 1.1). -ERR_UNSUPPORTED names what to install. */
int hlsl_library_init(struct library *lib, struct err *e);
void hlsl_library_fini(struct library *lib);
/* Physical devices in the loader's order; the array is the caller's (free()). */
int hlsl_library_devices(const struct library *lib, VkPhysicalDevice **ret_devices, uint32_t *ret_count, struct err *e);
/* 0 for VK_SUCCESS; else the failed call as an error: -ERR_CRASH for a lost device, -ERR_PRUNED for exhausted memory,
 * -ERR_INTERNAL. */
int hlsl_library_check(VkResult result, const char *call, struct err *e);

/* --- facts.c */

/* The largest memory of the device, where buffers lie. */
uint64_t hlsl_device_memory(const VkPhysicalDeviceMemoryProperties *memory);

/* --- device.c ------------------------------------------------------------------------------------------------------ */

enum { DEVICE_QUERIES = 128, DEVICE_SPARE = 32 };

/* A kernel that can be launched, with its own bindings for each set of buffers. */
struct device_pipeline {
	struct hash code; /* what it was made of */
	VkDescriptorSetLayout set_layout;
	VkPipelineLayout layout;
	VkPipeline handle;
	VkDescriptorPool pool;
	VkDescriptorSet sets[BACKEND_SETS];
};

/* More than 20 fields: Vulkan has a handle for each thing that a device needs. */
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
	bool shares_cpu, fences_wait; /* fences_wait: see without_fences */
	struct device_buffer *staging;              /* for memory that the host cannot see; made when first needed */
	struct device_buffer *flush;                /* filled to push everything else out of the caches; made when first needed */
	struct device_pipeline scrub;               /* overwrites shared memory (scrub.c); made when first needed */
	struct device_buffer *meeting;              /* its buffer */
	struct device_pipeline spare[DEVICE_SPARE]; /* of runs that were released, the oldest first */
	unsigned spare_count;
};

struct device_buffer {
	VkBuffer handle;
	VkDeviceMemory memory;
	uint64_t bytes;
	uint8_t *host; /* mapped; NULL when the host cannot see it */
};

/* Calls a function of Vulkan; 0, or its failure as an error. */
#define DEVICE_CALL(d, e, function, ...) hlsl_library_check((d)->vk.function(__VA_ARGS__), "vk" #function, e)

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
/* Between the host's memory and the buffer; write: to the buffer. */
int hlsl_device_transfer(struct backend_device *d, struct device_buffer *b, uint64_t offset, void *host, size_t bytes, bool write,
			 struct err *e);
/* Copies on the device, and waits. */
int hlsl_device_copy(struct backend_device *d, struct device_buffer *to, uint64_t to_offset, struct device_buffer *from,
		     uint64_t from_offset, uint64_t bytes, struct err *e);
/* A pipeline of one entry point, with these bindings of buffers and so many bytes of push constants, which both follow from its
 * code. After a failure, as after use, hlsl_device_pipeline_fini, which keeps it as a spare: drivers compile whenever a pipeline is
 * made. A pipeline that was used before must be bound again. */
int hlsl_device_pipeline_init(struct backend_device *d, struct device_pipeline *p, const struct hlsl_kernel *code,
			      const struct spirv_binding *bindings, size_t count, uint32_t push_bytes, struct err *e);
void hlsl_device_pipeline_fini(struct backend_device *d, struct device_pipeline *p);
/* Binds a buffer from `offset` to its end. */
void hlsl_device_bind(struct backend_device *d, const struct device_pipeline *p, unsigned set, uint32_t binding,
		      const struct device_buffer *b, uint64_t offset);
/* Records the pipeline and one of its sets of bindings, for launches that follow. */
void hlsl_device_use(struct backend_device *d, const struct device_pipeline *p, unsigned set);
/* Makes d->flush, which empties the caches when it is filled: 64 MiB beside a CPU, 256 MiB on a GPU. */
int hlsl_device_need_flush(struct backend_device *d, struct err *e);

/* --- scrub.c: a kernel of ours that overwrites the shared memory of every unit, which keeps what the last launch left. Called by
 * backend.c, before executions that are judged or timed and outside of their windows. */

/* Makes the kernel, once for each device; hlsl_device_close calls fini. */
int hlsl_scrub_prepare(struct backend_device *d, struct err *e);
void hlsl_scrub_fini(struct backend_device *d);
bool hlsl_scrub_works(const struct backend_device *d);
/* Records a launch that writes one of backend.h's two words, and is over before what follows, into the device's commands. */
void hlsl_scrub_record(struct backend_device *d, uint32_t word);

#endif
