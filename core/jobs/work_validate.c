/* work_validate: the job behind the validate tool: outputs compared with the baseline's, or a run under a sanitizer; see work.h. */
#include "core/jobs/work.h"

#include <stdlib.h>

#include "base/mem.h"
#include "core/judge/sanitize.h"
#include "core/judge/validate.h"
#include "core/record/validation.h"

enum { FAILED_MAX = 16 }; /* configurations that failed before and are judged again */

struct request {
	struct work_subject subject;
	int64_t samples; /* execution parameters to sample; 0: WORK_SAMPLES */
	char *sanitizer; /* a tool of compute-sanitizer, instead of comparing outputs; NULL or "": none */
};

static const struct layout_field request_fields[] = {
	{ LAYOUT_AT(struct request, subject, PART), .of = &work_subject_layout },
	{ LAYOUT_AT(struct request, samples, ID) },
	{ LAYOUT_AT(struct request, sanitizer, TEXT) },
	{ .name = NULL },
};
static const struct layout request_layout = { "validate request", sizeof(struct request), request_fields };

struct result {
	bool passed;
	char *summary;
	int64_t passed_count, failed_count, pruned_count, skipped_count; /* execution parameters; negative: not counted */
	char *not_judged, *limits;                                       /* what the verdict does not cover (core/judge/limits.h) */
	char *domain;                                                    /* what was checked of the declared domain */
	char *details;                                                   /* of the first failure, or a compiler's log; NULL */
};

static const struct layout_field result_fields[] = {
	{ LAYOUT_AT(struct result, passed, BOOL) },
	{ LAYOUT_AT(struct result, summary, TEXT), .say = "%\n" },
	{ LAYOUT_AT(struct result, not_judged, TEXT) },
	{ LAYOUT_AT(struct result, limits, TEXT) },
	{ LAYOUT_AT(struct result, passed_count, COUNT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, failed_count, COUNT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, pruned_count, COUNT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, skipped_count, COUNT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, domain, TEXT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, details, TEXT), .say = "%\n" },
	{ .name = NULL },
};
static const struct layout result_layout = { "validate result", sizeof(struct result), result_fields };

static void describe(const struct validate_result *v, struct result *r)
{
	r->passed = v->passed;
	r->summary = mem_str(v->summary);
	r->passed_count = (int64_t)v->passed_count;
	r->failed_count = (int64_t)v->failed_count;
	r->pruned_count = (int64_t)v->pruned_count;
	if (v->skipped_count)
		r->skipped_count = (int64_t)v->skipped_count;
	r->not_judged = mem_str(v->not_judged);
	r->limits = mem_str(v->limits);
	r->domain = mem_str(v->domain);
	for (size_t i = 0; i < v->finding_count; i++) {
		const struct validate_finding *f = &v->findings[i];
		if (f->check.passed)
			continue;
		if (f->check.output || f->details) {
			char *params = params_text(f->params),
			     *details = f->details ? mem_str(f->details) : check_details(&f->check);
			r->details = mem_fmt("%s\n%s", params, details);
			free(params);
			free(details);
		}
		break; /* without an output the summary has its reason */
	}
}

/* When no configuration ran at all, there is no verdict: the checkpoint is refused, which is an error. */
static int refuse_unjudged(const struct validate_result *v, struct err *e)
{
	enum err_code code = ERR_PRUNED;
	for (size_t i = 0; i < v->finding_count; i++) {
		code = v->findings[i].check.code;
		if (code != ERR_COMPILE && code != ERR_INPUT)
			return 0;
	}
	return v->passed_count ? 0 : err_set(e, code, "%s", v->summary);
}

/* A named architecture only compiles. Nothing is recorded, since nothing was shown about outputs. */
static int compile_only(const struct eval *ev, const struct validate_request *q, struct result *r, struct err *e)
{
	struct validate_result v = { 0 };
	int rc = validate_compile(ev, q->ctx, q->facts, q->samples, q->seed, &v, e);
	if (rc < 0)
		return rc;
	describe(&v, r);
	r->passed = false;
	if (v.passed && v.log) {
		free(r->details);
		r->details = mem_str(v.log);
	}
	rc = refuse_unjudged(&v, e);
	validate_result_fini(&v);
	return rc;
}

