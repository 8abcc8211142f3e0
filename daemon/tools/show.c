/* show: jobs and checkpoints as JSON and as words; declared in tools.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/context/context.h"
#include "core/jobs/drain.h"
#include "core/measure/compare.h"
#include "core/record/checkpoint.h"
#include "core/record/comparison.h"
#include "core/record/event.h"
#include "core/record/measurement.h"
#include "core/record/validation.h"
#include "core/record/workflow.h"
#include "daemon/tools/tools.h"

enum { MESSAGE_MAX = 1500, LINE_MAX_BYTES = 200, SIZES_MAX = 8 };

char *tools_show_ns(double ns, char text[32])
{
	if (!isfinite(ns))
		snprintf(text, 32, "-");
	else if (ns < 1e6)
		snprintf(text, 32, "%.4g us", ns / 1e3);
	else
		snprintf(text, 32, "%.4g ms", ns / 1e6);
	return text;
}

/* --- jobs ------------------------------------------------------------------------------------------------------------- */

static json_t *lines(const char *text)
{
	json_t *list = json_array();
	for (const char *at = text; *at;) {
		size_t n = strcspn(at, "\n");
		json_array_append_new(list, json_stringn(at, n));
		at += n + (at[n] == '\n');
	}
	return list;
}

/* Whole numbers and fractions become numbers, "1" and "0" under these names truth values, everything else text. */
static json_t *typed(const char *name, const char *value)
{
	char *end;
	if (strcmp(name, "passed") == 0 || strcmp(name, "complete") == 0)
		return json_boolean(strcmp(value, "1") == 0);
	if (strcmp(name, "questions") == 0 || strcmp(name, "notes") == 0)
		return lines(value);
	if (*value == '\0' || strspn(value, "0123456789.eE+-") != strlen(value))
		return json_string(value);
	long long whole = strtoll(value, &end, 10);
	if (*end == '\0')
		return json_integer(whole);
	double real = strtod(value, &end);
	return *end == '\0' && isfinite(real) ? json_real(real) : json_string(value);
}

