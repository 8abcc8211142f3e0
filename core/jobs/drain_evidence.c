/* drain_evidence: see drain_evidence.h. */
#include "core/jobs/drain_evidence.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/record/checkpoint.h"
#include "core/record/comparison.h"
#include "core/record/fact.h"
#include "core/record/job.h"
#include "core/record/measurement.h"
#include "core/record/metric.h"
#include "core/record/validation.h"

static void pairs_add(struct drain_evidence_pairs *p, int64_t there, int64_t here)
{
	*MEM_PUSH(p->at, p->count) = (struct drain_evidence_pair){ there, here };
}

int64_t drain_evidence_here(const struct drain_evidence_pairs *p, int64_t there)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->at[i].there == there)
			return p->at[i].here;
	return 0;
}

static bool ours(const struct drain_evidence *t, const char *job)
{
	return job && strcmp(job, t->job) == 0;
}

/* A checkpoint's number here; the job's own, its parent and its baseline are asked for. 0 stays 0. */
static int find_checkpoint(const struct drain_evidence *t, int64_t there, int64_t *ret_here, struct err *e)
{
	struct checkpoint c;
	*ret_here = there == t->there ? t->here : 0;
	if (there == 0 || *ret_here)
		return 0;
	int rc = checkpoint_get(t->away, there, &c, e);
	if (rc < 0)
		return rc;
	rc = checkpoint_find(t->home, c.hash.hex, ret_here, e);
	checkpoint_fini(&c);
	return rc < 0 ? rc : 0;
}

/* Unless it was taken before, as the evidence of another job. */
static int take_validation(struct drain_evidence *t, struct validation v, struct err *e)
{
	int64_t there = v.id, here = 0;
	int rc = find_checkpoint(t, v.checkpoint, &v.checkpoint, e);
	if (rc == 0)
		rc = validation_same(t->home, &v, &here, e);
	if (rc == 0 && here == 0) {
		rc = validation_add(t->home, &v, e);
		here = v.id;
		t->rows++;
	}
	pairs_add(&t->validations, there, here);
	return rc;
}

static int take_validations(struct drain_evidence *t, struct err *e)
{
	struct validation_list list;
	int rc = validation_of_job(t->away, t->job, &list, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < list.count; i++)
		rc = take_validation(t, list.at[i], e);
	validation_list_fini(&list);
	return rc;
}

/* What a figure points at. It may be of another job of the bundle, which has not been merged. */
static int take_evidence(struct drain_evidence *t, int64_t *io_id, struct err *e)
{
	struct validation v;
	struct job job = { .id = NULL };
	if (*io_id == 0)
		return 0;
	int64_t here = drain_evidence_here(&t->validations, *io_id);
	int rc = here ? 0 : validation_get(t->away, *io_id, &v, e);
	if (rc > 0) {
		rc = v.job ? job_get(t->away, v.job, &job, e) : -ERR_NOT_FOUND;
		if (rc == 0)
			rc = take_validation(t, v, e);
		here = rc == 0 ? drain_evidence_here(&t->validations, *io_id) : 0;
		job_fini(&job);
		validation_fini(&v);
	}
	if (here == 0 && (rc == 0 || rc == -ERR_NOT_FOUND))
		rc = err_set(e, ERR_IO, "a figure of job %s has evidence that is not in the bundle", t->job);
	*io_id = here;
	return rc;
}

static int take_runs(struct drain_evidence *t, struct err *e)
{
	struct measurement_run_list list;
	int rc = measurement_runs(t->away, t->there, &list, e);
	if (rc < 0)
		return rc;
	for (size_t i = list.count; rc >= 0 && i > 0; i--) {
		struct measurement_run r = list.at[i - 1];
		if (!ours(t, r.job))
			continue;
		r.checkpoint = t->here;
		rc = measurement_run_begin(t->home, &r, e);
		if (rc >= 0 && r.ended_ms)
			rc = measurement_run_end_at(t->home, r.id, r.ended_ms, e);
		pairs_add(&t->runs, list.at[i - 1].id, r.id);
	}
	measurement_run_list_fini(&list);
	return rc < 0 ? rc : 0;
}

static int take_measurements(struct drain_evidence *t, struct err *e)
{
	struct measurement_list list;
	struct measurement_query q = { .checkpoint = t->there };
	int rc = measurement_list(t->away, &q, &list, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc >= 0 && i < list.count; i++) {
		struct measurement row = list.at[i];
		if (!ours(t, row.job))
			continue;
		row.checkpoint = t->here;
		row.run = drain_evidence_here(&t->runs, row.run);
		rc = take_evidence(t, &row.validation, e);
		if (rc == 0)
			rc = measurement_add(t->home, &row, e);
		t->rows++;
	}
	measurement_list_fini(&list);
	return rc < 0 ? rc : 0;
}

static int take_metrics(struct drain_evidence *t, struct err *e)
{
	struct metric_list list;
	int rc = metric_list(t->away, t->there, NULL, NULL, &list, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc >= 0 && i < list.count; i++) {
		struct metric row = list.at[i];
		if (!ours(t, row.job))
			continue;
		row.checkpoint = t->here;
		rc = metric_add(t->home, &row, e);
		t->rows++;
	}
	metric_list_fini(&list);
	return rc < 0 ? rc : 0;
}

static int take_weighing(struct drain_evidence *t, int64_t there, int64_t here, struct err *e)
{
	struct weighing w;
	int rc = comparison_weighing(t->away, there, &w, e);
	if (rc <= 0)
		return rc;
	w.comparison = here;
	rc = comparison_weighing_add(t->home, &w, e);
	comparison_weighing_fini(&w);
	return rc;
}

static int take_comparisons(struct drain_evidence *t, struct err *e)
{
	struct comparison_list list;
	int rc = comparison_of_job(t->away, t->job, &list, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < list.count; i++) {
		struct comparison row = list.at[i];
		rc = find_checkpoint(t, row.a, &row.a, e);
		if (rc == 0)
			rc = find_checkpoint(t, row.b, &row.b, e);
		if (rc == 0)
			rc = take_evidence(t, &row.a_validation, e);
		if (rc == 0)
			rc = take_evidence(t, &row.b_validation, e);
		if (rc == 0)
			rc = comparison_add(t->home, &row, e);
		if (rc == 0)
			rc = take_weighing(t, list.at[i].id, row.id, e);
		t->rows++;
	}
	comparison_list_fini(&list);
	return rc;
}

int drain_evidence_take(struct drain_evidence *t, struct err *e)
{
	int rc = take_validations(t, e);
	if (rc == 0)
		rc = take_runs(t, e);
	if (rc == 0)
		rc = take_measurements(t, e);
	if (rc == 0)
		rc = take_metrics(t, e);
	return rc == 0 ? take_comparisons(t, e) : rc;
}

void drain_evidence_fini(struct drain_evidence *t)
{
	free(t->runs.at);
	free(t->validations.at);
}

int drain_evidence_facts(struct db *home, struct db *away, struct err *e)
{
	struct fact_list list;
	int rc = fact_list(away, NULL, &list, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc >= 0 && i < list.count; i++) {
		struct err ignored = ERR_INIT;
		char *known = NULL;
		if (fact_get(home, list.at[i].device, list.at[i].key, &known, &ignored) < 0)
			rc = fact_set(home, list.at[i].device, list.at[i].key, list.at[i].value, e);
		free(known);
	}
	fact_list_fini(&list);
	return rc < 0 ? rc : 0;
}
