/* job: rows of jobs and the table of their states; see job.h. */
#include "core/record/job.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/record/event.h"
#include "core/record/query.h"
#include "core/record/store.h"
#include "core/record/token.h"

static const char *const state_names[JOB_STATES] = {
	[JOB_QUEUED] = "queued",
	[JOB_RUNNING] = "running",
	[JOB_DONE] = "done",
	[JOB_FAILED] = "failed",
	[JOB_CANCELLED] = "cancelled",
	[JOB_INTERRUPTED] = "interrupted",
};

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

static enum job_state state_of(const char *name)
{
	for (int i = 0; i < JOB_STATES; i++)
		if (strcmp(state_names[i], name) == 0)
			return (enum job_state)i;
	assert(!"the schema allows no other state");
	return JOB_FAILED;
}

static void read_row(struct query *q, struct job *j)
{
	j->id = query_get_text(q);
	j->kind = query_get_text(q);
	j->request = query_get_text(q);
	char *state = query_get_text(q);
	j->state = state_of(state);
	free(state);
	j->cancel = query_get_int(q) != 0;
	j->created_ms = query_get_int(q);
	j->started_ms = query_get_int(q);
	j->ended_ms = query_get_int(q);
	j->last_event = query_get_int(q);
	j->result = query_get_text(q);
	j->error_code = query_get_text(q);
	j->error_text = query_get_text(q);
}

void job_fini(struct job *j)
{
	free((char *)j->id);
	free((char *)j->kind);
	free((char *)j->request);
	free((char *)j->result);
	free((char *)j->error_code);
	free((char *)j->error_text);
	*j = (struct job){ .id = NULL };
}

void job_list_fini(struct job_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		job_fini(&l->at[i]);
	free(l->at);
	*l = (struct job_list){ .count = 0 };
}

QUERY_LIST_READER(read_list, job, read_row)

static int not_found(const char *id, struct err *e)
{
	return err_set(e, ERR_NOT_FOUND, "there is no job %s in this database: list the jobs to see their ids", id);
}

int job_get(struct db *db, const char *id, struct job *ret_job, struct err *e)
{
	struct query q;
	query_init(&q, db, "job_get");
	query_put_text(&q, id);
	int rc = query_next(&q, e);
	if (rc > 0)
		read_row(&q, ret_job);
	query_fini(&q);
	return rc < 0 ? rc : rc == 0 ? not_found(id, e) : 0;
}

int job_list(struct db *db, const char *kind, bool live, int limit, struct job_list *ret_list, struct err *e)
{
	struct query q;
	query_init(&q, db, "job_list");
	query_put_text(&q, kind);
	query_put_int(&q, live);
	query_put_limit(&q, limit);
	return read_list(&q, ret_list, e);
}

static int list_in_state(struct db *db, enum job_state state, struct job_list *ret_list, struct err *e)
{
	struct query q;
	query_init(&q, db, "job_in_state");
	query_put_text(&q, job_state_name(state));
	return read_list(&q, ret_list, e);
}

static int add_row(struct db *db, const char *id, const char *kind, const char *request, struct err *e)
{
	struct query q;
	query_init(&q, db, "job_add");
	query_put_text(&q, id);
	query_put_text(&q, kind);
	query_put_text(&q, request);
	query_put_text(&q, job_state_name(JOB_QUEUED));
	query_put_int(&q, clock_wall_ms());
	return query_run(&q, NULL, e);
}

static int create(struct db *db, const char *id, const char *kind, const char *request, struct err *e)
{
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = add_row(db, id, kind, request, e);
	if (rc >= 0)
		rc = event_append(db, id, job_state_name(JOB_QUEUED), 0, 0, kind, NULL, e);
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
	int64_t last;
	struct query q;
	query_init(&q, db, "event_last");
	query_put_text(&q, id);
	int rc = query_run(&q, &last, e);
	if (rc > 0)
		return err_set(e, ERR_CONFLICT, "there is a job %s already", id);
	return rc < 0 ? rc : create(db, id, kind, request, e);
}

static int read_state(struct db *db, const char *id, enum job_state *ret_state, bool *ret_cancel, struct err *e)
{
	struct query q;
	query_init(&q, db, "job_state");
	query_put_text(&q, id);
	int rc = query_next(&q, e);
	if (rc > 0) {
		char *state = query_get_text(&q);
		*ret_state = state_of(state);
		*ret_cancel = query_get_int(&q) != 0;
		free(state);
	}
	query_fini(&q);
	return rc < 0 ? rc : rc == 0 ? not_found(id, e) : 0;
}

static int write_state(struct db *db, const char *id, enum job_state to, const struct outcome *o, struct err *e)
{
	struct query q;
	query_init(&q, db, "job_set_state");
	query_put_text(&q, id);
	query_put_text(&q, job_state_name(to));
	query_put_int(&q, clock_wall_ms());
	query_put_text(&q, o->result);
	query_put_text(&q, o->error_code);
	query_put_text(&q, o->error_text);
	return query_run(&q, NULL, e);
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
		     ? err_set(e, ERR_CANCELLED, "job %s was cancelled, it cannot become %s", id, job_state_name(to))
		     : err_set(e, ERR_CONFLICT, "job %s is %s, it cannot become %s", id, job_state_name(from),
		               job_state_name(to));
	if (rc == 0)
		rc = write_state(db, id, to, o, e);
	if (rc == 0)
		rc = event_append(db, id, job_state_name(to), 0, 0, o->error_text, NULL, e);
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

static int set_cancel(struct db *db, const char *id, struct err *e)
{
	struct query q;
	query_init(&q, db, "job_set_cancel");
	query_put_text(&q, id);
	int rc = query_run(&q, NULL, e);
	return rc < 0 ? rc : event_append(db, id, "cancel-requested", 0, 0, NULL, NULL, e);
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
		rc = err_set(e, ERR_CONFLICT, "job %s has ended (%s), there is nothing to cancel", id,
		             job_state_name(state));
	else if (rc == 0 && state == JOB_RUNNING)
		rc = asked ? 0 : set_cancel(db, id, e);
	else if (rc == 0)
		rc = move(db, id, JOB_CANCELLED, &early, e);
	return store_end(db, rc, e);
}

int job_ended(struct db *db, int64_t *ret_count, struct err *e)
{
	struct query q;
	query_init(&q, db, "job_ended");
	int rc = query_run(&q, ret_count, e);
	return rc < 0 ? rc : 0;
}

int job_cancelled(struct db *db, const char *id, struct err *e)
{
	enum job_state state = JOB_QUEUED;
	bool asked = false;
	int rc = read_state(db, id, &state, &asked, e);
	return rc < 0 ? rc : asked || state == JOB_CANCELLED;
}

int job_recover(struct db *db, struct job_list *ret_list, struct err *e)
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
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = list_in_state(db, JOB_RUNNING, &running, e);
	for (size_t i = 0; rc == 0 && i < running.count; i++) {
		const struct job *j = &running.at[i];
		rc = move(db, j->id, j->cancel ? JOB_CANCELLED : JOB_INTERRUPTED, j->cancel ? &cancelled : &lost, e);
	}
	job_list_fini(&running);
	rc = store_end(db, rc, e);
	return rc < 0 ? rc : list_in_state(db, JOB_INTERRUPTED, ret_list, e);
}
