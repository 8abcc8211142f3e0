/* cache: bytes by hash, the least recently used forgotten first. A device worker keeps generated inputs and
 * reference outputs in two of them, so that a tuning run neither makes nor sends the same megabytes for every
 * configuration. */
#ifndef PEAKD_BACKENDS_WORKER_CACHE_H
#define PEAKD_BACKENDS_WORKER_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "backends/worker/room.h"
#include "base/hash.h"

struct cache;

/* limit: bytes of content kept; the newest entry stays even when it alone is larger. Content is taken from and given back to the room
 * (borrowed). */
struct cache *cache_new(size_t limit, struct room *room);
void cache_free(struct cache *c);
/* Borrowed until the next cache_put; NULL when it is not there. */
const void *cache_get(struct cache *c, const char *hex, size_t *ret_len);
/* Returns the stored content (take_bytes, or what was there already under that name). */
const void *cache_put(struct cache *c, const char *hex, void *take_bytes, size_t len);

#endif
