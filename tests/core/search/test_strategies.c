/* core/eval/search: the order of trying: every point once, preferred ones first, within the budget, and better than chance on a
 * landscape that has a direction. */
#include "core/search/search.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tap.h"

enum { SIDE = 20, POINTS = SIDE * SIDE };

/* A square grid; points[i] = (i / SIDE, i % SIDE). */
static struct search_space grid(uint16_t points[2 * POINTS])
{
	for (int i = 0; i < POINTS; i++) {
		points[2 * i] = (uint16_t)(i / SIDE);
		points[2 * i + 1] = (uint16_t)(i % SIDE);
	}
	return (struct search_space){ .count = POINTS, .dims = 2, .points = points };
}

/* A bowl around (13, 6). */
static double bowl(const struct search_space *s, size_t p)
{
	double x = s->points[2 * p] - 13.0, y = s->points[2 * p + 1] - 6.0;
	return 100 + x * x + y * y;
}

/* Asks until the end; returns the number of points, and the best that was found. Up to `out` points are out at once. */
static size_t drive(struct search *s, const struct search_space *space, size_t out, double *ret_best, bool *ret_twice)
{
	unsigned char seen[POINTS] = { 0 };
	size_t queue[8], queued = 0, count = 0, p;
	*ret_best = INFINITY;
	*ret_twice = false;
	for (;;) {
		p = search_ask(s);
		if (p != SEARCH_NONE) {
			*ret_twice = *ret_twice || seen[p]++;
			queue[queued++] = p;
			count++;
		}
		if (p == SEARCH_NONE && queued == 0)
			return count;
		if (p == SEARCH_NONE || queued == out) {
			double ns = bowl(space, queue[0]);
			*ret_best = ns < *ret_best ? ns : *ret_best;
			search_tell(s, queue[0], ns);
			memmove(queue, queue + 1, --queued * sizeof queue[0]);
		}
	}
}

static double best_of(const char *strategy, const struct search_space *space, size_t budget, uint64_t seed)
{
	struct search *s = NULL;
	struct err e = ERR_INIT;
	double best;
	bool twice;
	if (search_new(strategy, space, budget, seed, &s, &e) < 0)
		return INFINITY;
	if (drive(s, space, 3, &best, &twice) != budget || twice)
		best = INFINITY;
	search_free(s);
	return best;
}

static void local_beats_random(const struct search_space *space)
{
	double local = 0, random = 0;
	int wins = 0;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		double l = best_of("local", space, 40, seed), r = best_of("random", space, 40, seed);
		local += l;
		random += r;
		wins += l <= r;
	}
	ok(local < random, "local finds better points than random in 40 of 400 tries (mean %.1f against %.1f)", local / 30, random / 30);
	ok(wins >= 20, "in most of 30 seeds (%d)", wins);
}

static void every_point_once(const struct search_space *space, const char *strategy)
{
	struct search *s = NULL;
	struct err e = ERR_INIT;
	double best;
	bool twice;
	search_new(strategy, space, POINTS + 50, 7, &s, &e);
	search_prefer(s, 17);
	search_prefer(s, 17);
	search_prefer(s, 3);
	is_int((long long)drive(s, space, 4, &best, &twice), POINTS, "%s: a budget beyond the space tries all of it", strategy);
	ok(!twice, "%s: no point twice", strategy);
	ok(best == 100, "%s: so the best is found", strategy);
	search_free(s);
}

static void preferred(const struct search_space *space)
{
	struct search *s = NULL;
	struct err e = ERR_INIT;
	search_new("local", space, 2, 7, &s, &e);
	for (size_t p = 50; p < 55; p++)
		search_prefer(s, p);
	is_int((long long)search_ask(s), 50, "preferred points come first");
	is_int((long long)search_ask(s), 51, "in their order");
	ok(search_ask(s) == SEARCH_NONE, "and count against the budget");
	search_free(s);
	search_new("exhaustive", space, 3, 7, &s, &e);
	search_prefer(s, 1);
	is_int((long long)search_ask(s), 1, "exhaustive: the preferred one");
	is_int((long long)search_ask(s), 0, "then the others in order");
	is_int((long long)search_ask(s), 2, "without that one");
	search_free(s);
}

static void failures(const struct search_space *space)
{
	struct search *s = NULL;
	struct err e = ERR_INIT;
	size_t count = 0, p;
	search_new("local", space, 60, 7, &s, &e);
	while ((p = search_ask(s)) != SEARCH_NONE) {
		search_tell(s, p, INFINITY);
		count++;
	}
	is_int((long long)count, 60, "local goes on when everything fails");
	search_free(s);
}

int main(void)
{
	static uint16_t points[2 * POINTS];
	struct search_space space = grid(points), one = { .count = 1, .dims = 0, .points = points };
	struct search *s = NULL;
	struct err e = ERR_INIT;
	every_point_once(&space, "exhaustive");
	every_point_once(&space, "random");
	every_point_once(&space, "local");
	preferred(&space);
	failures(&space);
	local_beats_random(&space);
	ok(search_new("auto", &one, 128, 1, &s, &e) == 0 && search_ask(s) == 0 && search_ask(s) == SEARCH_NONE,
	   "a context without tuning parameters is one point");
	is_str(search_name(s), "exhaustive", "auto: exhaustive when the budget covers the space");
	search_free(s);
	search_new("auto", &space, 10, 1, &s, &e);
	is_str(search_name(s), "bayes", "auto: bayes otherwise");
	search_free(s);
	is_int(search_new("clever", &space, 10, 1, &s, &e), -ERR_INPUT, "an unknown strategy is refused");
	has_str(e.text, "local", "and the message lists those that there are");
	return tap_done();
}
