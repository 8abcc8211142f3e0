/* pair: two prepared runs, timed alternately in one process, until it is clear which is faster. Called by backends/worker/run.c. */
#ifndef PEAKD_BACKENDS_TIMING_PAIR_H
#define PEAKD_BACKENDS_TIMING_PAIR_H

#include "backends/worker/backend.h"
#include "backends/timing/gpu_monitor.h"
#include "backends/wire/wire.h"

/* For runs that were executed before. Each pair is one sample of A and one of B, in alternating order, so that what drifts meets both.
 * Looks at ever larger numbers of pairs, from min_pairs on, and ends when the verdict is clear and the interval as narrow as asked for,
 * at max_pairs, or after cap_ns. Disturbed pairs are thrown away; when fewer than min_pairs others could be taken, all are
 * returned, marked, and the verdict is unclear. ret_paired owned by the caller. */
int pair_samples(const struct backend *b, struct backend_run *run_a, struct backend_run *run_b, struct gpu_monitor *watch,
                 const struct wire_pair *m, struct wire_paired *ret_paired, struct err *e);

#endif
