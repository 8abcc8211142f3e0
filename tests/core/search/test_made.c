/* The default search on made spaces: it must do well on each of them, and better over all than every other strategy.
 * With arguments it only prints scores: `test_made 20 auto differential` runs 20 seeds of two strategies. */
#include <stdio.h>

#include "core/search/made.h"
#include "core/search/simulate.h"
#include "tap.h"

enum { SHAPES = MEM_COUNT(made_shapes), BUDGET = 100, FROM = 10, SEEDS = 24 };

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The expected best of k random draws, for each k; failures count as the slowest. */
static void chance(const struct made *m, double expected[BUDGET])
{
	double *sorted = mem_copy(m->times, m->space.count * sizeof *sorted);
	size_t n = m->space.count;
	for (size_t i = 0; i < n; i++)
		sorted[i] = isfinite(sorted[i]) ? sorted[i] : m->worst;
	qsort(sorted, n, sizeof *sorted, ascending);
	for (size_t k = 1; k <= BUDGET; k++) {
		double left = 1, sum = 0; /* left: probability that no draw was among the first i */
		for (size_t i = 0; i < n && left > 1e-9; i++) {
			double next = left * (1 - fmin(1, (double)k / (double)(n - i)));
			sum += (left - next) * sorted[i];
			left = next;
		}
		expected[k - 1] = sum;
	}
	free(sorted);
}

/* P: the share of the way from random to the best, averaged over the evaluations from FROM on. */
static double score(const struct made *m, const char *strategy, int seeds, double *ret_final)
{
	double expected[BUDGET], sum = 0, final = 0;
	struct err e = ERR_INIT;
	chance(m, expected);
	for (int seed = 0; seed < seeds; seed++) {
		double *times, best = INFINITY;
		size_t n;
		if (simulate_run(&(struct simulate_search){ &m->space, m->times, strategy, BUDGET, (uint64_t)seed + 1000 }, &times,
				 &n, &e) < 0)
			return NAN;
		for (size_t i = 0; i < n; i++) {
			best = fmin(best, times[i]);
			if (i + 1 >= FROM)
				sum += (expected[i] - (isfinite(best) ? best : m->worst)) /
				       (expected[i] - m->best + 1e-12);
		}
		final += m->best / best;
		free(times);
	}
	*ret_final = final / seeds;
	return sum / (BUDGET - FROM + 1) / seeds;
}

static double failing(const struct made *m)
{
	size_t n = 0;
	for (size_t i = 0; i < m->space.count; i++)
		n += isinf(m->times[i]);
	return (double)n / (double)m->space.count;
}

/* Counts failures among BUDGET evaluations. The search hears of them, or (told = 0) only of successes. */
static size_t failures(const struct made *m, uint64_t seed, int told)
{
	struct search *s;
	struct err e = ERR_INIT;
	size_t n = 0, p;
	if (search_new("auto", &m->space, BUDGET, seed, &s, &e) < 0)
		return SIZE_MAX;
	while ((p = search_ask(s)) != SEARCH_NONE) {
		n += isinf(m->times[p]);
		if (told || isfinite(m->times[p]))
			search_tell(s, p, m->times[p]);
	}
	search_free(s);
	return n;
}

static void hidden_constraint(const struct made *m)
{
	size_t with = 0, without = 0;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		with += failures(m, seed, 1);
		without += failures(m, seed, 0);
	}
	ok(with * 3 < without * 2,
	   "the search learns a hidden constraint: %zu failures in %d tries, %zu when it never hears of them", with,
	   SEEDS * BUDGET, without);
	ok((double)with < 0.6 * failing(m) * SEEDS * BUDGET,
	   "a hidden constraint causes far fewer failures than random tries");
}

int main(int argc, char **argv)
{
	static const char *const others[] = { "differential", "random" };
	double sums[MEM_COUNT(others)] = { 0 }, sum = 0, final;
#ifdef __SANITIZE_ADDRESS__ /* wrong accesses show in a few runs, whose scores mean nothing */
	static char *few[] = { "test_made", "3", "auto", "differential", "random" };
	argc = MEM_COUNT(few);
	argv = few;
#endif
	int seeds = argc > 1 ? atoi(argv[1]) : SEEDS;
	for (size_t i = 0; i < SHAPES; i++) {
		struct made m;
		made_init(&m, &made_shapes[i]);
		printf("# %s: %zu points, of them failing %.0f %%\n", made_shapes[i].name, m.space.count,
		       100 * failing(&m));
		for (int a = 2; a < argc; a++) {
			double p = score(&m, argv[a], seeds, &final);
			printf("# %-12s %-12s P %+.3f, best/found %.3f\n", made_shapes[i].name, argv[a], p, final);
		}
		if (argc < 2) {
			double p = score(&m, "auto", seeds, &final), ignored, best = -INFINITY;
			sum += p;
			for (size_t r = 0; r < MEM_COUNT(others); r++) {
				double other = score(&m, others[r], seeds, &ignored);
				best = fmax(best, other);
				sums[r] += other;
			}
			ok(p > 0.1 && final > (i == MADE_TABLES ? 0.8 : 0.9),
			   "%s: auto goes %.0f %% of the way from random to the best and ends at %.3f of it",
			   made_shapes[i].name, 100 * p, final);
			ok(p > best - 0.25, "%s: auto is not far behind the best other strategy (%.0f %%)",
			   made_shapes[i].name, 100 * best);
		}
		if (argc < 2 && strcmp(made_shapes[i].name, "failing") == 0)
			hidden_constraint(&m);
		made_fini(&m);
	}
	for (size_t r = 0; argc < 2 && r < MEM_COUNT(others); r++)
		ok(sum > sums[r], "over all made spaces auto (P %.3f) beats %s (%.3f)", sum / SHAPES, others[r],
		   sums[r] / SHAPES);
	if (argc >= 2)
		ok(1, "scores only");
	return tap_done();
}
