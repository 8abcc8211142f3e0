/* job: rows of jobs and the table of their states; see job.h. */
#include "core/record/job.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/token.h"
#include "core/record/event.h"
#include "core/record/query.h"
#include "core/record/store.h"

static const char *const state_names[] = {
	[JOB_QUEUED] = "queued",       [JOB_RUNNING] = "running",         [JOB_DONE] = "done", [JOB_FAILED] = "failed",
	[JOB_CANCELLED] = "cancelled", [JOB_INTERRUPTED] = "interrupted", [JOB_STATES] = NULL,
};

static const struct layout_field fields[] = {
	{ LAYOUT_AT(struct job, id, TEXT) },
	{ LAYOUT_AT(struct job, kind, TEXT) },
	{ LAYOUT_AT(struct job, request, TEXT) },
	{ LAYOUT_AT(struct job, state, WORD), .words = state_names },
	{ LAYOUT_AT(struct job, cancel, BOOL) },
	{ LAYOUT_AT(struct job, created_ms, INT), .unit = "ms" },
	{ LAYOUT_AT(struct job, started_ms, INT), .unit = "ms" },
	{ LAYOUT_AT(struct job, ended_ms, INT), .unit = "ms" },
	{ LAYOUT_AT(struct job, last_event, INT) },
	{ LAYOUT_AT(struct job, result, TEXT) },
	{ LAYOUT_AT(struct job, error_code, TEXT) },
	{ LAYOUT_AT(struct job, error_text, TEXT) },
	{ .name = NULL },
};
static const struct layout layout = { "job", sizeof(struct job), fields };

/* Row: from, column: to. */
static const bool allowed[JOB_STATES][JOB_STATES] = {
	[JOB_QUEUED] = { [JOB_RUNNING] = true, [JOB_CANCELLED] = true },
	[JOB_RUNNING] = { [JOB_DONE] = true, [JOB_FAILED] = true, [JOB_CANCELLED] = true, [JOB_INTERRUPTED] = true },
	[JOB_INTERRUPTED] = { [JOB_QUEUED] = true, [JOB_CANCELLED] = true },
};

/* What a move writes beside the state. */
struct outcome {
	const char *result;     /* may be NULL */
	const char *error_code; /* may be NULL */
	const char *error_text; /* may be NULL */
};

const char *job_state_name(enum job_state state)
{
	return state_names[state];
}

bool job_state_ended(enum job_state state)
{
	return state == JOB_DONE || state == JOB_FAILED || state == JOB_CANCELLED;
}

void job_fini(struct job *j)
{
	layout_fini(&layout, j);
}

void job_list_fini(struct job_list *l)
{
	query_list_fini(&layout, l);
}

static int not_found(const char *id, struct err *e)
{
	return err_set(e, ERR_NOT_FOUND, "there is no job %s in this database: list the jobs to see their ids", id);
}

int job_get(struct db *db, const char *id, struct job *ret_job, struct err *e)
{
	int rc = query_one(db, "job_get", QUERY(QUERY_TEXT(id)), &layout, ret_job, e);
	return rc < 0 ? rc : rc == 0 ? not_found(id, e) : 0;
}

int job_list(struct db *db, const char *kind, bool live, int limit, struct job_list *ret_list, struct err *e)
{
	return query_all(db, "job_list", QUERY(QUERY_TEXT(kind), QUERY_INT(live), QUERY_LIMIT(limit), QUERY_TEXT(NULL)), &layout,
			 ret_list, e);
}

int job_list_after(struct db *db, const char *cursor, int limit, struct job_list *ret_list, struct err *e)
{
	return query_all(db, "job_list", QUERY(QUERY_TEXT(NULL), QUERY_INT(0), QUERY_LIMIT(limit), QUERY_TEXT(cursor)), &layout,
			 ret_list, e);
}

static int create(struct db *db, const char *id, const char *kind, const char *request, struct err *e)
{
	const char *queued = job_state_name(JOB_QUEUED);
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = query_do(db, "job_add",
		      QUERY(QUERY_TEXT(id), QUERY_TEXT(kind), QUERY_TEXT(request), QUERY_TEXT(queued), QUERY_INT(clock_wall_ms())),
		      NULL, e);
	if (rc >= 0)
		rc = event_append(db, id, &(struct event){ .kind = queued, .message = kind }, NULL, e);
	return store_end(db, rc, e);
}

int job_create(struct db *db, const char *kind, const char *request, char **ret_id, struct err *e)
{
	char id[TOKEN_SIZE];
	token_make('j', id);
	int rc = create(db, id, kind, request, e);
	if (rc == 0)
		*ret_id = mem_str(id);
	return rc;
}

int job_adopt(struct db *db, const char *id, const char *kind, const char *request, struct err *e)
{
	int rc = query_do(db, "event_last", QUERY(QUERY_TEXT(id)), NULL, e);
	if (rc > 0)
		return err_set(e, ERR_CONFLICT, "there is a job %s already", id);
	return rc < 0 ? rc : create(db, id, kind, request, e);
}

static int read_state(struct db *db, const char *id, enum job_state *ret_state, bool *ret_cancel, struct err *e)
{
	struct job row;
	int rc = query_one(db, "job_state", QUERY(QUERY_TEXT(id)), &layout, &row, e);
	if (rc > 0) {
		*ret_state = row.state;
		*ret_cancel = row.cancel;
	}
	return rc < 0 ? rc : rc == 0 ? not_found(id, e) : 0;
}

