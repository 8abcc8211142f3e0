/* retention: what a database forgets, and when. Called by `peakd vacuum`; docs/database.md states the policy for users.
 *
 * Never deleted: checkpoints that a workflow, a move of its head, a tag, a half-done transformation or a live job leads to. With
 * them stay all their ancestors, validations, measurements, comparisons and metrics, and the exchanges with models that made
 * them. */
#ifndef PEAKD_CORE_RECORD_RETENTION_H
#define PEAKD_CORE_RECORD_RETENTION_H

#include <stdint.h>

#include "base/err.h"

struct db;

/* Ages in days; 0: keep all. */
struct retention {
	int events;      /* of jobs that have ended, but for the last event of each */
	int jobs;        /* rows of jobs that have ended, with their results */
	int checkpoints; /* that nothing leads to, with their evidence; and the rows of transformations that have ended */
	int exchanges;   /* with models, about contexts that no checkpoint has any more */
	int imports;     /* measurements that were imported from other tools */
};

#define RETENTION_DEFAULT                                                                                                          \
	{                                                                                                                          \
		.events = 30, .jobs = 365, .checkpoints = 90, .exchanges = 180, .imports = 90                                      \
	}

/* How many rows were deleted. */
struct retention_counts {
	int64_t events, jobs, checkpoints, transformations, exchanges, imports, texts;
};

/* Deletes what is older than the policy allows at `now_ms` (wall clock), and contents that nothing points at. Works beside a
 * daemon: many short transactions of at most 500 rows each, so a failure leaves a part undone and nothing damaged. */
int retention_apply(struct db *db, const struct retention *policy, int64_t now_ms, struct retention_counts *ret_counts,
		    struct err *e);
/* Gives the freed space back to the file system. Rewrites the whole file; nobody else may use the database meanwhile. */
int retention_compact(struct db *db, struct err *e);

#endif
