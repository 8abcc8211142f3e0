/* verbs: see verbs.h. Options become arguments of a tool call, and its text is printed. */
#include "daemon/verbs/verbs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "core/measure/roofline.h"
#include "core/transform/library.h"
#include "daemon/app.h"
#include "daemon/verbs/call.h"
#include "daemon/verbs/out.h"
#include "daemon/verbs/run_setup.h"
#include "daemon/verbs/table.h"
#include "daemon/verbs/verbs_simulate.h"

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);
	return n >= m && strcmp(text + n - m, end) == 0;
}

/* --- options to arguments --------------------------------------------------------------------------------------------------- */

static void copy_given(const struct verb *verb, const struct verb_given *given, json_t *arguments)
{
	const struct verb_number *number = verb_find_number(verb, given->option->name);
	char *name = mem_str(given->option->name);
	for (char *c = name; *c; c++)
		if (*c == '-')
			*c = '_';
	json_object_set_new(arguments, name,
			    given->option->value == NULL ? json_true()
			    : number && number->max      ? json_integer(strtoll(given->value, NULL, 10))
			    : number                     ? json_real(strtod(given->value, NULL))
							 : json_string(given->value));
	free(name);
}

void verbs_copy(const struct verb_line *line, json_t *arguments, const char *option, ...)
{
	va_list ap;
	va_start(ap, option);
	for (; option; option = va_arg(ap, const char *))
		for (size_t i = 0; i < line->given_count; i++)
			if (strcmp(line->given[i].option->name, option) == 0)
				copy_given(line->verb, &line->given[i], arguments);
	va_end(ap);
}

int verbs_call(const struct verb_line *line, const char *tool, json_t *take_arguments, json_t **ret_structured)
{
	return call_tool(line, tool, NULL, take_arguments, ret_structured);
}

int verbs_answer(const struct verb_line *line, json_t *take_answer, const char *fmt, ...)
{
	struct err e = ERR_INIT;
	va_list ap;
	va_start(ap, fmt);
	int rc = verb_get(line, "json") ? out_json(NULL, take_answer, JSON_INDENT(2), &e) : vprintf(fmt, ap);
	va_end(ap);
	json_decref(take_answer);
	return rc < 0 && e.code != ERR_NONE ? verb_fail(line, &e) : VERB_OK;
}

int verbs_transformation(const char *word, char **ret_text, struct err *e)
{
	struct stat st;
	bool exists = stat(word, &st) == 0,
	     file = strchr(word, '/') ? exists || library_is_name(word) : exists && ends_with(word, ".md");
	return file ? run_setup_read(word, ret_text, e) : 0;
}

int verbs_read(const struct verb_line *line, const char *uri, char **ret_text, struct err *e)
{
	struct client *client = NULL;
	int rc = client_open(line->db, &client, e);
	if (rc == 0)
		rc = client_read(client, uri, ret_text, e);
	client_close(client);
	return rc;
}

/* --- the verbs ---------------------------------------------------------------------------------------------------------------- */

static int show(const struct verb_line *line, const struct verb_call *call)
{
	struct err e = ERR_INIT;
	json_t *arguments = NULL;
	return call_arguments(line, call, 0, &arguments, &e) < 0 ? verb_fail(line, &e)
								 : call_tool(line, call->tool, call, arguments, NULL);
}

static int misused(const struct verb_line *line, const char *why)
{
	struct err e = ERR_INIT;
	err_set(&e, ERR_INPUT, "%s", why);
	return verb_misused(line, &e);
}

static int tune_run(const struct verb_line *line, const struct verb_call *call)
{
	if ((line->word_count == 0) == (verb_get(line, "simulate") == NULL))
		return misused(line,
			       "name a checkpoint to tune or a space to replay: peakd tune AT, or peakd tune --simulate FILE");
	return line->word_count ? show(line, call) : verbs_simulate(line);
}

const struct verb verbs_tune = { .name = "tune", .calls = VERB_CALL(.tool = "tune", .arguments = "at", .run = tune_run) };

