/* transform: see transform.h. A pass goes through its steps, each a conversation of its own; then it is judged, and
 * what is wrong goes back into the conversation of the step that can repair it. */
#include "core/transform/transform.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/transform/feedback.h"
#include "core/transform/fits.h"

static int enter_pass(struct transform *x, struct err *e);

/* --- states ------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	unsigned to; /* a bit for every state that may follow */
} states[TRANSFORM_STATES] = {
	[TRANSFORM_ASK] = { "waiting",
			    1u << TRANSFORM_ASK | 1u << TRANSFORM_JUDGE | 1u << TRANSFORM_STUCK | 1u << TRANSFORM_DISCARDED },
	[TRANSFORM_JUDGE] = { "open", 1u << TRANSFORM_ASK | 1u << TRANSFORM_JUDGE | 1u << TRANSFORM_STUCK | 1u << TRANSFORM_DONE |
					      1u << TRANSFORM_DISCARDED },
	[TRANSFORM_DONE] = { "accepted", 0 },
	[TRANSFORM_STUCK] = { "given-up", 1u << TRANSFORM_ASK | 1u << TRANSFORM_JUDGE | 1u << TRANSFORM_DISCARDED },
	[TRANSFORM_DISCARDED] = { "cancelled", 0 },
};

const char *transform_state_name(enum transform_state state)
{
	return states[state].name;
}

/* The one place that writes the state; a move that the table does not allow is a bug. */
static void move(struct transform *x, enum transform_state to)
{
	assert(states[x->state].to & 1u << to);
	x->state = to;
}

static int refuse_state(const struct transform *x, const char *wanted, struct err *e)
{
	static const char *const now[TRANSFORM_STATES] = {
		[TRANSFORM_ASK] = "a step waits for an answer",
		[TRANSFORM_JUDGE] = "the pass is complete and waits for its verdict",
		[TRANSFORM_DONE] = "it is done",
		[TRANSFORM_STUCK] = "the pass is given up",
		[TRANSFORM_DISCARDED] = "it was discarded",
	};
	return err_set(e, ERR_CONFLICT, "transformation %s cannot %s: %s", x->t->name, wanted, now[x->state]);
}

/* --- small questions ---------------------------------------------------------------------------------------------- */

static const struct transformation_pass *pass_of(const struct transform *x)
{
	return &x->t->passes[x->pass];
}

static const struct transformation_step *step_of(const struct transform *x)
{
	return &pass_of(x)->steps[x->step];
}

const struct prompt *transform_prompt(const struct transform *x)
{
	return &x->talks[x->step];
}

enum region transform_region(const struct transform *x)
{
	return step_of(x)->region;
}

struct model_key transform_key(const struct transform *x)
{
	struct model_key key = {
		.context = *context_hash(x->ctx), .pass = x->pass + 1, .step = x->step + 1, .attempt = x->attempts[x->step] + 1
	};
	strncpy(key.transformation, x->t->name, sizeof key.transformation - 1);
	return key;
}

/* Whether a step (from 0) of this pass asks a model on the context's backend; else it only inserts code. */
static bool needs_model(const struct transform *x, unsigned step)
{
	char *text = transformation_text_for(pass_of(x)->steps[step].text, context_backend(x->parent));
	bool needs = text[strspn(text, " \t\r\n")] != '\0';
	free(text);
	return needs;
}

static void set_context(struct context **to, struct context *take_ctx)
{
	context_free(*to);
	*to = take_ctx;
}

static void set_last(struct transform *x, char *take_text)
{
	free(x->last);
	x->last = take_text;
}

static void clear_talks(struct transform *x)
{
	for (int i = 0; i < REGION_COUNT; i++)
		prompt_fini(&x->talks[i]);
}

static bool may_plan(const struct transform *x)
{
	return transformation_is_sentence(x->t) && !x->limits.no_plan;
}

