/* core/search/search and every strategy, on small spaces with a known best: the contract of search.h, and that
 * guided strategies beat random. */
#include <math.h>

#include "base/mem.h"
#include "core/search/search.h"
#include "core/search/simulate.h"
#include "tap.h"

enum { SIZE = 8, DIMS = 4, POINTS = SIZE * SIZE * SIZE * SIZE / 2, BUDGET = 100, SEEDS = 5 };

static const char *const names[] = { "exhaustive", "random", "auto", "bayes", "differential" };
static uint16_t points[POINTS * DIMS];
static double times[POINTS];

/* A bowl with its bottom at 5, 2, 6, 1. Every second point is not in the space, and a tenth fails. */
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

static struct search *begin(const char *name, const struct search_space *space, size_t budget)
{
	struct search *s = NULL;
	struct err e = ERR_INIT;
	if (search_new(name, space, budget, 3, &s, &e) < 0)
		printf("# %s\n", e.text);
	return s;
}

static double run(const char *name, const struct search_space *space, size_t budget, uint64_t seed, double *told,
		  size_t *ret_n)
{
	struct err e = ERR_INIT;
	double *t, best = INFINITY;
	if (simulate_run(&(struct simulate_search){ space, times, name, budget, seed }, &t, ret_n, &e) < 0)
		return NAN;
	for (size_t i = 0; i < *ret_n; i++) {
		best = fmin(best, t[i]);
		told[i] = t[i];
	}
	free(t);
	return best;
}

/* Asks for three points at a time and tells them in reverse. */
static void each_once(const char *name, const struct search_space *space)
{
	struct search *s = begin(name, space, BUDGET);
	static unsigned char seen[POINTS];
	size_t n = 0, p, twice = 0, out[3];
	memset(seen, 0, sizeof seen);
	while ((p = search_ask(s)) != SEARCH_NONE) {
		twice += seen[p]++;
		out[n++ % 3] = p;
		for (size_t i = 3; n % 3 == 0 && i-- > 0;)
			search_tell(s, out[i], times[out[i]]);
	}
	search_free(s);
	is_int(n, BUDGET, "%s: proposes as many points as the budget allows", name);
	is_int(twice, 0, "%s: proposes no point twice", name);
}

static void repeats(const char *name, const struct search_space *space)
{
	double a[BUDGET], b[BUDGET];
	size_t n, m;
	run(name, space, BUDGET, 11, a, &n);
	run(name, space, BUDGET, 12, b, &m);
	run(name, space, BUDGET, 11, b, &m);
	ok(n == m && memcmp(a, b, n * sizeof a[0]) == 0,
	   "%s: the same seed gives the same order, whatever ran in between", name);
}

static double mean_best(const char *name, const struct search_space *space)
{
	double told[BUDGET], sum = 0;
	size_t n;
	for (uint64_t seed = 0; seed < SEEDS; seed++)
		sum += run(name, space, BUDGET, seed, told, &n);
	return sum / SEEDS;
}

static void small_spaces(const char *name)
{
	struct search_space one = { .count = 1, .dims = DIMS, .points = points },
			    none = { .count = 0, .dims = DIMS, .points = points };
	struct search_space bare = { .count = 1, .dims = 0, .points = points };
	double told[5];
	size_t n;
	run(name, &one, 5, 1, told, &n);
	is_int(n, 1, "%s: a space of one point", name);
	run(name, &none, 5, 1, told, &n);
	is_int(n, 0, "%s: an empty space", name);
	run(name, &bare, 5, 1, told, &n);
	is_int(n, 1, "%s: a space without parameters", name);
}

static void preferred(const struct search_space *space)
{
	struct search *s = begin("differential", space, 2);
	for (size_t p = 50; p < 55; p++)
		search_prefer(s, p);
	is_int((long long)search_ask(s), 50, "preferred points come first");
	is_int((long long)search_ask(s), 51, "preferred points keep their order");
	ok(search_ask(s) == SEARCH_NONE, "preferred points count against the budget");
	search_free(s);
	s = begin("exhaustive", space, 4);
	ok(search_prefer(s, 1) && !search_prefer(s, 1), "a point can be preferred once");
	ok(search_know(s, 2, 5.0) && !search_know(s, 2, 5.0), "an earlier measurement can be recorded once");
	is_int((long long)search_ask(s), 1, "exhaustive: the preferred point comes first");
	is_int((long long)search_ask(s), 0, "exhaustive: the others follow in order");
	is_int((long long)search_ask(s), 3, "exhaustive: preferred and known points are skipped");
	ok(search_ask(s) == SEARCH_NONE, "earlier measurements count against the budget");
	search_free(s);
}

static void all_fail(const char *name, const struct search_space *space)
{
	struct search *s = begin(name, space, 60);
	size_t count = 0, p;
	while ((p = search_ask(s)) != SEARCH_NONE) {
		search_tell(s, p, INFINITY);
		count++;
	}
	is_int((long long)count, 60, "%s: goes on when everything fails", name);
	search_free(s);
}

int main(void)
{
	struct search_space space = make();
	struct err e = ERR_INIT;
	struct search *s;
	double told[BUDGET], chance = mean_best("random", &space);
	static double all[POINTS];
	size_t n;
	for (size_t i = 0; i < MEM_COUNT(names); i++) {
		each_once(names[i], &space);
		repeats(names[i], &space);
		small_spaces(names[i]);
		all_fail(names[i], &space);
		if (i >= 2) {
			double best = mean_best(names[i], &space);
			ok(best < chance, "%s beats random: %.2f < %.2f", names[i], best, chance);
		}
	}
	ok(mean_best("auto", &space) == 1, "auto finds the best with a twentieth of the space");
	static const char *const cheap[] = { "exhaustive", "random", "differential" };
	for (size_t i = 0; i < MEM_COUNT(cheap); i++)
		ok(run(cheap[i], &space, POINTS + 50, 1, all, &n) == 1 && n == POINTS,
		   "%s: a larger budget tries the whole space", cheap[i]);
	run("bayes", &(struct search_space){ .count = BUDGET, .dims = DIMS, .points = points }, BUDGET, 1, told, &n);
	is_int(n, BUDGET, "bayes: a large budget tries the whole space");
	s = begin("auto", &space, POINTS);
	is_str(search_name(s), "exhaustive", "auto with a budget for the whole space is exhaustive");
	search_free(s);
	preferred(&space);
	ok(search_new("best", &space, 5, 1, &s, &e) == -ERR_INPUT && strstr(e.text, "bayes"),
	   "an unknown name lists the known ones");
	return tap_done();
}
