/* work_tune: the job behind the tune tool: every asked size in turn, each seeded with what was fast for the parent; see work.h. */
#include "core/jobs/work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/context/space.h"
#include "core/tune/tune.h"
#include "core/record/lineage.h"
#include "core/jobs/work_size.h"
#include "core/jobs/work_tune_known.h"

/* As many of a parent's best as PEAK takes over; of them so many before what is known of other sizes and devices. */
enum { PREFER = 128, PREFER_FIRST = 8, IMPORTS = 4 };

struct seeds {
	struct params **at;
	size_t count;
};

static void seeds_fini(struct seeds *s)
{
	for (size_t i = 0; i < s->count; i++)
		params_free(s->at[i]);
	free(s->at);
}

static void add_seeds(struct seeds *s, const struct context *ctx, const struct measurement_list *list, size_t from, size_t to)
{
	struct err ignored = ERR_INIT;
	struct params *params;
	for (size_t i = from; i < list->count && i < to; i++)
		if (params_parse(ctx, list->at[i].params, false, &params, &ignored) == 0)
			*MEM_PUSH(s->at, s->count) = params;
}

/* The fastest of what was imported for a checkpoint: newest import first. */
static void add_imported(struct engine_job *job, struct seeds *seeds, const struct context *ctx, int64_t checkpoint)
{
	struct measurement_run_list runs;
	struct measurement_list list;
	struct err ignored = ERR_INIT;
	if (measurement_runs(job->db, checkpoint, &runs, &ignored) < 0)
		return;
	for (size_t i = 0, n = 0; i < runs.count && n < IMPORTS; i++) {
		struct measurement_query q = { .checkpoint = checkpoint, .run = runs.at[i].id, .unproven = true, .warm = true, .limit = PREFER_FIRST };
		if (strcmp(runs.at[i].strategy, "import") != 0 || measurement_top(job->db, &q, &list, &ignored) < 0)
			continue;
		add_seeds(seeds, ctx, &list, 0, PREFER_FIRST);
		measurement_list_fini(&list);
		n++;
	}
	measurement_run_list_fini(&runs);
}

/* What was fast before, to be tried first: this checkpoint's and its parent's best at this size on this device, then their best at other
 * sizes and on other devices and of imported files (which are worth a try and no more), then the rest of the first. Proven or not: they are measured anew.
 * Missing ones are no error. */
