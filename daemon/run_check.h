/* run_check: mistakes of a command line that would otherwise be met after minutes of work: a transformation, model or input size that does
 * not exist, a file that cannot be written. Used by run.c and study.c before anything is made. */
#ifndef PEAKD_DAEMON_RUN_CHECK_H
#define PEAKD_DAEMON_RUN_CHECK_H

#include "daemon/run_setup.h"

/* Finds out what is asked (run_setup_context, _device and _steps), and checks every step and model, --sizes, --from and --json. `attempt` is the number of the first try: recordings of later ones are in other folders. */
int run_check(struct run *r, long long attempt, struct err *e);

#endif
