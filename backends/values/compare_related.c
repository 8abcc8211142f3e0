/* compare_related: see compare_related.h. All tests are of ranks, so that no distribution has tails that upset them: where numbers
 * are equal, one test takes the middle of their ranks, the others draw one of them. What the reference's numbers show as well is no
 * finding. */
#include "backends/values/compare_related.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/values/stream.h"
#include "base/mem.h"
#include "base/order.h"

enum {
	BINS = 32,        /* of each of the ranks that a lattice is looked for in */
	FREQUENCIES = 10, /* and its largest coefficient */
	ALL = 2 * FREQUENCIES + 1,
	HALF = FREQUENCIES + 1,
	ORDERED = 1 << 13, /* pairs that are sorted by their first numbers, */
	TURNED = 1 << 15   /* or by their distances from zero */
};
#define PI 3.14159265358979323846
#define Z 7.5        /* of correlations: with all lags and executions, chance explains one in 10^7 judgements */
#define LATTICE 40.0 /* -ln of how likely a sum of random phases is as long by chance */
#define PLANES                                                                                                                     \
	0.7 /* share of phases that agree: simple hashes of counters, which many use, have a tenth to a half in some places */
#define CENTRED 6.0 /* deviations of a mean that may be zero */
#define COHERENT 10.0

/* --- ranks ---------------------------------------------------------------------------------------------------------- */

struct ranks {
	size_t n;
	double *mid;    /* the middle of equal numbers' ranks; mean 0, variance 1, or 0 where all are equal */
	double *bent;   /* how far the rank is from the median; the same */
	double *drawn;  /* one of equal numbers' ranks, in [0,1) */
	double largest; /* of both, the square that is largest */
};

static void standardise(double *x, size_t n, double *io_largest)
{
	double sum = 0, squares = 0;
	for (size_t i = 0; i < n; i++)
		sum += x[i];
	for (size_t i = 0; i < n; i++) {
		x[i] -= sum / (double)n;
		squares += x[i] * x[i];
	}
	double scale = squares > 1e-9 * (double)n ? sqrt((double)n / squares) : 0;
	for (size_t i = 0; i < n; i++) {
		x[i] *= scale;
		*io_largest = fmax(*io_largest, x[i] * x[i]);
	}
}

/* How many of n sorted numbers are below x; halves without branches. */
static size_t below(const double *sorted, size_t n, double x)
{
	const double *at = sorted;
	for (size_t left = n; left > 1;) {
		size_t half = left / 2;
		at += half * (size_t)(at[half - 1] < x);
		left -= half;
	}
	return (size_t)(at - sorted) + (*at < x);
}

static struct ranks ranks_of(const double *x, size_t n, uint64_t key)
{
	struct ranks r = { n, MEM_NEW_N(double, n), MEM_NEW_N(double, n), MEM_NEW_N(double, n), 0 };
	double *sorted = MEM_NEW_N(double, n);
	for (size_t i = 0; i < n; i++)
		sorted[i] = isnan(x[i]) ? INFINITY : x[i];
	order_many_doubles(sorted, n);
	for (size_t i = 0; i < n; i++) {
		double v = isnan(x[i]) ? INFINITY : x[i];
		size_t first = below(sorted, n, v), end = first + 1;
		if (end < n && sorted[end] == v)
			end = v < INFINITY ? below(sorted, n, nextafter(v, INFINITY)) : n;
		double equal = (double)(end - first);
		r.mid[i] = (double)first + equal / 2;
		r.drawn[i] = ((double)first + equal * stream_unit(stream_random(key, i))) / (double)n;
		r.bent[i] = fabs(r.drawn[i] - 0.5);
	}
	free(sorted);
	standardise(r.mid, n, &r.largest);
	standardise(r.bent, n, &r.largest);
	return r;
}

static void ranks_fini(struct ranks *r)
{
	free(r->mid);
	free(r->bent);
	free(r->drawn);
}

/* --- correlations --------------------------------------------------------------------------------------------------- */

double compare_related_limit(double z, size_t n, double largest)
{
	return z * sqrt(2 / (double)n) + 2 * z * z * largest / (3 * (double)n);
}

/* Four sums, so that each need not wait for the one before. */
static double correlation(const double *a, const double *b, size_t n)
{
	double sum[4] = { 0 };
	size_t i = 0;
	for (; i + 4 <= n; i += 4)
		for (size_t k = 0; k < 4; k++)
			sum[k] += a[i + k] * b[i + k];
	for (; i < n; i++)
		sum[0] += a[i] * b[i];
	return (sum[0] + sum[1] + sum[2] + sum[3]) / (double)n;
}

