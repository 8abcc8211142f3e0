/* work_transform: the jobs of the tools transform, transform_submit and edit: three ways through the same passes, for a model
 * that the daemon asks, for a client that answers itself, and for a person who edits. The row is written after every move, so
 * that each can continue where another stopped, and a killed job where it was cut off. See work.h. */
#include "core/jobs/work.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/diff.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/jobs/work_gate.h"
#include "core/jobs/work_judge.h"
#include "core/judge/limits.h"
#include "core/record/exchange.h"
#include "core/record/lineage.h"
#include "core/record/pending.h"
#include "core/record/store.h"
#include "core/transform/saved.h"

enum { WHY_MAX = ERR_TEXT_MAX - 640, EDIT_BUDGET = 32, PLAN_CALLS = 3 /* a plan, a device and a host region */ };

/* What all three are asked; each reads what it needs. */
struct request {
	struct work_subject subject;
	char *transformation;         /* a name or a sentence */
	char *pending;                /* the half-done one to continue; NULL: begin */
	bool discard;                 /* drop it */
	char *model;                  /* to ask; of an answer: who gave it */
	int64_t samples;              /* of a validation; 0: WORK_SAMPLES */
	int64_t attempt;              /* which independent try this is, for recordings; 0: 1 */
	char *without;                /* what the model is not told: "profile", "knowledge"; NULL: it is told all */
	char *notes;                  /* for the model beside the profile, as Markdown: what was tried before; NULL */
	int64_t starts;               /* fresh starts of a pass; 0: the default */
	int64_t calls;                /* of models at most in this job, then it is kept half done; 0: any */
	bool novel;                   /* code that a checkpoint has already is not judged again */
	char *reviewer;               /* a model that reads the code before it runs; NULL: none */
	char *answer;                 /* submit */
	char *region, *text, *source; /* edit: one region's new text, or a context file or some of its parts */
	char *keep;     /* edit: "faster": tune it, and keep it as the head only if it is faster; NULL: if it is valid */
	int64_t budget; /* edit: configurations of that tune; 0: EDIT_BUDGET */
};

static const struct layout_field request_fields[] = {
	{ LAYOUT_AT(struct request, subject, PART), .of = &work_subject_layout },
	{ LAYOUT_AT(struct request, transformation, TEXT) },
	{ LAYOUT_AT(struct request, pending, TEXT) },
	{ LAYOUT_AT(struct request, discard, BOOL), .flags = LAYOUT_OPTIONAL },
	{ LAYOUT_AT(struct request, model, TEXT) },
	{ LAYOUT_AT(struct request, samples, ID) },
	{ LAYOUT_AS(struct request, attempt, ID, "try") },
	{ LAYOUT_AT(struct request, without, TEXT) },
	{ LAYOUT_AT(struct request, notes, TEXT) },
	{ LAYOUT_AT(struct request, starts, ID) },
	{ LAYOUT_AT(struct request, calls, ID) },
	{ LAYOUT_AT(struct request, novel, BOOL), .flags = LAYOUT_OPTIONAL },
	{ LAYOUT_AT(struct request, reviewer, TEXT) },
	{ LAYOUT_AT(struct request, answer, TEXT) },
	{ LAYOUT_AT(struct request, region, TEXT) },
	{ LAYOUT_AT(struct request, text, TEXT) },
	{ LAYOUT_AT(struct request, source, TEXT) },
	{ LAYOUT_AT(struct request, keep, TEXT) },
	{ LAYOUT_AT(struct request, budget, ID) },
	{ .name = NULL },
};
static const struct layout request_layout = { "transform request", sizeof(struct request), request_fields };

struct result {
	bool passed; /* edit: the outputs were compared and are right */
	char *summary;
	int64_t checkpoint;        /* that was made; 0: none */
	int64_t same;              /* the checkpoint that has this code already, so that nothing was judged; 0: none */
	char *not_judged, *limits; /* what the verdict does not cover (core/judge/limits.h); NULL: nothing */
	char *details;
	char *pending, *state;        /* of the transformation */
	char *outcome;                /* submit: "ok", what is wrong with the answer's form, or the verdict's name */
	char *prompt, *region, *plan; /* what to answer next; what the model made of a sentence: a transformation's file */
	int64_t asked, repairs;       /* negative: no model was asked */
	int64_t tokens_in, tokens_out, tokens_cached;
	char *first_try; /* "right", or the first trouble: "malformed", "compile", "wrong", "crash", "narrow" */
};

