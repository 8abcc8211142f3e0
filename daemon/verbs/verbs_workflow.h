/* verbs_workflow: `peakd workflow ACTION …`: the history of a kernel from the shell. */
#ifndef PEAKD_DAEMON_VERBS_VERBS_WORKFLOW_H
#define PEAKD_DAEMON_VERBS_VERBS_WORKFLOW_H

#include "daemon/verbs/verb.h"

extern const struct verb verbs_workflow;

#endif
