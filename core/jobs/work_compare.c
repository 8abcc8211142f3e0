/* work_compare: the job behind the compare tool: two checkpoints, each at its own best, at every asked size; see work.h. */
#include "core/jobs/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/context/space.h"
#include "core/measure/compare.h"
#include "core/record/lineage.h"
#include "core/record/measurement.h"
#include "core/jobs/work_size.h"

/* The smaller part of a comparison's answer. */
static void describe(const struct compare_request *q, const char *size, const struct trial_paired *p, double seconds, size_t i,
                     struct fields *result)
{
	struct params *a = params_part(q->a.params, true), *b = params_part(q->b.params, true);
	char *a_text = params_text(a), *b_text = params_text(b);
	work_size_text(result, "size", i, size);
	work_size_text(result, "verdict", i, trial_verdict_name(p->verdict));
	work_size_number(result, "ratio", i, p->ratio);
	work_size_number(result, "low", i, p->low);
	work_size_number(result, "high", i, p->high);
	work_size_number(result, "margin", i, p->margin);
	work_size_number(result, "a_ns", i, p->a_ns);
	work_size_number(result, "b_ns", i, p->b_ns);
	work_size_text(result, "a_params", i, a_text);
	work_size_text(result, "b_params", i, b_text);
	work_size_number(result, "a_evidence", i, (double)q->a.evidence);
	work_size_number(result, "b_evidence", i, (double)q->b.evidence);
	work_size_number(result, "pairs", i, (double)p->count);
	work_size_number(result, "discarded", i, (double)p->discarded);
	if (p->disturbed) {
		char *note = mem_fmt("the device was throttled or used by others all the time (%s): compare again", p->cause);
		work_size_text(result, "note", i, note);
		free(note);
	}
	work_size_number(result, "seconds", i, seconds);
	params_free(a);
	params_free(b);
	free(a_text);
	free(b_text);
}

static int compare_size(struct engine_job *job, const struct lineage l[2], const struct facts *facts, const struct params *size,
                        size_t i, struct fields *result, struct err *e)
{
	struct eval ev = work_eval(job);
	struct params *params[2] = { NULL, NULL };
	struct trial_paired p;
	int64_t start = clock_now();
	char *text = params_text(size);
	int rc = 0;
	for (int k = 0; k < 2 && rc == 0; k++)
		rc = work_size_best(job->db, &l[k], facts, size, fields_flag(job->request, "warm"), &params[k], e);
	if (rc == 0) {
		struct compare_request q = {
			.a = { .checkpoint = l[0].id, .ctx = l[0].ctx, .baseline = l[0].root, .params = params[0] },
			.b = { .checkpoint = l[1].id, .ctx = l[1].ctx, .baseline = l[1].root, .params = params[1] },
			.facts = facts, .warm = fields_flag(job->request, "warm"),
		};
		eval_progress(&ev, (double)i, 0, "comparing %lld with %lld at %s", (long long)l[1].id, (long long)l[0].id, text);
		rc = compare_run(&ev, &q, job->db, job->id, &p, e);
		if (rc == 0) {
			describe(&q, text, &p, (double)(clock_now() - start) / 1e9, i, result);
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

/* b is left out: a checkpoint against its parent. */
static int load_both(struct engine_job *job, struct lineage l[2], struct err *e)
{
	int64_t a = fields_int(job->request, "a", 0), b = fields_int(job->request, "b", 0);
	int rc = lineage_load(job->db, b ? b : a, &l[1], e);
	if (rc < 0)
		return rc;
	if (b == 0 && l[1].parent_id == 0)
		rc = err_set(e, ERR_INPUT, "b: checkpoint %lld is a root and has no parent to be compared with: name the other one", (long long)a);
	else
		rc = lineage_load(job->db, b ? a : l[1].parent_id, &l[0], e);
	if (rc < 0)
		lineage_fini(&l[1]);
	return rc;
}

int work_compare(struct engine_job *job, struct fields *result, struct err *e)
{
	struct lineage l[2];
	struct facts facts;
	struct work_sizes sizes = { .count = 0 };
	int rc = load_both(job, l, e);
	if (rc < 0)
		return rc;
	rc = work_device(job, l[1].ctx, &facts, e);
	if (rc == 0 && !facts.runs)
		rc = err_set(e, ERR_UNSUPPORTED, "%s only compiles: nothing can be timed on it", facts.id);
	if (rc == 0)
		rc = work_size_list(job->request, l[1].ctx, &facts, &sizes, e);
	for (size_t i = 0; rc == 0 && i < sizes.count; i++) {
		rc = compare_size(job, l, &facts, sizes.at[i], i, result, e);
		if (rc == 0)
			fields_setf(result, "count", "%zu", i + 1);
	}
	if (rc == 0) {
		fields_setf(result, "a", "%lld", (long long)l[0].id);
		fields_setf(result, "b", "%lld", (long long)l[1].id);
	}
	work_sizes_fini(&sizes);
	lineage_fini(&l[0]);
	lineage_fini(&l[1]);
	return rc;
}
