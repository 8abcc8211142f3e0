/* pending: rows of half-done transformations: everything that is needed to continue after a restart, or for somebody else
 * to take over. A row belongs to the job that took it last, for as long as that job is queued or running. What the
 * states mean and which moves are allowed is core/transform/transform's business; core/transform/saved alone calls
 * this. */
#ifndef PEAKD_CORE_RECORD_PENDING_H
#define PEAKD_CORE_RECORD_PENDING_H

#include <stdint.h>

#include "base/err.h"

struct db;

struct pending {
	const char *id;             /* token, "t…" */
	int64_t parent;             /* checkpoint that it started from */
	const char *workflow;       /* whose head is to advance; NULL when none */
	const char *transformation; /* its name */
	const char *text;           /* its whole text */
	int pass, step, attempt;    /* from 1: where it stands */
	const char *context;        /* the context now, as text; not necessarily valid */
	const char *state;          /* "waiting", "open", "accepted", "given-up" or "cancelled" */
	const char *verdict;        /* what happened last, for people; NULL */
	const char *data;           /* the owner's own text; NULL */
	const char *job;            /* the job that took it; NULL: a call took it */
	int64_t checkpoint;         /* what it became; 0 before */
	int64_t created_ms, updated_ms;
};

/* Adds a row; id and times of *p are not read. *ret_id is the caller's. */
int pending_add(struct db *db, const struct pending *p, char **ret_id, struct err *e);
/* Reads a row: 1 when it is the job's (NULL: the call's) from now on, 0 when another job works on it or its state is
 * final. pending_fini it. -ERR_NOT_FOUND. */
int pending_take(struct db *db, const char *id, const char *job, struct pending *ret_pending, struct err *e);
/* Writes pass, step, attempt, context, state, verdict, data and checkpoint to the row p->id. -ERR_CONFLICT when the row
 * is not p->job's any more; nothing is written then. */
int pending_save(struct db *db, const struct pending *p, struct err *e);
/* The row that a job took last, id and checkpoint alone: 1, 0 when it took none. */
int pending_of_job(struct db *db, const char *job, struct pending *ret_pending, struct err *e);
void pending_fini(struct pending *p);

#endif
