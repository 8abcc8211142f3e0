/* transform: see transform.h. A pass goes through its steps, each a conversation of its own; then it is judged, and
 * what is wrong goes back into the conversation of the step that can mend it. machine.c moves, saved.c keeps. */
#include "core/transform/transform.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/transform/feedback.h"
#include "core/transform/machine.h"
#include "core/transform/saved.h"

/* --- making and ending
 * ------------------------------------------------------------------------------------------------ */

int transform_new(const struct transformation *t, const struct context *parent, const struct facts *facts,
		  const char *const *applied, size_t applied_count, const struct transform_limits *limits,
		  struct transform **ret_x, struct err *e)
{
	struct transformation *copy;
	int rc = transformation_check(t, context_backend(parent), applied, applied_count, e);
	if (rc == 0)
		rc = transformation_parse(t->source, t->name, &copy, e);
	if (rc < 0)
		return rc;
	struct transform *x = machine_new(copy, facts, limits);
	x->parent = context_ref(parent);
	x->ctx = context_ref(parent);
	rc = machine_begin_pass(x, e);
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
	machine_clear_talks(x);
	transformation_free(x->t);
	context_free(x->parent);
	context_free(x->ctx);
	context_free(x->start);
	free(x->last);
	free(x->feedback);
	free(x);
}

/* --- questions
 * -------------------------------------------------------------------------------------------------------- */

enum transform_state transform_state(const struct transform *x)
{
	return x->state;
}

const struct prompt *transform_prompt(const struct transform *x)
{
	return &x->talks[x->step];
}

struct model_key transform_key(const struct transform *x)
{
	struct model_key key = { .context = *context_hash(x->ctx),
				 .pass = x->pass + 1,
				 .step = x->step + 1,
				 .attempt = x->attempts[x->step] + 1 };
	strncpy(key.transformation, x->t->name, sizeof key.transformation - 1);
	return key;
}

enum region transform_region(const struct transform *x)
{
	return machine_step(x)->region;
}

const struct context *transform_context(const struct transform *x)
{
	return x->ctx;
}

const struct context *transform_parent(const struct transform *x)
{
	return x->parent;
}

const struct transformation *transform_transformation(const struct transform *x)
{
	return x->t;
}

unsigned transform_pass(const struct transform *x)
{
	return x->pass + 1;
}

unsigned transform_step(const struct transform *x)
{
	return x->step + 1;
}

unsigned transform_asked(const struct transform *x)
{
	return x->asked;
}

unsigned transform_repairs(const struct transform *x)
{
	return x->repairs;
}

const char *transform_last(const struct transform *x)
{
	return x->last;
}

const char *transform_feedback(const struct transform *x)
{
	return x->feedback;
}

/* --- answers
 * ---------------------------------------------------------------------------------------------------------- */

static void say(struct transform *x, struct buf *text)
{
	prompt_add(&x->talks[x->step], PROMPT_USER, buf_text(text));
	machine_set_text(&x->feedback, buf_steal(text));
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
	machine_set_text(&x->last, mem_fmt("pass %u of %zu, %s: the answer is of no use (%s): %s", x->pass + 1,
					   x->t->pass_count, context_region_name(transform_region(x)),
					   reply_outcome_name(reply->outcome), reply->detail ? reply->detail : ""));
	if (++x->malformed > x->limits.malformed)
		return machine_give_up(x, e);
	struct buf text = BUF_INIT;
	x->repairs++;
	feedback_reply(reply, transform_region(x), context_backend(x->ctx), &text);
	say(x, &text);
	machine_set_state(x, TRANSFORM_ASK);
	return 0;
}

static int take_region(struct transform *x, struct context *take_ctx, struct err *e)
{
	machine_set_context(&x->ctx, take_ctx);
	machine_set_text(&x->last, mem_fmt("pass %u of %zu, %s: a new region", x->pass + 1, x->t->pass_count,
					   context_region_name(transform_region(x))));
	machine_set_text(&x->feedback, mem_str(""));
	if (x->repairing) {
		x->repairing = false;
		machine_set_state(x, TRANSFORM_JUDGE);
		return 0;
	}
	x->step++;
	return machine_go_on(x, e);
}

