/* study: `peakd study FILE.peak.md`: how reliably models apply transformations. Each is tried a number of times, independently and
 * from the same checkpoint, by one model or several. The next one starts from the first accepted result. Several tries run at once,
 * so that slow models answer side by side. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/transform/library.h"
#include "daemon/verbs/bar.h"
#include "daemon/verbs/out.h"
#include "daemon/verbs/run_setup.h"
#include "daemon/verbs/study_table.h"
#include "daemon/verbs/verbs.h"

struct study {
	struct run run; /* file, workflow, device and the transformations in order */
	json_t *rows;   /* study_table.h */
	long long tries, first, parallel;
	int64_t at;  /* the checkpoint that the next transformation starts from */
	size_t done; /* transformations that are behind it */
};

/* --- one try ------------------------------------------------------------------------------------------------------------------ */

static int start_try(struct study *s, const json_t *row, long long number, char **ret_id, struct err *e)
{
	char *at = mem_fmt("%lld", (long long)run_setup_whole(row, "parent"));
	json_t *arguments = json_pack("{s:s, s:O, s:I}", "at", at, "transformation", json_object_get(row, "transformation"), "try",
				      (json_int_t)number);
	free(at);
	if (*run_setup_text(row, "model"))
		json_object_set(arguments, "model", json_object_get(row, "model"));
	verbs_copy(s->run.line, arguments, "device", "samples", NULL);
	return client_start(s->run.client, "transform", arguments, ret_id, e);
}

static int end_try(struct study *s, json_t *row, long long number, const char *id, struct err *e)
{
	const char *transformation = run_setup_text(row, "transformation");
	char *label = mem_fmt("%s %lld", transformation, number);
	struct bar bar;
	json_t *job = NULL;
	bar_init(&bar, label);
	int rc = client_wait(s->run.client, id, &(struct client_watch){ bar_say, &bar }, &job, e);
	bar_clear(&bar);
	free(label);
	if (rc < 0)
		return rc;
	const json_t *result = json_object_get(job, "result");
	const char *first = run_setup_text(result, "first_try"), *state = run_setup_text(job, "state"),
		   *error = run_setup_text(job, "error");
	int64_t checkpoint = strcmp(state, "done") == 0 ? run_setup_whole(result, "checkpoint") : 0,
		repairs = run_setup_whole(result, "repairs");
	error = checkpoint ? "" : *error ? error : state;
	json_t *try = json_pack("{s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "try", (json_int_t)number, "first", first, "checkpoint",
				(json_int_t)checkpoint, "asked", (json_int_t)run_setup_whole(result, "asked"), "repairs",
				(json_int_t)repairs, "tokens_in", (json_int_t)run_setup_whole(result, "tokens_in"), "tokens_out",
				(json_int_t)run_setup_whole(result, "tokens_out"), "tokens_cached",
				(json_int_t)run_setup_whole(result, "tokens_cached"));
	if (*error)
		json_object_set_new(try, "error", json_string(error));
	json_array_append_new(json_object_get(row, "each"), try);
	run_setup_say(&s->run, transformation, "try %lld: %s%s%s", number, *first ? first : "not judged",
		      !checkpoint ? ", not accepted: "
		      : repairs   ? ", accepted after repair"
				  : "",
		      error);
	json_decref(job);
	return 0;
}

static int row_tries(struct study *s, json_t *row, struct err *e)
{
	char **ids = NULL;
	size_t count = 0, ended = 0;
	int rc = 0;
	while (rc == 0 && ended < (size_t)s->tries) {
		while (rc == 0 && count < (size_t)s->tries && count < ended + (size_t)s->parallel) {
			char *id = NULL;
			rc = start_try(s, row, s->first + (long long)count, &id, e);
			if (rc == 0)
				*MEM_PUSH(ids, count) = id;
		}
		if (rc == 0)
			rc = end_try(s, row, s->first + (long long)ended, ids[ended], e);
		ended += rc == 0;
	}
	/* After an interruption nobody waits for the other tries. */
	for (size_t k = ended; rc < 0 && k < count; k++) {
		struct err ignored = ERR_INIT;
		client_call(s->run.client, "job_control", json_pack("{s:s, s:s}", "action", "cancel", "id", ids[k]), NULL, NULL,
			    NULL, &ignored);
	}
	mem_free_texts(ids, count);
	return rc;
}

/* --- all of them -------------------------------------------------------------------------------------------------------------- */

/* Moves the workflow's head to where the next transformation starts, so that its log is a line of accepted checkpoints. */
static int stand_at(struct study *s, const char *at, struct err *e)
{
	json_t *moved = NULL;
	int rc = run_setup_call(&s->run, "checkpoint", "workflow_change",
				json_pack("{s:s, s:s, s:s}", "action", "restore", "name", s->run.workflow, "at", at), &moved, e);
	if (rc == 0)
		s->at = run_setup_whole(moved, "checkpoint");
	json_decref(moved);
	return rc;
}

/* Tries a transformation by each model. The next one starts from the first try that is accepted. */
static int transformation(struct study *s, const char *name, struct err *e)
{
	size_t models = 0, k;
	int64_t accepted = 0;
	int rc = 0;
	const char *model;
	const json_t *try;
	do {
		model = verb_get_nth(s->run.line, "model", models);
		if (model == NULL && models > 0)
			break;
		json_t *row = json_pack("{s:s, s:s, s:I, s:[]}", "transformation", name, "model", model ? model : "", "parent",
					(json_int_t)s->at, "each");
		json_array_append_new(s->rows, row);
		models++;
		rc = row_tries(s, row, e);
		json_array_foreach(json_object_get(row, "each"), k, try) accepted =
			accepted ? accepted : run_setup_whole(try, "checkpoint");
	} while (rc == 0 && model);
	if (rc < 0)
		return rc;
	if (accepted == 0)
		return err_set(e, ERR_WRONG, "no try of %s was accepted, so the transformations after it cannot be tried", name);
	char *at = mem_fmt("%lld", (long long)accepted);
	rc = stand_at(s, at, e);
	free(at);
	return rc;
}