static void start_talk(struct transform *x, unsigned step)
{
	prompt_fini(&x->talks[step]);
	prompt_start(&x->talks[step], x->t, x->pass, step, x->ctx, x->has_facts ? &x->facts : NULL, x->profile);
	if (transformation_is_sentence(x->t))
		prompt_offer_host(&x->talks[step]);
	if (may_plan(x))
		prompt_offer_plan(&x->talks[step]);
}

/* --- passes ------------------------------------------------------------------------------------------------------- */

/* Code that is inserted without a model, once only: macros go after those that are there, other code in front. */
static int insert_code(struct transform *x, struct err *e)
{
	const char *code = transformation_insert_for(step_of(x), context_backend(x->ctx));
	enum region region = step_of(x)->region;
	const char *before = context_region(x->ctx, region);
	if (!code || strstr(before, code))
		return 0;
	bool after = region == REGION_MACROS;
	char *text = mem_fmt("%s%s%s", after ? before : code, *before ? "\n" : "", after ? code : before);
	struct context *ctx;
	int rc = context_with_region(x->ctx, region, text, &ctx, e);
	free(text);
	if (rc < 0)
		return err_wrap(e, "%s, pass %u: inserting code", x->t->name, x->pass + 1);
	set_context(&x->ctx, ctx);
	return 0;
}

/* The pass holds: the next one, or done. */
static int next_pass(struct transform *x, struct err *e)
{
	if (x->pass + 1 == x->t->pass_count) {
		move(x, TRANSFORM_DONE);
		return 0;
	}
	x->pass++;
	int rc = enter_pass(x, e);
	if (rc < 0) {
		x->pass--; /* back before its verdict */
		move(x, TRANSFORM_JUDGE);
	}
	return rc;
}

/* From step x->step on: inserts code until a step needs the model, or the pass is complete. */
static int advance(struct transform *x, struct err *e)
{
	for (; x->step < pass_of(x)->step_count; x->step++) {
		int rc = insert_code(x, e);
		if (rc < 0)
			return rc;
		if (needs_model(x, x->step)) {
			start_talk(x, x->step);
			move(x, TRANSFORM_ASK);
			return 0;
		}
	}
	x->step = (unsigned)pass_of(x)->step_count - 1;
	if (pass_of(x)->expect == TRANSFORMATION_NONE)
		return next_pass(x, e);
	move(x, TRANSFORM_JUDGE);
	return 0;
}

static const char *values_of(const struct transformation *t, const char *name)
{
	for (size_t i = 0; i < t->param_count; i++) {
		if (strcmp(t->params[i].name, name) == 0)
			return t->params[i].values;
	}
	return "";
}

/* What the transformation's front matter changes in the context's at this pass. */
static int apply_parameters(struct transform *x, struct err *e)
{
	const struct transformation *t = x->t;
	struct context_edit *edits = NULL;
	size_t count = 0, last = 0;
	for (size_t p = 0; p < t->pass_count; p++) {
		if (t->passes[p].add_count)
			last = p;
	}
	for (size_t i = 0; x->pass == 0 && i < t->drop_count; i++)
		*MEM_PUSH(edits, count) = (struct context_edit){ CONTEXT_TUNE_DROP, t->drops[i], NULL };
	for (size_t i = 0; i < pass_of(x)->add_count; i++)
		*MEM_PUSH(edits, count) =
			(struct context_edit){ CONTEXT_TUNE_SET, pass_of(x)->adds[i], values_of(t, pass_of(x)->adds[i]) };
	/* Constraints come with the last parameters: then everything that they mention is there. */
	for (size_t i = 0; x->pass == last && i < t->where_count; i++)
		*MEM_PUSH(edits, count) = (struct context_edit){ CONTEXT_WHERE_ADD, NULL, t->where[i] };
	for (size_t i = 0; x->pass == 0 && i < t->requires_count; i++)
		*MEM_PUSH(edits, count) = (struct context_edit){ CONTEXT_REQUIRES_ADD, NULL, t->requires[i] };
	struct context *ctx;
	int rc = count ? context_with_tuning(x->ctx, edits, count, &ctx, e) : 0;
	if (rc < 0)
		err_wrap(e, "transformation %s does not fit this context", t->name);
	else if (count)
		set_context(&x->ctx, ctx);
	free(edits);
	return rc;
}

