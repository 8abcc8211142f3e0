/* external_run: one short-lived program that the user brought: a text in, a text out, and no trust in either how long it takes or how
 * much it says. Called by external.c, which knows what the texts mean. */
#ifndef PEAKD_CORE_JUDGE_EXTERNAL_RUN_H
#define PEAKD_CORE_JUDGE_EXTERNAL_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "core/workers/cancel.h"

enum { EXTERNAL_RUN_MAX = 1 << 20 }; /* bytes that it may write to stdout */

/* Runs `path` without arguments, `input` as its stdin (a file, so it may also leave it unread), until it exits with status 0; *out gets its
 * stdout. A process group of its own (all of which is killed at the end), no descriptors but the three, the daemon's environment without
 * secrets. deadline: monotonic. -ERR_NOT_FOUND when it cannot be started; -ERR_TIMEOUT; -ERR_CRASH for a signal or another status (with
 * the end of its stderr) or when it writes too much; -ERR_CANCELLED. */
int external_run(const char *path, const char *input, size_t len, int64_t deadline, const struct cancel *cancel, struct buf *out,
                 struct err *e);

#endif
