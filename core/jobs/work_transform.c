/* work_transform: the jobs behind transform, transform_submit and edit: three ways through the same passes, for a model that
 * the daemon asks, a client that answers itself, and somebody who edits. The row is written after every move, so that each of
 * them can go on where another one stopped, and a killed job where it was cut off. See work.h. */
#include "core/jobs/work.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/diff.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/jobs/work_judge.h"
#include "core/record/exchange.h"
#include "core/record/lineage.h"
#include "core/record/pending.h"
#include "core/record/store.h"
#include "core/transform/saved.h"

enum { SAMPLES = 16, WHY_MAX = ERR_TEXT_MAX - 640 };

/* A transformation and the job that works on it. */
struct apply {
	struct engine_job *job;
	struct lineage l; /* of the checkpoint that it began with */
	struct facts facts;
	struct eval ev;
	struct work_judge judge;
	struct transform *x;
	bool resumed;      /* this job was cut off and goes on with its own row */
	int64_t made;      /* what it became before this job was cut off; then nothing else is set but `job` */
	const char *model; /* provider's name */
	uint64_t tokens_in, tokens_out, tokens_cached;
	const char *trouble; /* the first: "malformed", or a verdict's name; NULL: none */
	double calls;        /* expected, without repairs */
};

static int begin(struct apply *a, struct err *e)
{
	struct work *w = a->job->user;
	struct transformation *t;
	int rc = library_find_or_text(w->library, fields_text(a->job->request, "transformation", ""), &t, e);
	if (rc < 0)
		return rc;
	const struct transform_start start = { .t = t,
					       .parent = a->l.ctx,
					       .facts = &a->facts,
					       .applied = (const char *const *)a->l.applied,
					       .applied_count = a->l.applied_count };
	rc = transform_new(&start, &a->x, e);
	transformation_free(t);
	if (rc < 0)
		return rc;
	a->x->parent_id = a->l.id;
	a->x->workflow = mem_str(fields_get(a->job->request, "workflow"));
	return 0;
}

/* Takes the half-done transformation that is named, or this job's own when it was cut off. */
static int take(struct apply *a, struct err *e)
{
	struct engine_job *job = a->job;
	struct pending own = { .id = NULL };
	int64_t at = fields_int(job->request, "checkpoint", 0);
	int rc = pending_of_job(job->db, job->id, &own, e);
	a->resumed = rc > 0;
	a->made = own.checkpoint;
	const char *id = own.id ? own.id : fields_get(job->request, "pending");
	if (rc >= 0 && !a->made && id && *id)
		rc = saved_take(job->db, id, job->id, &a->x, e);
	if (rc >= 0 && a->x && at && at != a->x->parent_id)
		rc = err_set(e, ERR_CONFLICT,
			     "transformation %s began with checkpoint %lld, and at names checkpoint %lld: leave at out",
			     id, (long long)a->x->parent_id, (long long)at);
	pending_fini(&own);
	return rc < 0 ? rc : 0;
}

static void apply_fini(struct apply *a)
{
	work_judge_fini(&a->judge);
	transform_free(a->x);
	lineage_fini(&a->l);
}

/* On failure nothing is left to free. */
static int apply_init(struct apply *a, struct engine_job *job, struct err *e)
{
	*a = (struct apply){ .job = job };
	int rc = take(a, e);
	if (rc == 0 && !a->made)
		rc = lineage_load(job->db, a->x ? a->x->parent_id : fields_int(job->request, "checkpoint", 0), &a->l,
				  e);
	if (rc == 0 && !a->made)
		rc = work_device(job, a->l.ctx, &a->facts, e);
	if (rc == 0 && !a->made && a->x == NULL)
		rc = begin(a, e);
	if (rc < 0)
		apply_fini(a);
	if (rc < 0 || a->made)
		return rc;
	a->x->facts = a->facts;
	a->x->has_facts = true;
	a->ev = work_eval(job);
	a->ev.progress = NULL; /* passes are this job's progress, not the configurations inside one */
	work_judge_init(&a->judge, &a->ev, a->l.root, &a->facts,
			(unsigned)fields_int(job->request, "samples", SAMPLES));
	return 0;
}

