/* search_bayes: expected improvement (Jones, Schonlau, Welch 1998) under a Gaussian process, over the neighbourhoods
 * of the fastest points and random points. After 20 points every fourth proposal comes from extremely randomised
 * trees instead, because one model's blind spot is seldom the other's. Failures count as the slowest time; trees
 * learn what fails, and weight the improvement by the probability of success (BaCO: Hellsten et al., ASPLOS 2023).
 * Points still out count as the median of the known times (a constant liar: Ginsbourger, Le Riche, Carraro 2010).
 * See search.h. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/search/gauss.h"
#include "core/search/grid.h"
#include "core/search/trees.h"

/* The part of a logarithmic time above the median that remains: the process is to tell the fast points apart. */
#define SLOW 0.1
/* The least part of an improvement that remains, however likely a failure is. The best points often lie at the very
 * edge of what fails, and trees that saw few failures blame too much. */
#define HOPE 0.3

enum {
	DIVERSE = 8,
	DIVERSE_OF = 64,
	LEARN_FROM = 128,
	CANDIDATES = 700,
	LEADERS = 5,
	JUMPS = 40,
	FOREST_EVERY = 4,
	FOREST_AFTER = 20,
	FOREST_FROM = 256,
	FOREST_LEAF = 2,
	FOREST_TREES = 20,
	FAIL_TREES = 16
};

struct seen {
	size_t point;
	double y; /* log time; INFINITY: failed; NAN: still out */
};

struct state {
	struct search_grid grid;
	struct search_shuffle random;
	struct search_gauss gauss;
	struct search_trees forest; /* predicts log times */
	struct search_trees fails;  /* predicts 1 for a failure, 0 for a success */
	bool failing;               /* something failed, so `fails` was fitted */
	float *x;                   /* features: FOREST_FROM + 1 points, the last to ask about */
	unsigned char *taken;       /* per point: proposed already */
	unsigned *marked;           /* per point: the round in which it became a candidate */
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
	search_trees_init(&s->forest, s->grid.features, FOREST_FROM, FOREST_TREES);
	search_trees_init(&s->fails, s->grid.features, FOREST_FROM, FAIL_TREES);
	s->x = MEM_NEW_N(float, (FOREST_FROM + 1) * s->grid.features + 1);
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
	search_trees_fini(&s->forest);
	search_trees_fini(&s->fails);
	free(s->x);
	free(s->taken);
	free(s->marked);
	free(s->seen);
	free(s);
}

/* Of some random points, the one farthest from all that were proposed. */
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
				distance += fabsf(search_grid_feature(&s->grid, p, d) -
						  search_grid_feature(&s->grid, s->seen[k].point, d));
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

/* --- learning; `seen` is sorted, `good` of its points were timed -------------------------------------------------- */

/* Fits the process to the LEARN_FROM fastest points, which bounds the cost of a proposal. Returns the best value, in
 * its units. */
static double learn_times(struct state *s, size_t good)
{
	size_t n = s->seen_count < LEARN_FROM ? s->seen_count : LEARN_FROM, dims = s->grid.features;
	good = good < n ? good : n;
	float *x = MEM_NEW_N(float, n *dims + 1);
	double y[n], worst = s->seen[good - 1].y, cap = s->seen[good / 2].y, mean = 0, spread = 0;
	for (size_t i = 0; i < n; i++) {
		y[i] = s->seen[i].y;
		y[i] = isfinite(y[i]) ? y[i] : isnan(y[i]) ? cap : worst;
		y[i] = y[i] > cap ? cap + (y[i] - cap) * SLOW : y[i];
		mean += y[i] / (double)n;
		search_grid_features(&s->grid, s->seen[i].point, x + i * dims);
	}
	for (size_t i = 0; i < n; i++)
		spread += (y[i] - mean) * (y[i] - mean);
	spread = sqrt(spread / (double)n) + 1e-12;
	for (size_t i = 0; i < n; i++)
		y[i] = (y[i] - mean) / spread;
	size_t work = n * n * n / 6 + n * n * dims, steps = 1000000 / (work + 1);
	search_gauss_fit(&s->gauss, x, y, n, steps < 1 ? 1 : steps > 40 ? 40 : steps, &s->random);
	free(x);
	return y[0];
}

/* Fits trees to what fails: to the fastest points and to those that failed, alternately. */
static void learn_failures(struct state *s)
{
	size_t n = 0, failed = 0;
	double y[FOREST_FROM];
	for (size_t i = 0; i < s->seen_count && n < FOREST_FROM; i++) {
		/* Failures are sorted to the end, with the points still out. */
		const struct seen *seen = &s->seen[i % 2 ? s->seen_count - 1 - i / 2 : i / 2];
		if (isnan(seen->y))
			continue;
		y[n] = isinf(seen->y);
		failed += isinf(seen->y);
		search_grid_features(&s->grid, seen->point, s->x + n++ * s->grid.features);
	}
	s->failing = failed > 0;
	if (s->failing)
		search_trees_fit(&s->fails, s->x, y, n, 1, &s->random);
}

