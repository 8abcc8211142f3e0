/* work_compare: the job behind the compare tool: two checkpoints, each at its own best, at every asked size; see work.h. */
#include "core/jobs/work.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/measure/compare.h"
#include "core/record/metric.h"

struct request {
	int64_t a, b; /* checkpoints; b 0: a against its parent */
	char *device;
	char *sizes; /* one assignment; NULL: every declared size */
	bool warm;
	char *objective; /* "energy" or "edp": both are weighed as well; NULL or "time": only timed */
};

static const struct layout_field request_fields[] = {
	{ LAYOUT_AT(struct request, a, ID) },
	{ LAYOUT_AT(struct request, b, ID) },
	{ LAYOUT_AT(struct request, device, TEXT) },
	{ LAYOUT_AT(struct request, sizes, TEXT) },
	{ LAYOUT_AT(struct request, warm, BOOL), .flags = LAYOUT_OPTIONAL },
	{ LAYOUT_AT(struct request, objective, TEXT) },
	{ .name = NULL },
};
static const struct layout request_layout = { "compare request", sizeof(struct request), request_fields };

/* The energy of both; see core/record/comparison.h. */
struct weighed {
	char *objective, *verdict;
	double ratio, low, high;   /* A's joules (edp: joule-seconds) / B's: above 1 B needs less */
	double a_joules, b_joules; /* also where they were weighed by another job */
	char *matched;             /* whether times are, in words */
};

static const struct layout_field weighed_fields[] = {
	{ LAYOUT_AS(struct weighed, b_joules, REAL, "b_joules"), .unit = "J", .say = "; %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AS(struct weighed, a_joules, REAL, "a_joules"), .unit = "J", .say = " against %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AS(struct weighed, objective, TEXT, "objective"), .say = "; by %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AS(struct weighed, verdict, TEXT, "energy_verdict"), .say = ": %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AS(struct weighed, ratio, REAL, "energy_ratio"), .unit = "ratio", .say = ", A needs % times as much as B",
	  .flags = LAYOUT_DETAIL },
	{ LAYOUT_AS(struct weighed, low, REAL, "energy_low"), .unit = "ratio", .say = " (% to", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AS(struct weighed, high, REAL, "energy_high"), .unit = "ratio", .say = " %)", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AS(struct weighed, matched, TEXT, "energy_matched"), .say = "; %", .flags = LAYOUT_DETAIL },
	{ .name = NULL },
};
static const struct layout weighed_layout = { "weighed", sizeof(struct weighed), weighed_fields };

/* At one input size: the verdict is on B relative to A. More than 20 fields, since each is a figure of the answer. */
struct size {
	char *size, *verdict;
	double ratio, low, high; /* A's time / B's, and its interval: above 1 B is faster */
	double a_ns, b_ns;
	int64_t pairs, discarded;
	double margin; /* "same" means within it */
	char *load;    /* what others did meanwhile on a CPU that is the device; NULL */
	char *note;    /* why it may not be quoted; NULL */
	char *a_params, *b_params;
	int64_t a_evidence, b_evidence; /* validations */
	double seconds;
	struct weighed weighed;
};

static const struct layout_field size_fields[] = {
	{ LAYOUT_AT(struct size, size, TEXT), .say = "%: " },
	{ LAYOUT_AT(struct size, verdict, TEXT), .say = "%" },
	{ LAYOUT_AT(struct size, ratio, REAL), .unit = "ratio", .say = ": B is % times as fast as A" },
	{ LAYOUT_AT(struct size, low, REAL), .unit = "ratio", .say = " (% to" },
	{ LAYOUT_AT(struct size, high, REAL), .unit = "ratio", .say = " %)" },
	{ LAYOUT_AT(struct size, b_ns, REAL), .unit = "ns", .say = ": %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, a_ns, REAL), .unit = "ns", .say = " against %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, weighed, PART), .of = &weighed_layout },
	{ LAYOUT_AT(struct size, pairs, INT), .say = ", % pairs", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, discarded, INT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, margin, REAL), .unit = "share", .say = "; same means within %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, load, TEXT), .say = "; %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, note, TEXT), .say = "; %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, a_params, TEXT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, b_params, TEXT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, b_evidence, ID), .say = "; evidence %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, a_evidence, ID), .say = " and %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, seconds, REAL), .unit = "s", .flags = LAYOUT_DETAIL },
	{ .name = NULL },
};
static const struct layout size_layout = { "compared size", sizeof(struct size), size_fields };

struct result {
	int64_t a, b;
	struct size *sizes;
	size_t count;
};

static const struct layout_field result_fields[] = {
	{ LAYOUT_AT(struct result, a, ID), .say = "A is checkpoint %, ", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, b, ID), .say = "B is checkpoint %\n", .flags = LAYOUT_DETAIL },
	{ LAYOUT_MANY(struct result, sizes, count, LIST), .of = &size_layout },
	{ LAYOUT_AT(struct result, count, ID), .flags = LAYOUT_DETAIL | LAYOUT_WRITTEN },
	{ .name = NULL },
};
static const struct layout result_layout = { "compare result", sizeof(struct result), result_fields };

static char *tuning_text(const struct params *params)
{
	struct params *tuning = params_part(params, true);
	char *text = params_text(tuning);
	params_free(tuning);
	return text;
}