/* --- what is kept ------------------------------------------------------------------------------------------------------------- */

static int record_exchange(struct apply *a, const struct model_request *request, const struct model_answer *answer,
			   const char *provider, enum reply_outcome outcome, struct err *e)
{
	const struct transformation *t = a->x->t;
	const struct model_key *key = &request->key;
	struct buf prompt = BUF_INIT;
	prompt_render(request->prompt, &prompt);
	struct exchange row = {
		.key = { key->context.hex, key->transformation, (int)key->pass,
			 context_region_name(t->passes[key->pass - 1].steps[key->step - 1].region), (int)key->attempt },
		.text_hash = t->hash.hex,
		.model = answer->model ? answer->model : "",
		.provider = provider,
		.prompt = buf_text(&prompt),
		.reply = answer->text,
		.finish = reply_finish_name(answer->finish),
		.outcome = reply_outcome_name(outcome),
		.tokens_in = answer->prompt_tokens ? (int64_t)answer->prompt_tokens : -1,
		.tokens_out = answer->output_tokens ? (int64_t)answer->output_tokens : -1,
		.tokens_cached = answer->cached_tokens ? (int64_t)answer->cached_tokens : -1,

		.latency_ms = (int64_t)answer->elapsed_ms,
		.job = a->job->id,
	};
	int rc = exchange_add(a->job->db, &row, e);
	buf_fini(&prompt);
	return rc < 0 ? rc : 0;
}

/* The row as it stands now or, when all passes hold, its checkpoint. */
static int keep(struct apply *a, struct err *e)
{
	struct transform *x = a->x;
	int64_t checkpoint;
	if (x->state != TRANSFORM_DONE)
		return saved_keep(a->job->db, x, a->job->id, e);
	const struct work_made made = { .ctx = x->ctx,
					.parent = x->parent_id,
					.by = x->t->name,
					.text = x->t->source,
					.workflow = x->workflow,
					.job = a->job->id,
					.x = x };
	return work_judge_checkpoint(&a->judge, a->job->db, &made, &checkpoint, e);
}

/* How to go on with what is kept, behind the reason why this job did not. */
static int advise(const struct apply *a, struct err *why)
{
	const char *id = a->x->id;
	if (id == NULL || a->x->checkpoint)
		return -(int)why->code;
	utf8_cut(why->text, WHY_MAX); /* a compiler's long log must leave room for the advice */
	return err_set(
		why, why->code,
		"%s; it is kept as %s: continue it with transform (a model), transform_begin and then transform_submit "
		"(you answer) or edit (by hand), each with pending=%s, or drop it by transform with pending=%s and "
		"discard=true",
		why->text, id, id, id);
}

/* What to answer next: the whole prompt at the beginning of a step, else only what was added to it. */
static void show_question(const struct transform *x, struct fields *result)
{
	const struct prompt *p = transform_prompt(x);
	struct buf text = BUF_INIT;
	if (p->count > 2)
		buf_adds(&text, p->turns[p->count - 1].text);
	else
		prompt_render(p, &text);
	fields_set(result, "prompt", buf_text(&text));
	fields_set(result, "region", context_region_name(transform_region(x)));
	buf_fini(&text);
}

static void show_state(const struct apply *a, struct fields *result)
{
	const struct transform *x = a->x;
	fields_set(result, "pending", x->id);
	fields_set(result, "state", transform_state_name(x->state));
	fields_set(result, "summary", x->last);
	if (x->state == TRANSFORM_ASK)
		show_question(x, result);
	if (x->checkpoint)
		fields_setf(result, "checkpoint", "%lld", (long long)x->checkpoint);
	if (x->state == TRANSFORM_STUCK) {
		struct err how = ERR_INIT;
		err_set(&how, ERR_MODEL, "%s", x->last);
		advise(a, &how);
		fields_set(result, "summary", how.text);
	}
}