static bool always_text(const char *name)
{
	static const char *const names[] = { "summary", "details", "domain", "why", "size", "best", "pending", "state", "outcome",
	                                     "prompt", "region", "unproven", "verdict", "params", "a_params", "b_params", "library",
	                                     "energy", "conditions", "pipe", "note", "refuted", "context" };
	for (size_t i = 0; i < MEM_COUNT(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* "median_ns_0" belongs to the first of `count` entries: result.sizes[0].median_ns. */
static json_t *result_json(const struct fields *f)
{
	json_t *result = json_object(), *sizes = NULL;
	int64_t all = fields_int(f, "count", -1), count = all > SIZES_MAX ? SIZES_MAX : all;
	if (all > count) {
		char *note = mem_fmt("the first %lld of %lld input sizes; workflow log shows the others", (long long)count,
		                     (long long)all);
		json_object_set_new(result, "note", json_string(note));
		free(note);
	}
	if (count >= 0 && (sizes = json_array()) != NULL) {
		json_object_set_new(result, "sizes", sizes);
		for (int64_t i = 0; i < count; i++)
			json_array_append_new(sizes, json_object());
	}
	for (size_t i = 0; i < f->count; i++) {
		const char *name = f->at[i].name, *last = strrchr(name, '_');
		json_t *into = result;
		char *key = mem_str(name);
		if (sizes && last && last[1] >= '0' && last[1] <= '9') {
			/* NULL beyond those that are shown: nothing is set then. */
			into = json_array_get(sizes, (size_t)strtoll(last + 1, NULL, 10));
			key[last - name] = '\0';
		}
		if (into)
			json_object_set_new(into, key, always_text(key) ? json_string(f->at[i].value) : typed(key, f->at[i].value));
		free(key);
	}
	return result;
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

/* A field of size number i; NULL when it is not there. */
static const char *at(const struct fields *f, const char *name, int64_t i)
{
	char key[48];
	snprintf(key, sizeof key, "%s_%lld", name, (long long)i);
	return fields_get(f, key);
}

static const char *text_at(const struct fields *f, const char *name, int64_t i)
{
	return at(f, name, i) ? at(f, name, i) : "";
}

static double number_at(const struct fields *f, const char *name, int64_t i)
{
	return at(f, name, i) ? strtod(at(f, name, i), NULL) : NAN;
}

/* "; 97.2 % of cuBLASLt (96.9 to 97.5)". */
static void show_library(const struct fields *f, int64_t i, struct buf *out)
{
	double ratio = number_at(f, "library_ratio", i);
	if (isfinite(ratio))
		buf_addf(out, "; %.1f %% of %s (%.1f to %.1f)", 100 * ratio, text_at(f, "library", i), 100 * number_at(f, "library_low", i),
		         100 * number_at(f, "library_high", i));
	else if (at(f, "library", i))
		buf_addf(out, "; library: %s", text_at(f, "library", i));
}

static void compare_text(const struct fields *f, struct buf *out)
{
	for (int64_t i = 0; i < fields_int(f, "count", 0) && i < SIZES_MAX; i++) {
		char a[32], b[32];
		buf_addf(out, "%s: %s: checkpoint %s takes %.4f of %s's time (%.4f to %.4f): %s against %s, %.0f pairs%s%s",
		         text_at(f, "size", i), text_at(f, "verdict", i), fields_text(f, "b", ""), number_at(f, "ratio", i),
		         fields_text(f, "a", ""), number_at(f, "low", i), number_at(f, "high", i), tools_show_ns(number_at(f, "b_ns", i), b),
		         tools_show_ns(number_at(f, "a_ns", i), a), number_at(f, "pairs", i), at(f, "note", i) ? "; " : "",
		         text_at(f, "note", i));
		if (number_at(f, "margin", i) > COMPARE_MARGIN)
			buf_addf(out, "; less than %g us is not told apart: same means within %.2g %%", COMPARE_FLOOR_NS / 1e3,
			         100 * number_at(f, "margin", i));
		buf_addf(out, "; evidence %s and %s\n", text_at(f, "b_evidence", i), text_at(f, "a_evidence", i));
	}
}

static void profile_text(const struct fields *f, struct buf *out)
{
	for (int64_t i = 0; i < fields_int(f, "count", 0) && i < SIZES_MAX; i++) {
		char cold[32], warm[32];
		double gflops = number_at(f, "gflops", i), joules = number_at(f, "joules", i);
		buf_addf(out, "%s: cold %s, warm %s", text_at(f, "size", i), tools_show_ns(number_at(f, "cold_ns", i), cold),
		         tools_show_ns(number_at(f, "warm_ns", i), warm));
		if (isfinite(gflops))
			buf_addf(out, ", %.4g GFLOP/s", gflops);
		if (at(f, "pipe_percent", i))
			buf_addf(out, ", %.1f %% of the %s ceiling", number_at(f, "pipe_percent", i), text_at(f, "pipe", i));
		if (at(f, "copy_percent", i))
			buf_addf(out, ", %.1f %% of the copy ceiling", number_at(f, "copy_percent", i));
		if (isfinite(joules))
			buf_addf(out, "; %.4g J an execution at %.0f W", joules, number_at(f, "watts", i));
		else
			buf_addf(out, "; energy: %s", text_at(f, "energy", i));
		show_library(f, i, out);
		if (at(f, "registers", i))
			buf_addf(out, "; %s registers, %s bytes of shared memory, %s spilled", text_at(f, "registers", i),
			         text_at(f, "shared_bytes", i), text_at(f, "spill_bytes", i));
		if (at(f, "metrics", i))
			buf_addf(out, "; %s", text_at(f, "metrics", i));
		buf_addf(out, "; %s; evidence %s\n", text_at(f, "params", i), text_at(f, "evidence", i));
	}
}

static void tune_text(const struct fields *f, struct buf *out)
{
	for (int64_t i = 0; i < fields_int(f, "count", 0) && i < SIZES_MAX; i++) {
		char key[48], time[32];
#define AT(name) (snprintf(key, sizeof key, name "_%lld", (long long)i), fields_text(f, key, "0"))
		buf_addf(out, "%s: best %s", AT("size"), tools_show_ns(strtod(AT("median_ns"), NULL), time));
		buf_addf(out, " (%.4g GFLOP/s)", strtod(AT("gflops"), NULL));
		buf_addf(out, " with %s;", AT("best"));
		if (*fields_text(f, (snprintf(key, sizeof key, "value_%lld", (long long)i), key), ""))
			buf_addf(out, " objective %s;", AT("value"));
		if (*fields_text(f, (snprintf(key, sizeof key, "unproven_%lld", (long long)i), key), ""))
			buf_addf(out, " NOT PROVEN (%s);", AT("unproven"));
		else
			buf_addf(out, " evidence %s;", AT("evidence"));
		buf_addf(out, " %s tried", AT("tried"));
		buf_addf(out, " of %s valid,", AT("space"));
		buf_addf(out, " %s pruned,", AT("pruned"));
		buf_addf(out, " %s refused by the compiler,", AT("refused"));
		buf_addf(out, " %s wrong,", AT("wrong"));
		buf_addf(out, " %s broken", AT("broken"));
		show_library(f, i, out);
		buf_addc(out, '\n');
#undef AT
	}
}

/* What a job found stays in its row; what refuted it afterwards is said beside it. The checkpoints that were timed and have failed since;
 * NULL when all stand; free(). */
static char *refuted_since(struct db *db, const struct job *job, const struct fields *f)
{
	struct fields request = FIELDS_INIT;
	struct err ignored = ERR_INIT;
	struct buf out = BUF_INIT;
	if (strcmp(job->kind, "tune") != 0 && strcmp(job->kind, "compare") != 0 && strcmp(job->kind, "profile") != 0)
		return NULL;
	if (fields_parse(job->request, &request, &ignored) < 0)
		request = (struct fields)FIELDS_INIT;
	const int64_t ids[] = { fields_int(&request, "checkpoint", 0), fields_int(f, "a", 0), fields_int(f, "b", 0) };
	for (size_t i = 0; i < MEM_COUNT(ids); i++) {
		struct checkpoint c;
		if (ids[i] <= 0 || checkpoint_get(db, ids[i], &c, &ignored) < 0)
			continue;
		if (c.status == CHECKPOINT_FAILED)
			buf_addf(&out, "%scheckpoint %lld was refuted, so none of its figures may be quoted: %s", out.len ? "; " : "",
			         (long long)ids[i], c.note ? c.note : "see its validations");
		checkpoint_fini(&c);
	}
	fields_fini(&request);
	return out.len ? buf_steal(&out) : NULL;
}

static void draft_text(const struct fields *f, struct buf *out)
{
	static const struct { const char *name, *each; } lists[] = { { "questions", "question" }, { "notes", "note" } };
	buf_addf(out, "%s\n", fields_text(f, "context", ""));
	for (size_t i = 0; i < MEM_COUNT(lists); i++)
		for (const char *at = fields_text(f, lists[i].name, ""); *at;) {
			size_t n = strcspn(at, "\n");
			buf_addf(out, "%s: %.*s\n", lists[i].each, (int)n, at);
			at += n + (at[n] == '\n');
		}
}

static void ended_text(const struct job *job, const struct fields *f, struct buf *out)
{
	if (strcmp(job->kind, "draft") == 0)
		draft_text(f, out);
	else if (strcmp(job->kind, "tune") == 0)
		tune_text(f, out);
	else if (strcmp(job->kind, "compare") == 0)
		compare_text(f, out);
	else if (strcmp(job->kind, "profile") == 0)
		profile_text(f, out);
	else if (fields_get(f, "summary"))
		buf_addf(out, "%s\n", fields_get(f, "summary"));
	if (fields_get(f, "refuted"))
		buf_addf(out, "REFUTED: %s\n", fields_get(f, "refuted"));
	if (fields_get(f, "checkpoint"))
		buf_addf(out, "checkpoint %s\n", fields_get(f, "checkpoint"));
	if (fields_get(f, "details"))
		buf_addf(out, "%s\n", fields_get(f, "details"));
	if (fields_get(f, "prompt"))
		buf_addf(out, "\n%s\n", fields_get(f, "prompt"));
}

static char *job_text(const struct job *job, const struct fields *f, const char *message)
{
	struct buf out = BUF_INIT;
	switch (job->state) {
	case JOB_QUEUED:
		if (drain_is_later(job)) {
			buf_addf(&out, "job %s (%s) is kept for a machine that has its device: `peakd drain export FOLDER` takes it there", job->id,
			         job->kind);
			break;
		} /* fall through */
	case JOB_RUNNING:
		buf_addf(&out, "job %s (%s) is %s%s%s. Call job with action \"wait\" and this id.", job->id, job->kind,
		         job_state_name(job->state), *message ? ": " : "", message);
		break;
	case JOB_DONE:
		ended_text(job, f, &out);
		break;
	case JOB_FAILED:
		buf_addf(&out, "%s", job->error_text ? job->error_text : "failed");
		break;
	case JOB_CANCELLED:
		if (strcmp(job->kind, "transform") == 0 || strcmp(job->kind, "submit") == 0)
			buf_addf(&out, "job %s (%s) was cancelled: %s\n", job->id, job->kind, job->error_text ? job->error_text : "nothing is kept");
		else
			buf_addf(&out, "job %s (%s) was cancelled; what it had measured until then is kept\n", job->id, job->kind);
		if (strcmp(job->kind, "tune") == 0)
			tune_text(f, &out);
		break;
	case JOB_INTERRUPTED:
		buf_addf(&out, "job %s (%s) was interrupted when the daemon ended; job with action \"resume\" runs it again", job->id,
		         job->kind);
		break;
	}
	return buf_steal(&out);
}

static const char *next_step(const struct job *job)
{
	return job->state == JOB_INTERRUPTED ? "job {action: resume}" : drain_is_later(job) ? "peakd drain export FOLDER"
	                                                                                    : "job {action: wait}";
}

json_t *tools_show_job(struct app *app, struct db *db, const struct job *job, char **ret_text)
{
	struct fields f = FIELDS_INIT;
	struct err e = ERR_INIT;
	(void)app;
	if (job->result && fields_parse(job->result, &f, &e) < 0)
		f = (struct fields)FIELDS_INIT;
	char *message = last_message(db, job), *refuted = job_state_ended(job->state) ? refuted_since(db, job, &f) : NULL;
	utf8_cut(message, MESSAGE_MAX);
	if (refuted)
		fields_set(&f, "refuted", refuted);
	json_t *shown = json_pack("{s:s, s:s, s:s, s:s?}", "job", job->id, "kind", job->kind, "state", job_state_name(job->state),
	                          "error", job->error_text);
	if (job->error_text == NULL)
		json_object_del(shown, "error");
	if (*message)
		json_object_set_new(shown, "message", json_string(message));
	if (job->result)
		json_object_set_new(shown, "result", result_json(&f));
	if (!job_state_ended(job->state))
		json_object_set_new(shown, "next", json_string(next_step(job)));
	*ret_text = job_text(job, &f, message);
	free(message);
	free(refuted);
	fields_fini(&f);
	return shown;
}

/* Of a job that has not ended: the workflow that it moves, so that who goes on with it knows what is under way. */
static void show_workflow(const struct job *job, json_t *shown)
{
	struct fields request = FIELDS_INIT;
	struct err ignored = ERR_INIT;
	if (job_state_ended(job->state) || fields_parse(job->request, &request, &ignored) < 0)
		return;
	if (*fields_text(&request, "workflow", ""))
		json_object_set_new(shown, "workflow", json_string(fields_get(&request, "workflow")));
	fields_fini(&request);
}

json_t *tools_show_job_line(struct db *db, const struct job *job)
{
	char *message = last_message(db, job);
	message[utf8_fit(message, LINE_MAX_BYTES)] = '\0';
	json_t *shown = json_pack("{s:s, s:s, s:s}", "job", job->id, "kind", job->kind, "state", job_state_name(job->state));
	if (*message)
		json_object_set_new(shown, "message", json_string(message));
	show_workflow(job, shown);
	free(message);
	return shown;
}

/* --- checkpoints -------------------------------------------------------------------------------------------------------- */

/* flops: of the checkpoint's context for these parameters; NaN when undeclared. */
static double flops_of(const struct context *ctx, const char *params_line)
{
	struct params *params;
	struct err ignored = ERR_INIT;
	if (ctx == NULL || params_parse(ctx, params_line, false, &params, &ignored) < 0)
		return NAN;
	double flops = spec_flops(context_spec(ctx), params);
	params_free(params);
	return flops;
}

static double best_at(struct db *db, int64_t checkpoint, const struct measurement *like)
{
	struct measurement_query q = { .checkpoint = checkpoint, .device = like->device, .sizes = like->sizes, .warm = !like->cold };
	struct measurement m;
	struct err ignored = ERR_INIT;
	if (checkpoint <= 0 || measurement_best(db, &q, &m, &ignored) < 0)
		return NAN;
	double median = m.median_ns;
	measurement_fini(&m);
	return median;
}

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
		json_t *row = json_pack("{s:s, s:s, s:s, s:f, s:i, s:I}", "device", m->device, "sizes", m->sizes, "params", m->params,
		                        "median_ns", m->median_ns, "samples", (int)m->sample_count, "evidence",
		                        (json_int_t)m->validation);
		set_number(row, "gflops", flops_of(ctx, m->params) / m->median_ns);
		set_number(row, "rse", m->rse);
		set_library(db, c->id, m, row);
		set_number(row, "speedup", best_at(db, root, m) / m->median_ns);
		set_number(row, "step_speedup", best_at(db, c->parent_count ? c->parents[0] : 0, m) / m->median_ns);
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
	json_t *row = json_pack("{s:I, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:{s:I, s:I, s:I}}", "id", (json_int_t)c->id, "hash",
	                        c->hash.hex, "by", c->by, "status", checkpoint_status_name(c->status), "created",
	                        clock_iso(c->created_ms, created), "parents", parents, "tags", tags_json(db, c->id), "best",
	                        best_json(db, c, root, ctx), "validation", "passed",
	                        (json_int_t)counts.of[VALIDATION_PASSED], "failed", (json_int_t)counts.of[VALIDATION_FAILED],
	                        "skipped", (json_int_t)counts.of[VALIDATION_SKIPPED]);
	if (c->note)
		json_object_set_new(row, "note", json_string(c->note));
	context_free(ctx);
	return row;
}

json_t *tools_show_log(struct db *db, const struct checkpoint_list *log, size_t limit)
{
	json_t *list = json_array();
	int64_t root = log->count ? log->at[log->count - 1].id : 0;
	for (size_t i = 0; i < log->count; i++)
		if (log->at[i].parent_count == 0)
			root = log->at[i].id;
	for (size_t i = 0; i < log->count && i < limit; i++)
		json_array_append_new(list, checkpoint_json(db, &log->at[i], root));
	return list;
}