const struct verb verbs_validate = { .name = "validate", .calls = VERB_CALL(.tool = "validate", .arguments = "at") };

/* The file of a transformation is sent as its text. */
static int transform_run(const struct verb_line *line, const struct verb_call *call)
{
	struct err e = ERR_INIT;
	json_t *arguments = NULL;
	char *text = NULL;
	if (line->word_count < 2 && verb_get(line, "pending") == NULL)
		return misused(line, "name a checkpoint and a transformation, or a half-done one to continue (--pending ID)");
	int rc = call_arguments(line, call, 0, &arguments, &e);
	if (rc == 0 && line->word_count > 1)
		rc = verbs_transformation(line->words[1], &text, &e);
	if (text)
		json_object_set_new(arguments, "transformation", json_string(text));
	free(text);
	if (rc == 0)
		return call_tool(line, call->tool, call, arguments, NULL);
	json_decref(arguments);
	return verb_fail(line, &e);
}

const struct verb verbs_transform = {
	.name = "transform", .calls = VERB_CALL(.tool = "transform", .arguments = "at transformation", .run = transform_run)
};

const struct verb verbs_transform_begin = { .name = "transform-begin",
					    .calls = VERB_CALL(.tool = "transform_begin", .arguments = "at transformation",
							       .run = transform_run) };

const struct verb verbs_transform_submit = { .name = "transform-submit",
					     .calls = VERB_CALL(.tool = "transform_submit", .arguments = "pending @answer") };

static int transformations_run(const struct verb_line *line, const struct verb_call *call)
{
	struct verb_call one = *call;
	struct err e = ERR_INIT;
	json_t *arguments = NULL;
	if (line->word_count > 0)
		one.tool = "read";
	return call_arguments(line, &one, 0, &arguments, &e) < 0 ? verb_fail(line, &e)
								 : call_tool(line, one.tool, call, arguments, NULL);
}

const struct verb verbs_transformations = { .name = "transformations",
					    .hidden = "limit",
					    .calls = VERB_CALL(.tool = "transformations", .arguments = "transformation",
							       .run = transformations_run, .rows = "transformations",
							       .columns = (const struct table_column[]){
								       { "name", "name", TABLE_STATE },
								       { "what it does", "summary", TABLE_TEXT },
								       { "backends", "backends", TABLE_TEXT },
								       { NULL, NULL, TABLE_TEXT } }) };

const struct verb verbs_compare = { .name = "compare", .calls = VERB_CALL(.tool = "compare", .arguments = "a b") };

/* The micro-profiling tools, and the figures that they may ask about. */
static int list_advisors(const struct verb_line *line)
{
	char *share = app_share();
	struct library *library = app_library(share);
	struct advisors all = { .count = 0 };
	struct err e = ERR_INIT;
	int rc = library_advisors(library, &all, &e);
	json_t *tools = json_array(), *figures = json_array(), *classes;
	bool json = verb_get(line, "json");
	for (size_t i = 0; i < all.count; i++) {
		json_array_append_new(tools, json_pack("{s:s, s:s, s:s, s:o}", "name", all.at[i].name, "when", all.at[i].when,
						       "text", all.at[i].text, "classes", classes = json_array()));
		for (int c = 0; c < ADVICE_CLASSES; c++)
			if (all.at[i].classes >> c & 1)
				json_array_append_new(classes, json_string(advice_class_names[c]));
		if (json)
			continue;
		printf("%-18s", all.at[i].name);
		for (int c = 0; c < ADVICE_CLASSES; c++)
			printf(" %s", all.at[i].classes >> c & 1 ? advice_class_names[c] : "-");
		printf("\n  when: %s\n  %s\n", all.at[i].when, all.at[i].text);
	}
	for (size_t i = 0; i < figures_known_count; i++)
		json_array_append_new(figures, json_pack("{s:s, s:s, s:s}", "name", figures_known[i].name, "unit",
							 figures_known[i].unit, "about", figures_known[i].about));
	for (size_t i = 0; i < figures_known_count && !json; i++)
		printf("%s  %-24s %-9s  %s\n", i ? "" : "\nfigures:\n", figures_known[i].name, figures_known[i].unit,
		       figures_known[i].about);
	int status = verbs_answer(line, json_pack("{s:o, s:o}", "tools", tools, "figures", figures), "%s", "");
	advice_fini(&all);
	library_free(library);
	free(share);
	return rc < 0 ? verb_fail(line, &e) : status;
}

