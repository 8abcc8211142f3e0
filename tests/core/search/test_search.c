/* Every strategy on a made-up space with a known best: each point at most once, the same order for the same seed, failures and
 * results out of order are borne, and the guided ones beat chance. */
#include <math.h>

#include "base/mem.h"
#include "core/search/search.h"
#include "core/search/simulate.h"
#include "tap.h"

enum { SIZE = 8, DIMS = 4, POINTS = SIZE * SIZE * SIZE * SIZE / 2, BUDGET = 100, SEEDS = 5 };

static const char *const names[] = { "exhaustive", "random", "auto", "bayes", "local", "annealing", "genetic", "differential",
	                             "tabu", "bandit", "forest" };
static uint16_t points[POINTS * DIMS];
static double times[POINTS];

/* A bowl with its bottom at 5, 2, 6, 1; every second point is not in the space and a tenth fails. */
static struct search_space make(void)
{
	static const int bottom[DIMS] = { 5, 2, 6, 1 };
	size_t n = 0;
	for (int i = 0; n < POINTS; i++) {
		int at[DIMS] = { i % 8, i / 8 % 8, i / 64 % 8, i / 512 % 8 }, sum = at[0] + at[1] + at[2] + at[3];
		if (sum % 2)
			continue;
		times[n] = 1;
		for (int d = 0; d < DIMS; d++) {
			points[n * DIMS + (size_t)d] = (uint16_t)at[d];
			times[n] += abs(at[d] - bottom[d]);
		}
		if (times[n] > 1 && i % 10 == 3)
			times[n] = INFINITY;
		n++;
	}
	return (struct search_space){ .count = POINTS, .dims = DIMS, .points = points };
}

static double run(const char *name, const struct search_space *space, size_t budget, uint64_t seed, double *told, size_t *ret_n)
{
	struct err e = ERR_INIT;
	double *t, best = INFINITY;
	if (simulate_run(space, times, name, budget, seed, &t, ret_n, &e) < 0)
		return NAN;
	for (size_t i = 0; i < *ret_n; i++) {
		best = fmin(best, t[i]);
		told[i] = t[i];
	}
	free(t);
	return best;
}

static void each_once(const char *name, const struct search_space *space)
{
	struct err e = ERR_INIT;
	struct search *s;
	static unsigned char seen[POINTS];
	size_t n = 0, p, twice = 0, out[3];
	memset(seen, 0, sizeof seen);
	if (search_new(name, space, BUDGET, 3, &s, &e) < 0) {
		ok(0, "%s: %s", name, e.text);
		return;
	}
	/* Three at a time, told in the wrong order. */
	for (size_t k = 0; (p = search_ask(s)) != SEARCH_NONE; k++) {
		twice += seen[p]++;
		out[n++ % 3] = p;
		for (size_t i = 3; n % 3 == 0 && i-- > 0;)
			search_tell(s, out[i], times[out[i]]);
	}
	search_free(s);
	is_int(n, BUDGET, "%s: proposes as many points as the budget has", name);
	is_int(twice, 0, "%s: none of them twice", name);
}

static void repeats(const char *name, const struct search_space *space)
{
	double a[BUDGET], b[BUDGET];
	size_t n, m;
	run(name, space, BUDGET, 11, a, &n);
	run(name, space, BUDGET, 12, b, &m);
	run(name, space, BUDGET, 11, b, &m);
	ok(n == m && memcmp(a, b, n * sizeof a[0]) == 0, "%s: the same seed, the same order, whatever ran in between", name);
}

static double mean_best(const char *name, const struct search_space *space)
{
	double told[BUDGET], sum = 0;
	size_t n;
	for (uint64_t seed = 0; seed < SEEDS; seed++)
		sum += run(name, space, BUDGET, seed, told, &n);
	return sum / SEEDS;
}

int main(void)
{
	struct search_space space = make();
	struct err e = ERR_INIT;
	struct search *s;
	static double told[POINTS];
	size_t n;
	for (size_t i = 0; i < MEM_COUNT(names); i++) {
		each_once(names[i], &space);
		repeats(names[i], &space);
	}
	double chance = mean_best("random", &space);
	for (size_t i = 2; i < MEM_COUNT(names); i++) {
		double best = mean_best(names[i], &space);
		ok(best < chance, "%s beats chance: %.2f < %.2f", names[i], best, chance);
	}
	ok(mean_best("auto", &space) == 1, "auto finds the best with a twentieth of the space");
	for (size_t i = 0; i < MEM_COUNT(names); i++)
		if (strcmp(names[i], "bayes") && strcmp(names[i], "forest") && strcmp(names[i], "auto")) {
			ok(run(names[i], &space, POINTS, 1, told, &n) == 1 && n == POINTS, "%s: all of the space when there is budget", names[i]);
		}
	ok(search_new("auto", &space, POINTS, 1, &s, &e) == 0, "auto with budget for all");
	is_str(search_name(s), "exhaustive", "… is exhaustive");
	search_free(s);
	struct search_space one = { .count = 1, .dims = DIMS, .points = points }, none = { .count = 0, .dims = DIMS, .points = points };
	for (size_t i = 0; i < MEM_COUNT(names); i++) {
		run(names[i], &one, 5, 1, told, &n);
		is_int(n, 1, "%s: a space of one point", names[i]);
		run(names[i], &none, 5, 1, told, &n);
		is_int(n, 0, "%s: an empty space", names[i]);
	}
	ok(search_new("best", &space, 5, 1, &s, &e) == -ERR_INPUT && strstr(e.text, "bayes"), "an unknown name lists what there is");
	return tap_done();
}
