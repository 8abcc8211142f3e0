/* verbs: see verbs.h. Options become arguments of a tool call, and its text is printed. */
#include "daemon/verbs/verbs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "core/measure/roofline.h"
#include "daemon/app.h"
#include "daemon/verbs/bar.h"
#include "daemon/verbs/out.h"
#include "daemon/verbs/run_setup.h"
#include "daemon/verbs/verbs_simulate.h"

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

static int print_json(const struct verb_line *line, const json_t *value)
{
	struct err e = ERR_INIT;
	return out_json(NULL, value, JSON_INDENT(2), &e) < 0 ? verb_fail(line, &e) : VERB_OK;
}

/* Turns a message about an argument into one about its option: "arguments.over: given …" becomes "--over: given …". */
static void name_option(const struct verb_line *line, struct err *e)
{
	static const char place[] = "arguments.";
	char *given = mem_str(e->text), *colon = strchr(given, ':');
	if (strncmp(given, place, sizeof place - 1) == 0 && colon) {
		char *name = given + sizeof place - 1;
		*colon = '\0';
		for (char *c = name; *c; c++)
			if (*c == '_')
				*c = '-';
		for (const struct verb_option *o = line->verb->options; o && o->name; o++)
			if (strcmp(o->name, name) == 0)
				err_set(e, e->code, "--%s:%s", name, colon + 1);
	}
	free(given);
}

/* prints: the answer as text, or as JSON with --json. ret_structured may be NULL. */
static int call_tool(const struct verb_line *line, const char *tool, json_t *take_arguments, bool prints, json_t **ret_structured)
{
	struct client *client = NULL;
	struct err e = ERR_INIT;
	struct bar bar;
	json_t *structured = NULL;
	char *text = NULL;
	int status = VERB_OK;
	int rc = client_open(line->db, &client, &e);
	if (rc < 0) {
		json_decref(take_arguments);
		return verb_fail(line, &e);
	}
	bar_init(&bar, line->verb->name);
	rc = client_call(client, tool, take_arguments, &(struct client_watch){ bar_say, &bar }, &structured, &text, &e);
	bar_clear(&bar);
	if (rc < 0)
		name_option(line, &e);
	if (rc < 0)
		status = verb_fail(line, &e);
	else if (prints && verb_get(line, "json"))
		status = print_json(line, structured);
	else if (prints)
		printf("%s\n", text);
	if (rc == 0 && ret_structured)
		*ret_structured = json_incref(structured);
	status = verb_ended(client_interrupted(client), status);
	/* A validation that ran and did not pass is no success. */
	if (status == VERB_OK && json_is_false(json_object_get(json_object_get(structured, "result"), "passed")))
		status = VERB_FAILED;
	json_decref(structured);
	free(text);
	client_close(client);
	return status;
}