/* The first size of a profile as a picture; the ceilings follow from the shares of them. */
static int draw_roofline(const struct verb_line *line, const json_t *structured, struct err *e)
{
	const json_t *size = json_array_get(json_object_get(json_object_get(structured, "result"), "sizes"), 0);
	const char *name = json_string_value(json_object_get(size, "size")),
		   *pipe = json_string_value(json_object_get(size, "pipe"));
	char *title = mem_fmt("%s, %s", line->words[0], name ? name : "?"),
	     *before = mem_fmt("checkpoint %.0f", run_setup_number(size, "against"));
	const struct roofline_point points[] = {
		{ line->words[0], run_setup_number(size, "intensity"), run_setup_number(size, "gflops") },
		{ before, run_setup_number(size, "before_intensity"), run_setup_number(size, "before_gflops") },
	};
	struct roofline r = { .title = title,
			      .pipe = pipe ? pipe : "arithmetic",
			      .pipe_gflops = 100 * run_setup_number(size, "gflops") / run_setup_number(size, "pipe_percent"),
			      .copy_gbs = 100 * run_setup_number(size, "gbs") / run_setup_number(size, "copy_percent"),
			      .points = points,
			      .point_count = MEM_COUNT(points) };
	struct buf svg = BUF_INIT;
	int rc = roofline_svg(&r, &svg) ? out_text(verb_get(line, "svg"), buf_text(&svg), true, e)
					: err_set(e, ERR_UNSUPPORTED,
						  "no roofline can be drawn: operations, bytes or ceilings are not known here");
	buf_fini(&svg);
	free(title);
	free(before);
	return rc;
}

static int profile_run(const struct verb_line *line, const struct verb_call *call)
{
	if (verb_get(line, "list-tools"))
		return list_advisors(line);
	if (line->word_count == 0)
		return misused(line, "which checkpoint? A workflow's name, a tag or a number is missing");
	if (verb_get(line, "svg") == NULL)
		return show(line, call);
	struct err e = ERR_INIT;
	json_t *structured = NULL, *arguments = NULL;
	int rc = out_check(verb_get(line, "svg"), true, &e), status = VERB_OK;
	if (rc == 0)
		rc = call_arguments(line, call, 0, &arguments, &e);
	/* Beside the kernel its parent is drawn. */
	if (rc == 0 && verb_get(line, "against") == NULL)
		json_object_set_new(arguments, "against", json_string("parent"));
	if (rc == 0)
		status = call_tool(line, call->tool, call, arguments, &structured);
	if (rc == 0 && status == VERB_OK)
		rc = draw_roofline(line, structured, &e);
	json_decref(structured);
	return rc < 0 ? verb_fail(line, &e) : status;
}

const struct verb verbs_profile = { .name = "profile",
				    .calls = VERB_CALL(.tool = "profile", .arguments = "at", .run = profile_run) };

const struct verb verbs_devices = { .name = "devices",
				    .calls = VERB_CALL(.tool = "devices", .rows = "devices",
						       .columns = (const struct table_column[]){
							       { "device", "id", TABLE_STATE },
							       { "name", "name", TABLE_TEXT },
							       { "driver", "driver", TABLE_TEXT },
							       { "shares CPU", "shares_cpu", TABLE_STATE },
							       { "last crash", "last_crash", TABLE_TEXT },
							       { NULL, NULL, TABLE_TEXT } }) };

/* --- jobs: only the log needs several calls, since the tool shows a part of it each time ------------------------------------- */

