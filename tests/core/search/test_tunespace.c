/* core/search/tunespace: a search sees exactly the points of the space, and the point nearest to another context's
 * winner is the one that a plain loop finds. */
#include "core/search/tunespace.h"

#include <math.h>

#include "core/context/sample.h"
#include "tap.h"

static const char fields[] =
	"tune:\n  BX: {64, 8, 16, 32, 4}\n  BY: 1<<i for i = 0,6\n  U: {1, 2, BX}\n  S: {0.5, 1, 2}\nwhere:\n"
	"  - BX*BY <= 512\n  - BX ~= 4\n  - U <= BY\n";

static double value_of(const struct params *p, const char *name)
{
	const struct param *at = params_find(p, name);
	return at->is_float ? at->f : (double)at->i;
}

static void points(const struct tunespace *t)
{
	const struct search_space *s = tunespace_search(t);
	size_t wrong = 0, unsorted = 0, unused = 0;
	for (size_t d = 0; d < s->dims; d++) {
		bool used[64] = { false };
		for (size_t p = 0; p < s->count; p++)
			used[s->points[p * s->dims + d]] = true;
		for (size_t i = 0; i < s->value_counts[d]; i++) {
			unsorted += i > 0 && s->values[d][i] <= s->values[d][i - 1];
			unused += !used[i];
		}
	}
	for (size_t p = 0; p < s->count; p++) {
		struct params *params = tunespace_at(t, p);
		for (size_t d = 0; d < s->dims; d++)
			wrong += s->values[d][s->points[p * s->dims + d]] != value_of(params, tunespace_name(t, d));
		wrong += tunespace_point(t, params) != p;
		params_free(params);
	}
	ok(s->dims == 4 && s->count > 100, "the space has %zu points", s->count);
	is_int(wrong, 0, "each point stands for its parameters");
	is_int(unsorted, 0, "values ascend");
	is_int(unused, 0, "each value occurs in a point");
	is_int(s->value_counts[0], 4, "a value that a constraint forbids is left out");
}

static double cost_of(const struct params *p, const char *name, double wanted)
{
	return fabs(log2((fabs(value_of(p, name)) + 1) / (fabs(wanted) + 1)));
}

static void nearest(const struct tunespace *t)
{
	struct params *like = params_new();
	double least = INFINITY, found = 0;
	size_t equal = 0, distinct = 0, got[8];
	params_set_int(like, "BX", true, 48);
	params_set_int(like, "BY", true, 5);
	params_set_int(like, "GONE", true, 7);
	for (size_t p = 0; p < tunespace_search(t)->count; p++) {
		struct params *params = tunespace_at(t, p);
		double cost = cost_of(params, "BX", 48) + cost_of(params, "BY", 5);
		equal = cost < least ? 1 : equal + (cost == least);
		least = fmin(least, cost);
		params_free(params);
	}
	for (size_t turn = 0; turn < MEM_COUNT(got); turn++) {
		got[turn] = tunespace_nearest(t, like, turn);
		struct params *params = got[turn] == SEARCH_NONE ? NULL : tunespace_at(t, got[turn]);
		double cost = params ? cost_of(params, "BX", 48) + cost_of(params, "BY", 5) : INFINITY;
		found = fmax(found, cost);
		bool again = false;
		for (size_t k = 0; k < turn; k++)
			again = again || got[k] == got[turn];
		distinct += !again;
		params_free(params);
	}
	ok(fabs(found - least) < 1e-12, "the nearest point is as near as possible in the shared parameters (%.3f)",
	   least);
	ok(equal >= 6 && distinct == (equal < 8 ? equal : 8),
	   "winners spread over the %zu points that differ in new parameters: %zu of 8", equal, distinct);
	params_free(like);
	like = params_new();
	params_set_int(like, "GONE", true, 7);
	ok(tunespace_nearest(t, like, 0) == SEARCH_NONE, "no point is near when no parameter is shared");
	params_free(like);
}

int main(void)
{
	struct context *ctx = sample_context("cuda", fields, "launch(\"k\", {1}, {1}, {A, C, n})\n");
	struct params *size = params_new();
	struct tunespace *t = NULL;
	struct err e = ERR_INIT;
	params_set_int(size, "n", false, 64);
	if (!ok(tunespace_new(ctx, NULL, size, &t, &e) == 0, "a space is made %s", e.text))
		return tap_done();
	points(t);
	nearest(t);
	tunespace_free(t);
	params_free(size);
	context_free(ctx);
	return tap_done();
}