static int write_json(const struct study *s, const char *path, struct err *e)
{
	char date[32];
	json_t *o = study_table_json(s->rows);
	clock_iso(s->run.report.started_ms, date);
	json_object_set_new(o, "context", json_string(s->run.report.stem));
	json_object_set_new(o, "device", json_string(s->run.report.device ? s->run.report.device : ""));
	json_object_set_new(o, "driver", json_string(s->run.report.driver ? s->run.report.driver : ""));
	json_object_set_new(o, "ran", json_boolean(!s->run.report.compile_only));
	json_object_set_new(o, "date", json_string(date));
	json_object_set_new(o, "command", json_string(s->run.report.command));
	int rc = out_json(path, o, JSON_INDENT(1), e);
	json_decref(o);
	return rc;
}

/* Writes the figures so far, so that a study of hours that is killed leaves them. The file is replaced in one piece. Standard
 * output and pipes get the figures once, at the end. */
static int save(const struct study *s, bool end, struct err *e)
{
	const char *json = verb_get(s->run.line, "json");
	struct stat st;
	if (json == NULL || json_array_size(s->rows) == 0)
		return 0;
	if (out_is_stdout(json) || (stat(json, &st) == 0 && !S_ISREG(st.st_mode)))
		return end ? write_json(s, json, e) : 0;
	char *part = mem_fmt("%s.part", json);
	struct err ignored = ERR_INIT; /* the folder may be read-only while the file itself is writable */
	int rc = write_json(s, part, &ignored) == 0 && rename(part, json) == 0 ? 0 : write_json(s, json, e);
	free(part);
	return rc;
}

static int run_all(struct study *s, struct err *e)
{
	struct run *r = &s->run;
	int rc = run_setup(r, s->first, e);
	if (rc == 0 && r->step_count == 0)
		rc = err_set(e, ERR_INPUT, "no transformation is named: give --sequence or --transform");
	if (rc == 0)
		rc = run_setup_workflow(r, e);
	if (rc < 0)
		return rc;
	s->at = r->report.steps[0].checkpoint;
	if (r->path && r->from)
		rc = stand_at(s, r->from, e);
	for (size_t i = 0; i < r->step_count && rc == 0; i++) {
		rc = transformation(s, r->steps[i], e);
		s->done += rc == 0;
		if (rc == 0)
			rc = save(s, false, e);
	}
	return rc;
}

/* Prints the command that continues an interrupted study; its other options stay as they were. */
static void say_again(const struct study *s)
{
	fprintf(stderr, "peakd study: accepted checkpoints are kept; to continue: peakd study --from %lld", (long long)s->at);
	for (size_t i = s->done; i < s->run.step_count; i++) {
		bool word = library_is_name(s->run.steps[i]);
		fprintf(stderr, " --transform %s%s%s", word ? "" : "\"", s->run.steps[i], word ? "" : "\"");
	}
	fprintf(stderr, "\n");
}

/* 0 only when every try was accepted in the end. */
static int finish(struct study *s, int rc, struct err *e)
{
	json_t *figures = study_table_json(s->rows), *all = json_object_get(figures, "pooled");
	bool good = run_setup_whole(all, "given_up") == 0 && run_setup_whole(all, "unjudged") == 0,
	     any = json_array_size(s->rows) > 0;
	struct err late = ERR_INIT;
	if (any)
		study_table_print(figures, s->run.words);
	json_decref(figures);
	if (s->run.report.compile_only && any)
		fprintf(s->run.words, "nothing ran: %s is compile-only, and \"right\" means that it compiled\n",
			s->run.report.device);
	fflush(s->run.words);
	if (rc < 0)
		verb_fail(s->run.line, e);
	if (save(s, true, &late) < 0)
		rc = verb_fail(s->run.line, &late);
	if (client_interrupted(s->run.client) && s->at)
		say_again(s);
	if (rc != 0 || !good)
		return VERB_FAILED;
	return s->run.report.compile_only ? VERB_COMPILED : VERB_OK;
}

static int study_run(const struct verb_line *line)
{
	struct study s = {
		.run = { .line = line, .path = line->word_count ? line->words[0] : NULL, .from = verb_get(line, "from") },
		.rows = json_array(),
		.tries = verb_number(line, "tries", 5),
		.first = verb_number(line, "first", 1),
		.parallel = verb_number(line, "parallel", 5),
	};
	struct err e = ERR_INIT;
	if (s.run.path == NULL && s.run.from == NULL) {
		err_set(&e, ERR_INPUT, "name the context to start with: peakd study FILE.peak.md, or peakd study --from AT");
		json_decref(s.rows);
		return verb_misused(line, &e);
	}
	int rc = run_setup_open(&s.run, &e);
	int status = rc < 0 ? verb_fail(line, &e) : finish(&s, run_all(&s, &e), &e);
	status = verb_ended(client_interrupted(s.run.client), status);
	run_setup_fini(&s.run);
	json_decref(s.rows);
	return status;
}

const struct verb study_verb = { .name = "study", .run = study_run };
