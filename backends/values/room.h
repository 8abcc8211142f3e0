/* room: large blocks of memory that are used again, and a cache of named content in such blocks. A worker needs the
 * same tens of megabytes over and over (inputs, outputs, references); malloc would fetch them from the kernel each
 * time, page by page. Called by backends/worker/runs.c and redzone.c. */
#ifndef PEAKD_BACKENDS_VALUES_ROOM_H
#define PEAKD_BACKENDS_VALUES_ROOM_H

#include <stddef.h>

struct room;

/* idle_max: bytes kept while nobody uses them; the block that has been idle longest goes first. */
struct room *room_new(size_t idle_max);
/* Frees what is idle. NULL is fine. */
void room_free(struct room *r);
/* A block of at least `bytes` bytes with arbitrary content; never NULL. Return it by room_give with the same number, or
 * by free(). */
void *room_take(struct room *r, size_t bytes);
void room_give(struct room *r, void *take_block, size_t bytes);

/* Content by hash (generated inputs, reference outputs), so that a tuning run neither makes nor sends the same
 * megabytes for every configuration. What was used least recently is forgotten first, and returns to the room. */
struct room_cache;
/* limit: bytes of content, in at most 1,024 entries; the newest entry stays even when it alone is larger. The room is borrowed. */
struct room_cache *room_cache_new(size_t limit, struct room *room);
void room_cache_free(struct room_cache *c);
/* Borrowed until the next room_cache_put; NULL when it is not there. */
const void *room_cache_get(struct room_cache *c, const char *hex, size_t *ret_len);
/* Returns the stored content: take_bytes (from the room), or what that name held already. */
const void *room_cache_put(struct room_cache *c, const char *hex, void *take_bytes, size_t len);

#endif
