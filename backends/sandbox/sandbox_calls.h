/* sandbox_calls: seccomp: the system calls that no compiler and no GPU driver at work needs, refused with EPERM in every thread. A list
 * of what is denied, not of what is allowed: drivers are closed and change, and what they do (ioctl, mmap, futex) is theirs.
 * Called by sandbox.c, and by its test. */
#ifndef PEAKD_BACKENDS_SANDBOX_SANDBOX_CALLS_H
#define PEAKD_BACKENDS_SANDBOX_SANDBOX_CALLS_H

#include <stdbool.h>

#include "base/err.h"

/* Whether this kernel takes filters that answer with an errno. */
bool sandbox_calls_offered(void);
/* For all threads of the process, for ever. Needs no_new_privs. */
int sandbox_calls_close(struct err *e);

#endif
