/* job: waiting for and reading work that outlived its call; job_control ends and resumes it. */
#include "daemon/tools/tools.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/jobs/work.h"
#include "core/record/event.h"

enum { LIST_MAX = 30, LOG_MAX = 40, SUBJECT_MAX = 60, WHY_MAX = 120 };

/* What a job was about, so that a reader finds it in the list: " (mm, checkpoint 3, tb-tiling, hlsl:0)". */
static void add_subject(const struct job *job, struct buf *out)
{
	static const struct {
		const char *field, *before;
	} parts[] = {
		{ "workflow", "" },     { "checkpoint", "checkpoint " }, { "a", "checkpoint " },
		{ "b", "checkpoint " }, { "transformation", "" },        { "device", "" },
	};
	const struct engine_kind *kind = work_kind(job->kind);
	struct err ignored = ERR_INIT;
	const char *between = " (";
	if (kind == NULL)
		return;
	void *object = layout_new(kind->request);
	layout_read_text(kind->request, job->request, object, &ignored);
	json_t *request = layout_json(kind->request, object);
	for (size_t i = 0; i < MEM_COUNT(parts); i++) {
		const json_t *value = json_object_get(request, parts[i].field);
		const char *text = json_string_value(value);
		size_t n = text ? utf8_fit(text, SUBJECT_MAX) : 0, line = text ? strcspn(text, "\n") : 0;
		if (json_integer_value(value))
			buf_addf(out, "%s%s%" JSON_INTEGER_FORMAT, between, parts[i].before, json_integer_value(value));
		else if (n)
			buf_addf(out, "%s%s%.*s", between, parts[i].before, (int)(line < n ? line : n), text);
		if (n || json_integer_value(value))
			between = ", ";
	}
	if (*between == ',')
		buf_addc(out, ')');
	json_decref(request);
	layout_free(kind->request, object);
}

/* The same to the row: "about", and when it was asked for. */
static void add_line(const struct job *job, json_t *row, struct buf *out)
{
	char when[32];
	struct buf about = BUF_INIT;
	const char *why = job->state == JOB_FAILED && job->error_text ? job->error_text : "";
	size_t n = utf8_fit(why, WHY_MAX), line = strcspn(why, "\n");
	buf_addf(out, "%s %s %s", job->id, job->kind, job_state_name(job->state));
	add_subject(job, &about);
	buf_addf(out, "%s %s", buf_text(&about), clock_iso(job->created_ms, when));
	if (about.len > 3)
		json_object_set_new(row, "about", json_sprintf("%.*s", (int)about.len - 3, buf_text(&about) + 2));
	json_object_set_new(row, "created", json_string(when));
	buf_fini(&about);
	if (*why)
		buf_addf(out, ": %.*s%s", (int)(line < n ? line : n), why, strlen(why) > (line < n ? line : n) ? " …" : "");
	buf_addc(out, '\n');
}

static const struct mcp_done *list(struct mcp_call *call, struct db *db)
{
	struct job_list jobs;
	struct err e = ERR_INIT;
	struct buf text = BUF_INIT;
	int limit = (int)tools_int(call, "limit", LIST_MAX);
	if (job_list_after(db, tools_text(call, "cursor"), limit + 1, &jobs, &e) < 0)
		return tools_refuse(call, &e);
	bool more = jobs.count > (size_t)limit;
	json_t *rows = json_array();
	for (size_t i = 0; i < jobs.count && i < (size_t)limit; i++) {
		json_t *row = tools_show_job_line(db, &jobs.at[i]);
		add_line(&jobs.at[i], row, &text);
		json_array_append_new(rows, row);
	}
	if (jobs.count == 0)
		buf_addf(&text, "no jobs yet\n");
	char *next = more ? mem_fmt("job {action: list, cursor: %s}", jobs.at[limit - 1].id) : NULL;
	if (next)
		buf_addf(&text, "(older ones: %s)\n", next);
	job_list_fini(&jobs);
	const struct mcp_done *done = tools_reply(call, db, json_pack("{s:o, s:s*}", "jobs", rows, "next", next), buf_text(&text));
	free(next);
	buf_fini(&text);
	return done;
}

