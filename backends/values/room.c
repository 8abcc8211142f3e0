/* room: see room.h. Blocks are made of huge pages: one page fault for each 2 MiB, not for each 4 KiB. There are tens of
 * blocks of few sizes, and tens of cached entries, each of megabytes: lists do. */
#include "backends/values/room.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/mem.h"

enum { HUGE = 2 << 20 };

struct block {
	void *at;
	size_t bytes;
};

struct room {
	struct block *idle; /* longest idle first */
	size_t count;
	size_t bytes, max; /* of all that are idle */
};

struct room *room_new(size_t idle_max)
{
	struct room *r = MEM_NEW(struct room);
	r->max = idle_max;
	return r;
}

static void *take_idle(struct room *r, size_t i)
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
		free(take_idle(r, r->count - 1));
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
			return take_idle(r, i - 1);
	void *fresh = bytes <= SIZE_MAX - HUGE ? aligned_alloc(HUGE, rounded(bytes)) : NULL;
	if (fresh == NULL)
		return mem_resize(NULL, bytes <= SIZE_MAX - HUGE ? rounded(bytes) : bytes,
				  1);                  /* aborts with a message */
	madvise(fresh, rounded(bytes), MADV_HUGEPAGE); /* small pages will do */
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
		free(take_idle(r, 0));
}

/* --- cache -------------------------------------------------------------------------------------------------------- */

struct entry {
	struct entry *next; /* used less recently */
	char hex[HASH_SIZE];
	void *bytes;
	size_t len;
};

/* A list is searched: small content is cheaper to make again than to find among many thousands. */
enum { ENTRIES = 1024 };

struct room_cache {
	struct entry *newest;
	size_t limit; /* bytes of content */
	struct room *room;
};

struct room_cache *room_cache_new(size_t limit, struct room *room)
{
	struct room_cache *c = MEM_NEW(struct room_cache);
	c->limit = limit;
	c->room = room;
	return c;
}

static void free_from(struct room_cache *c, struct entry **at)
{
	while (*at) {
		struct entry *gone = *at;
		*at = gone->next;
		room_give(c->room, gone->bytes, gone->len);
		free(gone);
	}
}

void room_cache_free(struct room_cache *c)
{
	if (c == NULL)
		return;
	free_from(c, &c->newest);
	free(c);
}

const void *room_cache_get(struct room_cache *c, const char *hex, size_t *ret_len)
{
	for (struct entry **at = &c->newest; *at; at = &(*at)->next) {
		struct entry *found = *at;
		if (strcmp(found->hex, hex) != 0)
			continue;
		*at = found->next;
		found->next = c->newest;
		c->newest = found;
		*ret_len = found->len;
		return found->bytes;
	}
	return NULL;
}

const void *room_cache_put(struct room_cache *c, const char *hex, void *take_bytes, size_t len)
{
	size_t have;
	const void *there = room_cache_get(c, hex, &have);
	if (there) {
		room_give(c->room, take_bytes, len);
		return there;
	}
	struct entry *new = MEM_NEW(struct entry);
	*new = (struct entry){ .next = c->newest, .bytes = take_bytes, .len = len };
	memcpy(new->hex, hex, strlen(hex) + 1);
	c->newest = new;
	struct entry **at = &new->next;
	size_t kept = len;
	for (int i = 1; *at && i < ENTRIES && kept + (*at)->len <= c->limit; i++, at = &(*at)->next)
		kept += (*at)->len;
	free_from(c, at);
	return new->bytes;
}
