/* tuner: one tune while it runs: the state that tune.c (the search), tune_record.c (rows and values), tune_resume.c (after an
 * interruption), tune_finalists.c and tune_pairwise.c (the end) share, and what each does for the others. */
#ifndef PEAKD_CORE_TUNE_TUNER_H
#define PEAKD_CORE_TUNE_TUNER_H

#include "core/judge/check.h"
#include "core/tune/objective.h"
#include "core/tune/tune.h"
#include "core/tune/tune_lanes.h"

enum { TUNE_POISON = 0xFF, TUNE_FINALISTS = 16 };

/* What rows say whose figures are never quoted; tune_resume.c reads them. */
#define TUNE_SEARCHED "search"
#define TUNE_GIVEN_UP "search, given up early"
#define TUNE_AGAIN "timed again, not validated"

/* One of the fastest while the tune runs. */
struct finalist {
	struct params *params;      /* at the first size */
	struct variant variant;     /* empty when it was taken over from an interrupted run: built when it is needed */
	bool out;                   /* it could not be built then: recorded */
	double value;               /* of the objective, as the search saw it; later as tune_finalists.c timed it again */
	double median_ns;           /* likewise, at the first size */
	double again_ns;            /* timed again, in another way than the search does (caches); 0: not */
	uint64_t seeds[TUNE_SIZES]; /* secret, of the values at each size when it is timed again */
};

/* Seeds of values that no kernel can know. */
struct tuner_secrets {
	uint64_t search;     /* of what the search executes */
	uint64_t validation; /* of what finalists are validated with */
	uint64_t timing[2];  /* of further values that quoted executions are timed with */
	uint64_t library[2]; /* of the winner's values before it is compared with the library, and of the library's */
};

struct tuner {
	const struct eval *ev;
	const struct tune_request *q;
	struct tune_request left;      /* what q points to when its first device was lost: the same for the first of the others */
	struct reference_source judge; /* of q's first device */
	struct evidence to;            /* likewise */
	struct pool_worker *device;    /* leased; NULL while validation leases it */
	struct tune_result result;
	struct finalist finalists[TUNE_FINALISTS]; /* fastest first */
	size_t finalist_count;
	struct objective *objective;
	struct tunespace *spaces[TUNE_SIZES]; /* of each size; the first is searched */
	size_t size_count;
	double reference[TUNE_SIZES];  /* the objective of the first configuration that was timed at all sizes; 0: none yet */
	double fastest_ns[TUNE_SIZES]; /* of the best configuration so far; INFINITY: none */
	double floor_ns[TUNE_SIZES];   /* faster than this is impossible at each size; 0 unknown */
	size_t planned;                /* configurations */
	struct tuner_secrets secrets;
	int64_t started;   /* monotonic */
	int64_t waited_ns; /* of the time since: for the device */
};

/* --- tune.c --- */

/* Leases the device into u->device, which is NULL. The time that a tune takes is counted without this wait. */
int tune_take_device(struct tuner *u, struct err *e);

/* --- tune_record.c --- */

/* The status of a configuration that ended with this code. */
enum measurement_status tune_status(enum err_code code);
/* One measurement row. Zeroed fields: none. */
struct tune_row {
	const struct facts *facts; /* the device */
	const struct params *params;
	const struct variant *variant; /* NULL: not built */
	enum measurement_status status;
	const struct trial_times *times; /* NULL: not timed */
	int64_t validation;              /* 0: no evidence */
	const char *message;             /* may be NULL */
};
int tune_record(struct tuner *u, const struct tune_row *row, struct err *e);
/* A configuration that is out: counted, kept as an example of what failed, recorded. */
int tune_record_out(struct tuner *u, const struct tune_row *row, struct err *e);
void tune_record_count(struct tune_result *r, enum measurement_status status);
/* Adds an example of what failed, while there is room. */
void tune_record_why(struct tuner *u, const struct params *params, const char *message);
/* A metric's row; nothing for NAN. */
int tune_record_metric(struct tuner *u, const struct facts *facts, const struct params *params, const char *name, double value,
		       const char *unit, struct err *e);
/* What all sizes together make of a configuration: values[] of the objective, size_count of them. The first call fixes the
 * reference of all ratios. */
double tune_over_sizes(struct tuner *u, const double *values);
/* The objective at one size. */
int tune_value(const struct tuner *u, const struct params *params, const struct variant *variant, const struct trial_times *times,
	       double joules, double *ret_value, struct err *e);
/* The value is the median at the one size. */
bool tune_plain(const struct tuner *u);
/* Records what a device found. *ret_value is INFINITY when the configuration is out; negative only when the tune cannot go on.
 * Finalists are kept, which takes them out of t->built. */
int tune_conclude(struct tuner *u, struct tune_tried *t, double *ret_value, struct err *e);
/* Keeps a configuration when it is among the best so far: takes params and variant, and leaves them empty. */
void tune_offer_finalist(struct tuner *u, struct params **params, struct variant *variant, double value, double median_ns);

/* --- tune_resume.c --- */

/* Continues an interrupted run of the same job and settings (with q->resume: of any job): then u->result.run is its number, the
 * search knows what it had measured, and results and finalists are as they were. A run that had ended is the answer:
 * u->result.known. 0 also when there is none. */
int tune_resume(struct tuner *u, const char *settings, struct search *search, struct err *e);
/* A finalist's row of that run that needs no second measurement; false when there is none. */
bool tune_resume_top(struct tuner *u, const struct finalist *l, struct tune_top *ret_top);

/* --- tune_finalists.c --- */

/* Validates finalists and times them again until enough of them stand; result.top is theirs, fastest first. */
int tune_finalists_finish(struct tuner *u, struct err *e);

/* --- tune_pairwise.c --- */

/* Finalists that stand within a few percent of the first are timed against it in alternating pairs, and have the pairs' figures
 * from then on, in result.top (in no order) and in the record. One that turns out wrong is removed from it. Time at one size only.
 */
int tune_pairwise(struct tuner *u, struct err *e);
/* For a context that names a library: times the winner against it and fills result.library, which also tells why there is no
 * figure. */
int tune_pairwise_library(struct tuner *u, struct err *e);

#endif
