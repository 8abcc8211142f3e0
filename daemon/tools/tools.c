/* tools: the table of tools, the server made of it, and what tools share; see tools.h. */
#include "daemon/tools/tools.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/workers/pool.h"
#include "core/record/checkpoint.h"
#include "core/record/workflow.h"
#include "daemon/tools/prompts.h"
#include "daemon/tools/resources.h"
#include "daemon/tools/tasks.h"
#include "schema_files.h"

/* In the order in which clients show them: the order of the work. */
static const struct tool *const table[] = {
	&tool_context_create, &tool_draft, &tool_transformations, &tool_transform, &tool_transform_begin, &tool_transform_submit, &tool_edit,
	&tool_validate, &tool_tune, &tool_compare, &tool_profile, &tool_workflow, &tool_job, &tool_devices,
};

static const char instructions[] =
	"peakd makes GPU kernels faster step by step, and proves each step. Begin with context_create (a kernel with its launch code, "
	"input sizes and tuning parameters as one Markdown text), then validate and tune it as the baseline. `transformations` lists what "
	"can be done to it; transform lets a configured model do one, transform_begin and transform_submit let you do it yourself. "
	"Every accepted step is a checkpoint of a workflow: workflow log shows times and speed-ups. Work that takes longer than a call may "
	"wait answers with a job id: call job with action wait. No figure is quoted that was not validated.";

enum { WAIT_S = 20, WAIT_MAX_S = 45, TOOLS = MEM_COUNT(table) };

static const char *schema(const char *tool, const char *which)
{
	char *path = mem_fmt("schema/%s.%s.json", tool, which);
	const char *text = NULL;
	for (const struct schema_file *f = schema_files; f->path; f++)
		if (strcmp(f->path, path) == 0)
			text = f->text;
	free(path);
	return text;
}

static void listened(void *user)
{
	struct app *app = user;
	notify_listened(app->notify, app->mcp);
}

int tools_server(struct app *app, struct mcp_server **ret_server, struct err *e)
{
	/* The server keeps pointers into this for its life, which is the app's. */
	struct mcp_tool *tools = app->tools = MEM_NEW_N(struct mcp_tool, TOOLS + 1);
	for (size_t i = 0; i < TOOLS; i++) {
		const struct tool *t = table[i];
		tools[i] = (struct mcp_tool){
			.name = t->name, .title = t->title, .description = t->description, .flags = t->flags,
			.input_schema = schema(t->name, "input"), .output_schema = schema(t->name, "output"),
			.handler = t->handler,
		};
	}
	struct mcp_server_config config = {
		.name = "peakd", .title = "peakd", .version = PEAKD_VERSION, .instructions = instructions, .user = app,
		.tools = tools, .resources = resources_table, .templates = resources_templates, .list_resources = resources_list,
		.prompts = prompts_table,
		.complete = resources_complete, .tasks = &tasks_hooks, .listened = listened, .list_changed = 1, .threads = 8,
	};
	return mcp_server_new(&config, ret_server, e);
}

struct app *tools_app(const struct mcp_call *call)
{
	return mcp_call_user(call);
}

const char *tools_text(const struct mcp_call *call, const char *key)
{
	return json_string_value(json_object_get(mcp_call_arguments(call), key));
}

json_int_t tools_int(const struct mcp_call *call, const char *key, json_int_t or_else)
{
	const json_t *value = json_object_get(mcp_call_arguments(call), key);
	if (json_is_real(value)) /* 3.0 is an integer to the schemas */
		return (json_int_t)json_real_value(value);
	return json_is_integer(value) ? json_integer_value(value) : or_else;
}

int tools_flag(const struct mcp_call *call, const char *key)
{
	return json_is_true(json_object_get(mcp_call_arguments(call), key));
}

const struct mcp_done *tools_refuse(struct mcp_call *call, const struct err *e)
{
	return mcp_call_refuse(call, "%s", e->text);
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

/* Arguments that name a checkpoint become its number. */
static int resolve(const struct mcp_call *call, struct db *db, const char *name, struct fields *request, struct err *e)
{
	int64_t checkpoint;
	if (tools_text(call, name) == NULL)
		return 0;
	if (workflow_resolve(db, tools_text(call, name), &checkpoint, e) < 0)
		return err_wrap(e, "%s", name);
	fields_setf(request, name, "%lld", (long long)checkpoint);
	return 0;
}

/* Texts become lines, a field each list. */
static void set_lines(struct fields *request, const char *key, const json_t *list)
{
	struct buf lines = BUF_INIT;
	const json_t *x;
	size_t i;
	json_array_foreach(list, i, x)
		buf_addf(&lines, "%s%s", i ? "\n" : "", json_string_value(x));
	fields_set(request, key, buf_text(&lines));
	buf_fini(&lines);
}

/* Every argument but those that concern the call itself becomes a job field; `at` becomes a checkpoint and the workflow to advance. */
static int request_of(const struct mcp_call *call, struct db *db, struct fields *request, struct err *e)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)mcp_call_arguments(call), key, value) {
		if (strcmp(key, "at") == 0 || strcmp(key, "wait_s") == 0)
			continue;
		if (json_is_string(value))
			fields_set(request, key, json_string_value(value));
		else if (json_is_boolean(value))
			fields_set(request, key, json_is_true(value) ? "1" : "0");
		else if (json_is_integer(value)) /* exact: a double has 53 bits only */
			fields_setf(request, key, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		else if (json_is_real(value))
			fields_setf(request, key, "%.15g", json_real_value(value));
		else if (json_is_array(value))
			set_lines(request, key, value);
	}
	int rc = resolve(call, db, "a", request, e);
	if (rc == 0)
		rc = resolve(call, db, "b", request, e);
	if (rc < 0 || tools_text(call, "at") == NULL)
		return rc;
	int64_t checkpoint;
	char *workflow;
	rc = tools_at(call, db, &checkpoint, &workflow, e);
	if (rc < 0)
		return rc;
	fields_setf(request, "checkpoint", "%lld", (long long)checkpoint);
	fields_set(request, "workflow", workflow);
	free(workflow);
	return 0;
}

