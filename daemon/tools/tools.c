/* tools: what tools share, those that only start a job, the table of all tools and the server made of it; see tools.h. */
#include "daemon/tools/tools.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/embedded.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/record/checkpoint.h"
#include "core/record/workflow.h"
#include "core/workers/pool.h"

enum { WAIT_S = 45 }; /* the default, and the most: many clients give up after 60 */

/* --- what tools share --------------------------------------------------------------------------------------------------------- */

struct app *tools_app(const struct mcp_call *call)
{
	return mcp_call_user(call);
}

/* What a person chose for the argument; NULL. */
static const char *chosen(const struct mcp_call *call, const char *name)
{
	const json_t *answer = mcp_call_input(call, name);
	const char *action = json_string_value(json_object_get(answer, "action"));
	return action && strcmp(action, "accept") == 0
		       ? json_string_value(json_object_get(json_object_get(answer, "content"), name))
		       : NULL;
}

const struct mcp_done *tools_choose(struct mcp_call *call, const char *name, const char *message, json_t *take_choices)
{
	/* A client that only opens URLs shows no forms. */
	bool can = mcp_call_client_has(call, "elicitation") &&
		   (mcp_call_client_has(call, "elicitation.form") || !mcp_call_client_has(call, "elicitation.url"));
	if (!can || mcp_call_input(call, name) || json_array_size(take_choices) == 0) {
		json_decref(take_choices);
		return NULL;
	}
	json_t *form = json_pack("{s:s, s:{s:{s:s, s:o}}, s:[s]}", "type", "object", "properties", name, "type", "string", "oneOf",
				 take_choices, "required", name);
	return mcp_call_ask(call,
			    json_pack("{s:{s:s, s:{s:s, s:s, s:o}}}", name, "method", "elicitation/create", "params", "mode",
				      "form", "message", message, "requestedSchema", form),
			    NULL);
}

const char *tools_text(const struct mcp_call *call, const char *key)
{
	const char *choice = chosen(call, key);
	return choice ? choice : json_string_value(json_object_get(mcp_call_arguments(call), key));
}

json_int_t tools_int(const struct mcp_call *call, const char *key, json_int_t or_else)
{
	const json_t *value = json_object_get(mcp_call_arguments(call), key);
	return json_is_integer(value) ? json_integer_value(value)
	       : json_is_real(value)  ? (json_int_t)json_real_value(value)
				      : or_else;
}

int tools_flag(const struct mcp_call *call, const char *key)
{
	return json_is_true(json_object_get(mcp_call_arguments(call), key));
}

const struct mcp_done *tools_say(struct mcp_call *call, const char *text)
{
	return mcp_call_reply(call, NULL, "%s", text);
}

const struct mcp_done *tools_refuse(struct mcp_call *call, const struct err *e)
{
	return mcp_call_refuse(call, "%s", e->text);
}

const struct mcp_done *tools_reply(struct mcp_call *call, const struct db *db, json_t *take_structured, const char *text)
{
	struct err e = ERR_INIT;
	if (store_readable(db, &e) == 0)
		return mcp_call_reply(call, take_structured, "%s", text);
	json_decref(take_structured);
	return tools_refuse(call, &e);
}

const struct mcp_done *tools_with_db(struct mcp_call *call, const struct mcp_done *(*handler)(struct mcp_call *, struct db *))
{
	struct db *db;
	struct err e = ERR_INIT;
	if (store_take(tools_app(call)->work.store, &db, &e) < 0)
		return tools_refuse(call, &e);
	const struct mcp_done *done = handler(call, db);
	store_give(db);
	return done;
}

int tools_at(const struct mcp_call *call, struct db *db, int64_t *ret_checkpoint, char **ret_workflow, struct err *e)
{
	const char *at = tools_text(call, "at");
	struct workflow w;
	struct err ignored = ERR_INIT;
	if (at == NULL)
		return err_set(e, ERR_INPUT, "at: say which checkpoint is meant: a workflow's name, a tag, a number or a hash");
	int rc = workflow_resolve(db, at, ret_checkpoint, e);
	if (rc < 0)
		return err_wrap(e, "at");
	if (ret_workflow) {
		*ret_workflow = NULL;
		if (workflow_get(db, at, &w, &ignored) == 0) {
			*ret_workflow = mem_str(w.name);
			workflow_fini(&w);
		} else {
			*ret_workflow = mem_str("");
		}
	}
	return 0;
}

