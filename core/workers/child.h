/* child: starting another program beside the daemon, and what it said before it ended. process.c starts workers with it, external_run.c
 * the user's validators and evaluators. */
#ifndef PEAKD_CORE_WORKERS_CHILD_H
#define PEAKD_CORE_WORKERS_CHILD_H

#include <sys/types.h>

#include "base/buf.h"

enum { CHILD_WORDS_MAX = 400 };

/* Starts argv[0] (looked for in $PATH when it has no slash) with these three descriptors and no other, as a process group of its own, with
 * signals as a fresh process expects them and the daemon's environment without secrets (environment.h). 0 and *ret_pid, or an errno. */
int child_start(char *const *argv, int in, int out, int complaints, pid_t *ret_pid);
/* Closes *fd, if it is open, and leaves -1. */
void child_close(int *fd);
/* The end of what it wrote to its stderr, on one line, as a clause: "; it last said: …"; "" without any. free() */
char *child_last_words(const struct buf *said);

#endif