static int show_made(const struct apply *a, struct fields *result)
{
	fields_set(result, "state", transform_state_name(TRANSFORM_DONE));
	fields_setf(result, "checkpoint", "%lld", (long long)a->made);
	return 0;
}

/* Judges until somebody must answer, or all is done. */
static int judge_all(struct apply *a, struct err *e)
{
	int rc = 0;
	while (rc == 0 && a->x->state == TRANSFORM_JUDGE)
		rc = transform_judge(a->x, &a->judge.judge, e);
	return rc;
}

/* --- by a model --------------------------------------------------------------------------------------------------------------- */

static void progress(struct apply *a, const char *what)
{
	const struct transform *x = a->x;
	char *text =
		mem_fmt("%s: pass %u/%zu step %u: %s", x->t->name, x->pass + 1, x->t->pass_count, x->step + 1, what);
	engine_progress(a->job, x->asked, a->calls > x->asked ? a->calls : 0, text);
	free(text);
}

static int answered(void *arg, struct transform *x, const struct model_request *request,
		    const struct model_answer *answer, enum reply_outcome outcome, struct err *e)
{
	struct apply *a = arg;
	int rc = store_begin(a->job->db, e);
	if (rc < 0)
		return rc;
	rc = record_exchange(a, request, answer, a->model, outcome, e);
	if (rc == 0)
		rc = keep(a, e);
	rc = store_end(a->job->db, rc, e);
	a->tokens_in += answer->prompt_tokens;
	a->tokens_out += answer->output_tokens;
	a->tokens_cached += answer->cached_tokens;
	if (outcome != REPLY_OK && a->trouble == NULL)
		a->trouble = "malformed";
	if (answer->note)
		log_info("job %s: %s", a->job->id, answer->note);
	progress(a, outcome == REPLY_OK ? "answered" : x->last);
	return rc;
}

static int judged(void *arg, struct transform *x, struct err *e)
{
	struct apply *a = arg;
	if (x->verdict != JUDGE_PASS && a->trouble == NULL)
		a->trouble = judge_result_name(x->verdict);
	progress(a, x->last);
	/* What only inserted code so far is begun again as easily. */
	return x->state != TRANSFORM_DONE && (x->asked || x->state == TRANSFORM_STUCK) ? keep(a, e) : 0;
}

/* `model` is NULL where every pass holds already. */
static int run_model(struct apply *a, const struct model *model, struct fields *result, struct err *e)
{
	struct transform *x = a->x;
	struct transform_watch watch = { .arg = a, .answered = answered, .judged = judged };
	bool began = x->id == NULL;
	int rc = 0;
	a->model = model ? model->name : NULL;
	a->calls = (double)transformation_calls(x->t, context_backend(a->l.ctx));
	if (x->state == TRANSFORM_STUCK)
		rc = transform_reopen(x, true, e);
	if (rc == 0)
		rc = transform_run(x, model, &a->judge.judge, &watch, &a->job->cancel.asked, e);
	fields_setf(result, "asked", "%u", x->asked);
	fields_setf(result, "repairs", "%u", x->repairs);
	fields_setf(result, "tokens_in", "%llu", (unsigned long long)a->tokens_in);
	fields_setf(result, "tokens_out", "%llu", (unsigned long long)a->tokens_out);
	fields_setf(result, "tokens_cached", "%llu", (unsigned long long)a->tokens_cached);
	if (a->trouble || (rc == 0 && began))
		fields_set(result, "first_try", a->trouble ? a->trouble : "right");
	if (rc == 0)
		rc = keep(a, e);
	if (x->checkpoint) {
		fields_setf(result, "checkpoint", "%lld", (long long)x->checkpoint);
		fields_set(result, "summary", a->judge.have_last ? a->judge.last.summary : x->last);
		fields_set(result, "details", a->judge.have_last ? a->judge.last.log : NULL);
	} else if (rc < 0 && x->id) {
		fields_set(result, "pending", x->id);
	}
	return rc < 0 ? advise(a, e) : 0;
}

