/* run: the steps of a scripted workflow as tool calls; see run.h. What is right and how fast it is comes from the daemon's answers,
 * never from here. */
#include "daemon/run.h"

#include <errno.h>
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "daemon/bar.h"
#include "daemon/client.h"
#include "daemon/report.h"
#include "daemon/verbs.h"

enum { SOURCE_MAX = 1 << 20 };

struct run {
	const struct verb_line *line;
	struct client *client;
	const char *path;           /* of the context file */
	char *workflow, *backend;
	char **steps;               /* transformations in order */
	size_t step_count;
	struct report report;
	bool broken;                /* a step went wrong */
};

/* --- talking ---------------------------------------------------------------------------------------------------------------- */

/* A tool call with a progress line; *ret_structured may be NULL. */
static int call(struct run *r, const char *label, const char *tool, json_t *take_arguments, json_t **ret_structured,
                struct err *e)
{
	struct bar bar;
	bar_init(&bar, label);
	int rc = client_call(r->client, tool, take_arguments, bar_say, &bar, ret_structured, NULL, e);
	bar_clear(&bar);
	return rc;
}

static void say(const char *step, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(const char *step, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	printf("%-16s ", step);
	vprintf(fmt, ap);
	printf("\n");
	fflush(stdout);
	va_end(ap);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

static int64_t whole_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* --- before the first step -------------------------------------------------------------------------------------------------- */

static int read_source(const char *path, char **ret_text, struct err *e)
{
	struct buf text = BUF_INIT;
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return err_sys(e, errno, "%s: this context file cannot be read", path);
	size_t n = fread(buf_room(&text, SOURCE_MAX + 1), 1, SOURCE_MAX + 1, f);
	bool bad = ferror(f);
	int errnum = errno;
	fclose(f);
	text.len = n;
	text.data[n] = '\0';
	int rc = bad ? err_sys(e, errnum, "%s: this context file cannot be read", path) : 0;
	if (rc == 0 && n > SOURCE_MAX)
		rc = err_set(e, ERR_INPUT, "%s: a context file has at most %d bytes", path, SOURCE_MAX);
	*ret_text = rc == 0 ? buf_steal(&text) : NULL;
	buf_fini(&text);
	return rc;
}

/* "examples/matmul.peak.md" is "matmul"; free(). */
static char *stem_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t n = strlen(base);
	static const char *const ends[] = { ".peak.md", ".md" };
	for (size_t i = 0; i < MEM_COUNT(ends); i++) {
		size_t tail = strlen(ends[i]);
		if (n > tail && strcmp(base + n - tail, ends[i]) == 0)
			return mem_strn(base, n - tail);
	}
	return mem_str(base);
}

/* The command line as it could be typed again; free(). */
static char *command_of(void)
{
	struct buf out = BUF_INIT, raw = BUF_INIT;
	FILE *f = fopen("/proc/self/cmdline", "re");
	size_t n = f ? fread(buf_room(&raw, SOURCE_MAX), 1, SOURCE_MAX, f) : 0;
	if (f)
		fclose(f);
	for (size_t i = 0; i < n; i += strlen(raw.data + i) + 1) {
		const char *word = raw.data + i;
		bool quote = *word == '\0' || strpbrk(word, " \t\n\"$&|;<>*?()'") != NULL;
		buf_addf(&out, "%s%s%s%s", out.len ? " " : "", quote ? "\"" : "", word, quote ? "\"" : "");
	}
	buf_fini(&raw);
	return buf_steal(&out);
}

static bool is_taken(const json_t *workflows, const char *name)
{
	const json_t *w;
	size_t i;
	json_array_foreach(workflows, i, w)
		if (strcmp(text_of(w, "name"), name) == 0)
			return true;
	return false;
}

static const char *wanted_name(const struct run *r)
{
	const char *name = verb_get(r->line, "name");
	return name ? name : r->report.stem;
}

/* NAME, or NAME-2 and so on when there is a workflow of that name: an earlier run's figures stay what they are. */
static int choose_name(struct run *r, struct err *e)
{
	const char *wanted = wanted_name(r);
	json_t *list = NULL;
	int rc = call(r, "workflow", "workflow", json_pack("{s:s}", "action", "list"), &list, e);
	if (rc < 0)
		return rc;
	const json_t *workflows = json_object_get(list, "workflows");
	r->workflow = mem_str(wanted);
	for (int i = 2; is_taken(workflows, r->workflow); i++) {
		free(r->workflow);
		r->workflow = mem_fmt("%s-%d", wanted, i);
	}
	json_decref(list);
	return 0;
}

static int create(struct run *r, struct err *e)
{
	char *source = NULL;
	json_t *created = NULL;
	int rc = read_source(r->path, &source, e);
	if (rc == 0)
		rc = choose_name(r, e);
	if (rc == 0)
		rc = call(r, "context", "context_create",
		          json_pack("{s:s, s:s, s:s}", "source", source, "name", r->workflow, "file", r->path), &created, e);
	if (rc == 0) {
		const char *name = text_of(created, "workflow");
		if (*name && strcmp(name, r->workflow) != 0) {
			free(r->workflow);
			r->workflow = mem_str(name);
		}
		r->backend = mem_str(text_of(created, "backend"));
		say("workflow", "%s%s", r->workflow, strcmp(r->workflow, wanted_name(r)) ? " (the name itself is taken)" : "");
		report_add(&r->report, "baseline")->checkpoint = whole_of(created, "checkpoint");
	}
	json_decref(created);
	free(source);
	return rc;
}

/* "cuda:sm_90a" names an architecture, "cuda:0" and "cuda" a device. */
static bool is_architecture(const char *device)
{
	const char *colon = strchr(device, ':');
	return colon && !isdigit((unsigned char)colon[1]);
}

/* The device that will be used, as the daemon would choose it, for the report. */
static int choose_device(struct run *r, struct err *e)
{
	const char *asked = verb_get(r->line, "device");
	json_t *answer = NULL;
	const json_t *d;
	size_t i;
	if (asked && is_architecture(asked)) {
		r->report.compile_only = true;
		r->report.device = mem_str(asked);
		r->report.driver = mem_str("");
		return 0;
	}
	int rc = call(r, "devices", "devices", json_object(), &answer, e);
	if (rc < 0)
		return rc;
	json_array_foreach(json_object_get(answer, "devices"), i, d) {
		bool fits = asked && strchr(asked, ':') ? strcmp(text_of(d, "id"), asked) == 0
		                                        : strcmp(text_of(d, "backend"), asked ? asked : r->backend) == 0;
		if (!fits || r->report.device)
			continue;
		r->report.device = mem_fmt("%s (%s)", text_of(d, "name"), text_of(d, "id"));
		r->report.driver = mem_str(text_of(d, "driver"));
		r->report.compile_only = json_is_false(json_object_get(d, "runs"));
	}
	json_decref(answer);
	if (r->report.device == NULL)
		return err_set(e, ERR_NOT_FOUND, "there is no device %s here: `peakd devices` lists what there is, and --device "
		               "BACKEND:ARCHITECTURE (cuda:sm_90a) compiles without one", asked ? asked : r->backend);
	return 0;
}

/* --- which steps ------------------------------------------------------------------------------------------------------------ */

static void add_step(struct run *r, const char *text, size_t n)
{
	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	while (n && isspace((unsigned char)*text)) {
		text++;
		n--;
	}
	if (n)
		*MEM_PUSH(r->steps, r->step_count) = mem_strn(text, n);
}

static int read_sequence(struct run *r, const char *name, struct err *e)
{
	char *asked = mem_fmt("sequence:%s", name);
	json_t *answer = NULL;
	int rc = call(r, "sequence", "transformations", json_pack("{s:s}", "name", asked), &answer, e);
	free(asked);
	if (rc < 0)
		return rc;
	for (const char *line = text_of(answer, "text"); *line;) {
		size_t n = strcspn(line, "\n");
		add_step(r, line, n);
		line += n + (line[n] == '\n');
	}
	json_decref(answer);
	return r->step_count ? 0 : err_set(e, ERR_INPUT, "the sequence %s has no steps", name);
}

static bool is_sequence(const json_t *names, const char *name)
{
	const json_t *n;
	size_t i;
	json_array_foreach(names, i, n)
		if (json_string_value(n) && strcmp(json_string_value(n), name) == 0)
			return true;
	return false;
}

/* The sequence that is named as the file, with or without the backend at its end; NULL when there is none. free(). */
static int default_sequence(struct run *r, char **ret_name, struct err *e)
{
	json_t *answer = NULL;
	int rc = call(r, "sequence", "transformations", json_object(), &answer, e);
	if (rc < 0)
		return rc;
	const json_t *names = json_object_get(answer, "sequences");
	char *name = mem_str(r->report.stem), *end = strrchr(name, '-');
	if (!is_sequence(names, name) && end && strcmp(end + 1, r->backend) == 0)
		*end = '\0';
	if (!is_sequence(names, name)) {
		free(name);
		name = NULL;
	}
	json_decref(answer);
	*ret_name = name;
	return 0;
}

static int choose_steps(struct run *r, struct err *e)
{
	const char *sequence = verb_get(r->line, "sequence"), *given;
	char *name = NULL;
	for (size_t i = 0; (given = verb_get_nth(r->line, "transform", i)) != NULL; i++)
		add_step(r, given, strlen(given));
	if (r->step_count)
		return 0;
	if (sequence)
		return read_sequence(r, sequence, e);
	int rc = default_sequence(r, &name, e);
	if (rc == 0 && name)
		rc = read_sequence(r, name, e);
	else if (rc == 0)
		say("sequence", "none is called %s: only the baseline is tuned (--sequence or --transform name steps)", r->report.stem);
	free(name);
	return rc;
}

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

static void keep_times(struct report_step *step, const json_t *sizes)
{
	const json_t *size;
	size_t i;
	json_array_foreach(sizes, i, size) {
		struct report_time *t = MEM_PUSH(step->times, step->time_count);
		*t = (struct report_time){ .size = mem_str(text_of(size, "size")), .median_ns = number_of(size, "median_ns"),
		                           .gflops = number_of(size, "gflops") };
		t->params = tuning_part(text_of(size, "best"), t->size);
		say(step->name, "%s: %.4g ms with %s, %lld of %lld configurations tried", *t->size ? t->size : "tuned",
		    t->median_ns / 1e6, *t->params ? t->params : "no parameters", (long long)whole_of(size, "tried"),
		    (long long)whole_of(size, "space"));
	}
}

static int tune(struct run *r, struct report_step *step, struct err *e)
{
	json_t *arguments = json_pack("{s:s}", "at", r->workflow), *answer = NULL;
	if (r->report.compile_only) {
		json_decref(arguments);
		return 0;
	}
	int rc = common_arguments(r, arguments, "budget", 1000000, e);
	verbs_copy(r->line, arguments, "sizes", NULL);
	if (rc < 0)
		json_decref(arguments);
	else
		rc = call(r, step->name, "tune", arguments, &answer, e);
	if (rc == 0)
		keep_times(step, json_object_get(json_object_get(answer, "result"), "sizes"));
	json_decref(answer);
	return rc;
}

static int baseline(struct run *r, struct err *e)
{
	struct report_step *step = &r->report.steps[0];
	json_t *arguments = json_pack("{s:s}", "at", r->workflow), *answer = NULL;
	int rc = common_arguments(r, arguments, "samples", 1024, e);
	if (rc < 0) {
		json_decref(arguments);
		return rc;
	}
	rc = call(r, step->name, "validate", arguments, &answer, e);
	const json_t *result = json_object_get(answer, "result");
	if (rc == 0)
		say(step->name, "%s", text_of(result, "summary"));
	/* A device that runs nothing cannot pass; what does not compile for it is wrong all the same. */
	bool refused = r->report.compile_only ? whole_of(result, "failed_count") > 0 || whole_of(result, "passed_count") == 0
	                                      : !json_is_true(json_object_get(result, "passed"));
	if (rc == 0 && refused)
		rc = err_set(e, ERR_WRONG, "the context itself is not valid: %s\n%s", text_of(result, "summary"),
		             text_of(result, "details"));
	json_decref(answer);
	return rc < 0 ? rc : tune(r, step, e);
}

static int transform(struct run *r, const char *name, struct err *e)
{
	struct report_step *step = report_add(&r->report, name);
	json_t *arguments = json_pack("{s:s, s:s}", "at", r->workflow, "transformation", name), *answer = NULL;
	verbs_copy(r->line, arguments, "model", NULL);
	int rc = common_arguments(r, arguments, "samples", 1024, e);
	if (rc < 0) {
		json_decref(arguments);
		return rc;
	}
	rc = call(r, name, "transform", arguments, &answer, e);
	const json_t *result = json_object_get(answer, "result");
	step->checkpoint = rc == 0 ? whole_of(result, "checkpoint") : 0;
	if (rc == 0 && step->checkpoint == 0)
		rc = err_set(e, ERR_MODEL, "%s%s%s", text_of(result, "summary"),
		             *text_of(result, "pending") ? "; half done, see `peakd transform --pending " : "", text_of(result, "pending"));
	if (rc == 0)
		say(name, "%s", text_of(result, "summary"));
	json_decref(answer);
	return rc < 0 ? rc : tune(r, step, e);
}

/* --- the end ------------------------------------------------------------------------------------------------------------------ */

static void take_record(struct report_step *step, const json_t *checkpoint, bool compile_only)
{
	const json_t *counts = json_object_get(checkpoint, "validation");
	const char *status = text_of(checkpoint, "status");
	long long passed = whole_of(counts, "passed"), failed = whole_of(counts, "failed");
	step->validated = !step->failed && !compile_only && strcmp(status, "accepted") == 0 && passed > 0 && step->time_count > 0;
	if (step->failed && compile_only)
		return;
	free(step->validation);
	step->validation = compile_only ? mem_str("compiled, not run")
	                                : mem_fmt("%s, %lld passed, %lld failed", status, passed, failed);
}

/* Whether a step is validated is read from the record, where everybody can look it up. */
static int read_record(struct run *r, struct err *e)
{
	json_t *log = NULL;
	const json_t *c;
	size_t k;
	int rc = call(r, "log", "workflow", json_pack("{s:s, s:s}", "action", "log", "name", r->workflow), &log, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < r->report.step_count; i++) {
		struct report_step *step = &r->report.steps[i];
		json_array_foreach(json_object_get(log, "checkpoints"), k, c)
			if (step->checkpoint > 0 && whole_of(c, "id") == step->checkpoint)
				take_record(step, c, r->report.compile_only);
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
	int rc = create(r, e);
	if (rc == 0)
		rc = choose_device(r, e);
	if (rc == 0)
		rc = choose_steps(r, e);
	if (rc < 0)
		return rc;
	r->report.planned = r->step_count + 1;
	if (baseline(r, e) < 0)
		complain(r, e);
	/* Without a baseline there is nothing to compare with, whatever was asked for. */
	for (size_t i = 0; i < r->step_count && go_on(r) && (i > 0 || !r->broken); i++)
		if (transform(r, r->steps[i], e) < 0)
			complain(r, e);
	return client_interrupted(r->client) ? 0 : read_record(r, e);
}

static int finish(struct run *r)
{
	const char *json = verb_get(r->line, "json");
	struct err e = ERR_INIT;
	bool all = report_all_validated(&r->report);
	report_tables(&r->report, stdout);
	report_closing(&r->report, stdout);
	fflush(stdout);
	if (json && report_write(&r->report, json, &e) < 0)
		return verb_fail(r->line, &e);
	if (client_interrupted(r->client))
		return VERB_INTERRUPTED;
	if (r->report.compile_only)
		return r->broken ? VERB_FAILED : VERB_COMPILED;
	return all && !r->broken ? VERB_OK : VERB_FAILED;
}

static void run_fini(struct run *r)
{
	client_close(r->client);
	for (size_t i = 0; i < r->step_count; i++)
		free(r->steps[i]);
	free(r->steps);
	free(r->workflow);
	free(r->backend);
	report_fini(&r->report);
}

static int run_run(const struct verb_line *line)
{
	struct run r = { .line = line, .path = line->words[0] };
	struct err e = ERR_INIT;
	long long ignored;
	if (verb_int(line, "budget", 1, 1000000, 0, &ignored, &e) < 0 || verb_int(line, "samples", 1, 1024, 0, &ignored, &e) < 0) {
		verb_fail(line, &e);
		return VERB_USAGE;
	}
	r.report.stem = stem_of(r.path);
	r.report.command = command_of();
	r.report.started_ms = clock_wall_ms();
	int rc = access(r.path, R_OK) == 0 ? client_open(line->db, &r.client, &e)
	                                   : err_sys(&e, errno, "%s: this context file cannot be read", r.path);
	if (rc == 0)
		rc = run_steps(&r, &e);
	int status = rc < 0 ? verb_fail(line, &e) : finish(&r);
	run_fini(&r);
	return status;
}

static const struct verb_option options[] = {
	{ "sequence", "NAME", "the transformations to carry out (default: the sequence named as the file)" },
	{ "transform", "T", "a transformation, by name or as a sentence; may be repeated; replaces the sequence" },
	{ "model", "NAME", "a configured model, or replay:NAME for recordings" },
	{ "device", "D", "device as `peakd devices` lists it, or an architecture to compile for (cuda:sm_90a)" },
	{ "name", "W", "the workflow's name (default: the file's); a free one like it when it is taken" },
	{ "budget", "N", "configurations to try at most, per step and size (default 128)" },
	{ "samples", "N", "execution parameters to validate (default 16)" },
	{ "sizes", "SIZES", "tune only these input sizes, as \"n=2048\"" },
	{ "json", "FILE", "writes the figures there" },
	{ "keep-going", NULL, "a transformation that fails does not end the run" },
	{ NULL, NULL, NULL },
};

const struct verb run_verb = {
	.name = "run", .words = "FILE.peak.md", .summary = "a whole workflow: baseline, transformations, a table at the end",
	.details = "Every step is validated and tuned. Each run is a workflow of its own: when the name is taken, NAME-2 is used.\n"
	           "Exit status 0: every step validated; 1: not; 3: the device only compiles, nothing ran.\n",
	.options = options, .min_words = 1, .max_words = 1, .run = run_run,
};
