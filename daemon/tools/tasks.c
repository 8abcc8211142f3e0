/* tasks: jobs as tasks of MCP's tasks extension. A task's id is the job's, which is unguessable and durable. */

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/record/event.h"
#include "daemon/tools/tools.h"

enum { POLL_MS = 1000 };

static const char *status_of(enum job_state state)
{
	switch (state) {
	case JOB_QUEUED:
	case JOB_RUNNING: return "working";
	case JOB_DONE:
	case JOB_FAILED: return "completed"; /* a failed tool call is a result with isError */
	case JOB_CANCELLED: return "cancelled";
	case JOB_INTERRUPTED: return "failed";
	}
	return "failed";
}

static json_t *describe(struct db *db, const struct job *job)
{
	char created[32], updated[32], *text = NULL;
	json_t *shown = tools_show_job(db, job, &text);
	const char *status = status_of(job->state);
	json_t *task = json_pack("{s:s, s:s, s:s, s:n, s:i}", "status", status, "createdAt", clock_iso(job->created_ms, created),
				 "lastUpdatedAt", clock_iso(job->ended_ms ? job->ended_ms : clock_wall_ms(), updated), "ttlMs",
				 "pollIntervalMs", POLL_MS);
	json_t *message = json_object_get(shown, "message");
	if (json_is_string(message))
		json_object_set(task, "statusMessage", message);
	if (strcmp(status, "completed") == 0)
		json_object_set_new(task, "result", mcp_call_result(json_incref(shown), text, job->state == JOB_FAILED));
	else if (strcmp(status, "failed") == 0)
		json_object_set_new(task, "error", json_pack("{s:i, s:s}", "code", -32603, "message", text));
	json_decref(shown);
	free(text);
	return task;
}

static int get(void *user, const char *id, json_t **ret_task, struct err *e)
{
	struct app *app = user;
	struct db *db;
	struct job job;
	int rc = store_take(app->work.store, &db, e);
	if (rc < 0)
		return rc;
	rc = job_get(db, id, &job, e);
	if (rc >= 0) {
		*ret_task = describe(db, &job);
		job_fini(&job);
	}
	store_give(db);
	return rc < 0 ? rc : 0;
}

static int cancel(void *user, const char *id, struct err *e)
{
	struct app *app = user;
	struct db *db;
	int rc = store_take(app->work.store, &db, e);
	if (rc < 0)
		return rc;
	rc = engine_cancel(app->engine, db, id, e);
	if (rc < 0 && e->code == ERR_CONFLICT)
		rc = 0; /* it has ended already, which is what was asked for */
	store_give(db);
	return rc;
}

const struct mcp_task_hooks tasks_hooks = { .get = get, .update = NULL, .cancel = cancel };
