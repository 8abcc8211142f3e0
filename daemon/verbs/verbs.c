/* verbs: options in, one tool call, its words out; see verbs.h. */
#include "daemon/verbs/verbs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/verbs/bar.h"
#include "daemon/verbs/out.h"
#include "daemon/verbs/verbs_simulate.h"

/* --- options to arguments --------------------------------------------------------------------------------------------------- */

static char *argument_name(const char *option)
{
	char *name = mem_str(option);
	for (char *c = name; *c; c++)
		if (*c == '-')
			*c = '_';
	return name;
}

void verbs_copy(const struct verb_line *line, json_t *arguments, const char *option, ...)
{
	va_list ap;
	va_start(ap, option);
	for (; option; option = va_arg(ap, const char *)) {
		const char *value = verb_get(line, option);
		char *name = argument_name(option);
		if (value)
			json_object_set_new(arguments, name, json_string(value));
		free(name);
	}
	va_end(ap);
}

int verbs_copy_int(const struct verb_line *line, json_t *arguments, const char *option, long long min, long long max,
                   struct err *e)
{
	long long value;
	if (verb_get(line, option) == NULL)
		return 0;
	int rc = verb_int(line, option, min, max, 0, &value, e);
	char *name = argument_name(option);
	if (rc == 0)
		json_object_set_new(arguments, name, json_integer(value));
	free(name);
	return rc;
}

static int print_json(const struct verb_line *line, const json_t *value)
{
	struct err e = ERR_INIT;
	return out_json(NULL, value, JSON_INDENT(2), &e) < 0 ? verb_fail(line, &e) : VERB_OK;
}

/* A validation that was carried out and did not pass is no success. */
static int status_of(const json_t *structured)
{
	return json_is_false(json_object_get(json_object_get(structured, "result"), "passed")) ? VERB_FAILED : VERB_OK;
}

/* What the tool says of an argument, of the option that it came from: "arguments.over: given …" is "--over: given …". */
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

int verbs_call(const struct verb_line *line, const char *tool, json_t *take_arguments, json_t **ret_structured)
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
	rc = client_call(client, tool, take_arguments, bar_say, &bar, &structured, &text, &e);
	bar_clear(&bar);
	if (rc < 0)
		name_option(line, &e);
	if (rc < 0)
		status = verb_fail(line, &e);
	else if (ret_structured)
		*ret_structured = json_incref(structured);
	else if (verb_get(line, "json"))
		status = print_json(line, structured);
	else
		printf("%s\n", text);
	status = verb_ended(client_interrupted(client), status);
	if (status == VERB_OK)
		status = status_of(structured);
	json_decref(structured);
	free(text);
	client_close(client);
	return status;
}

static int usage(const struct verb_line *line, const struct err *e, json_t *take_arguments)
{
	json_decref(take_arguments);
	return verb_misused(line, e);
}

/* --- the verbs ---------------------------------------------------------------------------------------------------------------- */

#define DEVICE_OPTION { "device", "D", "device as `peakd devices` lists it, or an architecture to compile for (cuda:sm_90a)" }
#define SANITIZER_OPTION { "sanitizer", "TOOL", "runs under compute-sanitizer instead: memcheck, racecheck, initcheck or synccheck" }
#define LATER_OPTION { "later", NULL, "keeps it for a machine that has the device: see `peakd drain --help`" }
#define JSON_OPTION { "json", NULL, "prints the structured answer" }
#define SAMPLES_OPTION { "samples", "N", "execution parameters to sample (default 16)" }
#define AT_WORDS "AT is a checkpoint: a workflow's name (its head), a tag, a number, 6 or more characters of a hash, NAME~2.\n"

static void copy_flags(const struct verb_line *line, json_t *arguments)
{
	static const char *const flags[] = { "warm", "later", "resume" };
	for (size_t i = 0; i < MEM_COUNT(flags); i++)
		if (verb_get(line, flags[i]))
			json_object_set_new(arguments, flags[i], json_true());
}

