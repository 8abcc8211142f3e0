/* simulate: a search replayed on a space whose times are all known, so that strategies are compared without a device. Called
 * by `peakd tune --simulate` and by tests. */
#ifndef PEAKD_CORE_SEARCH_SIMULATE_H
#define PEAKD_CORE_SEARCH_SIMULATE_H

#include "base/err.h"
#include "core/search/search.h"

/* One search from a fresh state: asks at most `budget` times, tells each point's time before the next (INFINITY: it failed).
 * `times`: per point of the space, in any unit. *ret_trajectory: what was told, in order, the caller's; *ret_count of them.
 * -ERR_INPUT for an unknown strategy. */
int simulate_run(const struct search_space *space, const double *times, const char *strategy, size_t budget, uint64_t seed,
                 double **ret_trajectory, size_t *ret_count, struct err *e);

#endif
