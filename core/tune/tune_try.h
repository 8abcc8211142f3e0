/* tune_try: one configuration on one device: checked, timed, and weighed if the objective wants it, at every size that the tune is about.
 * Runs on a device's thread and touches no database: tune_conclude.c writes down what came of it. Used by tune_devices.c. */
#ifndef PEAKD_CORE_TUNE_TUNE_TRY_H
#define PEAKD_CORE_TUNE_TUNE_TRY_H

#include "core/judge/check.h"
#include "core/tune/tune.h"
#include "core/tune/tune_lanes.h"

/* What every try of a tune has in common. */
struct tune_try {
	const struct eval *ev;
	const struct tune_request *q;
	const struct tunespace *const *spaces; /* of each size, the searched one first */
	size_t size_count;
	struct trial_timing timing;     /* without hopeless_ns */
	double give_up;                 /* times the best so far */
	bool weigh;                     /* energy is wanted */
	uint64_t seed;
	uint32_t poison;
};

/* What became of a configuration at one size. */
struct tune_judged {
	struct params *params;          /* complete; owned behind the first size, there the built point's */
	struct variant variant;         /* built here behind the first size; else empty */
	const struct variant *used;     /* the one that ran: above or the built point's; NULL: none */
	struct err why;                 /* of building, preparing, timing or weighing; ERR_NONE: no trouble */
	bool checked;                   /* `check` holds something */
	struct check check;
	struct trial_times times;       /* empty unless it passed and was timed */
	double joules;                  /* NAN: not asked for */
};

/* What became of one point on a device. */
struct tune_tried {
	struct tune_built *built;
	const struct facts *facts;      /* of the device; borrowed */
	struct tune_judged at[TUNE_SIZES];
	size_t count;                   /* sizes that were looked at: it stops at the first that is out or hopeless */
	struct err broken;              /* the harness itself, or cancelled: the tune ends; ERR_NONE */
	int64_t took_ns;                /* on the device */
	struct tune_tried *next;
};

/* best_ns: the best configuration's medians at each size, INFINITY where there is none. */
void tune_try_on(const struct tune_try *c, struct pool_worker *worker, const double best_ns[TUNE_SIZES], struct tune_tried *t);
/* It passed and was timed at that size. */
bool tune_try_good(const struct tune_tried *t, size_t size);
/* The execution parameters at another of the request's sizes; params_free them. */
struct params *tune_try_params(const struct tune_request *q, const struct params *params, size_t size);
void tune_tried_free(struct tune_tried *t);

#endif
