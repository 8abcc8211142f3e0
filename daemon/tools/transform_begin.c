/* transform_begin: the client is the model. It gets the question of a new transformation, or of a half-done one that it
 * takes over; the row that transform_submit continues is written here. */
#include "daemon/tools/tools.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/record/lineage.h"
#include "core/transform/saved.h"
#include "core/workers/pool.h"

static int begin(struct mcp_call *call, struct db *db, struct transform **ret_x, struct err *e)
{
	struct lineage l;
	struct transformation *t = NULL;
	struct facts facts;
	int64_t checkpoint;
	char *workflow = NULL, *profile = NULL;
	if (tools_text(call, "transformation") == NULL)
		return err_set(e, ERR_INPUT, "transformation: give a name (see transformations) or a sentence");
	int rc = tools_at(call, db, &checkpoint, &workflow, e);
	if (rc == 0)
		rc = lineage_load(db, checkpoint, &l, e);
	if (rc < 0) {
		free(workflow);
		return rc;
	}
	rc = work_device(&tools_app(call)->work, tools_text(call, "device"), context_backend(l.ctx), &facts, e);
	if (rc == 0)
		rc = library_find_or_text(tools_app(call)->work.library, tools_text(call, "transformation"), &t, e);
	if (rc == 0)
		rc = work_known_text(&tools_app(call)->work, db,
				     &(struct work_known){ .l = &l, .facts = &facts, .applying = t->name }, &profile, e);
	const struct transform_start start = { .t = t,
					       .parent = l.ctx,
					       .facts = &facts,
					       .profile = profile,
					       .applied = (const char *const *)l.applied,
					       .applied_count = l.applied_count };
	if (rc == 0)
		rc = transform_new(&start, ret_x, e);
	if (rc == 0) {
		(*ret_x)->parent_id = l.id;
		(*ret_x)->workflow = workflow;
		workflow = NULL;
	}
	free(workflow);
	free(profile);
	transformation_free(t);
	lineage_fini(&l);
	return rc;
}

static int take_over(struct mcp_call *call, struct db *db, const char *id, struct transform **ret_x, struct err *e)
{
	struct transform *x;
	if (tools_text(call, "transformation") || tools_text(call, "at"))
		return err_set(e, ERR_INPUT, "pending: this transformation has begun already: leave at and transformation out");
	int rc = saved_take(db, id, NULL, &x, e);
	if (rc < 0)
		return rc;
	rc = work_device(&tools_app(call)->work, tools_text(call, "device"), context_backend(x->parent), &x->facts, e);
	x->has_facts = rc == 0;
	if (rc == 0 && x->state == TRANSFORM_STUCK)
		rc = transform_reopen(x, false, e);
	if (rc == 0 && x->state == TRANSFORM_JUDGE)
		rc = err_set(e, ERR_CONFLICT,
			     "the pass is complete and waits for its verdict: transform with pending=%s has it judged", id);
	if (rc < 0)
		transform_free(x);
	else
		*ret_x = x;
	return rc;
}

/* Text alone: the prompt is for whoever answers it, and travels once. */
static const struct mcp_done *show(struct mcp_call *call, const struct transform *x)
{
	struct buf text = BUF_INIT;
	if (x->state == TRANSFORM_ASK) {
		buf_addf(&text, "pending %s: %s, pass %u of %zu, step %u, region %s. Answer with transform_submit.\n\n", x->id,
			 x->t->name, x->pass + 1, x->t->pass_count, x->step + 1, context_region_name(transform_region(x)));
		prompt_render(transform_prompt(x), &text);
	} else {
		buf_addf(&text, "pending %s: there is nothing to answer. transform with pending=%s has it judged.", x->id, x->id);
	}
	const struct mcp_done *done = tools_say(call, buf_text(&text));
	buf_fini(&text);
	return done;
}

static const struct mcp_done *call_with(struct mcp_call *call, struct db *db)
{
	struct err e = ERR_INIT;
	struct transform *x = NULL;
	const char *pending = tools_text(call, "pending");
	int rc = pending ? take_over(call, db, pending, &x, &e) : begin(call, db, &x, &e);
	if (rc == 0)
		rc = saved_keep(db, x, NULL, &e);
	const struct mcp_done *done = rc < 0 ? tools_refuse(call, &e) : show(call, x);
	transform_free(x);
	return done;
}

const struct tool tool_transform_begin = {
	.name = "transform_begin",
	.title = "Apply a transformation yourself",
	.description = "Begin a transformation in which you are the model, or take over a half-done one (`pending`). Answers with "
		       "the prompt (rules, transformation, region) and an id. Next: write the new region, call transform_submit.",
	.set = "transform",
	.flags = 0,
	.answer = call_with,
};
