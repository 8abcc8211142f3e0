/* tuner: one tune while it runs: the state that its files share, and what each does for the others. They are tune.c (the search),
 * tune_lanes.c (its threads), tune_record.c (rows and values), tune_resume.c (after an interruption), tune_finalists.c and
 * tune_pairwise.c (the end). */
#ifndef PEAKD_CORE_TUNE_TUNER_H
#define PEAKD_CORE_TUNE_TUNER_H

#include "core/judge/check.h"
#include "core/search/search.h"
#include "core/search/tunespace.h"
#include "core/tune/objective.h"
#include "core/tune/tune.h"
#include "core/workers/variant.h"

enum { TUNE_FINALISTS = 16 };

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

struct tune_lanes;

struct tuner {
	const struct eval *ev;
	const struct tune_request *q;
	struct tune_request left;       /* what q points to when its first device was lost: the same for the first of the others */
	struct reference_source source; /* of q's first device */
	struct evidence to;             /* likewise */
	struct pool_worker *device;     /* leased; NULL while validation leases it */
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
	int64_t started;     /* monotonic */
	int64_t waited_ns;   /* of the time since: for the device */
	int64_t reported_ns; /* when progress was told last */
};

/* --- tune.c --- */

/* Leases the device into u->device, which is NULL. The time that a tune takes is counted without this wait. */
int tune_take_device(struct tuner *u, struct err *e);

/* --- tune_lanes.c --- */

/* One point that went through a compile lane. */
struct tune_built {
	size_t point;
	struct variant variant; /* empty unless it compiled */
	struct params *params;
	struct err why; /* ERR_NONE when it compiled */
};

/* The result of a configuration at one size. */
struct tune_judged {
	struct params *params;      /* complete; owned after the first size, there the built point's */
	struct variant variant;     /* built here after the first size; else empty */
	const struct variant *used; /* the one that ran: above or the built point's; NULL: none */
	struct err why;             /* of building, preparing, timing or weighing; ERR_NONE: no trouble */
	bool checked;               /* `check` is set */
	struct check check;
	struct trial_times times; /* empty unless it passed and was timed */
	double joules;            /* NAN: not asked for */
};

/* The result of one point on a device. */
struct tune_tried {
	struct tune_built *built;
	const struct facts *facts; /* of the device; borrowed */
	struct tune_judged at[TUNE_SIZES];
	size_t count;      /* sizes that were looked at: it stops at the first that is out or hopeless */
	struct err broken; /* no reference, or cancelled: the tune ends; ERR_NONE */
	int64_t took_ns;   /* on the device */
};

/* Where the device threads spent their time, summed over those that have ended, nanoseconds. */
struct tune_lanes_time {
	int64_t working;  /* preparing, checking, timing */
	int64_t starving; /* nothing was compiled yet */
	int64_t waiting;  /* others had the device; up to now */
	int64_t lasted;   /* from their start to their end */
};

/* The execution parameters at another of the request's sizes; params_free them. */
struct params *tune_try_params(const struct tune_request *q, const struct params *params, size_t size);
void tune_tried_free(struct tune_tried *t);

/* Starts one lane per compile worker and one per device of u->q; both are borrowed until tune_lanes_free, and the search is the
 * lanes'. The first device's lane uses u->device, gives it back and takes it again between turns. So it is NULL at the end when
 * that was cut short. Each point is built once, so the devices are of one kind. */
int tune_lanes_new(struct tuner *u, struct search *search, struct tune_lanes **ret_lanes, struct err *e);
/* The next tried point; NULL when there is nothing more. wait false: NULL also when there is none now. */
struct tune_tried *tune_lanes_take(struct tune_lanes *lanes, bool wait);
/* The result of a point that was taken (INFINITY: it is out), and the best so far at each size, by which hopeless configurations
 * are given up. */
void tune_lanes_tell(struct tune_lanes *lanes, size_t point, double value, const double best_ns[TUNE_SIZES]);
struct tune_lanes_time tune_lanes_time(struct tune_lanes *lanes);
/* Waits for what the lanes do now; no device gets a new point. Returns the devices that were lost ("cuda:1: …; cuda:2: …"), ""
 * none, borrowed. *ret_left: the first that was not, the number of devices when all were. */
const char *tune_lanes_stop(struct tune_lanes *lanes, size_t *ret_left);
/* Stops, too. */
void tune_lanes_free(struct tune_lanes *take_lanes);

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

/* Finalists that stand within a few percent of the first are timed against it in alternating pairs. From then on they have the
 * pairs' figures, in result.top (in no order) and in the record. One that turns out wrong is removed from it. Time at one size
 * only. */
int tune_pairwise(struct tuner *u, struct err *e);
/* For a context that names a library: times the winner against it and fills result.library, which also tells why there is no
 * figure. */
int tune_pairwise_library(struct tuner *u, struct err *e);

#endif
