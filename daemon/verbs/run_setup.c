/* run_setup: see run_setup.h. The daemon answers every question, because transformations, models and devices are where it finds
 * them. */
#include "daemon/verbs/run_setup.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/context/context.h"
#include "core/context/space.h"
#include "core/transform/library.h"
#include "core/transform/transformation.h"
#include "core/workers/pool.h"
#include "daemon/verbs/bar.h"
#include "daemon/verbs/out.h"

enum { SOURCE_MAX = 1 << 20, WHOLE = 100000000 /* bytes: never cut */, LOG_ALL = 100000 };

/* --- talking to the daemon and to people ------------------------------------------------------------------------------------ */

int run_setup_call(struct run *r, const char *label, const char *tool, json_t *take_arguments, json_t **ret_structured,
		   struct err *e)
{
	struct bar bar;
	bar_init(&bar, label);
	int rc = client_call(r->client, tool, take_arguments, &(struct client_watch){ bar_say, &bar }, ret_structured, NULL, e);
	bar_clear(&bar);
	return rc;
}

/* Reads peak://KIND/NAME ("device", "model"). -ERR_NOT_FOUND with the daemon's reason when it is not available. */
static int ask(struct run *r, const char *kind, const char *name, json_t **ret_shown, struct err *e)
{
	struct buf uri = BUF_INIT;
	char *text = NULL;
	buf_addf(&uri, "peak://%s/", kind);
	buf_add_uri(&uri, name);
	int rc = client_read(r->client, buf_text(&uri), &text, e);
	json_t *shown = rc == 0 ? json_loads(text, 0, NULL) : NULL;
	if (rc == 0 && !json_is_true(json_object_get(shown, "available")))
		rc = err_set(e, ERR_NOT_FOUND, "%s", run_setup_text(shown, "why"));
	if (rc == 0 && ret_shown)
		*ret_shown = json_incref(shown);
	json_decref(shown);
	free(text);
	buf_fini(&uri);
	return rc;
}

void run_setup_say(const struct run *r, const char *step, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fprintf(r->words, "%-16s ", step);
	vfprintf(r->words, fmt, ap);
	fprintf(r->words, "\n");
	fflush(r->words);
	va_end(ap);
}

const char *run_setup_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

double run_setup_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