int transform_feed(struct transform *x, const char *answer, enum reply_finish finish, enum reply_outcome *ret_outcome,
		   struct err *e)
{
	if (x->state != TRANSFORM_ASK)
		return err_set(e, ERR_CONFLICT, "no answer is waited for: the pass is %s",
			       x->state == TRANSFORM_JUDGE  ? "complete and waits to be judged"
			       : x->state == TRANSFORM_DONE ? "done"
							    : "given up; finish it by hand");
	struct reply reply;
	const struct reply_want want = { .region = transform_region(x),
					 .backend = context_backend(x->ctx),
					 .before = context_region(x->ctx, transform_region(x)),
					 .host = context_region(x->ctx, REGION_HOST),
					 .may_drop_kernels = machine_pass(x)->may_drop_kernels,
					 .may_keep = machine_pass(x)->may_keep,
					 .may_patch = may_patch(x) };
	reply_parse(&want, answer, finish, &reply);
	prompt_add(&x->talks[x->step], PROMPT_ASSISTANT, answer);
	x->asked++;
	x->attempts[x->step]++;
	struct context *ctx;
	struct err why = ERR_INIT;
	if (reply.outcome == REPLY_OK && context_with_region(x->ctx, want.region, reply.text, &ctx, &why) < 0) {
		reply.outcome = REPLY_NO_CODE;
		reply.detail = mem_str(why.text);
	}
	if (ret_outcome)
		*ret_outcome = reply.outcome;
	int rc = reply.outcome == REPLY_OK ? take_region(x, ctx, e) : refuse_answer(x, &reply, e);
	reply_fini(&reply);
	return rc;
}

/* --- verdicts
 * --------------------------------------------------------------------------------------------------------- */

/* The step that can mend it: the one whose region the first error is in, else the device step, else the last that has
 * a model. -1 when the pass has none. */
static int step_to_mend(const struct transform *x, const struct judge_verdict *v)
{
	int last = -1, device = -1, named = -1;
	for (unsigned s = 0; s < machine_pass(x)->step_count; s++) {
		enum region region = machine_pass(x)->steps[s].region;
		if (!machine_needs_model(x, s))
			continue;
		last = (int)s;
		if (region == REGION_DEVICE)
			device = (int)s;
		if (v->error_count && v->errors[0].region == region)
			named = (int)s;
	}
	return named >= 0 ? named : v->result != JUDGE_COMPILE && device >= 0 ? device : last;
}

/* Other steps of the pass may have changed their regions since this conversation began. */
static void add_other_regions(const struct transform *x, struct buf *out)
{
	for (unsigned s = 0; s < machine_pass(x)->step_count; s++) {
		enum region region = machine_pass(x)->steps[s].region;
		if (s == x->step)
			continue;
		buf_addf(out, "\nFor your information, the %s region of this pass is now:\n\n",
			 context_region_name(region));
		prompt_fence(out, prompt_region_fence(region, context_backend(x->ctx)), context_region(x->ctx, region));
	}
}

static int repair(struct transform *x, const struct judge_verdict *v, struct err *e)
{
	bool compile = v->result == JUDGE_COMPILE;
	unsigned *used = compile ? &x->compile_repairs : &x->wrong_repairs;
	int step = step_to_mend(x, v);
	if (step < 0 || *used >= (compile ? x->limits.compile_repairs : x->limits.wrong_repairs))
		return machine_give_up(x, e);
	++*used;
	x->repairs++;
	x->step = (unsigned)step;
	x->repairing = true;
	struct buf text = BUF_INIT;
	feedback_verdict(v, x->ctx, &text);
	add_other_regions(x, &text);
	feedback_ask(transform_region(x), context_backend(x->ctx), &text);
	say(x, &text);
	machine_set_state(x, TRANSFORM_ASK);
	return 0;
}

enum judge_result transform_verdict(const struct transform *x)
{
	return x->verdict;
}