static void describe(const struct compare_request *q, const char *size, const struct trial_paired *p, double seconds,
		     struct size *s)
{
	layout_init(&size_layout, s);
	s->size = mem_str(size);
	s->verdict = mem_str(trial_verdict_name(p->verdict));
	s->ratio = 1 / p->ratio;
	s->low = 1 / p->high;
	s->high = 1 / p->low;
	s->load = *q->load ? mem_str(q->load) : NULL;
	s->margin = p->margin;
	s->a_ns = p->a_ns;
	s->b_ns = p->b_ns;
	s->a_params = tuning_text(q->a.params);
	s->b_params = tuning_text(q->b.params);
	s->a_evidence = q->a.evidence;
	s->b_evidence = q->b.evidence;
	s->pairs = (int64_t)p->count;
	s->discarded = (int64_t)p->discarded;
	s->seconds = seconds;
	if (p->disturbed)
		s->note = mem_fmt("the device was throttled or used by others all the time (%s): compare again", p->cause);
}

/* What was weighed now, or else the joules of either side that are on record. */
static int describe_energy(struct db *db, const struct compare_request *q, struct weighed *w, struct err *e)
{
	const struct weighing *x = &q->weighing;
	char *a = params_text(q->a.params), *b = params_text(q->b.params);
	int rc = metric_newest(db, q->a.checkpoint, q->facts->uuid, a, "energy", &w->a_joules, e);
	if (rc == 0)
		rc = metric_newest(db, q->b.checkpoint, q->facts->uuid, b, "energy", &w->b_joules, e);
	free(a);
	free(b);
	if (rc < 0 || x->verdict == NULL)
		return rc;
	w->objective = mem_str(x->objective);
	w->verdict = mem_str(x->verdict);
	w->ratio = 1 / x->ratio;
	w->low = 1 / x->high;
	w->high = 1 / x->low;
	w->matched =
		x->matched
			? mem_str("the times match within 1 %")
			: mem_fmt("times do not match within 1 %% (B takes %.3f times as long while it is weighed), so this is no "
				  "saving at equal speed",
				  x->time_ratio);
	return 0;
}

static int compare_size(struct engine_job *job, const struct request *q, const struct lineage l[2], const struct facts *facts,
			const struct params *size, struct result *result, struct err *e)
{
	struct eval ev = work_eval(job);
	struct params *params[2] = { NULL, NULL };
	struct trial_paired p;
	int64_t start = clock_now();
	char *text = params_text(size);
	bool weighs = false;
	int rc = energy_weighs(q->objective, &weighs, e);
	for (int k = 0; k < 2 && rc == 0; k++)
		rc = work_best(job->db, &l[k], facts, size, q->warm, &params[k], e);
	if (rc == 0) {
		struct compare_request r = {
			.a = { .checkpoint = l[0].id, .ctx = l[0].ctx, .baseline = l[0].root, .params = params[0] },
			.b = { .checkpoint = l[1].id, .ctx = l[1].ctx, .baseline = l[1].root, .params = params[1] },
			.facts = facts,
			.warm = q->warm,
			.objective = weighs ? q->objective : NULL,
		};
		eval_progress(&ev, (double)result->count, 0, "comparing %lld with %lld at %s", (long long)l[1].id,
			      (long long)l[0].id, text);
		rc = compare_run(&ev, &r, job->db, job->id, &p, e);
		if (rc == 0) {
			struct size *s = MEM_PUSH(result->sizes, result->count);
			describe(&r, text, &p, (double)(clock_now() - start) / 1e9, s);
			rc = describe_energy(job->db, &r, &s->weighed, e);
			trial_paired_fini(&p);
		}
		comparison_weighing_fini(&r.weighing);
	}
	if (rc < 0)
		err_wrap(e, "%s", text);
	params_free(params[0]);
	params_free(params[1]);
	free(text);
	return rc;
}

static int run(struct engine_job *job, const void *request, void *ret_result, struct err *e)
{
	const struct request *q = request;
	struct result *result = ret_result;
	struct lineage l[2];
	struct facts facts;
	struct work_sizes sizes = { .count = 0 };
	int rc = lineage_load(job->db, q->b ? q->b : q->a, &l[1], e);
	if (rc < 0)
		return rc;
	if (q->b == 0 && l[1].parent_id == 0)
		rc = err_set(e, ERR_INPUT,
			     "b: checkpoint %lld is a baseline and has no parent to compare with: name another checkpoint",
			     (long long)q->a);
	else
		rc = lineage_load(job->db, q->b ? q->a : l[1].parent_id, &l[0], e);
	if (rc < 0) {
		lineage_fini(&l[1]);
		return rc;
	}
	rc = work_device(job->user, q->device, context_backend(l[1].ctx), &facts, e);
	if (rc == 0 && !facts.runs)
		rc = err_set(e, ERR_UNSUPPORTED, "%s only compiles: nothing can be timed on it", facts.id);
	if (rc == 0)
		rc = work_sizes_list(q->sizes, l[1].ctx, &facts, &sizes, e);
	for (size_t i = 0; rc == 0 && i < sizes.count; i++)
		rc = compare_size(job, q, l, &facts, sizes.at[i], result, e);
	if (rc == 0) {
		result->a = l[0].id;
		result->b = l[1].id;
	}
	work_sizes_fini(&sizes);
	lineage_fini(&l[0]);
	lineage_fini(&l[1]);
	return rc;
}

const struct engine_kind work_compare = { "compare", &request_layout, &result_layout, run };
