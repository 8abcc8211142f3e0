/* grid: see grid.h. */
#include "core/search/grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { JUMP_TRIES = 48 };

static uint64_t hash_indices(const uint16_t *indices, size_t dims)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a, two bytes at a time */
	for (size_t d = 0; d < dims; d++)
		h = (h ^ indices[d]) * UINT64_C(0x100000001b3);
	return h ^ (h >> 29);
}

static void indices_of(const struct search_grid *g, size_t point, uint16_t *indices)
{
	for (size_t d = 0; d < g->dims; d++)
		indices[d] = search_grid_index(g, point, d);
}

static float *add_feature(struct search_grid *g, size_t d)
{
	g->feature_dim[g->features] = d;
	return g->feature[g->features++] = MEM_NEW_N(float, g->sizes[d]);
}

/* The mean of rank and logarithm: some parameters act in steps, others in factors. */
static void add_place(struct search_grid *g, size_t d, const double *values)
{
	size_t n = g->sizes[d];
	float *feature = add_feature(g, d);
	for (size_t i = 0; i < n; i++) {
		double rank = n > 1 ? (double)i / (double)(n - 1) : 0, factor = rank;
		if (values && values[0] > 0 && values[n - 1] > values[0])
			factor = log(values[i] / values[0]) / log(values[n - 1] / values[0]);
		feature[i] = (float)(0.5 * rank + 0.5 * factor);
	}
}

/* 1 - 1/(odd part): 0 for powers of two, 2/3 for 3, 6, 12, … */
static double oddness(double value)
{
	double whole;
	if (modf(value, &whole) != 0 || value <= 0 || value > 1e15)
		return 0;
	unsigned long long n = (unsigned long long)value;
	while (n % 2 == 0)
		n /= 2;
	return 1 - 1 / (double)n;
}

/* Hardware is built in powers of two: 128 and 112 are close, and yet behave differently. A parameter with both kinds
 * of values gets a second feature, the distance from a power of two. */
static void add_oddness(struct search_grid *g, size_t d, const double *values)
{
	double most = 0;
	for (size_t i = 0; values && i < g->sizes[d]; i++)
		most = fmax(most, oddness(values[i]));
	/* Values that begin with 0 number methods; they are not sizes. */
	if (most == 0 || g->sizes[d] < 3 || values[0] == 0)
		return;
	float *feature = add_feature(g, d);
	for (size_t i = 0; i < g->sizes[d]; i++)
		feature[i] = (float)oddness(values[i]);
}

static void find_dims(struct search_grid *g)
{
	const struct search_space *space = g->space;
	g->dim = MEM_NEW_N(size_t, space->dims + 1);
	g->sizes = MEM_NEW_N(size_t, space->dims + 1);
	g->feature_dim = MEM_NEW_N(size_t, 2 * space->dims + 1);
	g->feature = MEM_NEW_N(float *, 2 * space->dims + 1);
	for (size_t d = 0; d < space->dims; d++) {
		uint16_t low = UINT16_MAX, high = 0;
		for (size_t p = 0; p < space->count; p++) {
			uint16_t i = space->points[p * space->dims + d];
			low = i < low ? i : low;
			high = i > high ? i : high;
		}
		if (low >= high)
			continue;
		g->dim[g->dims] = d;
		g->sizes[g->dims] = space->value_counts ? space->value_counts[d] : (size_t)high + 1;
		const double *values = space->values ? space->values[d] : NULL;
		add_place(g, g->dims, values);
		add_oddness(g, g->dims++, values);
	}
}

void search_grid_init(struct search_grid *g, const struct search_space *space)
{
	*g = (struct search_grid){ .space = space };
	find_dims(g);
	size_t slots = 16;
	while (slots < space->count * 2)
		slots *= 2;
	g->slots = MEM_NEW_N(size_t, slots);
	g->slot_mask = slots - 1;
	uint16_t *indices = MEM_NEW_N(uint16_t, g->dims + 1);
	for (size_t p = 0; p < space->count; p++) {
		indices_of(g, p, indices);
		size_t at = hash_indices(indices, g->dims) & g->slot_mask;
		while (g->slots[at])
			at = (at + 1) & g->slot_mask;
		g->slots[at] = p + 1;
	}
	free(indices);
}

void search_grid_fini(struct search_grid *g)
{
	for (size_t f = 0; f < g->features; f++)
		free(g->feature[f]);
	free(g->feature);
	free(g->feature_dim);
	free(g->dim);
	free(g->sizes);
	free(g->slots);
	*g = (struct search_grid){ 0 };
}

void search_grid_features(const struct search_grid *g, size_t point, float *ret_features)
{
	for (size_t f = 0; f < g->features; f++)
		ret_features[f] = search_grid_feature(g, point, f);
}

size_t search_grid_find(const struct search_grid *g, const uint16_t *indices)
{
	for (size_t at = hash_indices(indices, g->dims) & g->slot_mask; g->slots[at]; at = (at + 1) & g->slot_mask) {
		size_t p = g->slots[at] - 1, d = 0;
		while (d < g->dims && search_grid_index(g, p, d) == indices[d])
			d++;
		if (d == g->dims)
			return p;
	}
	return SEARCH_NONE;
}

void search_grid_neighbours(const struct search_grid *g, size_t point, size_t **points, size_t *count)
{
	uint16_t *indices = MEM_NEW_N(uint16_t, g->dims + 1);
	indices_of(g, point, indices);
	for (size_t d = 0; d < g->dims; d++) {
		uint16_t own = indices[d];
		for (size_t i = 0; i < g->sizes[d]; i++) {
			indices[d] = (uint16_t)i;
			size_t found = i == own ? SEARCH_NONE : search_grid_find(g, indices);
			if (found != SEARCH_NONE)
				*MEM_PUSH(*points, *count) = found;
		}
		indices[d] = own;
	}
	free(indices);
}

size_t search_grid_jump(const struct search_grid *g, struct search_shuffle *random, size_t point, size_t places)
{
	uint16_t *indices = MEM_NEW_N(uint16_t, g->dims + 1);
	size_t found = SEARCH_NONE;
	for (int i = 0; i < JUMP_TRIES && g->dims > 0 && (found == SEARCH_NONE || found == point); i++) {
		indices_of(g, point, indices);
		for (size_t k = 0; k < places; k++) {
			size_t d = search_shuffle_below(random, g->dims);
			indices[d] = (uint16_t)search_shuffle_below(random, g->sizes[d]);
		}
		found = search_grid_find(g, indices);
	}
	free(indices);
	return found == point ? SEARCH_NONE : found;
}