static int tune_run(const struct verb_line *line)
{
	struct err e = ERR_INIT;
	if (verb_get(line, "simulate") && line->word_count == 0)
		return verbs_simulate(line);
	if (line->word_count == 0 || verb_get(line, "simulate")) {
		err_set(&e, ERR_INPUT, "name either a checkpoint to tune or a space to replay: peakd tune AT, or peakd tune --simulate FILE");
		return usage(line, &e, NULL);
	}
	json_t *arguments = json_pack("{s:s}", "at", line->words[0]);
	verbs_copy(line, arguments, "device", "strategy", "sizes", "objective", "over", NULL);
	copy_flags(line, arguments);
	if (verbs_copy_int(line, arguments, "budget", 1, 1000000, &e) < 0 || verbs_copy_int(line, arguments, "seconds", 1, 1000000, &e) < 0 ||
	    verbs_copy_int(line, arguments, "device-seconds", 1, 1000000, &e) < 0 ||
	    verbs_copy_int(line, arguments, "seed", 0, (long long)1 << 53, &e) < 0)
		return usage(line, &e, arguments);
	return verbs_call(line, "tune", arguments, NULL);
}

const struct verb verbs_tune = {
	.name = "tune", .words = "[AT]", .summary = "finds the fastest tuning parameters of a checkpoint",
	.again = "what it has measured is kept, and the same command with --resume goes on", .details = AT_WORDS
	"With --simulate no AT: a brute-forced space is replayed; --json prints each seed's times in order, null for a failure.\n",
	.options = (const struct verb_option[]){
		DEVICE_OPTION,
		{ "budget", "N", "configurations to try at most, per input size (default 128)" },
		{ "seconds", "S", "seconds at most, waiting for the device not counted" },
		{ "device-seconds", "S", "seconds of checking and timing at most" },
		{ "sizes", "SIZES", "only these input sizes, as \"n=2048\"" },
		{ "over", "HOW", "several sizes: each (a winner for each, the default), mean (geometric) or worst: one for all" },
		{ "objective", "WHAT", "time (default), energy, edp, or an expression such as \"time * registers\"" },
		{ "strategy", "NAME", "auto (default) or one of docs/search.md's" },
		{ "seed", "N", "of the search; with --simulate: the first one (default 0)" },
		{ "simulate", "FILE", "replays Kernel Tuner's cache file of a brute-forced space (JSON, plain or gzipped)" },
		{ "seeds", "N", "with --simulate: how many searches, each from a fresh state (default 100)" },
		{ "warm", NULL, "times with warm caches (default: cold)" },
		{ "resume", NULL, "goes on with an earlier tune that was cut off; one that ended is the answer" },
		LATER_OPTION,
		JSON_OPTION,
		{ NULL, NULL, NULL },
	},
	.min_words = 0, .max_words = 1, .run = tune_run,
};

static int validate_run(const struct verb_line *line)
{
	struct err e = ERR_INIT;
	json_t *arguments = json_pack("{s:s}", "at", line->words[0]);
	verbs_copy(line, arguments, "device", "sanitizer", NULL);
	copy_flags(line, arguments);
	if (verbs_copy_int(line, arguments, "samples", 1, 1024, &e) < 0)
		return usage(line, &e, arguments);
	return verbs_call(line, "validate", arguments, NULL);
}

const struct verb verbs_validate = {
	.name = "validate", .words = "AT", .summary = "compares a checkpoint's outputs with its root's; exit status 1 if they differ, or nothing ran",
	.again = VERBS_ANEW, .details = AT_WORDS, .options = (const struct verb_option[]){ DEVICE_OPTION, SAMPLES_OPTION, SANITIZER_OPTION, LATER_OPTION, JSON_OPTION, { NULL, NULL, NULL } },
	.min_words = 1, .max_words = 1, .run = validate_run,
};

