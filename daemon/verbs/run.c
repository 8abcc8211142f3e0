/* run: the steps of a scripted workflow as tool calls; see run.h. What is right and how fast it is comes from the daemon's answers,
 * never from here. */
#include "daemon/verbs/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "daemon/verbs/run_check.h"
#include "daemon/verbs/run_resume.h"
#include "daemon/verbs/run_setup.h"
#include "daemon/verbs/verbs.h"

/* --- the steps ---------------------------------------------------------------------------------------------------------------- */

static int common_arguments(const struct run *r, json_t *arguments, const char *number, long long max, struct err *e)
{
	verbs_copy(r->line, arguments, "device", NULL);
	return verbs_copy_int(r->line, arguments, number, 1, max, e);
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
	json_array_foreach(sizes, i, size) {
		if (*run_setup_text(size, "unproven")) {
			run_setup_say(r, step->name, "%s: not quoted, %s", run_setup_text(size, "size"), run_setup_text(size, "unproven"));
			continue;
		}
		struct report_time *t = MEM_PUSH(step->times, step->time_count);
		*t = (struct report_time){ .size = mem_str(run_setup_text(size, "size")), .median_ns = run_setup_number(size, "median_ns"),
		                           .gflops = run_setup_number(size, "gflops"), .library = run_setup_number(size, "library_ratio"),
		                           .library_low = run_setup_number(size, "library_low"),
		                           .library_high = run_setup_number(size, "library_high"),
		                           .evidence = run_setup_whole(size, "evidence") };
		t->params = tuning_part(run_setup_text(size, "best"), t->size);
		run_setup_say(r, step->name, "%s: %.4g ms with %s, %lld of %lld configurations tried", *t->size ? t->size : "tuned",
		    t->median_ns / 1e6, *t->params ? t->params : "no parameters", (long long)run_setup_whole(size, "tried"),
		    (long long)run_setup_whole(size, "space"));
		if (*run_setup_text(size, "library") && !isfinite(t->library))
			run_setup_say(r, step->name, "library: %s", run_setup_text(size, "library"));
	}
}

/* The workflow's head; of a workflow that is gone on with it may be an earlier step. */
static json_t *at_step(const struct run *r, const struct report_step *step)
{
	char number[32];
	snprintf(number, sizeof number, "%lld", (long long)step->checkpoint);
	return json_pack("{s:s}", "at", r->resumed ? number : r->workflow);
}

static int tune(struct run *r, struct report_step *step, struct err *e)
{
	json_t *arguments = at_step(r, step), *answer = NULL;
	if (r->report.compile_only || r->report.emulated) {
		json_decref(arguments);
		return 0;
	}
	/* Answers from the record what an earlier run had finished, and measures only the rest. */
	if (r->resumed)
		json_object_set_new(arguments, "resume", json_true());
	int rc = common_arguments(r, arguments, "budget", 1000000, e);
	verbs_copy(r->line, arguments, "sizes", NULL);
	if (rc < 0)
		json_decref(arguments);
	else
		rc = run_setup_call(r, step->name, "tune", arguments, &answer, e);
	if (rc == 0)
		keep_times(r, step, json_object_get(json_object_get(answer, "result"), "sizes"));
	json_decref(answer);
	return rc;
}

/* Where nothing runs, what a step was compiled to is all there is to see. */
static void say_details(struct run *r, const json_t *result)
{
	if (r->report.compile_only && json_is_string(json_object_get(result, "details")))
		run_setup_say(r, "", "%s", run_setup_text(result, "details"));
}

static int validate(struct run *r, struct report_step *step, const char *what, struct err *e)
{
	json_t *arguments = at_step(r, step), *answer = NULL;
	int rc = common_arguments(r, arguments, "samples", 1024, e);
	if (rc < 0) {
		json_decref(arguments);
		return rc;
	}
	rc = run_setup_call(r, step->name, "validate", arguments, &answer, e);
	const json_t *result = json_object_get(answer, "result");
	if (rc == 0)
		run_setup_say(r, step->name, "%s", run_setup_text(result, "summary"));
	if (rc == 0)
		say_details(r, result);
	/* A device that runs nothing cannot pass; what does not compile for it is wrong all the same. */
	bool refused = r->report.compile_only ? run_setup_whole(result, "failed_count") > 0 || run_setup_whole(result, "passed_count") == 0
	                                      : !json_is_true(json_object_get(result, "passed"));
	if (rc == 0 && refused)
		rc = err_set(e, ERR_WRONG, "%s is not valid: %s\n%s", what, run_setup_text(result, "summary"), run_setup_text(result, "details"));
	json_decref(answer);
	return rc;
}

