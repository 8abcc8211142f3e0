/* gauss: Matérn 5/2 with one length per dimension; lengths and noise follow the likelihood by random steps; see gauss.h. */
#include "core/search/gauss.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Priors of the settings, natural logarithms: a length of half the range, a noise of a thousandth, both loose. Lengths grow with the
 * root of the dimensions, or no two points of a large space would know of each other: Hvarfner, Hellsten, Nardi, "Vanilla Bayesian
 * optimization performs great in high dimensions" (ICML 2024). */
#define WEIGHT_MEAN 1.0
#define WEIGHT_DIMS 4.0
#define WEIGHT_DEVIATION 1.0
#define NOISE_MEAN (-7.0)
#define NOISE_DEVIATION 1.5

static double weight_mean(size_t dims)
{
	return WEIGHT_MEAN - log(fmax(1, (double)dims / WEIGHT_DIMS));
}

void search_gauss_init(struct search_gauss *g, size_t dims, size_t room)
{
	size_t stride = (room + GAUSS_LANES - 1) / GAUSS_LANES * GAUSS_LANES;
	*g = (struct search_gauss){ .dims = dims, .room = room, .stride = stride, .noise = exp(NOISE_MEAN) };
	g->x = MEM_NEW_N(float, stride * dims + 1);
	g->y = MEM_NEW_N(double, room);
	g->weights = MEM_NEW_N(double, dims + 1);
	for (size_t d = 0; d < dims; d++)
		g->weights[d] = exp(weight_mean(dims));
	g->chol = MEM_NEW_N(double, room * stride);
	g->alpha = MEM_NEW_N(double, stride);
	g->scratch = MEM_NEW_N(double, stride);
	g->chol32 = MEM_NEW_N(float, room * room);
	g->inverse32 = MEM_NEW_N(float, room);
	g->alpha32 = MEM_NEW_N(float, room);
}

void search_gauss_fini(struct search_gauss *g)
{
	free(g->x);
	free(g->y);
	free(g->weights);
	free(g->chol);
	free(g->alpha);
	free(g->scratch);
	free(g->chol32);
	free(g->inverse32);
	free(g->alpha32);
	*g = (struct search_gauss){ 0 };
}

/* Everything below that runs over GAUSS_LANES numbers at once is written so that a compiler turns it into vector instructions:
 * loops of constant length, no sum whose order would change, no calls. */

/* GCC's and Clang's vectors, which become whatever the machine has. */
typedef float four __attribute__((vector_size(4 * sizeof(float)), aligned(sizeof(float))));

/* e^-r for r >= 0, within 3e-7: 2^whole by its bits, the rest by a polynomial (Taylor's of e^x for |x| <= ln(2)/2). */
static inline void exp_minus(float r[GAUSS_LANES])
{
	for (int l = 0; l < GAUSS_LANES; l++) {
		float t = r[l] < 86 ? r[l] * -1.44269504f : -86 * 1.44269504f;
		int32_t whole = (int32_t)(t - 0.5f);
		float x = (t - (float)whole) * 0.693147181f;
		union { int32_t bits; float value; } power = { .bits = (whole + 127) * (1 << 23) };
		r[l] = power.value * (1 + x * (1 + x * (0.5f + x * (1 / 6.0f + x * (1 / 24.0f + x * (1 / 120.0f + x * (1 / 720.0f)))))));
	}
}

/* From squared distances to covariances. */
static inline void matern(float s[GAUSS_LANES])
{
	float r[GAUSS_LANES], e[GAUSS_LANES];
	for (int l = 0; l < GAUSS_LANES; l++)
		r[l] = e[l] = sqrtf(5 * s[l]);
	exp_minus(e);
	for (int l = 0; l < GAUSS_LANES; l++)
		s[l] = (1 + r[l] + r[l] * r[l] * (1 / 3.0f)) * e[l];
}

/* to -= factor * row, from the lanes that hold column `from` on. */
static inline void subtract(const struct search_gauss *g, double *to, const double *row, double factor, size_t from)
{
	for (size_t at = from / GAUSS_LANES * GAUSS_LANES; at < g->count; at += GAUSS_LANES)
		for (int l = 0; l < GAUSS_LANES; l++)
			to[at + (size_t)l] -= factor * row[at + (size_t)l];
}

