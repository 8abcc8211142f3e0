/* workflow: lines of checkpoints. The tool workflow reads: list, log, show, compare, export. The tool workflow_change writes:
 * restore, tag, branch, rename, delete, import. Nothing runs long. */
#include "daemon/tools/tools.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/jobs/foreign.h"
#include "core/jobs/work.h"
#include "core/record/checkpoint.h"
#include "core/record/comparison.h"
#include "core/record/lineage.h"
#include "core/record/measurement.h"
#include "core/record/speed.h"
#include "core/record/workflow.h"

enum { LOG_ROWS = 10, LIST_ROWS = 50, CHOICES = 20 };

/* One action: its own work with checkpoint `id` (0 when it takes none) and workflow name. */
typedef const struct mcp_done *action(struct mcp_call *call, struct db *db, int64_t id);

static const struct mcp_done *list(struct mcp_call *call, struct db *db, int64_t id)
{
	struct workflow_list all;
	struct err e = ERR_INIT;
	struct buf text = BUF_INIT;
	char moved[32];
	(void)id;
	if (workflow_list(db, &all, &e) < 0)
		return tools_refuse(call, &e);
	/* Names are listed in order, so the last one shown is the cursor. */
	const char *cursor = tools_text(call, "cursor"), *next = NULL;
	size_t limit = (size_t)tools_int(call, "limit", LIST_ROWS);
	json_t *rows = json_array();
	for (size_t i = 0; i < all.count; i++) {
		const struct workflow *w = &all.at[i];
		if (cursor && strcmp(w->name, cursor) <= 0)
			continue;
		if (json_array_size(rows) == limit) {
			next = all.at[i - 1].name;
			break;
		}
		json_array_append_new(rows, json_pack("{s:s, s:I, s:I, s:s}", "name", w->name, "head", (json_int_t)w->head, "root",
						      (json_int_t)w->root, "moved", clock_iso(w->moved_ms, moved)));
		buf_addf(&text, "%s: head %lld, root %lld\n", w->name, (long long)w->head, (long long)w->root);
	}
	json_t *shown = json_pack("{s:o, s:s*}", "workflows", rows, "next", next);
	if (next)
		buf_addf(&text, "(more: workflow {action: list, cursor: %s})\n", next);
	workflow_list_fini(&all);
	const struct mcp_done *done = mcp_call_reply(
		call, shown, "%s",
		text.len ? buf_text(&text) : "no workflows yet: context_create (peakd workflow create FILE.peak.md) begins one");
	buf_fini(&text);
	return done;
}

