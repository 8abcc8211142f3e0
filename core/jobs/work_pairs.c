/* work_pairs: the comparisons at the end of a tune; see work.h. */
#include "core/jobs/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/context/host.h"
#include "core/context/space.h"
#include "core/measure/compare.h"
#include "core/record/comparison.h"
#include "core/record/measurement.h"
#include "core/record/metric.h"

enum { STARTS_TRIED = 1000 };

/* Whom the winner is compared with. */
struct other {
	int64_t checkpoint;
	const struct context *ctx;
	struct params *params; /* owned */
	bool start;
	const char *what;
};

/* The fastest that is known of a checkpoint here; NULL when nothing is, or when it is the winner itself. */
static struct params *best_of(struct db *db, const struct work_pairs_request *q, int64_t checkpoint, const struct context *ctx)
{
	struct params *size = params_part(q->winner, false), *params = NULL;
	char *sizes = params_text(size);
	struct measurement_query best = { .checkpoint = checkpoint, .device = q->facts->uuid, .sizes = sizes, .warm = q->warm };
	struct measurement m;
	struct err none = ERR_INIT;
	if (checkpoint != q->l->id && measurement_best(db, &best, &m, &none) == 0) {
		if (params_parse(ctx, m.params, true, &params, &none) < 0)
			params = NULL;
		measurement_fini(&m);
	}
	free(sizes);
	params_free(size);
	return params;
}

/* The parameters that tuning starts with: the first in the order of `tune:` that where: and host code accept. */
static struct params *start_of(const struct context *ctx, const struct work_pairs_request *q)
{
	struct params *size = params_part(q->winner, false), *found = NULL;
	struct space *space = NULL;
	struct err ignored = ERR_INIT;
	if (space_new(ctx, q->facts, size, &space, &ignored) == 0)
		for (size_t i = 0; i < space_count(space) && i < STARTS_TRIED && found == NULL; i++) {
			struct plan *plan = NULL;
			found = space_at(space, i);
			if (host_run(ctx, found, q->facts, &plan, &ignored) < 0) {
				params_free(found);
				found = NULL;
			}
			plan_free(plan);
		}
	space_free(space);
	params_free(size);
	return found;
}

static bool is_recorded(struct db *db, const struct work_pairs_request *q, const struct other *o)
{
	struct params *size = params_part(q->winner, false);
	char *sizes = params_text(size), *a = params_text(o->params), *b = params_text(q->winner);
	struct comparison_query pair = { .a = o->checkpoint,
					 .b = q->l->id,
					 .device = q->facts->uuid,
					 .sizes = sizes,
					 .a_params = a,
					 .b_params = b,
					 .a_start = o->start,
					 .cold = !q->warm };
	struct comparison c;
	struct err none = ERR_INIT;
	bool there = comparison_pair(db, &pair, &c, &none) == 0;
	if (there)
		comparison_fini(&c);
	free(sizes);
	free(a);
	free(b);
	params_free(size);
	return there;
}

static int compare(struct engine_job *job, const struct work_pairs_request *q, const struct other *o, uint64_t seed, struct err *e)
{
	struct eval ev = work_eval(job);
	struct trial_paired p;
	struct err why = ERR_INIT;
	struct compare_request r = {
		.a = { .checkpoint = o->checkpoint, .ctx = o->ctx, .baseline = q->l->root, .params = o->params },
		.b = { .checkpoint = q->l->id, .ctx = q->l->ctx, .baseline = q->l->root, .params = q->winner },
		.facts = q->facts,
		.warm = q->warm,
		.a_start = o->start,
		.brief = true,
		.seed = seed,
	};
	eval_progress(&ev, 0, 0, "timing the winner and %s in pairs", o->what);
	if (compare_run(&ev, &r, job->db, job->id, &p, &why) == 0) {
		trial_paired_fini(&p);
		return 0;
	}
	log_info("job %s: not compared with %s: %s", job->id, o->what, why.text);
	return err_if_cancelled(&why, e);
}

/* The joules that are shown beside the winner's time. Last, because a device that has worked for long may be slowed down for a
 * while. */
static int weigh(struct engine_job *job, const struct work_pairs_request *q, struct err *e)
{
	struct eval ev = work_eval(job);
	struct energy_subject winner = { .checkpoint = q->l->id, .ctx = q->l->ctx, .params = q->winner, .facts = q->facts };
	struct err why = ERR_INIT;
	char *params = params_text(q->winner);
	double joules;
	int rc = metric_newest(job->db, q->l->id, q->facts->uuid, params, "energy", &joules, e);
	free(params);
	if (rc < 0 || isfinite(joules) || energy_record(&ev, &winner, job->db, job->id, &why) == 0)
		return rc;
	log_info("job %s: the energy of the winner was not measured: %s", job->id, why.text);
	return err_if_cancelled(&why, e);
}

int work_pairs(struct engine_job *job, const struct work_pairs_request *q, struct err *e)
{
	const struct lineage *l = q->l;
	struct other others[] = {
		{ l->root_id, l->root, best_of(job->db, q, l->root_id, l->root), false, "the baseline at its best" },
		{ l->root_id, l->root, start_of(l->root, q), true, "the baseline as it starts" },
		{ l->parent_id, l->parent,
		  l->parent_id && l->parent_id != l->root_id ? best_of(job->db, q, l->parent_id, l->parent) : NULL, false,
		  "its parent at its best" },
	};
	uint64_t seed = check_seed(); /* one for all, so that references are computed once */
	int rc = 0;
	/* A baseline that starts with its best is timed once, and counts as both. */
	if (others[0].params && others[1].params && params_equal(others[0].params, others[1].params)) {
		params_free(others[0].params);
		others[0].params = NULL;
	}
	for (size_t i = 0; rc == 0 && i < MEM_COUNT(others); i++) {
		struct other *o = &others[i];
		bool itself = o->params && o->checkpoint == l->id && params_equal(o->params, q->winner);
		if (o->params && !itself && !(q->missing && is_recorded(job->db, q, o)))
			rc = compare(job, q, o, seed, e);
	}
	if (rc == 0)
		rc = weigh(job, q, e);
	for (size_t i = 0; i < MEM_COUNT(others); i++)
		params_free(others[i].params);
	return rc;
}
