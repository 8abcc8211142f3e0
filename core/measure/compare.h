/* compare: is B faster than A? Both are built, checked with the same fresh seed, timed alternately in one worker, and the verdict on B
 * is recorded. Called for the compare tool. */
#ifndef PEAKD_CORE_MEASURE_COMPARE_H
#define PEAKD_CORE_MEASURE_COMPARE_H

#include "core/context/context.h"
#include "core/workers/trial.h"

#define COMPARE_MARGIN 0.01     /* "same" is within this factor either way, */
#define COMPARE_FLOOR_NS 200    /* and cold within this: so much do two loads of one kernel differ, by their places in memory (docs/measuring.md) */
#define COMPARE_CONFIDENCE 0.95 /* of the interval */

struct db;

/* One of the two. All borrowed. */
struct compare_side {
	int64_t checkpoint;
	const struct context *ctx, *root;
	const struct params *params; /* all execution parameters */
	int64_t evidence;            /* validation row; set by compare_run */
};

struct compare_request {
	struct compare_side a, b;
	const struct facts *facts;   /* a device that runs */
	bool warm;
};

/* ret_paired owned by the caller (trial_paired_fini). -ERR_WRONG when either gives wrong outputs: there is no verdict then. */
int compare_run(const struct eval *ev, struct compare_request *request, struct db *db, const char *job,
                struct trial_paired *ret_paired, struct err *e);
/* The row. b NULL: the library of that name. */
int compare_record(struct db *db, const struct facts *facts, const struct compare_side *a, const struct compare_side *b,
                   const char *library, const struct trial_paired *p, bool warm, const char *job, struct err *e);

#endif