static void find_preferred(struct engine_job *job, const struct lineage *l, const struct facts *facts, const char *sizes,
                           struct seeds *seeds)
{
	const int64_t ids[] = { l->id, l->parent_id };
	struct context *const ctxs[] = { l->ctx, l->parent };
	struct measurement_list here[2] = { { .count = 0 } }, elsewhere = { .count = 0 };
	struct err ignored = ERR_INIT;
	for (size_t k = 0; k < 2 && ids[k]; k++) {
		struct measurement_query q = { .checkpoint = ids[k], .device = facts->uuid, .sizes = sizes, .limit = PREFER, .unproven = true };
		if (measurement_top(job->db, &q, &here[k], &ignored) == 0)
			add_seeds(seeds, ctxs[k], &here[k], 0, PREFER_FIRST);
	}
	for (size_t k = 0; k < 2 && ids[k]; k++) {
		struct measurement_query q = { .checkpoint = ids[k], .unproven = true };
		if (measurement_best_each(job->db, &q, &elsewhere, &ignored) == 0)
			add_seeds(seeds, ctxs[k], &elsewhere, 0, PREFER_FIRST);
		measurement_list_fini(&elsewhere);
		add_imported(job, seeds, ctxs[k], ids[k]);
	}
	for (size_t k = 0; k < 2 && ids[k]; k++)
		add_seeds(seeds, ctxs[k], &here[k], PREFER_FIRST, PREFER);
	for (size_t k = 0; k < 2; k++)
		measurement_list_fini(&here[k]);
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

/* Why nothing that a tune of this checkpoint finds may be quoted: it was refuted, or nobody knows. NULL when it stands; free(). */
static char *why_refuted(struct db *db, int64_t checkpoint)
{
	struct checkpoint c;
	struct err unknown = ERR_INIT;
	char *why = NULL;
	if (checkpoint_get(db, checkpoint, &c, &unknown) < 0)
		return mem_fmt("whether checkpoint %lld stands is not known: %s", (long long)checkpoint, unknown.text);
	if (c.status == CHECKPOINT_FAILED)
		why = mem_fmt("checkpoint %lld was refuted: %s", (long long)checkpoint, c.note ? c.note : "see its validations");
	checkpoint_fini(&c);
	return why;
}

static void describe(const struct context *ctx, const struct tune_result *t, const char *size, const char *objective, size_t i,
                     struct fields *result)
{
	const struct tune_top *best = &t->top[0];
	double flops = spec_flops(context_spec(ctx), best->params);
	char *params = params_text(best->params);
	struct buf why = BUF_INIT;
	set_size(result, "size", i, size);
	set_size(result, "best", i, params);
	set_count(result, "median_ns", i, best->median_ns);
	if (best->validation) {
		set_count(result, "rse", i, best->rse);
		set_count(result, "samples", i, (double)best->samples);
		set_count(result, "evidence", i, (double)best->validation);
	} else {
		set_size(result, "unproven", i, "a figure of the search: it was cut off before anything was proven");
	}
	if (objective && *objective)
		set_count(result, "value", i, best->value);
	if (t->resumed)
		set_count(result, "resumed", i, (double)t->resumed);
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
	set_count(result, "device_seconds", i, t->device_s);
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

/* One tune: of size number `first`, and, when they count together, of all sizes behind it. */
static int tune_sizes(struct engine_job *job, const struct lineage *l, const struct facts *facts, size_t devices,
                      const struct work_sizes *sizes, size_t first, bool together, struct fields *result, struct err *e)
{
	struct eval ev = work_eval(job);
	struct seeds seeds = { .count = 0 };
	struct tune_result t = { 0 };
	const char *objective = fields_get(job->request, "objective");
	char *size = params_text(sizes->at[first]);
	char *shown = together && sizes->count > 1 ? mem_fmt("%s and %zu more together", size, sizes->count - 1) : mem_str(size);
	find_preferred(job, l, facts, size, &seeds);
	struct tune_request q = {
		.ctx = l->ctx, .baseline = l->root, .facts = facts, .device_count = devices, .size = sizes->at[first],
		.also = sizes->at + 1,
		.also_count = together ? sizes->count - 1 : 0, .worst = strcmp(fields_text(job->request, "over", ""), "worst") == 0,
		.objective = objective, .budget = (size_t)fields_int(job->request, "budget", 0),
		.seconds = fields_number(job->request, "seconds", 0), .device_seconds = fields_number(job->request, "device_seconds", 0),
		.strategy = fields_get(job->request, "strategy"), .seed = (uint64_t)fields_int(job->request, "seed", 1),
		.prefer = seeds.at, .prefer_count = seeds.count, .warm = fields_flag(job->request, "warm"),
		.resume = fields_flag(job->request, "resume"),
	};
	int rc = tune_run(&ev, &q, job->db, l->id, job->id, &t, e);
	if (t.top_count) {
		char *refuted = why_refuted(job->db, l->id);
		if (!t.known || !work_tune_known(job->db, &t, first, result))
			describe(l->ctx, &t, shown, objective, first, result);
		if (refuted)
			set_size(result, "unproven", first, refuted);
		free(refuted);
		fields_setf(result, "count", "%zu", first + 1);
	}
	if (rc < 0)
		err_wrap(e, "%s", shown);
	tune_result_fini(&t);
	seeds_fini(&seeds);
	free(shown);
	free(size);
	return rc;
}

int work_tune(struct engine_job *job, struct fields *result, struct err *e)
{
	struct lineage l;
	struct facts *facts = NULL;
	size_t devices = 0;
	struct work_sizes sizes = { 0 };
	const char *over = fields_text(job->request, "over", "each");
	bool together = strcmp(over, "mean") == 0 || strcmp(over, "worst") == 0;
	if (!together && *over && strcmp(over, "each") != 0)
		return err_set(e, ERR_INPUT, "over: '%s'; expected each (a winner per input size), mean (geometric) or worst", over);
	int rc = lineage_load(job->db, fields_int(job->request, "checkpoint", 0), &l, e);
	if (rc < 0)
		return rc;
	rc = work_devices(job, l.ctx, &facts, &devices, e);
	if (rc == 0)
		rc = work_size_list(job->request, l.ctx, facts, &sizes, e);
	for (size_t i = 0; rc == 0 && i < (together ? 1 : sizes.count); i++)
		rc = tune_sizes(job, &l, facts, devices, &sizes, i, together, result, e);
	free(facts);
	work_sizes_fini(&sizes);
	lineage_fini(&l);
	return rc;
}