static void reset_limits(struct transform *x, unsigned sample)
{
	x->sample = sample;
	x->compile_repairs = x->wrong_repairs = x->malformed = 0;
}

static int begin_sample(struct transform *x, unsigned sample, struct err *e)
{
	set_context(&x->ctx, context_ref(x->start));
	reset_limits(x, sample);
	x->step = 0;
	x->repairing = false;
	clear_talks(x);
	return advance(x, e);
}

static int enter_pass(struct transform *x, struct err *e)
{
	int rc = apply_parameters(x, e);
	if (rc < 0)
		return rc;
	set_context(&x->start, context_ref(x->ctx));
	memset(x->attempts, 0, sizeof x->attempts);
	return begin_sample(x, 1, e);
}

/* The sample failed: another one from the pass's start, or stuck with the last question left open. */
static int end_sample(struct transform *x, struct err *e)
{
	if (x->sample < x->limits.samples)
		return begin_sample(x, x->sample + 1, e);
	set_last(x, mem_fmt("%s\npass %u (%s) is given up after %u samples", x->last, x->pass + 1, pass_of(x)->title, x->sample));
	move(x, TRANSFORM_STUCK);
	return 0;
}

int transform_new(const struct transform_start *start, struct transform **ret_x, struct err *e)
{
	struct transformation *copy;
	struct fits *fits = fits_new(start->parent, start->facts);
	int rc = fits_check(fits, start->t, start->applied, start->applied_count, e);
	fits_free(fits);
	if (rc == 0)
		rc = transformation_parse(start->t->source, start->t->name, &copy, e);
	if (rc < 0)
		return rc;
	struct transform *x = MEM_NEW(struct transform);
	x->t = copy;
	x->has_facts = start->facts != NULL;
	if (start->facts)
		x->facts = *start->facts;
	if (start->limits)
		x->limits = *start->limits;
	struct transform_limits *l = &x->limits;
	l->compile_repairs = l->compile_repairs ? l->compile_repairs : 3;
	l->wrong_repairs = l->wrong_repairs ? l->wrong_repairs : 2;
	l->malformed = l->malformed ? l->malformed : 2;
	l->samples = l->samples ? l->samples : 2;
	x->last = mem_str("");
	x->profile = mem_str(start->profile);
	x->parent = context_ref(start->parent);
	x->ctx = context_ref(start->parent);
	rc = enter_pass(x, e);
	if (rc < 0) {
		transform_free(x);
		return rc;
	}
	*ret_x = x;
	return 0;
}

