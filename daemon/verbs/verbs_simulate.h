/* verbs_simulate: `peakd tune --simulate FILE` replays searches on a space whose times are all known. Called by the
 * tune verb. */
#ifndef PEAKD_DAEMON_VERBS_VERBS_SIMULATE_H
#define PEAKD_DAEMON_VERBS_VERBS_SIMULATE_H

#include "daemon/verbs/verb.h"

/* Reads --simulate, --strategy, --budget, --seeds, --seed and --json. Needs no database and no daemon. Returns the
 * exit status. */
int verbs_simulate(const struct verb_line *line);

#endif