int64_t run_setup_whole(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* The command line, quoted so that it could be typed again; free(). */
static char *command_line(void)
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

int run_setup_open(struct run *r, struct err *e)
{
	const char *json = verb_get(r->line, "json");
	r->words = json && out_is_stdout(json) ? stderr : stdout;
	r->report.command = command_line();
	r->report.started_ms = clock_wall_ms();
	if (r->path && access(r->path, R_OK) != 0)
		return err_sys(e, errno, "%s: this context file cannot be read", r->path);
	return client_open(r->line->db, &r->client, e);
}

void run_setup_fini(struct run *r)
{
	client_close(r->client);
	mem_free_texts(r->steps, r->step_count);
	for (size_t i = 0; i < r->made_count; i++)
		json_decref(r->made[i]);
	free(r->made);
	free(r->source);
	context_free(r->context);
	free(r->workflow);
	free(r->backend);
	report_fini(&r->report);
}

/* --- the context -------------------------------------------------------------------------------------------------------------- */

int run_setup_read(const char *path, char **ret_text, struct err *e)
{
	struct buf text = BUF_INIT;
	FILE *f = out_is_stdout(path) ? stdin : fopen(path, "re");
	if (f == NULL)
		return err_sys(e, errno, "%s: this file cannot be read", path);
	size_t n = fread(buf_room(&text, SOURCE_MAX + 1), 1, SOURCE_MAX + 1, f);
	bool bad = ferror(f);
	int errnum = errno;
	fclose(f);
	text.len = n;
	text.data[n] = '\0';
	int rc = bad ? err_sys(e, errnum, "%s: this file cannot be read", path) : 0;
	if (rc == 0 && n > SOURCE_MAX)
		rc = err_set(e, ERR_INPUT, "%s: this file has more than %d bytes", path, SOURCE_MAX);
	if (rc == 0 && n == 0)
		rc = err_set(e, ERR_INPUT, "%s: this file is empty", path);
	const char *odd = utf8_bad(text.data);
	if (rc == 0 && odd)
		rc = err_set(e, ERR_INPUT, "%s:%d: this line is not UTF-8: save the file as UTF-8", path,
			     utf8_line(text.data, odd));
	*ret_text = rc == 0 ? buf_steal(&text) : NULL;
	buf_fini(&text);
	return rc;
}

char *run_setup_stem(const char *path)
{
	static const char *const ends[] = { ".peak.md", ".md" };
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t n = strlen(base);
	for (size_t i = 0; i < MEM_COUNT(ends); i++) {
		size_t tail = strlen(ends[i]);
		if (n > tail && strcmp(base + n - tail, ends[i]) == 0)
			return mem_strn(base, n - tail);
	}
	return mem_str(base);
}

static int read_context(struct run *r, struct err *e)
{
	json_t *answer = NULL;
	int rc = r->path ? run_setup_read(r->path, &r->source, e)
			 : run_setup_call(r, "checkpoint", "read", json_pack("{s:s, s:i}", "at", r->from, "limit", WHOLE), &answer,
					  e);
	if (rc == 0 && r->path == NULL)
		r->source = mem_str(run_setup_text(answer, "text"));
	json_decref(answer);
	if (rc == 0)
		rc = context_parse(r->path ? r->path : r->from, r->source, &r->context, e);
	if (rc < 0)
		return rc;
	r->backend = mem_str(context_backend(r->context));
	r->report.stem = r->path ? run_setup_stem(r->path) : mem_str(context_kernel(r->context));
	return 0;
}

/* --- the workflow's name ------------------------------------------------------------------------------------------------------ */

static bool is_taken(const json_t *workflows, const char *name)
{
	const json_t *w;
	size_t i;
	json_array_foreach(workflows, i, w) if (strcmp(run_setup_text(w, "name"), name) == 0) return true;
	return false;
}

const char *run_setup_wanted_name(const struct run *r)
{
	const char *name = verb_get(r->line, "name");
	return name ? name : r->report.stem;
}

/* NAME, or NAME-2 and so on when it is taken, so that an earlier run's figures stay as they are. With --resume NAME itself is
 * meant. */
static int find_name(struct run *r, struct err *e)
{
	const char *wanted = run_setup_wanted_name(r);
	json_t *list = NULL;
	if (!*wanted)
		return err_set(e, ERR_INPUT, "--name needs a name");
	r->workflow = mem_str(wanted);
	int rc = run_setup_call(r, "workflow", "workflow", json_pack("{s:s, s:i}", "action", "list", "limit", 100000000), &list, e);
	if (rc < 0)
		return rc;
	const json_t *workflows = json_object_get(list, "workflows");
	r->resumed = verb_get(r->line, "resume") && is_taken(workflows, wanted);
	for (int i = 2; !r->resumed && is_taken(workflows, r->workflow); i++) {
		free(r->workflow);
		r->workflow = mem_fmt("%s-%d", wanted, i);
	}
	json_decref(list);
	return 0;
}

int run_setup_workflow(struct run *r, struct err *e)
{
	json_t *created = NULL;
	const char *tool = r->path ? "context_create" : "workflow_change";
	json_t *arguments = r->path ? json_pack("{s:s, s:s, s:s}", "source", r->source, "name", r->workflow, "file", r->path)
				    : json_pack("{s:s, s:s, s:s}", "action", "branch", "name", r->workflow, "at", r->from);
	int rc = run_setup_call(r, "workflow", tool, arguments, &created, e);
	if (rc < 0)
		return rc;
	const char *name = run_setup_text(created, "workflow");
	if (*name && strcmp(name, r->workflow) != 0) {
		free(r->workflow);
		r->workflow = mem_str(name);
	}
	r->resumed = verb_get(r->line, "resume") && json_is_true(json_object_get(created, "existed"));
	bool renamed = strcmp(r->workflow, run_setup_wanted_name(r)) != 0;
	run_setup_say(r, "workflow", "%s%s", r->workflow,
		      renamed      ? " (the name asked for is taken)"
		      : r->resumed ? " (resumed)"
				   : "");
	if (r->step_count == 0)
		run_setup_say(r, "sequence",
			      "no sequence is called %s: only the baseline is tuned (name steps with --sequence or "
			      "--transform)",
			      r->report.stem);
	report_add(&r->report, "baseline")->checkpoint = run_setup_whole(created, "checkpoint");
	json_decref(created);
	return 0;
}

/* --- the device --------------------------------------------------------------------------------------------------------------- */

static int find_device(struct run *r, struct err *e)
{
	const char *asked = verb_get(r->line, "device"), *id = asked ? asked : r->backend, *colon = strchr(id, ':');
	json_t *answer = NULL;
	for (size_t i = 0; i < POOL_BACKENDS; i++)
		if (pool_is_of_backend(id, pool_backends[i]) && strcmp(pool_backends[i], r->backend) != 0)
			return err_set(e, ERR_INPUT, "device %s runs %s code, and %s is a context for %s", id, pool_backends[i],
				       r->path ? r->path : r->from, r->backend);
	int rc = ask(r, "device", id, &answer, e);
	bool numbered = strchr(id, '/') == NULL && (!colon || colon[1 + strspn(colon + 1, "0123456789")] == '\0');
	/* For architectures and sets of devices the daemon's own words are better. */
	if (rc == -ERR_NOT_FOUND && numbered)
		return err_set(e, ERR_NOT_FOUND,
			       "there is no device %s here: `peakd devices` lists what there is, and --device "
			       "BACKEND:ARCHITECTURE "
			       "(cuda:sm_90a) compiles without one",
			       id);
	if (rc < 0)
		return rc;
	const json_t *list = json_object_get(answer, "devices"), *first = json_array_get(list, 0);
	r->report.compile_only = json_is_false(json_object_get(first, "runs"));
	r->report.emulated = json_is_true(json_object_get(first, "emulated"));
	r->report.device = r->report.compile_only ? mem_str(id)
						  : mem_fmt("%s (%s)", run_setup_text(first, "name"),
							    json_array_size(list) > 1 ? id : run_setup_text(first, "id"));
	r->report.driver = mem_str(r->report.compile_only ? "" : run_setup_text(first, "driver"));
	json_decref(answer);
	return 0;
}

/* --- the steps ---------------------------------------------------------------------------------------------------------------- */

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

/* The text of one transformation or, as sequence:NAME, of one sequence. */
static int read_library(struct run *r, const char *label, const char *name, char **ret_text, struct err *e)
{
	struct bar bar;
	json_t *ignored = NULL;
	bar_init(&bar, label);
	int rc = client_call(r->client, "read", json_pack("{s:s, s:i}", "transformation", name, "limit", WHOLE),
			     &(struct client_watch){ bar_say, &bar }, &ignored, ret_text, e);
	bar_clear(&bar);
	json_decref(ignored);
	return rc;
}

static int read_sequence(struct run *r, const char *name, struct err *e)
{
	char *full = mem_fmt("sequence:%s", name), *text = NULL;
	int rc = read_library(r, "sequence", full, &text, e);
	free(full);
	if (rc < 0)
		return rc;
	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n");
		add_step(r, line, n);
		line += n + (line[n] == '\n');
	}
	free(text);
	return r->step_count ? 0 : err_set(e, ERR_INPUT, "the sequence %s has no steps", name);
}

