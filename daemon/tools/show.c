/* show: jobs and checkpoints as JSON and as words; declared in tools.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/context/context.h"
#include "core/jobs/work.h"
#include "core/record/checkpoint.h"
#include "core/record/comparison.h"
#include "core/record/event.h"
#include "core/record/measurement.h"
#include "core/record/speed.h"
#include "core/record/validation.h"
#include "core/record/workflow.h"
#include "daemon/tools/tools.h"

enum { MESSAGE_MAX = 1500, LINE_MAX_BYTES = 200, SIZES_MAX = 8 };

/* --- jobs ------------------------------------------------------------------------------------------------------------- */

/* A job as the tools answer it, beside its result. */
struct shown {
	char *job, *kind, *state;
	char *error;   /* NULL: none */
	char *message; /* of its newest event; NULL: none */
	int64_t event; /* number of that event */
	char *next;    /* what to call; NULL when it has ended */
};

static const struct layout_field shown_fields[] = {
	{ LAYOUT_AT(struct shown, job, TEXT) },
	{ LAYOUT_AT(struct shown, kind, TEXT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct shown, state, TEXT) },
	{ LAYOUT_AT(struct shown, error, TEXT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct shown, message, TEXT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct shown, event, ID), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct shown, next, TEXT), .flags = LAYOUT_DETAIL },
	{ .name = NULL },
};
static const struct layout shown_layout = { "job", sizeof(struct shown), shown_fields };

json_t *tools_show_schema(const struct engine_kind *kind)
{
	json_t *schema = layout_schema(&shown_layout), *result = layout_schema(kind->result);
	json_object_set_new(json_object_get(schema, "properties"), "result", result);
	return schema;
}

static char *last_message(struct db *db, const struct job *job)
{
	struct event_list events;
	struct err e = ERR_INIT;
	char *message = NULL;
	if (event_since(db, job->id, job->last_event > 0 ? job->last_event - 1 : 0, 0, &events, &e) < 0)
		return mem_str("");
	if (events.count)
		message = mem_str(events.at[events.count - 1].message);
	event_list_fini(&events);
	return message ? message : mem_str("");
}

/* A row keeps what its job found; what refuted it afterwards is said beside it. The checkpoints that were timed and have failed
 * since; NULL when all stand; free(). */
static char *refuted_since(struct db *db, const struct job *job, const json_t *result)
{
	struct work_subject subject;
	struct err ignored = ERR_INIT;
	struct buf out = BUF_INIT;
	if (json_object_get(result, "sizes") == NULL || !job_state_ended(job->state))
		return NULL;
	layout_init(&work_subject_layout, &subject);
	layout_read_text(&work_subject_layout, job->request, &subject, &ignored);
	const int64_t ids[] = { subject.checkpoint, json_integer_value(json_object_get(result, "a")),
				json_integer_value(json_object_get(result, "b")) };
	for (size_t i = 0; i < MEM_COUNT(ids); i++) {
		struct checkpoint c;
		if (ids[i] <= 0 || checkpoint_get(db, ids[i], &c, &ignored) < 0)
			continue;
		if (c.status == CHECKPOINT_FAILED)
			buf_addf(&out, "%scheckpoint %lld was refuted, so none of its figures may be quoted: %s",
				 out.len ? "; " : "", (long long)ids[i], c.note ? c.note : "see its validations");
		checkpoint_fini(&c);
	}
	layout_fini(&work_subject_layout, &subject);
	char *refuted = out.len ? buf_steal(&out) : NULL;
	buf_fini(&out);
	return refuted;
}

/* A figure is worth six digits, and an empty text or list says nothing. A prompt is in the words alone. */
static void shorten(json_t *json)
{
	const char *key;
	json_t *value;
	void *next;
	size_t i;
	json_array_foreach(json, i, value) shorten(value);
	json_object_foreach_safe(json, next, key, value)
	{
		shorten(value);
		if (json_is_real(value)) {
			char digits[32];
			snprintf(digits, sizeof digits, "%.6g", json_real_value(value));
			json_real_set(value, strtod(digits, NULL));
		} else if (strcmp(key, "figures") == 0 || strcmp(key, "prompt") == 0 ||
			   (json_is_string(value) && json_string_length(value) == 0)) {
			json_object_del(json, key);
		}
	}
}