static int transform_run(const struct verb_line *line)
{
	struct err e = ERR_INIT;
	json_t *arguments = json_pack("{s:s}", "at", line->words[0]);
	if (line->word_count > 1)
		json_object_set_new(arguments, "transformation", json_string(line->words[1]));
	verbs_copy(line, arguments, "model", "device", "pending", NULL);
	if (line->word_count < 2 && verb_get(line, "pending") == NULL) {
		err_set(&e, ERR_INPUT, "name a transformation, or the half-done one to go on with (--pending ID)");
		return usage(line, &e, arguments);
	}
	if (verbs_copy_int(line, arguments, "samples", 1, 1024, &e) < 0)
		return usage(line, &e, arguments);
	return verbs_call(line, "transform", arguments, NULL);
}

const struct verb verbs_transform = {
	.name = "transform", .words = "AT [TRANSFORMATION]",
	.summary = "has a model carry out a transformation, each pass compiled or validated",
	.again = VERBS_ANEW,
	.details = AT_WORDS "TRANSFORMATION is a name (tb-tiling) or a sentence (\"unroll the inner loop by 4\").\n",
	.options = (const struct verb_option[]){
		{ "model", "NAME", "a configured model, or replay:NAME for recordings" },
		DEVICE_OPTION, SAMPLES_OPTION,
		{ "pending", "ID", "goes on with a half-done transformation" },
		JSON_OPTION,
		{ NULL, NULL, NULL },
	},
	.min_words = 1, .max_words = 2, .run = transform_run,
};

static int compare_run(const struct verb_line *line)
{
	json_t *arguments = json_pack("{s:s}", "a", line->words[0]);
	if (line->word_count > 1)
		json_object_set_new(arguments, "b", json_string(line->words[1]));
	verbs_copy(line, arguments, "device", "sizes", NULL);
	if (verb_get(line, "warm"))
		json_object_set_new(arguments, "warm", json_true());
	return verbs_call(line, "compare", arguments, NULL);
}

const struct verb verbs_compare = {
	.name = "compare", .words = "A [B]", .summary = "times two checkpoints alternately: is B faster, slower, the same?",
	.again = VERBS_ANEW,
	.details = "A and B are written as for `peakd tune --help`; without B, A is compared with its parent.\n"
	           "Each takes part with its best proven configuration. The verdict is on B: same means within 1 % (cold also 0.2 us), unclear\n"
	           "that the interval of the ratio is too wide to say. `peakd workflow compare` shows recorded times instead.\n",
	.options = (const struct verb_option[]){
		DEVICE_OPTION,
		{ "sizes", "SIZES", "only these input sizes, as \"n=2048\"" },
		{ "warm", NULL, "with warm caches (default: cold)" },
		JSON_OPTION,
		{ NULL, NULL, NULL },
	},
	.min_words = 1, .max_words = 2, .run = compare_run,
};

static int profile_run(const struct verb_line *line)
{
	json_t *arguments = json_pack("{s:s}", "at", line->words[0]);
	verbs_copy(line, arguments, "device", "sizes", NULL);
	return verbs_call(line, "profile", arguments, NULL);
}

const struct verb verbs_profile = {
	.name = "profile", .words = "AT", .summary = "cold and warm time, energy, percent of the device's ceilings and of the library",
	.again = VERBS_ANEW, .details = AT_WORDS,
	.options = (const struct verb_option[]){
		DEVICE_OPTION, { "sizes", "SIZES", "only these input sizes, as \"n=2048\"" }, JSON_OPTION, { NULL, NULL, NULL },
	},
	.min_words = 1, .max_words = 1, .run = profile_run,
};

static int devices_run(const struct verb_line *line)
{
	json_t *arguments = json_object();
	if (verb_get(line, "refresh"))
		json_object_set_new(arguments, "refresh", json_true());
	return verbs_call(line, "devices", arguments, NULL);
}

const struct verb verbs_devices = {
	.name = "devices", .words = "", .summary = "the devices of this machine", .details = NULL,
	.options = (const struct verb_option[]){ { "refresh", NULL, "looks again" }, JSON_OPTION, { NULL, NULL, NULL } },
	.min_words = 0, .max_words = 0, .run = devices_run,
};