int tools_other(const struct mcp_call *call, struct db *db, int64_t id, int64_t *ret_other, struct err *e)
{
	const char *with = tools_text(call, "with");
	struct checkpoint c;
	if (with)
		return workflow_resolve(db, with, ret_other, e) < 0 ? err_wrap(e, "with") : 0;
	int rc = checkpoint_get(db, id, &c, e);
	if (rc < 0)
		return rc;
	rc = c.parent_count ? 0
			    : err_set(e, ERR_INPUT, "with: checkpoint %lld is a baseline and has no parent: name the other one",
				      (long long)id);
	*ret_other = c.parent_count ? c.parents[0] : 0;
	checkpoint_fini(&c);
	return rc;
}

/* Arguments that name a checkpoint become its number. */
static int resolve(const struct mcp_call *call, struct db *db, const char *name, json_t *request, struct err *e)
{
	int64_t checkpoint;
	if (tools_text(call, name) == NULL)
		return 0;
	if (workflow_resolve(db, tools_text(call, name), &checkpoint, e) < 0)
		return err_wrap(e, "%s", name);
	return json_object_set_new(request, name, json_integer(checkpoint));
}

/* "parent" is the first parent of `checkpoint`, or nothing where that is a root. */
static int resolve_against(const struct mcp_call *call, struct db *db, int64_t checkpoint, json_t *request, struct err *e)
{
	struct checkpoint c;
	const char *against = tools_text(call, "against");
	if (against == NULL || strcmp(against, "parent") != 0)
		return resolve(call, db, "against", request, e);
	int rc = checkpoint_get(db, checkpoint, &c, e);
	if (rc < 0)
		return rc;
	json_object_set_new(request, "against", json_integer(c.parent_count ? c.parents[0] : 0));
	checkpoint_fini(&c);
	return 0;
}

int tools_beside_pytorch(const struct mcp_call *call)
{
	const char *b = tools_text(call, "b");
	return b && strcmp(b, work_pytorch.name) == 0;
}

/* The kind's request from the arguments: `at` becomes a checkpoint and the workflow to advance. */
static int request_of(const struct mcp_call *call, struct db *db, const struct engine_kind *kind, void *request,
		      int64_t *ret_subject, struct err *e)
{
	json_t *json = json_copy((json_t *)mcp_call_arguments(call));
	char *workflow = NULL;
	int64_t checkpoint;
	if (chosen(call, "device"))
		json_object_set_new(json, "device", json_string(chosen(call, "device")));
	int rc = resolve(call, db, "a", json, e);
	*ret_subject = rc == 0 ? json_integer_value(json_object_get(json, "a")) : 0;
	if (rc == 0 && kind == &work_pytorch)
		rc = json_object_set(json, "checkpoint", json_object_get(json, "a"));
	else if (rc == 0)
		rc = resolve(call, db, "b", json, e);
	if (rc == 0 && tools_text(call, "at")) {
		rc = tools_at(call, db, &checkpoint, &workflow, e);
		if (rc == 0) {
			*ret_subject = checkpoint;
			json_object_set_new(json, "checkpoint", json_integer(checkpoint));
			json_object_set_new(json, "workflow", json_string(workflow));
			rc = resolve_against(call, db, checkpoint, json, e);
		}
	}
	if (rc == 0)
		rc = layout_read(kind->request, json, request, e);
	free(workflow);
	json_decref(json);
	return rc;
}

char *tools_page(const struct mcp_call *call, const char *text)
{
	size_t len = strlen(text), from = (size_t)tools_int(call, "from", 0),
	       max = (size_t)tools_int(call, "limit", TOOLS_TEXT_MAX);
	from = utf8_fit(text, from);
	size_t n = utf8_fit(text + from, max);
	if (from + n == len)
		return mem_str(text + from);
	const char *line = memrchr(text + from, '\n', n);
	if (line)
		n = (size_t)(line + 1 - (text + from));
	return mem_fmt("%.*s\n[bytes %zu to %zu of %zu; continue with from=%zu, or ask for more with limit]\n", (int)n, text + from,
		       from, from + n, len, from + n);
}

