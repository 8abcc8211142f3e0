/* verbs_workflow: `peakd workflow ACTION …`: the history of a kernel from the shell. Each action is one call of the workflow tool.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "core/jobs/import_results.h"
#include "core/search/import_file.h"
#include "daemon/verbs/out.h"
#include "daemon/verbs/run_setup.h"
#include "daemon/verbs/verbs.h"

/* A message may have 8 MiB, and a tune needs no more seeds than these. */
enum { IMPORT_MAX = 10000, NAME_BYTES = 60 };

/* The tool's arguments for an action's words, and the usage line. */
static const struct action {
	const char *name, *first, *second, *words;
	size_t min;
	bool writes; /* by the tool workflow_change */
} actions[] = {
	{ "create", "file", "name", "FILE [NAME]", 1, false },
	{ "list", NULL, NULL, "", 0, false },
	{ "log", "name", NULL, "NAME", 1, false },
	{ "show", "at", "what", "AT [PART]", 1, false },
	{ "diff", "at", "with", "AT [AT]", 1, false },
	{ "compare", "at", "with", "AT [AT]", 1, false },
	{ "restore", "name", "at", "NAME AT", 2, true },
	{ "tag", "name", "at", "NAME AT", 2, true },
	{ "branch", "name", "at", "NAME AT", 2, true },
	{ "rename", "name", "text", "NAME NEW", 2, true },
	{ "rm", "name", NULL, "NAME", 1, true },
	{ "export", "at", NULL, "AT", 1, false },
	{ "page", "name", NULL, "NAME", 1, false },
	{ "import", "at", "name", "AT FILE", 2, true },
};

static const struct action *find_action(const char *name, struct err *e)
{
	const char *names[MEM_COUNT(actions)];
	char hint[96];
	for (size_t i = 0; i < MEM_COUNT(actions); i++) {
		if (strcmp(actions[i].name, name) == 0)
			return &actions[i];
		names[i] = actions[i].name;
	}
	err_set(e, ERR_INPUT, "there is no action '%s'%s; `peakd workflow --help` lists them", name,
		suggest_hint(name, names, MEM_COUNT(actions), hint));
	return NULL;
}

/* --- export: the tool returns the files, this writes them -------------------------------------------------------------------- */

static int write_file(const char *folder, const char *name, const char *text, bool force, struct err *e)
{
	if (!*name || strchr(name, '/') || strcmp(name, "..") == 0 || strcmp(name, ".") == 0)
		return err_set(e, ERR_INTERNAL, "the daemon sent the file name '%s', which is not a plain name", name);
	char *path = mem_fmt("%s/%s", folder, name);
	FILE *f = fopen(path, force ? "we" : "wxe");
	bool good = f && fputs(text, f) >= 0;
	if (f)
		good = fclose(f) == 0 && good;
	int rc = 0;
	if (f == NULL && errno == EEXIST)
		rc = err_set(e, ERR_CONFLICT, "%s exists and was not changed: name another folder with --out, or add --force",
			     path);
	else if (!good)
		rc = err_sys(e, errno, "%s: cannot be written", path);
	if (good)
		printf("%s\n", path);
	free(path);
	return rc;
}

