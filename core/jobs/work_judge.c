/* work_judge: from validation results to verdicts; see work_judge.h. */
#include "core/jobs/work_judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/record/blob.h"
#include "core/record/checkpoint.h"
#include "core/record/store.h"
#include "core/record/workflow.h"
#include "core/transform/saved.h"

enum { COMPILE_SAMPLES = 4, HINT_CONFIGS = 8 };

/* "device(12): error: …" (NVRTC), "device:12: …" (HLSL), "FILE: host code, line 12: …" (Lua): the region and the line. */
static bool error_line(const char *line, size_t len, enum region *ret_region, unsigned *ret_line)
{
	for (int r = 0; r < REGION_COUNT; r++) {
		const char *name = context_region_name((enum region)r);
		size_t n = strlen(name);
		if (len > n + 1 && strncmp(line, name, n) == 0 && (line[n] == '(' || line[n] == ':') && line[n + 1] >= '0' &&
		    line[n + 1] <= '9') {
			*ret_region = (enum region)r;
			*ret_line = (unsigned)strtoul(line + n + 1, NULL, 10);
			return true;
		}
	}
	static const char host[] = "host code, line ";
	const char *at = memmem(line, len, host, sizeof host - 1);
	if (at == NULL)
		return false;
	*ret_region = REGION_HOST;
	*ret_line = (unsigned)strtoul(at + sizeof host - 1, NULL, 10);
	return true;
}

static bool is_warning(const char *text)
{
	return strstr(text, "warning") != NULL && strstr(text, "error") == NULL;
}

static void add_errors(struct judge_verdict *v, const char *log)
{
	for (const char *at = log; *at;) {
		size_t len = strcspn(at, "\n");
		enum region region;
		unsigned line;
		if (error_line(at, len, &region, &line)) {
			char *text = mem_strn(at, len);
			if (!is_warning(text))
				judge_verdict_error(v, region, line, text);
			free(text);
		}
		at += len + (at[len] == '\n');
	}
	if (v->error_count == 0)
		v->log = mem_str(log);
}

static void add_figures(struct judge_verdict *v, const struct check *c)
{
	const struct wire_compared *f = &c->figures;
	int64_t columns = c->rank ? c->dims[c->rank - 1] : 1;
	v->elements = f->elements;
	v->mismatched = f->mismatched;
	v->nan = f->nan;
	v->untouched = f->untouched;
	v->error = c->error;
	v->tolerance = c->tolerance;
	for (uint32_t i = 0; i < f->mismatch_count && i < CHECK_SHOWN && columns > 0; i++)
		judge_verdict_mismatch(v, c->output, f->mismatch[i].index / columns, f->mismatch[i].index % columns,
				       f->mismatch[i].got, f->mismatch[i].want);
	v->has_map = f->mismatched > 0;
	for (int y = 0; y < JUDGE_MAP; y++)
		for (int x = 0; x < JUDGE_MAP; x++)
			v->map[y][x] = check_has_tile(c, y, x) ? f->map[y][x] : -1;
}

static enum judge_result result_of(const struct check *c)
{
	switch (c->code) {
	case ERR_COMPILE:
	case ERR_INPUT: return JUDGE_COMPILE;
	case ERR_WRONG: return JUDGE_WRONG;
	case ERR_PRUNED: return JUDGE_NARROW;
	case ERR_NONE:
	case ERR_NOT_FOUND:
	case ERR_CONFLICT:
	case ERR_UNSUPPORTED:
	case ERR_CRASH:
	case ERR_TIMEOUT:
	case ERR_MODEL:
	case ERR_NETWORK:
	case ERR_IO:
	case ERR_BUSY:
	case ERR_CANCELLED:
	case ERR_INTERNAL: return JUDGE_CRASH;
	}
	return JUDGE_CRASH;
}

static void to_verdict(const struct validate_result *r, struct judge_verdict *v)
{
	const struct validate_finding *bad = NULL;
	*v = (struct judge_verdict)JUDGE_VERDICT_INIT;
	v->summary = mem_str(r->summary);
	for (size_t i = 0; i < r->finding_count; i++) {
		const struct validate_finding *f = &r->findings[i];
		char *params = params_text(f->params);
		judge_verdict_config(v, params, f->check.passed, f->check.passed ? NULL : f->check.reason);
		free(params);
		if (!f->check.passed && (bad == NULL || (check_skipped(&bad->check) && !check_skipped(&f->check))))
			bad = f;
	}
	if (bad) {
		v->result = result_of(&bad->check);
		v->params = params_text(bad->params);
		v->right = bad->validator != NULL;
		if (bad->details)
			judge_verdict_hint(v, bad->details);
		if (v->result == JUDGE_COMPILE)
			add_errors(v, bad->check.reason);
		else if (bad->check.output)
			add_figures(v, &bad->check);
	} else if (!r->passed) {
		v->result = JUDGE_NARROW;
	}
	/* need() and invalid() narrow, and name their line of host code. */
	const char *reason = bad ? bad->check.reason : r->summary;
	if (v->result == JUDGE_NARROW && strstr(reason, "host code, line "))
		add_errors(v, reason);
}

static void keep(struct work_judge *j, struct validate_result *take_result)
{
	if (j->have_last)
		validate_result_fini(&j->last);
	j->last = *take_result;
	j->have_last = true;
}

