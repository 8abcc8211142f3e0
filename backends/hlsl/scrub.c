/* scrub: see scrub.h. A device worker has no compiler, so the shader is here as SPIR-V. In HLSL it would be
 *
 *     groupshared uint all[WORDS]; // as much as the device allows
 *     RWStructuredBuffer<uint> meeting;
 *     [numthreads(8, 1, 1)] void scrub(uint lane : SV_GroupIndex)
 *     {
 *         do {
 *             for (uint i = lane; i < WORDS; i += 8)
 *                 all[i] = WORD; // one of two: a pipeline each
 *             GroupMemoryBarrierWithGroupSync();
 *         } while (all[lane ^ 1] != WORD); // without a read, drivers drop the writes
 *         if (lane == 0) {
 *             uint arrived, tries = 0;
 *             InterlockedAdd(meeting[0], 1);
 *             do
 *                 InterlockedAdd(meeting[0], 65536, arrived); // 32 times, to take longer
 *             while (arrived % 65536 < EXPECTED && ++tries < PATIENCE);
 *         }
 *     }
 *
 * On a GPU there are enough groups for every unit to run some, because each group takes the whole memory of a unit. The
 * threads of a software driver are units, too, and one that wakes up early could run all groups. So there are as many
 * groups as threads, and they wait for each other: a thread that waits in one group cannot begin another. PATIENCE ends
 * the wait where a busy machine does not let the others run, or where there are fewer threads than processors. */
#include "backends/hlsl/scrub.h"

#include <unistd.h>

#include "backends/worker/backend.h"

