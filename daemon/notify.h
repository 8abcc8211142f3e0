/* notify: from rows back to clients. Core appends events and rings a bell. One thread reads the new rows and sends progress to the
 * calls that wait for jobs. It answers a call when its job or its waiting time ends, and tells subscribers what changed. No thread
 * waits per call. */
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

/* Answers a call with a job's state: ended, or still running when the waiting time is over. Given by daemon/tools. */
typedef const struct mcp_done *notify_answer(struct app *app, struct db *db, struct mcp_call *call, const struct job *job);

int notify_new(struct app *app, struct notify **ret_notify, struct err *e);
/* Answers every waiting call at once with its job's current state, because the daemon ends. NULL is allowed. */
void notify_hurry(struct notify *notify);
/* There is a new subscription: its subjects are told as they are. NULL is allowed. */
void notify_listened(struct notify *notify, struct mcp_server *server);
/* No call may be waiting, and none may start. */
void notify_free(struct notify *notify);

/* Lets the call wait for the job until the monotonic deadline, with the events after number `after` as progress; negative: those
 * after the last event of an earlier answer about this job. If no client knows the job's id (`fresh`), cancelling the call cancels
 * the job: at once where the client asked for it, and after ten seconds without another waiter where its stream was closed. Returns
 * what a handler returns. */
const struct mcp_done *notify_wait(struct notify *notify, struct mcp_call *call, const char *job, int64_t after, int64_t deadline,
				   int fresh, notify_answer *answer);

#endif
