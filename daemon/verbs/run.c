/* run: `peakd run FILE.peak.md`: a whole workflow from the shell. It creates a context, tunes the baseline, applies transformations
 * one after the other, validates and tunes each, and prints a table. Verdicts and times come from the daemon alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "daemon/verbs/run_setup.h"
#include "daemon/verbs/verbs.h"

enum { LOG_ALL = 100000, SEARCH_MIN_S = 2 };

/* --- resuming ----------------------------------------------------------------------------------------------------------------- */

/* Waits for the jobs that an earlier run left at work on this workflow, and cancels interrupted ones: this run does them anew. A
 * tune is left alone, because the tune tool joins it. However a job ends, the log tells what it made. */
static int settle_jobs(struct run *r, struct err *e)
{
	for (;;) {
		json_t *list = NULL;
		const json_t *job;
		char *id = NULL;
		bool interrupted = false;
		size_t i;
		int rc = run_setup_call(r, "job", "job", json_pack("{s:s, s:i}", "action", "list", "limit", 1000), &list, e);
		json_array_foreach(json_object_get(list, "jobs"), i, job)
		{
			if (id || strcmp(run_setup_text(job, "workflow"), r->workflow) != 0 ||
			    strcmp(run_setup_text(job, "kind"), "tune") == 0)
				continue;
			id = mem_str(run_setup_text(job, "job"));
			interrupted = strcmp(run_setup_text(job, "state"), "interrupted") == 0;
		}
		json_decref(list);
		if (rc < 0 || id == NULL)
			return rc;
		if (interrupted) {
			rc = run_setup_call(r, "job", "job_control", json_pack("{s:s, s:s}", "action", "cancel", "id", id), NULL,
					    e);
		} else {
			run_setup_say(r, "resume", "waiting for job %s of an earlier run", id);
			rc = client_wait(r->client, id, NULL, NULL, e);
		}
		free(id);
		if (rc < 0)
			return rc;
	}
}

/* A sentence is a transformation named by its text's hash. */
static bool is_by(const json_t *checkpoint, const char *step)
{
	const char *by = run_setup_text(checkpoint, "by");
	struct hash h = hash_text(step);
	char *text = mem_fmt("text-%.12s", h.hex);
	bool same = strcmp(by, step) == 0 || strcmp(by, text) == 0;
	free(text);
	return same;
}

/* Puts the log's checkpoints beside the steps: r->made[i] is the one of step i, NULL where --keep-going went on without it. */
static int align(struct run *r, const json_t *log, struct err *e)
{
	const json_t *list = json_object_get(log, "checkpoints");
	size_t count = json_array_size(list), at = 0;
	bool keep_going = verb_get(r->line, "keep-going") != NULL;
	r->made = MEM_NEW_N(json_t *, r->step_count + 1);
	for (size_t i = 0; i <= r->step_count && at < count; i++) {
		json_t *checkpoint = json_array_get(list, count - 1 - at); /* newest first */
		long long id = run_setup_whole(checkpoint, "id");
		if (strcmp(run_setup_text(checkpoint, "status"), "failed") == 0)
			return err_set(e, ERR_WRONG,
				       "checkpoint %lld (%s) of workflow %s was refuted, so nothing can build on it: "
				       "%s; `peakd workflow restore "
				       "%s %lld~1` goes back before it",
				       id, run_setup_text(checkpoint, "by"), r->workflow, run_setup_text(checkpoint, "note"),
				       r->workflow, id);
		if (i == 0 || is_by(checkpoint, r->steps[i - 1])) {
			r->made[i] = json_incref(checkpoint);
			r->made_count = i + 1;
			at++;
		} else if (!keep_going) {
			break;
		}
	}
	if (at == count)
		return 0;
	const json_t *odd = json_array_get(list, count - 1 - at);
	return err_set(e, ERR_CONFLICT,
		       "workflow %s does not begin with these steps: its checkpoint %lld was made by %s, and %s is asked for "
		       "there. Give the steps it was made with, or start another workflow (--name)",
		       r->workflow, (long long)run_setup_whole(odd, "id"), run_setup_text(odd, "by"),
		       r->made_count <= r->step_count ? r->steps[r->made_count - 1] : "nothing");
}

static int read_made(struct run *r, struct err *e)
{
	json_t *log = NULL;
	int rc = run_setup_call(r, "log", "workflow",
				json_pack("{s:s, s:s, s:i}", "action", "log", "name", r->workflow, "limit", LOG_ALL), &log, e);
	for (size_t i = 0; i < r->made_count; i++)
		json_decref(r->made[i]);
	free(r->made);
	r->made = NULL;
	r->made_count = 0;
	if (rc == 0)
		rc = align(r, log, e);
	json_decref(log);
	return rc;
}

