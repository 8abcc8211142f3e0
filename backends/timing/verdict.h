/* verdict: what paired times tell: the ratio, its interval, and one of four verdicts. Pure arithmetic; called by
 * measure.c. */
#ifndef PEAKD_BACKENDS_TIMING_VERDICT_H
#define PEAKD_BACKENDS_TIMING_VERDICT_H

#include <stddef.h>
#include <stdint.h>

#include "backends/wire/wire.h"

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
