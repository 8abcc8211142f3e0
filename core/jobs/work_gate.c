/* work_gate: see work_gate.h. */
#include "core/jobs/work_gate.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/optimize/question.h"
#include "core/record/checkpoint.h"
#include "core/record/lineage.h"

/* A reviewer that is wrong must not stop good code: after two rejections the device decides. */
enum { REJECTIONS = 2, RECENT = 200 /* checkpoints that new code is compared with */ };

/* Appends a region without comments, blanks at line ends and empty lines. */
static void add_essence(const char *text, enum region region, struct buf *out)
{
	const char *line_comment = region == REGION_HOST ? "--" : "//";
	for (const char *at = text; *at;) {
		if (strncmp(at, line_comment, 2) == 0) {
			at += strcspn(at, "\n");
		} else if (region != REGION_HOST && strncmp(at, "/*", 2) == 0) {
			const char *end = strstr(at + 2, "*/");
			at = end ? end + 2 : at + strlen(at);
		} else if (*at == '\n') {
			while (out->len && strchr(" \t\n", out->data[out->len - 1]))
				out->len--;
			buf_addc(out, *at++);
		} else {
			buf_addc(out, *at++);
		}
	}
}

/* What decides how a context runs: its front matter, and its regions without comments. free() */
static char *essence(const struct context *ctx)
{
	struct buf out = BUF_INIT;
	char *canonical = context_canonical(ctx);
	const char *end = strstr(canonical + strnlen(canonical, 3), "\n---");
	buf_add(&out, canonical, end ? (size_t)(end - canonical) : strlen(canonical));
	for (int r = 0; r < REGION_COUNT; r++)
		add_essence(context_region(ctx, (enum region)r), (enum region)r, &out);
	free(canonical);
	char *text = buf_steal(&out);
	buf_fini(&out);
	return text;
}

/* Whether another checkpoint with the same baseline has this code. Drafts do not count, since what was only compiled may well be
 * judged now; but a baseline is right by definition. */
static int compare_with(struct work_gate *g, const struct checkpoint *c, int64_t root, const char *code, struct err *e)
{
	struct lineage other;
	int64_t its = 0;
	if ((c->status == CHECKPOINT_DRAFT && c->parent_count) || checkpoint_root(g->job->db, c->id, &its, e) < 0 || its != root)
		return 0;
	int rc = lineage_load(g->job->db, c->id, &other, e);
	if (rc < 0)
		return rc;
	char *has = essence(other.ctx);
	if (strcmp(has, code) == 0)
		g->same = c->id;
	free(has);
	lineage_fini(&other);
	return 0;
}

static int find_same(struct work_gate *g, const struct context *ctx, struct err *e)
{
	struct checkpoint_list list;
	int64_t root = 0;
	int rc = checkpoint_root(g->job->db, g->x->parent_id, &root, e);
	if (rc == 0)
		rc = checkpoint_list(g->job->db, RECENT, &list, e);
	if (rc < 0)
		return rc;
	char *code = essence(ctx);
	for (size_t i = 0; rc == 0 && i < list.count && g->same == 0; i++)
		if (strcmp(list.at[i].kernel, context_kernel(ctx)) == 0 && strcmp(list.at[i].backend, context_backend(ctx)) == 0)
			rc = compare_with(g, &list.at[i], root, code, e);
	free(code);
	checkpoint_list_fini(&list);
	if (rc < 0 || g->same == 0)
		return rc;
	return err_set(e, ERR_CONFLICT, "this is the code of checkpoint %lld again, so it is not judged or timed",
		       (long long)g->same);
}

/* 1: rejected, with the verdict. */
static int review(struct work_gate *g, const struct context *parent, const struct context *ctx, struct judge_verdict *ret_verdict,
		  struct err *e)
{
	struct prompt prompt = PROMPT_INIT;
	struct work_asked asked = { 0 };
	char *answer = NULL, *why = NULL;
	question_review(&prompt, g->x->t->source, parent, ctx, g->x->has_facts ? &g->x->facts : NULL);
	const struct work_question q = { .model = g->reviewer,
					 .name = QUESTION_REVIEW,
					 .about = *context_hash(ctx),
					 .attempt = ++g->reviews,
					 .prompt = &prompt };
	int rc = work_ask(g->job, &q, &answer, &asked, e);
	if (rc == 0 && question_rejects(answer, &why)) {
		*ret_verdict = (struct judge_verdict){ .result = JUDGE_WRONG,
						       .headline = "A reviewer read the code and rejected it before it ran.",
						       .summary = mem_fmt("rejected by a reviewer: %s", why) };
		g->rejections++;
		rc = 1;
	}
	free(why);
	free(answer);
	prompt_fini(&prompt);
	return rc;
}

static int compile(void *arg, const struct context *ctx, struct judge_verdict *ret_verdict, struct err *e)
{
	const struct work_gate *g = arg;
	return g->inner->compile(g->inner->arg, ctx, ret_verdict, e);
}

static int validate(void *arg, const struct context *parent, const struct context *ctx, struct judge_verdict *ret_verdict,
		    struct err *e)
{
	struct work_gate *g = arg;
	bool last = g->x->pass + 1 == g->x->t->pass_count;
	int rc = g->novel && last ? find_same(g, ctx, e) : 0;
	if (rc == 0 && g->reviewer && g->rejections < REJECTIONS)
		rc = review(g, parent, ctx, ret_verdict, e);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	return g->inner->validate(g->inner->arg, parent, ctx, ret_verdict, e);
}

void work_gate_init(struct work_gate *g, struct engine_job *job, const struct transform *x, const struct judge *inner, bool novel,
		    const char *reviewer)
{
	*g = (struct work_gate){ .job = job, .x = x, .inner = inner, .novel = novel, .reviewer = reviewer };
	g->judge = (struct judge){ .arg = g, .compile = compile, .validate = validate };
}