static const struct mcp_done *show_log(struct mcp_call *call, struct db *db, const char *id)
{
	struct event_list events;
	struct err e = ERR_INIT;
	struct buf text = BUF_INIT;
	struct job job;
	if (job_get(db, id, &job, &e) < 0)
		return tools_refuse(call, &e);
	job_fini(&job);
	if (event_since(db, id, tools_int(call, "after", 0), LOG_MAX, &events, &e) < 0)
		return tools_refuse(call, &e);
	json_t *rows = json_array();
	for (size_t i = 0; i < events.count; i++) {
		const struct event *v = &events.at[i];
		char at[32];
		json_array_append_new(rows, json_pack("{s:I, s:s, s:s, s:s}", "seq", (json_int_t)v->seq, "at",
						      clock_iso(v->created_ms, at), "kind", v->kind, "message", v->message));
		buf_addf(&text, "%lld %s %s %s\n", (long long)v->seq, at, v->kind, v->message);
	}
	json_t *shown = json_pack("{s:s, s:o}", "job", id, "events", rows);
	if (events.count == LOG_MAX) {
		char *next = mem_fmt("job {action: log, after: %lld}", (long long)events.at[LOG_MAX - 1].seq);
		json_object_set_new(shown, "next", json_string(next));
		buf_addf(&text, "(more: %s)\n", next);
		free(next);
	}
	event_list_fini(&events);
	const struct mcp_done *done = mcp_call_reply(call, shown, "%s", buf_text(&text));
	buf_fini(&text);
	return done;
}

static const struct mcp_done *show(struct mcp_call *call, struct db *db, const char *id)
{
	struct job job;
	struct err e = ERR_INIT;
	char *text;
	if (job_get(db, id, &job, &e) < 0)
		return tools_refuse(call, &e);
	json_t *shown = tools_show_job(db, &job, &text);
	const struct mcp_done *done = tools_reply(call, db, shown, text);
	free(text);
	job_fini(&job);
	return done;
}

static const struct mcp_done *wait_for(struct mcp_call *call, struct db *db, const char *id)
{
	struct job job;
	struct err e = ERR_INIT;
	if (job_get(db, id, &job, &e) < 0)
		return tools_refuse(call, &e);
	job_fini(&job);
	return tools_wait(call, id, tools_int(call, "after", -1), 0);
}

static const struct mcp_done *call_with(struct mcp_call *call, struct db *db)
{
	struct engine *engine = tools_app(call)->engine;
	const char *action = tools_text(call, "action"), *id = tools_text(call, "id");
	struct err e = ERR_INIT;
	if (action == NULL)
		action = "get";
	if (strcmp(action, "list") == 0)
		return list(call, db);
	if (id == NULL)
		return mcp_call_refuse(call, "id is missing: list the jobs to see their ids");
	if (strcmp(action, "wait") == 0)
		return wait_for(call, db, id);
	if (strcmp(action, "log") == 0)
		return show_log(call, db, id);
	if (strcmp(action, "explain") == 0)
		return optimize_explain(call, db, id);
	if (strcmp(action, "cancel") == 0 && engine_cancel(engine, db, id, &e) < 0)
		return tools_refuse(call, &e);
	if (strcmp(action, "resume") == 0 && engine_resume(engine, db, id, &e) < 0)
		return tools_refuse(call, &e);
	return show(call, db, id);
}

const struct tool tool_job = {
	.name = "job",
	.title = "Follow a job",
	.description = "Follow work that a tool gave a job id for: wait (and again), get its state, read its "
		       "log, list the newest. result is what the tool would have answered. Next: as that tool says.",
	.flags = MCP_TOOL_READ_ONLY,
	.answer = call_with,
};

const struct tool tool_job_control = {
	.name = "job_control",
	.title = "Cancel or resume a job",
	.description = "Cancels a job, or resumes an interrupted one. Answers with its state. Next: job wait.",
	.set = "manage",
	.flags = MCP_TOOL_DESTRUCTIVE | MCP_TOOL_IDEMPOTENT,
	.answer = call_with,
};