/* Reads the log twice: once so that foreign steps are refused before a job is cancelled, once because a job waited for may have
 * made another checkpoint. */
static int resume(struct run *r, struct err *e)
{
	int rc = read_made(r, e);
	if (rc == 0)
		rc = settle_jobs(r, e);
	if (rc == 0)
		rc = read_made(r, e);
	if (rc == 0)
		run_setup_say(r, "resume", "%zu of %zu steps exist", r->made_count ? r->made_count - 1 : 0, r->step_count);
	return rc;
}

/* --- tuning ------------------------------------------------------------------------------------------------------------------- */

/* The workflow's head; a resumed run may still be at an earlier step. */
static json_t *at_step(const struct run *r, const struct report_step *step)
{
	char number[32];
	snprintf(number, sizeof number, "%lld", (long long)step->checkpoint);
	return json_pack("{s:s}", "at", r->resumed ? number : r->workflow);
}

/* The words of `params` that are not words of `size`; free(). */
static char *tuning_part(const char *params, const char *size)
{
	struct buf out = BUF_INIT, all = BUF_INIT;
	buf_addf(&all, " %s ", size);
	while (*params) {
		size_t n = strcspn(params, " ");
		char *word = mem_fmt(" %.*s ", (int)n, params);
		if (n && strstr(buf_text(&all), word) == NULL)
			buf_addf(&out, "%s%.*s", out.len ? " " : "", (int)n, params);
		free(word);
		params += n + (params[n] == ' ');
	}
	buf_fini(&all);
	return buf_steal(&out);
}

static void keep_times(const struct run *r, struct report_step *step, const json_t *sizes)
{
	const json_t *size;
	size_t i;
	json_array_foreach(sizes, i, size)
	{
		if (*run_setup_text(size, "unproven")) {
			run_setup_say(r, step->name, "%s: no time, %s", run_setup_text(size, "size"),
				      run_setup_text(size, "unproven"));
			continue;
		}
		struct report_time *t = MEM_PUSH(step->times, step->time_count);
		*t = (struct report_time){ .size = mem_str(run_setup_text(size, "size")),
					   .median_ns = run_setup_number(size, "median_ns"),
					   .gflops = run_setup_number(size, "gflops"),
					   .gbs = run_setup_number(size, "gbs"),
					   .library = run_setup_number(size, "library_ratio"),
					   .library_low = run_setup_number(size, "library_low"),
					   .library_high = run_setup_number(size, "library_high"),
					   .evidence = run_setup_whole(size, "evidence") };
		struct err ignored = ERR_INIT; /* what is not there was not compared */
		layout_init(&speed_layout, &t->speed);
		layout_read(&speed_layout, size, &t->speed, &ignored);
		t->params = tuning_part(run_setup_text(size, "best"), t->size);
		char joules[32];
		bool weighed = isfinite(t->speed.joules);
		run_setup_say(r, step->name, "%s: %.4g ms%s%s with %s, %lld of %lld configurations tried%s%s",
			      *t->size ? t->size : "tuned", t->median_ns / 1e6, weighed ? ", " : "",
			      weighed ? layout_joules(t->speed.joules, joules) : "", *t->params ? t->params : "no parameters",
			      (long long)run_setup_whole(size, "tried"), (long long)run_setup_whole(size, "space"),
			      t->speed.compared ? "; " : "", t->speed.compared ? t->speed.compared : "");
		if (*run_setup_text(size, "library") && !isfinite(t->library))
			run_setup_say(r, step->name, "library: %s", run_setup_text(size, "library"));
	}
}

/* --seconds: how long this step may search. The steps left share the time left equally, less what each needs beside its search: a
 * poorly tuned baseline would flatter every step after it. */
static int64_t search_seconds(const struct run *r)
{
	int64_t left = (int64_t)(r->report.planned - r->report.step_count + 1);
	int64_t seconds = ((r->deadline - clock_now()) / left - r->overhead_ns) / CLOCK_S;
	return seconds > SEARCH_MIN_S ? seconds : SEARCH_MIN_S;
}