char *tools_page(const struct mcp_call *call, const char *text)
{
	size_t len = strlen(text), from = (size_t)tools_int(call, "from", 0), max = (size_t)tools_int(call, "limit", TOOLS_TEXT_MAX);
	from = utf8_fit(text, from);
	size_t n = utf8_fit(text + from, max);
	if (from + n == len)
		return mem_str(text + from);
	const char *line = memrchr(text + from, '\n', n);
	if (line)
		n = (size_t)(line + 1 - (text + from));
	return mem_fmt("%.*s\n[bytes %zu to %zu of %zu; go on with from=%zu, or ask for more with limit]\n", (int)n, text + from, from,
	               from + n, len, from + n);
}

static const struct mcp_done *answer_job(struct app *app, struct db *db, struct mcp_call *call, const struct job *job)
{
	char *text = NULL;
	json_t *shown = tools_show_job(app, db, job, &text);
	const struct mcp_done *done = job->state == JOB_FAILED ? mcp_call_refuse_with(call, shown, text)
	                                                       : mcp_call_reply(call, shown, "%s", text);
	free(text);
	return done;
}

static int64_t patience(const struct mcp_call *call)
{
	const json_t *value = json_object_get(mcp_call_arguments(call), "wait_s");
	double seconds = json_is_number(value) ? json_number_value(value) : WAIT_S;
	if (seconds > WAIT_MAX_S)
		seconds = WAIT_MAX_S;
	return clock_now() + (int64_t)(seconds * 1e9);
}

const struct mcp_done *tools_wait(struct mcp_call *call, const char *job, int fresh)
{
	return notify_wait(tools_app(call)->notify, call, job, patience(call), fresh, answer_job);
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

/* What is kept for another machine must be something that a machine could do. */
static int check_later(struct db *db, const struct fields *request, struct err *e)
{
	const char *device = fields_text(request, "device", "");
	struct checkpoint c;
	if (!fields_flag(request, "later") || *device == '\0')
		return 0;
	int rc = checkpoint_get(db, fields_int(request, "checkpoint", 0), &c, e);
	if (rc < 0)
		return rc;
	if (!pool_is_of_backend(device, c.backend))
		rc = err_set(e, ERR_INPUT, "device %s runs no %s code, which checkpoint %lld is", device, c.backend, (long long)c.id);
	checkpoint_fini(&c);
	return rc < 0 ? rc : 0;
}

static const struct mcp_done *start(struct mcp_call *call, struct db *db, const char *kind, const struct fields *request)
{
	struct app *app = tools_app(call);
	struct err e = ERR_INIT;
	char *id = NULL;
	const struct mcp_done *done;
	int rc = check_later(db, request, &e);
	if (rc == 0)
		rc = fields_flag(request, "resume") && !fields_flag(request, "later") ? tools_join(app, db, kind, request, &id, &e) : 0;
	int fresh = id == NULL;
	if (rc == 0 && fresh)
		rc = engine_submit(app->engine, db, kind, request, &id, &e);
	if (rc < 0)
		return tools_refuse(call, &e);
	if (fields_flag(request, "later"))
		done = answer_now(call, db, id);
	else if (mcp_call_client_has_tasks(call))
		done = mcp_call_task(call, id);
	else
		done = tools_wait(call, id, fresh);
	free(id);
	return done;
}

const struct mcp_done *tools_start(struct mcp_call *call, const char *kind)
{
	struct db *db;
	struct fields request = FIELDS_INIT;
	struct err e = ERR_INIT;
	if (store_take(tools_app(call)->work.store, &db, &e) < 0)
		return tools_refuse(call, &e);
	const struct mcp_done *done = request_of(call, db, &request, &e) < 0 ? tools_refuse(call, &e)
	                                                                      : start(call, db, kind, &request);
	fields_fini(&request);
	store_give(db);
	return done;
}