int work_transform(struct engine_job *job, struct fields *result, struct err *e)
{
	struct work *w = job->user;
	struct apply a;
	struct models_open open = { 0 };
	int rc = apply_init(&a, job, e);
	if (rc < 0)
		return rc;
	if (a.made)
		return show_made(&a, result);
	if (fields_flag(job->request, "discard")) {
		rc = transform_discard(a.x, e);
		if (rc == 0)
			rc = keep(&a, e);
		if (rc == 0)
			show_state(&a, result);
	} else {
		/* What only waits for its verdict needs no model. */
		bool judging = a.x->id && a.x->state == TRANSFORM_JUDGE;
		if (judging)
			rc = judge_all(&a, e);
		if (rc == 0 && judging && a.x->state != TRANSFORM_DONE)
			rc = keep(&a, e);
		/* A mistake in the transformation's name was said before one in the model's. */
		if (rc == 0 && a.x->state != TRANSFORM_DONE)
			rc = models_open(w->models, fields_text(job->request, "model", ""),
					 (unsigned)fields_int(job->request, "try", 1), &open, e);
		rc = rc < 0 ? advise(&a, e) : run_model(&a, open.model, result, e);
	}
	models_close(&open);
	apply_fini(&a);
	return rc;
}

/* --- by the client's answer --------------------------------------------------------------------------------------------------- */

/* A job that was cut off behind its last write has recorded its answer. */
static int was_recorded(struct apply *a, struct err *e)
{
	struct exchange_list list;
	int rc = a->resumed ? exchange_list(a->job->db, a->job->id, NULL, 1, &list, e) : 0;
	if (rc < 0 || !a->resumed)
		return rc;
	rc = list.count > 0;
	exchange_list_fini(&list);
	return rc;
}

/* Nothing is written before the verdict is in, so that the same answer can be submitted again. */
static int submit(struct apply *a, struct fields *result, struct err *e)
{
	struct transform *x = a->x;
	struct prompt prompt = PROMPT_INIT;
	struct model_answer answer = { .text = (char *)fields_text(a->job->request, "answer", ""),
				       .model = (char *)fields_text(a->job->request, "model", "agent") };
	enum reply_outcome outcome;
	int rc = x->state == TRANSFORM_STUCK ? transform_reopen(x, false, e) : 0;
	if (rc < 0)
		return advise(a, e);
	if (x->state == TRANSFORM_JUDGE)
		return err_set(
			e, ERR_CONFLICT,
			"the pass is complete and waits for its verdict: transform with pending=%s has it judged",
			x->id);
	prompt_copy(&prompt, transform_prompt(x));
	const struct model_request request = { .prompt = &prompt, .key = transform_key(x) };
	rc = transform_feed(x, answer.text, REPLY_FINISH_STOP, &outcome, e);
	if (rc == 0)
		rc = judge_all(a, e);
	if (rc < 0)
		err_set(e, e->code, "%s; the answer was not kept: submit it again", e->text);
	if (rc == 0)
		rc = store_begin(a->job->db, e);
	if (rc == 0) {
		rc = record_exchange(a, &request, &answer, "agent", outcome, e);
		int kept = rc == 0 ? keep(a, e) : rc;
		rc = store_end(a->job->db, x->checkpoint ? 0 : kept,
			       e); /* a workflow that was moved does not undo the checkpoint */
		if (rc == 0)
			rc = kept;
		fields_set(result, "outcome", reply_outcome_name(outcome));
	}
	prompt_fini(&prompt);
	return rc;
}

int work_submit(struct engine_job *job, struct fields *result, struct err *e)
{
	struct apply a;
	int rc = apply_init(&a, job, e);
	if (rc < 0)
		return rc;
	if (a.made)
		return show_made(&a, result);
	rc = was_recorded(&a, e);
	if (rc == 0)
		rc = submit(&a, result, e);
	if (rc >= 0 || a.x->checkpoint)
		show_state(&a, result);
	apply_fini(&a);
	return rc < 0 ? rc : 0;
}

