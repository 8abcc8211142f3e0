/* comparison: two variants timed alternately: the verdict on B relative to A, with its interval and all samples. B may be the
 * vendor's library. Written by core/measure; core/record/speed reads it for everybody who shows a ratio. */
#ifndef PEAKD_CORE_RECORD_COMPARISON_H
#define PEAKD_CORE_RECORD_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db;

/* A row of the table; more than 20 fields, because that has as many columns. */
struct comparison {
	int64_t id;                      /* set by comparison_add */
	int64_t a, b;                    /* checkpoints; b 0: the library */
	const char *library;             /* its name when b is 0; else NULL */
	const char *device;              /* the device's UUID */
	const char *driver;              /* with versions of driver and libraries; NULL */
	const char *sizes;               /* canonical text of input sizes and scalars */
	const char *a_params, *b_params; /* canonical text of all execution parameters; b_params NULL for the library */
	const char *verdict;             /* "faster", "slower", "same", "unclear" */
	double a_ns, b_ns;               /* medians */
	double ratio, low, high;         /* time of B / time of A, and its interval */
	double confidence, margin;
	const double *samples; /* nanoseconds: A and B in turn, 2 · pairs of them */
	size_t pairs;          /* 0 when read */
	size_t sample_count;   /* of `samples`; set by comparison_add where `pairs` is not 0 */
	size_t discarded;      /* disturbed pairs that were thrown away */
	bool disturbed;        /* not to be quoted */
	bool cold;
	bool a_start;                       /* a_params are those that A's tuning starts with */
	const char *conditions;             /* of the device beside each pair; NULL */
	const char *load;                   /* what others did meanwhile on a CPU that is the device; NULL: nothing, or not known */
	int64_t a_validation, b_validation; /* evidence; 0 none */
	const char *job;                    /* NULL */
	int64_t created_ms;                 /* set by comparison_add when 0 */
};

/* Adds one row and sets c->id; texts and samples stay the caller's. */
int comparison_add(struct db *db, struct comparison *c, struct err *e);
/* The newest undisturbed comparison of these parameters of a checkpoint with the library. ERR_NOT_FOUND. comparison_fini it. */
int comparison_library(struct db *db, int64_t checkpoint, const char *device, const char *params, bool cold,
		       struct comparison *ret_comparison, struct err *e);
/* Which pair is wanted. All borrowed. */
struct comparison_query {
	int64_t a, b;
	const char *device, *sizes;
	const char *a_params, *b_params; /* a_params NULL: any */
	bool a_start;                    /* only with A's starting parameters */
	bool cold;
};
/* The newest comparison that may be quoted now, with A's and B's figures as the query names them, whichever way it was timed.
 * -ERR_NOT_FOUND. comparison_fini it. */
int comparison_pair(struct db *db, const struct comparison_query *q, struct comparison *ret_comparison, struct err *e);
/* Of what was read. */
void comparison_fini(struct comparison *c);

/* --- by energy: beside the comparison of times; written by core/measure/energy --- */

struct weighing {
	int64_t comparison;        /* its row */
	char *objective;           /* "energy", or "edp": energy x time */
	char *verdict;             /* "less", "more", or "unclear": the interval includes 1 */
	double ratio, low, high;   /* B's joules (edp: joule-seconds) / A's, and the 95 % interval */
	double a_joules, b_joules; /* of one execution, medians */
	double time_ratio;         /* B's time / A's while they were weighed, median */
	bool matched;              /* that, and the ratio of the timed pairs, lie within 1 % of 1 */
	double window_s;           /* of continuous execution, each, at least */
	double *samples;           /* joules of one execution: A and B in turn, whichever was weighed first */
	size_t sample_count;
	int64_t created_ms; /* set by comparison_weighing_add when 0 */
};

/* Adds one row; texts and samples stay the caller's. */
int comparison_weighing_add(struct db *db, struct weighing *w, struct err *e);
/* The one beside a comparison: 1, 0 when there is none. comparison_weighing_fini it. */
int comparison_weighing(struct db *db, int64_t comparison, struct weighing *ret_weighing, struct err *e);
void comparison_weighing_fini(struct weighing *w);

#endif