static double predict(struct state *s, const struct search_trees *trees, size_t point, double *ret_deviation)
{
	float *x = s->x + FOREST_FROM * s->grid.features;
	search_grid_features(&s->grid, point, x);
	return search_trees_predict(trees, x, ret_deviation);
}

/* --- candidates --------------------------------------------------------------------------------------------------- */

static void add(struct state *s, size_t p, size_t **points, size_t *count)
{
	if (p == SEARCH_NONE || s->taken[p] || s->marked[p] == s->round)
		return;
	s->marked[p] = s->round;
	*MEM_PUSH(*points, *count) = p;
}

/* Points near the fastest and random ones, each once, none proposed before. */
static size_t candidates(struct state *s, size_t **points)
{
	size_t count = 0, near_count = 0, *near = NULL;
	s->round++;
	for (size_t i = 0; i < LEADERS && i < s->seen_count; i++) {
		search_grid_neighbours(&s->grid, s->seen[i].point, &near, &near_count);
		for (int k = 0; k < JUMPS; k++)
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

struct hope {
	size_t at;
	double most;
};

static int most_first(const void *a, const void *b)
{
	const struct hope *x = a, *y = b;
	return x->most != y->most ? (x->most < y->most) - (x->most > y->most) : (x->at > y->at) - (x->at < y->at);
}

/* The candidate with the largest expected improvement. Deviations are expensive, so candidates are visited in the
 * order of the most that they could gain, until that is less than what was found. */
static size_t by_process(struct state *s, double best)
{
	size_t *points = NULL, count = candidates(s, &points), found = SEARCH_NONE, dims = s->grid.features;
	size_t stride = (count + GAUSS_LANES - 1) / GAUSS_LANES * GAUSS_LANES;
	double found_gain = -INFINITY;
	float *x = MEM_NEW_N(float, stride *dims + 1), *mean = MEM_NEW_N(float, stride + 1),
	      *nearest = MEM_NEW_N(float, stride + 1);
	struct hope *hopes = MEM_NEW_N(struct hope, count + 1);
	for (size_t d = 0; d < dims; d++)
		for (size_t i = 0; i < count; i++)
			x[d * stride + i] = search_grid_feature(&s->grid, points[i], d);
	search_gauss_mean(&s->gauss, x, stride, count, mean, nearest);
	for (size_t i = 0; i < count; i++)
		hopes[i] = (struct hope){ i, improvement(best, mean[i], search_gauss_most(&s->gauss, nearest[i])) };
	qsort(hopes, count, sizeof hopes[0], most_first);
	for (size_t from = 0; from < count && hopes[from].most > found_gain; from += GAUSS_LANES) {
		size_t which[GAUSS_LANES];
		float deviation[GAUSS_LANES];
		for (size_t l = 0; l < GAUSS_LANES; l++)
			which[l] = hopes[from + l < count ? from + l : from].at;
		search_gauss_deviation(&s->gauss, x, stride, which, deviation);
		for (size_t l = 0; l < GAUSS_LANES; l++) {
			double gain = improvement(best, mean[which[l]], deviation[l]);
			if (s->failing && gain > found_gain)
				gain *= fmax(1 - predict(s, &s->fails, points[which[l]], NULL), HOPE);
			if (gain > found_gain) {
				found_gain = gain;
				found = points[which[l]];
			}
		}
	}
	free(x);
	free(mean);
	free(nearest);
	free(hopes);
	free(points);
	return found;
}

/* --- the strategy ------------------------------------------------------------------------------------------------- */

static size_t ask(void *state)
{
	struct state *s = state;
	size_t point = SEARCH_NONE, good = 0;
	for (size_t i = 0; i < s->seen_count; i++)
		good += isfinite(s->seen[i].y);
	if (s->seen_count > 0)
		qsort(s->seen, s->seen_count, sizeof *s->seen, faster_first);
	if (s->seen_count < DIVERSE || good < 2) {
		point = diverse(s);
	} else if (s->seen_count >= FOREST_AFTER && s->seen_count % FOREST_EVERY == FOREST_EVERY - 1) {
		/* Fits trees to the fastest FOREST_FROM points that are not out. */
		size_t n = 0;
		double y[FOREST_FROM];
		for (size_t i = 0; i < s->seen_count && n < FOREST_FROM; i++) {
			if (isnan(s->seen[i].y))
				continue;
			y[n] = s->seen[i < good ? i : good - 1].y;
			search_grid_features(&s->grid, s->seen[i].point, s->x + n++ * s->grid.features);
		}
		search_trees_fit(&s->forest, s->x, y, n, FOREST_LEAF, &s->random);
		/* The candidate with the least mean minus deviation. */
		size_t *points = NULL, count = candidates(s, &points), found = SEARCH_NONE;
		double least = INFINITY, deviation;
		for (size_t i = 0; i < count; i++) {
			double value = predict(s, &s->forest, points[i], &deviation) - deviation;
			if (value < least) {
				least = value;
				found = points[i];
			}
		}
		free(points);
		point = found;
	} else {
		double best = learn_times(s, good);
		learn_failures(s);
		point = by_process(s, best);
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

const struct search_strategy search_bayes = { .name = "bayes", .start = start, .ask = ask, .tell = tell, .end = end };
