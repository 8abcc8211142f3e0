/* What the fake drivers of both vendors do alike, on the host's memory. Include it behind the definition of `fake`, a struct that
 * counts what is alive (blocks, graphs, execs, modules) and has capturing, records, per_unit, left, total, fail_load and
 * fail_wait. */
#ifndef PEAKD_TESTS_BACKENDS_GPU_FAKE_CALLS_H
#define PEAKD_TESTS_BACKENDS_GPU_FAKE_CALLS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/api.h"
#include "tap.h"

/* In an initializer of struct gpu_driver. */
#define FAKE_CALLS                                                                                                                 \
	.memory_info = memory_info, .memory_alloc = memory_alloc, .memory_free = memory_free, .copy_in = copy_in,                  \
	.copy_out = copy_out, .module_load = module_load, .module_unload = module_unload,                                          \
	.occupancy_blocks = occupancy_blocks, .stream_wait = stream_wait, .capture_begin = capture_begin,                          \
	.capture_end = capture_end, .graph_free = graph_free, .graph_exec_free = graph_exec_free,                                  \
	.event_record = event_record, .event_elapsed = event_elapsed

static gpu_result memory_info(size_t *left, size_t *total) { *left = fake.left; *total = fake.total ? fake.total : 2000; return 0; }

static gpu_result memory_alloc(gpu_address *address, size_t bytes)
{
	if (bytes > 1u << 30)
		return GPU_OUT_OF_MEMORY;
	*address = (gpu_address)(uintptr_t)malloc(bytes);
	fake.blocks++;
	return 0;
}

static gpu_result memory_free(gpu_address address) { free((void *)(uintptr_t)address); fake.blocks--; return 0; }

static gpu_result copy_in(gpu_address to, const void *from, size_t n, gpu_stream s)
{
	(void)s;
	memcpy((void *)(uintptr_t)to, from, n);
	return 0;
}

static gpu_result copy_out(void *to, gpu_address from, size_t n, gpu_stream s)
{
	(void)s;
	memcpy(to, (void *)(uintptr_t)from, n);
	return 0;
}

static gpu_result module_load(gpu_library *m, const void *image)
{
	(void)image;
	if (fake.fail_load)
		return fake.fail_load;
	*m = (gpu_library)&fake;
	fake.modules++;
	return 0;
}

static gpu_result module_unload(gpu_library m) { (void)m; fake.modules--; return 0; }

static gpu_result occupancy_blocks(int *blocks, gpu_function f, int threads, size_t shared)
{
	(void)f; (void)threads; (void)shared;
	*blocks = fake.per_unit;
	return 0;
}

static gpu_result stream_wait(gpu_stream s) { (void)s; return fake.fail_wait; }
static gpu_result capture_begin(gpu_stream s, int mode) { (void)s; (void)mode; fake.capturing = 1; return 0; }

static gpu_result capture_end(gpu_stream s, gpu_graph *g)
{
	(void)s;
	fake.capturing = 0;
	*g = (gpu_graph)&fake;
	fake.graphs++;
	return 0;
}

static gpu_result graph_free(gpu_graph g) { (void)g; fake.graphs--; return 0; }
static gpu_result graph_exec_free(gpu_exec x) { (void)x; fake.execs--; return 0; }
static gpu_result event_record(gpu_event ev, gpu_stream s) { (void)ev; (void)s; fake.records++; return 0; }
static gpu_result event_elapsed(float *ms, gpu_event a, gpu_event b) { (void)a; (void)b; *ms = 3; return 0; }

static void clean(const char *what)
{
	ok(fake.blocks == 0 && fake.graphs == 0 && fake.execs == 0 && fake.modules == 0 && !fake.capturing,
	   "%s: nothing leaks (%d blocks, %d graphs, %d execs, %d modules)", what, fake.blocks, fake.graphs, fake.execs,
	   fake.modules);
}

#endif
