/* resources: texts behind peak:// addresses, declared in tools.h. */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/record/checkpoint.h"
#include "core/record/event.h"
#include "core/record/job.h"
#include "core/record/workflow.h"
#include "core/transform/models.h"
#include "core/workers/pool.h"
#include "daemon/pages.h"
#include "daemon/tools/part.h"
#include "daemon/tools/tools.h"

/* JOBS_MAX: the newest ones that completion looks through. STABLE_MS: how long clients may keep what changes with an
 * installation only. LOG_MAX, FILE_MAX: checkpoints, and about as many bytes, of one answer to the page. */
enum { JOBS_MAX = 200, STABLE_MS = 3600 * 1000, DOCUMENT_MAX = 16 << 20, LOG_MAX = 100, FILE_MAX = 8 << 20 };

static const char *const part_names[] = { "source", "device",       "host", "macros",      "best",
					  "tuning", "measurements", "t4",   "validations", "exchanges" };

static const struct mcp_done *read_document(struct mcp_call *call)
{
	const char *uri = mcp_call_name(call), *leaf = strrchr(uri, '/');
	char *path = mem_fmt("%s/docs%s.md", tools_app(call)->share, leaf);
	struct buf text = BUF_INIT;
	struct err absent = ERR_INIT;
	const struct mcp_done *done = buf_add_file(&text, path, DOCUMENT_MAX, &absent) == 0
					      ? mcp_call_reply_text(call, "text/markdown", buf_text(&text))
					      : mcp_call_reply_absent(call, "the document is not installed beside this peakd");
	buf_fini(&text);
	free(path);
	return done;
}

char *resources_address(const char *at, const char *part)
{
	struct buf out = BUF_INIT;
	buf_adds(&out, "peak://checkpoint/");
	buf_add_uri(&out, at);
	buf_addf(&out, "/%s", part);
	return buf_steal(&out);
}

/* free() */
static char *decode(const char *text)
{
	struct buf out = BUF_INIT;
	for (const char *c = text; *c; c++) {
		unsigned code;
		if (*c == '%' && isxdigit((unsigned char)c[1]) && isxdigit((unsigned char)c[2]) &&
		    sscanf(c + 1, "%2x", &code) == 1 && code) {
			buf_addc(&out, (char)code);
			c += 2;
		} else {
			buf_addc(&out, *c);
		}
	}
	return buf_steal(&out);
}

static const struct mcp_done *checkpoint_part(struct mcp_call *call, struct db *db)
{
	const char *part = mcp_call_variable(call, "part");
	struct err e = ERR_INIT;
	int64_t id;
	char *text, *at = decode(mcp_call_variable(call, "at"));
	int rc = workflow_resolve(db, at, &id, &e);
	free(at);
	if (rc < 0 || part_text(db, id, part, &text, &e) < 0)
		return mcp_call_reply_absent(call, e.text);
	bool csv = strcmp(part, "measurements") == 0 || strcmp(part, "validations") == 0;
	const struct mcp_done *done = mcp_call_reply_text(call,
							  csv                       ? "text/csv"
							  : strcmp(part, "t4") == 0 ? "application/json"
										    : "text/plain",
							  text);
	free(text);
	return done;
}

static const struct mcp_done *read_checkpoint(struct mcp_call *call)
{
	return tools_with_db(call, checkpoint_part);
}

/* --- what the page shows (daemon/page/) ------------------------------------------------------------------------------------- */

/* Checkpoints of one tree, whose numbers stand in `ids`, as workflow log shows them; NULL: one is not there. free() */
static char *log_text(struct db *db, const char *ids, struct err *e)
{
	struct checkpoint_list log = { .count = 0 };
	while (*ids && log.count < LOG_MAX && e->code == ERR_NONE) {
		struct checkpoint c;
		char *end;
		if (checkpoint_get(db, strtoll(ids, &end, 10), &c, e) == 0)
			*MEM_PUSH(log.at, log.count) = c;
		ids = *end ? end + 1 : end;
	}
	json_t *rows = tools_show_log(db, &log, log.count);
	char *text = e->code == ERR_NONE ? json_dumps(rows, JSON_COMPACT) : NULL;
	json_decref(rows);
	checkpoint_list_fini(&log);
	return text;
}

