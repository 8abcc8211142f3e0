/* verbs_draft: `peakd draft FILE.cu`: a first context from an existing kernel. */
#ifndef PEAKD_DAEMON_VERBS_VERBS_DRAFT_H
#define PEAKD_DAEMON_VERBS_VERBS_DRAFT_H

#include "daemon/verbs/verb.h"

extern const struct verb verbs_draft;

#endif
