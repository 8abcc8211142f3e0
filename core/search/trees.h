/* trees: extremely randomised trees over points in [0, 1]^dims: a model that likes corners, steps and "both of these" better than
 * smoothness. forest.c searches with it, bayes.c learns from it what fails, and the report of a tune (core/tune/insight) what
 * matters. Geurts, Ernst, Wehenkel, "Extremely randomized trees" (Machine Learning 63, 2006). */
#ifndef PEAKD_CORE_SEARCH_TREES_H
#define PEAKD_CORE_SEARCH_TREES_H

#include <stddef.h>

#include "core/search/shuffle.h"

/* One cut, or, without children, one answer. */
struct search_node {
	float cut;                /* up to it goes low */
	unsigned feature;
	unsigned low, high;       /* children; 0: a leaf */
	double mean;              /* of the values below */
};

struct search_trees {
	size_t dims, room;        /* features; points that it can learn from */
	size_t trees;
	struct search_node *nodes;
	unsigned *roots;          /* per tree */
	unsigned node_count;
	/* While it learns: */
	const float *x;
	const double *y;
	size_t *rows;             /* as the tree in work divides them */
};

void search_trees_init(struct search_trees *t, size_t dims, size_t room, size_t trees);
void search_trees_fini(struct search_trees *t);
/* Learns anew: x is count × dims, y the values; at most `room` of them count. A leaf has at most `leaf` points, or equal ones. */
void search_trees_fit(struct search_trees *t, const float *x, const double *y, size_t count, size_t leaf, struct shuffle *random);
/* The trees' mean at a point, and their disagreement (may be NULL). Only after search_trees_fit with at least one point. */
double search_trees_predict(const struct search_trees *t, const float *x, double *ret_deviation);

#endif