static int compile(void *arg, const struct context *ctx, struct judge_verdict *ret_verdict, struct err *e)
{
	struct work_judge *j = arg;
	struct validate_result r;
	int rc = validate_compile(j->ev, ctx, j->facts, j->samples < COMPILE_SAMPLES ? j->samples : COMPILE_SAMPLES, check_seed(),
				  &r, e);
	if (rc < 0)
		return rc;
	to_verdict(&r, ret_verdict);
	validate_result_fini(&r);
	return 0;
}

static int validate(void *arg, const struct context *parent, const struct context *ctx, struct judge_verdict *ret_verdict,
		    struct err *e)
{
	struct work_judge *j = arg;
	struct validate_request q = {
		.ctx = ctx, .baseline = j->root, .parent = parent, .facts = j->facts, .samples = j->samples, .seed = check_seed()
	};
	struct validate_result r;
	int rc = j->facts->runs ? validate_run(j->ev, &q, NULL, 0, NULL, &r, e)
				: validate_compile(j->ev, ctx, j->facts, j->samples, check_seed(), &r, e);
	if (rc < 0)
		return rc;
	if (r.failed_count == 0 && r.skipped_count > 0) {
		/* No verdict: a model must not be asked to repair what the harness did. */
		rc = err_set(e, ERR_INTERNAL, "%s", r.summary);
		validate_result_fini(&r);
		return rc;
	}
	to_verdict(&r, ret_verdict);
	keep(j, &r);
	return 0;
}

void work_judge_init(struct work_judge *j, const struct eval *ev, const struct context *root, const struct facts *facts,
		     unsigned samples)
{
	*j = (struct work_judge){ .ev = ev, .root = root, .facts = facts, .samples = samples };
	j->judge = (struct judge){ .arg = j, .compile = compile, .validate = validate };
}

void work_judge_fini(struct work_judge *j)
{
	if (j->have_last)
		validate_result_fini(&j->last);
	*j = (struct work_judge){ 0 };
}

/* A device that cannot run validates nothing: a row of its own says so. */
static int record_skipped(struct work_judge *j, struct db *db, int64_t checkpoint, const char *job, struct err *e)
{
	char *reason = mem_fmt("%s is compile-only, so outputs were not compared", j->facts->id);
	struct validation row = { .checkpoint = checkpoint,
				  .validator = "outputs",
				  .device = j->facts->id,
				  .sizes = "",
				  .params = "",
				  .size_kind = "input",
				  .verdict = VALIDATION_SKIPPED,
				  .reason = reason,
				  .error = NAN,
				  .tolerance = NAN,
				  .took_ns = -1,
				  .job = job };
	int rc = validation_add(db, &row, e);
	free(reason);
	return rc < 0 ? rc : 0;
}

static int add_all(struct work_judge *j, struct db *db, const struct work_made *made, int64_t *ret_checkpoint, struct err *moved,
		   struct err *e)
{
	/* Compiling alone cannot accept, but it can refuse. */
	bool judged = j->have_last && j->facts->runs, failed = j->have_last && !j->last.passed;
	struct hash text_hash;
	int64_t parent = made->parent;
	char *caveats = judged && !failed ? validate_caveats(&j->last) : NULL;
	struct checkpoint c = {
		.kernel = context_kernel(made->ctx),
		.backend = context_backend(made->ctx),
		.parents = &parent,
		.parent_count = 1,
		.by = made->by,
		.status = failed   ? CHECKPOINT_FAILED
			  : judged ? CHECKPOINT_ACCEPTED
				   : CHECKPOINT_DRAFT,
		.note = failed                ? j->last.summary
			: caveats && *caveats ? caveats
					      : NULL,
	};
	int rc = made->text ? blob_put_text(db, made->text, &text_hash, e) : 0;
	if (rc < 0)
		goto out;
	c.text = made->text ? text_hash.hex : NULL;
	char *canonical = context_canonical(made->ctx);
	rc = checkpoint_add(db, &c, canonical, ret_checkpoint, e);
	free(canonical);
	if (rc == 0 && (judged || failed))
		rc = checkpoint_set_status(db, *ret_checkpoint, c.status, c.note ? c.note : "",
					   e); /* the same step, judged once more */
	if (rc >= 0 && judged)
		rc = validate_record(
			&(struct evidence){ .db = db, .checkpoint = *ret_checkpoint, .facts = j->facts, .job = made->job },
			&j->last, e);
	else if (rc >= 0)
		rc = record_skipped(j, db, *ret_checkpoint, made->job, e);
	if (rc >= 0 && made->x) {
		made->x->checkpoint = *ret_checkpoint;
		rc = made->x->id ? saved_keep(db, made->x, made->job, e) : 0;
	}
	/* When somebody has moved the workflow meanwhile, the checkpoint stays beside it. */
	if (rc >= 0 && made->workflow && *made->workflow && c.status != CHECKPOINT_FAILED &&
	    workflow_append(db, made->workflow, *ret_checkpoint, moved) < 0 && moved->code != ERR_CONFLICT) {
		*e = *moved;
		rc = -(int)e->code;
	}
out:
	free(caveats);
	return rc;
}

int work_judge_checkpoint(struct work_judge *j, struct db *db, const struct work_made *made, int64_t *ret_checkpoint, struct err *e)
{
	struct err moved = ERR_INIT;
	int64_t checkpoint = 0;
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = store_end(db, add_all(j, db, made, &checkpoint, &moved, e), e);
	if (rc < 0) {
		if (made->x)
			made->x->checkpoint = 0;
		return rc;
	}
	*ret_checkpoint = checkpoint;
	if (moved.code != ERR_NONE)
		*e = moved;
	return -(int)moved.code;
}