static const struct mcp_done *answer_job(struct app *app, struct db *db, struct mcp_call *call, const struct job *job)
{
	char *text = NULL;
	(void)app;
	json_t *shown = tools_show_job(db, job, &text);
	const struct mcp_done *done =
		job->state == JOB_FAILED ? mcp_call_refuse_with(call, shown, text) : tools_reply(call, db, shown, text);
	free(text);
	return done;
}

static int64_t patience(const struct mcp_call *call)
{
	const json_t *value = json_object_get(mcp_call_arguments(call), "wait_s");
	double seconds = json_is_number(value) ? json_number_value(value) : WAIT_S;
	if (seconds > WAIT_S)
		seconds = WAIT_S;
	return clock_now() + (int64_t)(seconds * 1e9);
}

const struct mcp_done *tools_wait(struct mcp_call *call, const char *job, int64_t after, int fresh)
{
	return notify_wait(tools_app(call)->notify, call, job, after, patience(call), fresh, answer_job);
}

static const struct mcp_done *answer_now(struct mcp_call *call, struct db *db, const char *id)
{
	struct job job;
	struct err e = ERR_INIT;
	if (job_get(db, id, &job, &e) < 0)
		return tools_refuse(call, &e);
	const struct mcp_done *done = answer_job(tools_app(call), db, call, &job);
	job_fini(&job);
	return done;
}

/* The request's traceparent, if it is one: "00-", 32, 16 and 2 hexadecimal digits. It becomes a header. */
static const char *trace_of(const struct mcp_call *call)
{
	static const char form[] = "hh-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh-hhhhhhhhhhhhhhhh-hh";
	const char *text = mcp_call_meta(call, "traceparent");
	if (text == NULL || strlen(text) != sizeof form - 1)
		return NULL;
	for (size_t i = 0; form[i]; i++)
		if (form[i] == 'h' ? strchr("0123456789abcdef", text[i]) == NULL : text[i] != form[i])
			return NULL;
	return text;
}

/* Where the device that the call names is not here, a person may choose another one of its backend. */
static const struct mcp_done *ask_device(struct mcp_call *call, const struct err *why)
{
	struct pool *pool = tools_app(call)->work.pool;
	const char *named = tools_text(call, "device");
	struct facts *all = NULL;
	size_t count = 0;
	char *notes = NULL;
	struct err e = ERR_INIT;
	if (named == NULL || why->code != ERR_NOT_FOUND || pool_devices(pool, &all, &count, &notes, &e) < 0)
		return NULL;
	json_t *choices = json_array();
	for (size_t i = 0; i < count; i++)
		if (all[i].runs && pool_is_of_backend(named, all[i].backend))
			json_array_append_new(choices, json_pack("{s:s, s:s}", "const", all[i].id, "title", all[i].name));
	free(all);
	free(notes);
	return tools_choose(call, "device", why->text, choices);
}

/* subject: the checkpoint that the job is about; 0: none */
static const struct mcp_done *start(struct mcp_call *call, struct db *db, const struct engine_kind *kind, const void *request,
				    int64_t subject)
{
	struct app *app = tools_app(call);
	struct err e = ERR_INIT;
	char *id = NULL;
	bool later = tools_flag(call, "later"), fresh;
	const struct mcp_done *done;
	int rc = subject > 0 ? tools_check(call, db, subject, &e) : 0;
	struct engine_submission submission = { kind->name, request, tools_flag(call, "resume") && !later, trace_of(call) };
	if (rc == 0)
		rc = engine_submit(app->engine, db, &submission, &id, &fresh, &e);
	if (rc < 0) {
		done = ask_device(call, &e);
		return done ? done : tools_refuse(call, &e);
	}
	if (later)
		done = answer_now(call, db, id);
	else if (mcp_call_client_has_tasks(call))
		done = mcp_call_task(call, id);
	else
		done = tools_wait(call, id, fresh ? 0 : -1, fresh);
	free(id);
	return done;
}

const struct mcp_done *tools_start(struct mcp_call *call, const char *name)
{
	const struct engine_kind *kind = work_kind(name);
	struct db *db;
	struct err e = ERR_INIT;
	if (store_take(tools_app(call)->work.store, &db, &e) < 0)
		return tools_refuse(call, &e);
	void *request = layout_new(kind->request);
	int64_t subject;
	int rc = request_of(call, db, kind, request, &subject, &e);
	const struct mcp_done *done = rc < 0 ? tools_refuse(call, &e) : start(call, db, kind, request, subject);
	layout_free(kind->request, request);
	store_give(db);
	return done;
}

