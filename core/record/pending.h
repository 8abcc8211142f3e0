/* pending: a transformation that is half done. It holds all that is needed to go on with it after a restart, or by
 * somebody else: an agent that answers steps one by one, or a person who takes over where the model gave up. Written by
 * transform after every step; read by transform_begin/submit and at the daemon's start. */
#ifndef PEAKD_CORE_RECORD_PENDING_H
#define PEAKD_CORE_RECORD_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db;

/* open: being worked on; waiting: for somebody's region; given-up: stopped, may be taken up again. The moves that are
 * allowed are the table in pending.c; accepted and cancelled are final. */
enum pending_state { PENDING_OPEN, PENDING_WAITING, PENDING_ACCEPTED, PENDING_GIVEN_UP, PENDING_CANCELLED };
enum { PENDING_STATES = PENDING_CANCELLED + 1 };

struct pending {
	const char *id;             /* token, "t…" */
	int64_t parent;             /* checkpoint that it started from */
	const char *workflow;       /* whose head is to advance; NULL when none */
	const char *transformation; /* name, or "free text" */
	const char *text;           /* the transformation's whole text, also when it is free text */
	int pass;                   /* from 1: the pass that is next or under way */
	int step;                   /* from 1: the region step within it */
	int attempt;                /* from 1 */
	const char *context;        /* the present context, as text (not necessarily valid) */
	enum pending_state state;
	const char *verdict;        /* the last verdict, for people and models; NULL before the first */
	const char *data;           /* anything else that its owner keeps, text of its own making; NULL */
	const char *job;            /* job id, NULL */
	int64_t checkpoint;         /* the checkpoint that came of it; 0 before it is accepted */
	int64_t created_ms;
	int64_t updated_ms;
};

struct pending_list {
	struct pending *at;
	size_t count;
};

/* "open", "waiting", "accepted", "given-up", "cancelled". Static storage. */
const char *pending_state_name(enum pending_state state);

/* Adds a row in the state open or waiting; id, checkpoint and times of *p are not read. *ret_id is the caller's. */
int pending_add(struct db *db, const struct pending *p, char **ret_id, struct err *e);
/* After pending_get: copy the struct, change the copy, save it, and pending_fini the original.
 * Writes pass, step, attempt, context, state, verdict, data, job and checkpoint of *p to the row p->id. ERR_CONFLICT
 * when the state does not allow the move; nothing is written then. */
int pending_save(struct db *db, const struct pending *p, struct err *e);
/* Reads one; pending_fini it. ERR_NOT_FOUND. */
int pending_get(struct db *db, const char *id, struct pending *ret_pending, struct err *e);
/* Newest first; only those that can be continued (open, waiting, given-up) when `live`. */
int pending_list(struct db *db, bool live, struct pending_list *ret_list, struct err *e);
void pending_fini(struct pending *p);
void pending_list_fini(struct pending_list *l);

#endif
