/* A driver that only counts and remembers what it was asked for, on the host's memory, for test_record.c. */
#ifndef PEAKD_TESTS_BACKENDS_CUDA_FAKE_DRIVER_H
#define PEAKD_TESTS_BACKENDS_CUDA_FAKE_DRIVER_H

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cuda.h"
#include "backends/cuda/api.h"
#include "backends/gpu/run.h"

/* The driver's state; one test process, one driver. */
static struct {
	int blocks, graphs, execs, modules;          /* alive */
	int capturing, captured, launches, sets, records, replays, copies;
	size_t set_bytes;                            /* of the last memset outside of a recording */
	int dynamic_shared, shared_calls;
	gpu_result fail_wait, fail_launch, fail_load;  /* what these answer */
	int clusters, per_unit;                      /* what occupancy answers */
	size_t left, total;                          /* bytes of memory */
	int execs_max;                               /* graphs that there is room for; 0: any number */
	bool marks;                                  /* a replay leaves its number in the first byte of the output */
	unsigned char found[32];                     /* what replays found there, by their number */
	int scrubs;                                  /* launches that overwrite shared memory: two each time */
	int local_bytes;                             /* that a thread of any kernel has */
	int looks;                                   /* of peakd_strayed */
	uint32_t scrubbed;                           /* with what */
	struct gpu_launch_config config;                       /* of the last launch */
	struct gpu_launch_attribute attrs[2];
	uint64_t arg[3];                             /* first bytes of its arguments */
	uintptr_t map_address;                       /* of the last argument */
	uint64_t strides[4];
	void *map_buffer;
	int map_type, map_swizzle, map_fill;
} fake;

#include "backends/gpu/fake_calls.h"

static gpu_result error_name(gpu_result r, const char **name) { (void)r; *name = "FAKE"; return 0; }
static gpu_result context_use(gpu_context c) { (void)c; return 0; }

static gpu_result copy_within(gpu_address to, gpu_address from, size_t n, gpu_stream s)
{
	(void)s;
	fake.captured += fake.capturing;
	fake.copies += !fake.capturing;
	memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, n);
	return 0;
}

static gpu_result memory_set(gpu_address to, unsigned char value, size_t n, gpu_stream s)
{
	(void)s;
	fake.captured += fake.capturing;
	if (value != 0xFD) { /* the pattern around buffers */
		fake.sets += !fake.capturing;
		fake.set_bytes = fake.capturing ? fake.set_bytes : n;
	}
	memset((void *)(uintptr_t)to, value, n);
	return 0;
}

static gpu_result module_function(gpu_function *f, gpu_library m, const char *name)
{
	(void)m;
	*f = strcmp(name, "peakd_strayed") == 0 ? (gpu_function)&fake.looks : (gpu_function)&fake;
	return 0;
}

static gpu_result function_attribute(int *value, int attribute, gpu_function f)
{
	(void)f;
	*value = attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? fake.dynamic_shared
		 : attribute == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES             ? fake.local_bytes
									       : 1024;
	return 0;
}

static gpu_result function_set(gpu_function f, int attribute, int value)
{
	(void)f;
	if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
		fake.dynamic_shared = value;
		fake.shared_calls++;
	}
	return 0;
}

static gpu_result occupancy_clusters(int *clusters, gpu_function f, const struct gpu_launch_config *config)
{
	(void)f; (void)config;
	*clusters = fake.clusters;
	return 0;
}

static gpu_result tensor_map(struct gpu_tensor_map *map, int type, uint32_t rank, void *address, const uint64_t *dims,
			     const uint64_t *strides, const uint32_t *box, const uint32_t *every, int interleave, int swizzle,
			     int promotion, int fill)
{
	(void)rank; (void)interleave; (void)promotion;
	if (box[0] > 256 || every[0] != 1)
		return GPU_INVALID_VALUE;
	map->opaque[0] = 0x7e5000 + dims[0];
	fake.strides[0] = strides[0];
	fake.map_buffer = address;
	fake.map_type = type;
	fake.map_swizzle = swizzle;
	fake.map_fill = fill;
	return 0;
}

static gpu_result launch_extended(const struct gpu_launch_config *config, gpu_function f, void **args, void **extra)
{
	(void)f; (void)extra;
	if (fake.fail_launch)
		return fake.fail_launch;
	fake.captured += fake.capturing;
	fake.launches++;
	fake.config = *config;
	for (unsigned i = 0; i < config->attr_count; i++)
		fake.attrs[i] = config->attrs[i];
	memcpy(&fake.arg[0], args[0], 8);
	memcpy(&fake.arg[1], args[1], 4);
	memcpy(&fake.arg[2], args[2], 8);
	fake.map_address = (uintptr_t)args[2];
	return 0;
}

/* What peakd_strayed does. */
static void look(void **args)
{
	const uint8_t *at = (const uint8_t *)(uintptr_t)*(gpu_address *)args[0];
	uint32_t *least = (uint32_t *)(uintptr_t)*(gpu_address *)args[4], number = *(uint32_t *)args[3];
	fake.looks++;
	for (uint64_t i = 0; i < *(uint64_t *)args[1]; i++)
		if (at[i] != *(uint32_t *)args[2] && number < *least)
			*least = number;
}

static gpu_result launch(gpu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
			 unsigned shared, gpu_stream stream, void **args, void **extra)
{
	struct gpu_launch_config config = { .grid = { gx, gy, gz }, .block = { bx, by, bz }, .shared = shared, .stream = stream };
	if (bx == 1024) {
		fake.scrubs++;
		if (shared)
			memcpy(&fake.scrubbed, args[1], sizeof fake.scrubbed);
		return 0;
	}
	if (f == (gpu_function)&fake.looks) {
		look(args);
		return 0;
	}
	return launch_extended(&config, f, args, extra);
}

static gpu_result graph_instantiate(gpu_exec *x, gpu_graph g, unsigned long long flags)
{
	(void)g;
	(void)flags;
	if (fake.execs_max && fake.execs >= fake.execs_max)
		return GPU_OUT_OF_MEMORY;
	*x = (gpu_exec)(uintptr_t)fake.arg[0];
	fake.execs++;
	return 0;
}

static gpu_result graph_launch(gpu_exec x, gpu_stream s)
{
	(void)s;
	fake.replays++;
	if (fake.marks)
		fake.found[fake.replays % 32] = *(unsigned char *)x;
	if (fake.marks)
		*(unsigned char *)x = (unsigned char)fake.replays;
	return 0;
}

static struct backend_device new_device(void)
{
	struct backend_device d = {
		.api = { FAKE_CALLS,
			 .error_name = error_name,
			 .error_text = error_name,
			 .context_use = context_use,
			 .copy_within = copy_within,
			 .memory_set = memory_set,
			 .module_function = module_function,
			 .function_attribute = function_attribute,
			 .function_set = function_set,
			 .occupancy_clusters = occupancy_clusters,
			 .tensor_map = tensor_map,
			 .launch = launch,
			 .launch_extended = launch_extended,
			 .graph_instantiate = graph_instantiate,
			 .graph_launch = graph_launch },
		.cooperative = true,
		.tensor_maps = true,
		.graphs = true,
		.flush_bytes = 1 << 16,
	};
	backend_cuda.describe("sm_90a", &d.facts, NULL);
	d.facts.units = 10;
	memset(&fake, 0, sizeof fake);
	fake.clusters = fake.per_unit = 1;
	fake.left = 1000;
	fake.dynamic_shared = 48 * 1024;
	return d;
}

#endif
