/* run: `peakd run FILE.peak.md`: a whole workflow from the shell: a context, a baseline, transformations one after the other,
 * each validated and tuned, a table at the end. */
#ifndef PEAKD_DAEMON_VERBS_RUN_H
#define PEAKD_DAEMON_VERBS_RUN_H

#include "daemon/verbs/verb.h"

extern const struct verb run_verb;

#endif
