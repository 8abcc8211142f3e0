/* grid: a space as models and local searches need it: features from 0 to 1, look-up of a point by its value indices,
 * and points that differ in few places. Used by the strategies and by core/tune/insight. */
#ifndef PEAKD_CORE_SEARCH_GRID_H
#define PEAKD_CORE_SEARCH_GRID_H

#include "core/search/search.h"

struct search_grid {
	const struct search_space *space;
	size_t dims;         /* dimensions that vary; only these count */
	size_t *dim;         /* per varying dimension: its number in the space */
	size_t *sizes;       /* per varying dimension: number of value indices */
	size_t features;     /* numbers that describe a point to models, one or two per varying dimension */
	size_t *feature_dim; /* per feature: its varying dimension */
	float **feature;     /* per feature and value index: from 0 to 1 */
	size_t *slots;       /* hash table: point + 1, or 0 */
	size_t slot_mask;
};

void search_grid_init(struct search_grid *g, const struct search_space *space);
void search_grid_fini(struct search_grid *g);
/* Value index of a point along a varying dimension. */
static inline uint16_t search_grid_index(const struct search_grid *g, size_t point, size_t d)
{
	return g->space->points[point * g->space->dims + g->dim[d]];
}
static inline float search_grid_feature(const struct search_grid *g, size_t point, size_t f)
{
	return g->feature[f][search_grid_index(g, point, g->feature_dim[f])];
}
/* All features of a point: g->features numbers. */
void search_grid_features(const struct search_grid *g, size_t point, float *ret_features);
/* The point with these value indices (one per varying dimension); SEARCH_NONE when it is not in the space. */
size_t search_grid_find(const struct search_grid *g, const uint16_t *indices);
/* Appends the points that differ from `point` in exactly one dimension to an array grown by MEM_PUSH. */
void search_grid_neighbours(const struct search_grid *g, size_t point, size_t **points, size_t *count);
/* A random other point that differs from `point` in at most `places` dimensions; SEARCH_NONE when a few dozen tries
 * find none. */
size_t search_grid_jump(const struct search_grid *g, struct search_shuffle *random, size_t point, size_t places);

#endif
