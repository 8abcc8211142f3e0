/* event: what a job has to tell, as numbered rows, and the bell that announces them. Core only appends and rings;
 * readers (the MCP side, `peakd run`) watch, and read the rows after the last number that they have.
 * Events survive a restart. Numbers of one job start at 1 and strictly increase, also across threads and processes. */
#ifndef PEAKD_CORE_RECORD_EVENT_H
#define PEAKD_CORE_RECORD_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lock.h"

struct db;
struct store;

struct event {
	int64_t seq;         /* 1, 2, … within its job */
	int64_t created_ms;  /* wall clock */
	const char *kind;    /* "queued", "running", "progress", "line", "done", … */
	double progress;     /* how much is done, in the units of total; 0 when that means nothing */
	double total;        /* how much there is; 0 when not known */
	const char *message; /* for people; never NULL once read */
};

struct event_list {
	struct event *at;
	size_t count;
};

/* Appends one event and rings the bell after the commit. Of `event`, seq and created_ms do not matter, and message may be NULL.
 * Returns 0; *ret_seq (may be NULL) is its number. ERR_NOT_FOUND when there is no such job. */
int event_append(struct db *db, const char *job, const struct event *event, int64_t *ret_seq, struct err *e);
/* The events of a job with a number greater than `after`, oldest first, at most `limit` (0: all). */
int event_since(struct db *db, const char *job, int64_t after, int limit, struct event_list *ret_list, struct err *e);
/* The message of the job's event "trace": 1, 0 when it has none, negative on failure. *ret_text: free(). */
int event_trace(struct db *db, const char *job, char **ret_text, struct err *e);
void event_list_fini(struct event_list *l);

/* For poll loops: a non-blocking eventfd that becomes readable after any job's new event was committed in this process
 * (read 8 bytes, then event_since). Close it with event_unwatch. */
int event_watch(struct store *s, struct err *e);
void event_unwatch(struct store *s, int take_fd);
/* Rings without a new event, when something else about a job has changed that watchers must look at. */
void event_ring(struct store *s);

/* The bell wakes poll loops of this process after a commit. It carries no data: who wakes reads the database. One is part of each
 * store, which rings it; everybody else uses the functions above. */
struct event_bell {
	struct lock lock; /* LOCK_LEAF; guards what follows */
	int *fds;         /* eventfds of the watchers, owned by them */
	size_t fd_count;
};

void event_bell_init(struct event_bell *b);
void event_bell_fini(struct event_bell *b);
void event_bell_ring(struct event_bell *b);

#endif
