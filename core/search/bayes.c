/* bayes: see bayes.h. Expected improvement (Jones, Schonlau, Welch 1998) over candidates: the neighbourhoods of the best points
 * and random ones. Failures count as the slowest time seen, and trees learn what fails: the improvement is weighted with the chance
 * that there will be a time at all (as BaCO does: Hellsten et al., ASPLOS 2023). Points that are out count as the median of what is
 * known (a constant liar: Ginsbourger, Le Riche, Carraro 2010). */
#include "core/search/bayes.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/search/gauss.h"
#include "core/search/grid.h"
#include "core/search/trees.h"

/* How much is left of what a time has over the median (log): the model is to tell the fast ones apart. */
#define SLOW 0.1
/* Deviations by which every so many-th proposal is too hopeful, so that a model that is sure of itself and wrong is corrected. */
#define BOLD 3
/* Deviations that a certain failure costs a bold proposal; what is left of its improvement otherwise: the best often stand at the very
 * edge of what fails, and trees with few failures to learn from blame too much. */
#define FAILS 1
#define HOPE 0.3

enum { DIVERSE = 8, DIVERSE_OF = 64, LEARN_FROM = 128, CANDIDATES = 1000, LEADERS = 5, BOLD_EVERY = 4, FAIL_TREES = 16,
       FAIL_FROM = 256 };

struct seen { size_t point; double y; /* log time; INFINITY: failed; NAN: still out */ };

struct state {
	struct search_grid grid;
	struct shuffle random;
	struct search_gauss gauss;
	struct search_trees fails; /* 1 where a point failed, 0 where it was timed */
	float *fails_x;          /* FAIL_FROM + 1 points' features: what it learned from, and one to ask about */
	bool failing;            /* something failed: the trees have learned */
	unsigned char *taken;    /* per point: proposed already */
	unsigned *marked;        /* per point: the round in which it became a candidate */
	unsigned round;
	struct seen *seen;
	size_t seen_count;
};

static void *start(const struct search_space *space, size_t budget, uint64_t seed)
{
	struct state *s = MEM_NEW(struct state);
	search_grid_init(&s->grid, space);
	search_shuffle_init(&s->random, space->count, seed);
	search_gauss_init(&s->gauss, s->grid.features, LEARN_FROM);
	search_trees_init(&s->fails, s->grid.features, FAIL_FROM, FAIL_TREES);
	s->fails_x = MEM_NEW_N(float, (FAIL_FROM + 1) * s->grid.features + 1);
	s->taken = MEM_NEW_N(unsigned char, space->count + 1);
	s->marked = MEM_NEW_N(unsigned, space->count + 1);
	(void)budget;
	return s;
}

static void end(void *state)
{
	struct state *s = state;
	search_grid_fini(&s->grid);
	search_shuffle_fini(&s->random);
	search_gauss_fini(&s->gauss);
	search_trees_fini(&s->fails);
	free(s->fails_x);
	free(s->taken);
	free(s->marked);
	free(s->seen);
	free(s);
}

/* The one of some random points that is farthest from all that was proposed. */
static size_t diverse(struct state *s)
{
	size_t best = SEARCH_NONE;
	float best_distance = -1;
	for (int i = 0; i < DIVERSE_OF; i++) {
		size_t p = search_shuffle_below(&s->random, s->grid.space->count);
		float nearest = INFINITY;
		for (size_t k = 0; k < s->seen_count; k++) {
			float distance = 0;
			for (size_t d = 0; d < s->grid.features; d++)
				distance += fabsf(search_grid_feature(&s->grid, p, d) - search_grid_feature(&s->grid, s->seen[k].point, d));
			nearest = fminf(nearest, distance);
		}
		if (!s->taken[p] && (nearest > best_distance || s->seen_count == 0)) {
			best_distance = nearest;
			best = p;
			if (s->seen_count == 0)
				break;
		}
	}
	return best;
}

static int faster_first(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	double s = isnan(x->y) ? INFINITY : x->y, t = isnan(y->y) ? INFINITY : y->y;
	return s != t ? (s > t) - (s < t) : (x->point > y->point) - (x->point < y->point);
}

/* --- learning ------------------------------------------------------------------------------------------------------------ */

