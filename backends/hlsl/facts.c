/* facts: see hlsl.h. Vulkan reports no clocks, caches or units, so those stay unknown (0). */
#include "backends/hlsl/hlsl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hlsl/device.h"
#include "backends/hlsl/glslang.h"
#include "base/mem.h"

uint64_t hlsl_device_memory(const VkPhysicalDeviceMemoryProperties *memory)
{
	uint64_t most = 0;
	for (uint32_t i = 0; i < memory->memoryHeapCount; i++)
		if ((memory->memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) && memory->memoryHeaps[i].size > most)
			most = memory->memoryHeaps[i].size;
	return most;
}

static void describe_device(const struct library *lib, VkPhysicalDevice device, uint32_t index, struct facts *f)
{
	VkPhysicalDeviceDriverProperties driver = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES };
	VkPhysicalDeviceIDProperties id = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES, .pNext = &driver };
	VkPhysicalDeviceSubgroupProperties subgroup = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
							.pNext = &id };
	VkPhysicalDeviceProperties2 all = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &subgroup };
	VkPhysicalDeviceMemoryProperties memory;
	lib->GetPhysicalDeviceProperties2(device, &all);
	lib->GetPhysicalDeviceMemoryProperties(device, &memory);
	const VkPhysicalDeviceProperties *p = &all.properties;
	/* Mesa 22's llvmpipe silently ends all loops of an invocation after 65535 iterations in total (seen with 22.3.6): a correct
	 * kernel then gives garbage, so its author must know. Later versions do not. */
	bool ends_loops = driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE && strncmp(driver.driverInfo, "Mesa 22.", 8) == 0;
	*f = (struct facts){
		.backend = "hlsl",
		.arch = FACTS_ARCH,
		.runs = true,
		.index = index,
		.max_cluster = 1,
		.shares_cpu = p->deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU,
		.warp_size = subgroup.subgroupSize,
		.max_threads = p->limits.maxComputeWorkGroupInvocations,
		.shared_static = p->limits.maxComputeSharedMemorySize,
		.shared_optin = p->limits.maxComputeSharedMemorySize,
		.memory_bytes = hlsl_device_memory(&memory),
	};
	snprintf(f->id, sizeof f->id, "hlsl:%u", index);
	snprintf(f->name, sizeof f->name, "%.*s", FACTS_TEXT - 1, p->deviceName);
	snprintf(f->driver, sizeof f->driver, "%.20s %.30s, %.30s%s", driver.driverName, driver.driverInfo, hlsl_glslang_name(),
		 ends_loops ? "; loops end after 65535 iterations" : "");
	size_t n = (size_t)snprintf(f->uuid, FACTS_TEXT, "vulkan-");
	for (size_t i = 0; i < VK_UUID_SIZE; i++)
		n += (size_t)snprintf(f->uuid + n, FACTS_TEXT - n, "%02x", id.deviceUUID[i]);
	/* Software devices of one driver share their UUID. */
	snprintf(f->uuid + n, FACTS_TEXT - n, "-%u", index);
	memcpy(f->max_block, p->limits.maxComputeWorkGroupSize, sizeof f->max_block);
	memcpy(f->max_grid, p->limits.maxComputeWorkGroupCount, sizeof f->max_grid);
}

int hlsl_facts_devices(struct facts **ret_facts, size_t *ret_count, struct err *e)
{
	struct library lib;
	VkPhysicalDevice *devices;
	uint32_t count;
	if (hlsl_library_init(&lib, e) < 0)
		return -(int)e->code;
	int r = hlsl_library_devices(&lib, &devices, &count, e);
	if (r == 0) {
		*ret_facts = MEM_NEW_N(struct facts, count);
		*ret_count = count;
		for (uint32_t i = 0; i < count; i++)
			describe_device(&lib, devices[i], i, &(*ret_facts)[i]);
		free(devices);
	}
	hlsl_library_fini(&lib);
	return r;
}

/* Vulkan 1.1 specification, table "Required Limits". */
int hlsl_facts_describe(const char *arch, struct facts *ret_facts, struct err *e)
{
	if (strcmp(arch, FACTS_ARCH) != 0)
		return err_set(e, ERR_UNSUPPORTED,
			       "hlsl:%s is not an architecture; hlsl compiles for hlsl:%s and runs on hlsl:0, hlsl:1, …", arch,
			       FACTS_ARCH);
	*ret_facts = (struct facts){
		.id = "hlsl:" FACTS_ARCH,
		.backend = "hlsl",
		.name = "any Vulkan 1.1 device",
		.arch = FACTS_ARCH,
		.warp_size = 1,
		.max_threads = 128,
		.max_block = { 128, 128, 64 },
		.max_grid = { 65535, 65535, 65535 },
		.shared_static = 16384,
		.shared_optin = 16384,
		.max_cluster = 1,
	};
	snprintf(ret_facts->driver, sizeof ret_facts->driver, "%s", hlsl_glslang_name());
	return 0;
}
