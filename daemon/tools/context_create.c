/* context_create: a context becomes the baseline of a workflow. */
#include "daemon/tools/tools.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/context/domain.h"
#include "core/record/checkpoint.h"
#include "core/record/workflow.h"

enum { SIZES_SHOWN = 16 };

/* One transaction: the checkpoint and the workflow that begins with it. */
static int store_root(struct db *db, const struct context *ctx, const char *name, int64_t *ret_checkpoint, bool *ret_existed,
		      struct err *e)
{
	struct checkpoint c = {
		.kernel = context_kernel(ctx), .backend = context_backend(ctx), .by = "root", .status = CHECKPOINT_DRAFT
	};
	struct workflow w;
	struct err ignored = ERR_INIT;
	char *canonical = context_canonical(ctx);
	int rc = store_begin(db, e);
	if (rc == 0) {
		rc = checkpoint_add(db, &c, canonical, ret_checkpoint, e);
		*ret_existed = rc == 0 && workflow_get(db, name, &w, &ignored) == 0;
		if (*ret_existed) {
			/* The same context under the same name again is not a mistake: the workflow exists. */
			bool same = w.root == *ret_checkpoint;
			workflow_fini(&w);
			rc = same ? 0 : workflow_create(db, name, *ret_checkpoint, e);
		} else if (rc >= 0) {
			rc = workflow_create(db, name, *ret_checkpoint, e);
		}
		rc = store_end(db, rc < 0 ? rc : 0, e);
	}
	free(canonical);
	return rc;
}

static json_t *sizes_json(const struct space *space)
{
	json_t *list = json_array();
	for (size_t i = 0; i < space_size_count(space) && i < SIZES_SHOWN; i++) {
		struct params *size = space_size_at(space, i);
		char *text = params_text(size);
		json_array_append_new(list, json_string(text));
		free(text);
		params_free(size);
	}
	return list;
}

static json_t *tuning_json(const struct context *ctx)
{
	const struct spec *spec = context_spec(ctx);
	json_t *list = json_array();
	for (size_t i = spec->input_count; i < spec->var_count; i++)
		json_array_append_new(list, json_string(spec->vars[i].name));
	return list;
}

/* "C: close (the default for f32)", …: how each output is judged, so that nobody learns it from a refusal. Appends the same to
 * `text`. */
static json_t *outputs_json(const struct context *ctx, struct buf *text)
{
	const struct spec *spec = context_spec(ctx);
	json_t *list = json_array();
	for (size_t i = 0; i < spec->array_count; i++) {
		if (spec->arrays[i].role == PLAN_IN)
			continue;
		char *how = spec_judged_text(spec, &spec->arrays[i]);
		json_array_append_new(list, json_sprintf("%s: %s", spec->arrays[i].name, how));
		buf_addf(text, "%s%s %s", text->len ? ", " : "", spec->arrays[i].name, how);
		free(how);
	}
	return list;
}

/* The database is taken only for as long as it is used. */
static int store(struct app *app, const struct context *ctx, const char *name, int64_t *ret_checkpoint, bool *ret_existed,
		 struct err *e)
{
	struct db *db;
	int rc = store_take(app->work.store, &db, e);
	if (rc < 0)
		return rc;
	rc = store_root(db, ctx, name, ret_checkpoint, ret_existed, e);
	store_give(db);
	return rc;
}

static bool nobody_waits(void *arg)
{
	struct mcp_call *call = arg;
	return mcp_call_cancelled(call) || tools_app(call)->ending;
}

/* A problem that was just imported launches a kernel that does nothing (core/problems/import.py). */
static bool has_kernel(const struct context *ctx)
{
	return !context_oracle(ctx) || !strstr(context_region(ctx, REGION_HOST), "launch(\"empty\"");
}

/* Host code that fails for every input size is refused here: no job could do anything with it. */
static int check(const struct context *ctx, const char *text, const struct space_stop *stop, struct space **ret_space,
		 struct err *e)
{
	struct err mistake = ERR_INIT;
	size_t good;
	int rc = domain_try(ctx, text, NULL, &good, e);
	if (rc == 0)
		rc = space_new_until(ctx, NULL, NULL, stop, ret_space, e);
	if (rc == 0 && domain_try(ctx, text, *ret_space, &good, &mistake) < 0 && good == 0) {
		space_free(*ret_space);
		*e = mistake;
		rc = -mistake.code;
	}
	return rc;
}

