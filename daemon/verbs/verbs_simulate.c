/* verbs_simulate: see verbs_simulate.h. Runs one replay per seed. With --json only {"SEED": [milliseconds or null,
 * …], …} goes to stdout, for scoring scripts. */
#include "daemon/verbs/verbs_simulate.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "core/search/simulate.h"
#include "daemon/verbs/out.h"

struct replay {
	const struct simulate_space *space;
	const char *strategy;
	long long budget, seeds, first;
	json_t *trajectories;
	double *best; /* per seed, milliseconds */
	size_t asked; /* over all seeds */
};

static int replay_seed(struct replay *r, long long i, struct err *e)
{
	double *times, best = INFINITY;
	size_t count;
	char name[32];
	struct simulate_search search = { &r->space->space, r->space->times, r->strategy, (size_t)r->budget,
					  (uint64_t)(r->first + i) };
	int rc = simulate_run(&search, &times, &count, e);
	if (rc < 0)
		return rc;
	json_t *trajectory = json_array();
	for (size_t k = 0; k < count; k++) {
		json_array_append_new(trajectory, isfinite(times[k]) ? json_real(times[k]) : json_null());
		best = fmin(best, times[k]);
	}
	snprintf(name, sizeof name, "%lld", r->first + i);
	json_object_set_new(r->trajectories, name, trajectory);
	r->best[i] = best;
	r->asked += count;
	free(times);
	return 0;
}

static void print_summary(struct replay *r, int64_t elapsed_ns)
{
	double optimum = INFINITY;
	for (size_t p = 0; p < r->space->space.count; p++)
		optimum = fmin(optimum, r->space->times[p]);
	qsort(r->best, (size_t)r->seeds, sizeof r->best[0], order_doubles);
	double median = r->best[r->seeds / 2];
	printf("%s: %zu configurations, the fastest %.6g ms. After %lld evaluations the median of %lld seeds is %.6g ms (%.1f %% "
	       "of the best speed), with %.3f ms per proposal\n",
	       r->strategy, r->space->space.count, optimum, r->budget, r->seeds, median, 100 * optimum / median,
	       (double)elapsed_ns / 1e6 / (double)(r->asked ? r->asked : 1));
}

int verbs_simulate(const struct verb_line *line)
{
	struct err e = ERR_INIT;
	struct simulate_space space;
	const char *strategy = verb_get(line, "strategy");
	struct replay r = { .space = &space,
			    .strategy = strategy ? strategy : "auto",
			    .budget = verb_number(line, "budget", 200),
			    .seeds = verb_number(line, "seeds", 100) };
	int rc = 0;
	if (verb_int(line, "seed", 0, (long long)1 << 53, 0, &r.first, &e) < 0)
		return verb_misused(line, &e);
	if (simulate_load(verb_get(line, "simulate"), &space, &e) < 0)
		return verb_fail(line, &e);
	r.trajectories = json_object();
	r.best = MEM_NEW_N(double, (size_t)r.seeds);
	int64_t start = clock_now();
	for (long long i = 0; i < r.seeds && rc == 0; i++)
		rc = replay_seed(&r, i, &e);
	if (rc == 0 && verb_get(line, "json"))
		rc = out_json(NULL, r.trajectories, JSON_COMPACT, &e);
	else if (rc == 0)
		print_summary(&r, clock_now() - start);
	int status = rc < 0 ? verb_fail(line, &e) : VERB_OK;
	json_decref(r.trajectories);
	free(r.best);
	simulate_fini(&space);
	return status;
}
