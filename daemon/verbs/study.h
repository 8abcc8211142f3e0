/* study: `peakd study FILE.peak.md`: how reliably models carry out transformations: each one a number of times, independently, from
 * the same checkpoint, by one model or several, all judged alike; the first accepted result is what the next one starts from. */
#ifndef PEAKD_DAEMON_VERBS_STUDY_H
#define PEAKD_DAEMON_VERBS_STUDY_H

#include "daemon/verbs/verb.h"

extern const struct verb study_verb;

#endif