/* Of an earlier run: only what was judged where nothing runs is judged again where something does. */
static int take_made(struct run *r, struct report_step *step, const json_t *checkpoint, struct err *e)
{
	bool judged = r->report.compile_only || strcmp(run_setup_text(checkpoint, "status"), "accepted") == 0;
	step->checkpoint = run_setup_whole(checkpoint, "id");
	run_setup_say(r, step->name, "checkpoint %lld, made before", (long long)step->checkpoint);
	int rc = judged ? 0 : validate(r, step, "this step", e);
	return rc < 0 ? rc : tune(r, step, e);
}

static int baseline(struct run *r, struct err *e)
{
	struct report_step *step = &r->report.steps[0];
	const json_t *made = run_resume_made(r, 0);
	bool judged = made && (strcmp(run_setup_text(made, "status"), "accepted") == 0 || r->made_count > 1);
	if (judged)
		return take_made(r, step, made, e);
	int rc = validate(r, step, "the context itself", e);
	return rc < 0 ? rc : tune(r, step, e);
}

static int transform(struct run *r, size_t i, struct err *e)
{
	const char *name = r->steps[i];
	struct report_step *step = report_add(&r->report, name);
	if (run_resume_made(r, i + 1))
		return take_made(r, step, run_resume_made(r, i + 1), e);
	if (run_resume_lost(r, i + 1))
		return err_set(e, ERR_WRONG, "it failed in the earlier run, which went on without it");
	json_t *arguments = json_pack("{s:s, s:s}", "at", r->workflow, "transformation", name), *answer = NULL;
	verbs_copy(r->line, arguments, "model", NULL);
	int rc = common_arguments(r, arguments, "samples", 1024, e);
	if (rc < 0) {
		json_decref(arguments);
		return rc;
	}
	rc = run_setup_call(r, name, "transform", arguments, &answer, e);
	const json_t *result = json_object_get(answer, "result");
	step->checkpoint = rc == 0 ? run_setup_whole(result, "checkpoint") : 0;
	if (rc == 0 && step->checkpoint == 0)
		rc = err_set(e, ERR_MODEL, "%s%s%s", run_setup_text(result, "summary"),
		             *run_setup_text(result, "pending") ? "; half done, see `peakd transform --pending " : "", run_setup_text(result, "pending"));
	if (rc == 0) {
		run_setup_say(r, name, "%s", run_setup_text(result, "summary"));
		say_details(r, result);
	}
	json_decref(answer);
	return rc < 0 ? rc : tune(r, step, e);
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
	                                : mem_fmt("%s, %lld passed, %lld failed%s", status, passed, failed, emulated ? ", no times: emulated" : "");
}

/* Whether a step is validated is read from the record, where everybody can look it up. */
static int read_record(struct run *r, struct err *e)
{
	json_t *log = NULL;
	const json_t *c;
	size_t k;
	int rc = run_setup_call(r, "log", "workflow", json_pack("{s:s, s:s, s:i}", "action", "log", "name", r->workflow, "limit", 1000), &log, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < r->report.step_count; i++) {
		struct report_step *step = &r->report.steps[i];
		json_array_foreach(json_object_get(log, "checkpoints"), k, c)
			if (step->checkpoint > 0 && run_setup_whole(c, "id") == step->checkpoint)
				take_record(step, c, r->report.compile_only, r->report.emulated);
	}
	json_decref(log);
	return 0;
}

/* The last step went wrong. */
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

static bool go_on(const struct run *r)
{
	return !client_interrupted(r->client) && (!r->broken || verb_get(r->line, "keep-going"));
}