/* The one place that changes a state. */
static int move(struct db *db, const char *id, enum job_state to, const struct outcome *o, struct err *e)
{
	enum job_state from = JOB_QUEUED;
	bool cancel = false;
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = read_state(db, id, &from, &cancel, e);
	if (rc == 0 && !allowed[from][to] && to == JOB_QUEUED)
		rc = err_set(e, ERR_CONFLICT, "job %s is %s: only an interrupted job can be resumed", id, job_state_name(from));
	else if (rc == 0 && !allowed[from][to])
		rc = from == JOB_CANCELLED
			     ? err_set(e, ERR_CANCELLED, "job %s was cancelled and cannot become %s", id, job_state_name(to))
			     : err_set(e, ERR_CONFLICT, "job %s is %s and cannot become %s", id, job_state_name(from),
				       job_state_name(to));
	if (rc == 0)
		rc = query_do(db, "job_set_state",
			      QUERY(QUERY_TEXT(id), QUERY_TEXT(job_state_name(to)), QUERY_INT(clock_wall_ms()),
				    QUERY_TEXT(o->result), QUERY_TEXT(o->error_code), QUERY_TEXT(o->error_text)),
			      NULL, e);
	if (rc == 0)
		rc = event_append(db, id, &(struct event){ .kind = job_state_name(to), .message = o->error_text }, NULL, e);
	return store_end(db, rc, e);
}

int job_start(struct db *db, const char *id, struct err *e)
{
	return move(db, id, JOB_RUNNING, &(struct outcome){ .result = NULL }, e);
}

int job_done(struct db *db, const char *id, const char *result, struct err *e)
{
	return move(db, id, JOB_DONE, &(struct outcome){ .result = result }, e);
}

int job_fail(struct db *db, const char *id, const struct err *why, const char *result, struct err *e)
{
	struct outcome o = { .result = result, .error_code = err_code_name(why->code), .error_text = why->text };
	return move(db, id, why->code == ERR_CANCELLED ? JOB_CANCELLED : JOB_FAILED, &o, e);
}

int job_resume(struct db *db, const char *id, struct err *e)
{
	return move(db, id, JOB_QUEUED, &(struct outcome){ .result = NULL }, e);
}

int job_cancel(struct db *db, const char *id, struct err *e)
{
	static const struct outcome early = {
		.error_code = "cancelled",
		.error_text = "cancelled while it was not running",
	};
	enum job_state state = JOB_QUEUED;
	bool asked = false;
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = read_state(db, id, &state, &asked, e);
	if (rc == 0 && job_state_ended(state))
		rc = err_set(e, ERR_CONFLICT, "job %s has ended (%s): there is nothing to cancel", id, job_state_name(state));
	else if (rc == 0 && state != JOB_RUNNING)
		rc = move(db, id, JOB_CANCELLED, &early, e);
	else if (rc == 0 && !asked && (rc = query_do(db, "job_set_cancel", QUERY(QUERY_TEXT(id)), NULL, e)) == 0)
		rc = event_append(db, id, &(struct event){ .kind = "cancel-requested" }, NULL, e);
	return store_end(db, rc, e);
}

int job_ended(struct db *db, int64_t *ret_count, struct err *e)
{
	int rc = query_do(db, "job_ended", NULL, ret_count, e);
	return rc < 0 ? rc : 0;
}

static const struct layout_field count_fields[] = {
	{ LAYOUT_AT(struct job_counts, running, INT) },
	{ LAYOUT_AT(struct job_counts, queued, INT) },
	{ LAYOUT_AT(struct job_counts, interrupted, INT) },
	{ LAYOUT_AT(struct job_counts, failed, INT) },
	{ .name = NULL },
};
static const struct layout count_layout = { "job_counts", sizeof(struct job_counts), count_fields };

int job_count(struct db *db, int64_t since_ms, struct job_counts *ret_counts, struct err *e)
{
	int rc = query_one(db, "job_count", QUERY(QUERY_INT(since_ms)), &count_layout, ret_counts, e);
	return rc < 0 ? rc : 0;
}

int job_recover(struct db *db, size_t *ret_count, struct err *e)
{
	static const struct outcome lost = {
		.error_code = "crash",
		.error_text = "the daemon ended while the job was running: what it committed is kept; resume the job",
	};
	static const struct outcome cancelled = {
		.error_code = "cancelled",
		.error_text = "the daemon ended before the job saw that it was cancelled: what it committed is kept",
	};
	struct job_list running = { .count = 0 };
	*ret_count = 0;
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = query_all(db, "job_in_state", QUERY(QUERY_TEXT(job_state_name(JOB_RUNNING))), &layout, &running, e);
	for (size_t i = 0; rc == 0 && i < running.count; i++) {
		const struct job *j = &running.at[i];
		rc = move(db, j->id, j->cancel ? JOB_CANCELLED : JOB_INTERRUPTED, j->cancel ? &cancelled : &lost, e);
		*ret_count += !j->cancel;
	}
	job_list_fini(&running);
	return store_end(db, rc, e);
}
