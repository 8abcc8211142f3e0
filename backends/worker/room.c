/* room: see room.h. Blocks are whole huge pages, which the kernel is asked to make them of: a page fault for each 2 MiB, not for each
 * 4 KiB. There are tens of blocks, of few sizes. */
#include "backends/worker/room.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"

enum { HUGE = 2 << 20 };

struct block { void *at; size_t bytes; };

struct room {
	struct block *idle; /* longest idle first */
	size_t count;
	size_t bytes, max;  /* of all that are idle */
};

struct room *room_new(size_t idle_max)
{
	struct room *r = MEM_NEW(struct room);
	r->max = idle_max;
	return r;
}

static void *leave(struct room *r, size_t i)
{
	void *at = r->idle[i].at;
	r->bytes -= r->idle[i].bytes;
	r->count--;
	memmove(r->idle + i, r->idle + i + 1, (r->count - i) * sizeof *r->idle);
	return at;
}

void room_free(struct room *r)
{
	if (r == NULL)
		return;
	while (r->count)
		free(leave(r, r->count - 1));
	free(r->idle);
	free(r);
}

static size_t rounded(size_t bytes)
{
	return (bytes + HUGE - 1) / HUGE * HUGE;
}

void *room_take(struct room *r, size_t bytes)
{
	if (bytes < HUGE)
		return mem_resize(NULL, bytes, 1);
	for (size_t i = r->count; i > 0; i--)
		if (r->idle[i - 1].bytes == rounded(bytes))
			return leave(r, i - 1);
	void *fresh = bytes <= SIZE_MAX - HUGE ? aligned_alloc(HUGE, rounded(bytes)) : NULL;
	if (fresh == NULL)
		return mem_resize(NULL, bytes <= SIZE_MAX - HUGE ? rounded(bytes) : bytes, 1); /* says so */
	madvise(fresh, rounded(bytes), MADV_HUGEPAGE); /* small pages do as well */
	return fresh;
}

void room_give(struct room *r, void *take_block, size_t bytes)
{
	if (take_block == NULL || bytes < HUGE) {
		free(take_block);
		return;
	}
	*MEM_PUSH(r->idle, r->count) = (struct block){ .at = take_block, .bytes = rounded(bytes) };
	r->bytes += rounded(bytes);
	while (r->bytes > r->max)
		free(leave(r, 0));
}
