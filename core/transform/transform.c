/* transform: see transform.h. A pass goes through its steps, each a conversation of its own; then it is judged, and what
 * is wrong goes back into the conversation of the step that can mend it. */
#include "core/transform/transform.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/transform/feedback.h"
#include "core/transform/fields.h"

struct transform {
	struct transformation *t;
	struct context *parent, *ctx;
	struct context *start;      /* what the pass started from, its new parameters included: fresh samples go back to it */
	struct facts facts;
	bool has_facts;
	struct transform_limits limits;
	enum transform_state state;
	unsigned pass, step;        /* from 0 */
	unsigned sample;            /* of this pass, from 1 */
	unsigned compile_repairs, wrong_repairs, malformed; /* of this sample */
	bool repairing;             /* the answer that is waited for mends a judged pass */
	unsigned attempts[REGION_COUNT]; /* of each step of this pass, over all samples */
	struct prompt talks[REGION_COUNT]; /* the conversation of each step of this pass */
	unsigned asked, repairs;    /* over the whole run */
	char *last, *feedback;
};

/* --- small things ----------------------------------------------------------------------------------------------------- */

static void set_text(char **to, char *take_text)
{
	free(*to);
	*to = take_text;
}

static void set_context(struct context **to, struct context *take_ctx)
{
	context_free(*to);
	*to = take_ctx;
}

static const struct transformation_pass *pass_now(const struct transform *x)
{
	return &x->t->passes[x->pass];
}

static const struct transformation_step *step_now(const struct transform *x)
{
	return &pass_now(x)->steps[x->step];
}

/* Every change of state goes through here; the table lists the allowed ones. */
static void set_state(struct transform *x, enum transform_state to)
{
	static const unsigned allowed[] = {
		[TRANSFORM_ASK] = 1u << TRANSFORM_ASK | 1u << TRANSFORM_JUDGE | 1u << TRANSFORM_STUCK | 1u << TRANSFORM_DONE,
		[TRANSFORM_JUDGE] = 1u << TRANSFORM_ASK | 1u << TRANSFORM_JUDGE | 1u << TRANSFORM_STUCK | 1u << TRANSFORM_DONE,
		[TRANSFORM_DONE] = 0,
		[TRANSFORM_STUCK] = 1u << TRANSFORM_JUDGE,
	};
	if (!(allowed[x->state] & 1u << to))
		abort();
	x->state = to;
}

static bool needs_model(const struct transform *x, unsigned step)
{
	char *text = transformation_text_for(pass_now(x)->steps[step].text, context_backend(x->parent));
	bool needs = text[strspn(text, " \t\r\n")] != '\0';
	free(text);
	return needs;
}

static void clear_talks(struct transform *x)
{
	for (int i = 0; i < REGION_COUNT; i++)
		prompt_fini(&x->talks[i]);
}

/* --- moving through a pass -------------------------------------------------------------------------------------------- */

/* Code that is inserted by hand: macros behind those that are there, everything else in front. Once only. */
static int insert_code(struct transform *x, struct err *e)
{
	const char *code = transformation_insert_for(step_now(x), context_backend(x->ctx));
	enum region region = step_now(x)->region;
	const char *before = context_region(x->ctx, region);
	if (!code || strstr(before, code))
		return 0;
	bool behind = region == REGION_MACROS;
	char *text = mem_fmt("%s%s%s", behind ? before : code, *before ? "\n" : "", behind ? code : before);
	struct context *ctx;
	int rc = context_with_region(x->ctx, region, text, &ctx, e);
	free(text);
	if (rc < 0)
		return err_wrap(e, "%s, pass %u: inserting code", x->t->name, x->pass + 1);
	set_context(&x->ctx, ctx);
	return 0;
}

static int begin_pass(struct transform *x, struct err *e);

static int next_pass(struct transform *x, struct err *e)
{
	if (x->pass + 1 == x->t->pass_count) {
		set_state(x, TRANSFORM_DONE);
		return 0;
	}
	x->pass++;
	int rc = begin_pass(x, e);
	if (rc < 0) {
		x->pass--; /* stands before its verdict again */
		set_state(x, TRANSFORM_JUDGE);
	}
	return rc;
}

