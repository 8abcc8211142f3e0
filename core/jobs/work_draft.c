/* work_draft: the job behind the draft tool where a model is to answer, or a device to try: see work.h. What the model said is recorded as
 * its answers to transformations are, under the name "draft" and the hash of the file. */
#include "core/jobs/work.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/problems/draft.h"
#include "core/record/exchange.h"
#include "core/transform/feedback.h"
#include "core/jobs/work_judge.h"

enum { SAMPLES = 4 };

struct drafter {
	struct engine_job *job;
	struct eval ev;
	const struct facts *facts; /* NULL: no device is asked for */
	const char *model;
	uint64_t tokens_in, tokens_out, tokens_cached;
	unsigned asked;
	char *tried;               /* what the device found good; NULL */
	char *untried;             /* why the device could not try it; NULL */
};

static int judge(void *arg, const struct draft *d, char **ret_complaint, struct err *e)
{
	struct drafter *w = arg;
	struct work_judge judge;
	struct judge_verdict verdict = JUDGE_VERDICT_INIT;
	struct context *ctx;
	if (w->facts == NULL)
		return 0;
	int rc = context_parse("draft", d->text, &ctx, e);
	if (rc < 0)
		return rc;
	engine_progress(w->job, w->asked, 0, w->facts->runs ? "draft: running it" : "draft: compiling it");
	work_judge_init(&judge, &w->ev, ctx, w->facts, SAMPLES);
	rc = judge.judge.validate(judge.judge.arg, NULL, ctx, &verdict, e);
	free(w->tried);
	free(w->untried);
	w->tried = w->untried = NULL;
	if (rc == 0 && verdict.result == JUDGE_PASS) {
		w->tried = mem_fmt("%s: %s", w->facts->id, verdict.summary ? verdict.summary : "good");
	} else if (rc == 0) {
		struct buf text = BUF_INIT;
		feedback_verdict(&verdict, ctx, &text);
		*ret_complaint = mem_fmt("%s: %s", w->facts->id, buf_text(&text));
		buf_fini(&text);
	}
	judge_verdict_fini(&verdict);
	work_judge_fini(&judge);
	context_free(ctx);
	if (rc == 0 || e->code == ERR_CANCELLED)
		return rc;
	/* What the model was asked for is not lost with the device, and what was not tried does not pass. */
	w->untried = mem_fmt("%s could not try it: %s", w->facts->id, e->text);
	*e = (struct err)ERR_INIT;
	return 0;
}

static int answered(void *arg, const struct model_request *request, const struct model_answer *answer, const char *wrong, struct err *e)
{
	struct drafter *w = arg;
	struct buf prompt = BUF_INIT;
	prompt_render(request->prompt, &prompt);
	struct exchange row = {
		.key = { request->key.context.hex, request->key.transformation, (int)request->key.pass, "host", (int)request->key.attempt },
		.model = answer->model ? answer->model : "", .provider = w->model, .prompt = buf_text(&prompt), .reply = answer->text,
		.outcome = wrong ? "not taken" : "ok", .tokens_in = answer->prompt_tokens ? (int64_t)answer->prompt_tokens : -1,
		.tokens_out = answer->output_tokens ? (int64_t)answer->output_tokens : -1,
		.tokens_cached = answer->cached_tokens ? (int64_t)answer->cached_tokens : -1,
		.latency_ms = (int64_t)answer->elapsed_ms, .job = w->job->id,
	};
	int rc = exchange_add(w->job->db, &row, e);
	w->tokens_in += answer->prompt_tokens;
	w->tokens_out += answer->output_tokens;
	w->tokens_cached += answer->cached_tokens;
	if (answer->note)
		log_info("job %s: %s", w->job->id, answer->note);
	engine_progress(w->job, ++w->asked, 0, wrong ? wrong : "draft: answered");
	buf_fini(&prompt);
	return rc < 0 ? rc : 0;
}

/* --- request and result ----------------------------------------------------------------------------------------------------- */

/* One text a line; the array is the caller's, its texts point into `text`, which is cut up. */
static const char **split(char *text, size_t *ret_count)
{
	const char **list = NULL;
	char *rest;
	*ret_count = 0;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		*MEM_PUSH(list, *ret_count) = line;
	return list;
}

static void set_lines(struct fields *result, const char *name, char *const *at, size_t count, const char *last)
{
	struct buf out = BUF_INIT;
	for (size_t i = 0; i < count; i++)
		buf_addf(&out, "%s%s", i ? "\n" : "", at[i]);
	if (last)
		buf_addf(&out, "%s%s", count ? "\n" : "", last);
	fields_set(result, name, buf_text(&out));
	buf_fini(&out);
}

static void describe(const struct drafter *w, const struct draft_ask_result *r, struct fields *result)
{
	/* One line each. */
	char *complaint = mem_str(r->complaint ? r->complaint : w->untried);
	for (char *c = complaint; c && *c; c++)
		if (*c == '\n')
			*c = ' ';
	fields_set(result, "complete", r->draft.question_count == 0 && complaint == NULL ? "1" : "0");
	fields_set(result, "context", r->draft.text);
	set_lines(result, "questions", r->draft.questions, r->draft.question_count, complaint);
	set_lines(result, "notes", r->draft.notes, r->draft.note_count, w->tried);
	fields_setf(result, "asked", "%u", r->asked);
	if (r->asked) {
		fields_setf(result, "tokens_in", "%llu", (unsigned long long)w->tokens_in);
		fields_setf(result, "tokens_out", "%llu", (unsigned long long)w->tokens_out);
		fields_setf(result, "tokens_cached", "%llu", (unsigned long long)w->tokens_cached);
	}
	free(complaint);
}

static int find_device(struct engine_job *job, const char *backend, struct facts *ret_facts, struct err *e)
{
	struct work *w = job->user;
	struct facts *list;
	size_t count;
	int rc = pool_device_set(w->pool, fields_text(job->request, "device", ""), &list, &count, e);
	if (rc < 0)
		return rc;
	*ret_facts = list[0];
	free(list);
	if (strcmp(ret_facts->backend, backend) != 0)
		return err_set(e, ERR_INPUT, "device %s runs %s code, and this is a file of %s", ret_facts->id, ret_facts->backend, backend);
	return 0;
}

int work_draft(struct engine_job *job, struct fields *result, struct err *e)
{
	struct work *shared = job->user;
	struct drafter w = { .job = job, .ev = work_eval(job) };
	struct models_open open = { 0 };
	struct facts facts;
	struct draft_ask_result r;
	const char *backend = fields_text(job->request, "backend", "cuda");
	char *lines = mem_str(fields_text(job->request, "declared", ""));
	struct draft_ask_request q = { .source = fields_text(job->request, "source", ""), .backend = backend, .cancel = &job->cancel.asked,
	                         .judge = judge, .answered = answered, .arg = &w };
	int rc = 0;
	const char **declared = split(lines, &q.declared_count);
	q.declared = declared;
	w.ev.progress = NULL;
	if (fields_get(job->request, "device")) {
		rc = find_device(job, backend, &facts, e);
		w.facts = &facts;
	}
	if (rc == 0 && fields_get(job->request, "model")) {
		rc = models_open(shared->models, fields_get(job->request, "model"), 1, &open, e);
		q.model = open.model;
		w.model = open.model ? open.model->name : "";
	}
	if (rc == 0)
		rc = draft_ask(&q, &r, e);
	if (rc == 0) {
		describe(&w, &r, result);
		draft_ask_fini(&r);
	}
	models_close(&open);
	free(w.tried);
	free(w.untried);
	free(declared);
	free(lines);
	return rc;
}
