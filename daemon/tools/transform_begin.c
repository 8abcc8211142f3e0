/* transform_begin: the client is the model: gives it the first prompt and keeps the machine's state in the database. */
#include "daemon/tools/tools.h"

#include <stdlib.h>
#include <string.h>

#include "core/workers/pool.h"
#include "core/record/lineage.h"
#include "core/jobs/work_pending.h"

static int facts_of(struct mcp_call *call, const struct context *ctx, struct facts *ret_facts, struct err *e)
{
	const char *device = tools_text(call, "device");
	int rc = pool_device(tools_app(call)->work.pool, device ? device : context_backend(ctx), ret_facts, e);
	if (rc == 0 && strcmp(ret_facts->backend, context_backend(ctx)) != 0)
		rc = err_set(e, ERR_INPUT, "device %s runs %s code, and this is a %s context", ret_facts->id, ret_facts->backend,
		             context_backend(ctx));
	return rc;
}

static int begin(struct mcp_call *call, struct db *db, const struct lineage *l, const char *workflow, char **ret_id,
                 struct transform **ret_x, struct err *e)
{
	struct transformation *t;
	struct facts facts;
	int rc = facts_of(call, l->ctx, &facts, e);
	if (rc < 0)
		return rc;
	rc = library_find_or_text(tools_app(call)->work.library, tools_text(call, "transformation"), &t, e);
	if (rc < 0)
		return rc;
	rc = transform_new(t, l->ctx, &facts, (const char *const *)l->applied, l->applied_count, NULL, ret_x, e);
	transformation_free(t);
	if (rc < 0)
		return rc;
	rc = work_pending_keep(db, NULL, l->id, workflow, NULL, *ret_x, PENDING_WAITING, ret_id, e);
	if (rc < 0)
		transform_free(*ret_x);
	return rc;
}

static const struct mcp_done *show(struct mcp_call *call, const char *id, const struct transform *x)
{
	struct buf prompt = BUF_INIT;
	const struct transformation *t = transform_transformation(x);
	if (transform_state(x) == TRANSFORM_ASK)
		prompt_render(transform_prompt(x), &prompt);
	json_t *shown = json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:s}", "pending", id, "region",
	                          context_region_name(transform_region(x)), "transformation", t->name, "pass",
	                          (int)transform_pass(x), "passes", (int)t->pass_count, "step", (int)transform_step(x), "prompt",
	                          buf_text(&prompt));
	const struct mcp_done *done = mcp_call_reply(call, shown, "%s\n\n(Answer with transform_submit, pending \"%s\".)",
	                                             buf_text(&prompt), id);
	buf_fini(&prompt);
	return done;
}

static const struct mcp_done *call_with(struct mcp_call *call, struct db *db)
{
	struct err e = ERR_INIT;
	struct lineage l;
	struct transform *x = NULL;
	int64_t checkpoint;
	char *workflow = NULL, *id = NULL;
	const struct mcp_done *done;
	int rc = tools_at(call, db, &checkpoint, &workflow, &e);
	if (rc < 0)
		return tools_refuse(call, &e);
	rc = lineage_load(db, checkpoint, &l, &e);
	if (rc == 0) {
		rc = begin(call, db, &l, workflow, &id, &x, &e);
		lineage_fini(&l);
	}
	if (rc < 0) {
		done = tools_refuse(call, &e);
	} else {
		done = show(call, id, x);
		transform_free(x);
	}
	free(workflow);
	free(id);
	return done;
}

static const struct mcp_done *handler(struct mcp_call *call)
{
	return tools_with_db(call, call_with);
}

const struct tool tool_transform_begin = {
	.name = "transform_begin", .title = "Carry a transformation out yourself",
	.description = "Begin a transformation in which you are the model: answers with the first prompt (rules, transformation, "
	               "region) and an id. Next: write the new region, call transform_submit.",
	.flags = 0, .handler = handler,
};