static void print_events(const json_t *events)
{
	const json_t *v;
	size_t i;
	json_array_foreach(events, i, v)
		printf("%lld %s %s %s\n", (long long)json_integer_value(json_object_get(v, "seq")),
		       json_string_value(json_object_get(v, "at")), json_string_value(json_object_get(v, "kind")),
		       json_string_value(json_object_get(v, "message")));
}

static int whole_log(const struct verb_line *line, const struct verb_call *call)
{
	const char *id = line->words[1];
	(void)call;
	struct client *client = NULL;
	struct err e = ERR_INIT;
	json_t *all = json_array();
	bool more = true;
	int rc = client_open(line->db, &client, &e);
	while (rc == 0 && more) {
		const json_t *last = json_array_get(all, json_array_size(all) - 1);
		json_t *answer = NULL;
		rc = client_call(client, "job",
				 json_pack("{s:s, s:s, s:I}", "action", "log", "id", id, "after",
					   json_integer_value(json_object_get(last, "seq"))),
				 NULL, &answer, NULL, &e);
		more = json_object_get(answer, "next") != NULL;
		json_array_extend(all, json_object_get(answer, "events"));
		json_decref(answer);
	}
	json_t *shown = json_pack("{s:s, s:O}", "job", id, "events", all);
	if (rc == 0 && verb_get(line, "json"))
		rc = out_json(NULL, shown, JSON_INDENT(2), &e);
	else if (rc == 0)
		print_events(all);
	json_decref(shown);
	json_decref(all);
	int status = verb_ended(client_interrupted(client), rc < 0 ? verb_fail(line, &e) : VERB_OK);
	client_close(client);
	return status;
}

const struct verb verbs_jobs = {
	.name = "jobs",
	.hidden = "id after",
	.calls =
		(const struct verb_call[]){
			{ "list", "", "the newest jobs (the default action)", "job", .takes = "limit", .rows = "jobs",
			  .columns = (const struct table_column[]){ { "job", "job", TABLE_STATE },
								    { "kind", "kind", TABLE_STATE },
								    { "state", "state", TABLE_STATE },
								    { "about", "about", TABLE_TEXT },
								    { "began", "created", TABLE_WHEN },
								    { "message", "error", TABLE_TEXT },
								    { NULL, NULL, TABLE_TEXT } } },
			{ "get", "ID", "the job's state, and its result once it has ended", "job", "id", .min = 1 },
			{ "wait", "ID", "waits until the job has ended, then shows the same", "job", "id", .min = 1 },
			{ "cancel", "ID", "cancels the job; its measurements are kept", "job_control", "id", .min = 1 },
			{ "resume", "ID", "resumes a job that was interrupted when its daemon ended", "job_control", "id",
			  .min = 1 },
			{ "log", "ID", "every event of the job, with its time", "job", "id", .min = 1, .run = whole_log },
			{ "explain", "ID", "what an optimize job, or the one that made a checkpoint, decided", "job", "id",
			  .min = 1 },
			{ .name = NULL },
		},
};

/* --- draft: reads the kernel file and writes the context; the tool does the work --------------------------------------------- */

/* Lines of the file are named as compilers name them: "line 12: …" becomes "FILE:12: …". */
static void print_list(const char *what, const char *path, const json_t *list)
{
	const json_t *x;
	size_t i;
	json_array_foreach(list, i, x)
	{
		const char *text = json_string_value(x);
		int line, end = 0;
		if (sscanf(text, "line %d:%n", &line, &end) == 1 && end)
			fprintf(stderr, "%s: %s:%d:%s\n", what, path, line, text + end);
		else
			fprintf(stderr, "%s: %s\n", what, text);
	}
}

/* A file with what it includes by names in quotes, as far as that is found beside the file that names it, each once. `#line` says
 * where the parts begin; the name of the first file is "". */
struct whole {
	struct buf text;
	char **seen;
	size_t seen_count;
};