/* A finding refutes the checkpoint. No finding shows nothing about outputs, so the status stays. */
static int sanitize(struct engine_job *job, const struct request *q, const struct lineage *l, const struct facts *facts,
		    struct result *ret_result, struct err *e)
{
	struct eval ev = work_eval(job);
	struct sanitize_request request = {
		.ctx = l->ctx, .facts = facts, .tool = q->sanitizer, .samples = (unsigned)q->samples, .seed = check_seed()
	};
	struct sanitize_result r = { 0 };
	if (!sanitize_known(q->sanitizer))
		return err_set(e, ERR_INPUT, "there is no sanitizer '%s'; there are memcheck, racecheck, initcheck and synccheck",
			       q->sanitizer);
	if (!facts->runs)
		return err_set(e, ERR_UNSUPPORTED, "%s is compile-only: a sanitizer needs a device that runs kernels", facts->id);
	int rc = sanitize_run(&ev, &request, job->db, l->id, job->id, &r, e);
	if (rc < 0)
		return rc;
	ret_result->passed = r.passed;
	ret_result->summary = mem_str(r.summary);
	ret_result->details = mem_str(r.details);
	if (!r.passed && !r.skipped && r.details)
		rc = checkpoint_set_status(job->db, l->id, CHECKPOINT_FAILED, r.summary, e);
	sanitize_result_fini(&r);
	return rc < 0 ? rc : 0;
}

static int validate(struct engine_job *job, const struct eval *ev, const struct validate_request *q, int64_t checkpoint,
		    struct result *r, struct err *e)
{
	struct validate_result v = { 0 };
	int rc = validate_run(ev, q, job->db, checkpoint, job->id, &v, e);
	if (rc < 0)
		return rc;
	describe(&v, r);
	char *caveats = validate_caveats(&v);
	/* Without a verdict, what was known stays. */
	if (v.passed || v.failed_count || !v.skipped_count)
		rc = checkpoint_set_status(job->db, checkpoint, v.passed ? CHECKPOINT_ACCEPTED : CHECKPOINT_FAILED,
					   v.passed ? caveats : v.summary, e);
	free(caveats);
	if (rc >= 0)
		rc = refuse_unjudged(&v, e);
	validate_result_fini(&v);
	return rc < 0 ? rc : 0;
}

/* What failed on this device before is judged again, the newest first: a later verdict must not rest on not looking there. */
static void find_failed(struct engine_job *job, const struct lineage *l, const struct facts *facts, struct work_sizes *ret_failed)
{
	struct validation_list list;
	struct params *params;
	struct err ignored = ERR_INIT;
	*ret_failed = (struct work_sizes){ .count = 0 };
	if (validation_failed(job->db, l->id, facts->uuid, FAILED_MAX, &list, &ignored) < 0)
		return;
	for (size_t i = 0; i < list.count; i++)
		if (params_parse(l->ctx, list.at[i].params, true, &params, &ignored) == 0)
			*MEM_PUSH(ret_failed->at, ret_failed->count) = params;
	validation_list_fini(&list);
}

static int run(struct engine_job *job, const void *request, void *result, struct err *e)
{
	const struct request *q = request;
	struct eval ev = work_eval(job);
	struct lineage l;
	struct facts facts;
	struct work_sizes failed = { .count = 0 };
	int rc = lineage_load(job->db, q->subject.checkpoint, &l, e);
	if (rc < 0)
		return rc;
	rc = work_device(job->user, q->subject.device, context_backend(l.ctx), &facts, e);
	if (rc == 0)
		find_failed(job, &l, &facts, &failed);
	struct validate_request r = { .ctx = l.ctx,
				      .baseline = l.root,
				      .parent = l.parent,
				      .facts = &facts,
				      .samples = (unsigned)(q->samples ? q->samples : WORK_SAMPLES),
				      .seed = check_seed(),
				      .again = failed.at,
				      .again_count = failed.count };
	if (rc == 0 && q->sanitizer && *q->sanitizer)
		rc = sanitize(job, q, &l, &facts, result, e);
	else if (rc == 0)
		rc = facts.runs ? validate(job, &ev, &r, l.id, result, e) : compile_only(&ev, &r, result, e);
	work_sizes_fini(&failed);
	lineage_fini(&l);
	return rc;
}

const struct engine_kind work_validate = { "validate", &request_layout, &result_layout, run };
