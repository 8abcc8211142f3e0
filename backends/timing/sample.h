/* sample: one timing of a prepared run, and the warm-up before the first. Called by measure.c, pair.c and energy.c. */
#ifndef PEAKD_BACKENDS_TIMING_SAMPLE_H
#define PEAKD_BACKENDS_TIMING_SAMPLE_H

#include <stdbool.h>

#include "backends/worker/backend.h"

/* Nanoseconds per execution, of `times` of them. -ERR_UNSUPPORTED when the device gives no times. */
int sample_take(const struct backend *b, struct backend_run *run, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e);
/* How many executions of this length make a sample that the device's clock resolves: at least 50 µs. */
uint32_t sample_launches(uint64_t ns);
/* Executions that nobody counts: 2 ms of them at least, and then until two successive stretches agree within 1 %, or until limit_ns
 * of executions have passed. *ret_first_ns: the first execution, *ret_ns: the last ones. */
int sample_warm_up(const struct backend *b, struct backend_run *run, uint64_t limit_ns, uint64_t *ret_first_ns, uint64_t *ret_ns,
                   struct err *e);

#endif