static const struct mcp_done *create(struct mcp_call *call, const struct context *ctx)
{
	struct err e = ERR_INIT;
	struct space *space;
	int64_t checkpoint;
	bool existed = false;
	const char *name = tools_text(call, "name");
	const struct space_stop stop = { .wanted = nobody_waits, .arg = call };
	if (name == NULL || *name == '\0')
		name = context_kernel(ctx);
	if (check(ctx, tools_text(call, "source"), &stop, &space, &e) < 0)
		return tools_refuse(call, &e);
	if (store(tools_app(call), ctx, name, &checkpoint, &existed, &e) < 0) {
		space_free(space);
		return tools_refuse(call, &e);
	}
	struct buf judged = BUF_INIT;
	json_t *outputs = outputs_json(ctx, &judged);
	json_t *shown = json_pack("{s:s, s:I, s:s, s:s, s:s, s:o, s:o, s:o, s:I, s:b}", "workflow", name, "checkpoint",
				  (json_int_t)checkpoint, "hash", context_hash(ctx)->hex, "kernel", context_kernel(ctx), "backend",
				  context_backend(ctx), "sizes", sizes_json(space), "tuning", tuning_json(ctx), "outputs", outputs,
				  "space", (json_int_t)space_count(space), "existed", existed);
	const struct mcp_done *done = mcp_call_reply(
		call, shown,
		"workflow %s%s: checkpoint %lld, %s for %s, %zu valid execution "
		"parameters over %zu input size%s. Outputs are judged as follows: %s. Next: "
		"%s.",
		name, existed ? ", which was there already" : "", (long long)checkpoint, context_kernel(ctx), context_backend(ctx),
		space_count(space), space_size_count(space), space_size_count(space) == 1 ? "" : "s", buf_text(&judged),
		has_kernel(ctx) ? "tune it" : "transform it by first-kernel, which writes the kernel that is missing");
	buf_fini(&judged);
	space_free(space);
	mcp_server_list_changed(tools_app(call)->mcp, "resources");
	return done;
}

/* On a thread for slow calls. */
static void run(void *arg)
{
	struct mcp_call *call = arg;
	struct err e = ERR_INIT;
	struct context *ctx;
	const char *file = tools_text(call, "file");
	if (nobody_waits(call)) {
		err_set(&e, ERR_CANCELLED, "the call was cancelled before its turn came");
		mcp_call_was_pending(tools_refuse(call, &e));
	} else if (context_parse(file ? file : "context", tools_text(call, "source"), &ctx, &e) < 0) {
		mcp_call_was_pending(tools_refuse(call, &e));
	} else {
		mcp_call_was_pending(create(call, ctx));
		context_free(ctx);
	}
	mcp_call_unref(call);
}

/* A space may take seconds to enumerate, and the handlers' threads are shared by all calls. */
static const struct mcp_done *handler(struct mcp_call *call)
{
	if (mcp_pool_add(tools_app(call)->slow, run, mcp_call_ref(call), 0) == 0)
		return mcp_call_pending(call);
	struct err e = ERR_INIT;
	err_set(&e, ERR_CONFLICT, "too many contexts are being created; try again in a few seconds");
	mcp_call_unref(call);
	return tools_refuse(call, &e);
}

const struct tool tool_context_create = {
	.name = "context_create",
	.title = "Create a kernel context",
	.description =
		"Start here: give a kernel context as one Markdown text (see peak://docs/context-format). Front matter: kernel, "
		"backend, inputs, tune, where. Fenced blocks: device code, macros, Lua host code. Inputs are tested beyond what "
		"is timed: bound those that may not hold any value (`< n` for an index, `> 0`). Answers with sizes and tuning "
		"space of a new workflow's baseline. Next: validate, tune.",
	.set = "create",
	.flags = MCP_TOOL_IDEMPOTENT,
	.handler = handler,
};