/* --- tools that do nothing but start the job of their name -------------------------------------------------------------------- */

static const struct tool tool_validate = {
	.name = "validate",
	.title = "Validate a checkpoint",
	.kind = "validate",
	.set = "measure",
	.description = "Check a checkpoint's outputs against its baseline's, with secret inputs. "
		       "Answers passed, or the first mismatches, or a job id (then: job wait). A failure refutes it. "
		       "Next: tune, or edit.",
	.flags = MCP_TOOL_IDEMPOTENT,
};

static const struct tool tool_tune = {
	.name = "tune",
	.title = "Tune a checkpoint",
	.kind = "tune",
	.set = "measure",
	.description =
		"Find a checkpoint's fastest tuning parameters: checks every variant that it times, validates the "
		"winner, times it in pairs with baseline and parent. Answers with best time, configuration and speed-up, or a job "
		"id (then: job wait). Next: profile.",
	.flags = MCP_TOOL_IDEMPOTENT,
};

/* B is a checkpoint, or PyTorch. */
static const struct mcp_done *compare(struct mcp_call *call)
{
	bool pytorch = tools_beside_pytorch(call);
	if (tools_flag(call, "later") && !pytorch)
		return mcp_call_refuse(call, "later: only a comparison with pytorch is kept for another machine");
	if (pytorch && (tools_flag(call, "warm") || tools_text(call, "objective")))
		return mcp_call_refuse(call, "b: with pytorch only cold times are compared: leave warm and objective out");
	return tools_start(call, pytorch ? work_pytorch.name : work_compare.name);
}

static const struct tool tool_compare = {
	.name = "compare",
	.title = "Compare two checkpoints",
	.kind = "compare",
	.set = "measure",
	.description = "Times two in pairs, each at its best. Answers per size with a verdict on B: faster, slower, same, unclear, "
		       "and how many times as fast. Next: profile, or transform.",
	.flags = MCP_TOOL_IDEMPOTENT,
	.handler = compare,
};

static const struct tool tool_profile = {
	.name = "profile",
	.title = "Profile a checkpoint",
	.kind = "profile",
	.set = "measure",
	.description = "What limits its best configuration, and what to try? Answers with the class, guidance (most promising "
		       "first), times, percent of ceilings and library. Next: edit (keep: faster), or transform.",
	.flags = MCP_TOOL_IDEMPOTENT,
};

/* --- the server -----------------------------------------------------------------------------------------------------------------
 */

/* In the order in which clients show them: the order of the work. */
static const struct tool *const table[] = {
	&tool_context_create,
	&tool_draft,
	&tool_transformations,
	&tool_transform,
	&tool_transform_begin,
	&tool_transform_submit,
	&tool_edit,
	&tool_validate,
	&tool_tune,
	&tool_compare,
	&tool_profile,
	&tool_optimize,
	&tool_workflow,
	&tool_workflow_change,
	&tool_job,
	&tool_job_control,
	&tool_read,
	&tool_devices,
};

/* Of a tool that brings no handler. */
static const struct mcp_done *handle(struct mcp_call *call)
{
	size_t i = 0;
	while (strcmp(table[i]->name, mcp_call_name(call)) != 0)
		i++;
	return table[i]->answer ? tools_with_db(call, table[i]->answer) : tools_start(call, table[i]->kind);
}

static const char instructions[] =
	"peakd makes GPU kernels faster step by step, and validates each step. Begin with context_create (a kernel with its "
	"launch code, input sizes and tuning parameters as one Markdown text) and tune it as the baseline. Then loop: profile "
	"says what limits the head and what to try. `edit` with keep: faster tries your change in one call. It is validated, "
	"tuned, timed in pairs with the head, and kept or taken back. Send only what changes. The prompt optimize-step is this "
	"loop in full. `transformations` lists changes that others wrote: transform lets a configured model apply one, "
	"transform_begin and transform_submit let you. Every accepted step is a checkpoint: workflow log shows times and "
	"speed-ups, workflow_change restore goes back. Work that takes longer than a call may wait answers with a job id: job "
	"with action wait. No figure is quoted that was not validated.";

