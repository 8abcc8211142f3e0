/* slack: see run.h. */
#include "backends/gpu/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { GRAIN = 2 << 20, SLACK_MIN = 256 << 10, PATTERN = 0xFD, THREADS = 256 };

/* One side of a buffer. */
struct side {
	gpu_address at;
	uint64_t bytes;
};

uint64_t gpu_slack_block(const struct plan_buffer *b)
{
	return (b->bytes + 2 * (BACKEND_RED_ZONE + SLACK_MIN) + 2 * (uint64_t)GRAIN - 1) / GRAIN * GRAIN;
}

static void sides_of(const struct plan_buffer *b, gpu_address block, gpu_address buffer, struct side ret_sides[2])
{
	gpu_address behind = buffer + b->bytes + BACKEND_RED_ZONE;

	ret_sides[0] = (struct side){ block, buffer - BACKEND_RED_ZONE - block };
	ret_sides[1] = (struct side){ behind, block + gpu_slack_block(b) - behind };
}

gpu_result gpu_slack_arm(const struct backend_device *d, const struct plan_buffer *b, gpu_address block, uint64_t align, bool paged,
			 gpu_address *ret_buffer)
{
	gpu_address middle = block + (gpu_slack_block(b) - b->bytes) / 2, page = block + BACKEND_RED_ZONE + SLACK_MIN + GRAIN - 1;
	struct side sides[2];
	gpu_result result;

	*ret_buffer = paged ? page / GRAIN * GRAIN : middle / align * align;
	sides_of(b, block, *ret_buffer, sides);
	result = d->api.memory_set(sides[0].at, PATTERN, sides[0].bytes, d->stream);
	return result == GPU_SUCCESS ? d->api.memory_set(sides[1].at, PATTERN, sides[1].bytes, d->stream) : result;
}

/* Of all sets. Returns the sides in *ret_sides, two for each buffer; free() */
static size_t all_sides(const struct backend_run *run, struct side **ret_sides)
{
	size_t buffers = run->plan->buffer_count, count = run->set_count * buffers;

	*ret_sides = MEM_NEW_N(struct side, 2 * count + 1);
	for (size_t n = 0; n < count; n++) {
		const struct gpu_set *s = &run->sets[n / buffers];
		size_t i = n % buffers;

		sides_of(&run->plan->buffers[i], s->blocks[i], s->buffers[i], *ret_sides + 2 * n);
	}
	return 2 * count;
}

/* The device looks, which takes a tenth of the time of reading all that back. */
static gpu_result look_there(const struct backend_run *run, struct side *sides, size_t count, unsigned *ret_buffer)
{
	const struct backend_device *d = run->device;
	uint32_t pattern = PATTERN, least = UINT32_MAX;
	gpu_address at = d->scrub.least;
	gpu_result result = d->api.copy_in(at, &least, sizeof least, d->stream);

	for (size_t n = 0; n < count && result == GPU_SUCCESS; n++) {
		uint32_t number = (uint32_t)(n / 2 % run->plan->buffer_count) + 1;
		void *args[] = { &sides[n].at, &sides[n].bytes, &pattern, &number, &at };

		result = d->api.launch(d->scrub.strayed, d->facts.units ? d->facts.units : 1, 1, 1, THREADS, 1, 1, 0, d->stream,
				       args, NULL);
	}
	if (result == GPU_SUCCESS)
		result = gpu_device_read(d, &least, at, sizeof least);
	*ret_buffer = least == UINT32_MAX ? 0 : least;
	return result;
}

static gpu_result look_here(const struct backend_run *run, const struct side *sides, size_t count, unsigned *ret_buffer)
{
	uint8_t *have = MEM_NEW_N(uint8_t, 2 * (GRAIN + BACKEND_RED_ZONE + SLACK_MIN));
	gpu_result result = GPU_SUCCESS;

	for (size_t n = 0; n < count && result == GPU_SUCCESS && *ret_buffer == 0; n++) {
		result = gpu_device_read(run->device, have, sides[n].at, sides[n].bytes);
		if (result == GPU_SUCCESS && (have[0] != PATTERN || memcmp(have, have + 1, sides[n].bytes - 1) != 0))
			*ret_buffer = (unsigned)(n / 2 % run->plan->buffer_count) + 1;
	}
	free(have);
	return result;
}

int gpu_slack_check(struct backend_run *run, unsigned *ret_buffer, struct err *e)
{
	struct backend_device *d = run->device;
	struct side *sides;
	size_t count = all_sides(run, &sides);
	gpu_result result;

	*ret_buffer = 0;
	gpu_scrub_prepare(d);
	result = d->scrub.strayed ? look_there(run, sides, count, ret_buffer) : look_here(run, sides, count, ret_buffer);
	free(sides);
	return result == GPU_SUCCESS ? 0 : gpu_device_fail(d, result, "reading what lies around the buffers", e);
}
