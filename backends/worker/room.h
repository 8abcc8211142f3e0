/* room: large blocks of memory that go from hand to hand. A worker asks for the same tens of megabytes over and over (inputs, outputs,
 * references); from malloc they would come from the kernel each time, page by page, and go back to it. */
#ifndef PEAKD_BACKENDS_WORKER_ROOM_H
#define PEAKD_BACKENDS_WORKER_ROOM_H

#include <stddef.h>

struct room;

/* idle_max: bytes that are kept while nobody uses them; what was given back longest ago goes first. */
struct room *room_new(size_t idle_max);
/* Frees what is idle. NULL is fine. */
void room_free(struct room *r);
/* A block of at least `bytes` bytes with whatever is in it; never NULL. room_give it with the same number; free() is right too. */
void *room_take(struct room *r, size_t bytes);
void room_give(struct room *r, void *take_block, size_t bytes);

#endif
