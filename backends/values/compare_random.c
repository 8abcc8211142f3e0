/* compare_random: outputs that are random numbers; see compare.h. A candidate may draw other numbers than the reference, but as
 * many must fall below any value. Mean and variance must agree, neighbours must be as unrelated, and no stretch may occur twice.
 * Each test is two-sided and errs once in 10^9 when both samples have one distribution. */
#include "backends/values/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/values/compare_related.h"
#include "backends/values/stream.h"
#include "base/mem.h"
#include "base/order.h"

enum {
	BLOCK = 1024,
	LEAST = 256,              /* elements that a test needs */
	THRESHOLDS = 1024,        /* where the distribution functions are compared */
	ROUNDINGS = 8,            /* by which a number may differ from the reference's */
	LOOKED_AT_MOST = 1 << 22, /* elements whose order is looked at */
	MANY = 1 << 16,           /* elements that the fourth moment and tails need */
	ONCE_LEAST = 2,           /* columns of rows that may hold each number once, */
	ONCE_MOST = 1 << 12,
	ONCE_ROWS = 30,   /* and rows that do not: all of the candidate's by chance once in 2^30, if either were as likely */
	WINDOW = 1 << 13, /* elements in a row, of one execution, that are looked at more closely */
};
#define Z 6.11           /* quantile of the normal distribution at 1 - 0.5e-9 */
#define KS 3.27          /* quantile of Kolmogorov's: sqrt(-ln(0.5e-9) / 2) */
#define Z_RELATED 9.0    /* for correlations, whose spread follows from independence only roughly */
#define CHANCE_LOG2 30.0 /* two stretches that are as long as those compared are equal by chance once in 2^30 outputs */

/* --- both samples in doubles -------------------------------------------------------------------------------------- */

struct sample {
	enum dtype type;
	const uint8_t *bytes;
	uint64_t n;
	double mean, variance, fourth, eighth; /* central moments */
	double furthest;                       /* from the mean */
	uint64_t odd;                          /* elements that are not finite */
	uint64_t first_odd;
};

static double element(const struct sample *s, uint64_t i)
{
	return dtype_load(s->type, s->bytes + i * dtype_size(s->type));
}

static void measure(struct sample *s)
{
	double x[BLOCK], sum = 0, second = 0, fourth = 0, eighth = 0;
	s->first_odd = s->n;
	for (int pass = 0; pass < 2; pass++) {
		for (uint64_t at = 0; at < s->n; at += BLOCK) {
			size_t some = s->n - at < BLOCK ? (size_t)(s->n - at) : BLOCK;
			dtype_load_all(s->type, s->bytes + at * dtype_size(s->type), x, some);
			for (size_t i = 0; i < some; i++) {
				double d = x[i] - s->mean;
				if (!isfinite(d)) {
					s->odd += pass == 0;
					s->first_odd = at + i < s->first_odd ? at + i : s->first_odd;
					continue;
				}
				sum += d;
				second += d * d;
				s->furthest = fmax(s->furthest, fabs(d));
				fourth += d * d * d * d;
				eighth += d * d * d * d * d * d * d * d;
			}
		}
		double finite = (double)(s->n - s->odd);
		if (finite == 0)
			return;
		if (pass == 0) {
			s->mean = sum / finite;
			sum = second = fourth = eighth = s->furthest = 0;
		} else {
			s->variance = second / finite;
			s->fourth = fourth / finite;
			s->eighth = eighth / finite;
		}
	}
}

/* --- distribution functions --------------------------------------------------------------------------------------- */