/* `began`: when the step began, validation included. */
static int tune(struct run *r, struct report_step *step, int64_t began, struct err *e)
{
	json_t *answer = NULL;
	int64_t seconds = 0;
	if (r->report.compile_only || r->report.emulated)
		return 0;
	json_t *arguments = at_step(r, step);
	/* Finished sizes are answered from the record, and only the rest is measured. */
	if (r->resumed)
		json_object_set_new(arguments, "resume", json_true());
	if (r->deadline) {
		/* Validating the finalists after the search takes about as long as the validation before it. */
		if (r->overhead_ns == 0)
			r->overhead_ns = 2 * (clock_now() - began);
		seconds = search_seconds(r);
		json_object_set_new(arguments, "seconds", json_integer(seconds));
	}
	verbs_copy(r->line, arguments, "device", "budget", "sizes", NULL);
	int rc = run_setup_call(r, step->name, "tune", arguments, &answer, e);
	if (rc == 0)
		keep_times(r, step, json_object_get(json_object_get(answer, "result"), "sizes"));
	/* One wrong configuration refutes the step, whatever was fast. */
	if (rc == 0 && json_object_get(json_object_get(answer, "result"), "refuted"))
		rc = err_set(e, ERR_WRONG, "%s", run_setup_text(json_object_get(answer, "result"), "refuted"));
	json_decref(answer);
	int64_t beside = clock_now() - began - seconds * CLOCK_S;
	if (beside > r->overhead_ns)
		r->overhead_ns = beside;
	return rc;
}

/* --- the steps ---------------------------------------------------------------------------------------------------------------- */

/* Where nothing runs, the compiler's figures are all there is to see. */
static void say_details(struct run *r, const json_t *result)
{
	if (r->report.compile_only && json_is_string(json_object_get(result, "details")))
		run_setup_say(r, "", "%s", run_setup_text(result, "details"));
}

static int validate(struct run *r, struct report_step *step, const char *what, struct err *e)
{
	json_t *arguments = at_step(r, step), *answer = NULL;
	verbs_copy(r->line, arguments, "device", "samples", NULL);
	int rc = run_setup_call(r, step->name, "validate", arguments, &answer, e);
	const json_t *result = json_object_get(answer, "result");
	if (rc == 0) {
		run_setup_say(r, step->name, "%s", run_setup_text(result, "summary"));
		say_details(r, result);
	}
	/* Without a device nothing can pass, but code that does not compile fails all the same. */
	bool refused = r->report.compile_only
			       ? run_setup_whole(result, "failed_count") > 0 || run_setup_whole(result, "passed_count") == 0
			       : !json_is_true(json_object_get(result, "passed"));
	if (rc == 0 && refused)
		rc = err_set(e, ERR_WRONG, "%s is not valid: %s\n%s", what, run_setup_text(result, "summary"),
			     run_setup_text(result, "details"));
	json_decref(answer);
	return rc;
}

/* Takes a step from the earlier run. A step that was only compiled then is validated where something runs now. */
static int take_made(struct run *r, struct report_step *step, const json_t *checkpoint, struct err *e)
{
	int64_t began = clock_now();
	bool judged = r->report.compile_only || strcmp(run_setup_text(checkpoint, "status"), "accepted") == 0;
	step->checkpoint = run_setup_whole(checkpoint, "id");
	run_setup_say(r, step->name, "checkpoint %lld exists", (long long)step->checkpoint);
	int rc = judged ? 0 : validate(r, step, "this step", e);
	return rc < 0 ? rc : tune(r, step, began, e);
}

static int baseline(struct run *r, struct err *e)
{
	struct report_step *step = &r->report.steps[0];
	const json_t *made = r->made_count ? r->made[0] : NULL;
	int64_t began = clock_now();
	if (made && (strcmp(run_setup_text(made, "status"), "accepted") == 0 || r->made_count > 1))
		return take_made(r, step, made, e);
	int rc = validate(r, step, "the context itself", e);
	return rc < 0 ? rc : tune(r, step, began, e);
}

static int transform(struct run *r, size_t i, struct err *e)
{
	const char *name = r->steps[i];
	struct report_step *step = report_add(&r->report, name);
	int64_t began = clock_now();
	if (i + 1 < r->made_count)
		return r->made[i + 1] ? take_made(r, step, r->made[i + 1], e)
				      : err_set(e, ERR_WRONG, "this step failed in the earlier run, which continued without it");
	json_t *arguments = json_pack("{s:s, s:s}", "at", r->workflow, "transformation", name), *answer = NULL;
	verbs_copy(r->line, arguments, "model", "device", "samples", NULL);
	int rc = run_setup_call(r, name, "transform", arguments, &answer, e);
	const json_t *result = json_object_get(answer, "result");
	const char *pending = run_setup_text(result, "pending");
	step->checkpoint = rc == 0 ? run_setup_whole(result, "checkpoint") : 0;
	if (rc == 0 && step->checkpoint == 0)
		rc = err_set(e, ERR_MODEL, "%s%s%s", run_setup_text(result, "summary"),
			     *pending ? "; it is half done, see `peakd transform --pending " : "", pending);
	if (rc == 0) {
		run_setup_say(r, name, "%s", run_setup_text(result, "summary"));
		say_details(r, result);
	}
	json_decref(answer);
	return rc < 0 ? rc : tune(r, step, began, e);
}

/* --- the end ------------------------------------------------------------------------------------------------------------------ */

