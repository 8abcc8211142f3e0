/* slack: see run.h. */
#include "backends/gpu/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { GRAIN = 2 << 20, SLACK_MIN = 256 << 10, PATTERN = 0xFD };

/* One side of a buffer. */
struct side {
	gpu_address at;
	uint64_t bytes;
};

uint64_t gpu_slack_block(const struct plan_buffer *b)
{
	return (b->bytes + 2 * (BACKEND_RED_ZONE + SLACK_MIN) + GRAIN - 1) / GRAIN * GRAIN;
}

static void sides_of(const struct plan_buffer *b, gpu_address block, gpu_address buffer, struct side ret_sides[2])
{
	gpu_address behind = buffer + b->bytes + BACKEND_RED_ZONE;

	ret_sides[0] = (struct side){ block, buffer - BACKEND_RED_ZONE - block };
	ret_sides[1] = (struct side){ behind, block + gpu_slack_block(b) - behind };
}

gpu_result gpu_slack_arm(const struct backend_device *d, const struct plan_buffer *b, gpu_address block, uint64_t align,
			 gpu_address *ret_buffer)
{
	gpu_address middle = block + (gpu_slack_block(b) - b->bytes) / 2;
	struct side sides[2];
	gpu_result result;

	*ret_buffer = middle / align * align;
	sides_of(b, block, *ret_buffer, sides);
	result = d->api.memory_set(sides[0].at, PATTERN, sides[0].bytes, d->stream);
	return result == GPU_SUCCESS ? d->api.memory_set(sides[1].at, PATTERN, sides[1].bytes, d->stream) : result;
}

int gpu_slack_check(struct backend_run *run, unsigned *ret_buffer, struct err *e)
{
	const struct backend_device *d = run->device;
	uint8_t *have = MEM_NEW_N(uint8_t, GRAIN + 2 * BACKEND_RED_ZONE);
	gpu_result result = GPU_SUCCESS;

	*ret_buffer = 0;
	for (size_t n = 0; n < run->set_count * run->plan->buffer_count && result == GPU_SUCCESS && *ret_buffer == 0; n++) {
		size_t i = n % run->plan->buffer_count;
		const struct gpu_set *s = &run->sets[n / run->plan->buffer_count];
		struct side sides[2];

		sides_of(&run->plan->buffers[i], s->blocks[i], s->buffers[i], sides);
		for (int k = 0; k < 2 && result == GPU_SUCCESS; k++) {
			result = gpu_device_read(d, have, sides[k].at, sides[k].bytes);
			if (result == GPU_SUCCESS && (have[0] != PATTERN || memcmp(have, have + 1, sides[k].bytes - 1) != 0))
				*ret_buffer = (unsigned)i + 1;
		}
	}
	free(have);
	return result == GPU_SUCCESS ? 0 : gpu_device_fail(d, result, "reading what lies around the buffers", e);
}
