/* gauss: a Gaussian process over points in [0, 1]^dims: what a few measurements say about all other points, and how sure that
 * is. Used by bayes.c; Rasmussen and Williams, "Gaussian processes for machine learning" (2006), algorithm 2.1. */
#ifndef PEAKD_CORE_SEARCH_GAUSS_H
#define PEAKD_CORE_SEARCH_GAUSS_H

#include <stddef.h>

#include "core/search/shuffle.h"

enum { GAUSS_LANES = 16 };    /* points predicted at once */

struct search_gauss {
	size_t dims, count, room;
	float *x;                 /* dims × stride: the measured points, a row per dimension */
	double *y;                /* count: their values, about mean 0 and deviation 1 */
	size_t stride;            /* of rows of points: room, rounded up to lanes */
	double *weights;          /* dims: 1/length², learned */
	double noise;             /* variance of a measurement over that of the process, learned */
	double scale;             /* the process's variance */
	double mean;
	double *chol, *alpha, *scratch; /* count × stride: the factor's columns as rows; stride; stride */
	float *chol32, *inverse32, *alpha32; /* count × count, lower; count; count */
	double score;             /* log likelihood of the present settings, priors included */
};

void search_gauss_init(struct search_gauss *g, size_t dims, size_t room);
void search_gauss_fini(struct search_gauss *g);
/* Sets the measurements (at most `room`) and improves the settings by `steps` trials. */
void search_gauss_fit(struct search_gauss *g, const float *x, const double *y, size_t count, size_t steps, struct shuffle *random);
/* Mean and deviation at GAUSS_LANES points, x[d][lane]. */
void search_gauss_predict(const struct search_gauss *g, float (*x)[GAUSS_LANES], float ret_mean[GAUSS_LANES],
                          float ret_deviation[GAUSS_LANES]);

#endif
