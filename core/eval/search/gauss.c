/* gauss: Matérn 5/2 with one length per dimension; lengths and noise follow the likelihood by random steps; see gauss.h. */
#include "core/eval/search/gauss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Priors of the settings, natural logarithms: a length of half the range, a noise of a thousandth, both loose. */
#define WEIGHT_MEAN 1.0
#define WEIGHT_DEVIATION 1.0
#define NOISE_MEAN (-7.0)
#define NOISE_DEVIATION 1.5

void search_gauss_init(struct search_gauss *g, size_t dims, size_t room)
{
	*g = (struct search_gauss){ .dims = dims, .room = room, .noise = exp(NOISE_MEAN) };
	g->x = MEM_NEW_N(float, room * dims + 1);
	g->y = MEM_NEW_N(double, room);
	g->weights = MEM_NEW_N(double, dims + 1);
	for (size_t d = 0; d < dims; d++)
		g->weights[d] = exp(WEIGHT_MEAN);
	g->chol = MEM_NEW_N(double, room * room);
	g->alpha = MEM_NEW_N(double, room);
	g->scratch = MEM_NEW_N(double, room);
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

static inline float matern(float squared)
{
	float r = sqrtf(5 * squared);
	return (1 + r + r * r / 3) * expf(-r);
}

/* Lower factor of the covariance; the diagonal's addition keeps it positive. */
static void factor(struct search_gauss *g)
{
	size_t n = g->count, dims = g->dims;
	float weights[dims + 1];
	for (size_t d = 0; d < dims; d++)
		weights[d] = (float)g->weights[d];
	for (size_t i = 0; i < n; i++) {
		double *row = g->chol + i * n;
		for (size_t j = 0; j <= i; j++) {
			float squared = 0;
			for (size_t d = 0; d < dims; d++) {
				float step = g->x[i * dims + d] - g->x[j * dims + d];
				squared += weights[d] * step * step;
			}
			double sum = i == j ? 1 + g->noise + 1e-6 : matern(squared);
			const double *other = g->chol + j * n;
			for (size_t k = 0; k < j; k++)
				sum -= row[k] * other[k];
			row[j] = i == j ? sqrt(fmax(sum, 1e-9)) : sum / other[j];
		}
	}
}

/* In place. */
static void solve(const struct search_gauss *g, double *out)
{
	size_t n = g->count;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < i; k++)
			out[i] -= g->chol[i * n + k] * out[k];
		out[i] /= g->chol[i * n + i];
	}
	for (size_t i = n; i-- > 0;) {
		out[i] /= g->chol[i * n + i];
		for (size_t k = 0; k < i; k++)
			out[k] -= g->chol[i * n + k] * out[i];
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
		log_det += log(g->chol[i * n + i]);
	}
	/* One made-up measurement of the expected size keeps the scale sane while there are few. */
	g->scale = (fit + 1) / (double)(n + 1);
	for (size_t d = 0; d < g->dims; d++)
		prior += pow((log(g->weights[d]) - WEIGHT_MEAN) / WEIGHT_DEVIATION, 2);
	prior += pow((log(g->noise) - NOISE_MEAN) / NOISE_DEVIATION, 2);
	return -0.5 * (double)(n + 1) * log(g->scale) - log_det - 0.5 * prior;
}

static double uniform(struct shuffle *random)
{
	return (double)search_shuffle_below(random, (size_t)1 << 52) / (double)((size_t)1 << 52);
}

static void improve(struct search_gauss *g, struct shuffle *random)
{
	double kept[g->dims + 1], noise = g->noise;
	memcpy(kept, g->weights, g->dims * sizeof kept[0]);
	/* Mostly one setting at a time; sometimes all. */
	size_t which = search_shuffle_below(random, g->dims + 2);
	double size = uniform(random) < 0.5 ? 3.0 : 1.0;
	for (size_t d = 0; d < g->dims; d++)
		if (which == d || which == g->dims + 1)
			g->weights[d] *= exp(size * (2 * uniform(random) - 1));
	if (which >= g->dims)
		g->noise *= exp(size * (2 * uniform(random) - 1));
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
	g->count = count < g->room ? count : g->room;
	memcpy(g->x, x, g->count * g->dims * sizeof *x);
	memcpy(g->y, y, g->count * sizeof *y);
	g->score = condition(g);
	for (size_t i = 0; i < steps; i++)
		improve(g, random);
	condition(g);
	for (size_t i = 0; i < g->count * g->count; i++)
		g->chol32[i] = (float)g->chol[i];
	for (size_t i = 0; i < g->count; i++) {
		g->inverse32[i] = (float)(1 / g->chol[i * g->count + i]);
		g->alpha32[i] = (float)g->alpha[i];
	}
}

void search_gauss_predict(const struct search_gauss *g, float (*x)[GAUSS_LANES], float ret_mean[GAUSS_LANES],
                          float ret_deviation[GAUSS_LANES])
{
	size_t n = g->count;
	float v[n][GAUSS_LANES], mean[GAUSS_LANES] = { 0 }, seen[GAUSS_LANES] = { 0 };
	for (size_t i = 0; i < n; i++) {
		float sum[GAUSS_LANES] = { 0 };
		for (size_t d = 0; d < g->dims; d++) {
			float at = g->x[i * g->dims + d], weight = (float)g->weights[d];
			for (int l = 0; l < GAUSS_LANES; l++)
				sum[l] += weight * (x[d][l] - at) * (x[d][l] - at);
		}
		for (int l = 0; l < GAUSS_LANES; l++)
			sum[l] = matern(sum[l]);
		for (int l = 0; l < GAUSS_LANES; l++)
			mean[l] += sum[l] * g->alpha32[i];
		for (size_t k = 0; k < i; k++)
			for (int l = 0; l < GAUSS_LANES; l++)
				sum[l] -= g->chol32[i * n + k] * v[k][l];
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