static const struct layout_field result_fields[] = {
	{ LAYOUT_AT(struct result, summary, TEXT), .say = "%\n" },
	{ LAYOUT_AT(struct result, not_judged, TEXT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, limits, TEXT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, checkpoint, ID), .say = "checkpoint %\n" },
	{ LAYOUT_AT(struct result, same, ID), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, details, TEXT), .say = "%\n", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, state, TEXT), .say = "%" },
	{ LAYOUT_AT(struct result, pending, TEXT), .say = ", pending %" },
	{ LAYOUT_AT(struct result, region, TEXT), .say = ", region %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, outcome, TEXT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, plan, TEXT), .say = "\nThe model's plan:\n\n%\n", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, prompt, TEXT), .say = "\n%\n", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, asked, COUNT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, repairs, COUNT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, tokens_in, COUNT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, tokens_out, COUNT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, tokens_cached, COUNT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, first_try, TEXT), .flags = LAYOUT_DETAIL },
	{ .name = NULL },
};
static const struct layout result_layout = { "transform result", sizeof(struct result), result_fields };

/* An edit's answer, and the tune's behind it. */
struct edit_result {
	struct result verdict;
	struct work_tuned tuned;
};

static const struct layout_field edit_fields[] = {
	{ LAYOUT_AS(struct edit_result, verdict.passed, BOOL, "passed") },
	{ LAYOUT_AT(struct edit_result, verdict, PART), .of = &result_layout },
	{ LAYOUT_AT(struct edit_result, tuned, PART), .of = &work_tuned_layout },
	{ .name = NULL },
};
static const struct layout edit_layout = { "edit result", sizeof(struct edit_result), edit_fields };

/* A transformation and the job that works on it. */
struct apply {
	struct engine_job *job;
	const struct request *q;
	struct lineage l; /* of the checkpoint that it began with */
	struct facts facts;
	struct eval ev;
	struct work_judge judge;
	struct transform *x;
	bool resumed;        /* this job was cut off and continues its own row */
	int64_t made;        /* what it became before this job was cut off; then nothing else is set but `job` */
	const char *model;   /* provider's name */
	const char *trouble; /* the first: "malformed", or a verdict's name; NULL: none */
	double calls;        /* expected, without repairs */
	struct work_gate gate;
};

static int begin(struct apply *a, struct err *e)
{
	struct work *w = a->job->user;
	struct transformation *t;
	char *profile = NULL;
	const struct work_known known = {
		.l = &a->l, .facts = &a->facts, .applying = a->q->transformation, .without = a->q->without
	};
	int rc = work_known_text(w, a->job->db, &known, &profile, e);
	if (rc == 0 && a->q->notes) {
		char *both = mem_fmt("%s\n## What was tried before\n\n%s", profile ? profile : "", a->q->notes);
		free(profile);
		profile = both;
	}
	if (rc == 0)
		rc = library_find_or_text(w->library, a->q->transformation ? a->q->transformation : "", &t, e);
	if (rc < 0) {
		free(profile);
		return rc;
	}
	const struct transform_limits limits = { .samples = (unsigned)a->q->starts,
						 .no_plan = a->q->calls && a->q->calls < PLAN_CALLS };
	const struct transform_start start = { .t = t,
					       .parent = a->l.ctx,
					       .facts = &a->facts,
					       .profile = profile,
					       .applied = (const char *const *)a->l.applied,
					       .applied_count = a->l.applied_count,
					       .limits = &limits };
	rc = transform_new(&start, &a->x, e);
	transformation_free(t);
	free(profile);
	if (rc < 0)
		return rc;
	a->x->parent_id = a->l.id;
	a->x->workflow = mem_str(a->q->subject.workflow);
	return 0;
}