/* ret_shares[k]: the share of elements that are at most thresholds[k]. */
static void distribution(const struct sample *s, const double *thresholds, size_t count, double *ret_shares)
{
	uint64_t *below = MEM_NEW_N(uint64_t, count + 1), sum = 0; /* between two thresholds */
	double x[BLOCK];
	for (uint64_t at = 0; at < s->n; at += BLOCK) {
		size_t some = s->n - at < BLOCK ? (size_t)(s->n - at) : BLOCK;
		dtype_load_all(s->type, s->bytes + at * dtype_size(s->type), x, some);
		for (size_t i = 0; i < some; i++) {
			size_t low = 0; /* the first threshold that is not below x; halves without branches */
			for (size_t left = count; left > 0;) {
				size_t half = left / 2;
				bool below_x = thresholds[low + half] < x[i];
				low = below_x ? low + half + 1 : low;
				left = below_x ? left - half - 1 : half;
			}
			below[low]++;
		}
	}
	for (size_t k = 0; k < count; k++) {
		sum += below[k];
		ret_shares[k] = (double)sum / (double)s->n;
	}
	free(below);
}

/* The largest distance of the two distribution functions at values of the reference, or a few roundoffs above them, since a number
 * that many elements have may be rounded otherwise; and where it is. */
static double kolmogorov(const struct sample *got, const struct sample *want, double *ret_at, double *ret_got, double *ret_want)
{
	size_t count = want->n < THRESHOLDS ? (size_t)want->n : THRESHOLDS;
	double *thresholds = MEM_NEW_N(double, count), *g = MEM_NEW_N(double, count), *w = MEM_NEW_N(double, count), most = -1;
	double slack = dtype_is_float(got->type) ? ROUNDINGS * dtype_roundoff(got->type) : 0;
	for (size_t k = 0; k < count; k++) {
		double x = element(want, k * (want->n / count));
		thresholds[k] = x + slack * fabs(x);
	}
	qsort(thresholds, count, sizeof *thresholds, order_doubles);
	distribution(got, thresholds, count, g);
	distribution(want, thresholds, count, w);
	for (size_t k = 0; k < count; k++)
		if (fabs(g[k] - w[k]) > most) {
			most = fabs(g[k] - w[k]);
			*ret_at = thresholds[k];
			*ret_got = g[k];
			*ret_want = w[k];
		}
	free(thresholds);
	free(g);
	free(w);
	return most;
}

/* --- order -------------------------------------------------------------------------------------------------------- */

/* Elements that correlations and repetitions are computed from. */
static uint64_t looked_at(const struct sample *s, uint64_t less)
{
	return (s->n - less) < LOOKED_AT_MOST ? s->n - less : LOOKED_AT_MOST;
}

#define MIRROR UINT64_MAX /* in place of a lag */

static uint64_t pairs_of(const struct sample *s, uint64_t lag)
{
	return looked_at(s, lag == MIRROR ? s->n / 2 : lag);
}

static double from_mean(const struct sample *s, uint64_t i)
{
	double d = element(s, i) - s->mean;
	return isfinite(d) ? d : 0;
}

/* Correlation of elements that are `lag` apart, or of each with its mirror image. */
static double related(const struct sample *s, uint64_t lag)
{
	uint64_t n = pairs_of(s, lag);
	double sum = 0;
	for (uint64_t i = 0; i < n; i++)
		sum += from_mean(s, i) * from_mean(s, lag == MIRROR ? s->n - 1 - i : i + lag);
	return s->variance > 0 ? sum / (double)n / s->variance : 1;
}

/* Hashes of all stretches of `length` elements, sorted; they roll. free(). */
static uint64_t *stretches(const struct sample *s, uint64_t length, uint64_t *ret_count)
{
	uint64_t most = looked_at(s, length - 1), hash = 0, power = 1;
	uint64_t *hashes = MEM_NEW_N(uint64_t, most), base = UINT64_C(0x9e3779b97f4a7c15) | 1, bits;
	for (uint64_t i = 0; i < most + length - 1; i++) {
		double x = element(s, i);
		memcpy(&bits, &x, sizeof bits);
		hash = hash * base + stream_mix(bits + 1);
		if (i < length)
			power *= base;
		if (i >= length) {
			x = element(s, i - length);
			memcpy(&bits, &x, sizeof bits);
			hash -= power * stream_mix(bits + 1);
		}
		if (i + 1 >= length)
			hashes[i + 1 - length] = hash;
	}
	order_many(hashes, most);
	*ret_count = most;
	return hashes;
}