static bool is_related(double got, double want, double limit)
{
	return fabs(got) > limit && fabs(got - want) > limit;
}

static bool correlates(const struct ranks *g, const struct ranks *w, size_t lag, char *finding)
{
	size_t n = g->n - lag;
	double limit = compare_related_limit(Z, n, fmax(g->largest, w->largest));
	double got = correlation(g->mid, g->mid + lag, n), want = correlation(w->mid, w->mid + lag, n);
	const char *what = "the ranks of elements";
	if (!is_related(got, want, limit)) {
		got = correlation(g->bent, g->bent + lag, n);
		want = correlation(w->bent, w->bent + lag, n);
		what = "distances from the median, of elements";
	}
	if (!is_related(got, want, limit))
		return false;
	snprintf(finding, WIRE_FINDING, "%s %zu apart have correlation %.3g, the reference's %.3g", what, lag, got, want);
	return true;
}

/* --- lattices ------------------------------------------------------------------------------------------------------- */

/* Numbers u, v, w lie on few planes where the phases of a·u + b·v + c·w agree for small integers a, b and c: "Random numbers fall
 * mainly in the planes" (Marsaglia, PNAS 1968). All sums of phases together are a Fourier transform of how many lie in each bin.
 * That of the difference of two samples shows what only one of them has. */

struct phase {
	float re, im;
};

/* from: rows of BINS, to: rows of as many frequencies as `count`, from `least` on; but to's last axis is from's last but one,
 * and its first one are the frequencies. So the next axis is last when this is done. */
static void transform(const struct phase *from, size_t rows, int least, size_t count, struct phase *to)
{
	struct phase roots[BINS], root[BINS];
	for (int k = 0; k < BINS; k++)
		roots[k] = (struct phase){ cosf(2 * (float)PI * (float)k / BINS), sinf(2 * (float)PI * (float)k / BINS) };
	for (size_t f = 0; f < count; f++) {
		for (int k = 0; k < BINS; k++)
			root[k] = roots[(k * (least + (int)f) + BINS * BINS) % BINS];
		for (size_t row = 0; row < rows; row++) {
			const struct phase *x = from + row * BINS;
			float re = 0, im = 0;
			for (size_t k = 0; k < BINS; k++) {
				re += x[k].re * root[k].re - x[k].im * root[k].im;
				im += x[k].re * root[k].im + x[k].im * root[k].re;
			}
			to[f * rows + row] = (struct phase){ re, im };
		}
	}
}

static size_t bin(double u)
{
	return u * BINS < BINS ? (size_t)(u * BINS) : BINS - 1;
}

/* One sample as points of two coordinates or, where the last is not NULL, three. */
struct points {
	const double *at[3];
};

static size_t cell(const struct points *p, size_t i)
{
	size_t k = bin(p->at[0][i]) * BINS + bin(p->at[1][i]);
	return p->at[2] ? k * BINS + bin(p->at[2][i]) : k;
}

/* |Σ exp(2πi(a·u + b·v + c·w))|² of one sample. */
static double length_of(const struct points *p, size_t n, const int coefficients[3])
{
	double re = 0, im = 0;
	for (size_t i = 0; i < n; i++) {
		double turns = 0;
		for (int k = 0; k < 3; k++)
			turns += p->at[k] ? coefficients[k] * p->at[k][i] : 0;
		re += cos(2 * PI * turns);
		im += sin(2 * PI * turns);
	}
	return re * re + im * im;
}

