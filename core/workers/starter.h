/* starter: the one thread that starts worker processes. Workers ask the kernel to be killed when the thread that started them
 * dies, so that a hanging one does not outlive the daemon; job threads come and go, this one stays. Used by pool alone. */
#ifndef PEAKD_CORE_WORKERS_STARTER_H
#define PEAKD_CORE_WORKERS_STARTER_H

#include "core/workers/process.h"

struct starter;

/* binary: NULL is this process's own. launcher: NULL-terminated words in front of it, or NULL. Both are copied. */
struct starter *starter_new(const char *binary, const char *const *launcher);
/* Ends the thread; the processes that it started die with it. NULL is fine. */
void starter_free(struct starter *starter);
/* process_start on the starter's thread, which takes a millisecond; the process's hello, which may take seconds behind a launcher,
 * is waited for by the caller (process_greet), so that many start side by side. launcher: NULL-terminated words to put in front
 * instead of the starter's own; NULL: those. */
int starter_start(struct starter *starter, const char *const *launcher, struct process *process, struct err *e);

#endif
