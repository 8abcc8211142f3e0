/* notify: from rows back to clients. Core appends events and rings; one thread here reads the new rows, turns them into progress of
 * the calls that wait for their jobs, and answers a call when its job ends or its patience does. No thread waits per call. */
#ifndef PEAKD_DAEMON_NOTIFY_H
#define PEAKD_DAEMON_NOTIFY_H

#include <stdint.h>

#include "base/err.h"
#include "mcp/call.h"

struct app;
struct notify;
struct job;
struct db;
struct mcp_server;

/* Answers a call with a job's state: ended, or still running when the patience ran out. Given by daemon/tools. */
typedef const struct mcp_done *notify_answer(struct app *app, struct db *db, struct mcp_call *call, const struct job *job);

int notify_new(struct app *app, struct notify **ret_notify, struct err *e);
/* From now on every call that waits is answered with its job's state as it is: nothing would come any more. NULL is fine. */
void notify_hurry(struct notify *notify);
/* Somebody subscribed to something: it is told as it is. NULL is fine. */
void notify_listened(struct notify *notify, struct mcp_server *server);
/* No call may wait any more, or begin to. */
void notify_free(struct notify *notify);

/* The call waits for the job until the monotonic deadline and gets the events after number `after` as progress; negative: those after the
 * last one that an earlier answer about this job gave. A call that its client cancels while it waits cancels the job too, if
 * the job's id never reached anybody (`fresh`): at once when the client said so, and after ten seconds without another waiter when
 * it closed its stream (2026-07-28 over HTTP), since a broken connection looks the same. The end of a session or of a stdio
 * connection cancels no job. Returns what a handler returns. */
const struct mcp_done *notify_wait(struct notify *notify, struct mcp_call *call, const char *job, int64_t after, int64_t deadline, int fresh,
                                   notify_answer *answer);

#endif