/* Of the stretches of `length` elements, how many equal another one. */
static uint64_t repetitions(const struct sample *s, uint64_t length)
{
	uint64_t most, equal = 0, *hashes = stretches(s, length, &most);
	for (uint64_t i = 1; i < most; i++)
		equal += hashes[i] == hashes[i - 1];
	free(hashes);
	return equal;
}

/* How many of them equal one of the other sample. */
static uint64_t shared(const struct sample *s, const struct sample *other, uint64_t length)
{
	uint64_t n, m, equal = 0, *a = stretches(s, length, &n), *b = stretches(other, length, &m);
	for (uint64_t i = 0, k = 0; i < n; i++) {
		while (k < m && b[k] < a[i])
			k++;
		equal += k < m && b[k] == a[i];
	}
	free(a);
	free(b);
	return equal;
}

/* So long that two stretches of the reference's kind are not equal by chance; 0 where the sample is too short for that. */
static uint64_t stretch(const struct sample *want)
{
	uint64_t equal = 0, pairs = looked_at(want, 1);
	for (uint64_t i = 0; i < pairs; i++)
		equal += element(want, i) == element(want, i + 1);
	double chance = fmax((double)equal / (double)pairs, 0x1p-20);
	if (equal == pairs)
		return 0;
	double length = ceil((2 * log2((double)want->n) + CHANCE_LOG2) / -log2(chance));
	return length * 4 <= (double)want->n ? (uint64_t)length : 0;
}

/* --- verdict ------------------------------------------------------------------------------------------------------ */

/* Each check says what it finds, and leaves an empty text where it finds nothing. */

static void check_moments(const struct sample *g, const struct sample *w, char *finding)
{
	double n = (double)w->n, rare = 2 * Z * Z * w->furthest / (3 * n); /* as in compare_related_limit */
	double mean_off = Z * sqrt(2 * w->variance / n) + rare;
	double spread = sqrt(2 * fmax(w->fourth - w->variance * w->variance, 0) / n);
	double variance_off = Z * spread + 2 * Z * Z * w->variance / n;
	double fourth_off = Z * sqrt(2 * fmax(w->eighth - w->fourth * w->fourth, 0) / n) + 2 * Z * Z * w->fourth / n;
	if (!(fabs(g->mean - w->mean) <= mean_off))
		snprintf(finding, WIRE_FINDING, "the mean is %.6g, the reference's %.6g, and chance explains %.2g", g->mean,
			 w->mean, mean_off);
	else if (!(fabs(g->variance - w->variance) <= variance_off))
		snprintf(finding, WIRE_FINDING, "the variance is %.6g, the reference's %.6g, and chance explains %.2g", g->variance,
			 w->variance, variance_off);
	else if (n >= MANY && !(fabs(g->fourth - w->fourth) <= fourth_off))
		snprintf(finding, WIRE_FINDING, "the fourth central moment is %.6g, the reference's %.6g, and chance explains %.2g",
			 g->fourth, w->fourth, fourth_off);
}

/* Above and below the value that only so many elements of the reference pass, about as many must lie: a Poisson test on roots. */
static void check_tails(const struct sample *g, const struct sample *w, char *finding)
{
	static const uint64_t numbers[] = { 24, 64, 256 };
	if (w->n < MANY || w->n > LOOKED_AT_MOST / 4)
		return;
	double *x = MEM_NEW_N(double, w->n);
	dtype_load_all(w->type, w->bytes, x, w->n);
	order_many_doubles(x, w->n);
	for (unsigned i = 0; i < 2 * MEM_COUNT(numbers) && *finding == '\0'; i++) {
		double sign = i & 1 ? -1 : 1, at = sign > 0 ? x[w->n - 1 - numbers[i / 2]] : x[numbers[i / 2]];
		uint64_t got = 0, want = 0;
		for (uint64_t k = 0; k < w->n; k++) {
			got += sign * element(g, k) > sign * at;
			want += sign * x[k] > sign * at;
		}
		if (fabs(sqrt((double)got) - sqrt((double)want)) * M_SQRT2 > Z)
			snprintf(finding, WIRE_FINDING, "%" PRIu64 " elements are %s %.6g, of the reference's %" PRIu64, got,
				 sign > 0 ? "above" : "below", at, want);
	}
	free(x);
}

