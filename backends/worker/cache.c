/* cache: see cache.h. A list in the order of use: there are tens of entries, each of megabytes. */
#include "backends/worker/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct entry {
	struct entry *next; /* used less recently */
	char hex[HASH_SIZE];
	void *bytes;
	size_t len;
};

struct cache {
	struct entry *newest;
	size_t used, limit; /* bytes of content */
	struct room *room;
};

struct cache *cache_new(size_t limit, struct room *room)
{
	struct cache *c = MEM_NEW(struct cache);
	c->limit = limit;
	c->room = room;
	return c;
}

static void free_from(struct cache *c, struct entry **at)
{
	while (*at) {
		struct entry *gone = *at;
		*at = gone->next;
		c->used -= gone->len;
		room_give(c->room, gone->bytes, gone->len);
		free(gone);
	}
}

void cache_free(struct cache *c)
{
	if (c == NULL)
		return;
	free_from(c, &c->newest);
	free(c);
}

const void *cache_get(struct cache *c, const char *hex, size_t *ret_len)
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

const void *cache_put(struct cache *c, const char *hex, void *take_bytes, size_t len)
{
	size_t have;
	const void *there = cache_get(c, hex, &have);
	if (there) {
		room_give(c->room, take_bytes, len);
		return there;
	}
	struct entry *new = MEM_NEW(struct entry);
	*new = (struct entry){ .next = c->newest, .bytes = take_bytes, .len = len };
	memcpy(new->hex, hex, strlen(hex) + 1);
	c->newest = new;
	c->used += len;
	struct entry **at = &new->next;
	for (size_t kept = len; *at && kept + (*at)->len <= c->limit; at = &(*at)->next)
		kept += (*at)->len;
	free_from(c, at);
	return new->bytes;
}