static void take_record(struct report_step *step, const json_t *checkpoint, bool compile_only, bool emulated)
{
	const json_t *counts = json_object_get(checkpoint, "validation");
	const char *status = run_setup_text(checkpoint, "status");
	long long passed = run_setup_whole(counts, "passed"), failed = run_setup_whole(counts, "failed");
	step->validated = !step->failed && !compile_only && strcmp(status, "accepted") == 0 && passed > 0 &&
			  (step->time_count > 0 || emulated);
	if (step->failed && compile_only)
		return;
	free(step->validation);
	step->validation = compile_only ? mem_str("compiled, not run")
					: mem_fmt("%s, %lld passed, %lld failed%s", status, passed, failed,
						  emulated ? ", no times: emulated" : "");
}

/* Whether a step is validated comes from the record, where everybody can look it up. */
static int read_record(struct run *r, struct err *e)
{
	json_t *log = NULL;
	const json_t *c;
	size_t k;
	int rc = run_setup_call(r, "log", "workflow",
				json_pack("{s:s, s:s, s:i}", "action", "log", "name", r->workflow, "limit", 1000), &log, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < r->report.step_count; i++) {
		struct report_step *step = &r->report.steps[i];
		json_array_foreach(json_object_get(log, "checkpoints"), k,
				   c) if (step->checkpoint > 0 && run_setup_whole(c, "id") == step->checkpoint)
			take_record(step, c, r->report.compile_only, r->report.emulated);
	}
	json_decref(log);
	return 0;
}

/* The last step failed: says why, and marks it. */
static void complain(struct run *r, struct err *e)
{
	struct report_step *step = &r->report.steps[r->report.step_count - 1];
	r->broken = step->failed = true;
	free(step->validation);
	step->validation = mem_str(e->code == ERR_CANCELLED ? "cancelled" : "failed");
	fflush(stdout);
	fprintf(stderr, "peakd run: %s: %s\n", step->name, e->text);
	*e = (struct err)ERR_INIT;
}

static int run_steps(struct run *r, struct err *e)
{
	int rc = run_setup(r, 1, e);
	if (rc == 0)
		rc = run_setup_workflow(r, e);
	if (rc == 0 && r->resumed)
		rc = resume(r, e);
	if (rc == 0 && r->resumed)
		rc = run_setup_check_steps(r, true, e);
	if (rc < 0)
		return rc;
	r->report.planned = r->step_count + 1;
	if (r->deadline)
		run_setup_say(
			r, "time", "about %lld s for %zu step%s (--seconds); the searches share the time that validation leaves",
			(long long)((r->deadline - clock_now()) / CLOCK_S), r->report.planned, r->report.planned == 1 ? "" : "s");
	if (baseline(r, e) < 0)
		complain(r, e);
	/* Without a baseline there is nothing to compare with, so --keep-going does not help. */
	for (size_t i = 0; i < r->step_count && !client_interrupted(r->client); i++) {
		if (r->broken && (i == 0 || !verb_get(r->line, "keep-going")))
			break;
		if (transform(r, i, e) < 0)
			complain(r, e);
	}
	return client_interrupted(r->client) ? 0 : read_record(r, e);
}

static int finish(struct run *r)
{
	const char *json = verb_get(r->line, "json"), *name = run_setup_wanted_name(r);
	struct err e = ERR_INIT;
	bool all = report_all_validated(&r->report), renamed = strcmp(name, r->workflow) != 0;
	report_tables(&r->report, r->words);
	report_closing(&r->report, r->words);
	fflush(r->words);
	if (json && report_write(&r->report, json, &e) < 0)
		return verb_fail(r->line, &e);
	if (client_interrupted(r->client))
		fprintf(stderr, "peakd run: checkpoints and measurements are kept; the same command%s%s%s continues\n",
			r->resumed ? "" : " with --resume", renamed ? " --name " : "", renamed ? r->workflow : "");
	if (r->report.compile_only)
		return r->broken ? VERB_FAILED : VERB_COMPILED;
	return all && !r->broken ? VERB_OK : VERB_FAILED;
}

static int run_run(const struct verb_line *line)
{
	struct run r = { .line = line, .path = line->words[0] };
	struct err e = ERR_INIT;
	long long seconds = verb_number(line, "seconds", 0);
	r.deadline = seconds ? clock_now() + seconds * CLOCK_S : 0;
	int rc = run_setup_open(&r, &e);
	if (rc == 0)
		rc = run_steps(&r, &e);
	int status = rc < 0 ? verb_fail(line, &e) : finish(&r);
	status = verb_ended(client_interrupted(r.client), status);
	run_setup_fini(&r);
	return status;
}

const struct verb run_verb = { .name = "run", .run = run_run };