/* several: numbers of several executions have no mirror image. */
static void check_neighbours(const struct plan_buffer *b, const struct sample *g, const struct sample *w, bool several,
			     char *finding)
{
	const uint64_t lags[] = { 1, 2, 3, 4, 8, 16, 32, 64, (uint64_t)b->dims[b->rank - 1], w->n / 4, w->n / 2, MIRROR };
	for (size_t k = 0; k < MEM_COUNT(lags) - several && *finding == '\0'; k++) {
		uint64_t lag = lags[k];
		if (lag != MIRROR && lag > w->n / 2)
			continue;
		double got = related(g, lag), want = related(w, lag);
		double limit = compare_related_limit(Z_RELATED, pairs_of(w, lag), w->furthest * w->furthest / w->variance);
		if (fabs(got - want) <= limit)
			continue;
		if (lag == MIRROR)
			snprintf(finding, WIRE_FINDING,
				 "elements and their mirror images have correlation %.3g, the reference's %.3g", got, want);
		else
			snprintf(finding, WIRE_FINDING, "elements %" PRIu64 " apart have correlation %.3g, the reference's %.3g",
				 lag, got, want);
	}
}

/* How many elements have the magnitude of another one. */
static uint64_t twins(const struct sample *s)
{
	uint64_t n = looked_at(s, 0), equal = 0;
	double *x = MEM_NEW_N(double, n);
	dtype_load_all(s->type, s->bytes, x, n);
	for (uint64_t i = 0; i < n; i++)
		x[i] = fabs(x[i]);
	order_many_doubles(x, n);
	for (uint64_t i = 0; i < n; i++)
		equal += (i > 0 && x[i] == x[i - 1]) || (i + 1 < n && x[i] == x[i + 1]);
	free(x);
	return equal;
}

/* Generators of fewer bits give more equal numbers by chance, but hardly a quarter of all. */
static void check_twins(const struct sample *g, const struct sample *w, char *finding)
{
	uint64_t got = twins(g), want = twins(w), n = looked_at(w, 0), chance = n * n >> 24; /* of numbers of 24 bits */
	if (got > 2 * want + n / 4 + chance)
		snprintf(finding, WIRE_FINDING,
			 "%" PRIu64 " elements have the magnitude of another one, of the reference's %" PRIu64, got, want);
}

static void check_repetitions(const struct sample *g, const struct sample *w, bool several, char *finding)
{
	uint64_t length = stretch(w);
	if (length == 0)
		return;
	uint64_t got = repetitions(g, length), want = repetitions(w, length);
	/* Streams of two honest executions may overlap by chance; of 256 streams too many do. */
	uint64_t overlap = several ? w->n / 40 : 0;
	if (got > 2 * want + w->n / 1024 + 8 + overlap)
		snprintf(finding, WIRE_FINDING,
			 "the numbers repeat: %" PRIu64 " stretches of %" PRIu64
			 " elements equal another one, in the reference %" PRIu64,
			 got, length, want);
}

/* Elements of an array from `first` on. free(). */
static double *part(const struct sample *s, uint64_t first, uint64_t n)
{
	double *x = MEM_NEW_N(double, n);
	dtype_load_all(s->type, s->bytes + first * dtype_size(s->type), x, n);
	return x;
}

