/* resident: arrays that stay on the device. Gigabytes take minutes to fill, read back and compare on the host; here a process of
 * the judge does it on the device: it opens a trial's buffers (trial_adopt), fills them, and compares them with truths that it
 * keeps. The candidate's process cannot open anything of the judge's. core/judge/reference.c makes the truths. */
#ifndef PEAKD_CORE_WORKERS_RESIDENT_H
#define PEAKD_CORE_WORKERS_RESIDENT_H

#include <stdbool.h>

#include "backends/wire/wire.h"
#include "core/workers/eval.h"

/* True when the inputs and outputs of this plan are so large that they should stay on this device, and the device can do it. */
bool resident_suits(const struct facts *facts, const struct plan *plan);
/* Sees to it that the process has the judge's kernels. -ERR_UNSUPPORTED: the backend has none. */
int resident_prepare(const struct eval *ev, const struct facts *facts, struct pool_worker *process, struct err *e);
/* One step of a truth in that process. */
int resident_truth(struct pool_worker *process, const struct wire_truth *step, struct wire_truth_found *ret_found, struct err *e);

#endif
