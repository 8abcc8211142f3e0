/* energy: joules beside times: the energy of one execution, two configurations weighed alternately, and the score of a measurement
 * under an objective. What a device without a counter cannot give is said in words. Called by core/measure/compare, core/tune,
 * core/jobs and core/optimize. */
#ifndef PEAKD_CORE_MEASURE_ENERGY_H
#define PEAKD_CORE_MEASURE_ENERGY_H

#include "core/context/context.h"
#include "core/judge/check.h"
#include "core/record/comparison.h"
#include "core/workers/trial.h"

struct db;

/* 0 where peakd can read an energy counter of such devices (the driver may still lack one), else -ERR_UNSUPPORTED with what to do.
 * `what` needs the joules: "objective edp". */
int energy_need(const struct facts *facts, const char *what, struct err *e);
/* "energy" and "edp" are weighed; NULL, "" and "time" are not. -ERR_INPUT for another word. */
int energy_weighs(const char *objective, bool *ret_weighs, struct err *e);
/* What a search minimizes, of a measured configuration: "time" (or NULL or "") in ns, "energy" in J, "edp" (energy x time) in J s.
 * NAN where it is not known, and for any other objective. */
double energy_score(const char *objective, double time_ns, double joules);
/* One configuration. All borrowed. */
struct energy_subject {
	int64_t checkpoint;
	const struct context *ctx;
	const struct params *params; /* all execution parameters, validated */
	const struct facts *facts;
};
/* Weighs it for half a second and records the metric "energy". That no energy was measured is no failure. */
int energy_record(const struct eval *ev, const struct energy_subject *s, struct db *db, const char *job, struct err *e);

/* The protocol of a comparison: so many alternations (A and B, then B and A, and so on) of windows of continuous warm execution. */
#define ENERGY_WINDOW_NS (2 * CLOCK_S)
#define ENERGY_MATCHED 0.01 /* times that differ by no more are matched */
enum { ENERGY_ALTERNATIONS = 10 };

/* Weighs two trials of one worker alternately, B relative to A; both were prepared and executed. times: B's time / A's of timed
 * pairs. A window that is too short or has no joules is -ERR_UNSUPPORTED. comparison_weighing_fini. */
int energy_pair(struct trial *a, struct trial *b, const char *objective, double times, struct weighing *ret_weighing,
		struct err *e);
/* Ratio, its interval (compare_interval) and the verdict from the natural logarithms of n >= 2 ratios. */
void energy_conclude(const double *logs, size_t n, struct weighing *io_weighing);
/* The row beside a comparison's, and a metric for either side. to->checkpoint is not used. */
int energy_keep(const struct evidence *to, const struct energy_subject *a, const struct energy_subject *b,
		struct weighing *io_weighing, struct err *e);

#endif