void transform_free(struct transform *x)
{
	if (!x)
		return;
	clear_talks(x);
	transformation_free(x->t);
	transformation_free(x->sentence);
	context_free(x->parent);
	context_free(x->ctx);
	context_free(x->start);
	free(x->profile);
	free(x->last);
	free(x->id);
	free(x->workflow);
	free(x);
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

static void add_question(struct transform *x, struct buf *take_text)
{
	prompt_add(&x->talks[x->step], PROMPT_USER, buf_text(take_text));
	if (transformation_is_sentence(x->t))
		prompt_offer_host(&x->talks[x->step]);
	buf_fini(take_text);
}

static bool may_patch(const struct transform *x)
{
	size_t lines = 0;
	for (const char *s = context_region(x->ctx, transform_region(x)); *s; s++)
		lines += *s == '\n';
	return x->repairing || lines > PROMPT_LONG_REGION;
}

static int refuse_answer(struct transform *x, const struct reply *reply, struct err *e)
{
	struct buf text = BUF_INIT;
	set_last(x, mem_fmt("pass %u of %zu, %s: the answer cannot be used (%s): %s%s%s", x->pass + 1, x->t->pass_count,
			    context_region_name(transform_region(x)), reply_outcome_name(reply->outcome),
			    reply->detail ? reply->detail : "", reply->words ? "; in the model's words: " : "",
			    reply->words ? reply->words : ""));
	feedback_reply(reply, transform_region(x), context_backend(x->ctx), &text);
	add_question(x, &text);
	if (++x->malformed > x->limits.malformed)
		return end_sample(x, e);
	x->repairs++;
	move(x, TRANSFORM_ASK);
	return 0;
}

static int take_region(struct transform *x, struct context *take_ctx, struct err *e)
{
	set_context(&x->ctx, take_ctx);
	set_last(x, mem_fmt("pass %u of %zu, %s: a new region", x->pass + 1, x->t->pass_count,
			    context_region_name(transform_region(x))));
	if (x->repairing) {
		x->repairing = false;
		move(x, TRANSFORM_JUDGE);
		return 0;
	}
	x->step++;
	return advance(x, e);
}

const char *transform_plan(const struct transform *x)
{
	return strncmp(x->t->name, "plan-", 5) == 0 ? x->t->source : NULL;
}

const struct transformation *transform_asked(const struct transform *x, const struct model_key *key)
{
	return x->sentence && strcmp(key->transformation, x->sentence->name) == 0 ? x->sentence : x->t;
}

static int read_plan(const struct transform *x, const char *text, struct transformation **ret_plan, struct err *e)
{
	struct fits *fits = fits_new(x->parent, x->has_facts ? &x->facts : NULL);
	struct transformation *plan = NULL;
	int rc = transformation_of_plan(text, x->t, &plan, e);
	if (rc == 0)
		rc = fits_check(fits, plan, NULL, 0, e);
	fits_free(fits);
	if (rc < 0)
		transformation_free(plan);
	else
		*ret_plan = plan;
	return rc;
}

/* The plan takes the sentence's place, and its first pass begins. */
static int adopt_plan(struct transform *x, struct transformation *take_plan, struct err *e)
{
	x->sentence = x->t; /* a plan is no sentence, so this happens once */
	x->t = take_plan;
	set_context(&x->ctx, context_ref(x->parent));
	set_last(x, mem_fmt("the model answers with a plan of %zu pass%s: %s", x->t->pass_count, x->t->pass_count == 1 ? "" : "es",
			    x->t->summary));
	return enter_pass(x, e);
}

/* The context with the step's new region, and with a new host region unless that is NULL. */
static int with_regions(const struct transform *x, const char *region, const char *host, struct context **ret_ctx, struct err *e)
{
	struct context *ctx = NULL, *both = NULL;
	int rc = context_with_region(x->ctx, transform_region(x), region, &ctx, e);
	if (rc == 0 && host) {
		rc = context_with_region(ctx, REGION_HOST, host, &both, e);
		context_free(ctx);
		ctx = both;
	}
	if (rc == 0)
		*ret_ctx = ctx;
	return rc;
}

int transform_feed(struct transform *x, const char *answer, enum reply_finish finish, enum reply_outcome *ret_outcome,
		   struct err *e)
{
	if (x->state != TRANSFORM_ASK)
		return refuse_state(x, "take an answer", e);
	struct reply reply;
	char *host = transformation_is_sentence(x->t) ? reply_marked(answer, "lua") : NULL;
	const struct reply_want want = { .region = transform_region(x),
					 .backend = context_backend(x->ctx),
					 .before = context_region(x->ctx, transform_region(x)),
					 .host = host ? host : context_region(x->ctx, REGION_HOST),
					 .may_drop_kernels = pass_of(x)->may_drop_kernels,
					 .may_keep = pass_of(x)->may_keep || host,
					 .may_patch = may_patch(x) };
	reply_parse(&want, answer, finish, &reply);
	prompt_add(&x->talks[x->step], PROMPT_ASSISTANT, answer);
	x->asked++;
	x->attempts[x->step]++;
	struct context *ctx = NULL;
	struct err why = ERR_INIT;
	struct transformation *plan = NULL;
	char *planned = may_plan(x) && !x->repairing ? reply_marked(answer, "plan") : NULL;
	if (planned && read_plan(x, planned, &plan, &why) < 0) {
		reply_fini(&reply);
		reply = (struct reply){ .outcome = REPLY_BAD_PLAN, .detail = mem_str(why.text) };
	}
	free(planned);
	if (plan) {
		free(host);
		reply_fini(&reply);
		if (ret_outcome)
			*ret_outcome = REPLY_OK;
		return adopt_plan(x, plan, e);
	}
	if (reply.outcome == REPLY_OK && with_regions(x, reply.text, host, &ctx, &why) < 0) {
		reply.outcome = REPLY_NO_CODE;
		reply.detail = mem_str(why.text);
	}
	free(host);
	if (ret_outcome)
		*ret_outcome = reply.outcome;
	int rc = reply.outcome == REPLY_OK ? take_region(x, ctx, e) : refuse_answer(x, &reply, e);
	reply_fini(&reply);
	return rc;
}

/* --- verdicts ----------------------------------------------------------------------------------------------------- */

/* The step that can repair it: the one whose region the first error is in, else the device step, else the last one
 * that asks a model. -1 when the pass has none. */
static int step_to_repair(const struct transform *x, const struct judge_verdict *v)
{
	int last = -1, device = -1, named = -1;
	for (unsigned s = 0; s < pass_of(x)->step_count; s++) {
		enum region region = pass_of(x)->steps[s].region;
		if (!needs_model(x, s))
			continue;
		last = (int)s;
		if (region == REGION_DEVICE)
			device = (int)s;
		if (v->error_count && v->errors[0].region == region)
			named = (int)s;
	}
	return named >= 0 ? named : v->result != JUDGE_COMPILE && device >= 0 ? device : last;
}

static int repair(struct transform *x, const struct judge_verdict *v, struct err *e)
{
	bool compile = v->result == JUDGE_COMPILE;
	unsigned *used = compile ? &x->compile_repairs : &x->wrong_repairs;
	int step = step_to_repair(x, v);
	if (step < 0)
		return end_sample(x, e);
	struct buf text = BUF_INIT;
	x->step = (unsigned)step;
	x->repairing = true;
	feedback_verdict(v, x->ctx, &text);
	for (unsigned s = 0; s < pass_of(x)->step_count; s++) { /* other steps may have changed their regions since */
		enum region region = pass_of(x)->steps[s].region;
		if (s == x->step)
			continue;
		buf_addf(&text, "\nFor your information, the %s region of this pass is now:\n\n", context_region_name(region));
		prompt_fence(&text, prompt_region_fence(region, context_backend(x->ctx)), context_region(x->ctx, region));
	}
	feedback_ask(transform_region(x), context_backend(x->ctx), &text);
	add_question(x, &text);
	if (*used >= (compile ? x->limits.compile_repairs : x->limits.wrong_repairs))
		return end_sample(x, e);
	++*used;
	x->repairs++;
	move(x, TRANSFORM_ASK);
	return 0;
}

int transform_judge(struct transform *x, const struct judge *judge, struct err *e)
{
	if (x->state != TRANSFORM_JUDGE)
		return refuse_state(x, "be judged", e);
	struct judge_verdict v = JUDGE_VERDICT_INIT;
	int rc = 0;
	switch (pass_of(x)->expect) {
	case TRANSFORMATION_NONE: break;
	case TRANSFORMATION_COMPILES: rc = judge->compile(judge->arg, x->ctx, &v, e); break;
	case TRANSFORMATION_VALID: rc = judge->validate(judge->arg, x->parent, x->ctx, &v, e); break;
	}
	if (rc < 0)
		return rc;
	const char *detail = v.summary ? v.summary : v.error_count ? v.errors[0].text : "";
	x->verdict = v.result;
	set_last(x, mem_fmt("pass %u of %zu (%s): %s%s%.*s", x->pass + 1, x->t->pass_count, pass_of(x)->title,
			    judge_result_name(v.result), *detail ? ": " : "", (int)strcspn(detail, "\n"), detail));
	rc = v.result == JUDGE_PASS ? next_pass(x, e) : repair(x, &v, e);
	judge_verdict_fini(&v);
	return rc;
}

/* --- going on ----------------------------------------------------------------------------------------------------- */

int transform_reopen(struct transform *x, bool fresh, struct err *e)
{
	if (x->state != TRANSFORM_STUCK)
		return refuse_state(x, "be reopened", e);
	if (!transform_prompt(x)->count)
		return err_set(e, ERR_CONFLICT, "no step of pass %u of transformation %s asks a model: finish it with edit",
			       x->pass + 1, x->t->name);
	if (fresh)
		return begin_sample(x, 1, e);
	reset_limits(x, 1);
	move(x, TRANSFORM_ASK);
	return 0;
}

int transform_take_over(struct transform *x, const struct context *ctx, struct err *e)
{
	if (x->state == TRANSFORM_DONE || x->state == TRANSFORM_DISCARDED)
		return refuse_state(x, "be edited", e);
	if (strcmp(context_backend(ctx), context_backend(x->parent)) != 0)
		return err_set(e, ERR_INPUT, "the context is for %s, and the transformation began with %s", context_backend(ctx),
			       context_backend(x->parent));
	set_context(&x->ctx, context_ref(ctx));
	reset_limits(x, 1);
	x->repairing = false;
	x->step = (unsigned)pass_of(x)->step_count - 1;
	for (unsigned s = 0; s < pass_of(x)->step_count; s++) { /* a repair must know the edited context */
		if (needs_model(x, s))
			start_talk(x, s);
	}
	set_last(x, mem_fmt("pass %u of %zu: finished by hand", x->pass + 1, x->t->pass_count));
	move(x, TRANSFORM_JUDGE);
	return 0;
}

int transform_discard(struct transform *x, struct err *e)
{
	if (x->state == TRANSFORM_DONE || x->state == TRANSFORM_DISCARDED)
		return refuse_state(x, "be discarded", e);
	move(x, TRANSFORM_DISCARDED);
	return 0;
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */

static int ask(struct transform *x, const struct model *model, const struct transform_watch *watch, const atomic_bool *cancel,
	       struct err *e)
{
	struct prompt prompt; /* what was asked, for the watch: feeding changes the conversation */
	prompt_copy(&prompt, transform_prompt(x));
	const struct model_request request = { .prompt = &prompt, .key = transform_key(x), .cancel = cancel };
	struct model_answer answer = { 0 };
	enum reply_outcome outcome;
	int rc = model->ask(model->arg, &request, &answer, e);
	if (rc < 0)
		err_wrap(e, "%s, pass %u, step %u", x->t->name, x->pass + 1, x->step + 1);
	else
		rc = transform_feed(x, answer.text, answer.finish, &outcome, e);
	if (rc == 0 && watch && watch->answered)
		rc = watch->answered(watch->arg, x, &request, &answer, outcome, e);
	model_answer_fini(&answer);
	prompt_fini(&prompt);
	return rc;
}

int transform_run(struct transform *x, const struct model *model, const struct judge *judge, const struct transform_watch *watch,
		  const atomic_bool *cancel, struct err *e)
{
	for (;;) {
		int rc = 0;
		if (cancel && atomic_load(cancel) && x->state != TRANSFORM_DONE)
			return err_set(e, ERR_CANCELLED, "transformation %s was cancelled in pass %u", x->t->name, x->pass + 1);
		switch (x->state) {
		case TRANSFORM_ASK: rc = ask(x, model, watch, cancel, e); break;
		case TRANSFORM_JUDGE:
			rc = transform_judge(x, judge, e);
			if (rc == 0 && watch && watch->judged)
				rc = watch->judged(watch->arg, x, e);
			break;
		case TRANSFORM_DONE: return 0;
		case TRANSFORM_STUCK: return err_set(e, ERR_MODEL, "transformation %s: %s", x->t->name, x->last);
		case TRANSFORM_DISCARDED:
		case TRANSFORM_STATES: return refuse_state(x, "run", e);
		}
		if (rc < 0)
			return rc;
	}
}
