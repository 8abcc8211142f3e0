/* machine: see machine.h. */
#include "core/transform/machine.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void machine_set_text(char **to, char *take_text)
{
	free(*to);
	*to = take_text;
}

void machine_set_context(struct context **to, struct context *take_ctx)
{
	context_free(*to);
	*to = take_ctx;
}

const struct transformation_pass *machine_pass(const struct transform *x)
{
	return &x->t->passes[x->pass];
}

const struct transformation_step *machine_step(const struct transform *x)
{
	return &machine_pass(x)->steps[x->step];
}

/* Every change of state goes through here; the table lists the allowed ones. */
void machine_set_state(struct transform *x, enum transform_state to)
{
	static const unsigned allowed[] = {
		[TRANSFORM_ASK] =
			1u << TRANSFORM_ASK | 1u << TRANSFORM_JUDGE | 1u << TRANSFORM_STUCK | 1u << TRANSFORM_DONE,
		[TRANSFORM_JUDGE] =
			1u << TRANSFORM_ASK | 1u << TRANSFORM_JUDGE | 1u << TRANSFORM_STUCK | 1u << TRANSFORM_DONE,
		[TRANSFORM_DONE] = 0,
		[TRANSFORM_STUCK] = 1u << TRANSFORM_JUDGE,
	};
	if (!(allowed[x->state] & 1u << to))
		abort();
	x->state = to;
}

bool machine_needs_model(const struct transform *x, unsigned step)
{
	char *text = transformation_text_for(machine_pass(x)->steps[step].text, context_backend(x->parent));
	bool needs = text[strspn(text, " \t\r\n")] != '\0';
	free(text);
	return needs;
}

void machine_clear_talks(struct transform *x)
{
	for (int i = 0; i < REGION_COUNT; i++)
		prompt_fini(&x->talks[i]);
}

/* Code that is inserted by hand: macros behind those that are there, everything else in front. Once only. */
static int insert_code(struct transform *x, struct err *e)
{
	const char *code = transformation_insert_for(machine_step(x), context_backend(x->ctx));
	enum region region = machine_step(x)->region;
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
	machine_set_context(&x->ctx, ctx);
	return 0;
}

int machine_next_pass(struct transform *x, struct err *e)
{
	if (x->pass + 1 == x->t->pass_count) {
		machine_set_state(x, TRANSFORM_DONE);
		return 0;
	}
	x->pass++;
	int rc = machine_begin_pass(x, e);
	if (rc < 0) {
		x->pass--; /* stands before its verdict again */
		machine_set_state(x, TRANSFORM_JUDGE);
	}
	return rc;
}

/* From the step that x->step names on: inserts by hand until a step needs the model, or the pass is complete. */
int machine_go_on(struct transform *x, struct err *e)
{
	for (; x->step < machine_pass(x)->step_count; x->step++) {
		int rc = insert_code(x, e);
		if (rc < 0)
			return rc;
		if (machine_needs_model(x, x->step)) {
			prompt_fini(&x->talks[x->step]);
			prompt_start(&x->talks[x->step], x->t, x->pass, x->step, x->ctx,
				     x->has_facts ? &x->facts : NULL);
			machine_set_state(x, TRANSFORM_ASK);
			return 0;
		}
	}
	x->step = (unsigned)machine_pass(x)->step_count - 1;
	if (machine_pass(x)->expect == TRANSFORMATION_NONE)
		return machine_next_pass(x, e);
	machine_set_state(x, TRANSFORM_JUDGE);
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
	for (size_t i = 0; i < machine_pass(x)->add_count; i++)
		*MEM_PUSH(edits, count) = (struct context_edit){ CONTEXT_TUNE_SET, machine_pass(x)->adds[i],
								 values_of(t, machine_pass(x)->adds[i]) };
	for (size_t i = 0; brings_where(x) && i < t->where_count; i++)
		*MEM_PUSH(edits, count) = (struct context_edit){ CONTEXT_WHERE_ADD, NULL, t->where[i] };
	for (size_t i = 0; x->pass == 0 && i < t->requires_count; i++)
		*MEM_PUSH(edits, count) = (struct context_edit){ CONTEXT_REQUIRES_ADD, NULL, t->requires[i] };
	struct context *ctx;
	int rc = count ? context_with_tuning(x->ctx, edits, count, &ctx, e) : 0;
	if (rc < 0)
		err_wrap(e, "transformation %s does not fit this context", t->name);
	else if (count)
		machine_set_context(&x->ctx, ctx);
	free(edits);
	return rc;
}

static void begin_sample(struct transform *x)
{
	x->sample++;
	x->step = 0;
	x->compile_repairs = x->wrong_repairs = x->malformed = 0;
	x->repairing = false;
	machine_clear_talks(x);
}

int machine_begin_pass(struct transform *x, struct err *e)
{
	int rc = apply_parameters(x, e);
	if (rc < 0)
		return rc;
	machine_set_context(&x->start, context_ref(x->ctx));
	x->sample = 0;
	memset(x->attempts, 0, sizeof x->attempts);
	begin_sample(x);
	return machine_go_on(x, e);
}

/* The sample is given up: another one from the pass's start, or the end. */
int machine_give_up(struct transform *x, struct err *e)
{
	if (x->sample >= x->limits.samples) {
		char *text = mem_fmt("%s\npass %u (%s) was given up after %u samples; finish the half-done pass by "
				     "hand and go on from it",
				     x->last, x->pass + 1, machine_pass(x)->title, x->sample);
		machine_set_text(&x->last, text);
		machine_set_state(x, TRANSFORM_STUCK);
		return 0;
	}
	machine_set_context(&x->ctx, context_ref(x->start));
	begin_sample(x);
	return machine_go_on(x, e);
}

static void default_limit(unsigned *value, unsigned other)
{
	if (!*value)
		*value = other;
}

struct transform *machine_new(struct transformation *take_t, const struct facts *facts,
			      const struct transform_limits *limits)
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
