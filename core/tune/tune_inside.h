/* tune_inside: one tune while it runs: what tune.c (the search), tune_conclude.c (one configuration), tune_record.c (rows), tune_resume.c
 * (going on after an interruption), tune_playoff.c (who may be the winner), tune_leaders.c and tune_race.c (the end) share. */
#ifndef PEAKD_CORE_TUNE_TUNE_INSIDE_H
#define PEAKD_CORE_TUNE_TUNE_INSIDE_H

#include "core/tune/objective.h"
#include "core/workers/trial.h"
#include "core/tune/tune.h"
#include "core/tune/tune_try.h"

enum { TUNE_POISON = 0xFF, TUNE_LEADERS = 16 };

/* What rows of figures that nobody quotes say of themselves; tune_resume.c reads them. */
#define TUNE_SEARCHED "search"
#define TUNE_GIVEN_UP "search, given up early"
#define TUNE_AGAIN "timed again, not proven"

/* A leader while the tune runs. */
struct leader {
	struct params *params;  /* at the first size */
	struct variant variant; /* empty when the configuration was taken over from an interrupted run: built when it is needed */
	bool out;               /* it could not be built then: recorded */
	double value;           /* of the objective, as the search saw it, and once the playoff is over as that did */
	double median_ns;       /* just so, at the first size */
	double again_ns;        /* the playoff's time, of another kind than the search's (caches); 0: none */
	uint64_t seeds[TUNE_SIZES]; /* secret, of the values at each size when it is timed again */
};

struct tuner {
	const struct eval *ev;
	const struct tune_request *q;
	struct tune_request left;          /* what q points to when its first device was lost: the same for the first of the others */
	struct db *db;
	int64_t checkpoint;
	const char *job;
	struct pool_worker *device;        /* leased; NULL while validation leases it */
	struct tune_result result;
	struct leader leaders[TUNE_LEADERS]; /* fastest first */
	size_t leader_count;
	struct objective *objective;
	struct tunespace *spaces[TUNE_SIZES]; /* of each size, the first being the one that is searched */
	size_t size_count;
	double reference[TUNE_SIZES];      /* the objective of the first configuration that was timed at all sizes; 0: none yet */
	double fastest_ns[TUNE_SIZES];     /* of the best configuration so far; INFINITY: none */
	double floor_ns[TUNE_SIZES];       /* faster than this is impossible at each size; 0 unknown */
	size_t planned;         /* configurations */
	uint64_t seed;          /* of the values, secret */
	uint64_t proof_seed;    /* of the values that leaders are proved with, secret too */
	uint64_t library_baseline_seeds[2]; /* of the winner's values before it is compared with the library, and of the library's; secret */
	int64_t started;        /* monotonic */
	int64_t waited_ns;      /* of the time since: for the device */
};

/* Leases the device into u->device, which is NULL. Waiting for it is no work: what a tune costs is counted without. */
int tune_take_device(struct tuner *u, struct err *e);
/* The status of a configuration that ended with this code. */
enum measurement_status tune_status(enum err_code code);
/* Writes one measurement row of a device. variant, times and message may be NULL; validation 0: no evidence. */
int tune_record(struct tuner *u, const struct facts *facts, const struct params *params, const struct variant *variant,
                enum measurement_status status, const struct trial_times *times, int64_t validation, const char *message, struct err *e);
/* A configuration that is out: counted, kept as an example of what failed, recorded. */
int tune_record_out(struct tuner *u, const struct facts *facts, const struct params *params, const struct variant *variant,
                    enum measurement_status status, const char *message, struct err *e);
void tune_record_count(struct tune_result *r, enum measurement_status status);
/* Adds an example of what failed, while there is room. */
void tune_record_why(struct tuner *u, const struct params *params, const char *message);

/* What all sizes together make of a configuration: values[] of the objective, size_count of them. The first call fixes the reference
 * that ratios are taken to. */
double tune_over_sizes(struct tuner *u, const double *values);
/* Records what a device said. *ret_value is INFINITY when the configuration is out; negative only when the tune cannot go on. Leaders are
 * kept, which takes them out of t->built. */
int tune_conclude(struct tuner *u, struct tune_tried *t, double *ret_value, struct err *e);
/* The value is the median at the one size. */
bool tune_plain(const struct tuner *u);
/* A metric's row; nothing for NAN. */
int tune_record_metric(struct tuner *u, const struct facts *facts, const struct params *params, const char *name, double value,
                       const char *unit, struct err *e);
/* The objective at one size. */
int tune_value(const struct tuner *u, const struct params *params, const struct variant *variant, const struct trial_times *times,
               double joules, double *ret_value, struct err *e);
/* Keeps a configuration when it is among the best so far: takes params and variant, and leaves them empty. */
void tune_offer_leader(struct tuner *u, struct params **params, struct variant *variant, double value, double median_ns);

/* Goes on with an interrupted run of the same job and settings (with q->resume: of any job): u->result.run is its number then, the search
 * knows what it had measured, and results and leaders are as they were. One that had ended is the answer: u->result.known. 0 also when
 * there is none. */
int tune_resume(struct tuner *u, const char *settings, struct search *search, struct err *e);
/* A leader's row of that run that needs no second measurement; false when there is none. */
bool tune_resume_top(struct tuner *u, const struct leader *l, struct tune_top *ret_top);

/* Where more than `wanted` leaders stand so close together that the search's few samples cannot have told them apart: times all of these as a
 * quoted figure is timed, and puts them in that order. Time at one size only. */
int tune_playoff(struct tuner *u, size_t wanted, struct err *e);

/* Builds a leader that is not built yet. What cannot be built any more is recorded, and `out`; negative only when the tune cannot go on. */
int tune_leader_build(struct tuner *u, struct leader *l, struct err *e);
/* Proves and re-times leaders until enough of them stand; result.top is theirs, fastest first. */
int tune_leaders_finish(struct tuner *u, struct err *e);
/* Leaders that stand within a few percent of the first are timed against it in alternating pairs, and have the pairs' figures from then on, in
 * result.top (in no order) and in the record. One that turns out wrong is taken out of it. Time at one size only. */
int tune_race(struct tuner *u, struct err *e);
/* Then, for a context that names a library: the winner against it; fills result.library. What goes wrong there is told in it and
 * fails nothing. */
int tune_library_finish(struct tuner *u, struct err *e);

#endif