/* A number that many elements have, where hardly any of the reference's is near it: a Poisson test on roots, as for tails. */
static void check_frequent(const struct sample *g, const struct sample *w, char *finding)
{
	uint64_t n = looked_at(g, 0), below = 0, above = 0;
	double *x = part(g, 0, n), *y = part(w, 0, n);
	double slack = dtype_is_float(g->type) ? ROUNDINGS * dtype_roundoff(g->type) : 0;
	order_many_doubles(x, n);
	order_many_doubles(y, n);
	for (uint64_t i = 0, count; i < n && *finding == '\0'; i += count) {
		for (count = 1; i + count < n && x[i + count] == x[i];)
			count++;
		while (below < n && y[below] < x[i] - slack * fabs(x[i]))
			below++;
		while (above < n && y[above] <= x[i] + slack * fabs(x[i]))
			above++;
		double more = sqrt((double)count) - sqrt((double)(above > below ? above - below : 0));
		if (isfinite(x[i]) && more * M_SQRT2 > Z)
			snprintf(finding, WIRE_FINDING, "%" PRIu64 " elements are %.9g, of the reference's %" PRIu64, count, x[i],
				 above > below ? above - below : 0);
	}
	free(x);
	free(y);
}

/* Rows in which a number comes twice. */
static uint64_t repeating(const struct sample *s, uint64_t rows, uint64_t columns)
{
	uint64_t equal = 0;
	for (uint64_t row = 0; row < rows; row++) {
		double *x = part(s, row * columns, columns);
		bool twice = false;
		order_many_doubles(x, columns);
		for (uint64_t i = 1; i < columns && !twice; i++)
			twice = x[i] == x[i - 1];
		equal += twice;
		free(x);
	}
	return equal;
}

/* Rows of integers that are drawn without replacement. */
static void check_once(const struct plan_buffer *b, const struct sample *g, const struct sample *w, char *finding)
{
	uint64_t columns = (uint64_t)b->dims[b->rank - 1], rows = looked_at(w, 0) / columns;
	if (dtype_is_float(b->type) || columns < ONCE_LEAST || columns > ONCE_MOST)
		return;
	uint64_t got = repeating(g, rows, columns);
	if (got >= ONCE_ROWS && repeating(w, rows, columns) == 0)
		snprintf(finding, WIRE_FINDING, "%" PRIu64 " rows hold a number more than once, of the reference's none", got);
}

/* Elements in a row, from a place on that the reference's numbers decide, and those a row or half of the array further on. */
static void check_dependence(const struct plan_buffer *b, const struct sample *g, const struct sample *w, bool several,
			     char *finding)
{
	uint64_t n = several || w->n < WINDOW ? looked_at(w, 0) : WINDOW, bits;
	memcpy(&bits, &w->mean, sizeof bits);
	uint64_t first = stream_mix(bits) % (w->n - n + 1) & ~UINT64_C(1); /* pairs of neighbours stay pairs */
	double *got = part(g, first, n), *want = part(w, first, n);
	compare_related_within(got, want, n, several, finding);
	free(got);
	free(want);
	const uint64_t lags[] = { w->n / 2, (uint64_t)b->dims[b->rank - 1] };
	for (size_t k = 0; k < MEM_COUNT(lags) && *finding == '\0' && !several; k++) {
		uint64_t lag = lags[k], some = w->n - lag < WINDOW ? w->n - lag : WINDOW;
		if (lag <= RELATED_LAGS || lag > w->n / 2 || some < LEAST || (k > 0 && lag == lags[0]))
			continue;
		char text[WIRE_FINDING] = "";
		first = stream_mix(bits) % (w->n - lag - some + 1);
		double *gs[2] = { part(g, first, some), part(g, first + lag, some) };
		double *ws[2] = { part(w, first, some), part(w, first + lag, some) };
		compare_related_between((const double *const *)gs, (const double *const *)ws, some, text);
		if (*text)
			snprintf(finding, WIRE_FINDING, "elements %" PRIu64 " apart %.180s, unlike the reference's", lag, text);
		for (int i = 0; i < 2; i++) {
			free(gs[i]);
			free(ws[i]);
		}
	}
}

/* Whether far more stretches, or single numbers in any order, occur in both executions than in the reference's. What else the
 * inputs decide may make most of them equal, and then how many are varies. */
static bool shares(const struct sample g[2], const struct sample w[2], uint64_t length)
{
	uint64_t got = shared(&g[1], &g[0], length), want = shared(&w[1], &w[0], length);
	double chance = want ? 4 * (double)length * sqrt((double)w->n) : 0;
	return (double)got > (double)want + (double)w->n / 8 + chance;
}

