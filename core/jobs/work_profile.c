/* work_profile: the job behind the profile tool: a checkpoint at its best, at every asked size; see work.h. */
#include "core/jobs/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/measure/profile.h"
#include "core/jobs/work_size.h"

/* The last line: the state of the device beside the last sample. */
static const char *last_line(const char *text)
{
	const char *end = text ? strrchr(text, '\n') : NULL;
	return end ? end + 1 : text ? text : "";
}

static void describe_library(const struct library_baseline *l, size_t i, struct fields *result)
{
	if (l->name == NULL)
		return;
	work_size_text(result, "library", i, l->why ? l->why : l->name);
	if (l->why)
		return;
	work_size_number(result, "library_ratio", i, l->paired.ratio);
	work_size_number(result, "library_low", i, l->paired.low);
	work_size_number(result, "library_high", i, l->paired.high);
}

static void describe_more(const struct external_metrics *m, size_t i, struct fields *result)
{
	struct buf text = BUF_INIT;
	for (size_t k = 0; k < m->count; k++)
		buf_addf(&text, "%s%s %.6g%s%s", k ? "; " : "", m->at[k].name, m->at[k].value, *m->at[k].unit ? " " : "", m->at[k].unit);
	for (size_t k = 0; k < m->skipped_count; k++)
		buf_addf(&text, "%s%s", text.len ? "; " : "", m->skipped[k]);
	if (text.len)
		work_size_text(result, "metrics", i, buf_text(&text));
	buf_fini(&text);
}

static void describe(const struct profile_result *r, const char *size, const struct params *params, size_t i, struct fields *result)
{
	struct params *tuning = params_part(params, true);
	char *text = params_text(tuning);
	work_size_text(result, "size", i, size);
	work_size_text(result, "params", i, text);
	work_size_number(result, "cold_ns", i, r->cold.median);
	work_size_number(result, "warm_ns", i, r->warm.median);
	work_size_number(result, "rse", i, r->cold.rse);
	work_size_number(result, "samples", i, (double)r->cold.count);
	work_size_number(result, "discarded", i, (double)(r->cold.discarded + r->warm.discarded));
	work_size_number(result, "gflops", i, r->flops / r->cold.median);
	work_size_number(result, "joules", i, r->energy.joules);
	work_size_number(result, "watts", i, r->energy.watts);
	if (!isfinite(r->energy.joules))
		work_size_text(result, "energy", i, r->energy.note && *r->energy.note ? r->energy.note : "not available");
	work_size_text(result, "conditions", i, last_line(r->cold.conditions));
	if (r->pipe)
		work_size_text(result, "pipe", i, r->pipe);
	work_size_number(result, "pipe_percent", i, 100 * r->pipe_share);
	work_size_number(result, "copy_percent", i, 100 * r->copy_share);
	describe_library(&r->library, i, result);
	if (r->registers >= 0)
		work_size_number(result, "registers", i, (double)r->registers);
	if (r->shared >= 0)
		work_size_number(result, "shared_bytes", i, (double)r->shared);
	if (r->spill >= 0)
		work_size_number(result, "spill_bytes", i, (double)r->spill);
	describe_more(&r->more, i, result);
	work_size_number(result, "evidence", i, (double)r->evidence);
	params_free(tuning);
	free(text);
}

static int profile_size(struct engine_job *job, const struct lineage *l, const struct facts *facts, const struct params *size, size_t i,
                        struct fields *result, struct err *e)
{
	struct eval ev = work_eval(job);
	struct params *params = NULL;
	struct profile_result r;
	char *text = params_text(size);
	int rc = work_size_best(job->db, l, facts, size, false, &params, e);
	if (rc == 0) {
		struct profile_request q = { .ctx = l->ctx, .baseline = l->root, .params = params, .facts = facts };
		rc = profile_run(&ev, &q, job->db, l->id, job->id, &r, e);
	}
	if (rc == 0) {
		describe(&r, text, params, i, result);
		profile_result_fini(&r);
	} else {
		err_wrap(e, "%s", text);
	}
	params_free(params);
	free(text);
	return rc;
}

int work_profile(struct engine_job *job, struct fields *result, struct err *e)
{
	struct lineage l;
	struct facts facts;
	struct work_sizes sizes = { .count = 0 };
	int rc = lineage_load(job->db, fields_int(job->request, "checkpoint", 0), &l, e);
	if (rc < 0)
		return rc;
	rc = work_device(job, l.ctx, &facts, e);
	if (rc == 0 && !facts.runs)
		rc = err_set(e, ERR_UNSUPPORTED, "%s only compiles: nothing can be timed on it", facts.id);
	if (rc == 0)
		rc = work_size_list(job->request, l.ctx, &facts, &sizes, e);
	for (size_t i = 0; rc == 0 && i < sizes.count; i++) {
		rc = profile_size(job, &l, &facts, sizes.at[i], i, result, e);
		if (rc == 0)
			fields_setf(result, "count", "%zu", i + 1);
	}
	work_sizes_fini(&sizes);
	lineage_fini(&l);
	return rc;
}
