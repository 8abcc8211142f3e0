/* lanes: the same work on many items by several threads, for compiling beside a device that is busy. */
#ifndef PEAKD_CORE_WORKERS_LANES_H
#define PEAKD_CORE_WORKERS_LANES_H

#include <stddef.h>

struct lanes;

/* Begins to call work(arg, i) for i = 0 … count-1 in this order, each once, on up to `width` threads. Never NULL; where no thread
 * could be started, lanes_wait does the work. */
struct lanes *lanes_new(unsigned width, size_t count, void (*work)(void *arg, size_t i), void *arg);
/* Returns when the first `count` items are done; the calling thread helps with them. */
void lanes_wait(struct lanes *l, size_t count);
/* Begins nothing more and returns when what was begun is done. */
void lanes_free(struct lanes *take_lanes);

#endif