/* Adds a text by its address; returns its bytes. */
static size_t put(json_t *object, char *take_text, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static size_t put(json_t *object, char *take_text, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *key = mem_fmtv(fmt, ap);
	va_end(ap);
	size_t n = strlen(take_text);
	json_object_set_new(object, key, json_string(take_text));
	free(key);
	free(take_text);
	return n;
}

/* The page as one file with what it would read of a workflow and its newest checkpoints, by address (baked in
 * daemon/page/base.js). */
static char *file_text(struct db *db, const char *name, struct err *e)
{
	static const char *const views[] = { "graph", "exchanges", "decisions", "tries" };
	static const char *const parts[] = { "source", "validations", "measurements", "tuning" };
	json_t *texts = json_object(), *graph, *row;
	struct buf ids = BUF_INIT, file = BUF_INIT;
	char *text, id[24], *log = NULL;
	size_t i, bytes = 0;
	for (size_t v = 0; v < MEM_COUNT(views) && e->code == ERR_NONE; v++)
		if (workflow_view(db, views[v], name, 0, &text, e) == 0)
			bytes += put(texts, text, "peak://page/%s/%s/0", views[v], name);
	text = mem_fmt("peak://page/graph/%s/0", name);
	graph = json_loads(e->code ? "{}" : json_string_value(json_object_get(texts, text)), 0, NULL);
	free(text);
	json_array_foreach(json_object_get(graph, "rows"), i, row)
	{
		struct err none = ERR_INIT;
		int64_t checkpoint = json_integer_value(json_array_get(row, 0));
		if (i == LOG_MAX || bytes > FILE_MAX)
			break;
		snprintf(id, sizeof id, "%lld", (long long)checkpoint);
		buf_addf(&ids, "%s%s", i ? "+" : "", id);
		for (size_t p = 0; p < MEM_COUNT(parts); p++)
			if (part_text(db, checkpoint, parts[p], &text, &none) == 0)
				bytes += put(texts, text, "peak://checkpoint/%s/%s", id, parts[p]);
		if (workflow_view(db, "profiles", id, 0, &text, &none) == 0)
			bytes += put(texts, text, "peak://page/profiles/%s/0", id);
	}
	if (e->code == ERR_NONE && (log = log_text(db, buf_text(&ids), e)) != NULL) {
		json_t *data = json_pack("{s:s, s:I, s:o*, s:O}", "name", name, "made_ms", (json_int_t)clock_wall_ms(), "log",
					 json_loads(log, 0, NULL), "read", texts);
		text = json_dumps(data, JSON_COMPACT);
		pages_whole(text, &file);
		json_decref(data);
		free(text);
	}
	json_decref(graph);
	json_decref(texts);
	buf_fini(&ids);
	free(log);
	return e->code == ERR_NONE ? buf_steal(&file) : NULL;
}

static const struct mcp_done *page_view(struct mcp_call *call, struct db *db)
{
	const char *view = mcp_call_variable(call, "view"), *of = mcp_call_variable(call, "of");
	struct err e = ERR_INIT;
	char *text = NULL;
	if (strcmp(view, "log") == 0)
		text = log_text(db, of, &e);
	else if (strcmp(view, "file") == 0)
		text = file_text(db, of, &e);
	else
		workflow_view(db, view, of, strtoll(mcp_call_variable(call, "from"), NULL, 10), &text, &e);
	if (text == NULL || store_readable(db, &e) < 0) {
		free(text);
		return mcp_call_reply_absent(call, e.text);
	}
	const struct mcp_done *done = mcp_call_reply_text(call, strcmp(view, "file") == 0 ? "text/html" : "application/json", text);
	free(text);
	return done;
}

static const struct mcp_done *read_view(struct mcp_call *call)
{
	return tools_with_db(call, page_view);
}

static const struct mcp_done *read_page(struct mcp_call *call)
{
	struct buf page = BUF_INIT;
	pages_whole(NULL, &page);
	const struct mcp_done *done = mcp_call_reply_text(call, NULL, buf_text(&page));
	buf_fini(&page);
	return done;
}

static const struct mcp_done *read_transformation(struct mcp_call *call)
{
	struct transformation *t;
	struct err e = ERR_INIT;
	if (library_find(tools_app(call)->work.library, mcp_call_variable(call, "name"), &t, &e) < 0)
		return mcp_call_reply_absent(call, e.text);
	const struct mcp_done *done = mcp_call_reply_text(call, "text/markdown", t->source);
	transformation_free(t);
	return done;
}

/* --- what can be had: who wants to know before anything is begun, as `peakd run` does, asks here and leaves no job
 * --------------------- */

/* `why` NULL: it can be had, and `take_more` says more of it. */
static const struct mcp_done *reply_available(struct mcp_call *call, const char *kind, const char *name, const char *why,
					      json_t *take_more)
{
	json_t *shown = json_pack("{s:s, s:b, s:s*}", kind, name, "available", why == NULL, "why", why);
	if (take_more)
		json_object_set_new(shown, "devices", take_more);
	char *text = json_dumps(shown, JSON_INDENT(1));
	const struct mcp_done *done = mcp_call_reply_text(call, "application/json", text);
	json_decref(shown);
	free(text);
	return done;
}

/* It is opened as a job would, and not asked. */
static const struct mcp_done *read_model(struct mcp_call *call)
{
	const char *name = mcp_call_variable(call, "model");
	struct models_open open;
	struct err e = ERR_INIT;
	if (models_open(tools_app(call)->work.models, name, 1, &open, &e) < 0)
		return reply_available(call, "model", name, e.text, NULL);
	models_close(&open);
	return reply_available(call, "model", name, NULL, NULL);
}

static const struct mcp_done *read_device(struct mcp_call *call)
{
	const char *name = mcp_call_variable(call, "device");
	struct facts *facts;
	size_t count;
	struct err e = ERR_INIT;
	if (pool_device_set(tools_app(call)->work.pool, name, &facts, &count, &e) < 0)
		return reply_available(call, "device", name, e.text, NULL);
	json_t *list = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, devices_entry(&facts[i]));
	free(facts);
	return reply_available(call, "device", name, NULL, list);
}

