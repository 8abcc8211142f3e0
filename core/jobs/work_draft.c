/* work_draft: the job behind the draft tool when a model answers questions or a device tries the result; see work.h. The model's
 * answers are recorded as those to transformations are, under the name "draft" and the hash of the file. */
#include "core/jobs/work.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/jobs/work_judge.h"
#include "core/problems/draft.h"
#include "core/record/exchange.h"
#include "core/transform/feedback.h"

enum { SAMPLES = 4 };

struct drafter {
	struct engine_job *job;
	struct eval ev;
	const struct facts *facts; /* NULL: no device is asked for */
	const char *model;
	uint64_t tokens_in, tokens_out, tokens_cached;
	unsigned asked;
	char *tried;   /* what the device found good; NULL */
	char *untried; /* why the device could not try it; NULL */
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

static int answered(void *arg, const struct model_request *request, const struct model_answer *answer, const char *wrong,
		    struct err *e)
{
	struct drafter *w = arg;
	struct exchange row = { .key = { .step = "host" }, .provider = w->model, .outcome = wrong ? "not taken" : "ok" };
	int rc = work_record_exchange(w->job, request, answer, &row, e);
	w->tokens_in += answer->prompt_tokens;
	w->tokens_out += answer->output_tokens;
	w->tokens_cached += answer->cached_tokens;
	if (answer->note)
		log_info("job %s: %s", w->job->id, answer->note);
	engine_progress(w->job, ++w->asked, 0, wrong ? wrong : "draft: answered");
	return rc;
}

/* --- request and result ------------------------------------------------------------------------------------------------------- */

struct request {
	char *source, *backend; /* backend NULL: cuda */
	char **declared;        /* answers to questions, a line each */
	size_t declared_count;
	char *model;  /* answers open questions; NULL: no model is asked */
	char *device; /* tries what came out; NULL: nothing is tried */
};

static const struct layout_field request_fields[] = {
	{ LAYOUT_AT(struct request, source, TEXT) },
	{ LAYOUT_AT(struct request, backend, TEXT) },
	{ LAYOUT_MANY(struct request, declared, declared_count, TEXTS) },
	{ LAYOUT_AT(struct request, model, TEXT) },
	{ LAYOUT_AT(struct request, device, TEXT) },
	{ .name = NULL },
};
static const struct layout request_layout = { "draft request", sizeof(struct request), request_fields };

/* No checkpoint is made. */
struct result {
	bool complete; /* no question is open */
	char *context;
	char **questions, **notes;
	size_t question_count, note_count;
	int64_t asked;                                /* how often the model was asked */
	int64_t tokens_in, tokens_out, tokens_cached; /* negative: no model was asked */
};

static const struct layout_field result_fields[] = {
	{ LAYOUT_AT(struct result, complete, BOOL) },
	{ LAYOUT_AT(struct result, context, TEXT), .say = "%\n" },
	{ LAYOUT_MANY(struct result, questions, question_count, TEXTS), .say = "question: %\n" },
	{ LAYOUT_MANY(struct result, notes, note_count, TEXTS), .say = "note: %\n" },
	{ LAYOUT_AT(struct result, asked, INT) },
	{ LAYOUT_AT(struct result, tokens_in, COUNT) },
	{ LAYOUT_AT(struct result, tokens_out, COUNT) },
	{ LAYOUT_AT(struct result, tokens_cached, COUNT) },
	{ .name = NULL },
};
static const struct layout result_layout = { "draft result", sizeof(struct result), result_fields };

static void copy_lines(char *const *from, size_t count, const char *last, char ***ret_lines, size_t *ret_count)
{
	for (size_t i = 0; i < count; i++)
		*MEM_PUSH(*ret_lines, *ret_count) = mem_str(from[i]);
	if (last)
		*MEM_PUSH(*ret_lines, *ret_count) = mem_str(last);
}

static void describe(const struct drafter *w, const struct draft_ask_result *r, struct result *result)
{
	/* One line each. */
	char *complaint = mem_str(r->complaint ? r->complaint : w->untried);
	for (char *c = complaint; c && *c; c++)
		if (*c == '\n')
			*c = ' ';
	result->complete = r->draft.question_count == 0 && complaint == NULL;
	result->context = mem_str(r->draft.text);
	copy_lines(r->draft.questions, r->draft.question_count, complaint, &result->questions, &result->question_count);
	copy_lines(r->draft.notes, r->draft.note_count, w->tried, &result->notes, &result->note_count);
	result->asked = r->asked;
	if (r->asked) {
		result->tokens_in = (int64_t)w->tokens_in;
		result->tokens_out = (int64_t)w->tokens_out;
		result->tokens_cached = (int64_t)w->tokens_cached;
	}
	free(complaint);
}

static int run(struct engine_job *job, const void *request, void *result, struct err *e)
{
	const struct request *q = request;
	struct drafter w = { .job = job, .ev = work_eval(job) };
	struct models_open open = { 0 };
	struct facts facts;
	struct draft_ask_result r;
	struct draft_ask_request ask = { .source = q->source ? q->source : "",
					 .backend = q->backend ? q->backend : "cuda",
					 .cancel = &job->cancel.asked,
					 .declared = (const char *const *)q->declared,
					 .declared_count = q->declared_count,
					 .judge = judge,
					 .answered = answered,
					 .arg = &w };
	int rc = 0;
	w.ev.progress = NULL;
	if (q->device) {
		rc = work_device(job->user, q->device, ask.backend, &facts, e);
		w.facts = &facts;
	}
	if (rc == 0 && q->model) {
		rc = work_open_model(job, q->model, 1, &open, e);
		ask.model = open.model;
		w.model = open.model ? open.model->name : "";
	}
	if (rc == 0)
		rc = draft_ask(&ask, &r, e);
	if (rc == 0) {
		describe(&w, &r, result);
		draft_ask_fini(&r);
	}
	models_close(&open);
	free(w.tried);
	free(w.untried);
	return rc;
}

const struct engine_kind work_draft = { "draft", &request_layout, &result_layout, run };