/* Takes the half-done transformation that is named, or this job's own when it was cut off. */
static int take(struct apply *a, struct err *e)
{
	struct engine_job *job = a->job;
	struct pending own = { .id = NULL };
	int64_t at = a->q->subject.checkpoint;
	int rc = pending_of_job(job->db, job->id, &own, e);
	a->resumed = rc > 0;
	a->made = own.checkpoint;
	const char *id = own.id ? own.id : a->q->pending;
	if (rc >= 0 && !a->made && id && *id)
		rc = saved_take(job->db, id, job->id, &a->x, e);
	if (rc >= 0 && a->x && at && at != a->x->parent_id)
		rc = err_set(e, ERR_CONFLICT,
			     "transformation %s began with checkpoint %lld, and at names checkpoint %lld: leave at out", id,
			     (long long)a->x->parent_id, (long long)at);
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
static int apply_init(struct apply *a, struct engine_job *job, const struct request *q, struct err *e)
{
	*a = (struct apply){ .job = job, .q = q };
	int rc = take(a, e);
	if (rc == 0 && !a->made)
		rc = lineage_load(job->db, a->x ? a->x->parent_id : q->subject.checkpoint, &a->l, e);
	if (rc == 0 && !a->made)
		rc = work_device(job->user, q->subject.device, context_backend(a->l.ctx), &a->facts, e);
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
	work_judge_init(&a->judge, &a->ev, a->l.root, &a->facts, (unsigned)(q->samples ? q->samples : WORK_SAMPLES));
	work_gate_init(&a->gate, job, a->x, &a->judge.judge, q->novel, q->reviewer);
	return 0;
}

/* --- what is kept ------------------------------------------------------------------------------------------------------------- */

static int record_exchange(struct apply *a, const struct model_request *request, const struct model_answer *answer,
			   const char *provider, enum reply_outcome outcome, struct err *e)
{
	const struct model_key *key = &request->key;
	const struct transformation *t = transform_asked(a->x, key);
	struct exchange row = {
		.key = { .step = context_region_name(t->passes[key->pass - 1].steps[key->step - 1].region) },
		.text_hash = t->hash.hex,
		.provider = provider,
		.outcome = reply_outcome_name(outcome),
	};
	return work_record_exchange(a->job, request, answer, &row, e);
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

/* Adds how to continue what is kept to the reason why this job failed. */
static int advise(const struct apply *a, struct err *why)
{
	const char *id = a->x->id;
	if (id == NULL || a->x->checkpoint)
		return -(int)why->code;
	utf8_cut(why->text, WHY_MAX); /* a compiler's long log must leave room for the advice */
	return err_set(why, why->code,
		       "%s; it is kept as %s. To continue, call transform (a model), transform_begin and then transform_submit "
		       "(you answer) or edit (by hand), with pending=%s. To drop it, call transform with pending=%s and "
		       "discard=true",
		       why->text, id, id, id);
}

/* What to answer next: the last turn. The rules before it are those that the first prompt of the transformation gave. */
static void show_question(const struct transform *x, struct result *result)
{
	const struct prompt *p = transform_prompt(x);
	result->prompt = mem_str(p->turns[p->count - 1].text);
	result->region = mem_str(context_region_name(transform_region(x)));
}

/* The verdict on what became a checkpoint, and what it leaves open. */
static void show_verdict(const struct work_judge *j, struct result *result)
{
	if (!j->have_last)
		return;
	free(result->summary);
	result->summary = mem_str(j->last.summary);
	result->not_judged = mem_str(j->last.not_judged);
	result->limits = mem_str(j->last.limits);
}

static void show_state(const struct apply *a, struct result *result)
{
	const struct transform *x = a->x;
	result->pending = mem_str(x->id);
	result->state = mem_str(transform_state_name(x->state));
	result->summary = mem_str(x->last);
	result->plan = mem_str(transform_plan(x));
	if (x->state == TRANSFORM_ASK)
		show_question(x, result);
	if (x->checkpoint) {
		result->checkpoint = x->checkpoint;
		show_verdict(&a->judge, result);
	}
	if (x->state == TRANSFORM_STUCK) {
		struct err how = ERR_INIT;
		err_set(&how, ERR_MODEL, "%s", x->last);
		advise(a, &how);
		free(result->summary);
		result->summary = mem_str(how.text);
	}
}

static int show_made(const struct apply *a, struct result *result)
{
	result->state = mem_str(transform_state_name(TRANSFORM_DONE));
	result->checkpoint = a->made;
	return 0;
}

/* Judges until somebody must answer, or all is done. */
static int judge_all(struct apply *a, struct err *e)
{
	int rc = 0;
	while (rc == 0 && a->x->state == TRANSFORM_JUDGE)
		rc = transform_judge(a->x, &a->gate.judge, e);
	return rc;
}

/* --- by a model --------------------------------------------------------------------------------------------------------------- */

static void progress(struct apply *a, const char *what)
{
	const struct transform *x = a->x;
	char *text = mem_fmt("%s: pass %u/%zu step %u: %s", x->t->name, x->pass + 1, x->t->pass_count, x->step + 1, what);
	engine_progress(a->job, x->asked, a->calls > x->asked ? a->calls : 0, text);
	free(text);
}

/* The next question would be one too many. Calls of earlier jobs that worked on the same transformation do not count. */
static int check_calls(const struct apply *a, struct err *e)
{
	const struct transform *x = a->x;
	struct exchange_spent spent;
	if (a->q->calls == 0 || x->state != TRANSFORM_ASK)
		return 0;
	int rc = exchange_spent(a->job->db, a->job->id, &spent, e);
	if (rc < 0 || spent.calls < a->q->calls)
		return rc;
	return err_set(e, ERR_MODEL, "%s: its %lld model calls are used up: %s", x->t->name, (long long)a->q->calls, x->last);
}

static int answered(void *arg, struct transform *x, const struct model_request *request, const struct model_answer *answer,
		    enum reply_outcome outcome, struct err *e)
{
	struct apply *a = arg;
	int rc = store_begin(a->job->db, e);
	if (rc < 0)
		return rc;
	rc = record_exchange(a, request, answer, a->model, outcome, e);
	if (rc == 0)
		rc = keep(a, e);
	rc = store_end(a->job->db, rc, e);
	if (outcome != REPLY_OK && a->trouble == NULL)
		a->trouble = "malformed";
	if (answer->note)
		log_info("job %s: %s", a->job->id, answer->note);
	progress(a, outcome == REPLY_OK ? "answered" : x->last);
	return rc < 0 ? rc : check_calls(a, e);
}

static int judged(void *arg, struct transform *x, struct err *e)
{
	struct apply *a = arg;
	if (x->verdict != JUDGE_PASS && a->trouble == NULL)
		a->trouble = judge_result_name(x->verdict);
	progress(a, x->last);
	/* What only inserted code so far is begun again as easily. */
	int rc = x->state != TRANSFORM_DONE && (x->asked || x->state == TRANSFORM_STUCK) ? keep(a, e) : 0;
	return rc < 0 ? rc : check_calls(a, e);
}

/* The model gave code that a checkpoint has: nothing is left to do, and nothing went wrong. */
static int discard_same(struct apply *a, struct result *result, struct err *e)
{
	struct err why = *e;
	result->same = a->gate.same;
	result->summary = mem_str(why.text);
	int rc = transform_discard(a->x, e);
	return rc == 0 && a->x->id ? keep(a, e) : rc;
}

/* `model` is NULL where every pass holds already. */
static int run_model(struct apply *a, const struct model *model, struct result *result, struct err *e)
{
	struct transform *x = a->x;
	struct transform_watch watch = { .arg = a, .answered = answered, .judged = judged };
	struct exchange_spent spent = { 0 };
	struct err unread = ERR_INIT;
	bool began = x->id == NULL;
	int rc = 0;
	a->model = model ? model->name : NULL;
	a->calls = (double)transformation_calls(x->t, context_backend(a->l.ctx));
	if (x->state == TRANSFORM_STUCK)
		rc = transform_reopen(x, true, e);
	if (rc == 0)
		rc = transform_run(x, model, &a->gate.judge, &watch, &a->job->cancel.asked, e);
	result->plan = mem_str(transform_plan(x));
	if (exchange_spent(a->job->db, a->job->id, &spent, &unread) < 0)
		log_warning("job %s: its model calls cannot be counted: %s", a->job->id, unread.text);
	result->asked = spent.calls;
	result->repairs = x->repairs;
	result->tokens_in = spent.tokens_in;
	result->tokens_out = spent.tokens_out;
	result->tokens_cached = spent.tokens_cached;
	if (a->trouble || (rc == 0 && began))
		result->first_try = mem_str(a->trouble ? a->trouble : "right");
	if (rc == 0)
		rc = keep(a, e);
	if (a->gate.same)
		return discard_same(a, result, e);
	if (x->checkpoint) {
		result->checkpoint = x->checkpoint;
		result->summary = mem_str(x->last);
		show_verdict(&a->judge, result);
		result->details = mem_str(a->judge.have_last ? a->judge.last.log : NULL);
	} else if (rc < 0 && x->id) {
		result->pending = mem_str(x->id);
	}
	return rc < 0 ? advise(a, e) : 0;
}

static int run_transform(struct engine_job *job, const void *request, void *ret_result, struct err *e)
{
	const struct request *q = request;
	struct result *result = ret_result;
	struct apply a;
	struct models_open open = { 0 };
	int rc = apply_init(&a, job, q, e);
	if (rc < 0)
		return rc;
	if (a.made)
		return show_made(&a, result);
	if (q->discard) {
		rc = transform_discard(a.x, e);
		if (rc == 0)
			rc = keep(&a, e);
		if (rc == 0) {
			show_state(&a, result);
			free(result->summary); /* what was said last was about going on */
			result->summary =
				mem_fmt("transformation %s (%s) is dropped: it cannot be continued, and nothing of it was kept",
					a.x->id, a.x->t->name);
		}
	} else {
		/* What only waits for its verdict needs no model. */
		bool judging = a.x->id && a.x->state == TRANSFORM_JUDGE;
		if (judging)
			rc = judge_all(&a, e);
		if (rc == 0 && judging && a.x->state != TRANSFORM_DONE)
			rc = keep(&a, e);
		/* A mistake in the transformation's name is reported before one in the model's. */
		if (rc == 0 && a.x->state != TRANSFORM_DONE)
			rc = work_open_model(job, q->model, (unsigned)(q->attempt ? q->attempt : 1), &open, e);
		rc = rc < 0 ? advise(&a, e) : run_model(&a, open.model, result, e);
	}
	models_close(&open);
	apply_fini(&a);
	return rc;
}

/* --- by the client's answer --------------------------------------------------------------------------------------------------- */

/* A job that was cut off after its last write has recorded its answer. */
static int was_recorded(struct apply *a, struct err *e)
{
	struct exchange_spent spent = { 0 };
	int rc = a->resumed ? exchange_spent(a->job->db, a->job->id, &spent, e) : 0;
	return rc < 0 ? rc : spent.calls > 0;
}

/* Nothing is written before the verdict is in, so that the same answer can be submitted again. */
static int submit(struct apply *a, struct result *result, struct err *e)
{
	struct transform *x = a->x;
	struct prompt prompt = PROMPT_INIT;
	struct model_answer answer = { .text = a->q->answer ? a->q->answer : (char *)"",
				       .model = a->q->model ? a->q->model : (char *)"agent" };
	enum reply_outcome outcome;
	int rc = x->state == TRANSFORM_STUCK ? transform_reopen(x, false, e) : 0;
	if (rc < 0)
		return advise(a, e);
	if (x->state == TRANSFORM_JUDGE)
		return err_set(e, ERR_CONFLICT,
			       "the pass is complete and waits for its verdict: transform with pending=%s has it judged", x->id);
	prompt_copy(&prompt, transform_prompt(x));
	const struct model_request request = { .prompt = &prompt, .key = transform_key(x) };
	rc = transform_feed(x, answer.text, REPLY_FINISH_STOP, &outcome, e);
	bool judging = x->state == TRANSFORM_JUDGE;
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
		/* An answer may be well formed and wrong. */
		result->outcome =
			mem_str(judging && x->verdict != JUDGE_PASS ? judge_result_name(x->verdict) : reply_outcome_name(outcome));
	}
	prompt_fini(&prompt);
	return rc;
}

static int run_submit(struct engine_job *job, const void *request, void *result, struct err *e)
{
	const struct request *q = request;
	struct apply a;
	int rc = apply_init(&a, job, q, e);
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

/* An edit may change the regions and the tuning part of the front matter. */
static int parse_source(const struct context *parent, const char *source, struct context **ret_ctx, struct err *e)
{
	struct context *ctx;
	int rc = context_with_source(parent, "source", source, &ctx, e);
	if (rc < 0)
		return rc;
	char *was = limits_contract(parent), *is = limits_contract(ctx);
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

static int edited(const struct request *q, const struct context *before, struct context **ret_ctx, struct err *e)
{
	const char *name = q->region ? q->region : "";
	if (q->source)
		return parse_source(before, q->source, ret_ctx, e);
	int region = context_region_parse(name);
	if (region < 0)
		return err_set(e, ERR_INPUT, "region: expected device, host or macros, not '%s'", name);
	return context_with_region(before, (enum region)region, q->text ? q->text : "", ret_ctx, e);
}

/* Finishes the half-done pass; nothing is written before the verdict is in. */
static int edit_pass(struct engine_job *job, const struct request *q, struct result *result, struct err *e)
{
	struct apply a;
	struct context *ctx = NULL;
	int rc = apply_init(&a, job, q, e);
	if (rc < 0)
		return rc;
	if (a.made)
		return show_made(&a, result);
	rc = edited(q, a.x->ctx, &ctx, e);
	if (rc == 0)
		rc = transform_take_over(a.x, ctx, e);
	if (rc == 0)
		rc = judge_all(&a, e);
	if (rc == 0) {
		result->passed = a.x->verdict == JUDGE_PASS && a.facts.runs;
		rc = keep(&a, e);
	}
	if (rc == 0 || a.x->checkpoint)
		show_state(&a, result);
	context_free(ctx);
	apply_fini(&a);
	return rc;
}

static int edit_checkpoint(struct engine_job *job, const struct request *q, const struct lineage *l, const struct facts *facts,
			   struct result *result, struct err *e)
{
	struct eval ev = work_eval(job);
	struct work_judge judge;
	struct judge_verdict verdict;
	struct context *ctx = NULL;
	int64_t checkpoint = 0;
	int rc = edited(q, l->ctx, &ctx, e);
	if (rc < 0)
		return rc;
	work_judge_init(&judge, &ev, l->root, facts, (unsigned)(q->samples ? q->samples : WORK_SAMPLES));
	rc = judge.judge.validate(judge.judge.arg, l->ctx, ctx, &verdict, e);
	if (rc == 0) {
		bool passed = verdict.result == JUDGE_PASS;
		const struct work_made made = {
			.ctx = ctx, .parent = l->id, .by = "edit", .workflow = passed ? q->subject.workflow : NULL, .job = job->id
		};
		rc = work_judge_checkpoint(&judge, job->db, &made, &checkpoint, e);
		/* What only compiled has passed nothing. */
		result->passed = passed && facts->runs;
		result->summary = mem_str(verdict.summary);
		show_verdict(&judge, result);
		judge_verdict_fini(&verdict);
	}
	result->checkpoint = checkpoint;
	work_judge_fini(&judge);
	context_free(ctx);
	return rc;
}

static int run_edit(struct engine_job *job, const void *request, void *ret_result, struct err *e)
{
	const struct request *q = request;
	struct edit_result *result = ret_result;
	struct lineage l;
	struct facts facts;
	bool faster = work_keep_faster(q->keep);
	if (q->pending)
		return edit_pass(job, q, &result->verdict, e);
	int rc = lineage_load(job->db, q->subject.checkpoint, &l, e);
	if (rc < 0)
		return rc;
	rc = work_device(job->user, q->subject.device, context_backend(l.ctx), &facts, e);
	if (rc == 0 && faster)
		rc = work_keep_check(job, &l, &facts, e);
	if (rc == 0)
		rc = edit_checkpoint(job, q, &l, &facts, &result->verdict, e);
	if (rc == 0 && faster && !result->verdict.passed)
		result->tuned.kept = mem_str("not kept: it failed, so no head was moved");
	if (rc == 0 && faster && result->verdict.passed) {
		const struct work_tune_step step = { .checkpoint = result->verdict.checkpoint,
						     .workflow = q->subject.workflow,
						     .device = facts.id,
						     .budget = q->budget ? q->budget : EDIT_BUDGET };
		rc = work_tune_step(job, &step, &result->tuned, e);
	}
	lineage_fini(&l);
	return rc;
}

const struct engine_kind work_transform = { "transform", &request_layout, &result_layout, run_transform };
const struct engine_kind work_submit = { "submit", &request_layout, &result_layout, run_submit };
const struct engine_kind work_edit = { "edit", &request_layout, &edit_layout, run_edit };
