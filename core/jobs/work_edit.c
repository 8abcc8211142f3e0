/* work_edit: a checkpoint made by a person's (or an agent's) own change of one region, or of the whole context; validated like any
 * other; see work.h. */
#include "core/jobs/work.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/diff.h"
#include "base/mem.h"
#include "core/record/lineage.h"
#include "core/jobs/work_judge.h"

enum { SAMPLES = 16 };

/* The part of a context that no step may change, since a verdict would mean something else: its canonical front matter without the
 * tuning parameters, their constraints and requires:. free() */
static char *contract(const struct context *ctx)
{
	char *canonical = context_canonical(ctx);
	struct buf out = BUF_INIT;
	bool keep = true;
	for (const char *line = canonical + strcspn(canonical, "\n") + 1; strncmp(line, "---", 3) != 0 && *line;) {
		size_t n = strcspn(line, "\n");
		/* A field begins at the margin; what is indented below it belongs to it. */
		if (*line != ' ')
			keep = strncmp(line, "tune:", 5) != 0 && strncmp(line, "where:", 6) != 0 && strncmp(line, "requires:", 9) != 0;
		if (keep)
			buf_addf(&out, "%.*s\n", (int)n, line);
		line += n + (line[n] == '\n');
	}
	free(canonical);
	return buf_steal(&out);
}

/* A whole context may differ from its parent in the regions and in the tuning part of the front matter. */
static int parse_source(const struct context *parent, const char *source, struct context **ret_ctx, struct err *e)
{
	struct context *ctx;
	int rc = context_parse("edit", source, &ctx, e);
	if (rc < 0)
		return rc;
	char *was = contract(parent), *is = contract(ctx);
	if (strcmp(was, is) != 0) {
		struct buf diff = BUF_INIT;
		diff_unified(&diff, "parent", was, "edit", is, 0);
		rc = err_set(e, ERR_INPUT, "an edit changes regions, tune:, where: and requires: only, or its results could not be compared "
		             "with the root's; for another contract use context_create:\n%s", buf_text(&diff));
		buf_fini(&diff);
		context_free(ctx);
	} else {
		*ret_ctx = ctx;
	}
	free(was);
	free(is);
	return rc;
}

static int edited(struct engine_job *job, const struct lineage *l, struct context **ret_ctx, struct err *e)
{
	const char *source = fields_get(job->request, "source"), *name = fields_text(job->request, "region", "");
	if (source)
		return parse_source(l->ctx, source, ret_ctx, e);
	int region = context_region_parse(name);
	if (region < 0)
		return err_set(e, ERR_INPUT, "region: '%s' is none; device, host or macros is meant", name);
	return context_with_region(l->ctx, (enum region)region, fields_text(job->request, "text", ""), ret_ctx, e);
}

static int judge_and_keep(struct engine_job *job, const struct lineage *l, const struct facts *facts, struct context *ctx,
                          struct fields *result, struct err *e)
{
	struct eval ev = work_eval(job);
	struct work_judge judge;
	struct judge_verdict verdict;
	int64_t checkpoint = 0;
	work_judge_init(&judge, &ev, l->root, facts, (unsigned)fields_int(job->request, "samples", SAMPLES));
	int rc = judge.judge.validate(judge.judge.arg, l->ctx, ctx, &verdict, e);
	if (rc == 0) {
		bool passed = verdict.result == JUDGE_PASS;
		rc = work_judge_checkpoint(&judge, job->db, ctx, l->id, "edit", NULL,
		                           passed ? fields_get(job->request, "workflow") : NULL, job->id, &checkpoint, e);
		/* What only compiled has passed nothing. */
		fields_set(result, "passed", passed && facts->runs ? "1" : "0");
		fields_set(result, "summary", verdict.summary);
		judge_verdict_fini(&verdict);
	}
	if (checkpoint)
		fields_setf(result, "checkpoint", "%lld", (long long)checkpoint);
	work_judge_fini(&judge);
	return rc;
}

int work_edit(struct engine_job *job, struct fields *result, struct err *e)
{
	struct lineage l;
	struct facts facts;
	struct context *ctx = NULL;
	int rc = lineage_load(job->db, fields_int(job->request, "checkpoint", 0), &l, e);
	if (rc < 0)
		return rc;
	rc = work_device(job, l.ctx, &facts, e);
	if (rc == 0)
		rc = edited(job, &l, &ctx, e);
	if (rc == 0)
		rc = judge_and_keep(job, &l, &facts, ctx, result, e);
	context_free(ctx);
	lineage_fini(&l);
	return rc;
}
