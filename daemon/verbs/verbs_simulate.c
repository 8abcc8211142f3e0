/* verbs_simulate: one replay per seed; with --json nothing but {"SEED": [milliseconds or null, …], …} goes to stdout, which is
 * what scoring scripts read; see verbs_simulate.h. */
#include "daemon/verbs/verbs_simulate.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/search/import_ktcache.h"
#include "core/search/simulate.h"
#include "daemon/verbs/out.h"

struct replay {
	const struct import_ktcache *cache;
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
	int rc = simulate_run(&r->cache->space, r->cache->times, r->strategy, (size_t)r->budget,
			      (uint64_t)(r->first + i), &times, &count, e);
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

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void print_words(struct replay *r, int64_t elapsed_ns)
{
	double optimum = INFINITY;
	for (size_t p = 0; p < r->cache->space.count; p++)
		optimum = fmin(optimum, r->cache->times[p]);
	qsort(r->best, (size_t)r->seeds, sizeof r->best[0], ascending);
	double median = r->best[r->seeds / 2];
	printf("%s: %zu configurations, best %.6g ms; after %lld evaluations the median of %lld seeds has found %.6g "
	       "ms (%.1f %% of "
	       "the optimum's speed), %.3f ms per proposal\n",
	       r->strategy, r->cache->space.count, optimum, r->budget, r->seeds, median, 100 * optimum / median,
	       (double)elapsed_ns / 1e6 / (double)(r->asked ? r->asked : 1));
}

static int replay(const struct verb_line *line, struct replay *r, struct err *e)
{
	int64_t start = clock_now();
	int rc = 0;
	for (long long i = 0; i < r->seeds && rc == 0; i++)
		rc = replay_seed(r, i, e);
	if (rc < 0)
		return rc;
	if (verb_get(line, "json") == NULL)
		print_words(r, clock_now() - start);
	else
		return out_json(NULL, r->trajectories, JSON_COMPACT, e);
	return 0;
}

int verbs_simulate(const struct verb_line *line)
{
	struct err e = ERR_INIT;
	struct import_ktcache cache;
	const char *strategy = verb_get(line, "strategy");
	struct replay r = { .cache = &cache, .strategy = strategy ? strategy : "auto" };
	if (verb_int(line, "budget", 1, 1000000, 200, &r.budget, &e) < 0 ||
	    verb_int(line, "seeds", 1, 100000, 100, &r.seeds, &e) < 0 ||
	    verb_int(line, "seed", 0, (long long)1 << 53, 0, &r.first, &e) < 0)
		return verb_misused(line, &e);
	if (import_ktcache(verb_get(line, "simulate"), &cache, &e) < 0)
		return verb_fail(line, &e);
	r.trajectories = json_object();
	r.best = MEM_NEW_N(double, (size_t)r.seeds);
	int status = replay(line, &r, &e) < 0 ? verb_fail(line, &e) : VERB_OK;
	json_decref(r.trajectories);
	free(r.best);
	import_ktcache_fini(&cache);
	return status;
}