static void covariances(const struct search_gauss *g, size_t i, const float *weights, double *row)
{
	for (size_t at = i / GAUSS_LANES * GAUSS_LANES; at < g->count; at += GAUSS_LANES) {
		float s[GAUSS_LANES] = { 0 };
		for (size_t d = 0; d < g->dims; d++) {
			const float *x = g->x + d * g->stride;
			for (int l = 0; l < GAUSS_LANES; l++)
				s[l] += weights[d] * (x[at + (size_t)l] - x[i]) * (x[at + (size_t)l] - x[i]);
		}
		matern(s);
		for (int l = 0; l < GAUSS_LANES; l++)
			row[at + (size_t)l] = (double)s[l];
	}
}

/* The covariance's factor, a column of the lower triangle per row of memory; the diagonal's addition keeps it positive. Columns behind
 * the last point are copies of stale or zero points: they are computed along and never looked at. */
static void factor(struct search_gauss *g)
{
	float weights[g->dims + 1];
	for (size_t d = 0; d < g->dims; d++)
		weights[d] = (float)g->weights[d];
	for (size_t i = 0; i < g->count; i++) {
		double *row = g->chol + i * g->stride;
		covariances(g, i, weights, row);
		row[i] = 1 + g->noise + 1e-6;
		for (size_t k = 0; k < i; k++)
			subtract(g, row, g->chol + k * g->stride, g->chol[k * g->stride + i], i);
		double pivot = sqrt(fmax(row[i], 1e-9)), inverse = 1 / pivot;
		size_t first = i / GAUSS_LANES * GAUSS_LANES;
		for (size_t j = first; j < i; j++)
			row[j] = 0;
		for (size_t at = first; at < g->count; at += GAUSS_LANES)
			for (int l = 0; l < GAUSS_LANES; l++)
				row[at + (size_t)l] *= inverse;
		row[i] = pivot;
	}
}

/* In place; out has a stride of elements. */
static void solve(const struct search_gauss *g, double *out)
{
	size_t n = g->count;
	for (size_t k = 0; k < n; k++) {
		const double *row = g->chol + k * g->stride;
		double own = out[k] / row[k];
		subtract(g, out, row, own, k);
		out[k] = own;
	}
	for (size_t i = n; i-- > 0;) {
		const double *row = g->chol + i * g->stride;
		double sum[GAUSS_LANES] = { 0 };
		size_t at = i + 1;
		for (; at < n && at % GAUSS_LANES; at++)
			sum[0] += row[at] * out[at];
		for (; at + GAUSS_LANES <= n; at += GAUSS_LANES)
			for (int l = 0; l < GAUSS_LANES; l++)
				sum[l] += row[at + (size_t)l] * out[at + (size_t)l];
		for (; at < n; at++)
			sum[0] += row[at] * out[at];
		for (int l = 1; l < GAUSS_LANES; l++)
			sum[0] += sum[l];
		out[i] = (out[i] - sum[0]) / row[i];
	}
}

/* Factor, mean, scale and weights of the measurements under the present settings; the log likelihood with priors. */
static double condition(struct search_gauss *g)
{
	size_t n = g->count;
	double *along = g->scratch, top = 0, bottom = 0, fit = 0, log_det = 0, prior = 0;
	factor(g);
	for (size_t i = 0; i < n; i++)
		along[i] = 1;
	solve(g, along);
	for (size_t i = 0; i < n; i++) {
		top += along[i] * g->y[i];
		bottom += along[i];
	}
	g->mean = top / bottom;
	for (size_t i = 0; i < n; i++)
		g->alpha[i] = g->y[i] - g->mean;
	solve(g, g->alpha);
	for (size_t i = 0; i < n; i++) {
		fit += (g->y[i] - g->mean) * g->alpha[i];
		log_det += log(g->chol[i * g->stride + i]);
	}
	/* One made-up measurement of the expected size keeps the scale sane while there are few. */
	g->scale = (fit + 1) / (double)(n + 1);
	for (size_t d = 0; d < g->dims; d++)
		prior += pow((log(g->weights[d]) - weight_mean(g->dims)) / WEIGHT_DEVIATION, 2);
	prior += pow((log(g->noise) - NOISE_MEAN) / NOISE_DEVIATION, 2);
	return -0.5 * (double)(n + 1) * log(g->scale) - log_det - 0.5 * prior;
}

