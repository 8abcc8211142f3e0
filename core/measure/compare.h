/* compare: is B faster than A? Both are built, checked with the same fresh seed, and timed alternately in one worker; the verdict
 * on B is recorded. Called for the compare tool, and at the end of a tune for what it found. */
#ifndef PEAKD_CORE_MEASURE_COMPARE_H
#define PEAKD_CORE_MEASURE_COMPARE_H

#include "core/context/context.h"
#include "core/judge/check.h"
#include "core/measure/energy.h"
#include "core/measure/load.h"

#define COMPARE_MARGIN 0.01 /* "same" is within this factor either way, */
#define COMPARE_FLOOR_NS                                                                                                           \
	200 /* and cold within this: two loads of one kernel differ by so much, by their places in memory (docs/measuring.md) */
#define COMPARE_CONFIDENCE 0.95 /* of the interval */

struct db;

/* One of the two. All borrowed. */
struct compare_side {
	int64_t checkpoint;
	const struct context *ctx, *baseline;
	const struct params *params; /* all execution parameters */
	int64_t evidence;            /* validation row; set by compare_run */
};

struct compare_request {
	struct compare_side a, b;
	const struct facts *facts; /* a device that runs */
	bool warm;
	bool a_start;             /* a's parameters are those that its tuning starts with */
	bool brief;               /* a few hundred milliseconds, for a ratio that is shown beside others */
	const char *objective;    /* "energy" or "edp": both are weighed as well (energy.h); NULL: not */
	uint64_t seed;            /* secret, of the values: requests that share it share references; 0: its own */
	char load[LOAD_TEXT];     /* set by compare_run: what others did meanwhile on a CPU that is the device; "" */
	struct weighing weighing; /* set by compare_run, where it was asked for; comparison_weighing_fini it */
};

/* The geometric mean of n >= 2 ratios and its 95 % interval (Student's t), from their natural logarithms. */
void compare_interval(const double *logs, size_t n, double *ret_ratio, double *ret_low, double *ret_high);

/* ret_paired owned by the caller (trial_paired_fini). -ERR_WRONG when either gives wrong outputs: there is no verdict then.
 * -ERR_UNSUPPORTED when they are to be weighed and the device gives no joules; the row of their times is kept. */
int compare_run(const struct eval *ev, struct compare_request *request, struct db *db, const char *job,
		struct trial_paired *ret_paired, struct err *e);
/* What one row compares; all borrowed. */
struct compare_pair {
	const struct compare_side *a, *b; /* b NULL: the library */
	const char *library;              /* its name */
	const char *load;                 /* as above; NULL or "": nothing */
	bool warm, a_start;
};
/* Adds the row, whose number *ret_row (may be NULL) gets; to->checkpoint is not used. */
int compare_record(const struct evidence *to, const struct compare_pair *pair, const struct trial_paired *p, int64_t *ret_row,
		   struct err *e);

#endif