static void add_file(struct whole *w, const char *path, const char *name, const char *text)
{
	unsigned number = 1;
	for (size_t len; *text; text += len + (text[len] == '\n'), number++) {
		len = strcspn(text, "\n");
		char *line = mem_strn(text, len), *given = MEM_NEW_N(char, len + 1), *real = NULL, *part = NULL;
		const char *slash = strrchr(path, '/');
		struct err ignored = ERR_INIT;
		if (sscanf(line, " # include \"%[^\"]", given) == 1) {
			char *beside = mem_fmt("%.*s%s", slash && *given != '/' ? (int)(slash - path) + 1 : 0, path, given);
			real = realpath(beside, NULL);
			free(beside);
		}
		if (real && (mem_has_text((const char *const *)w->seen, w->seen_count, real) ||
			     run_setup_read(real, &part, &ignored) == 0)) {
			if (part) {
				*MEM_PUSH(w->seen, w->seen_count) = mem_str(real);
				buf_addf(&w->text, "#line 1 \"%s\"\n", given);
				add_file(w, real, given, part);
			}
			buf_addf(&w->text, "\n#line %u \"%s\"\n", number + 1, name);
		} else {
			buf_addf(&w->text, "%s\n", line);
		}
		free(part);
		free(real);
		free(given);
		free(line);
	}
}

/* In place of the file's own text. */
static void add_includes(const char *path, json_t *arguments)
{
	struct whole w = { .text = BUF_INIT };
	const char *text = json_string_value(json_object_get(arguments, "source"));
	add_file(&w, path, "", text ? text : "");
	if (w.seen_count)
		json_object_set_new(arguments, "source", json_string(buf_text(&w.text)));
	mem_free_texts(w.seen, w.seen_count);
	buf_fini(&w.text);
}

static int draft_run(const struct verb_line *line, const struct verb_call *call)
{
	const char *path = line->words[0], *declared;
	struct err e = ERR_INIT;
	json_t *answer = NULL, *arguments = NULL, *lines = json_array();
	if (ends_with(path, ".py") || ends_with(path, ".json"))
		err_set(&e, ERR_INPUT, "%s holds no kernel: peakd import %s makes a context of a Python or JSON problem", path,
			path);
	if (e.code != ERR_NONE || out_check(verb_get(line, "out"), verb_get(line, "force") != NULL, &e) < 0 ||
	    call_arguments(line, call, 0, &arguments, &e) < 0) {
		json_decref(lines);
		return verb_fail(line, &e);
	}
	add_includes(path, arguments);
	for (size_t i = 0; (declared = verb_get_nth(line, "declare", i)) != NULL; i++)
		json_array_append_new(lines, json_string(declared));
	json_object_set_new(arguments, "declared", lines);
	if (verb_get(line, "backend") == NULL)
		json_object_set_new(arguments, "backend", json_string(ends_with(path, ".hip") ? "hip" : "cuda"));
	int status = verbs_call(line, "draft", arguments, &answer);
	if (status != VERB_OK)
		return status;
	if (verb_get(line, "json"))
		return out_json(NULL, answer, JSON_INDENT(2), &e) < 0 ? verb_fail(line, &e) : VERB_OK;
	/* With a model or a device the draft was a job, and the answer is the job. */
	const json_t *found = json_object_get(answer, "result") ? json_object_get(answer, "result") : answer;
	print_list("note", path, json_object_get(found, "notes"));
	print_list("question", path, json_object_get(found, "questions"));
	if (!json_is_true(json_object_get(found, "complete")))
		status = VERB_FAILED;
	else if (out_text(verb_get(line, "out"), run_setup_text(found, "context"), verb_get(line, "force") != NULL, &e) < 0)
		status = verb_fail(line, &e);
	if (json_array_size(json_object_get(found, "questions")) > 0)
		fprintf(stderr, "no context was written: answer each question with --declare 'LINE', or let a model "
				"answer with --model NAME\n");
	json_decref(answer);
	return status;
}

const struct verb verbs_draft = { .name = "draft",
				  .hidden = "declared",
				  .calls = VERB_CALL(.tool = "draft", .arguments = "@source", .run = draft_run) };
