/* job: work that outlives the call that asked for it. A row says what was asked, how far it is and what came of it;
 * its events (event.h) tell the rest. The engine creates, starts and ends jobs; tools and verbs list, wait for and
 * cancel them. */
#ifndef PEAKD_CORE_RECORD_JOB_H
#define PEAKD_CORE_RECORD_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db;

/* The moves that are allowed are the table in job.c: queued → running → done/failed/cancelled, running → interrupted
 * when a new daemon finds it, interrupted → queued to resume, queued and interrupted → cancelled. */
enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_DONE, JOB_FAILED, JOB_CANCELLED, JOB_INTERRUPTED };
enum { JOB_STATES = JOB_INTERRUPTED + 1 };

struct job {
	const char *id;      /* token, "j…" */
	const char *kind;    /* "tune", "transform", … */
	const char *request; /* what was asked, text of the kind's own making */
	enum job_state state;
	bool cancel;            /* somebody asked it to end */
	int64_t created_ms;     /* wall clock, milliseconds since 1970 */
	int64_t started_ms;     /* last start; 0 before */
	int64_t ended_ms;       /* 0 before */
	int64_t last_event;     /* number of its newest event */
	const char *result;     /* small text of the kind's own making; NULL until done */
	const char *error_code; /* err_code_name's word; NULL unless failed, cancelled or interrupted */
	const char *error_text; /* the message; NULL likewise */
};

struct job_list {
	struct job *at;
	size_t count;
};

/* "queued", "running", … Static storage. */
const char *job_state_name(enum job_state state);
/* True for done, failed and cancelled: the row will not change any more. */
bool job_state_ended(enum job_state state);

/* Writes the row (queued) and its first event, kind "queued", in one transaction. *ret_id is the caller's (free). */
int job_create(struct db *db, const char *kind, const char *request, char **ret_id, struct err *e);
/* A queued row under an id that another database gave (core/jobs/drain). ERR_CONFLICT when there is a job of that id. */
int job_adopt(struct db *db, const char *id, const char *kind, const char *request, struct err *e);
/* Reads one job; job_fini it. ERR_NOT_FOUND. */
int job_get(struct db *db, const char *id, struct job *ret_job, struct err *e);
/* Newest first; only those of `kind` unless NULL, only unended ones when `live`; at most `limit` rows (0: all). */
int job_list(struct db *db, const char *kind, bool live, int limit, struct job_list *ret_list, struct err *e);
/* The newest `limit` rows, or those that are older than the job `cursor` (NULL: none). */
int job_list_after(struct db *db, const char *cursor, int limit, struct job_list *ret_list, struct err *e);
void job_fini(struct job *j);
void job_list_fini(struct job_list *l);

struct job_counts {
	int64_t running, queued, interrupted, failed;
};
/* How many jobs are in these states; failed: since `since_ms` only. */
int job_count(struct db *db, int64_t since_ms, struct job_counts *ret_counts, struct err *e);

/* How many jobs have ended, in whatever way: a number that changes when one does. */
int job_ended(struct db *db, int64_t *ret_count, struct err *e);

/* Every move appends an event whose kind is the new state's name, in the same transaction, and rings the bell.
 * A move that is not allowed is ERR_CONFLICT and changes nothing. */
/* queued → running. ERR_CANCELLED when cancelling was asked for meanwhile (the job is then cancelled). */
int job_start(struct db *db, const char *id, struct err *e);
/* running → done, with its result (may be NULL). */
int job_done(struct db *db, const char *id, const char *result, struct err *e);
/* running → failed, or → cancelled when why->code is ERR_CANCELLED; `result` may hold what was reached (NULL: none). */
int job_fail(struct db *db, const char *id, const struct err *why, const char *result, struct err *e);
/* interrupted → queued, to be run again. */
int job_resume(struct db *db, const char *id, struct err *e);

/* Asks a job to end: a queued or interrupted one is cancelled at once, a running one gets its flag set and an event
 * "cancel-requested". ERR_CONFLICT when it has ended. */
int job_cancel(struct db *db, const char *id, struct err *e);

/* For the start of a daemon that holds the lock: what is "running" has lost its daemon and becomes interrupted, or
 * cancelled where that was asked for. *ret_count: how many were interrupted. */
int job_recover(struct db *db, size_t *ret_count, struct err *e);

#endif
