/* run_check: mistakes of a command line that would otherwise be met after minutes of work: a transformation, model or input size that does
 * not exist, a file that cannot be written. Used by run.c and study.c before anything is made. */
#ifndef PEAKD_DAEMON_VERBS_RUN_CHECK_H
#define PEAKD_DAEMON_VERBS_RUN_CHECK_H

#include "daemon/verbs/run_setup.h"

/* Finds out what is asked (run_setup_context, _device and _steps), and checks every model and step (that it is for this backend, behind what
 * it builds on), --name, --sizes, --from and --json. `attempt` is the number of the first try: recordings of later ones are in other
 * folders. A refusal leaves nothing in the database. */
int run_check(struct run *r, long long attempt, struct err *e);
/* The steps alone: that there are such transformations, and with `fit` that each is for this backend, behind what it builds on. Of a workflow
 * that is gone on with, where its own steps part from these is said first (run_resume), and run_check leaves `fit` out. */
int run_check_steps(struct run *r, bool fit, struct err *e);

#endif