/* The result as JSON and its words; an answer stays small whatever the number of input sizes. */
static json_t *show_result(struct db *db, const struct job *job, struct buf *text)
{
	const struct engine_kind *kind = work_kind(job->kind);
	struct err ignored = ERR_INIT;
	json_t *json = json_object();
	if (kind == NULL)
		return json;
	void *result = layout_new(kind->result), *spent = layout_new(&engine_spent_layout);
	layout_read_text(kind->result, job->result, result, &ignored);
	layout_read_text(&engine_spent_layout, job->result, spent, &ignored);
	layout_add_json(kind->result, result, json);
	layout_add_json(&engine_spent_layout, spent, json);
	layout_text(kind->result, result, text);
	layout_free(kind->result, result);
	layout_free(&engine_spent_layout, spent);
	if (json_object_get(json, "prompt"))
		json_object_set_new(
			json, "next",
			json_string("the prompt is the text of this answer; transform_begin with `pending` shows it as well"));
	shorten(json);
	json_t *sizes = json_object_get(json, "sizes");
	size_t all = json_array_size(sizes);
	if (all > SIZES_MAX) {
		while (json_array_size(sizes) > SIZES_MAX)
			json_array_remove(sizes, json_array_size(sizes) - 1);
		json_object_set_new(json, "note",
				    json_sprintf("the first %d of %zu input sizes; workflow log shows the others", SIZES_MAX, all));
	}
	char *refuted = refuted_since(db, job, json);
	if (refuted) {
		json_object_set_new(json, "refuted", json_string(refuted));
		buf_addf(text, "REFUTED: %s\n", refuted);
	}
	free(refuted);
	return json;
}

static char *job_text(const struct job *job, const char *message, const char *result)
{
	switch (job->state) {
	case JOB_QUEUED:
		if (engine_is_later(job))
			return mem_fmt(
				"job %s (%s) waits for a machine that has its device: `peakd drain export FOLDER` exports it",
				job->id, job->kind);
		/* fall through */
	case JOB_RUNNING:
		return mem_fmt("job %s (%s) is %s%s%s. Call job with action \"wait\" and this id.", job->id, job->kind,
			       job_state_name(job->state), *message ? ": " : "", message);
	case JOB_DONE: return mem_str(result);
	case JOB_FAILED: return mem_str(job->error_text ? job->error_text : "failed");
	case JOB_CANCELLED:
		if (strcmp(job->kind, "transform") == 0 || strcmp(job->kind, "submit") == 0)
			return mem_fmt("job %s (%s) was cancelled: %s\n", job->id, job->kind,
				       job->error_text ? job->error_text : "nothing is kept");
		return mem_fmt("job %s (%s) was cancelled; its measurements are kept\n%s", job->id, job->kind, result);
	case JOB_INTERRUPTED:
		return mem_fmt(
			"job %s (%s) was interrupted when the daemon ended; job_control with action \"resume\" runs it again",
			job->id, job->kind);
	}
	return mem_str("");
}

json_t *tools_show_job(struct db *db, const struct job *job, char **ret_text)
{
	struct buf text = BUF_INIT;
	char *message = last_message(db, job);
	json_t *result = job->result ? show_result(db, job, &text) : NULL;
	utf8_cut(message, MESSAGE_MAX);
	struct shown s = { .job = (char *)job->id,
			   .kind = (char *)job->kind,
			   .state = (char *)job_state_name(job->state),
			   .error = (char *)job->error_text,
			   .message = *message ? message : NULL,
			   .event = job->last_event };
	if (job->state == JOB_INTERRUPTED)
		s.next = (char *)"job_control {action: resume}";
	else if (!job_state_ended(job->state))
		s.next = (char *)(engine_is_later(job) ? "peakd drain export FOLDER" : "job {action: wait}");
	json_t *shown = layout_json(&shown_layout, &s);
	if (result)
		json_object_set_new(shown, "result", result);
	*ret_text = job_text(job, message, buf_text(&text));
	free(message);
	buf_fini(&text);
	return shown;
}

json_t *tools_show_job_line(struct db *db, const struct job *job)
{
	struct work_subject subject;
	struct err ignored = ERR_INIT;
	char *message = last_message(db, job);
	message[utf8_fit(message, LINE_MAX_BYTES)] = '\0';
	struct shown s = { .job = (char *)job->id,
			   .kind = (char *)job->kind,
			   .state = (char *)job_state_name(job->state),
			   .message = *message ? message : NULL };
	json_t *shown = layout_json(&shown_layout, &s);
	/* The workflow that it moves, so that a client that continues it knows what is under way. */
	layout_init(&work_subject_layout, &subject);
	if (!job_state_ended(job->state) && layout_read_text(&work_subject_layout, job->request, &subject, &ignored) == 0 &&
	    subject.workflow && *subject.workflow)
		json_object_set_new(shown, "workflow", json_string(subject.workflow));
	layout_fini(&work_subject_layout, &subject);
	free(message);
	return shown;
}

/* --- checkpoints -------------------------------------------------------------------------------------------------------- */

static void set_number(json_t *object, const char *key, double value)
{
	if (isfinite(value))
		json_object_set_new(object, key, json_real(value));
}

/* The newest comparison of exactly this configuration with the vendor's library. */
static void set_library(struct db *db, int64_t checkpoint, const struct measurement *m, json_t *row)
{
	struct comparison c;
	struct err ignored = ERR_INIT;
	if (comparison_library(db, checkpoint, m->device, m->params, m->cold, &c, &ignored) < 0)
		return;
	set_number(row, "library_ratio", c.ratio);
	set_number(row, "library_low", c.low);
	set_number(row, "library_high", c.high);
	json_object_set_new(row, "library", json_string(c.library));
	comparison_fini(&c);
}