/* True with the coefficients when got's points lie on planes, and want's do not. */
static bool on_planes(const struct points *got, const struct points *want, size_t n, int ret_coefficients[3])
{
	size_t cells = got->at[2] ? BINS * BINS * BINS : BINS * BINS, sums = got->at[2] ? ALL * ALL * HALF : ALL * HALF;
	struct phase small[2][BINS * BINS], *x = small[0], *y = small[1];
	if (got->at[2]) {
		x = MEM_NEW_N(struct phase, cells);
		y = MEM_NEW_N(struct phase, cells);
	} else {
		memset(small, 0, sizeof small);
	}
	for (size_t i = 0; i < n; i++) {
		x[cell(got, i)].re++;
		x[cell(want, i)].re--;
	}
	/* Opposite coefficients give conjugate sums: half of the first axis' do. */
	transform(x, cells / BINS, 0, HALF, y);
	if (got->at[2]) {
		transform(y, HALF * BINS, -FREQUENCIES, ALL, x);
		transform(x, ALL * HALF, -FREQUENCIES, ALL, y);
	} else {
		transform(y, HALF, -FREQUENCIES, ALL, x);
	}
	const struct phase *sum = got->at[2] ? y : x;
	double least = fmax(LATTICE * (double)n, PLANES * PLANES * (double)n * (double)n);
	bool found = false;
	for (size_t k = 0; k < sums && !found; k++) {
		int c = (int)(k % HALF), b = (int)(k / HALF % ALL) - FREQUENCIES, a = (int)(k / HALF / ALL) - FREQUENCIES;
		if (sum[k].re * sum[k].re + sum[k].im * sum[k].im <= fmax(2 * LATTICE * (double)n, least / 4))
			continue;
		ret_coefficients[0] = got->at[2] ? a : b;
		ret_coefficients[1] = got->at[2] ? b : c;
		ret_coefficients[2] = got->at[2] ? c : 0;
		found = length_of(got, n, ret_coefficients) > least;
	}
	if (got->at[2]) {
		free(x);
		free(y);
	}
	return found;
}

/* --- order ---------------------------------------------------------------------------------------------------------- */

/* How alike the phases are whose keys are neighbours: near 0 where they do not depend on the keys, near n where they follow them,
 * even if it is around the circle many times. Keys are sorted by their upper half, the lower half is the place. */
static double coherence(uint64_t *keys, const double *phases, size_t n)
{
	double sum = 0;
	order_many(keys, n);
	for (size_t i = 0; i + 1 < n; i++)
		sum += cos(2 * PI * (phases[(uint32_t)keys[i + 1]] - phases[(uint32_t)keys[i]]));
	return sum;
}

static uint64_t key_of(double u, size_t place)
{
	return (uint64_t)(u * 0x1p32) << 32 | place;
}

/* Of each rank and the next one. */
static double followed(const struct ranks *r, size_t n)
{
	uint64_t *keys = MEM_NEW_N(uint64_t, n);
	for (size_t i = 0; i < n; i++)
		keys[i] = key_of(r->drawn[i], i);
	double sum = coherence(keys, r->drawn + 1, n);
	free(keys);
	return sum;
}

/* Points whose coordinates are x and y: phases are their directions, and keys the distances from zero; or else phases are the ranks
 * of the distances, and keys the directions. */
static void turned(const double *x, const double *y, size_t step, size_t n, double ret_sums[2])
{
	uint64_t *keys = MEM_NEW_N(uint64_t, n), *distances = MEM_NEW_N(uint64_t, n);
	double *phases = MEM_NEW_N(double, n);
	for (size_t i = 0; i < n; i++) {
		float distance = (float)hypot(x[i * step], y[i * step]);
		uint32_t bits;
		memcpy(&bits, &distance, sizeof bits); /* ordered, as they are not negative */
		distances[i] = (uint64_t)bits << 32 | i;
		phases[i] = atan2(y[i * step], x[i * step]) / (2 * PI);
		keys[i] = key_of(fmin(phases[i] + 0.5, 1 - 0x1p-32), i);
	}
	ret_sums[0] = coherence(distances, phases, n);
	for (size_t i = 0; i < n; i++)
		phases[(uint32_t)distances[i]] = (double)i / (double)n;
	ret_sums[1] = coherence(keys, phases, n);
	free(keys);
	free(distances);
	free(phases);
}

static bool is_coherent(double got, double want, size_t n)
{
	return is_related(got, want, COHERENT * sqrt((double)n));
}

static bool is_centred(const double *x, size_t n)
{
	double sum = 0, squares = 0;
	for (size_t i = 0; i < n; i++) {
		sum += x[i];
		squares += x[i] * x[i];
	}
	return isfinite(squares) && fabs(sum) <= CENTRED * sqrt(squares);
}

/* Pairs of normal numbers come of a distance and a direction (Box and Muller). */
static bool spirals(const double *const got[2], const double *const want[2], size_t step, size_t n, char *finding)
{
	double g[2], w[2];
	n = n < TURNED ? n : TURNED;
	if (!is_centred(got[0], n * step) || !is_centred(want[0], n * step))
		return false;
	turned(got[0], got[1], step, n, g);
	turned(want[0], want[1], step, n, w);
	if (!is_coherent(g[0], w[0], n) && !is_coherent(g[1], w[1], n))
		return false;
	snprintf(finding, WIRE_FINDING, "as coordinates, have a direction that follows from their distance from zero");
	return true;
}

