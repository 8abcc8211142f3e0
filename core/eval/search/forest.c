/* forest: Geurts, Ernst, Wehenkel, "Extremely randomized trees" (Machine Learning 63, 2006): random cuts, the best of a few by the
 * variance that it explains. Scored are the neighbours of the fastest points and random ones; see forest.h. */
#include "core/eval/search/forest.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/eval/search/past.h"

enum { STARTS = 8, TREES = 32, LEARN_FROM = 256, LEAF = 2, LEADERS = 5, RANDOM = 300 };

struct node { size_t feature; float cut; double mean; size_t low, high; /* children; 0: a leaf */ };

struct state {
	struct search_past past;
	size_t asked;
	size_t *rows;             /* of told, as the tree in work divides them */
	double *y;                /* per row: log time; a failure counts as the slowest */
	struct node *nodes;
	size_t node_count, roots[TREES];
};

static void *start(const struct search_space *space, size_t budget, uint64_t seed)
{
	struct state *s = MEM_NEW(struct state);
	search_past_init(&s->past, space, seed);
	s->rows = MEM_NEW_N(size_t, LEARN_FROM);
	s->y = MEM_NEW_N(double, LEARN_FROM);
	s->nodes = MEM_NEW_N(struct node, 2 * LEARN_FROM * TREES);
	(void)budget;
	return s;
}

static void end(void *state)
{
	struct state *s = state;
	search_past_fini(&s->past);
	free(s->rows);
	free(s->y);
	free(s->nodes);
	free(s);
}

static float feature(const struct state *s, size_t row, size_t f)
{
	return search_grid_feature(&s->past.grid, s->past.told[row].point, f);
}

/* A random cut of one feature between the least and the greatest of the rows; what it explains, or -1 where all are alike. */
static double try_cut(struct state *s, const size_t *rows, size_t n, size_t f, float *ret_cut)
{
	float low = INFINITY, high = -INFINITY;
	double sum[2] = { 0 }, count[2] = { 0 };
	for (size_t i = 0; i < n; i++) {
		low = fminf(low, feature(s, rows[i], f));
		high = fmaxf(high, feature(s, rows[i], f));
	}
	if (!(low < high))
		return -1;
	*ret_cut = low + (high - low) * (float)search_past_uniform(&s->past);
	for (size_t i = 0; i < n; i++) {
		int side = feature(s, rows[i], f) > *ret_cut;
		sum[side] += s->y[rows[i]];
		count[side]++;
	}
	if (count[0] == 0 || count[1] == 0)
		return -1;
	return count[0] * count[1] * pow(sum[0] / count[0] - sum[1] / count[1], 2);
}

static size_t grow(struct state *s, size_t *rows, size_t n)
{
	size_t at = s->node_count++, features = s->past.grid.features, low = 0;
	struct node node = { .mean = 0 };
	double found = -1;
	for (size_t i = 0; i < n; i++)
		node.mean += s->y[rows[i]] / (double)n;
	for (size_t f = 0; n > LEAF && f < features; f++) {
		float cut = 0;
		double gain = try_cut(s, rows, n, f, &cut);
		if (gain > found) {
			found = gain;
			node.feature = f;
			node.cut = cut;
		}
	}
	if (found > 0) {
		for (size_t i = 0; i < n; i++)
			if (feature(s, rows[i], node.feature) <= node.cut) {
				size_t row = rows[i];
				rows[i] = rows[low];
				rows[low++] = row;
			}
		node.low = grow(s, rows, low);
		node.high = grow(s, rows + low, n - low);
	}
	s->nodes[at] = node;
	return at;
}

static void learn(struct state *s)
{
	size_t n = s->past.told_count < LEARN_FROM ? s->past.told_count : LEARN_FROM;
	double worst = 0;
	for (size_t i = 0; i < n; i++) {
		double ns = s->past.told[i].ns;
		worst = isfinite(ns) ? log(ns) : worst;
		s->y[i] = worst; /* told is sorted: failures stand behind the slowest */
	}
	s->node_count = 0;
	for (size_t t = 0; t < TREES; t++) {
		for (size_t i = 0; i < n; i++)
			s->rows[i] = i;
		s->roots[t] = grow(s, s->rows, n);
	}
}

/* The trees' mean less their disagreement: low is promising. */
static double score(const struct state *s, size_t point)
{
	double sum = 0, squares = 0;
	for (size_t t = 0; t < TREES; t++) {
		const struct node *node = &s->nodes[s->roots[t]];
		while (node->low)
			node = &s->nodes[search_grid_feature(&s->past.grid, point, node->feature) <= node->cut ? node->low : node->high];
		sum += node->mean;
		squares += node->mean * node->mean;
	}
	sum /= TREES;
	return sum - sqrt(fmax(squares / TREES - sum * sum, 0));
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
