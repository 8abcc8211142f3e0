/* library: Vulkan's loader, opened at run time, and every function of it that peakd calls, in one list. Used by the other
 * files of backends/hlsl only. */
#ifndef PEAKD_BACKENDS_HLSL_LIBRARY_H
#define PEAKD_BACKENDS_HLSL_LIBRARY_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include "base/err.h"

/* Functions of an instance and of its devices; vkGetInstanceProcAddr finds both. */
#define LIBRARY_FUNCTIONS(F)                                                                                                       \
	F(DestroyInstance)                                                                                                         \
	F(EnumeratePhysicalDevices)                                                                                                \
	F(GetPhysicalDeviceProperties2)                                                                                            \
	F(GetPhysicalDeviceFeatures2)                                                                                              \
	F(GetPhysicalDeviceMemoryProperties) F(GetPhysicalDeviceQueueFamilyProperties) F(EnumerateDeviceExtensionProperties) F(    \
		CreateDevice) F(DestroyDevice) F(GetDeviceQueue) F(DeviceWaitIdle) F(QueueSubmit) F(CreateFence) F(DestroyFence)   \
		F(WaitForFences) F(ResetFences) F(CreateBuffer) F(DestroyBuffer) F(GetBufferMemoryRequirements) F(AllocateMemory)  \
			F(FreeMemory) F(BindBufferMemory) F(MapMemory) F(CreateShaderModule) F(DestroyShaderModule) F(             \
				CreateDescriptorSetLayout) F(DestroyDescriptorSetLayout) F(CreatePipelineLayout)                   \
				F(DestroyPipelineLayout) F(CreateComputePipelines) F(DestroyPipeline) F(CreateDescriptorPool)      \
					F(DestroyDescriptorPool) F(AllocateDescriptorSets) F(UpdateDescriptorSets)                 \
						F(CreateCommandPool) F(DestroyCommandPool) F(AllocateCommandBuffers)               \
							F(BeginCommandBuffer) F(EndCommandBuffer) F(CmdBindPipeline)               \
								F(CmdBindDescriptorSets) F(CmdPushConstants) F(CmdDispatch)        \
									F(CmdPipelineBarrier) F(CmdCopyBuffer) F(CmdFillBuffer)    \
										F(CmdUpdateBuffer) F(CmdResetQueryPool)            \
											F(CmdWriteTimestamp) F(CreateQueryPool)    \
												F(DestroyQueryPool)                \
													F(GetQueryPoolResults)

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

#endif
