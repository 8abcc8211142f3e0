/* race: interprets a plan's kernels to find threads of a group that touch the same shared memory without a barrier between
 * them, and barriers that some threads do not reach. A GPU, and lavapipe above all, may run such a kernel correctly for
 * years. */
#ifndef PEAKD_BACKENDS_HLSL_RACE_H
#define PEAKD_BACKENDS_HLSL_RACE_H

#include <stddef.h>
#include <stdint.h>

#include "backends/wire/plan.h"
#include "base/err.h"

/* backend.h: races. Runs as many groups of each launch with shared memory as four million instructions allow, on inputs made
 * from `seed`. *ret_finding (free()): the first race in words, NULL when there was none. -ERR_UNSUPPORTED for what the
 * interpreter does not know (wave operations, images). Touches host memory only. */
int hlsl_race_check(const void *binary, size_t len, const struct plan *plan, uint64_t seed, char **ret_finding, struct err *e);

#endif
