/* trees: see trees.h. A cut is the best of one random cut per feature, by the variance that it explains. */
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
	t->columns = MEM_NEW_N(float, dims *room + 1);
	t->y = MEM_NEW_N(float, room + 1);
	t->rows = MEM_NEW_N(unsigned, room + 1);
}

void search_trees_fini(struct search_trees *t)
{
	free(t->nodes);
	free(t->roots);
	free(t->columns);
	free(t->y);
	free(t->rows);
	*t = (struct search_trees){ 0 };
}

/* A random cut of one feature between the least and the greatest of the rows. Returns what it explains; 0 when all
 * rows are alike. */
static float try_cut(const struct search_trees *t, const unsigned *rows, size_t n, const float *column, float total, float *ret_cut)
{
	float low = column[rows[0]], high = low, sum = 0;
	size_t count = 0;
	for (size_t i = 1; i < n; i++) {
		float x = column[rows[i]];
		low = x < low ? x : low;
		high = x > high ? x : high;
	}
	if (!(low < high))
		return 0;
	float cut = *ret_cut = low + (high - low) * (float)search_shuffle_uniform(t->random);
	for (size_t i = 0; i < n; i++) {
		/* No branch: which side a point falls on cannot be predicted. */
		int below = column[rows[i]] <= cut;
		sum += t->y[rows[i]] * (float)below;
		count += (size_t)below;
	}
	if (count == 0 || count == n)
		return 0;
	float below = (float)count, above = (float)(n - count), apart = sum / below - (total - sum) / above;
	return below * above * apart * apart;
}

static void grow(struct search_trees *t, unsigned at, unsigned *rows, size_t n)
{
	float total = 0, least = INFINITY, most = -INFINITY, found = 0, cut;
	for (size_t i = 0; i < n; i++) {
		float y = t->y[rows[i]];
		total += y;
		least = y < least ? y : least;
		most = y > most ? y : most;
	}
	struct search_node node = { .value = total / (float)n };
	size_t low = 0;
	for (size_t f = 0; f < t->dims && n > t->leaf && least < most; f++) {
		float gain = try_cut(t, rows, n, t->columns + f * t->room, total, &cut);
		if (gain > found) {
			found = gain;
			node.feature = (unsigned)f;
			node.value = cut;
		}
	}
	if (found > 0) {
		const float *column = t->columns + node.feature * t->room;
		for (size_t i = 0; i < n; i++) {
			unsigned row = rows[i];
			rows[i] = rows[low];
			rows[low] = row;
			low += column[row] <= node.value;
		}
		node.low = t->node_count;
		t->node_count += 2;
		grow(t, node.low, rows, low);
		grow(t, node.low + 1, rows + low, n - low);
	}
	t->nodes[at] = node;
}

void search_trees_fit(struct search_trees *t, const float *x, const double *y, size_t count, size_t leaf,
		      struct search_shuffle *random)
{
	size_t n = count < t->room ? count : t->room;
	assert(n > 0);
	t->leaf = leaf;
	t->random = random;
	t->node_count = 0;
	for (size_t i = 0; i < n; i++) {
		t->y[i] = (float)y[i];
		for (size_t f = 0; f < t->dims; f++)
			t->columns[f * t->room + i] = x[i * t->dims + f];
	}
	for (size_t k = 0; k < t->trees; k++) {
		for (size_t i = 0; i < n; i++)
			t->rows[i] = (unsigned)i;
		t->roots[k] = t->node_count++;
		grow(t, t->roots[k], t->rows, n);
	}
}

double search_trees_predict(const struct search_trees *t, const float *x, double *ret_deviation)
{
	double sum = 0, squares = 0, trees = (double)t->trees;
	assert(t->node_count > 0);
	for (size_t k = 0; k < t->trees; k++) {
		const struct search_node *node = &t->nodes[t->roots[k]];
		while (node->low)
			node = &t->nodes[node->low + (x[node->feature] > node->value)];
		sum += (double)node->value;
		squares += (double)node->value * (double)node->value;
	}
	sum /= trees;
	if (ret_deviation)
		*ret_deviation = sqrt(fmax(squares / trees - sum * sum, 0));
	return sum;
}