static void improve(struct search_gauss *g, struct shuffle *random)
{
	double kept[g->dims + 1], noise = g->noise;
	memcpy(kept, g->weights, g->dims * sizeof kept[0]);
	/* Mostly one setting at a time; sometimes all. */
	size_t which = search_shuffle_below(random, g->dims + 2);
	double size = search_shuffle_uniform(random) < 0.5 ? 3.0 : 1.0;
	for (size_t d = 0; d < g->dims; d++)
		if (which == d || which == g->dims + 1)
			g->weights[d] *= exp(size * (2 * search_shuffle_uniform(random) - 1));
	if (which >= g->dims)
		g->noise *= exp(size * (2 * search_shuffle_uniform(random) - 1));
	double score = condition(g);
	if (score > g->score) {
		g->score = score;
		return;
	}
	memcpy(g->weights, kept, g->dims * sizeof kept[0]);
	g->noise = noise;
}

void search_gauss_fit(struct search_gauss *g, const float *x, const double *y, size_t count, size_t steps, struct shuffle *random)
{
	size_t n = g->count = count < g->room ? count : g->room;
	for (size_t i = 0; i < n; i++)
		for (size_t d = 0; d < g->dims; d++)
			g->x[d * g->stride + i] = x[i * g->dims + d];
	memcpy(g->y, y, n * sizeof *y);
	g->score = condition(g);
	for (size_t i = 0; i < steps; i++)
		improve(g, random);
	condition(g);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < i; k++)
			g->chol32[i * n + k] = (float)g->chol[k * g->stride + i];
		g->inverse32[i] = (float)(1 / g->chol[i * g->stride + i]);
		g->alpha32[i] = (float)g->alpha[i];
	}
}

/* sum -= row × v, over the first n of v: where the time goes, so its four vectors stay in registers by being named. */
static inline void eliminate(float sum[GAUSS_LANES], const float *row, float (*v)[GAUSS_LANES], size_t n)
{
	four a = *(four *)sum, b = *(four *)(sum + 4), c = *(four *)(sum + 8), d = *(four *)(sum + 12);
	for (size_t k = 0; k < n; k++) {
		a -= row[k] * *(four *)v[k];
		b -= row[k] * *(four *)(v[k] + 4);
		c -= row[k] * *(four *)(v[k] + 8);
		d -= row[k] * *(four *)(v[k] + 12);
	}
	*(four *)sum = a;
	*(four *)(sum + 4) = b;
	*(four *)(sum + 8) = c;
	*(four *)(sum + 12) = d;
}

void search_gauss_predict(const struct search_gauss *g, float (*x)[GAUSS_LANES], float ret_mean[GAUSS_LANES],
                          float ret_deviation[GAUSS_LANES])
{
	size_t n = g->count;
	float v[n][GAUSS_LANES], mean[GAUSS_LANES] = { 0 }, seen[GAUSS_LANES] = { 0 };
	for (size_t i = 0; i < n; i++) {
		float sum[GAUSS_LANES] = { 0 };
		for (size_t d = 0; d < g->dims; d++) {
			float at = g->x[d * g->stride + i], weight = (float)g->weights[d];
			for (int l = 0; l < GAUSS_LANES; l++)
				sum[l] += weight * (x[d][l] - at) * (x[d][l] - at);
		}
		matern(sum);
		for (int l = 0; l < GAUSS_LANES; l++)
			mean[l] += sum[l] * g->alpha32[i];
		eliminate(sum, g->chol32 + i * n, v, i);
		for (int l = 0; l < GAUSS_LANES; l++) {
			v[i][l] = sum[l] * g->inverse32[i];
			seen[l] += v[i][l] * v[i][l];
		}
	}
	for (int l = 0; l < GAUSS_LANES; l++) {
		ret_mean[l] = mean[l] + (float)g->mean;
		ret_deviation[l] = sqrtf(fmaxf(1 - seen[l], 1e-6f) * (float)g->scale);
	}
}
