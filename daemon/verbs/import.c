/* import: `peakd import PROBLEM`: a problem from elsewhere becomes a context with a Python reference, and a workflow.
 * core/problems/import.py reads it, in the oracle's sandbox because a problem may be a program; the tool context_create checks what
 * comes of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/embedded.h"
#include "base/mem.h"
#include "core/context/context.h"
#include "core/judge/oracle.h"
#include "core/workers/child.h"
#include "daemon/verbs/out.h"
#include "daemon/verbs/run_setup.h"
#include "daemon/verbs/verbs.h"

#define READ_NS (600 * CLOCK_S)

/* workload.jsonl, or NAME.jsonl for NAME.json, beside the definition; "" without. free() */
static char *workloads_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t folder = slash ? (size_t)(slash + 1 - path) : 0, stem = strlen(path) > 5 ? strlen(path) - 5 : 0;
	char *beside[] = { mem_fmt("%.*sworkload.jsonl", (int)folder, path), mem_fmt("%.*s.jsonl", (int)stem, path) };
	char *text = NULL;
	struct err ignored = ERR_INIT; /* a definition without variable sizes needs none */
	for (size_t i = 0; i < MEM_COUNT(beside); i++) {
		if (text == NULL && access(beside[i], R_OK) == 0)
			run_setup_read(beside[i], &text, &ignored);
		free(beside[i]);
	}
	return text ? text : mem_str("");
}

static int ask(const struct verb_line *line, json_t **ret_answer, struct err *e)
{
	const char *backend = verb_get(line, "backend"), *declared;
	char *text = NULL, *workloads = NULL, *question = NULL;
	json_t *lines = json_array(), *answer = NULL;
	int rc = run_setup_read(line->words[0], &text, e);
	for (size_t i = 0; (declared = verb_get_nth(line, "declare", i)) != NULL; i++)
		json_array_append_new(lines, json_string(declared));
	if (rc < 0)
		goto out;
	workloads = workloads_of(line->words[0]);
	json_t *all = json_pack("{s:s, s:s, s:s, s:s, s:s, s:O, s:I, s:I}", "ask", "import", "file", line->words[0], "text", text,
				"workloads", workloads, "backend", backend ? backend : "cuda", "declared", lines, "limit",
				(json_int_t)verb_number(line, "workloads", 4), "mib", (json_int_t)verb_number(line, "mib", 2048));
	question = json_dumps(all, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(all);
	char *program = mem_fmt("%s\n%s", embedded_file("core/problems/import.py"), embedded_file("core/judge/oracle.py"));
	char **argv = oracle_command(program, false), *input = mem_fmt("%s\n", question);
	struct buf out = BUF_INIT;
	rc = child_filter(argv, &(struct child_input){ input, strlen(input) }, &(struct child_bounds){ .timeout_ns = READ_NS },
			  &out, e);
	if (rc < 0)
		err_wrap(e, "%s with %s (PEAKD_PYTHON names another Python; a script that starts one, as pyenv's, cannot)",
			 line->words[0], oracle_python());
	else if ((answer = json_loadb(out.data, out.len, 0, NULL)) == NULL)
		rc = err_set(e, ERR_INTERNAL, "%s: the importer's answer is not JSON", line->words[0]);
	else if (json_object_get(answer, "error"))
		rc = err_set(e, ERR_INPUT, "%s: %s", line->words[0], run_setup_text(answer, "error"));
	buf_fini(&out);
	free(argv[0]);
	free(argv);
	free(input);
	free(program);
out:
	json_decref(lines);
	free(text);
	free(workloads);
	free(question);
	if (rc < 0)
		json_decref(answer);
	else
		*ret_answer = answer;
	return rc;
}

/* The imported context, with device code, host code and tuning parameters of --kernel in place of the empty ones. free() */
static int fill_in(const struct verb_line *line, const char *file, const json_t *answer, char **ret_text, struct err *e)
{
	const char *path = verb_get(line, "kernel");
	struct context *problem, *filled = NULL;
	char *kernel = NULL;
	int rc = context_parse(file, run_setup_text(answer, "context"), &problem, e);
	if (rc < 0)
		return rc;
	if (path && (rc = run_setup_read(path, &kernel, e)) == 0)
		rc = context_with_source(problem, path, kernel, &filled, e);
	if (rc == 0)
		*ret_text = mem_str(context_render(filled ? filled : problem));
	free(kernel);
	context_free(filled);
	context_free(problem);
	return rc;
}

static int import_run(const struct verb_line *line)
{
	const char *out = verb_get(line, "out"), *given = line->word_count > 1 ? line->words[1] : NULL;
	bool force = verb_get(line, "force") != NULL;
	struct err e = ERR_INIT;
	json_t *answer = NULL, *note;
	char *file = NULL, *text = NULL;
	size_t i;
	int status = VERB_OK, rc = out ? out_check(out, force, &e) : 0;
	if (rc == 0)
		rc = ask(line, &answer, &e);
	const char *name = given ? given : json_string_value(json_object_get(answer, "name"));
	file = mem_fmt("%s.peak.md", name ? name : "problem");
	if (rc == 0)
		rc = fill_in(line, file, answer, &text, &e);
	json_array_foreach(json_object_get(answer, "notes"), i, note) fprintf(stderr, "note: %s\n", json_string_value(note));
	if (rc == 0 && out)
		rc = out_text(out, text, force, &e);
	if (rc < 0)
		status = verb_fail(line, &e);
	else if (!out || !out_is_stdout(out))
		status = verbs_call(line, "context_create",
				    json_pack("{s:s, s:s, s:s}", "source", text, "name", name, "file", out ? out : file), NULL);
	json_decref(answer);
	free(file);
	free(text);
	return status;
}

const struct verb import_verb = { .name = "import", .run = import_run };