enum { TOOLS = MEM_COUNT(table) };

/* A file of schema/, which is compiled in; NULL when there is none. free() */
static char *schema_file(const char *tool, const char *which)
{
	char *path = mem_fmt("schema/%s.%s.json", tool, which), *text = mem_str(embedded_file(path));
	free(path);
	return text;
}

/* Of a tool that starts a job it is made from the layout of the job's result. */
static char *output_schema(const struct tool *t)
{
	if (t->kind == NULL)
		return schema_file(t->name, "output");
	json_t *schema = tools_show_schema(work_kind(t->kind));
	char *text = json_dumps(schema, JSON_COMPACT);
	json_decref(schema);
	return text;
}

static void listened(void *user)
{
	struct app *app = user;
	notify_listened(app->notify, app->mcp);
}

/* ERR_INPUT for a toolset that no tool is in. */
static int check_sets(const char *const *sets, struct err *e)
{
	for (; sets && *sets; sets++) {
		size_t i = 0;
		while (i < TOOLS && (table[i]->set == NULL || strcmp(table[i]->set, *sets) != 0))
			i++;
		if (i == TOOLS)
			return err_set(
				e, ERR_INPUT,
				"there is no toolset '%s': write create, transform, measure, optimize or manage; tools that only "
				"read are always offered",
				*sets);
	}
	return 0;
}

static bool is_offered(const struct tool *t, const struct app_config *config)
{
	if (t->flags & MCP_TOOL_READ_ONLY)
		return true;
	bool wanted = config->sets == NULL || *config->sets == NULL;
	for (const char *const *set = config->sets; set && *set && !wanted; set++)
		wanted = strcmp(*set, t->set) == 0;
	return wanted && !config->read_only;
}

int tools_server(struct app *app, const struct app_config *wanted, struct mcp_server **ret_server, struct err *e)
{
	int rc = check_sets(wanted->sets, e);
	if (rc < 0)
		return rc;
	/* The server keeps pointers into this for its life, which is the app's. */
	struct mcp_tool *tools = app->tools = MEM_NEW_N(struct mcp_tool, TOOLS + 1);
	for (size_t i = 0, n = 0; i < TOOLS; i++) {
		const struct tool *t = table[i];
		if (!is_offered(t, wanted))
			continue;
		tools[n++] = (struct mcp_tool){
			.name = t->name,
			.title = t->title,
			.description = t->description,
			.flags = t->flags,
			.input_schema = schema_file(t->name, "input"),
			.output_schema = output_schema(t),
			.ui = t->ui,
			.handler = t->handler ? t->handler : handle,
		};
	}
	struct mcp_server_config config = {
		.name = "peakd",
		.title = "peakd",
		.version = PEAKD_VERSION,
		.website = "https://github.com/peakd/peakd",
		/* <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#d95f26" d="M1 14 6 3l3 6 2-3 4
		   8z"/></svg> */
		.icon = "data:image/svg+xml;base64,"
			"PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9IjAgMCAxNiAxNiI+"
			"PHBhdGggZmlsbD0iI2Q5NWYyNiIgZD0i"
			"TTEgMTQgNiAzbDMgNiAyLTMgNCA4eiIvPjwvc3ZnPg==",
		.missing_tools = wanted->read_only               ? "this daemon only reads (--read-only)"
				 : wanted->sets && *wanted->sets ? "this daemon offers a part of its tools (--toolset)"
								 : NULL,
		.instructions = instructions,
		.user = app,
		.tools = tools,
		.resources = resources_table,
		.templates = resources_templates,
		.list_resources = resources_list,
		.prompts = prompts_table,
		.complete = resources_complete,
		.tasks = wanted->read_only ? NULL : &tasks_hooks,
		.listened = listened,
		.logging = 1,
		.list_changed = 1,
		.threads = 8,
	};
	return mcp_server_new(&config, ret_server, e);
}

void tools_free(struct app *app)
{
	for (size_t i = 0; app->tools && app->tools[i].name; i++) {
		free((char *)app->tools[i].input_schema);
		free((char *)app->tools[i].output_schema);
	}
	free(app->tools);
	app->tools = NULL;
}