static bool holds_text(const json_t *names, const char *name)
{
	const json_t *n;
	size_t i;
	json_array_foreach(names, i, n) if (json_string_value(n) && strcmp(json_string_value(n), name) == 0) return true;
	return false;
}

/* --transform, --sequence, or the sequence named as the file, with or without the backend at its end. */
static int find_steps(struct run *r, struct err *e)
{
	const char *sequence = verb_get(r->line, "sequence"), *given;
	json_t *answer = NULL;
	for (size_t i = 0; (given = verb_get_nth(r->line, "transform", i)) != NULL; i++) {
		if (library_is_name(given) && strchr(given, '/'))
			return err_set(e, ERR_INPUT,
				       "--transform %s: a file is applied by `peakd transform`; here put it into "
				       "$XDG_DATA_HOME/peakd/transforms/ and give its name",
				       given);
		/* Names may be listed; a sentence has commas of its own. */
		for (size_t n; library_is_name(given) && given[n = strcspn(given, ",")]; given += n + 1)
			add_step(r, given, n);
		add_step(r, given, strlen(given));
	}
	if (r->step_count)
		return 0;
	if (sequence)
		return read_sequence(r, sequence, e);
	int rc = run_setup_call(r, "sequence", "transformations", json_object(), &answer, e);
	if (rc < 0)
		return rc;
	const json_t *names = json_object_get(answer, "sequences");
	char *name = mem_str(r->report.stem), *end = strrchr(name, '-');
	if (!holds_text(names, name) && end && strcmp(end + 1, r->backend) == 0)
		*end = '\0';
	if (holds_text(names, name))
		rc = read_sequence(r, name, e);
	free(name);
	json_decref(answer);
	return rc;
}

