/* trees: extremely randomised trees over points in [0, 1]^dims, a model for corners, steps and "both of these".
 * search_bayes.c predicts times and failures with it, core/tune/insight what matters. Geurts, Ernst, Wehenkel,
 * "Extremely randomized trees" (Machine Learning 63, 2006). */
#ifndef PEAKD_CORE_SEARCH_TREES_H
#define PEAKD_CORE_SEARCH_TREES_H

#include "core/search/search.h"

/* One cut, or one answer. The children of a cut are neighbours in memory. */
struct search_node {
	float value; /* of a cut: up to it goes low; of a leaf: the mean of its values */
	unsigned feature;
	unsigned low; /* the child for low values, followed by the one for high values; 0: a leaf */
};

struct search_trees {
	size_t dims, room; /* features; points that a fit may have */
	size_t trees;
	struct search_node *nodes;
	unsigned *roots; /* per tree */
	unsigned node_count;
	/* While it learns: */
	float *columns; /* dims × room: the points, one row per feature */
	float *y;
	unsigned *rows; /* points, as the current tree divides them */
	size_t leaf;
	struct search_shuffle *random;
};

void search_trees_init(struct search_trees *t, size_t dims, size_t room, size_t trees);
void search_trees_fini(struct search_trees *t);
/* Fits new trees to at most `room` points: x is count × dims, y the values. A leaf has at most `leaf` points, or
 * equal ones. */
void search_trees_fit(struct search_trees *t, const float *x, const double *y, size_t count, size_t leaf,
		      struct search_shuffle *random);
/* The mean of the trees at a point, and their standard deviation (may be NULL). Call search_trees_fit first. */
double search_trees_predict(const struct search_trees *t, const float *x, double *ret_deviation);

#endif
