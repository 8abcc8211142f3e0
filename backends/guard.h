/* guard: what surrounds every buffer of a run, and what an output holds before it is written: patterns that betray a
 * kernel which writes where it must not, reads beyond an end, or leaves elements out. Called by backends/run.c. */
#ifndef PEAKD_BACKENDS_GUARD_H
#define PEAKD_BACKENDS_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/backend.h"
#include "backends/plan.h"

/* Writes the red zones on both sides of a buffer of `bytes` bytes. */
int guard_arm(const struct backend *b, struct backend_run *run, unsigned buffer, uint64_t bytes, struct err *e);
/* Sets ret_broken when a red zone does not hold its pattern any more. */
int guard_check(const struct backend *b, struct backend_run *run, unsigned buffer, uint64_t bytes, bool *ret_broken,
                struct err *e);
/* Fills the buffer with one byte value. */
int guard_poison(const struct backend *b, struct backend_run *run, unsigned buffer, uint64_t bytes, uint8_t value,
                 struct err *e);
/* Sets ret_same when the buffer holds exactly `want`. */
int guard_same(const struct backend *b, struct backend_run *run, unsigned buffer, const void *want, uint64_t bytes,
               bool *ret_same, struct err *e);

#endif
