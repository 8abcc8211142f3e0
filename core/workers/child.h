/* child: starts another program beside the daemon, ends it, and keeps what it said last. process.c starts workers with it,
 * external.c the user's own validators and evaluators. */
#ifndef PEAKD_CORE_WORKERS_CHILD_H
#define PEAKD_CORE_WORKERS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/workers/cancel.h"

enum { CHILD_WORDS_MAX = 400 };

/* Starts argv[0] (searched in $PATH when it has no slash) with these three descriptors and no others. It gets a process group of
 * its own, default signal handling and child_environment(). Returns 0 and *ret_pid, or an errno. */
int child_start(char *const *argv, int in, int out, int complaints, pid_t *ret_pid);
/* What a program reads from descriptor 0, a file in memory that it may also open as /dev/stdin. */
struct child_input {
	const void *bytes; /* borrowed */
	size_t len;
};
/* What ends a program early. */
struct child_bounds {
	int64_t timeout_ns;
	size_t memory;               /* bytes that it may map; 0: any */
	const struct cancel *cancel; /* NULL: nobody cancels it */
};
/* Runs a program to its end and appends what it wrote to stdout. -ERR_TIMEOUT; -ERR_CANCELLED; -ERR_UNSUPPORTED when it cannot be
 * started, fails (with its last words), or writes more than 64 MiB. */
int child_filter(char *const *argv, const struct child_input *input, const struct child_bounds *bounds, struct buf *out,
		 struct err *e);
/* A tool of the CUDA toolkit: what `variable` names in the environment ("off": none), else in the toolkit's bin or $PATH. NULL: it
 * is nowhere. free() */
char *child_find_tool(const char *variable, const char *name);
/* True when the process has ended. It is not reaped, so its number and its group's number still belong to it. */
bool child_has_ended(pid_t pid);
/* Kills the process and everything left in its group, then reaps it, in that order: the number of a reaped process and its group
 * may belong to another. Returns the wait status: of the process's own end where it had ended before. One that does not end within
 * 30 s counts as killed, and is reaped later. */
int child_end(pid_t pid);
/* Closes *fd if it is open and sets it to -1. */
void child_close(int *fd);
/* The end of what it wrote to stderr, on one line, as a clause: "; it last said: …", or "" when it said nothing. free() */
char *child_last_words(const struct buf *said);

/* Children inherit no capability of the daemon: called once, before it has threads. */
void child_drop_capabilities(void);
/* Whether what this thread starts next inherits CAP_PERFMON, which drivers ask for before they give hardware counters. Nothing
 * happens where the daemon does not hold it. */
void child_lend_perfmon(bool lend);

/* What a child inherits: `from` ("NAME=value" texts, NULL at the end; borrowed) without secrets. Left out are names that contain
 * KEY, TOKEN, SECRET, PASSW or CREDENTIAL in any case, PEAKD_MODEL, and the variable that PEAKD_MODEL names as key_env. free() the
 * list alone. */
char **child_environment(char *const *from);

#endif
