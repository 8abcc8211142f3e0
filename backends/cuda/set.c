/* set: see set.h. */
#include "backends/cuda/set.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { ALIGN = 1024 }; /* bytes, of every buffer's first element: what 128-byte swizzled tiles want, and more than cuMemAlloc gives */
enum { TIMES_L2 = 3 }; /* all sets together: when a set's turn comes again, nothing of it is left in the cache */

static size_t block_bytes(const struct plan_buffer *b)
{
	return b->bytes + 2 * BACKEND_RED_ZONE + ALIGN;
}

int cuda_set_init(struct cuda_set *s, struct backend_device *device, const struct plan *plan, struct err *e)
{
	const struct cuda_driver *cu = &device->cu;

	s->blocks = MEM_NEW_N(CUdeviceptr, plan->buffer_count + 1);
	s->buffers = MEM_NEW_N(CUdeviceptr, plan->buffer_count + 1);
	/* Not mem_new: the driver wants maps aligned. */
	s->maps = aligned_alloc(_Alignof(CUtensorMap), (plan->map_count + 1) * sizeof *s->maps);
	if (!s->maps)
		abort();
	memset(s->maps, 0, (plan->map_count + 1) * sizeof *s->maps);
	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		/* Plain allocations only: managed memory would move pages while a kernel is timed. */
		CUresult result = cu->memory_alloc(&s->blocks[i], block_bytes(b));
		if (result == CUDA_ERROR_OUT_OF_MEMORY) {
			size_t left = 0, total = 0;
			cu->memory_info(&left, &total);
			return err_set(e, ERR_PRUNED, "buffer \"%s\" of %llu bytes does not fit into the memory of %s: %zu of %zu bytes are free",
			               b->name, (unsigned long long)b->bytes, device->facts.id, left, total);
		}
		if (result != CUDA_SUCCESS)
			return cuda_device_fail(device, result, "allocating buffers", e);
		s->buffers[i] = (s->blocks[i] + ALIGN - 1) / ALIGN * ALIGN + BACKEND_RED_ZONE;
	}
	return 0;
}

void cuda_set_fini(struct cuda_set *s, struct backend_device *device, const struct plan *plan)
{
	if (s->graph)
		device->cu.graph_exec_free(s->graph);
	for (size_t i = 0; s->blocks && i < plan->buffer_count; i++)
		if (s->blocks[i])
			device->cu.memory_free(s->blocks[i]);
	free(s->blocks);
	free(s->buffers);
	free(s->maps);
	*s = (struct cuda_set){ .graph = NULL };
}

CUresult cuda_set_copy(struct backend_device *device, const struct plan *plan, const struct cuda_set *from, struct cuda_set *to)
{
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; i < plan->buffer_count && result == CUDA_SUCCESS; i++)
		result = device->cu.copy_within(to->buffers[i] - BACKEND_RED_ZONE, from->buffers[i] - BACKEND_RED_ZONE,
		                                plan->buffers[i].bytes + 2 * BACKEND_RED_ZONE, device->stream);
	return result;
}

unsigned cuda_set_wanted(const struct backend_device *device, const struct plan *plan)
{
	uint64_t bytes = 0, cache = device->facts.l2_bytes, sets;
	size_t left = 0, total = 0;

	for (size_t i = 0; i < plan->buffer_count; i++)
		bytes += block_bytes(&plan->buffers[i]);
	if (!bytes || !cache)
		return 1;
	sets = (TIMES_L2 * cache + bytes - 1) / bytes;
	if (sets < 2)
		sets = 2;
	if (sets > CUDA_SET_MAX || device->cu.memory_info(&left, &total) != CUDA_SUCCESS || (sets - 1) * bytes > left / 2)
		return 1;
	return (unsigned)sets;
}