/* clang-format off */
static const uint32_t code[] = {
	0x07230203, 0x00010000, 0x00070000, 0x0000005c, 0x00000000, 0x00020011, 0x00000001, 0x0003000e, 0x00000000,
	0x00000001, 0x0006000f, 0x00000005, 0x00000001, 0x75726373, 0x00000062, 0x00000002, 0x00060010, 0x00000001,
	0x00000011, 0x00000008, 0x00000001, 0x00000001, 0x00040047, 0x00000003, 0x00000001, 0x00000000, 0x00040047,
	0x00000013, 0x00000001, 0x00000003, 0x00040047,
	0x00000004, 0x00000001, 0x00000001, 0x00040047, 0x00000005, 0x00000001, 0x00000002, 0x00040047, 0x00000002,
	0x0000000b, 0x0000001d, 0x00050048, 0x00000006, 0x00000000, 0x00000023, 0x00000000, 0x00030047, 0x00000006,
	0x00000003, 0x00040047, 0x00000007, 0x00000022, 0x00000000, 0x00040047, 0x00000007, 0x00000021, 0x00000000,
	0x00020013, 0x00000008, 0x00030021, 0x00000009, 0x00000008, 0x00040015, 0x0000000a, 0x00000020, 0x00000000,
	0x00020014, 0x0000000b, 0x00040032, 0x0000000a, 0x00000003, 0x00001000, 0x00040032, 0x0000000a, 0x00000004,
	0x00000000, 0x00040032, 0x0000000a, 0x00000005, 0x00000000, 0x0004002b, 0x0000000a, 0x0000000c, 0x00000000,
	0x0004002b, 0x0000000a, 0x0000000d, 0x00000001, 0x0004002b, 0x0000000a, 0x0000000e, 0x00000002, 0x0004002b,
	0x0000000a, 0x0000000f, 0x00000008, 0x0004002b, 0x0000000a, 0x00000010, 0x00010000, 0x0004002b, 0x0000000a,
	0x00000011, 0x0000ffff, 0x0004002b, 0x0000000a, 0x00000012, 0x00000108, 0x00040032, 0x0000000a, 0x00000013,
	0x5a5a5a5a, 0x0004001c, 0x00000014, 0x0000000a, 0x00000003, 0x00040020, 0x00000015, 0x00000004, 0x00000014,
	0x00040020, 0x00000016, 0x00000004, 0x0000000a, 0x00040020, 0x00000017, 0x00000001, 0x0000000a, 0x0003001e,
	0x00000006, 0x0000000a, 0x00040020, 0x00000018, 0x00000002, 0x00000006, 0x00040020, 0x00000019, 0x00000002,
	0x0000000a, 0x0004003b, 0x00000015, 0x0000001a, 0x00000004, 0x0004003b, 0x00000017, 0x00000002, 0x00000001,
	0x0004003b, 0x00000018, 0x00000007, 0x00000002, 0x00050036, 0x00000008, 0x00000001, 0x00000000, 0x00000009,
	0x000200f8, 0x0000001b, 0x0004003d, 0x0000000a, 0x0000001c, 0x00000002, 0x000200f9, 0x0000001d, 0x000200f8,
	0x0000001d, 0x000400f6, 0x0000001e, 0x0000001f, 0x00000000, 0x000200f9, 0x00000020, 0x000200f8, 0x00000020,
	0x000200f9, 0x00000021, 0x000200f8, 0x00000021, 0x000700f5, 0x0000000a, 0x00000022, 0x0000001c, 0x00000020,
	0x00000023, 0x00000024, 0x000500b0, 0x0000000b, 0x00000025, 0x00000022, 0x00000003, 0x000400f6, 0x00000026,
	0x00000024, 0x00000000, 0x000400fa, 0x00000025, 0x00000027, 0x00000026, 0x000200f8, 0x00000027, 0x00050041,
	0x00000016, 0x00000028, 0x0000001a, 0x00000022, 0x0003003e, 0x00000028, 0x00000013, 0x000200f9, 0x00000024,
	0x000200f8, 0x00000024, 0x00050080, 0x0000000a, 0x00000023, 0x00000022, 0x0000000f, 0x000200f9, 0x00000021,
	0x000200f8, 0x00000026, 0x000400e0, 0x0000000e, 0x0000000e, 0x00000012, 0x000500c6, 0x0000000a, 0x00000029,
	0x0000001c, 0x0000000d, 0x00050041, 0x00000016, 0x0000002a, 0x0000001a, 0x00000029, 0x0004003d, 0x0000000a,
	0x0000002b, 0x0000002a, 0x000500ab, 0x0000000b, 0x0000002c, 0x0000002b, 0x00000013, 0x000200f9, 0x0000001f,
	0x000200f8, 0x0000001f, 0x000400fa, 0x0000002c, 0x0000001d, 0x0000001e, 0x000200f8, 0x0000001e, 0x000500aa,
	0x0000000b, 0x0000002d, 0x0000001c, 0x0000000c, 0x000300f7, 0x0000002e, 0x00000000, 0x000400fa, 0x0000002d,
	0x0000002f, 0x0000002e, 0x000200f8, 0x0000002f, 0x00050041, 0x00000019, 0x00000030, 0x00000007, 0x0000000c,
	0x000700ea, 0x0000000a, 0x00000031, 0x00000030, 0x0000000d, 0x0000000c, 0x0000000d, 0x000200f9, 0x00000032,
	0x000200f8, 0x00000032, 0x000700f5, 0x0000000a, 0x00000033, 0x0000000c, 0x0000002f, 0x00000034, 0x00000035,
	0x000400f6, 0x00000036, 0x00000035, 0x00000000, 0x000200f9, 0x00000037, 0x000200f8, 0x00000037, 0x000700ea,
	0x0000000a, 0x00000038, 0x00000030, 0x0000000d, 0x0000000c, 0x00000010, 0x000700ea, 0x0000000a, 0x00000039,
	0x00000030, 0x0000000d, 0x0000000c, 0x00000010, 0x000700ea, 0x0000000a, 0x0000003a, 0x00000030, 0x0000000d,
	0x0000000c, 0x00000010, 0x000700ea, 0x0000000a, 0x0000003b, 0x00000030, 0x0000000d, 0x0000000c, 0x00000010,
	0x000700ea, 0x0000000a, 0x0000003c, 0x00000030, 0x0000000d, 0x0000000c, 0x00000010, 0x000700ea, 0x0000000a,
	0x0000003d, 0x00000030, 0x0000000d, 0x0000000c, 0x00000010, 0x000700ea, 0x0000000a, 0x0000003e, 0x00000030,
	0x0000000d, 0x0000000c, 0x00000010, 0x000700ea, 0x0000000a, 0x0000003f, 0x00000030, 0x0000000d, 0x0000000c,
	0x00000010, 0x000700ea, 0x0000000a, 0x00000040, 0x00000030, 0x0000000d, 0x0000000c, 0x00000010, 0x000700ea,
	0x0000000a, 0x00000041, 0x00000030, 0x0000000d, 0x0000000c, 0x00000010, 0x000700ea, 0x0000000a, 0x00000042,
	0x00000030, 0x0000000d, 0x0000000c, 0x00000010, 0x000700ea, 0x0000000a, 0x00000043, 0x00000030, 0x0000000d,
	0x0000000c, 0x00000010, 0x000700ea, 0x0000000a, 0x00000044, 0x00000030, 0x0000000d, 0x0000000c, 0x00000010,
	0x000700ea, 0x0000000a, 0x00000045, 0x00000030, 0x0000000d, 0x0000000c, 0x00000010, 0x000700ea, 0x0000000a,
	0x00000046, 0x00000030, 0x0000000d, 0x0000000c, 0x00000010, 0x000700ea, 0x0000000a, 0x00000047, 0x00000030,
	0x0000000d, 0x0000000c, 0x00000010, 0x000700ea, 0x0000000a, 0x00000048, 0x00000030, 0x0000000d, 0x0000000c,
	0x00000010, 0x000700ea, 0x0000000a, 0x00000049, 0x00000030, 0x0000000d, 0x0000000c, 0x00000010, 0x000700ea,
	0x0000000a, 0x0000004a, 0x00000030, 0x0000000d, 0x0000000c, 0x00000010, 0x000700ea, 0x0000000a, 0x0000004b,
	0x00000030, 0x0000000d, 0x0000000c, 0x00000010, 0x000700ea, 0x0000000a, 0x0000004c, 0x00000030, 0x0000000d,
	0x0000000c, 0x00000010, 0x000700ea, 0x0000000a, 0x0000004d, 0x00000030, 0x0000000d, 0x0000000c, 0x00000010,
	0x000700ea, 0x0000000a, 0x0000004e, 0x00000030, 0x0000000d, 0x0000000c, 0x00000010, 0x000700ea, 0x0000000a,
	0x0000004f, 0x00000030, 0x0000000d, 0x0000000c, 0x00000010, 0x000700ea, 0x0000000a, 0x00000050, 0x00000030,
	0x0000000d, 0x0000000c, 0x00000010, 0x000700ea, 0x0000000a, 0x00000051, 0x00000030, 0x0000000d, 0x0000000c,
	0x00000010, 0x000700ea, 0x0000000a, 0x00000052, 0x00000030, 0x0000000d, 0x0000000c, 0x00000010, 0x000700ea,
	0x0000000a, 0x00000053, 0x00000030, 0x0000000d, 0x0000000c, 0x00000010, 0x000700ea, 0x0000000a, 0x00000054,
	0x00000030, 0x0000000d, 0x0000000c, 0x00000010, 0x000700ea, 0x0000000a, 0x00000055, 0x00000030, 0x0000000d,
	0x0000000c, 0x00000010, 0x000700ea, 0x0000000a, 0x00000056, 0x00000030, 0x0000000d, 0x0000000c, 0x00000010,
	0x000700ea, 0x0000000a, 0x00000057, 0x00000030, 0x0000000d, 0x0000000c, 0x00000010, 0x000500c7, 0x0000000a,
	0x00000058, 0x00000057, 0x00000011, 0x00050080, 0x0000000a, 0x00000034, 0x00000033, 0x0000000d, 0x000500b0,
	0x0000000b, 0x00000059, 0x00000058, 0x00000004, 0x000500b0, 0x0000000b, 0x0000005a, 0x00000034, 0x00000005,
	0x000500a7, 0x0000000b, 0x0000005b, 0x00000059, 0x0000005a, 0x000200f9, 0x00000035, 0x000200f8, 0x00000035,
	0x000400fa, 0x0000005b, 0x00000032, 0x00000036, 0x000200f8, 0x00000036, 0x000200f9, 0x0000002e, 0x000200f8,
	0x0000002e, 0x000100fd, 0x00010038,
};
/* clang-format on */