/* --- jobs
 * ------------------------------------------------------------------------------------------------------------------------------ */

static const struct mcp_done *job_state(struct mcp_call *call, struct db *db)
{
	struct job job;
	struct err e = ERR_INIT;
	char *text;
	if (job_get(db, mcp_call_variable(call, "id"), &job, &e) < 0)
		return mcp_call_reply_absent(call, e.text);
	json_t *shown = tools_show_job(db, &job, &text);
	free(text);
	job_fini(&job);
	text = json_dumps(shown, JSON_INDENT(1));
	json_decref(shown);
	const struct mcp_done *done = mcp_call_reply_text(call, "application/json", text);
	free(text);
	return done;
}

static const struct mcp_done *read_job(struct mcp_call *call)
{
	return tools_with_db(call, job_state);
}

static const struct mcp_done *job_log(struct mcp_call *call, struct db *db)
{
	const char *id = mcp_call_variable(call, "id");
	struct job job;
	struct event_list events;
	struct err e = ERR_INIT;
	struct buf text = BUF_INIT;
	char at[32];
	if (job_get(db, id, &job, &e) < 0)
		return mcp_call_reply_absent(call, e.text);
	job_fini(&job);
	if (event_since(db, id, 0, 0, &events, &e) < 0)
		return mcp_call_reply_absent(call, e.text);
	for (size_t i = 0; i < events.count; i++)
		buf_addf(&text, "%lld %s %s %s\n", (long long)events.at[i].seq, clock_iso(events.at[i].created_ms, at),
			 events.at[i].kind, events.at[i].message);
	event_list_fini(&events);
	const struct mcp_done *done = mcp_call_reply_text(call, "text/plain", buf_text(&text));
	buf_fini(&text);
	return done;
}

static const struct mcp_done *read_job_log(struct mcp_call *call)
{
	return tools_with_db(call, job_log);
}

const struct mcp_resource resources_table[] = {
	{ "peak://docs/context-format", "context-format", "The context format", "How a kernel context is written", "text/markdown",
	  read_document, STABLE_MS },
	{ "peak://docs/transformations", "transformations-format", "The transformation format",
	  "How a natural transformation is written", "text/markdown", read_document, STABLE_MS },
	{ "ui://peakd/workflow", "page", "The page", "Workflows, checkpoints, tuning and jobs, for hosts of MCP Apps",
	  "text/html;profile=mcp-app", read_page, STABLE_MS },
	{ NULL, NULL, NULL, NULL, NULL, NULL, 0 },
};

const struct mcp_template resources_templates[] = {
	{ "peak://checkpoint/{at}/{part}", "checkpoint", "A part of a checkpoint",
	  "part: source, device, host, macros, best, tuning, measurements, t4, validations or exchanges", NULL, read_checkpoint,
	  0 },
	{ "peak://export/{at}/{device}/{file}", "export", "A file of an export",
	  "As the tool workflow lists them; device: a device here, or an architecture such as cuda:sm_90a", "text/plain",
	  export_read, 0 },
	{ "peak://transformation/{name}", "transformation", "A transformation's text", NULL, "text/markdown", read_transformation,
	  0 },
	{ "peak://device/{device}", "device", "A device",
	  "What a tool's argument device means: cuda:0, cuda:all, cuda:sm_90a; or why there is none", "application/json",
	  read_device, 0 },
	{ "peak://knowledge/{device}", "knowledge", "Experts' notes",
	  "What experts know of kernels, with what was measured of it on such devices; device \"all\": everywhere", "text/plain",
	  tools_knowledge_list, 0 },
	{ "peak://note/{note}", "note", "An expert's note", NULL, "text/markdown", tools_knowledge_show, 0 },
	{ "peak://model/{model}", "model", "A model", "Whether transform can ask it; \"default\" is the one that needs no name",
	  "application/json", read_model, 0 },
	{ "peak://page/{view}/{of}/{from}", "page-view", "What the page shows",
	  "view: graph, exchanges, decisions or tries of a workflow, or file: all of it as HTML; log or profiles of a checkpoint; "
	  "from: 0",
	  NULL, read_view, 0 },
	{ "peak://job/{id}", "job", "A job", "Its state and result, as the job tool shows it", "application/json", read_job, 0 },
	{ "peak://job/{id}/log", "job-log", "A job's log", "All of its events, one a line", "text/plain", read_job_log, 0 },
	{ NULL, NULL, NULL, NULL, NULL, NULL, 0 },
};

