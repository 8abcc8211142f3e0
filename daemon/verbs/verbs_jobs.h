/* verbs_jobs: `peakd jobs`: what is and was under way. */
#ifndef PEAKD_DAEMON_VERBS_VERBS_JOBS_H
#define PEAKD_DAEMON_VERBS_VERBS_JOBS_H

#include "daemon/verbs/verb.h"

extern const struct verb verbs_jobs;

#endif