/* --- samples -------------------------------------------------------------------------------------------------------- */

static uint64_t key_for(const double *x, uint64_t which)
{
	uint64_t bits;
	memcpy(&bits, x, sizeof bits);
	return stream_mix(bits ^ stream_mix(which));
}

static bool lies_on_planes(const struct ranks *g, const struct ranks *w, char *finding)
{
	size_t lags = RELATED_LAGS < g->n / 2 ? RELATED_LAGS : g->n / 2;
	int c[3];
	if (on_planes(&(struct points){ { g->drawn, g->drawn + 1, g->drawn + 2 } },
		      &(struct points){ { w->drawn, w->drawn + 1, w->drawn + 2 } }, g->n - 2, c)) {
		snprintf(finding, WIRE_FINDING,
			 "ranks u, v, w of three neighbours lie on planes of equal %d·u%+d·v%+d·w, the reference's do not", c[0],
			 c[1], c[2]);
		return true;
	}
	for (size_t lag = 1; lag <= lags; lag++)
		if (on_planes(&(struct points){ { g->drawn, g->drawn + lag, NULL } },
			      &(struct points){ { w->drawn, w->drawn + lag, NULL } }, g->n - lag, c)) {
			snprintf(finding, WIRE_FINDING,
				 "ranks u and v of elements %zu apart lie on lines of equal %d·u%+d·v, the reference's do not", lag,
				 c[0], c[1]);
			return true;
		}
	return false;
}

void compare_related_within(const double *got, const double *want, size_t n, bool many, char finding[WIRE_FINDING])
{
	struct ranks g = ranks_of(got, n, key_for(got, 1)), w = ranks_of(want, n, key_for(want, 2));
	size_t lags = many ? RELATED_LAGS_OF_MANY : RELATED_LAGS, some = n - 1 < ORDERED ? n - 1 : ORDERED;
	bool found = false;
	for (size_t lag = 1; lag <= lags && lag <= n / 2 && !found; lag++)
		found = correlates(&g, &w, lag, finding);
	found = found || lies_on_planes(&g, &w, finding);
	if (!found && is_coherent(followed(&g, some), followed(&w, some), some)) {
		snprintf(finding, WIRE_FINDING, "the rank of an element follows from the one before it, unlike the reference's");
		found = true;
	}
	if (!found) {
		const double *const pairs[2][2] = { { got, got + 1 }, { want, want + 1 } };
		char text[WIRE_FINDING] = "";
		if (spirals(pairs[0], pairs[1], 2, n / 2, text))
			snprintf(finding, WIRE_FINDING, "pairs of neighbours, %.200s", text);
	}
	ranks_fini(&g);
	ranks_fini(&w);
}

void compare_related_between(const double *const got[2], const double *const want[2], size_t n, char finding[WIRE_FINDING])
{
	struct ranks g[2], w[2];
	int c[3];
	for (uint64_t k = 0; k < 2; k++) {
		g[k] = ranks_of(got[k], n, key_for(got[k], 2 * k));
		w[k] = ranks_of(want[k], n, key_for(want[k], 2 * k + 1));
	}
	double largest = fmax(fmax(g[0].largest, g[1].largest), fmax(w[0].largest, w[1].largest)),
	       limit = compare_related_limit(Z, n, largest);
	double ranks = correlation(g[0].mid, g[1].mid, n), bent = correlation(g[0].bent, g[1].bent, n);
	if (is_related(ranks, correlation(w[0].mid, w[1].mid, n), limit))
		snprintf(finding, WIRE_FINDING, "have ranks of correlation %.3g", ranks);
	else if (is_related(bent, correlation(w[0].bent, w[1].bent, n), limit))
		snprintf(finding, WIRE_FINDING, "have distances from the median of correlation %.3g", bent);
	else if (on_planes(&(struct points){ { g[0].drawn, g[1].drawn, NULL } },
			   &(struct points){ { w[0].drawn, w[1].drawn, NULL } }, n, c))
		snprintf(finding, WIRE_FINDING, "lie on lines of equal %d·u%+d·v of their ranks u and v", c[0], c[1]);
	else
		spirals(got, want, 1, n, finding);
	for (int k = 0; k < 2; k++) {
		ranks_fini(&g[k]);
		ranks_fini(&w[k]);
	}
}
