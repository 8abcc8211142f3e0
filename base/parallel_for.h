/* spread: one loop over many elements, done by several threads at once. For work on large arrays between two
 * kernels, while the device waits: the worker's (inputs, comparisons) and the daemon's (references). What is computed must not depend on
 * how the range was cut. */
#ifndef PEAKD_BASE_PARALLEL_FOR_H
#define PEAKD_BASE_PARALLEL_FOR_H

#include <stdint.h>

/* Calls part(arg, k, from, to) for cuts k = 0 … PARALLEL_FOR_PARTS-1 that together are [0, count), at the same time where the process may use several
 * processors, and returns when all are done. The cuts depend on count alone. Small counts are one cut (k = 0), done by the caller. */
enum { PARALLEL_FOR_PARTS = 16 };
void parallel_for(uint64_t count, void (*part)(void *arg, unsigned k, uint64_t from, uint64_t to), void *arg);

#endif