/* Pairs with the baseline and the parent; nothing where there were none. */
static void set_speed(struct db *db, const struct checkpoint *c, int64_t root, const struct measurement *m, json_t *row)
{
	const struct speed_query q = { .checkpoint = c->id,
				       .parent = c->parent_count ? c->parents[0] : 0,
				       .root = root,
				       .device = m->device,
				       .sizes = m->sizes,
				       .params = m->params,
				       .warm = !m->cold };
	struct speed s;
	speed_of(db, &q, &s);
	layout_add_json(&speed_layout, &s, row);
	speed_fini(&s);
}

/* Operations and bytes a second, where the context declares flops: and bytes:. */
static void set_rates(const struct context *ctx, const struct measurement *m, json_t *row)
{
	struct params *params;
	struct err ignored = ERR_INIT;
	if (ctx == NULL || params_parse(ctx, m->params, false, &params, &ignored) < 0)
		return;
	set_number(row, "gflops", spec_flops(context_spec(ctx), params) / m->median_ns);
	set_number(row, "gbs", spec_bytes(context_spec(ctx), params) / m->median_ns);
	params_free(params);
}

static json_t *best_json(struct db *db, const struct checkpoint *c, int64_t root, const struct context *ctx)
{
	json_t *list = json_array();
	struct measurement_list best;
	struct measurement_query q = { .checkpoint = c->id };
	struct err ignored = ERR_INIT;
	if (measurement_best_each(db, &q, &best, &ignored) < 0)
		return list;
	for (size_t i = 0; i < best.count; i++) {
		const struct measurement *m = &best.at[i];
		json_t *row = json_pack("{s:s, s:s, s:s, s:f, s:i, s:I}", "device", m->device, "sizes", m->sizes, "params",
					m->params, "median_ns", m->median_ns, "samples", (int)m->sample_count, "evidence",
					(json_int_t)m->validation);
		set_rates(ctx, m, row);
		set_number(row, "rse", m->rse);
		set_library(db, c->id, m, row);
		set_speed(db, c, root, m, row);
		json_array_append_new(list, row);
	}
	measurement_list_fini(&best);
	return list;
}

static json_t *tags_json(struct db *db, int64_t checkpoint)
{
	struct workflow_tag_list tags;
	struct err ignored = ERR_INIT;
	json_t *list = json_array();
	if (workflow_tags(db, &tags, &ignored) < 0)
		return list;
	for (size_t i = 0; i < tags.count; i++)
		if (tags.at[i].checkpoint == checkpoint)
			json_array_append_new(list, json_string(tags.at[i].name));
	workflow_tag_list_fini(&tags);
	return list;
}

static struct context *context_of(struct db *db, int64_t checkpoint)
{
	struct err ignored = ERR_INIT;
	struct context *ctx = NULL;
	char *text;
	if (checkpoint_context(db, checkpoint, &text, &ignored) < 0)
		return NULL;
	if (context_parse("checkpoint", text, &ctx, &ignored) < 0)
		ctx = NULL;
	free(text);
	return ctx;
}

static json_t *checkpoint_json(struct db *db, const struct checkpoint *c, int64_t root)
{
	char created[32];
	struct validation_counts counts = { 0 };
	struct err ignored = ERR_INIT;
	struct context *ctx = context_of(db, c->id);
	json_t *parents = json_array();
	for (size_t i = 0; i < c->parent_count; i++)
		json_array_append_new(parents, json_integer(c->parents[i]));
	if (validation_count(db, c->id, &counts, &ignored) < 0)
		counts = (struct validation_counts){ 0 };
	json_t *row =
		json_pack("{s:I, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:{s:I, s:I, s:I}}", "id", (json_int_t)c->id, "hash",
			  c->hash.hex, "by", c->by, "status", checkpoint_status_name(c->status), "created",
			  clock_iso(c->created_ms, created), "parents", parents, "tags", tags_json(db, c->id), "best",
			  best_json(db, c, root, ctx), "validation", "passed", (json_int_t)counts.of[VALIDATION_PASSED], "failed",
			  (json_int_t)counts.of[VALIDATION_FAILED], "skipped", (json_int_t)counts.of[VALIDATION_SKIPPED]);
	if (c->note)
		json_object_set_new(row, "note", json_string(c->note));
	context_free(ctx);
	return row;
}

json_t *tools_show_log(struct db *db, const struct checkpoint_list *log, size_t limit)
{
	json_t *list = json_array();
	struct err ignored = ERR_INIT;
	int64_t root = 0;
	if (log->count)
		checkpoint_root(db, log->at[0].id, &root, &ignored);
	for (size_t i = 0; i < log->count && i < limit; i++)
		json_array_append_new(list, checkpoint_json(db, &log->at[i], root));
	return list;
}