/* --- by hand ------------------------------------------------------------------------------------------------------------------ */

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
			keep = strncmp(line, "tune:", 5) != 0 && strncmp(line, "where:", 6) != 0 &&
			       strncmp(line, "requires:", 9) != 0;
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
		rc = err_set(e, ERR_INPUT,
			     "an edit changes regions, tune:, where: and requires: only, or its results could not be "
			     "compared "
			     "with the baseline's; for another contract use context_create:\n%s",
			     buf_text(&diff));
		buf_fini(&diff);
		context_free(ctx);
	} else {
		*ret_ctx = ctx;
	}
	free(was);
	free(is);
	return rc;
}

static int edited(const struct engine_job *job, const struct context *before, struct context **ret_ctx, struct err *e)
{
	const char *source = fields_get(job->request, "source"), *name = fields_text(job->request, "region", "");
	if (source)
		return parse_source(before, source, ret_ctx, e);
	int region = context_region_parse(name);
	if (region < 0)
		return err_set(e, ERR_INPUT, "region: expected device, host or macros, not '%s'", name);
	return context_with_region(before, (enum region)region, fields_text(job->request, "text", ""), ret_ctx, e);
}

/* Finishes the half-done pass; nothing is written before the verdict is in. */
static int edit_pass(struct engine_job *job, struct fields *result, struct err *e)
{
	struct apply a;
	struct context *ctx = NULL;
	int rc = apply_init(&a, job, e);
	if (rc < 0)
		return rc;
	if (a.made)
		return show_made(&a, result);
	rc = edited(job, a.x->ctx, &ctx, e);
	if (rc == 0)
		rc = transform_take_over(a.x, ctx, e);
	if (rc == 0)
		rc = judge_all(&a, e);
	if (rc == 0) {
		fields_set(result, "passed", a.x->verdict == JUDGE_PASS && a.facts.runs ? "1" : "0");
		rc = keep(&a, e);
	}
	if (rc == 0 || a.x->checkpoint)
		show_state(&a, result);
	context_free(ctx);
	apply_fini(&a);
	return rc;
}

static int edit_checkpoint(struct engine_job *job, const struct lineage *l, const struct facts *facts,
			   struct fields *result, struct err *e)
{
	struct eval ev = work_eval(job);
	struct work_judge judge;
	struct judge_verdict verdict;
	struct context *ctx = NULL;
	int64_t checkpoint = 0;
	int rc = edited(job, l->ctx, &ctx, e);
	if (rc < 0)
		return rc;
	work_judge_init(&judge, &ev, l->root, facts, (unsigned)fields_int(job->request, "samples", SAMPLES));
	rc = judge.judge.validate(judge.judge.arg, l->ctx, ctx, &verdict, e);
	if (rc == 0) {
		bool passed = verdict.result == JUDGE_PASS;
		const struct work_made made = { .ctx = ctx,
						.parent = l->id,
						.by = "edit",
						.workflow = passed ? fields_get(job->request, "workflow") : NULL,
						.job = job->id };
		rc = work_judge_checkpoint(&judge, job->db, &made, &checkpoint, e);
		/* What only compiled has passed nothing. */
		fields_set(result, "passed", passed && facts->runs ? "1" : "0");
		fields_set(result, "summary", verdict.summary);
		judge_verdict_fini(&verdict);
	}
	if (checkpoint)
		fields_setf(result, "checkpoint", "%lld", (long long)checkpoint);
	work_judge_fini(&judge);
	context_free(ctx);
	return rc;
}

int work_edit(struct engine_job *job, struct fields *result, struct err *e)
{
	struct lineage l;
	struct facts facts;
	if (fields_get(job->request, "pending"))
		return edit_pass(job, result, e);
	int rc = lineage_load(job->db, fields_int(job->request, "checkpoint", 0), &l, e);
	if (rc < 0)
		return rc;
	rc = work_device(job, l.ctx, &facts, e);
	if (rc == 0)
		rc = edit_checkpoint(job, &l, &facts, result, e);
	lineage_fini(&l);
	return rc;
}
