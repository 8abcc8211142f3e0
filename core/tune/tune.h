/* tune: which tuning parameters are fastest? Compile lanes and device lanes work at the same time; every configuration that is
 * timed is also checked once. The finalists are validated with fresh seeds and the check: sizes and timed again before anything is
 * quoted. Every measurement is kept. Called for the tune tool and by `peakd run`. */
#ifndef PEAKD_CORE_TUNE_TUNE_H
#define PEAKD_CORE_TUNE_TUNE_H

#include "core/record/measurement.h"
#include "core/workers/eval.h"

struct context;

struct tune_request {
	const struct context *ctx;      /* tuned */
	const struct context *baseline; /* whose outputs are right */
	const struct facts
		*facts; /* devices; must run. Finalists are validated and timed again on the first that is not lost meanwhile */
	size_t device_count;        /* all of one kind; 0: 1 */
	const struct params *size;  /* one assignment of the inputs */
	struct params *const *also; /* further ones: a configuration is judged at all of them together */
	size_t also_count;          /* at most TUNE_SIZES - 1 */
	bool worst;            /* of several sizes the worst ratio to the first configuration counts; else the geometric mean */
	const char *objective; /* objective.h's words; NULL: time */
	size_t budget;         /* configurations to try at most; 0: 128, or any number when there is another budget */
	double seconds;        /* of work at most, waiting for the device not counted; 0: any */
	double device_seconds; /* of checking and timing at most; 0: any */
	const char *strategy;  /* search.h's names; NULL: "auto" */
	uint64_t seed;         /* of the search */
	struct params *const *prefer; /* tried first, projected into the space (a parent's winners); at most half of the budget */
	size_t prefer_count;
	unsigned finalists; /* validated and timed again at the end, at most TUNE_TOP; 0: 3 */
	bool warm;          /* time with warm caches */
	bool resume; /* continues an earlier run of the same settings, whichever job began it; answers from the record where a run
		      * with another budget has a figure that may be quoted */
	double give_up; /* a configuration whose first samples are this many times slower than the best is not timed further;
			 * 0: 1.6 */
};

struct tune_top {
	struct params *params; /* at the first size */
	double value;          /* of the objective, over all sizes; the median for time at one size */
	double median_ns, min_ns, rse;
	size_t samples;
	int64_t registers, shared, spill; /* -1 unknown */
	int64_t validation;               /* evidence row; 0: none, a figure of the search */
};

enum { TUNE_TOP = 8, TUNE_WHY = 4, TUNE_SIZES = 16 };

/* The winner against the vendor's library, timed alternately. */
struct tune_library {
	char *name;              /* NULL: the context names no library */
	double ratio, low, high; /* library time / ours, with its interval; NAN without a figure */
	char *why;               /* why there is none; NULL */
};

/* Flat for its many fields: one table makes its JSON, its columns and the verbs' tables. */
struct tune_result {
	int64_t run;    /* measurement run in the database */
	size_t space;   /* valid configurations of this size */
	bool known;     /* the run had ended before: all of this is from the record, nothing was measured */
	size_t resumed; /* of those tried: taken over from an interrupted run */
	size_t tried, timed, pruned, refused, wrong, broken; /* refused: compile; broken: crash, time-out */
	struct tune_top top[TUNE_TOP];                       /* fastest first; [0] is the winner, validated */
	size_t top_count;
	struct tune_library library;
	char *why[TUNE_WHY]; /* examples of what failed: "BX=32 BY=32: …" */
	size_t why_count;
	double device_s;          /* checking and timing, seconds, of this run of the job */
	double estimate_s;        /* the estimate before it began, seconds */
	int64_t device_ns;        /* device threads of the search: working, */
	int64_t starving_ns;      /* waiting for something compiled, */
	int64_t device_lasted_ns; /* and altogether */
	int64_t elapsed_ns;       /* altogether, without waiting for the device */
};

/* Rows go to `checkpoint`. -ERR_WRONG when nothing valid could be timed (the message says what happened to the configurations);
 * measurements made until then stay recorded. -ERR_CANCELLED sets *ret_result too: the fastest as the search saw them (validation
 * 0). An interrupted run of the same job, checkpoint and settings is resumed, and what it has measured is not measured again; a run
 * that had ended is the answer. Others who want the device get their turn every second or so. */
int tune_run(const struct eval *ev, const struct tune_request *request, struct db *db, int64_t checkpoint, const char *job,
	     struct tune_result *ret_result, struct err *e);
void tune_result_fini(struct tune_result *r);

#endif