int verbs_call(const struct verb_line *line, const char *tool, json_t *take_arguments, json_t **ret_structured)
{
	return call_tool(line, tool, take_arguments, ret_structured == NULL, ret_structured);
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

#define DEVICE_OPTION                                                                                                              \
	{                                                                                                                          \
		"device", "D", "device as `peakd devices` lists it, or an architecture to compile for (cuda:sm_90a)"               \
	}
#define SANITIZER_OPTION                                                                                                           \
	{                                                                                                                          \
		"sanitizer", "TOOL", "runs under compute-sanitizer instead: memcheck, racecheck, initcheck or synccheck"           \
	}
#define LATER_OPTION                                                                                                               \
	{                                                                                                                          \
		"later", NULL, "queues the job for a machine that has the device: see `peakd drain --help`"                        \
	}
#define JSON_OPTION                                                                                                                \
	{                                                                                                                          \
		"json", NULL, "prints the structured answer"                                                                       \
	}
#define SAMPLES_OPTION                                                                                                             \
	{                                                                                                                          \
		"samples", "N", "execution parameters to sample (default 16)"                                                      \
	}
#define SAMPLES_NUMBER ((const struct verb_number[]){ { "samples", 1, 1024 }, { NULL, 0, 0 } })
#define AT_WORDS "AT is a checkpoint: a workflow's name (its head), a tag, a number, 6 or more characters of a hash, NAME~2.\n"

static int tune_run(const struct verb_line *line)
{
	struct err e = ERR_INIT;
	if (verb_get(line, "simulate") && line->word_count == 0)
		return verbs_simulate(line);
	if (line->word_count == 0 || verb_get(line, "simulate")) {
		err_set(&e, ERR_INPUT,
			"name a checkpoint to tune or a space to replay: peakd tune AT, or peakd tune --simulate FILE");
		return verb_misused(line, &e);
	}
	json_t *arguments = json_pack("{s:s}", "at", line->words[0]);
	verbs_copy(line, arguments, "device", "strategy", "sizes", "objective", "over", "budget", "seconds", "device-seconds",
		   "seed", "warm", "later", "resume", NULL);
	return verbs_call(line, "tune", arguments, NULL);
}

const struct verb verbs_tune = {
	.name = "tune",
	.words = "[AT]",
	.summary = "finds the fastest tuning parameters of a checkpoint",
	.again = "its measurements are kept, and the same command with --resume continues",
	.details = AT_WORDS "With --simulate there is no AT: a brute-forced space is replayed. --json prints each "
			    "seed's times in order, null for a failure.\n",
	.options =
		(const struct verb_option[]){
			DEVICE_OPTION,
			{ "budget", "N", "configurations to try at most, per input size (default 128)" },
			{ "seconds", "S", "seconds at most, waiting for the device not counted" },
			{ "device-seconds", "S", "seconds of checking and timing at most" },
			{ "sizes", "SIZES", "only these input sizes, as \"n=2048\"" },
			{ "over", "HOW",
			  "several sizes: each (a winner per size, the default), mean (geometric) or worst: one winner "
			  "for all" },
			{ "objective", "WHAT", "time (default), energy, edp, or an expression such as \"time * registers\"" },
			{ "strategy", "NAME", "auto (default) or one of docs/search.md's" },
			{ "seed", "N", "seed of the search (default 1); with --simulate: of the first search (default 0)" },
			{ "simulate", "FILE",
			  "replays Kernel Tuner's cache file of a brute-forced space (JSON, plain or gzipped)" },
			{ "seeds", "N", "with --simulate: how many searches, each from a fresh state (default 100)" },
			{ "warm", NULL, "times with warm caches (default: cold)" },
			{ "resume", NULL, "continues an earlier tune of the same question; a finished one is the answer" },
			LATER_OPTION,
			JSON_OPTION,
			{ NULL, NULL, NULL },
		},
	.numbers = (const struct verb_number[]){ { "budget", 1, 1000000 },
						 { "seconds", 1, 1000000 },
						 { "device-seconds", 1, 1000000 },
						 { "seed", 0, INT64_MAX },
						 { "seeds", 1, 100000 },
						 { NULL, 0, 0 } },
	.min_words = 0,
	.max_words = 1,
	.run = tune_run,
};

static int validate_run(const struct verb_line *line)
{
	json_t *arguments = json_pack("{s:s}", "at", line->words[0]);
	verbs_copy(line, arguments, "device", "sanitizer", "samples", "later", NULL);
	return verbs_call(line, "validate", arguments, NULL);
}

const struct verb verbs_validate = {
	.name = "validate",
	.words = "AT",
	.summary = "compares a checkpoint's outputs with the baseline's; exit status 1 if they differ, or nothing ran",
	.again = VERBS_ANEW,
	.details = AT_WORDS,
	.options =
		(const struct verb_option[]){
			DEVICE_OPTION,
			SAMPLES_OPTION,
			SANITIZER_OPTION,
			LATER_OPTION,
			JSON_OPTION,
			{ NULL, NULL, NULL },
		},
	.numbers = SAMPLES_NUMBER,
	.min_words = 1,
	.max_words = 1,
	.run = validate_run,
};

static int transform_run(const struct verb_line *line)
{
	if (line->word_count < 2 && verb_get(line, "pending") == NULL) {
		struct err e = ERR_INIT;
		err_set(&e, ERR_INPUT, "name a checkpoint and a transformation, or a half-done one to continue (--pending ID)");
		return verb_misused(line, &e);
	}
	json_t *arguments = json_object();
	if (line->word_count > 0)
		json_object_set_new(arguments, "at", json_string(line->words[0]));
	if (line->word_count > 1)
		json_object_set_new(arguments, "transformation", json_string(line->words[1]));
	verbs_copy(line, arguments, "model", "device", "pending", "discard", "samples", NULL);
	return verbs_call(line, "transform", arguments, NULL);
}

const struct verb verbs_transform = {
	.name = "transform",
	.words = "[AT TRANSFORMATION]",
	.summary = "has a model apply a transformation, each pass compiled or validated",
	.again = VERBS_ANEW,
	.details = AT_WORDS "TRANSFORMATION is a name (tb-tiling) or a sentence (\"unroll the inner loop by 4\").\n",
	.options =
		(const struct verb_option[]){
			{ "model", "NAME", "a configured model, or replay:NAME for recordings" },
			DEVICE_OPTION,
			SAMPLES_OPTION,
			{ "pending", "ID", "continues a half-done transformation, in place of AT and TRANSFORMATION" },
			{ "discard", NULL, "with --pending: drops it" },
			JSON_OPTION,
			{ NULL, NULL, NULL },
		},
	.numbers = SAMPLES_NUMBER,
	.min_words = 0,
	.max_words = 2,
	.run = transform_run,
};

static int compare_run(const struct verb_line *line)
{
	json_t *arguments = json_pack("{s:s}", "a", line->words[0]);
	if (line->word_count > 1)
		json_object_set_new(arguments, "b", json_string(line->words[1]));
	verbs_copy(line, arguments, "device", "sizes", "objective", "warm", "later", NULL);
	return verbs_call(line, "compare", arguments, NULL);
}

const struct verb verbs_compare = {
	.name = "compare",
	.words = "A [B]",
	.summary = "times two checkpoints alternately: is B faster, slower, the same?",
	.again = VERBS_ANEW,
	.details = "A and B are written as for `peakd tune --help`; without B, A is compared with its parent.\n"
		   "Each side uses its best validated configuration. The verdict is about B. Same means within 1 % "
		   "(cold also 0.2 us);\n"
		   "unclear means that the interval of the ratio is too wide. Above 1, B is faster. `peakd workflow compare` "
		   "shows what was\n"
		   "compared before.\n\n"
		   "B may be pytorch, where the context has a Python reference: PyTorch runs it eager and compiled, in turns with A\n"
		   "(docs/bench.md).\n\n"
		   "--objective energy (or edp: energy x time) also weighs both: 10 alternations of windows of 2 s, the interval "
		   "of the ratio by\n"
		   "Student's t. Less energy counts at matched speed: times within 1 %. It takes about a minute and a device with "
		   "a counter.\n",
	.options =
		(const struct verb_option[]){
			DEVICE_OPTION,
			{ "sizes", "SIZES", "only these input sizes, as \"n=2048\"" },
			{ "objective", "WHAT", "time (default), energy or edp" },
			{ "warm", NULL, "with warm caches (default: cold)" },
			{ "later", NULL, "with pytorch: kept for another machine (peakd drain)" },
			JSON_OPTION,
			{ NULL, NULL, NULL },
		},
	.min_words = 1,
	.max_words = 2,
	.run = compare_run,
};

/* The micro-profiling tools, and the figures that they may ask about. */
static int list_advisors(const struct verb_line *line)
{
	char *share = app_share();
	struct library *library = app_library(share);
	struct advisors all = { .count = 0 };
	struct err e = ERR_INIT;
	int rc = library_advisors(library, &all, &e);
	for (size_t i = 0; i < all.count; i++) {
		printf("%-18s", all.at[i].name);
		for (int c = 0; c < ADVICE_CLASSES; c++)
			printf(" %s", all.at[i].classes >> c & 1 ? advice_class_names[c] : "-");
		printf("\n  when: %s\n  %s\n", all.at[i].when, all.at[i].text);
	}
	printf("\nfigures:\n");
	for (size_t i = 0; i < figures_known_count; i++)
		printf("  %-24s %-9s  %s\n", figures_known[i].name, figures_known[i].unit, figures_known[i].about);
	advice_fini(&all);
	library_free(library);
	free(share);
	return rc < 0 ? verb_fail(line, &e) : VERB_OK;
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

static int profile_run(const struct verb_line *line)
{
	if (verb_get(line, "list-tools"))
		return list_advisors(line);
	if (line->word_count == 0) {
		struct err e = ERR_INIT;
		err_set(&e, ERR_INPUT, "which checkpoint? A workflow's name, a tag or a number is missing");
		return verb_misused(line, &e);
	}
	json_t *arguments = json_pack("{s:s}", "at", line->words[0]);
	verbs_copy(line, arguments, "device", "sizes", "probes", "against", NULL);
	if (verb_get(line, "svg") == NULL)
		return verbs_call(line, "profile", arguments, NULL);
	/* Beside the kernel its parent is drawn. */
	struct err e = ERR_INIT;
	json_t *structured = NULL;
	if (verb_get(line, "against") == NULL)
		json_object_set_new(arguments, "against", json_string("parent"));
	int rc = out_check(verb_get(line, "svg"), true, &e), status = VERB_OK;
	if (rc < 0)
		json_decref(arguments);
	else
		status = call_tool(line, "profile", arguments, true, &structured);
	if (rc == 0 && status == VERB_OK)
		rc = draw_roofline(line, structured, &e);
	json_decref(structured);
	return rc < 0 ? verb_fail(line, &e) : status;
}

const struct verb verbs_profile = {
	.name = "profile",
	.words = "AT",
	.summary = "what limits a kernel and what to try: times, energy, percent of the ceilings and of the library",
	.again = VERBS_ANEW,
	.details = AT_WORDS "\nGuidance comes from small Markdown files: transforms/tools/ of the share folder, and your own in\n"
			    "$XDG_DATA_HOME/peakd/transforms/tools/ (docs/measuring.md).\n",
	.options =
		(const struct verb_option[]){
			DEVICE_OPTION,
			{ "sizes", "SIZES", "only these input sizes, as \"n=2048\"" },
			{ "against", "AT", "another checkpoint, or \"parent\": what changed since" },
			{ "svg", "FILE", "writes a roofline picture, with the parent beside it unless --against names another" },
			{ "probes", NULL, "also times the kernel as if loads, stores or barriers were free" },
			{ "list-tools", NULL, "lists the micro-profiling tools and the figures that they ask about" },
			JSON_OPTION,
			{ NULL, NULL, NULL },
		},
	.min_words = 0,
	.max_words = 1,
	.run = profile_run,
};

static int devices_run(const struct verb_line *line)
{
	json_t *arguments = json_object();
	verbs_copy(line, arguments, "refresh", NULL);
	return verbs_call(line, "devices", arguments, NULL);
}

const struct verb verbs_devices = {
	.name = "devices",
	.words = "",
	.summary = "the devices of this machine",
	.details = NULL,
	.options = (const struct verb_option[]){ { "refresh", NULL, "looks again" }, JSON_OPTION, { NULL, NULL, NULL } },
	.min_words = 0,
	.max_words = 0,
	.run = devices_run,
};

/* --- jobs: only the log needs several calls, since the tool shows a part of it each time ------------------------------------- */

static int check_action(const char *action, size_t words, struct err *e)
{
	static const char *const known[] = { "list", "get", "wait", "cancel", "resume", "log" };
	char hint[96];
	size_t i = 0;
	while (i < MEM_COUNT(known) && strcmp(known[i], action) != 0)
		i++;
	if (i == MEM_COUNT(known))
		return err_set(e, ERR_INPUT, "there is no action '%s'%s; the actions are list, get, wait, cancel, resume and log",
			       action, suggest_hint(action, known, MEM_COUNT(known), hint));
	if (i > 0 && words < 2)
		return err_set(e, ERR_INPUT, "usage: peakd jobs %s ID; `peakd jobs` lists the ids", action);
	return 0;
}

static void print_events(const json_t *events)
{
	const json_t *v;
	size_t i;
	json_array_foreach(events, i, v)
		printf("%lld %s %s %s\n", (long long)json_integer_value(json_object_get(v, "seq")),
		       json_string_value(json_object_get(v, "at")), json_string_value(json_object_get(v, "kind")),
		       json_string_value(json_object_get(v, "message")));
}

static int whole_log(const struct verb_line *line, const char *id)
{
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

static int jobs_run(const struct verb_line *line)
{
	const char *action = line->word_count > 0 ? line->words[0] : "list";
	struct err e = ERR_INIT;
	if (check_action(action, line->word_count, &e) < 0)
		return verb_misused(line, &e);
	if (strcmp(action, "log") == 0)
		return whole_log(line, line->words[1]);
	json_t *arguments = json_pack("{s:s}", "action", action);
	if (line->word_count > 1)
		json_object_set_new(arguments, "id", json_string(line->words[1]));
	bool reads = strcmp(action, "cancel") != 0 && strcmp(action, "resume") != 0;
	return verbs_call(line, reads ? "job" : "job_control", arguments, NULL);
}

const struct verb verbs_jobs = {
	.name = "jobs",
	.words = "[ACTION ID]",
	.summary = "lists jobs; ACTION is get, wait, cancel, resume or log",
	.details = "  list         the newest jobs (the default action)\n"
		   "  get ID       the job's state, and its result once it has ended\n"
		   "  wait ID      waits until the job has ended, then shows the same\n"
		   "  cancel ID    cancels the job; its measurements are kept\n"
		   "  resume ID    resumes a job that was interrupted when its daemon ended\n"
		   "  log ID       every event of the job, with its time\n",
	.options = (const struct verb_option[]){ { "json", NULL, "prints the structured answer" }, { NULL, NULL, NULL } },
	.min_words = 0,
	.max_words = 2,
	.run = jobs_run,
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

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);
	return n >= m && strcmp(text + n - m, end) == 0;
}

static int draft_run(const struct verb_line *line)
{
	const char *path = line->words[0], *backend = verb_get(line, "backend"), *declared;
	struct err e = ERR_INIT;
	char *source = NULL;
	json_t *answer = NULL, *lines = json_array();
	if (ends_with(path, ".py") || ends_with(path, ".json"))
		err_set(&e, ERR_INPUT, "%s holds no kernel: peakd import %s makes a context of a Python or JSON problem", path,
			path);
	if (e.code != ERR_NONE || run_setup_read(path, &source, &e) < 0 ||
	    out_check(verb_get(line, "out"), verb_get(line, "force") != NULL, &e) < 0) {
		json_decref(lines);
		free(source);
		return verb_fail(line, &e);
	}
	for (size_t i = 0; (declared = verb_get_nth(line, "declare", i)) != NULL; i++)
		json_array_append_new(lines, json_string(declared));
	if (backend == NULL)
		backend = ends_with(path, ".hip") ? "hip" : "cuda";
	json_t *arguments = json_pack("{s:s, s:s, s:o}", "source", source, "backend", backend, "declared", lines);
	free(source);
	verbs_copy(line, arguments, "model", "device", NULL);
	int status = verbs_call(line, "draft", arguments, &answer);
	if (status != VERB_OK)
		return status;
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

static const struct verb_option draft_options[] = {
	{ "declare", "LINE",
	  "a fact that the file does not state, as under inputs: or tune:, \"n: int = {1024, 2048}\", or in host code; "
	  "may be repeated" },
	{ "model", "NAME",
	  "asks this model what the file leaves open (default: the model of $PEAKD_MODEL; replay:NAME for "
	  "recordings)" },
	{ "device", "D", "tries the draft: cuda:0 runs it, cuda:sm_90a compiles it" },
	{ "backend", "NAME", "cuda or hip (default: hip for *.hip, else cuda)" },
	{ "out", "FILE", "writes the context there (default: -, standard output)" },
	{ "force", NULL, "overwrites FILE" },
	{ NULL, NULL, NULL },
};

const struct verb verbs_draft = {
	.name = "draft",
	.words = "FILE.cu",
	.summary = "a first context from an existing kernel and its launch",
	.again = VERBS_ANEW,
	.details = "Reads kernels, launches, allocations and constants from the file, and asks you or a model "
		   "(--model) for what it leaves open.\n"
		   "Then it compares the draft's launches with the file's.\n"
		   "Exit status 0: the context is complete; 1: questions are open.\n",
	.options = draft_options,
	.min_words = 1,
	.max_words = 1,
	.run = draft_run,
};