/* From the step that x->step names on: inserts by hand until a step needs the model, or the pass is complete. */
static int go_on(struct transform *x, struct err *e)
{
	for (; x->step < pass_now(x)->step_count; x->step++) {
		int rc = insert_code(x, e);
		if (rc < 0)
			return rc;
		if (needs_model(x, x->step)) {
			prompt_fini(&x->talks[x->step]);
			prompt_start(&x->talks[x->step], x->t, x->pass, x->step, x->ctx, x->has_facts ? &x->facts : NULL);
			set_state(x, TRANSFORM_ASK);
			return 0;
		}
	}
	x->step = (unsigned)pass_now(x)->step_count - 1;
	if (pass_now(x)->expect == TRANSFORMATION_NONE)
		return next_pass(x, e);
	set_state(x, TRANSFORM_JUDGE);
	return 0;
}

/* True for the pass that brings the last parameters: constraints come with it, when all that they mention is there. */
static bool brings_where(const struct transform *x)
{
	size_t last = 0;
	for (size_t p = 0; p < x->t->pass_count; p++) {
		if (x->t->passes[p].add_count)
			last = p;
	}
	return x->pass == last;
}

static const char *values_of(const struct transformation *t, const char *name)
{
	for (size_t i = 0; i < t->param_count; i++) {
		if (strcmp(t->params[i].name, name) == 0)
			return t->params[i].values;
	}
	return "";
}

/* What the transformation's front matter changes in the context's, at this pass. */
static int apply_parameters(struct transform *x, struct err *e)
{
	const struct transformation *t = x->t;
	struct context_edit *edits = NULL;
	size_t count = 0;
	for (size_t i = 0; x->pass == 0 && i < t->drop_count; i++)
		*MEM_PUSH(edits, count) = (struct context_edit){ CONTEXT_TUNE_DROP, t->drops[i], NULL };
	for (size_t i = 0; i < pass_now(x)->add_count; i++)
		*MEM_PUSH(edits, count) = (struct context_edit){ CONTEXT_TUNE_SET, pass_now(x)->adds[i],
			values_of(t, pass_now(x)->adds[i]) };
	for (size_t i = 0; brings_where(x) && i < t->where_count; i++)
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

static void begin_sample(struct transform *x)
{
	x->sample++;
	x->step = 0;
	x->compile_repairs = x->wrong_repairs = x->malformed = 0;
	x->repairing = false;
	clear_talks(x);
}

static int begin_pass(struct transform *x, struct err *e)
{
	int rc = apply_parameters(x, e);
	if (rc < 0)
		return rc;
	set_context(&x->start, context_ref(x->ctx));
	x->sample = 0;
	memset(x->attempts, 0, sizeof x->attempts);
	begin_sample(x);
	return go_on(x, e);
}

/* The sample is given up: another one from the pass's start, or the end. */
static int give_up_sample(struct transform *x, struct err *e)
{
	if (x->sample >= x->limits.samples) {
		char *text = mem_fmt("%s\npass %u (%s) was given up after %u samples; finish the half-done pass by hand and go on from it",
		                     x->last, x->pass + 1, pass_now(x)->title, x->sample);
		set_text(&x->last, text);
		set_state(x, TRANSFORM_STUCK);
		return 0;
	}
	set_context(&x->ctx, context_ref(x->start));
	begin_sample(x);
	return go_on(x, e);
}

/* --- making and ending ------------------------------------------------------------------------------------------------ */

static void default_limit(unsigned *value, unsigned other)
{
	if (!*value)
		*value = other;
}

static struct transform *make(struct transformation *take_t, const struct facts *facts, const struct transform_limits *limits)
{
	struct transform *x = MEM_NEW(struct transform);
	x->t = take_t;
	x->has_facts = facts != NULL;
	if (facts)
		x->facts = *facts;
	if (limits)
		x->limits = *limits;
	default_limit(&x->limits.compile_repairs, 3);
	default_limit(&x->limits.wrong_repairs, 2);
	default_limit(&x->limits.malformed, 2);
	default_limit(&x->limits.samples, 2);
	x->last = mem_str("");
	x->feedback = mem_str("");
	return x;
}

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
	struct transform *x = make(copy, facts, limits);
	x->parent = context_ref(parent);
	x->ctx = context_ref(parent);
	rc = begin_pass(x, e);
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
	context_free(x->parent);
	context_free(x->ctx);
	context_free(x->start);
	free(x->last);
	free(x->feedback);
	free(x);
}

