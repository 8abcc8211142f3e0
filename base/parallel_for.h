/* parallel_for: one loop over many elements on several threads. For large arrays between two kernels, while the device
 * waits: inputs and comparisons in the worker, references in the daemon. Results must not depend on how the range is
 * cut. */
#ifndef PEAKD_BASE_PARALLEL_FOR_H
#define PEAKD_BASE_PARALLEL_FOR_H

#include <stdbool.h>
#include <stdint.h>

/* Calls part(arg, k, from, to) for cuts k = 0 … PARALLEL_FOR_PARTS-1 that together are [0, count). Works in parallel where the
 * process may use several processors; returns when all are done. The cuts depend on count alone. A small count is one cut (k = 0),
 * done by the caller. */
enum { PARALLEL_FOR_PARTS = 16 };
void parallel_for(uint64_t count, void (*part)(void *arg, unsigned k, uint64_t from, uint64_t to), void *arg);
/* Whether a loop over so many elements is worth threads. */
bool parallel_is_worth(uint64_t count);
/* Calls each(arg, k) for k = 0 … count-1, in parallel likewise, whatever they cost. */
void parallel_each(unsigned count, void (*each)(void *arg, unsigned k), void *arg);

#endif
