/* gauss: a Gaussian process over points in [0, 1]^dims. It says what a few measurements tell about all other points,
 * and how certain that is. Used by search_bayes.c. Rasmussen and Williams, "Gaussian processes for machine learning"
 * (2006), algorithm 2.1. */
#ifndef PEAKD_CORE_SEARCH_GAUSS_H
#define PEAKD_CORE_SEARCH_GAUSS_H

#include "core/search/search.h"

enum { GAUSS_LANES = 16 }; /* points that are computed at once */

struct search_gauss {
	size_t dims, count, room;
	size_t stride;      /* floats in a row of points: room, rounded up to lanes */
	float *x;           /* dims × stride: the measured points, one row per dimension */
	float *scaled;      /* dims × stride: the same, times the root of the weights */
	double *y;          /* per point: its value; mean 0 and deviation 1 */
	double *weights;    /* per dimension: 1 / length², learned */
	double noise;       /* variance of a measurement over the variance of the process, learned */
	double scale, mean; /* variance and mean of the process */
	float slope;        /* of the additive part of a covariance, over the distance */
	float *upper;       /* count × stride: the Cholesky factor, an upper triangle */
	float *lower;       /* count × stride: the same, transposed */
	float *inverse;     /* per point: 1 / the diagonal of the factor */
	float *alpha;       /* per point: its weight in a prediction */
	float *scratch;     /* per point */
};

void search_gauss_init(struct search_gauss *g, size_t dims, size_t room);
void search_gauss_fini(struct search_gauss *g);
/* Sets the measurements (x is count × dims; at most `room` count), and moves the learned settings by `steps` steps. */
void search_gauss_fit(struct search_gauss *g, const float *x, const double *y, size_t count, size_t steps,
		      struct search_shuffle *random);
/* Predicts the means at `count` points x[d * stride + point], and the largest covariance (0 to 1) of each with a
 * measured point. `stride` and the size of both results are at least `count` rounded up to lanes. */
void search_gauss_mean(const struct search_gauss *g, const float *x, size_t stride, size_t count, float *ret_mean,
		       float *ret_nearest);
/* An upper bound of the deviation where the largest covariance with a measured point is `nearest`. */
double search_gauss_most(const struct search_gauss *g, double nearest);
/* Predicts the deviations at GAUSS_LANES of the points of search_gauss_mean. */
void search_gauss_deviation(const struct search_gauss *g, const float *x, size_t stride, const size_t which[GAUSS_LANES],
			    float ret_deviation[GAUSS_LANES]);

#endif