/* --- questions -------------------------------------------------------------------------------------------------------- */

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
	struct model_key key = { .context = *context_hash(x->ctx), .pass = x->pass + 1, .step = x->step + 1,
		.attempt = x->attempts[x->step] + 1 };
	strncpy(key.transformation, x->t->name, sizeof key.transformation - 1);
	return key;
}

enum region transform_region(const struct transform *x)
{
	return step_now(x)->region;
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

/* --- answers ---------------------------------------------------------------------------------------------------------- */

static void say(struct transform *x, struct buf *text)
{
	prompt_add(&x->talks[x->step], PROMPT_USER, buf_text(text));
	set_text(&x->feedback, buf_steal(text));
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
	set_text(&x->last, mem_fmt("pass %u of %zu, %s: the answer is of no use (%s): %s", x->pass + 1, x->t->pass_count,
	                           context_region_name(transform_region(x)), reply_outcome_name(reply->outcome),
	                           reply->detail ? reply->detail : ""));
	if (++x->malformed > x->limits.malformed)
		return give_up_sample(x, e);
	struct buf text = BUF_INIT;
	x->repairs++;
	feedback_reply(reply, transform_region(x), context_backend(x->ctx), &text);
	say(x, &text);
	set_state(x, TRANSFORM_ASK);
	return 0;
}

static int take_region(struct transform *x, struct context *take_ctx, struct err *e)
{
	set_context(&x->ctx, take_ctx);
	set_text(&x->last, mem_fmt("pass %u of %zu, %s: a new region", x->pass + 1, x->t->pass_count,
	                           context_region_name(transform_region(x))));
	set_text(&x->feedback, mem_str(""));
	if (x->repairing) {
		x->repairing = false;
		set_state(x, TRANSFORM_JUDGE);
		return 0;
	}
	x->step++;
	return go_on(x, e);
}

int transform_feed(struct transform *x, const char *answer, enum reply_finish finish, enum reply_outcome *ret_outcome,
                   struct err *e)
{
	if (x->state != TRANSFORM_ASK)
		return err_set(e, ERR_CONFLICT, "no answer is waited for: the pass is %s", x->state == TRANSFORM_JUDGE ?
		               "complete and waits to be judged" : x->state == TRANSFORM_DONE ? "done" : "given up; finish it by hand");
	struct reply reply;
	const struct reply_want want = { .region = transform_region(x), .backend = context_backend(x->ctx),
		.before = context_region(x->ctx, transform_region(x)), .host = context_region(x->ctx, REGION_HOST),
		.may_drop_kernels = pass_now(x)->may_drop_kernels, .may_keep = pass_now(x)->may_keep, .may_patch = may_patch(x) };
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

/* --- verdicts --------------------------------------------------------------------------------------------------------- */

/* The step that can mend it: the one whose region the first error is in, else the device step, else the last that has a
 * model. -1 when the pass has none. */
static int step_to_mend(const struct transform *x, const struct judge_verdict *v)
{
	int last = -1, device = -1, named = -1;
	for (unsigned s = 0; s < pass_now(x)->step_count; s++) {
		enum region region = pass_now(x)->steps[s].region;
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

/* Other steps of the pass may have changed their regions since this conversation began. */
static void add_other_regions(const struct transform *x, struct buf *out)
{
	for (unsigned s = 0; s < pass_now(x)->step_count; s++) {
		enum region region = pass_now(x)->steps[s].region;
		if (s == x->step)
			continue;
		buf_addf(out, "\nFor your information, the %s region of this pass is now:\n\n", context_region_name(region));
		prompt_fence(out, prompt_region_fence(region, context_backend(x->ctx)), context_region(x->ctx, region));
	}
}

static int repair(struct transform *x, const struct judge_verdict *v, struct err *e)
{
	bool compile = v->result == JUDGE_COMPILE;
	unsigned *used = compile ? &x->compile_repairs : &x->wrong_repairs;
	int step = step_to_mend(x, v);
	if (step < 0 || *used >= (compile ? x->limits.compile_repairs : x->limits.wrong_repairs))
		return give_up_sample(x, e);
	++*used;
	x->repairs++;
	x->step = (unsigned)step;
	x->repairing = true;
	struct buf text = BUF_INIT;
	feedback_verdict(v, x->ctx, transform_region(x), &text);
	add_other_regions(x, &text);
	say(x, &text);
	set_state(x, TRANSFORM_ASK);
	return 0;
}

static void note_verdict(struct transform *x, const struct judge_verdict *v)
{
	const char *detail = v->summary ? v->summary : v->error_count ? v->errors[0].text : "";
	set_text(&x->last, mem_fmt("pass %u of %zu (%s): %s%s%.*s", x->pass + 1, x->t->pass_count, pass_now(x)->title,
	                           judge_result_name(v->result), *detail ? ": " : "", (int)strcspn(detail, "\n"), detail));
}

int transform_judge(struct transform *x, const struct judge *judge, struct err *e)
{
	if (x->state != TRANSFORM_JUDGE)
		return err_set(e, ERR_CONFLICT, "there is no complete pass to be judged");
	struct judge_verdict v = JUDGE_VERDICT_INIT;
	int rc = 0;
	switch (pass_now(x)->expect) {
	case TRANSFORMATION_NONE: break;
	case TRANSFORMATION_COMPILES: rc = judge->compile(judge->arg, x->ctx, &v, e); break;
	case TRANSFORMATION_VALID: rc = judge->validate(judge->arg, x->parent, x->ctx, &v, e); break;
	}
	if (rc < 0)
		return rc;
	note_verdict(x, &v);
	rc = v.result == JUDGE_PASS ? next_pass(x, e) : repair(x, &v, e);
	judge_verdict_fini(&v);
	return rc;
}

int transform_take_over(struct transform *x, const struct context *ctx, struct err *e)
{
	if (x->state == TRANSFORM_DONE)
		return err_set(e, ERR_CONFLICT, "transformation %s is done; edit its checkpoint instead", x->t->name);
	if (strcmp(context_backend(ctx), context_backend(x->parent)) != 0)
		return err_set(e, ERR_INPUT, "the context is for %s, and the transformation runs on %s", context_backend(ctx),
		               context_backend(x->parent));
	set_context(&x->ctx, context_ref(ctx));
	x->repairing = false;
	x->step = (unsigned)pass_now(x)->step_count - 1;
	for (unsigned s = 0; s < pass_now(x)->step_count; s++) { /* repairs need a conversation to go on in */
		if (!x->talks[s].count && needs_model(x, s))
			prompt_start(&x->talks[s], x->t, x->pass, s, x->ctx, x->has_facts ? &x->facts : NULL);
	}
	set_text(&x->last, mem_fmt("pass %u of %zu: finished by hand", x->pass + 1, x->t->pass_count));
	set_state(x, TRANSFORM_JUDGE);
	return 0;
}

/* --- keeping ---------------------------------------------------------------------------------------------------------- */

static void put_context(struct buf *out, const char *name, const struct context *ctx)
{
	fields_put(out, "file", context_file(ctx));
	fields_put(out, name, context_render(ctx));
}

/* The numbers, in one place for both directions. */
struct number { const char *name; unsigned *at; };
#define NUMBERS(x) { \
	{ "pass", &(x)->pass }, { "step", &(x)->step }, { "sample", &(x)->sample }, { "asked", &(x)->asked }, \
	{ "compile-repairs", &(x)->compile_repairs }, { "wrong-repairs", &(x)->wrong_repairs }, { "malformed", &(x)->malformed }, \
	{ "repairs", &(x)->repairs }, { "limit-compile", &(x)->limits.compile_repairs }, \
	{ "limit-wrong", &(x)->limits.wrong_repairs }, { "limit-malformed", &(x)->limits.malformed }, \
	{ "limit-samples", &(x)->limits.samples }, { "attempts-1", &(x)->attempts[0] }, { "attempts-2", &(x)->attempts[1] }, \
	{ "attempts-3", &(x)->attempts[2] } }

void transform_save(const struct transform *x, struct buf *out)
{
	struct transform copy = *x;
	const struct number numbers[] = NUMBERS(&copy);
	fields_put(out, "peakd-transform", "1");
	fields_put_number(out, "state", (unsigned)x->state);
	fields_put_number(out, "repairing", x->repairing);
	for (size_t i = 0; i < MEM_COUNT(numbers); i++)
		fields_put_number(out, numbers[i].name, *numbers[i].at);
	fields_put(out, "transformation", x->t->source);
	put_context(out, "parent", x->parent);
	put_context(out, "context", x->ctx);
	put_context(out, "start", x->start);
	fields_put(out, "last", x->last);
	fields_put(out, "feedback", x->feedback);
	for (unsigned s = 0; s < REGION_COUNT; s++) {
		for (size_t i = 0; i < x->talks[s].count; i++) {
			fields_put_number(out, "talk", s);
			fields_put(out, prompt_role_name(x->talks[s].turns[i].role), x->talks[s].turns[i].text);
		}
	}
}

static int get_context(const struct fields *f, const char *name, struct context **ret_ctx, struct err *e)
{
	return context_parse(fields_text(f, "file"), fields_text(f, name), ret_ctx, e);
}

static void get_talks(struct transform *x, const struct fields *f)
{
	unsigned talk = 0;
	for (size_t i = 0; i < f->count; i++) {
		const char *name = f->at[i].name;
		if (strcmp(name, "talk") == 0)
			talk = (unsigned)strtoul(f->at[i].text, NULL, 10) % REGION_COUNT;
		for (int role = PROMPT_SYSTEM; role <= PROMPT_ASSISTANT; role++) {
			if (strcmp(name, prompt_role_name((enum prompt_role)role)) == 0)
				prompt_add(&x->talks[talk], (enum prompt_role)role, f->at[i].text);
		}
	}
}

int transform_load(const char *text, size_t len, const struct facts *facts, struct transform **ret_x, struct err *e)
{
	struct fields f;
	struct transformation *t = NULL;
	struct transform *x = NULL;
	int rc = fields_read(text, len, &f, e);
	if (rc < 0)
		return rc;
	if (fields_number(&f, "peakd-transform") != 1)
		rc = err_set(e, ERR_INPUT, "the saved transformation is of another version of peakd; begin it again");
	if (rc == 0)
		rc = transformation_parse(fields_text(&f, "transformation"), "saved transformation", &t, e);
	if (rc < 0)
		goto out;
	x = make(t, facts, NULL);
	const struct number numbers[] = NUMBERS(x);
	for (size_t i = 0; i < MEM_COUNT(numbers); i++)
		*numbers[i].at = fields_number(&f, numbers[i].name);
	x->state = (enum transform_state)fields_number(&f, "state");
	x->repairing = fields_number(&f, "repairing");
	if (x->state > TRANSFORM_STUCK || x->pass >= t->pass_count || x->step >= pass_now(x)->step_count)
		rc = err_set(e, ERR_INPUT, "the saved transformation does not fit itself; begin it again");
	if (rc == 0)
		rc = get_context(&f, "parent", &x->parent, e);
	if (rc == 0)
		rc = get_context(&f, "context", &x->ctx, e);
	if (rc == 0)
		rc = get_context(&f, "start", &x->start, e);
	if (rc < 0)
		goto out;
	set_text(&x->last, mem_str(fields_text(&f, "last")));
	set_text(&x->feedback, mem_str(fields_text(&f, "feedback")));
	get_talks(x, &f);
	*ret_x = x;
	x = NULL;
out:
	transform_free(x);
	fields_fini(&f);
	return rc;
}

/* --- the loop --------------------------------------------------------------------------------------------------------- */

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

int transform_run(struct transform *x, const struct model *model, const struct judge *judge,
                  const struct transform_watch *watch, const atomic_bool *cancel, struct err *e)
{
	for (;;) {
		int rc = 0;
		if (cancel && atomic_load(cancel) && x->state != TRANSFORM_DONE)
			return err_set(e, ERR_CANCELLED, "transformation %s was cancelled in pass %u", x->t->name, x->pass + 1);
		switch (x->state) {
		case TRANSFORM_ASK:
			rc = ask(x, model, watch, cancel, e);
			break;
		case TRANSFORM_JUDGE:
			rc = transform_judge(x, judge, e);
			if (rc == 0 && watch && watch->judged)
				rc = watch->judged(watch->arg, x, e);
			break;
		case TRANSFORM_DONE:
			return 0;
		case TRANSFORM_STUCK:
			return err_set(e, ERR_MODEL, "transformation %s: %s", x->t->name, x->last);
		}
		if (rc < 0)
			return rc;
	}
}
