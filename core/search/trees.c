/* trees: random cuts, the best of one per feature by the variance that it explains; see trees.h. */
#include "core/search/trees.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

void search_trees_init(struct search_trees *t, size_t dims, size_t room, size_t trees)
{
	*t = (struct search_trees){ .dims = dims, .room = room, .trees = trees };
	t->nodes = MEM_NEW_N(struct search_node, 2 * room * trees + 1);
	t->roots = MEM_NEW_N(unsigned, trees + 1);
	t->rows = MEM_NEW_N(size_t, room + 1);
}

void search_trees_fini(struct search_trees *t)
{
	free(t->nodes);
	free(t->roots);
	free(t->rows);
	*t = (struct search_trees){ 0 };
}

/* A random cut of one feature between the least and the greatest of the rows; what it explains, or -1 where all are alike. */
static double try_cut(const struct search_trees *t, const size_t *rows, size_t n, size_t f, struct shuffle *random, float *ret_cut)
{
	float low = INFINITY, high = -INFINITY;
	double sum[2] = { 0 }, count[2] = { 0 };
	for (size_t i = 0; i < n; i++) {
		float x = t->x[rows[i] * t->dims + f];
		low = x < low ? x : low;
		high = x > high ? x : high;
	}
	if (!(low < high))
		return -1;
	*ret_cut = low + (high - low) * (float)search_shuffle_uniform(random);
	for (size_t i = 0; i < n; i++) {
		int side = t->x[rows[i] * t->dims + f] > *ret_cut;
		sum[side] += t->y[rows[i]];
		count[side]++;
	}
	if (count[0] == 0 || count[1] == 0)
		return -1;
	double apart = sum[0] / count[0] - sum[1] / count[1];
	return count[0] * count[1] * apart * apart;
}

static int all_equal(const struct search_trees *t, const size_t *rows, size_t n)
{
	size_t i = 1;
	while (i < n && t->y[rows[i]] == t->y[rows[0]])
		i++;
	return i == n;
}

static unsigned grow(struct search_trees *t, size_t *rows, size_t n, size_t leaf, struct shuffle *random)
{
	unsigned at = t->node_count++;
	size_t low = 0;
	struct search_node node = { .mean = 0 };
	double found = 0;
	for (size_t i = 0; i < n; i++)
		node.mean += t->y[rows[i]] / (double)n;
	if (n <= leaf || all_equal(t, rows, n)) {
		t->nodes[at] = node;
		return at;
	}
	for (size_t f = 0; f < t->dims; f++) {
		float cut = 0;
		double gain = try_cut(t, rows, n, f, random, &cut);
		if (gain > found) {
			found = gain;
			node.feature = (unsigned)f;
			node.cut = cut;
		}
	}
	if (found > 0) {
		for (size_t i = 0; i < n; i++)
			if (t->x[rows[i] * t->dims + node.feature] <= node.cut) {
				size_t row = rows[i];
				rows[i] = rows[low];
				rows[low++] = row;
			}
		node.low = grow(t, rows, low, leaf, random);
		node.high = grow(t, rows + low, n - low, leaf, random);
	}
	t->nodes[at] = node;
	return at;
}

void search_trees_fit(struct search_trees *t, const float *x, const double *y, size_t count, size_t leaf, struct shuffle *random)
{
	size_t n = count < t->room ? count : t->room;
	assert(n > 0);
	t->x = x;
	t->y = y;
	t->node_count = 0;
	for (size_t k = 0; k < t->trees; k++) {
		for (size_t i = 0; i < n; i++)
			t->rows[i] = i;
		t->roots[k] = grow(t, t->rows, n, leaf, random);
	}
	t->x = NULL;
	t->y = NULL;
}

double search_trees_predict(const struct search_trees *t, const float *x, double *ret_deviation)
{
	double sum = 0, squares = 0, trees = (double)t->trees;
	assert(t->node_count > 0);
	for (size_t k = 0; k < t->trees; k++) {
		const struct search_node *node = &t->nodes[t->roots[k]];
		while (node->low)
			node = &t->nodes[x[node->feature] <= node->cut ? node->low : node->high];
		sum += node->mean;
		squares += node->mean * node->mean;
	}
	sum /= trees;
	if (ret_deviation)
		*ret_deviation = sqrt(fmax(squares / trees - sum * sum, 0));
	return sum;
}
