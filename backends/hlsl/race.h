/* race: finds threads of a group that touch the same shared memory without a barrier between them, and barriers that some threads do not
 * reach, by interpreting a plan's kernels. A GPU, and lavapipe above all, may run such a kernel rightly for years. */
#ifndef PEAKD_BACKENDS_HLSL_RACE_H
#define PEAKD_BACKENDS_HLSL_RACE_H

#include <stddef.h>
#include <stdint.h>

#include "backends/wire/plan.h"
#include "base/err.h"

/* For the table in backend.c. Runs as many groups of each launch with shared memory as four million instructions allow, on inputs made from `seed`.
 * *ret_finding (free()): the first race in words, NULL when there was none. -ERR_UNSUPPORTED for what the interpreter does not know
 * (wave operations, images). Host memory only: no device is touched. */
int hlsl_race_check(const void *binary, size_t len, const struct plan *plan, uint64_t seed, char **ret_finding, struct err *e);

#endif
