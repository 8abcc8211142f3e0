/* work_validate: the job behind the validate tool; see work.h. */
#include "core/jobs/work.h"

#include <stdlib.h>

#include "base/mem.h"
#include "core/judge/sanitize.h"
#include "core/judge/validate.h"
#include "core/record/lineage.h"

enum { SAMPLES = 16 };

static void describe(const struct validate_result *v, struct fields *result)
{
	fields_set(result, "passed", v->passed ? "1" : "0");
	fields_set(result, "summary", v->summary);
	fields_setf(result, "passed_count", "%zu", v->passed_count);
	fields_setf(result, "failed_count", "%zu", v->failed_count);
	fields_setf(result, "pruned_count", "%zu", v->pruned_count);
	if (v->skipped_count)
		fields_setf(result, "skipped_count", "%zu", v->skipped_count);
	fields_set(result, "domain", v->domain);
	for (size_t i = 0; i < v->finding_count; i++)
		if (!v->findings[i].check.passed) {
			const struct validate_finding *f = &v->findings[i];
			if (f->check.output == NULL && f->details == NULL)
				break; /* the summary has its reason */
			char *params = params_text(f->params), *details = f->details ? mem_str(f->details) : check_details(&f->check);
			fields_setf(result, "details", "%s\n%s", params, details);
			free(params);
			free(details);
			break;
		}
}

/* Where no configuration got as far as running there is no verdict: what was handed in is refused, and that is an error. */
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

/* A named architecture: what can be said is whether it compiles. Nothing is recorded, since nothing was shown about outputs. */
static int compile_only(const struct eval *ev, const struct validate_request *q, struct fields *result, struct err *e)
{
	struct validate_result v = { 0 };
	int rc = validate_compile(ev, q->ctx, q->facts, q->samples, q->seed, &v, e);
	if (rc < 0)
		return rc;
	describe(&v, result);
	fields_set(result, "passed", "0");
	if (v.passed && v.log)
		fields_set(result, "details", v.log);
	rc = refuse_unjudged(&v, e);
	validate_result_fini(&v);
	return rc;
}

/* What the tool found refutes; that it found nothing proves no output right, so the status stays. */
static int sanitize(struct engine_job *job, const struct eval *ev, const struct lineage *l, const struct facts *facts, const char *tool,
                    struct fields *result, struct err *e)
{
	struct sanitize_request q = { .ctx = l->ctx, .facts = facts, .tool = tool,
	                              .samples = (unsigned)fields_int(job->request, "samples", 0), .seed = check_seed() };
	struct sanitize_result r = { 0 };
	if (!sanitize_known(tool))
		return err_set(e, ERR_INPUT, "there is no sanitizer '%s'; there are memcheck, racecheck, initcheck and synccheck", tool);
	if (!facts->runs)
		return err_set(e, ERR_UNSUPPORTED, "%s can only be compiled for: a sanitizer needs a device that runs", facts->id);
	int rc = sanitize_run(ev, &q, job->db, l->id, job->id, &r, e);
	if (rc < 0)
		return rc;
	fields_set(result, "passed", r.passed ? "1" : "0");
	fields_set(result, "summary", r.summary);
	if (r.details)
		fields_set(result, "details", r.details);
	if (!r.passed && !r.skipped && r.details)
		rc = checkpoint_set_status(job->db, l->id, CHECKPOINT_FAILED, r.summary, e);
	sanitize_result_fini(&r);
	return rc < 0 ? rc : 0;
}

int work_validate(struct engine_job *job, struct fields *result, struct err *e)
{
	struct eval ev = work_eval(job);
	struct lineage l;
	struct facts facts;
	struct validate_result v = { 0 };
	int rc = lineage_load(job->db, fields_int(job->request, "checkpoint", 0), &l, e);
	if (rc < 0)
		return rc;
	rc = work_device(job, l.ctx, &facts, e);
	const char *tool = fields_text(job->request, "sanitizer", "");
	if (rc == 0 && *tool)
		rc = sanitize(job, &ev, &l, &facts, tool, result, e);
	if (rc < 0 || *tool) {
		lineage_fini(&l);
		return rc;
	}
	struct validate_request q = { .ctx = l.ctx, .baseline = l.root, .parent = l.parent, .facts = &facts,
	                              .samples = (unsigned)fields_int(job->request, "samples", SAMPLES), .seed = check_seed() };
	if (rc == 0 && !facts.runs) {
		rc = compile_only(&ev, &q, result, e);
		lineage_fini(&l);
		return rc;
	}
	if (rc == 0)
		rc = validate_run(&ev, &q, job->db, l.id, job->id, &v, e);
	if (rc == 0) {
		describe(&v, result);
		/* What could not be judged changes nothing about what was known. */
		if (v.passed || v.failed_count || !v.skipped_count)
			rc = checkpoint_set_status(job->db, l.id, v.passed ? CHECKPOINT_ACCEPTED : CHECKPOINT_FAILED,
			                           v.passed ? NULL : v.summary, e);
		if (rc >= 0)
			rc = refuse_unjudged(&v, e);
	}
	validate_result_fini(&v);
	lineage_fini(&l);
	return rc < 0 ? rc : 0;
}
