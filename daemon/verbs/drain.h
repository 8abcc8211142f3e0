/* drain: `peakd drain export|run|merge|show`: jobs that wait for a device which this machine lacks, carried to one that has it and
 * back; see core/jobs/drain.h and docs/drain.md. */
#ifndef PEAKD_DAEMON_VERBS_DRAIN_H
#define PEAKD_DAEMON_VERBS_DRAIN_H

#include "daemon/verbs/verb.h"

extern const struct verb drain_verb;

#endif
