/* saved: see saved.h. Conversations are kept turn by turn, so that a repair goes on where it stood. */
#include "core/transform/saved.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/transform/machine.h"
#include "core/transform/pieces.h"

static void put_context(struct buf *out, const char *name, const struct context *ctx)
{
	pieces_put(out, "file", context_file(ctx));
	pieces_put(out, name, context_render(ctx));
}

/* The numbers, in one place for both directions. */
struct number {
	const char *name;
	unsigned *at;
};
#define NUMBERS(x)                                                                                                     \
	{                                                                                                              \
		{ "pass", &(x)->pass }, { "step", &(x)->step }, { "sample", &(x)->sample }, { "asked", &(x)->asked },  \
			{ "compile-repairs", &(x)->compile_repairs }, { "wrong-repairs", &(x)->wrong_repairs },        \
			{ "malformed", &(x)->malformed }, { "repairs", &(x)->repairs },                                \
			{ "limit-compile", &(x)->limits.compile_repairs },                                             \
			{ "limit-wrong", &(x)->limits.wrong_repairs }, { "limit-malformed", &(x)->limits.malformed },  \
			{ "limit-samples", &(x)->limits.samples }, { "attempts-1", &(x)->attempts[0] },                \
			{ "attempts-2", &(x)->attempts[1] },                                                           \
		{                                                                                                      \
			"attempts-3", &(x)->attempts[2]                                                                \
		}                                                                                                      \
	}

void saved_write(const struct transform *x, struct buf *out)
{
	struct transform copy = *x;
	const struct number numbers[] = NUMBERS(&copy);
	pieces_put(out, "peakd-transform", "1");
	pieces_put_number(out, "state", (unsigned)x->state);
	pieces_put_number(out, "repairing", x->repairing);
	for (size_t i = 0; i < MEM_COUNT(numbers); i++)
		pieces_put_number(out, numbers[i].name, *numbers[i].at);
	pieces_put(out, "transformation", x->t->source);
	put_context(out, "parent", x->parent);
	put_context(out, "context", x->ctx);
	put_context(out, "start", x->start);
	pieces_put(out, "last", x->last);
	pieces_put(out, "feedback", x->feedback);
	for (unsigned s = 0; s < REGION_COUNT; s++) {
		for (size_t i = 0; i < x->talks[s].count; i++) {
			pieces_put_number(out, "talk", s);
			pieces_put(out, prompt_role_name(x->talks[s].turns[i].role), x->talks[s].turns[i].text);
		}
	}
}

static int get_context(const struct pieces *f, const char *name, struct context **ret_ctx, struct err *e)
{
	return context_parse(pieces_text(f, "file"), pieces_text(f, name), ret_ctx, e);
}

static void get_talks(struct transform *x, const struct pieces *f)
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

int saved_read(const char *text, size_t len, const struct facts *facts, struct transform **ret_x, struct err *e)
{
	struct pieces f;
	struct transformation *t = NULL;
	struct transform *x = NULL;
	int rc = pieces_read(text, len, &f, e);
	if (rc < 0)
		return rc;
	if (pieces_number(&f, "peakd-transform") != 1)
		rc = err_set(e, ERR_INPUT, "the saved transformation is of another version of peakd; begin it again");
	if (rc == 0)
		rc = transformation_parse(pieces_text(&f, "transformation"), "saved transformation", &t, e);
	if (rc < 0)
		goto out;
	x = machine_new(t, facts, NULL);
	const struct number numbers[] = NUMBERS(x);
	for (size_t i = 0; i < MEM_COUNT(numbers); i++)
		*numbers[i].at = pieces_number(&f, numbers[i].name);
	x->state = (enum transform_state)pieces_number(&f, "state");
	x->repairing = pieces_number(&f, "repairing");
	if (x->state > TRANSFORM_STUCK || x->pass >= t->pass_count || x->step >= machine_pass(x)->step_count)
		rc = err_set(e, ERR_INPUT, "the saved transformation does not fit itself; begin it again");
	if (rc == 0)
		rc = get_context(&f, "parent", &x->parent, e);
	if (rc == 0)
		rc = get_context(&f, "context", &x->ctx, e);
	if (rc == 0)
		rc = get_context(&f, "start", &x->start, e);
	if (rc < 0)
		goto out;
	machine_set_text(&x->last, mem_str(pieces_text(&f, "last")));
	machine_set_text(&x->feedback, mem_str(pieces_text(&f, "feedback")));
	get_talks(x, &f);
	*ret_x = x;
	x = NULL;
out:
	transform_free(x);
	pieces_fini(&f);
	return rc;
}
