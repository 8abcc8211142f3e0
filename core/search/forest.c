/* forest: the neighbours of the fastest points and random ones, scored by extremely randomised trees (trees.h); see forest.h. */
#include "core/search/forest.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/search/past.h"
#include "core/search/trees.h"

enum { STARTS = 8, TREES = 32, LEARN_FROM = 256, LEAF = 2, LEADERS = 5, RANDOM = 300 };

struct state {
	struct search_past past;
	struct search_trees trees;
	float *x;                 /* per learned point and feature, and one more point */
	double *y;                /* per point: log time; a failure counts as the slowest */
	size_t asked;
};

static void *start(const struct search_space *space, size_t budget, uint64_t seed)
{
	struct state *s = MEM_NEW(struct state);
	search_past_init(&s->past, space, seed);
	search_trees_init(&s->trees, s->past.grid.features, LEARN_FROM, TREES);
	s->x = MEM_NEW_N(float, (LEARN_FROM + 1) * s->past.grid.features + 1);
	s->y = MEM_NEW_N(double, LEARN_FROM);
	(void)budget;
	return s;
}

static void end(void *state)
{
	struct state *s = state;
	search_past_fini(&s->past);
	search_trees_fini(&s->trees);
	free(s->x);
	free(s->y);
	free(s);
}

static void learn(struct state *s)
{
	size_t n = s->past.told_count < LEARN_FROM ? s->past.told_count : LEARN_FROM, features = s->past.grid.features;
	double worst = 0;
	for (size_t i = 0; i < n; i++) {
		double ns = s->past.told[i].ns;
		worst = isfinite(ns) ? log(ns) : worst;
		s->y[i] = worst; /* told is sorted: failures stand behind the slowest */
		search_grid_features(&s->past.grid, s->past.told[i].point, s->x + i * features);
	}
	search_trees_fit(&s->trees, s->x, s->y, n, LEAF, &s->past.random);
}

/* The trees' mean less their disagreement: low is promising. */
static double score(struct state *s, size_t point)
{
	float *x = s->x + LEARN_FROM * s->past.grid.features;
	double deviation;
	search_grid_features(&s->past.grid, point, x);
	return search_trees_predict(&s->trees, x, &deviation) - deviation;
}

static size_t ask(void *state)
{
	struct state *s = state;
	size_t *points = NULL, count = 0, found = SEARCH_NONE;
	double found_score = INFINITY;
	if (s->asked++ < STARTS || s->past.told_count < 2)
		return search_past_take(&s->past, SEARCH_NONE);
	learn(s);
	for (size_t i = 0; i < LEADERS && i < s->past.told_count; i++)
		search_grid_neighbours(&s->past.grid, s->past.told[i].point, &points, &count);
	for (size_t i = 0; i < RANDOM; i++)
		*MEM_PUSH(points, count) = search_shuffle_below(&s->past.random, s->past.grid.space->count);
	for (size_t i = 0; i < count; i++) {
		double value = s->past.taken[points[i]] ? INFINITY : score(s, points[i]);
		if (value < found_score) {
			found_score = value;
			found = points[i];
		}
	}
	free(points);
	return search_past_take(&s->past, found);
}

static void tell(void *state, size_t point, double ns)
{
	struct state *s = state;
	search_past_tell(&s->past, point, ns);
}

const struct search_strategy search_forest = {
	.name = "forest", .summary = "neighbours of the fastest, chosen by random trees", .start = start, .ask = ask, .tell = tell,
	.end = end,
};
