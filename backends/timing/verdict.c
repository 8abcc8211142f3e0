/* verdict: see measure.h.
 *
 * A percentile bootstrap (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, ch. 13). Its mean leaves out
 * the outer fifth on either side, so an interrupt or a clock step cannot move it. With few samples the percentile
 * interval is too narrow: its percentiles move outwards by as much as Student's t is wider than the normal
 * distribution. (Hesterberg, What Teachers Should Know about the Bootstrap, 2015, section 4.3, "expanded
 * percentile"). */
#include "backends/timing/measure.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/order.h"

enum { RESAMPLES = 1000 };
#define TRIM 0.2

/* Sorts `values`. */
static double trimmed_mean(double *values, size_t n)
{
	size_t cut = (size_t)((double)n * TRIM);
	double sum = 0;
	qsort(values, n, sizeof *values, order_doubles);
	for (size_t i = cut; i < n - cut; i++)
		sum += values[i];
	return sum / (double)(n - 2 * cut);
}

/* xorshift64* (Vigna 2016). */
static uint64_t next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

/* The normal distribution's quantile by bisection of erfc: called twice a verdict. */
static double normal_quantile(double p)
{
	double low = -10, high = 10;
	for (int i = 0; i < 80; i++) {
		double x = (low + high) / 2;
		*(0.5 * erfc(-x / sqrt(2)) < p ? &low : &high) = x;
	}
	return (low + high) / 2;
}

/* Student's t by Cornish and Fisher's expansion (Abramowitz and Stegun 26.7.5): within 1 % from 5 degrees of freedom on
 * at 0.975. */
static double student_quantile(double p, double df)
{
	double z = normal_quantile(p), z2 = z * z;
	double g1 = (z2 + 1) * z / 4, g2 = ((5 * z2 + 16) * z2 + 3) * z / 96;
	double g3 = (((3 * z2 + 19) * z2 + 17) * z2 - 15) * z / 384;
	return z + g1 / df + g2 / (df * df) + g3 / (df * df * df);
}

static double at_share(const double *sorted, size_t n, double share)
{
	double place = share * (double)(n - 1), below = floor(place);
	size_t i = (size_t)below;
	return i + 1 < n ? sorted[i] + (place - below) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

struct verdict_interval verdict_interval(const double *logs, size_t n, double confidence)
{
	double *draw = mem_copy(logs, n * sizeof *draw), means[RESAMPLES];
	double middle = trimmed_mean(draw, n), df = (double)(n - 1);
	/* The share (0 … 0.5) of the resamples beyond either end of the interval. */
	double tail = 0.5 * erfc(sqrt((double)n / df) * student_quantile(0.5 + confidence / 2, df) / sqrt(2));
	uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
	for (size_t r = 0; r < RESAMPLES; r++) {
		for (size_t i = 0; i < n; i++)
			draw[i] = logs[(next(&state) >> 32) * n >> 32];
		means[r] = trimmed_mean(draw, n);
	}
	qsort(means, RESAMPLES, sizeof *means, order_doubles);
	struct verdict_interval v = { .ratio = exp(middle),
				      .low = exp(at_share(means, RESAMPLES, tail)),
				      .high = exp(at_share(means, RESAMPLES, 1 - tail)) };
	free(draw);
	return v;
}

double verdict_margin(double margin, uint64_t floor_ns, double ns)
{
	return ns > 0 ? fmax(margin, (double)floor_ns / ns) : margin;
}

enum wire_verdict verdict_of(const struct verdict_interval *v, double margin)
{
	double over = 1 + margin;
	if (v->low > 1 / over && v->high < over)
		return WIRE_SAME;
	if (v->high < 1 / over)
		return WIRE_FASTER;
	return v->low > over ? WIRE_SLOWER : WIRE_UNCLEAR;
}
