/* measure: how long a prepared run takes, which of two is faster, and what one execution costs in joules: with as many
 * samples as that needs, and no more. Called by backends/worker/runs.c for runs that were executed before (drivers
 * finish compiling then).
 *
 * A sample is so many executions that the device's clock resolves them: at least 50 µs. Each has a window of its own and
 * begins from a state in which earlier executions left nothing (backend.h). Before the first sample the run warms up:
 * 2 ms of executions at least, then until two successive stretches agree within 1 %, or until warm_up_ns have passed. A
 * sample that the monitor calls disturbed is thrown away and taken again; when too few others could be taken,
 * all are returned, marked. Results are owned by the caller (wire_…_fini). -ERR_UNSUPPORTED when the device gives no
 * times. */
#ifndef PEAKD_BACKENDS_TIMING_MEASURE_H
#define PEAKD_BACKENDS_TIMING_MEASURE_H

#include "backends/timing/gpu_monitor.h"
#include "backends/wire/wire.h"
#include "backends/worker/backend.h"

/* A run to time, and what its owner does around samples, outside of their windows. All borrowed. */
struct measure_run {
	const struct backend *backend;
	struct backend_run *run;
	int (*before)(void *arg, uint32_t sample, struct err *e); /* NULL: nothing */
	int (*after)(void *arg, uint32_t sample, struct err *e);  /* NULL: nothing */
	void *arg;
};

/* Takes samples until max_samples, until min_samples with a relative standard error of at most rse, or until cap_ns of wall time
 * have passed. Ends also when the first three are all slower than hopeless_ns (the first alone, when the first execution took four
 * times as long). Returns at least one sample. */
int measure_samples(const struct measure_run *r, struct gpu_monitor *monitor, const struct wire_measure *m,
		    struct wire_measured *ret_measured, struct err *e);
/* Each pair is one sample of A and one of B, in alternating order, so that drift meets both; with `unreset` one is HOT and the
 * other UNRESET. Looks at ever larger numbers of pairs, from min_pairs on. Ends when the verdict is clear and the interval as
 * narrow as requested, at max_pairs, or after cap_ns. The second pair has eight times as long: the machine may be busy. With fewer
 * than min_pairs undisturbed pairs the verdict is unclear. */
int measure_pair(const struct measure_run *a, const struct measure_run *b, struct gpu_monitor *monitor, const struct wire_pair *m,
		 struct wire_paired *ret_paired, struct err *e);
/* Executes warm and without pause, for at least min_ns between two steps of the device's energy counter (it moves every 20 to 100
 * ms). Counts executions by their rate. Without a counter nothing is executed, and the note says why. */
int measure_energy(const struct backend *b, struct backend_run *run, struct gpu_monitor *monitor, const struct wire_energy *m,
		   struct wire_energised *ret_energised, struct err *e);

/* --- verdict.c: what paired times tell: the ratio, its interval, and one of four verdicts. Pure arithmetic. */

struct verdict_interval {
	double ratio, low, high;
};

/* The trimmed mean of logarithms of ratios (at least 2), with a bootstrap interval of this confidence (0.5 … 0.9999),
 * as ratios. Deterministic: the same numbers give the same interval. */
struct verdict_interval verdict_interval(const double *logs, size_t n, double confidence);
/* The margin of a comparison of executions that take `ns`: at least floor_ns of that. */
double verdict_margin(double margin, uint64_t floor_ns, double ns);
/* B relative to A: same when the whole interval is within 1/(1+margin) … 1+margin, faster or slower when all of it is
 * beyond, else unclear. */
enum wire_verdict verdict_of(const struct verdict_interval *v, double margin);

#endif
