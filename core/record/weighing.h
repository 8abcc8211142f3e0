/* weighing: the energy of two configurations, weighed alternately beside the comparison of their times (comparison.h). Written by
 * core/measure/energy. */
#ifndef PEAKD_CORE_RECORD_WEIGHING_H
#define PEAKD_CORE_RECORD_WEIGHING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db;

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
	int64_t created_ms; /* set by weighing_add when 0 */
};

/* Adds one row; texts and samples stay the caller's. */
int weighing_add(struct db *db, struct weighing *w, struct err *e);
/* The one beside a comparison: 1, 0 when there is none. weighing_fini it. */
int weighing_of(struct db *db, int64_t comparison, struct weighing *ret_weighing, struct err *e);
void weighing_fini(struct weighing *w);

#endif