static void note_verdict(struct transform *x, const struct judge_verdict *v)
{
	x->verdict = v->result;
	const char *detail = v->summary ? v->summary : v->error_count ? v->errors[0].text : "";
	machine_set_text(&x->last, mem_fmt("pass %u of %zu (%s): %s%s%.*s", x->pass + 1, x->t->pass_count,
					   machine_pass(x)->title, judge_result_name(v->result), *detail ? ": " : "",
					   (int)strcspn(detail, "\n"), detail));
}

int transform_judge(struct transform *x, const struct judge *judge, struct err *e)
{
	if (x->state != TRANSFORM_JUDGE)
		return err_set(e, ERR_CONFLICT, "there is no complete pass to be judged");
	struct judge_verdict v = JUDGE_VERDICT_INIT;
	int rc = 0;
	switch (machine_pass(x)->expect) {
	case TRANSFORMATION_NONE: break;
	case TRANSFORMATION_COMPILES: rc = judge->compile(judge->arg, x->ctx, &v, e); break;
	case TRANSFORMATION_VALID: rc = judge->validate(judge->arg, x->parent, x->ctx, &v, e); break;
	}
	if (rc < 0)
		return rc;
	note_verdict(x, &v);
	rc = v.result == JUDGE_PASS ? machine_next_pass(x, e) : repair(x, &v, e);
	judge_verdict_fini(&v);
	return rc;
}

int transform_take_over(struct transform *x, const struct context *ctx, struct err *e)
{
	if (x->state == TRANSFORM_DONE)
		return err_set(e, ERR_CONFLICT, "transformation %s is done; edit its checkpoint instead", x->t->name);
	if (strcmp(context_backend(ctx), context_backend(x->parent)) != 0)
		return err_set(e, ERR_INPUT, "the context is for %s, and the transformation runs on %s",
			       context_backend(ctx), context_backend(x->parent));
	machine_set_context(&x->ctx, context_ref(ctx));
	x->repairing = false;
	x->step = (unsigned)machine_pass(x)->step_count - 1;
	for (unsigned s = 0; s < machine_pass(x)->step_count; s++) { /* repairs need a conversation to go on in */
		if (!x->talks[s].count && machine_needs_model(x, s))
			prompt_start(&x->talks[s], x->t, x->pass, s, x->ctx, x->has_facts ? &x->facts : NULL);
	}
	machine_set_text(&x->last, mem_fmt("pass %u of %zu: finished by hand", x->pass + 1, x->t->pass_count));
	machine_set_state(x, TRANSFORM_JUDGE);
	return 0;
}

/* --- keeping
 * ---------------------------------------------------------------------------------------------------------- */

void transform_save(const struct transform *x, struct buf *out)
{
	saved_write(x, out);
}

int transform_load(const char *text, size_t len, const struct facts *facts, struct transform **ret_x, struct err *e)
{
	return saved_read(text, len, facts, ret_x, e);
}

/* --- the loop
 * --------------------------------------------------------------------------------------------------------- */

static int ask(struct transform *x, const struct model *model, const struct transform_watch *watch,
	       const atomic_bool *cancel, struct err *e)
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

int transform_run(struct transform *x, const struct model *model, const struct judge *judge,
		  const struct transform_watch *watch, const atomic_bool *cancel, struct err *e)
{
	for (;;) {
		int rc = 0;
		if (cancel && atomic_load(cancel) && x->state != TRANSFORM_DONE)
			return err_set(e, ERR_CANCELLED, "transformation %s was cancelled in pass %u", x->t->name,
				       x->pass + 1);
		switch (x->state) {
		case TRANSFORM_ASK: rc = ask(x, model, watch, cancel, e); break;
		case TRANSFORM_JUDGE:
			rc = transform_judge(x, judge, e);
			if (rc == 0 && watch && watch->judged)
				rc = watch->judged(watch->arg, x, e);
			break;
		case TRANSFORM_DONE: return 0;
		case TRANSFORM_STUCK: return err_set(e, ERR_MODEL, "transformation %s: %s", x->t->name, x->last);
		}
		if (rc < 0)
			return rc;
	}
}
