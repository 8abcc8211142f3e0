/* work_transform: the job behind the transform tool: one transformation carried out by a model that the daemon asks. What the
 * model said is recorded whatever comes of it; a half-done transformation is kept for hand-over. See work.h. */
#include "core/jobs/work.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/record/lineage.h"
#include "core/record/exchange.h"
#include "core/transform/transform.h"
#include "core/jobs/work_judge.h"
#include "core/jobs/work_pending.h"

enum { SAMPLES = 16, WHY_MAX = ERR_TEXT_MAX - 512 };

/* What the watch callbacks need. */
struct watch {
	struct engine_job *job;
	const char *model;            /* provider's name */
	int64_t exchange;             /* of the last answer */
	uint64_t tokens_in, tokens_out, tokens_cached;
	const char *trouble;          /* the first thing that was not right: "malformed", or a verdict's name; NULL: nothing */
	double calls_total;
};

static const char *finish_name(enum reply_finish finish)
{
	switch (finish) {
	case REPLY_FINISH_STOP: return "stop";
	case REPLY_FINISH_LENGTH: return "length";
	case REPLY_FINISH_REFUSED: return "refused";
	case REPLY_FINISH_OTHER: return "other";
	}
	return "other";
}

static void progress(struct watch *w, const struct transform *x, const char *what)
{
	const struct transformation *t = transform_transformation(x);
	char *text = mem_fmt("%s: pass %u/%zu step %u: %s", t->name, transform_pass(x), t->pass_count, transform_step(x), what);
	engine_progress(w->job, transform_asked(x), w->calls_total > transform_asked(x) ? w->calls_total : 0, text);
	free(text);
}

static int answered(void *arg, const struct transform *x, const struct model_request *request,
                    const struct model_answer *answer, enum reply_outcome outcome, struct err *e)
{
	struct watch *w = arg;
	struct buf prompt = BUF_INIT;
	const struct transformation *t = transform_transformation(x);
	prompt_render(request->prompt, &prompt);
	const char *step = request->key.pass >= 1 && request->key.pass <= t->pass_count && request->key.step >= 1 &&
	                   request->key.step <= t->passes[request->key.pass - 1].step_count
	                   ? context_region_name(t->passes[request->key.pass - 1].steps[request->key.step - 1].region) : "device";
	struct exchange row = {
		.key = { request->key.context.hex, request->key.transformation, (int)request->key.pass, step,
		         (int)request->key.attempt },
		.text_hash = t->hash.hex, .model = answer->model ? answer->model : "", .provider = w->model,
		.prompt = buf_text(&prompt), .reply = answer->text, .finish = finish_name(answer->finish),
		.outcome = reply_outcome_name(outcome), .tokens_in = answer->prompt_tokens ? (int64_t)answer->prompt_tokens : -1,
		.tokens_out = answer->output_tokens ? (int64_t)answer->output_tokens : -1,
		.tokens_cached = answer->cached_tokens ? (int64_t)answer->cached_tokens : -1, .tokens_reasoning = -1,
		.latency_ms = (int64_t)answer->elapsed_ms, .job = w->job->id,
	};
	int rc = exchange_add(w->job->db, &row, e);
	w->exchange = row.id;
	w->tokens_in += answer->prompt_tokens;
	w->tokens_out += answer->output_tokens;
	w->tokens_cached += answer->cached_tokens;
	if (outcome != REPLY_OK && w->trouble == NULL)
		w->trouble = "malformed";
	if (answer->note)
		log_info("job %s: %s", w->job->id, answer->note);
	progress(w, x, outcome == REPLY_OK ? "answered" : transform_last(x));
	buf_fini(&prompt);
	return rc < 0 ? rc : 0;
}

static int judged(void *arg, const struct transform *x, struct err *e)
{
	struct watch *w = arg;
	(void)e;
	if (transform_verdict(x) != JUDGE_PASS && w->trouble == NULL)
		w->trouble = judge_result_name(transform_verdict(x));
	progress(w, x, transform_last(x));
	return 0;
}

/* Continues a half-done one, or starts anew. */
static int open_transform(struct engine_job *job, const struct lineage *l, const struct facts *facts, struct transform **ret_x,
                          struct err *e)
{
	struct work *w = job->user;
	const char *pending = fields_text(job->request, "pending", "");
	struct transformation *t;
	if (*pending)
		return work_pending_load(job->db, pending, facts, ret_x, NULL, e);
	int rc = library_find_or_text(w->library, fields_text(job->request, "transformation", ""), &t, e);
	if (rc < 0)
		return rc;
	rc = transform_new(t, l->ctx, facts, (const char *const *)l->applied, l->applied_count, NULL, ret_x, e);
	transformation_free(t);
	return rc;
}