static int run_steps(struct run *r, struct err *e)
{
	int rc = run_check(r, 1, e);
	if (rc == 0)
		rc = run_setup_workflow(r, e);
	if (rc == 0 && r->resumed)
		rc = run_resume(r, e);
	if (rc == 0 && r->resumed)
		rc = run_check_steps(r, true, e);
	if (rc < 0)
		return rc;
	r->report.planned = r->step_count + 1;
	if (baseline(r, e) < 0)
		complain(r, e);
	/* Without a baseline there is nothing to compare with, whatever was asked for. */
	for (size_t i = 0; i < r->step_count && go_on(r) && (i > 0 || !r->broken); i++)
		if (transform(r, i, e) < 0)
			complain(r, e);
	return client_interrupted(r->client) ? 0 : read_record(r, e);
}

static void say_again(const struct run *r)
{
	const char *name = run_setup_wanted_name(r);
	bool renamed = strcmp(name, r->workflow) != 0;
	fprintf(stderr, "peakd run: what is made and measured is kept; the same command%s%s%s goes on\n", r->resumed ? "" : " with --resume",
	        renamed ? " --name " : "", renamed ? r->workflow : "");
}

static int finish(struct run *r)
{
	const char *json = verb_get(r->line, "json");
	struct err e = ERR_INIT;
	bool all = report_all_validated(&r->report);
	report_tables(&r->report, r->words);
	report_closing(&r->report, r->words);
	fflush(r->words);
	if (json && report_write(&r->report, json, &e) < 0)
		return verb_fail(r->line, &e);
	if (client_interrupted(r->client))
		say_again(r);
	if (r->report.compile_only)
		return r->broken ? VERB_FAILED : VERB_COMPILED;
	return all && !r->broken ? VERB_OK : VERB_FAILED;
}

static int run_run(const struct verb_line *line)
{
	struct run r = { .line = line, .path = line->words[0] };
	struct err e = ERR_INIT;
	long long ignored;
	if (verb_int(line, "budget", 1, 1000000, 0, &ignored, &e) < 0 || verb_int(line, "samples", 1, 1024, 0, &ignored, &e) < 0)
		return verb_misused(line, &e);
	int rc = run_setup_open(&r, &e);
	if (rc == 0)
		rc = run_steps(&r, &e);
	int status = rc < 0 ? verb_fail(line, &e) : finish(&r);
	status = verb_ended(client_interrupted(r.client), status);
	run_setup_fini(&r);
	return status;
}

static const struct verb_option options[] = {
	{ "sequence", "NAME", "the transformations to carry out (default: the sequence named as the file)" },
	{ "transform", "T", "a transformation, by name or as a sentence; may be repeated; replaces the sequence" },
	{ "model", "NAME", "a configured model, or replay:NAME for recordings" },
	{ "device", "D", "device as `peakd devices` lists it, or an architecture to compile for (cuda:sm_90a)" },
	{ "name", "W", "the workflow's name (default: the file's); a free one like it when it is taken" },
	{ "resume", NULL, "goes on with the workflow of that name where an earlier run of it was cut off; begins it when there is none" },
	{ "budget", "N", "configurations to try at most, per step and size (default 128)" },
	{ "samples", "N", "execution parameters to validate (default 16)" },
	{ "sizes", "SIZES", "tune only these input sizes, as \"n=2048\"" },
	{ "json", "FILE", "writes the figures there; -: to standard output, the words to stderr" },
	{ "keep-going", NULL, "a transformation that fails does not end the run" },
	{ NULL, NULL, NULL },
};

const struct verb run_verb = {
	.name = "run", .words = "FILE.peak.md", .summary = "a whole workflow: baseline, transformations, a table at the end",
	.details = "Every step is validated and tuned; an emulated device gives no times, so there it is only validated. Each run is a\n"
	           "workflow of its own: when the name is taken, NAME-2 is used. With --resume the workflow of that name is gone on with,\n"
	           "after whatever cut it off: steps that are made and tuned are not made again, their figures come from the record, and a\n"
	           "tune that was cut off measures only what is missing. The same command line can be repeated until all is done.\n"
	           "Ctrl-C and SIGTERM cancel the job that is under way (exit status 130, 143); a run that is killed otherwise leaves it to the\n"
	           "daemon (`peakd jobs` shows and cancels it).\n"
	           "Exit status 0: every step validated; 1: not; 3: the device only compiles, nothing ran.\n",
	.options = options, .min_words = 1, .max_words = 1, .run = run_run,
};