static void learn(struct state *s, double *ret_best)
{
	size_t n = s->seen_count < LEARN_FROM ? s->seen_count : LEARN_FROM, good = 0, dims = s->grid.features;
	float *x = MEM_NEW_N(float, n * dims + 1);
	double y[n], worst = -INFINITY, mean, cap, spread = 0;
	/* seen is sorted: the slowest are forgotten first when there are too many. */
	for (size_t i = 0; i < n; i++) {
		y[i] = s->seen[i].y;
		if (isfinite(y[i])) {
			worst = fmax(worst, y[i]);
			good++;
		}
		for (size_t d = 0; d < dims; d++)
			x[i * dims + d] = search_grid_feature(&s->grid, s->seen[i].point, d);
	}
	mean = 0;
	worst = good ? worst : 1;
	cap = good ? y[good / 2] : 1;
	for (size_t i = 0; i < n; i++) {
		y[i] = isfinite(y[i]) ? y[i] : isnan(y[i]) ? cap : worst;
		y[i] = y[i] > cap ? cap + (y[i] - cap) * SLOW : y[i];
		mean += y[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++)
		spread += (y[i] - mean) * (y[i] - mean);
	spread = sqrt(spread / (double)n) + 1e-12;
	for (size_t i = 0; i < n; i++)
		y[i] = (y[i] - mean) / spread;
	size_t work = n * n * n / 6 + n * n * dims, steps = 2000000 / (work + 1);
	search_gauss_fit(&s->gauss, x, y, n, steps < 2 ? 2 : steps > 40 ? 40 : steps, &s->random);
	*ret_best = y[0];
	free(x);
}

/* What fails, from as many timed and failed points as there is room for, the fastest and the failed ones at the end first. */
static void learn_failures(struct state *s)
{
	size_t n = 0, failed = 0, features = s->grid.features;
	double y[FAIL_FROM];
	for (size_t i = 0; i < s->seen_count; i++) {
		/* Sorted: timed, then failed, then out (NaN is sorted as failed). */
		size_t at = i % 2 ? s->seen_count - 1 - i / 2 : i / 2;
		if (isnan(s->seen[at].y) || n == FAIL_FROM)
			continue;
		y[n] = isinf(s->seen[at].y);
		failed += isinf(s->seen[at].y);
		search_grid_features(&s->grid, s->seen[at].point, s->fails_x + n++ * features);
	}
	s->failing = failed > 0;
	if (s->failing)
		search_trees_fit(&s->fails, s->fails_x, y, n, 1, &s->random);
}

static double chance_of_failure(struct state *s, size_t point)
{
	float *x = s->fails_x + FAIL_FROM * s->grid.features;
	if (!s->failing)
		return 0;
	search_grid_features(&s->grid, point, x);
	return search_trees_predict(&s->fails, x, NULL);
}

/* --- candidates ---------------------------------------------------------------------------------------------------------- */

static void add(struct state *s, size_t p, size_t **points, size_t *count)
{
	if (p == SEARCH_NONE || s->taken[p] || s->marked[p] == s->round)
		return;
	s->marked[p] = s->round;
	*MEM_PUSH(*points, *count) = p;
}

static size_t candidates(struct state *s, size_t **points)
{
	size_t count = 0, near_count = 0, *near = NULL;
	s->round++;
	for (size_t i = 0; i < LEADERS && i < s->seen_count; i++) {
		search_grid_neighbours(&s->grid, s->seen[i].point, &near, &near_count);
		for (int k = 0; k < 40; k++)
			add(s, search_grid_jump(&s->grid, &s->random, s->seen[i].point, 2 + (size_t)k % 2), points, &count);
	}
	for (size_t i = 0; i < near_count; i++)
		add(s, near[i], points, &count);
	free(near);
	for (int i = 0; i < 2 * CANDIDATES && count < CANDIDATES; i++)
		add(s, search_shuffle_below(&s->random, s->grid.space->count), points, &count);
	return count;
}

static double improvement(double best, double mean, double deviation)
{
	double z = (best - mean) / deviation;
	return (best - mean) * 0.5 * erfc(-z * M_SQRT1_2) + deviation * exp(-0.5 * z * z) * 0.3989422804014327;
}

static size_t most_promising(struct state *s, double best)
{
	size_t *points = NULL, count = candidates(s, &points), found = SEARCH_NONE;
	double found_gain = -INFINITY;
	bool bold = s->seen_count % BOLD_EVERY == 0;
	float (*x)[GAUSS_LANES] = mem_new(s->grid.features + 1, sizeof *x), mean[GAUSS_LANES], deviation[GAUSS_LANES];
	for (size_t at = 0; at < count; at += GAUSS_LANES) {
		for (size_t l = 0; l < GAUSS_LANES; l++)
			for (size_t d = 0; d < s->grid.features; d++)
				x[d][l] = search_grid_feature(&s->grid, points[at + l < count ? at + l : at], d);
		search_gauss_predict(&s->gauss, x, mean, deviation);
		for (size_t l = 0; l < GAUSS_LANES && at + l < count; l++) {
			double fails = chance_of_failure(s, points[at + l]);
			double gain = bold ? BOLD * deviation[l] - mean[l] - FAILS * fails
			                   : improvement(best, mean[l], deviation[l]) * fmax(1 - fails, HOPE);
			if (gain > found_gain) {
				found_gain = gain;
				found = points[at + l];
			}
		}
	}
	free(x);
	free(points);
	return found;
}

/* --- the strategy -------------------------------------------------------------------------------------------------------- */

static size_t ask(void *state)
{
	struct state *s = state;
	size_t point = SEARCH_NONE, good = 0;
	double best;
	for (size_t i = 0; i < s->seen_count; i++)
		good += isfinite(s->seen[i].y);
	if (s->seen_count < DIVERSE || good < 2) {
		point = diverse(s);
	} else {
		qsort(s->seen, s->seen_count, sizeof *s->seen, faster_first);
		learn(s, &best);
		learn_failures(s);
		point = most_promising(s, best);
	}
	while (point == SEARCH_NONE || s->taken[point]) {
		point = search_shuffle_draw(&s->random);
		if (point == SEARCH_NONE)
			return SEARCH_NONE;
	}
	s->taken[point] = 1;
	*MEM_PUSH(s->seen, s->seen_count) = (struct seen){ point, NAN };
	return point;
}

static void tell(void *state, size_t point, double ns)
{
	struct state *s = state;
	s->taken[point] = 1;
	size_t i = 0;
	while (i < s->seen_count && s->seen[i].point != point)
		i++;
	if (i == s->seen_count)
		*MEM_PUSH(s->seen, s->seen_count) = (struct seen){ point, NAN };
	s->seen[i].y = isfinite(ns) && ns > 0 ? log(ns) : INFINITY;
}

const struct search_strategy search_bayes = {
	.name = "bayes", .summary = "most expected improvement under a Gaussian process", .start = start, .ask = ask, .tell = tell,
	.end = end,
};