enum { GROUPS_GPU = 1024, THREADS_MAX = 32, PATIENCE = 60000 }; /* llvmpipe ends loops after 65535 rounds */

/* Specialization constants. */
struct constants {
	uint32_t words, expected, patience, word;
};

static uint32_t threads_of(const struct backend_device *d)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!d->shares_cpu)
		return 0;
	return cpus < 1 ? 1 : cpus < THREADS_MAX ? (uint32_t)cpus : THREADS_MAX;
}

bool hlsl_scrub_works(const struct backend_device *d)
{
	return d->scrub.pipelines[1] != VK_NULL_HANDLE;
}

static int make_layouts(struct backend_device *d, struct device_scrub *s, struct err *e)
{
	VkDescriptorSetLayoutBinding binding = { .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
						 .descriptorCount = 1,
						 .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT };
	VkDescriptorSetLayoutCreateInfo set = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
						.bindingCount = 1,
						.pBindings = &binding };
	VkPipelineLayoutCreateInfo layout = { .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
					      .setLayoutCount = 1,
					      .pSetLayouts = &s->set_layout };
	int rc = hlsl_library_check(d->vk.CreateDescriptorSetLayout(d->handle, &set, NULL, &s->set_layout),
				    "vkCreateDescriptorSetLayout", e);

	if (rc < 0)
		return rc;
	return hlsl_library_check(d->vk.CreatePipelineLayout(d->handle, &layout, NULL, &s->layout), "vkCreatePipelineLayout", e);
}