/* Runs fn over every workflow's name. */
static void each_workflow(struct app *app, void (*fn)(void *arg, size_t i, const char *name), void *arg)
{
	struct db *db;
	struct workflow_list all;
	struct err e = ERR_INIT;
	if (store_take(app->work.store, &db, &e) < 0)
		return;
	if (workflow_list(db, &all, &e) >= 0) {
		for (size_t i = 0; i < all.count; i++)
			fn(arg, i, all.at[i].name);
		workflow_list_fini(&all);
	}
	store_give(db);
}

struct window {
	size_t offset, limit;
	json_t *array;
};

static void add_source(void *arg, size_t i, const char *name)
{
	struct window *w = arg;
	if (i < w->offset || i >= w->offset + w->limit)
		return;
	char *uri = resources_address(name, "source");
	json_array_append_new(w->array, json_pack("{s:s, s:s, s:s}", "uri", uri, "name", name, "mimeType", "text/plain"));
	free(uri);
}

void resources_list(void *user, size_t offset, size_t limit, json_t *array)
{
	struct window w = { offset, limit, array };
	each_workflow(user, add_source, &w);
}

static void add_name(void *arg, size_t i, const char *name)
{
	(void)i;
	json_array_append_new(arg, json_string(name));
}

static void add_texts(json_t *candidates, char **take_names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		json_array_append_new(candidates, json_string(take_names[i]));
	mem_free_texts(take_names, count);
}

static void add_transformations(struct app *app, json_t *candidates)
{
	char **names;
	size_t count;
	library_names(app->work.library, &names, &count);
	add_texts(candidates, names, count);
}

static void add_models(struct app *app, json_t *candidates)
{
	char **names;
	size_t count;
	models_names(app->work.models, &names, &count);
	add_texts(candidates, names, count);
}

static void add_devices(struct app *app, json_t *candidates)
{
	struct facts *facts;
	size_t count;
	char *notes;
	struct err ignored = ERR_INIT;
	if (pool_devices(app->work.pool, &facts, &count, &notes, &ignored) < 0)
		return;
	for (size_t i = 0; i < count; i++)
		json_array_append_new(candidates, json_string(facts[i].id));
	free(facts);
	free(notes);
}

static void add_jobs(struct app *app, json_t *candidates)
{
	struct db *db;
	struct job_list all;
	struct err e = ERR_INIT;
	if (store_take(app->work.store, &db, &e) < 0)
		return;
	if (job_list(db, NULL, false, JOBS_MAX, &all, &e) >= 0) {
		for (size_t i = 0; i < all.count; i++)
			json_array_append_new(candidates, json_string(all.at[i].id));
		job_list_fini(&all);
	}
	store_give(db);
}

/* Arguments of prompts and variables of templates share their names: the same word is the same thing everywhere. */
void resources_complete(void *user, const struct mcp_completion *what, json_t *candidates)
{
	const char *argument = what->argument;
	if (strcmp(argument, "part") == 0)
		for (size_t i = 0; i < MEM_COUNT(part_names); i++)
			json_array_append_new(candidates, json_string(part_names[i]));
	else if (strcmp(argument, "backend") == 0)
		for (size_t i = 0; i < POOL_BACKENDS; i++)
			json_array_append_new(candidates, json_string(pool_backends[i]));
	else if (strcmp(argument, "at") == 0 || strcmp(argument, "workflow") == 0)
		each_workflow(user, add_name, candidates);
	else if (strcmp(argument, "name") == 0 || strcmp(argument, "transformation") == 0)
		add_transformations(user, candidates);
	else if (strcmp(argument, "model") == 0)
		add_models(user, candidates);
	else if (strcmp(argument, "device") == 0)
		add_devices(user, candidates);
	else if (strcmp(argument, "id") == 0)
		add_jobs(user, candidates);
}
