/* verbs_draft: see verbs_draft.h. The tool does the work; this reads the file and writes the context. */
#include "daemon/verbs/verbs_draft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "daemon/verbs/out.h"
#include "daemon/verbs/run_setup.h"
#include "daemon/verbs/verbs.h"

static void print_list(const char *what, const json_t *list)
{
	const json_t *x;
	size_t i;
	json_array_foreach(list, i, x)
		fprintf(stderr, "%s: %s\n", what, json_string_value(x));
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
	if (run_setup_read(path, &source, &e) < 0 || out_check(verb_get(line, "out"), verb_get(line, "force") != NULL, &e) < 0) {
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
	/* With a model or a device it was a job, and what it found is the job's result. */
	const json_t *found = json_object_get(answer, "result") ? json_object_get(answer, "result") : answer;
	print_list("note", json_object_get(found, "notes"));
	print_list("question", json_object_get(found, "questions"));
	if (!json_is_true(json_object_get(found, "complete")))
		status = VERB_FAILED;
	else if (out_text(verb_get(line, "out"), run_setup_text(found, "context"), verb_get(line, "force") != NULL, &e) < 0)
		status = verb_fail(line, &e);
	if (json_array_size(json_object_get(found, "questions")) > 0)
		fprintf(stderr, "nothing was written: answer each question with --declare 'LINE', or let a model answer with --model NAME\n");
	json_decref(answer);
	return status;
}

static const struct verb_option options[] = {
	{ "declare", "LINE", "what the file does not say, as below inputs: or tune:, \"n: int = {1024, 2048}\", or in host code; may be repeated" },
	{ "model", "NAME", "asks this model what the file leaves open (default: the one of $PEAKD_MODEL; replay:NAME for recordings)" },
	{ "device", "D", "tries what comes out: cuda:0 runs it, cuda:sm_90a compiles it" },
	{ "backend", "NAME", "cuda or hip (default: hip for *.hip, else cuda)" },
	{ "out", "FILE", "where the context goes (default: -, standard output)" },
	{ "force", NULL, "FILE may exist" },
	{ NULL, NULL, NULL },
};

const struct verb verbs_draft = {
	.name = "draft", .words = "FILE.cu", .summary = "a first context from an existing kernel and its launch",
	.again = VERBS_ANEW,
	.details = "Reads kernels, launches, allocations and constants by their form; asks for what the file does not say, you or (--model) a model;\n"
	           "and compares what the draft launches with what the file launches.\n"
	           "Exit status 0: the context is complete; 1: questions are open.\n",
	.options = options, .min_words = 1, .max_words = 1, .run = draft_run,
};