static int make_set(struct backend_device *d, struct device_scrub *s, struct err *e)
{
	VkDescriptorPoolSize size = { .type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = 1 };
	VkDescriptorPoolCreateInfo pool = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size
	};
	VkDescriptorSetAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
					     .descriptorSetCount = 1,
					     .pSetLayouts = &s->set_layout };
	VkDescriptorBufferInfo where = { .range = VK_WHOLE_SIZE };
	VkWriteDescriptorSet write = { .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
				       .descriptorCount = 1,
				       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
				       .pBufferInfo = &where };
	int rc = hlsl_device_buffer_new(d, 16, false, &s->meeting, e);

	if (rc < 0)
		return rc;
	if (hlsl_library_check(d->vk.CreateDescriptorPool(d->handle, &pool, NULL, &s->pool), "vkCreateDescriptorPool", e) < 0)
		return -(int)e->code;
	info.descriptorPool = s->pool;
	if (hlsl_library_check(d->vk.AllocateDescriptorSets(d->handle, &info, &s->set), "vkAllocateDescriptorSets", e) < 0)
		return -(int)e->code;
	where.buffer = s->meeting->handle;
	write.dstSet = s->set;
	d->vk.UpdateDescriptorSets(d->handle, 1, &write, 0, NULL);
	return 0;
}

static int make_pipeline(struct backend_device *d, struct device_scrub *s, uint32_t word, VkPipeline *ret_pipeline, struct err *e)
{
	struct constants values = {
		.words = d->limits.maxComputeSharedMemorySize / 4, .expected = threads_of(d), .patience = PATIENCE, .word = word
	};
	VkSpecializationMapEntry entries[4];
	VkSpecializationInfo constants = {
		.mapEntryCount = 4, .pMapEntries = entries, .dataSize = sizeof values, .pData = &values
	};
	VkShaderModuleCreateInfo module_info = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
						 .codeSize = sizeof code,
						 .pCode = code };
	VkComputePipelineCreateInfo info = { .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .layout = s->layout };
	VkShaderModule module = VK_NULL_HANDLE;
	int rc = hlsl_library_check(d->vk.CreateShaderModule(d->handle, &module_info, NULL, &module), "vkCreateShaderModule", e);

	for (uint32_t i = 0; i < 4; i++)
		entries[i] = (VkSpecializationMapEntry){ .constantID = i, .offset = i * 4, .size = 4 };
	info.stage = (VkPipelineShaderStageCreateInfo){ .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
							.stage = VK_SHADER_STAGE_COMPUTE_BIT,
							.module = module,
							.pName = "scrub",
							.pSpecializationInfo = &constants };
	if (rc == 0)
		rc = hlsl_library_check(d->vk.CreateComputePipelines(d->handle, VK_NULL_HANDLE, 1, &info, NULL, ret_pipeline),
					"vkCreateComputePipelines", e);
	d->vk.DestroyShaderModule(d->handle, module, NULL);
	return rc;
}

int hlsl_scrub_prepare(struct backend_device *d, struct err *e)
{
	if (hlsl_scrub_works(d))
		return 0;
	hlsl_scrub_fini(d);
	if (make_layouts(d, &d->scrub, e) < 0 || make_set(d, &d->scrub, e) < 0 ||
	    make_pipeline(d, &d->scrub, BACKEND_SCRUB_TIMED, &d->scrub.pipelines[0], e) < 0 ||
	    make_pipeline(d, &d->scrub, BACKEND_SCRUB_OTHER, &d->scrub.pipelines[1], e) < 0)
		return -(int)e->code;
	return 0;
}

void hlsl_scrub_fini(struct backend_device *d)
{
	struct device_scrub *s = &d->scrub;

	for (int i = 0; i < 2; i++)
		d->vk.DestroyPipeline(d->handle, s->pipelines[i], NULL);
	d->vk.DestroyDescriptorPool(d->handle, s->pool, NULL);
	d->vk.DestroyPipelineLayout(d->handle, s->layout, NULL);
	d->vk.DestroyDescriptorSetLayout(d->handle, s->set_layout, NULL);
	hlsl_device_buffer_free(d, s->meeting);
	*s = (struct device_scrub){ .meeting = NULL };
}

void hlsl_scrub_record(struct backend_device *d, uint32_t word)
{
	const struct device_scrub *s = &d->scrub;
	uint32_t threads = threads_of(d);

	d->vk.CmdFillBuffer(d->commands, s->meeting->handle, 0, VK_WHOLE_SIZE, 0);
	hlsl_device_barrier(d);
	d->vk.CmdBindPipeline(d->commands, VK_PIPELINE_BIND_POINT_COMPUTE, s->pipelines[word != BACKEND_SCRUB_TIMED]);
	d->vk.CmdBindDescriptorSets(d->commands, VK_PIPELINE_BIND_POINT_COMPUTE, s->layout, 0, 1, &s->set, 0, NULL);
	d->vk.CmdDispatch(d->commands, threads ? threads : GROUPS_GPU, 1, 1);
	hlsl_device_barrier(d);
}