bool compare_streams(const struct compare_streams *x, char finding[WIRE_FINDING])
{
	struct sample g[2], w[2];
	for (int k = 0; k < 2; k++) {
		g[k] = (struct sample){ .type = x->type, .bytes = x->got[k], .n = x->n };
		w[k] = (struct sample){ .type = x->want_type, .bytes = x->want[k], .n = x->n };
	}
	*finding = '\0';
	uint64_t length = x->n < LEAST ? 0 : stretch(&w[0]);
	if (length == 0)
		return false;
	if (x->equal) {
		snprintf(finding, WIRE_FINDING, "are the same");
		return true;
	}
	bool overlap = shares(g, w, length) || shares(g, w, 1);
	uint64_t n = x->n < WINDOW ? x->n : WINDOW;
	double *gs[2] = { part(&g[0], 0, n), part(&g[1], 0, n) }, *ws[2] = { part(&w[0], 0, n), part(&w[1], 0, n) };
	if (!overlap)
		compare_related_between((const double *const *)gs, (const double *const *)ws, n, finding);
	for (int i = 0; i < 2; i++) {
		free(gs[i]);
		free(ws[i]);
	}
	return overlap;
}

void compare_random(const struct plan_buffer *b, const void *got, const struct compare_wanted *want,
		    struct wire_compared *ret_compared)
{
	uint64_t n = plan_buffer_logical(b);
	struct sample g = { .type = b->type, .bytes = got, .n = n }, w = { .type = want->type, .bytes = want->values, .n = n };
	struct compare_wanted exact = { .type = want->type, .values = want->values, .poison = want->poison };
	struct wire_compared c, figures = { .elements = n, .judged = n, .first_untouched = -1 };
	compare_outputs(b, got, &exact, &c);
	figures.ref_norm = c.ref_norm;
	if (c.mismatched) { /* the reference's own numbers are right in any case */
		measure(&g);
		measure(&w);
		if (g.odd && w.odd == 0)
			snprintf(figures.finding, WIRE_FINDING, "%" PRIu64 " elements are not finite, the first at index %" PRIu64,
				 g.odd, g.first_odd);
		else if (w.n < LEAST || w.variance == 0)
			snprintf(figures.finding, WIRE_FINDING,
				 "the reference has %" PRIu64
				 " elements with variance %.3g, too few to compare distributions, and others here",
				 w.n, w.variance);
		if (*figures.finding == '\0')
			check_moments(&g, &w, figures.finding);
		if (*figures.finding == '\0') {
			double at = 0, share_g = 0, share_w = 0, limit = KS * sqrt(2 / (double)w.n);
			if (kolmogorov(&g, &w, &at, &share_g, &share_w) > limit)
				snprintf(figures.finding, WIRE_FINDING,
					 "%.3g%% of the elements are at most %.6g, of the reference's %.3g%%, and chance explains "
					 "%.2g%%",
					 100 * share_g, at, 100 * share_w, 100 * limit);
		}
		if (*figures.finding == '\0')
			check_tails(&g, &w, figures.finding);
		if (*figures.finding == '\0')
			check_frequent(&g, &w, figures.finding);
		if (*figures.finding == '\0')
			check_repetitions(&g, &w, want->several, figures.finding);
		if (*figures.finding == '\0' && !want->several)
			check_once(b, &g, &w, figures.finding);
		if (*figures.finding == '\0')
			check_neighbours(b, &g, &w, want->several, figures.finding);
		if (*figures.finding == '\0')
			check_dependence(b, &g, &w, want->several, figures.finding);
		if (*figures.finding == '\0' && !want->several)
			check_twins(&g, &w, figures.finding);
	}
	if (*figures.finding) {
		figures.mismatched = n;
		figures.worst_ratio = INFINITY;
		figures.untouched = c.untouched;
		figures.first_untouched = c.first_untouched;
		figures.nan = w.odd ? 0 : g.odd;
	}
	*ret_compared = figures;
}
