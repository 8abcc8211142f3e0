/* run_resume: `peakd run --resume`: what an earlier run left of the workflow: which of the asked steps are made. Called by run.c, once the
 * steps are known. */
#ifndef PEAKD_DAEMON_VERBS_RUN_RESUME_H
#define PEAKD_DAEMON_VERBS_RUN_RESUME_H

#include "daemon/verbs/run_setup.h"

/* Waits for what the earlier run left at work on this workflow in a living daemon, takes back its interrupted transformations, and reads the
 * log: r->made and r->made_count. An error when the log is not the beginning of the asked steps, or a checkpoint of it was refuted. */
int run_resume(struct run *r, struct err *e);
/* The checkpoint of step number i (0: the baseline): as the log tells it; NULL when it is to be made. */
const json_t *run_resume_made(const struct run *r, size_t i);
/* Step number i failed in the earlier run, which was told to keep going, and later ones are made: it cannot be made any more. */
bool run_resume_lost(const struct run *r, size_t i);

#endif