/* Refuses the export when one of its files exists, so that all are written or none. */
static int check_files(const char *folder, const json_t *files, struct err *e)
{
	const json_t *file;
	size_t i;
	json_array_foreach(files, i, file)
	{
		char *path = mem_fmt("%s/%s", folder, run_setup_text(file, "name"));
		int rc = access(path, F_OK) != 0 ? 0
						 : err_set(e, ERR_CONFLICT,
							   "%s exists, and nothing was written: name another folder with "
							   "--out, or add --force",
							   path);
		free(path);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int write_files(const char *folder, const json_t *files, bool force, struct err *e)
{
	const json_t *file;
	size_t i;
	int rc = force ? 0 : check_files(folder, files, e);
	if (rc < 0)
		return rc;
	rc = mkdir(folder, 0777) == 0 || errno == EEXIST ? 0 : err_sys(e, errno, "%s: the folder cannot be made", folder);
	json_array_foreach(files, i, file)
	{
		const char *name = json_string_value(json_object_get(file, "name"));
		const char *text = json_string_value(json_object_get(file, "text"));
		if (rc == 0 && name && text)
			rc = write_file(folder, name, text, force, e);
	}
	return rc;
}

static int export_files(const struct verb_line *line, json_t *take_arguments)
{
	struct err e = ERR_INIT;
	json_t *structured = NULL;
	const char *out = verb_get(line, "out"), *note;
	int status = verbs_call(line, "workflow", take_arguments, &structured);
	if (status != VERB_OK)
		return status;
	if (write_files(out ? out : ".", json_object_get(structured, "files"), verb_get(line, "force") != NULL, &e) < 0)
		status = verb_fail(line, &e);
	else if ((note = json_string_value(json_object_get(structured, "note"))) != NULL)
		printf("%s\n", note);
	json_decref(structured);
	return status;
}

/* --- import: reads the file here, because it may be large, and sends its best configurations --------------------------------- */

static int import_file(const struct verb_line *line, json_t *take_arguments)
{
	const char *path = line->words[2], *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct import_results results = { 0 };
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;
	int rc = import_file_read(path, &text, &e);
	if (rc == 0 && (rc = import_results_read(buf_text(&text), text.len, &results, &e)) < 0)
		err_wrap(&e, "%s", path);
	buf_clear(&text);
	if (rc == 0) {
		if (results.count > IMPORT_MAX)
			printf("of %zu configurations the fastest %d are sent\n", results.count, IMPORT_MAX);
		import_results_shorten(&results, IMPORT_MAX);
		for (size_t i = 0; i < results.count; i++)
			results.at[i].run_count = 0;
		import_results_write(&results, &text);
		json_object_set_new(take_arguments, "text", json_string(buf_text(&text)));
		json_object_set_new(take_arguments, "name",
				    json_sprintf("%.*s (%s)", (int)utf8_fit(name, NAME_BYTES), name, results.format));
	}
	import_results_fini(&results);
	buf_fini(&text);
	if (rc == 0)
		return verbs_call(line, "workflow_change", take_arguments, NULL);
	json_decref(take_arguments);
	return verb_fail(line, &e);
}

/* --- create: the tool context_create, with the file's text -------------------------------------------------------------------- */

static int create(const struct verb_line *line)
{
	const char *path = line->words[1];
	struct err e = ERR_INIT;
	char *text = NULL;
	if (run_setup_read(path, &text, &e) < 0)
		return verb_fail(line, &e);
	char *name = line->word_count > 2 ? mem_str(line->words[2]) : run_setup_stem(path);
	int status =
		verbs_call(line, "context_create", json_pack("{s:s, s:s, s:s}", "source", text, "name", name, "file", path), NULL);
	free(name);
	free(text);
	return status;
}

/* --- page: a resource of the daemon's ------------------------------------------------------------------------------------------ */

static int save_page(const struct verb_line *line)
{
	struct buf uri = BUF_INIT;
	struct err e = ERR_INIT;
	char *text = NULL;
	buf_adds(&uri, "peak://page/file/");
	buf_add_uri(&uri, line->words[1]);
	buf_adds(&uri, "/0");
	int rc = verbs_read(line, buf_text(&uri), &text, &e);
	if (rc == 0)
		rc = out_text(verb_get(line, "out"), text, verb_get(line, "force") != NULL, &e);
	buf_fini(&uri);
	free(text);
	return rc < 0 ? verb_fail(line, &e) : VERB_OK;
}

/* --- the verb ---------------------------------------------------------------------------------------------------------------- */

static int workflow_run(const struct verb_line *line)
{
	struct err e = ERR_INIT;
	const struct action *action = find_action(line->words[0], &e);
	size_t given = line->word_count - 1;
	if (action && given < action->min)
		err_set(&e, ERR_INPUT, "usage: peakd workflow %s%s%s; see `peakd workflow --help`", action->name,
			*action->words ? " " : "", action->words);
	else if (action && given > (size_t)(action->first != NULL) + (action->second != NULL))
		err_set(&e, ERR_INPUT, "unexpected argument '%s'; usage: peakd workflow %s%s%s", line->words[line->word_count - 1],
			action->name, *action->words ? " " : "", action->words);
	else if (action && verb_get(line, "out") && strcmp(verb_get(line, "out"), "-") == 0)
		err_set(&e, ERR_INPUT, "--out takes a folder, since an export is several files; --json prints them");
	if (e.code != ERR_NONE)
		return verb_misused(line, &e);
	if (strcmp(action->name, "create") == 0)
		return create(line);
	if (strcmp(action->name, "page") == 0)
		return save_page(line);
	json_t *arguments = json_pack("{s:s}", "action", strcmp(action->name, "rm") == 0 ? "delete" : action->name);
	if (!action->writes) /* the shell shows everything */
		json_object_set_new(arguments, "limit", json_integer(100000000));
	if (given > 0)
		json_object_set_new(arguments, action->first, json_string(line->words[1]));
	if (given > 1)
		json_object_set_new(arguments, action->second, json_string(line->words[2]));
	verbs_copy(line, arguments, "sizes", action->writes ? NULL : "device", NULL);
	if (strcmp(action->name, "import") == 0)
		return import_file(line, arguments);
	bool write = strcmp(action->name, "export") == 0 && verb_get(line, "json") == NULL;
	return write ? export_files(line, arguments)
		     : verbs_call(line, action->writes ? "workflow_change" : "workflow", arguments, NULL);
}

const struct verb verbs_workflow = {
	.name = "workflow",
	.words = "ACTION …",
	.summary = "history: create, list, log, show, diff, compare, restore, tag, branch, rename, rm, export, page, import",
	.details = "  create FILE [NAME]    creates a workflow from a context file, for tune, validate and transform; "
		   "runs nothing\n"
		   "  list                  every workflow\n"
		   "  log NAME              its checkpoints with their best times\n"
		   "  show AT [PART]        a checkpoint, or its source, device, host, macros, measurements (CSV), t4 "
		   "(the same as JSON),\n"
		   "                        validations, exchanges, best (the winner's macros) or tuning\n"
		   "  diff AT [AT]          what the first adds to the second (default: to its parent)\n"
		   "  compare AT [AT]       their best times\n"
		   "  restore NAME AT       moves a workflow's head back to a checkpoint\n"
		   "  tag NAME AT           names a checkpoint\n"
		   "  branch NAME AT        starts a new workflow at a checkpoint\n"
		   "  rename NAME NEW       gives a workflow another name\n"
		   "  rm NAME               deletes a workflow; `peakd vacuum` deletes its checkpoints when they are old enough\n"
		   "  export AT             writes its fastest validated configurations as a library for C, PyTorch, JAX and CuPy\n"
		   "  page NAME             prints it as one HTML file to be read without a daemon (docs/page.md)\n"
		   "  import AT FILE        imports another tool's measurements (Kernel Tuner's cache or T4 results, "
		   "JSON, plain or gzipped):\n"
		   "                        tunes start from them, and they are never quoted\n"
		   "AT is a checkpoint: a workflow's name (its head), a tag, a number, 6 or more characters of a hash, "
		   "NAME~2.\n",
	.options =
		(const struct verb_option[]){
			{ "out", "PATH",
			  "export: the folder for the files (default: here; docs/export.md describes them); page: the file" },
			{ "force", NULL, "export, page: overwrites files" },
			{ "sizes", "SIZES", "export, import: the input size, as \"n=2048\"" },
			{ "device", "D", "compare, export: the device whose times count" },
			{ "json", NULL, "prints the structured answer" },
			{ NULL, NULL, NULL },
		},
	.min_words = 1,
	.max_words = 3,
	.run = workflow_run,
};