/* Sentences are transformations of their own. Other resources of the tool ("sequence:NAME") are no steps. */
static int check_step(struct run *r, const char *step, const char *const *past, size_t past_count, struct err *e)
{
	char *text = NULL;
	struct transformation *t = NULL;
	if (!library_is_name(step))
		return 0;
	if (strncmp(step, "sequence:", 9) == 0)
		return err_set(e, ERR_INPUT, "there is no transformation \"%s\"; --sequence names a sequence", step);
	int rc = read_library(r, step, step, &text, e);
	if (rc == 0)
		rc = transformation_parse(text, step, &t, e);
	if (rc == 0 && past)
		rc = transformation_check(t, r->backend, past, past_count, e);
	transformation_free(t);
	free(text);
	return rc;
}

int run_setup_check_steps(struct run *r, bool fit, struct err *e)
{
	char **past = NULL;
	size_t count = 0, i;
	json_t *log = NULL;
	const json_t *c;
	int rc = 0;
	if (r->from)
		rc = run_setup_call(r, "checkpoint", "workflow",
				    json_pack("{s:s, s:s, s:i}", "action", "log", "at", r->from, "limit", LOG_ALL), &log, e);
	json_array_foreach(json_object_get(log, "checkpoints"), i, c) * MEM_PUSH(past, count) = mem_str(run_setup_text(c, "by"));
	json_decref(log);
	for (i = 0; i < r->step_count && rc == 0; i++) {
		*MEM_PUSH(past, count) = mem_str(r->steps[i]);
		rc = check_step(r, r->steps[i], fit ? (const char *const *)past : NULL, count - 1, e);
	}
	mem_free_texts(past, count);
	return rc;
}

/* --- the options -------------------------------------------------------------------------------------------------------------- */

/* A resumed workflow may have all its steps and need no model. */
static int check_models(struct run *r, struct err *e)
{
	int rc = 0;
	if (verb_get(r->line, "resume") || (r->step_count == 0 && verb_get(r->line, "model") == NULL))
		return 0;
	for (size_t i = 0; rc == 0; i++) {
		const char *model = verb_get_nth(r->line, "model", i);
		if (model == NULL && i > 0)
			break;
		rc = ask(r, "model", model && *model ? model : "default", NULL, e);
		if (rc < 0 && model == NULL) {
			struct err why = *e;
			rc = err_set(e, why.code,
				     "%s. The baseline needs none: `peakd workflow create %s`, then `peakd validate` "
				     "and `peakd tune`",
				     why.text, r->path ? r->path : "FILE.peak.md");
		}
	}
	return rc;
}

static int check_sizes(const struct run *r, struct err *e)
{
	const char *sizes = verb_get(r->line, "sizes");
	struct params *fixed = NULL;
	struct space *space = NULL;
	int rc = sizes ? params_parse(r->context, sizes, false, &fixed, e) : 0;
	if (rc == 0 && sizes)
		rc = space_declares(r->context, NULL, fixed, e);
	if (rc == 0)
		rc = space_new(r->context, NULL, fixed, &space, e);
	if (rc < 0 && sizes)
		err_wrap(e, "--sizes %s", sizes);
	space_free(space);
	params_free(fixed);
	return rc;
}

int run_setup(struct run *r, long long attempt, struct err *e)
{
	int rc = read_context(r, e);
	if (rc == 0)
		rc = find_name(r, e);
	if (rc == 0)
		rc = find_device(r, e);
	if (rc == 0)
		rc = find_steps(r, e);
	if (rc == 0 && out_check(verb_get(r->line, "json"), true, e) < 0)
		rc = err_wrap(e, "--json");
	if (rc == 0)
		rc = check_sizes(r, e);
	if (rc == 0 && r->from && r->path)
		rc = run_setup_call(r, "checkpoint", "workflow", json_pack("{s:s, s:s}", "action", "show", "at", r->from), NULL, e);
	/* Of a resumed workflow, run_resume first says where its own steps differ from these. */
	if (rc == 0)
		rc = run_setup_check_steps(r, !r->resumed, e);
	return rc < 0 || attempt > 1 ? rc : check_models(r, e);
}
