/* race: interprets a plan's kernels to find threads that touch the same memory in no defined order (shared memory within a
 * group, buffers within a group and between groups), barriers that some threads do not reach, results that depend on memory
 * which nobody wrote, and accesses outside of buffers. A GPU, and lavapipe above all, may run such a kernel correctly for
 * years. */
#ifndef PEAKD_BACKENDS_HLSL_RACE_H
#define PEAKD_BACKENDS_HLSL_RACE_H

#include <stddef.h>
#include <stdint.h>

#include "backends/wire/plan.h"
#include "backends/wire/wire.h"
#include "base/err.h"

/* backend.h: races. Runs as many groups of each launch as eight million instructions allow, on inputs made from `seed`, and
 * once more when something was read that nobody wrote: its outputs must not depend on it. wave: lanes of the device's waves; 0
 * unknown. *ret_finding (free()): the first finding in words, NULL when there was none. -ERR_UNSUPPORTED for what the
 * interpreter does not know (images, barriers of other scopes). Touches host memory only. */
int hlsl_race_check(const void *binary, size_t len, const struct plan *plan, uint64_t seed, uint32_t wave, char **ret_finding,
		    struct err *e);
/* backend.h: count. Of each launch as many groups as the same budget allows. wave: as above. */
int hlsl_race_count(const void *binary, size_t len, const struct plan *plan, uint64_t seed, uint32_t wave, struct wire_counted *ret_counted,
		    struct err *e);

#endif
