/* work_tune: the job behind the tune tool: every asked size in turn, each seeded with what was fast for the parent; see work.h. */
#include "core/work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/context/space.h"
#include "core/eval/tune.h"
#include "core/lineage.h"

enum { PREFER = 8 };

struct sizes {
	struct params **at;
	size_t count;
};

static void sizes_fini(struct sizes *s)
{
	for (size_t i = 0; i < s->count; i++)
		params_free(s->at[i]);
	free(s->at);
}

/* The sizes that the request names (one assignment, partial is fine), or all that the context declares. */
static int find_sizes(const struct fields *request, const struct context *ctx, const struct facts *facts, struct sizes *ret_sizes,
                      struct err *e)
{
	struct params *fixed = NULL;
	struct space *space;
	const char *text = fields_text(request, "sizes", "");
	int rc = *text ? params_parse(ctx, text, false, &fixed, e) : 0;
	if (rc == 0)
		rc = space_new(ctx, facts, fixed, &space, e);
	params_free(fixed);
	if (rc < 0)
		return rc;
	struct sizes s = { 0 };
	for (size_t i = 0; i < space_size_count(space); i++)
		*MEM_PUSH(s.at, s.count) = space_size_at(space, i);
	space_free(space);
	*ret_sizes = s;
	return 0;
}

/* Winners of this checkpoint and of its parent at the same size: tried first. Missing ones are no error. */
static size_t find_preferred(struct engine_job *job, const struct lineage *l, const struct facts *facts, const char *sizes,
                             struct params *ret_prefer[2 * PREFER])
{
	const int64_t ids[] = { l->id, l->parent_id };
	struct context *const ctxs[] = { l->ctx, l->parent };
	size_t n = 0;
	for (size_t k = 0; k < MEM_COUNT(ids) && ids[k]; k++) {
		struct err ignored = ERR_INIT;
		struct measurement_list list;
		struct measurement_query q = { .checkpoint = ids[k], .device = facts->uuid, .sizes = sizes, .limit = PREFER };
		if (measurement_top(job->db, &q, &list, &ignored) < 0)
			continue;
		for (size_t i = 0; i < list.count; i++)
			if (params_parse(ctxs[k], list.at[i].params, false, &ret_prefer[n], &ignored) == 0)
				n++;
		measurement_list_fini(&list);
	}
	return n;
}

static void set_size(struct fields *result, const char *name, size_t i, const char *value)
{
	char key[64];
	snprintf(key, sizeof key, "%s_%zu", name, i);
	fields_set(result, key, value);
}

static void set_count(struct fields *result, const char *name, size_t i, double value)
{
	char text[32];
	snprintf(text, sizeof text, "%.15g", value);
	set_size(result, name, i, text);
}

static void describe(const struct context *ctx, const struct tune_result *t, const char *size, size_t i, struct fields *result)
{
	const struct tune_top *best = &t->top[0];
	double flops = spec_flops(context_spec(ctx), best->params);
	char *params = params_text(best->params);
	struct buf why = BUF_INIT;
	set_size(result, "size", i, size);
	set_size(result, "best", i, params);
	set_count(result, "median_ns", i, best->median_ns);
	set_count(result, "rse", i, best->rse);
	set_count(result, "samples", i, (double)best->samples);
	if (isfinite(flops))
		set_count(result, "gflops", i, flops / best->median_ns);
	set_count(result, "run", i, (double)t->run);
	set_count(result, "space", i, (double)t->space);
	set_count(result, "tried", i, (double)t->tried);
	set_count(result, "timed", i, (double)t->timed);
	set_count(result, "pruned", i, (double)t->pruned);
	set_count(result, "refused", i, (double)t->refused);
	set_count(result, "wrong", i, (double)t->wrong);
	set_count(result, "broken", i, (double)t->broken);
	set_count(result, "seconds", i, (double)t->elapsed_ns / 1e9);
	set_count(result, "estimated_seconds", i, t->estimate_s);
	if (t->library.name)
		set_size(result, "library", i, t->library.why ? t->library.why : t->library.name);
	if (isfinite(t->library.ratio) && t->library.name) {
		set_count(result, "library_ratio", i, t->library.ratio);
		set_count(result, "library_low", i, t->library.low);
		set_count(result, "library_high", i, t->library.high);
	}
	for (size_t k = 0; k < t->why_count; k++)
		buf_addf(&why, "%s\n", t->why[k]);
	set_size(result, "why", i, buf_text(&why));
	buf_fini(&why);
	free(params);
}

static int tune_size(struct engine_job *job, const struct lineage *l, const struct facts *facts, size_t devices,
                     const struct params *size, size_t i, struct fields *result, struct err *e)
{
	struct eval ev = work_eval(job);
	struct params *prefer[2 * PREFER];
	struct tune_result t;
	char *size_text = params_text(size);
	size_t preferred = find_preferred(job, l, facts, size_text, prefer);
	struct tune_request q = {
		.ctx = l->ctx, .root = l->root, .facts = facts, .device_count = devices, .size = size,
		.budget = (size_t)fields_int(job->request, "budget", 0), .strategy = fields_get(job->request, "strategy"),
		.seed = (uint64_t)fields_int(job->request, "seed", 1), .prefer = prefer, .prefer_count = preferred,
		.warm = fields_flag(job->request, "warm"),
	};
	int rc = tune_run(&ev, &q, job->db, l->id, job->id, &t, e);
	if (rc == 0) {
		describe(l->ctx, &t, size_text, i, result);
		tune_result_fini(&t);
	} else {
		err_wrap(e, "%s", size_text);
	}
	while (preferred > 0)
		params_free(prefer[--preferred]);
	free(size_text);
	return rc;
}

int work_tune(struct engine_job *job, struct fields *result, struct err *e)
{
	struct lineage l;
	struct facts *facts = NULL;
	size_t devices = 0;
	struct sizes sizes = { 0 };
	int rc = lineage_load(job->db, fields_int(job->request, "checkpoint", 0), &l, e);
	if (rc < 0)
		return rc;
	rc = work_devices(job, l.ctx, &facts, &devices, e);
	if (rc == 0)
		rc = find_sizes(job->request, l.ctx, facts, &sizes, e);
	for (size_t i = 0; rc == 0 && i < sizes.count; i++) {
		rc = tune_size(job, &l, facts, devices, sizes.at[i], i, result, e);
		if (rc == 0)
			fields_setf(result, "count", "%zu", i + 1);
	}
	free(facts);
	sizes_fini(&sizes);
	lineage_fini(&l);
	return rc;
}
