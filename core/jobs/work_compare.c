/* work_compare: the job behind the compare tool: two checkpoints, each at its own best, at every asked size; see work.h. */
#include "core/jobs/work.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/measure/compare.h"

struct request {
	int64_t a, b; /* checkpoints; b 0: a against its parent */
	char *device;
	char *sizes; /* one assignment; NULL: every declared size */
	bool warm;
};

static const struct layout_field request_fields[] = {
	{ LAYOUT_AT(struct request, a, ID) },
	{ LAYOUT_AT(struct request, b, ID) },
	{ LAYOUT_AT(struct request, device, TEXT) },
	{ LAYOUT_AT(struct request, sizes, TEXT) },
	{ LAYOUT_AT(struct request, warm, BOOL), .flags = LAYOUT_OPTIONAL },
	{ .name = NULL },
};
static const struct layout request_layout = { "compare request", sizeof(struct request), request_fields };

/* At one input size: the verdict is on B relative to A. */
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
};

static const struct layout_field size_fields[] = {
	{ LAYOUT_AT(struct size, size, TEXT), .say = "%: " },
	{ LAYOUT_AT(struct size, verdict, TEXT), .say = "%" },
	{ LAYOUT_AT(struct size, ratio, REAL), .unit = "ratio", .say = ": B is % times as fast as A" },
	{ LAYOUT_AT(struct size, low, REAL), .unit = "ratio", .say = " (% to" },
	{ LAYOUT_AT(struct size, high, REAL), .unit = "ratio", .say = " %)" },
	{ LAYOUT_AT(struct size, b_ns, REAL), .unit = "ns", .say = ": %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, a_ns, REAL), .unit = "ns", .say = " against %", .flags = LAYOUT_DETAIL },
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

static int compare_size(struct engine_job *job, const struct request *q, const struct lineage l[2], const struct facts *facts,
			const struct params *size, struct result *result, struct err *e)
{
	struct eval ev = work_eval(job);
	struct params *params[2] = { NULL, NULL };
	struct trial_paired p;
	int64_t start = clock_now();
	char *text = params_text(size);
	int rc = 0;
	for (int k = 0; k < 2 && rc == 0; k++)
		rc = work_best(job->db, &l[k], facts, size, q->warm, &params[k], e);
	if (rc == 0) {
		struct compare_request r = {
			.a = { .checkpoint = l[0].id, .ctx = l[0].ctx, .baseline = l[0].root, .params = params[0] },
			.b = { .checkpoint = l[1].id, .ctx = l[1].ctx, .baseline = l[1].root, .params = params[1] },
			.facts = facts,
			.warm = q->warm,
		};
		eval_progress(&ev, (double)result->count, 0, "comparing %lld with %lld at %s", (long long)l[1].id,
			      (long long)l[0].id, text);
		rc = compare_run(&ev, &r, job->db, job->id, &p, e);
		if (rc == 0) {
			describe(&r, text, &p, (double)(clock_now() - start) / 1e9, MEM_PUSH(result->sizes, result->count));
			trial_paired_fini(&p);
		}
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
	rc = work_device(job, q->device, l[1].ctx, &facts, e);
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