static int finish(struct engine_job *job, struct work_judge *judge, const struct lineage *l, struct transform *x,
                  struct fields *result, struct err *e)
{
	const struct transformation *t = transform_transformation(x);
	const char *pending = fields_text(job->request, "pending", "");
	int64_t checkpoint = 0;
	int rc = work_judge_checkpoint(judge, job->db, transform_context(x), l->id, t->name, t->source,
	                               fields_get(job->request, "workflow"), job->id, &checkpoint, e);
	if (checkpoint == 0)
		return rc;
	fields_setf(result, "checkpoint", "%lld", (long long)checkpoint);
	fields_set(result, "summary", judge->have_last ? judge->last.summary : transform_last(x));
	fields_set(result, "details", judge->have_last ? judge->last.log : NULL);
	struct err why = ERR_INIT;
	int accepted = *pending ? work_pending_accept(job->db, pending, checkpoint, rc < 0 ? &why : e) : 0;
	return rc < 0 ? rc : accepted;
}

/* Keeps what there is, so that a person or an agent can finish it. */
static int hand_over(struct engine_job *job, const struct lineage *l, const struct transform *x, struct fields *result,
                     struct err *why)
{
	struct err e = ERR_INIT;
	char *id = NULL;
	if (work_pending_keep(job->db, fields_get(job->request, "pending"), l->id, fields_get(job->request, "workflow"), job->id, x,
	                      PENDING_GIVEN_UP, &id, &e) < 0) {
		log_error("job %s: keeping the half-done transformation: %s", job->id, e.text);
		return -(int)why->code;
	}
	fields_set(result, "pending", id);
	utf8_cut(why->text, WHY_MAX); /* a compiler's long log does not push out how to go on */
	err_set(why, why->code, "%s; the half-done pass is kept as %s: finish it with edit or transform_submit, or run "
	        "transform with pending=%s to let a model go on", why->text, id, id);
	free(id);
	return -(int)why->code;
}

static int carry_out(struct engine_job *job, const struct lineage *l, const struct facts *facts, const struct model *model,
                     struct transform *x, struct fields *result, struct err *e)
{
	struct eval ev = work_eval(job);
	struct work_judge judge;
	struct watch w = { .job = job, .model = model->name };
	struct transform_watch watch = { .arg = &w, .answered = answered, .judged = judged };
	ev.progress = NULL; /* passes are this job's progress, not the configurations inside one */
	work_judge_init(&judge, &ev, l->root, facts, (unsigned)fields_int(job->request, "samples", SAMPLES));
	w.calls_total = (double)transformation_calls(transform_transformation(x), context_backend(l->ctx));
	int rc = transform_run(x, model, &judge.judge, &watch, &job->cancel.asked, e);
	fields_setf(result, "asked", "%u", transform_asked(x));
	fields_setf(result, "repairs", "%u", transform_repairs(x));
	fields_setf(result, "tokens_in", "%llu", (unsigned long long)w.tokens_in);
	fields_setf(result, "tokens_out", "%llu", (unsigned long long)w.tokens_out);
	fields_setf(result, "tokens_cached", "%llu", (unsigned long long)w.tokens_cached);
	if (w.trouble || rc == 0)
		fields_set(result, "first_try", w.trouble ? w.trouble : "right");
	if (rc == 0)
		rc = finish(job, &judge, l, x, result, e);
	else if (transform_asked(x) > 0 && !cancel_asked(&job->cancel))
		rc = hand_over(job, l, x, result, e);
	work_judge_fini(&judge);
	return rc;
}

int work_transform(struct engine_job *job, struct fields *result, struct err *e)
{
	struct work *w = job->user;
	struct lineage l;
	struct facts facts;
	struct transform *x = NULL;
	struct models_open open = { 0 };
	int rc = lineage_load(job->db, fields_int(job->request, "checkpoint", 0), &l, e);
	if (rc < 0)
		return rc;
	rc = work_device(job, l.ctx, &facts, e);
	/* Read once: what is carried out is what was found good. A mistake in its name is said before the model is looked for. */
	if (rc == 0)
		rc = open_transform(job, &l, &facts, &x, e);
	if (rc == 0)
		rc = models_open(w->models, fields_text(job->request, "model", ""), (unsigned)fields_int(job->request, "try", 1), &open,
		                 e);
	if (rc == 0)
		rc = carry_out(job, &l, &facts, open.model, x, result, e);
	transform_free(x);
	models_close(&open);
	lineage_fini(&l);
	return rc;
}