static double number(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

static void log_line(const json_t *checkpoint, struct buf *out)
{
	size_t i;
	json_t *best, *tag;
	char time[32];
	buf_addf(out, "%" JSON_INTEGER_FORMAT " %.12s %s %s", json_integer_value(json_object_get(checkpoint, "id")),
		 json_string_value(json_object_get(checkpoint, "hash")), json_string_value(json_object_get(checkpoint, "by")),
		 json_string_value(json_object_get(checkpoint, "status")));
	json_array_foreach(json_object_get(checkpoint, "tags"), i, tag)
		buf_addf(out, "%s%s", i ? ", " : ", tagged ", json_string_value(tag));
	if (json_object_get(checkpoint, "note"))
		buf_addf(out, ", %s", json_string_value(json_object_get(checkpoint, "note")));
	json_array_foreach(json_object_get(checkpoint, "best"), i, best)
	{
		const char *compared = json_string_value(json_object_get(best, "compared"));
		double gflops = number(best, "gflops"), gbs = number(best, "gbs");
		buf_addf(out, "; %s: %s", json_string_value(json_object_get(best, "sizes")),
			 layout_time(number(best, "median_ns"), time));
		if (isfinite(number(best, "joules")))
			buf_addf(out, ", %s", layout_joules(number(best, "joules"), time));
		if (isfinite(gflops))
			buf_addf(out, ", %.4g GFLOP/s", gflops);
		if (isfinite(gbs))
			buf_addf(out, ", %.4g GB/s", gbs);
		if (compared || json_array_size(json_object_get(checkpoint, "parents")))
			buf_addf(out, ", %s",
				 compared ? compared : "not compared (`peakd compare` times it and another one in pairs)");
		if (isfinite(number(best, "library_ratio")))
			buf_addf(out, ", %.1f %% of %s", 100 * number(best, "library_ratio"),
				 json_string_value(json_object_get(best, "library")));
		buf_addf(out, " (%s)", json_string_value(json_object_get(best, "params")));
	}
	buf_addc(out, '\n');
}

/* Unless the client said how many it wants: as many of the newest as make a short answer. */
static void shorten(const struct mcp_call *call, json_t *rows)
{
	while (tools_int(call, "limit", 0) == 0 && json_array_size(rows) > 1 &&
	       json_dumpb(rows, NULL, 0, JSON_COMPACT) > TOOLS_TEXT_MAX)
		json_array_remove(rows, json_array_size(rows) - 1);
}

static const struct mcp_done *show_log(struct mcp_call *call, struct db *db, int64_t id)
{
	struct checkpoint_list log;
	struct err e = ERR_INIT;
	struct buf text = BUF_INIT;
	size_t i;
	json_t *row;
	if (checkpoint_log(db, id, 0, &log, &e) < 0)
		return tools_refuse(call, &e);
	size_t all = log.count;
	json_t *rows = tools_show_log(db, &log, (size_t)tools_int(call, "limit", LOG_ROWS));
	checkpoint_list_fini(&log);
	shorten(call, rows);
	json_array_foreach(rows, i, row) log_line(row, &text);
	json_t *shown = json_pack("{s:I, s:o}", "head", (json_int_t)id, "checkpoints", rows);
	if (json_array_size(rows) < all) {
		char *note = mem_fmt("the newest %zu of %zu checkpoints; limit says how many", json_array_size(rows), all);
		json_object_set_new(shown, "note", json_string(note));
		buf_addf(&text, "(%s)\n", note);
		free(note);
	}
	const struct mcp_done *done = tools_reply(call, db, shown, buf_text(&text));
	buf_fini(&text);
	return done;
}

static const struct mcp_done *show(struct mcp_call *call, struct db *db, int64_t id)
{
	struct checkpoint_list log;
	struct err e = ERR_INIT;
	if (checkpoint_log(db, id, 1, &log, &e) < 0)
		return tools_refuse(call, &e);
	json_t *rows = tools_show_log(db, &log, 1);
	struct buf line = BUF_INIT;
	log_line(json_array_get(rows, 0), &line);
	checkpoint_list_fini(&log);
	const struct mcp_done *done =
		tools_reply(call, db, json_pack("{s:I, s:o}", "checkpoint", (json_int_t)id, "checkpoints", rows), buf_text(&line));
	buf_fini(&line);
	return done;
}

/* The two at their best, out of pairs; without a ratio where they were not timed in pairs. */
static json_t *compare_row(struct db *db, const struct measurement *a, const struct measurement *b, struct buf *text)
{
	const struct comparison_query q = { .a = a->checkpoint,
					    .b = b->checkpoint,
					    .device = b->device,
					    .sizes = b->sizes,
					    .a_params = a->params,
					    .b_params = b->params,
					    .cold = true };
	json_t *row =
		json_pack("{s:s, s:s, s:s, s:s, s:I, s:I}", "device", b->device, "sizes", b->sizes, "a_params", a->params,
			  "b_params", b->params, "a_evidence", (json_int_t)a->validation, "b_evidence", (json_int_t)b->validation);
	struct comparison c;
	struct err none = ERR_INIT;
	char time_a[32], time_b[32], times[SPEED_TEXT];
	if (comparison_pair(db, &q, &c, &none) < 0) {
		json_object_set_new(row, "note", json_string(none.text));
		buf_addf(text, "%s: %s\n", b->sizes, none.text);
		return row;
	}
	const struct speed_ratio r = { 1 / c.ratio, 1 / c.high, 1 / c.low, (char *)c.verdict };
	buf_addf(text, "%s: %s against %s: %s%s%s\n", b->sizes, layout_time(c.b_ns, time_b), layout_time(c.a_ns, time_a),
		 speed_words(&r, times), c.load ? "; " : "", c.load ? c.load : "");
	json_object_update_new(row, json_pack("{s:f, s:f, s:f, s:f, s:f, s:s, s:s*}", "a_ns", c.a_ns, "b_ns", c.b_ns, "ratio",
					      r.times, "low", r.low, "high", r.high, "verdict", c.verdict, "load", c.load));
	comparison_fini(&c);
	return row;
}

static const struct mcp_done *compare(struct mcp_call *call, struct db *db, int64_t id)
{
	static const char note[] = "both at their best, timed in pairs; above 1, `at` is faster";
	struct err e = ERR_INIT;
	struct buf text = BUF_INIT;
	struct measurement_list best;
	struct measurement_query q = { .checkpoint = id };
	int64_t base;
	if (tools_other(call, db, id, &base, &e) < 0 || measurement_best_each(db, &q, &best, &e) < 0)
		return tools_refuse(call, &e);
	json_t *rows = json_array();
	for (size_t i = 0; i < best.count; i++) {
		struct measurement a;
		struct measurement_query qa = { .checkpoint = base, .device = best.at[i].device, .sizes = best.at[i].sizes };
		struct err missing = ERR_INIT;
		if (measurement_best(db, &qa, &a, &missing) < 0)
			continue;
		json_array_append_new(rows, compare_row(db, &a, &best.at[i], &text));
		measurement_fini(&a);
	}
	measurement_list_fini(&best);
	buf_adds(&text, json_array_size(rows) ? note : "nothing to compare: tune both on the same device and sizes first");
	const struct mcp_done *done =
		tools_reply(call, db, json_pack("{s:o, s:s}", "compare", rows, "note", note), buf_text(&text));
	buf_fini(&text);
	return done;
}

static const struct mcp_done *moved(struct mcp_call *call, const char *name, int64_t id, const char *how)
{
	mcp_server_list_changed(tools_app(call)->mcp, "resources");
	return mcp_call_reply(call, json_pack("{s:s, s:I}", "workflow", name, "checkpoint", (json_int_t)id), "%s %s %lld", name,
			      how, (long long)id);
}

static const char *wanted_name(struct mcp_call *call, struct err *e)
{
	const char *name = tools_text(call, "name");
	if (name == NULL)
		err_set(e, ERR_INPUT, "name is missing: give the name of a workflow or a tag");
	return name;
}

static const struct mcp_done *set_name(struct mcp_call *call, struct db *db, int64_t id)
{
	static const struct {
		const char *action;
		int (*set)(struct db *db, const char *name, int64_t checkpoint, struct err *e);
		const char *how;
	} actions[] = { { "restore", workflow_restore, "is at checkpoint" },
			{ "tag", workflow_tag, "names checkpoint" },
			{ "branch", workflow_create, "branches off at checkpoint" } };
	struct err e = ERR_INIT;
	const char *name = wanted_name(call, &e);
	size_t i = 0;
	while (strcmp(actions[i].action, tools_text(call, "action")) != 0)
		i++;
	if (name == NULL || actions[i].set(db, name, id, &e) < 0)
		return tools_refuse(call, &e);
	return moved(call, name, id, actions[i].how);
}

/* A live job that advances the workflow would not find it any more. */
static int check_idle(struct db *db, const char *name, struct err *e)
{
	struct job_list jobs;
	int rc = job_list(db, NULL, true, 0, &jobs, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < jobs.count; i++) {
		struct work_subject subject;
		struct err ignored = ERR_INIT;
		layout_init(&work_subject_layout, &subject);
		if (layout_read_text(&work_subject_layout, jobs.at[i].request, &subject, &ignored) == 0 && subject.workflow &&
		    strcmp(subject.workflow, name) == 0)
			rc = err_set(e, ERR_CONFLICT, "job %s (%s) is working on workflow %s: wait for it, or cancel it",
				     jobs.at[i].id, jobs.at[i].kind, name);
		layout_fini(&work_subject_layout, &subject);
	}
	job_list_fini(&jobs);
	return rc;
}

/* rename and delete: one transaction with the look at the jobs. */
static const struct mcp_done *change(struct mcp_call *call, struct db *db, const char *to)
{
	struct err e = ERR_INIT;
	struct workflow w = { .name = NULL };
	const char *name = wanted_name(call, &e);
	if (name == NULL || store_begin(db, &e) < 0)
		return tools_refuse(call, &e);
	int rc = workflow_get(db, name, &w, &e);
	if (rc == 0)
		rc = check_idle(db, name, &e);
	if (rc == 0)
		rc = to ? workflow_rename(db, name, to, &e) : workflow_delete(db, name, &e);
	rc = store_end(db, rc < 0 ? rc : 0, &e);
	int64_t head = w.head;
	workflow_fini(&w);
	if (rc < 0)
		return tools_refuse(call, &e);
	mcp_server_list_changed(tools_app(call)->mcp, "resources");
	return mcp_call_reply(call, json_pack("{s:s, s:I}", "workflow", to ? to : name, "checkpoint", (json_int_t)head), "%s %s%s",
			      name, to ? "is now " : "is deleted; `peakd vacuum` deletes its checkpoints when they are old enough",
			      to ? to : "");
}

static const struct mcp_done *rename_one(struct mcp_call *call, struct db *db, int64_t id)
{
	const char *to = tools_text(call, "text");
	(void)id;
	return to ? change(call, db, to) : mcp_call_refuse(call, "text: give the new name");
}

static const struct mcp_done *delete_one(struct mcp_call *call, struct db *db, int64_t id)
{
	(void)id;
	return change(call, db, NULL);
}

static const struct mcp_done *import(struct mcp_call *call, struct db *db, int64_t id)
{
	const char *text = tools_text(call, "text"), *origin = tools_text(call, "name");
	struct foreign_summary sum;
	struct err e = ERR_INIT;
	if (text == NULL)
		err_set(&e, ERR_INPUT, "text: the results to import are missing");
	if (text == NULL || foreign_take(db, id, text, tools_text(call, "sizes"), origin ? origin : "text", &sum, &e) < 0)
		return tools_refuse(call, &e);
	const struct mcp_done *done =
		mcp_call_reply(call, json_pack("{s:I, s:s}", "checkpoint", (json_int_t)id, "text", sum.text), "%s", sum.text);
	free(sum.text);
	return done;
}

/* Earlier checkpoints of the workflow, for a person who did not say which one to go back to. */
static const struct mcp_done *ask_checkpoint(struct mcp_call *call, struct db *db, const char *workflow)
{
	struct checkpoint_list log;
	struct err e = ERR_INIT;
	int64_t head;
	if (workflow_resolve(db, workflow, &head, &e) < 0 || checkpoint_log(db, head, CHOICES + 1, &log, &e) < 0)
		return tools_refuse(call, &e);
	json_t *choices = json_array();
	for (size_t i = 1; i < log.count; i++) {
		const struct checkpoint *c = &log.at[i];
		char when[32];
		json_array_append_new(choices,
				      json_pack("{s:o, s:o}", "const", json_sprintf("%lld", (long long)c->id), "title",
						json_sprintf("%lld: %s, %s, %s", (long long)c->id, c->by,
							     checkpoint_status_name(c->status), clock_iso(c->created_ms, when))));
	}
	checkpoint_list_fini(&log);
	char *message = mem_fmt("Which checkpoint should workflow %s go back to?", workflow);
	const struct mcp_done *done = tools_choose(call, "at", message, choices);
	free(message);
	return done;
}

static const struct {
	const char *name;
	action *run;
	bool needs_at;
} actions[] = {
	{ "list", list, false },           { "log", show_log, true },       { "show", show, true },
	{ "compare", compare, true },      { "restore", set_name, true },   { "tag", set_name, true },
	{ "branch", set_name, true },      { "rename", rename_one, false }, { "delete", delete_one, false },
	{ "export", export_answer, true }, { "import", import, true },
};

static const struct mcp_done *call_with(struct mcp_call *call, struct db *db)
{
	const char *name = tools_text(call, "action"), *workflow = tools_text(call, "name");
	struct err e = ERR_INIT;
	int64_t id = 0;
	for (size_t i = 0; i < MEM_COUNT(actions); i++) {
		if (strcmp(actions[i].name, name) != 0)
			continue;
		int rc = 0;
		bool restores = strcmp(name, "restore") == 0 && workflow && tools_text(call, "at") == NULL;
		const struct mcp_done *asked = restores ? ask_checkpoint(call, db, workflow) : NULL;
		if (asked)
			return asked;
		if (actions[i].needs_at && tools_text(call, "at") == NULL && workflow && strcmp(name, "log") == 0)
			rc = workflow_resolve(db, workflow, &id, &e);
		else if (actions[i].needs_at)
			rc = tools_at(call, db, &id, NULL, &e);
		return rc < 0 ? tools_refuse(call, &e) : actions[i].run(call, db, id);
	}
	return mcp_call_refuse(call, "action: there is no action '%s'", name);
}

const struct tool tool_workflow = {
	.name = "workflow",
	.title = "Read workflows",
	.description = "Lines of checkpoints, as git's branches. Answers: log each step's best time and speed-up over the "
		       "baseline; show one; compare two; export the winner. Next: transform the head.",
	.ui = "ui://peakd/workflow",
	.flags = MCP_TOOL_READ_ONLY,
	.answer = call_with,
};

const struct tool tool_workflow_change = {
	.name = "workflow_change",
	.title = "Steer workflows",
	.description =
		"Moves, names and forgets lines of checkpoints. Answers with the workflow and its checkpoint. Next: workflow log.",
	.set = "manage",
	.flags = MCP_TOOL_DESTRUCTIVE,
	.answer = call_with,
};
