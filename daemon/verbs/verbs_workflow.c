/* verbs_workflow: `peakd workflow ACTION …`: the history of a kernel from the shell. Most actions are a call of a tool; those that
 * write or read files are here. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/jobs/foreign.h"
#include "daemon/verbs/call.h"
#include "daemon/verbs/out.h"
#include "daemon/verbs/run_setup.h"
#include "daemon/verbs/table.h"
#include "daemon/verbs/verbs.h"

/* A message may have 8 MiB, and a tune needs no more seeds than these. */
enum { IMPORT_MAX = 10000, NAME_BYTES = 60 };

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

static int export_files(const struct verb_line *line, const struct verb_call *call)
{
	struct err e = ERR_INIT;
	json_t *structured = NULL, *arguments = NULL;
	const char *out = verb_get(line, "out"), *note;
	bool json = verb_get(line, "json");
	if (out && strcmp(out, "-") == 0) {
		err_set(&e, ERR_INPUT, "--out takes a folder, since an export is several files; --json prints them");
		return verb_misused(line, &e);
	}
	if (call_arguments(line, call, 1, &arguments, &e) < 0)
		return verb_fail(line, &e);
	int status = call_tool(line, call->tool, NULL, arguments, json ? NULL : &structured);
	if (json)
		return status;
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

static int import_file(const struct verb_line *line, const struct verb_call *call)
{
	const char *path = line->words[2], *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct foreign results = { 0 };
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;
	json_t *arguments = NULL;
	int rc = call_arguments(line, call, 1, &arguments, &e);
	rc = rc < 0 ? rc : buf_add_packed_file(&text, path, &e);
	if (rc == 0 && (rc = foreign_read(buf_text(&text), text.len, &results, &e)) < 0)
		err_wrap(&e, "%s", path);
	buf_clear(&text);
	if (rc == 0) {
		if (results.count > IMPORT_MAX)
			printf("of %zu configurations the fastest %d are sent\n", results.count, IMPORT_MAX);
		foreign_shorten(&results, IMPORT_MAX);
		for (size_t i = 0; i < results.count; i++)
			results.at[i].run_count = 0;
		foreign_write(&results, &text);
		json_object_set_new(arguments, "text", json_string(buf_text(&text)));
		json_object_set_new(arguments, "name",
				    json_sprintf("%.*s (%s)", (int)utf8_fit(name, NAME_BYTES), name, results.format));
	}
	foreign_fini(&results);
	buf_fini(&text);
	if (rc == 0)
		return call_tool(line, call->tool, call, arguments, NULL);
	json_decref(arguments);
	return verb_fail(line, &e);
}

/* --- page: a resource of the daemon's --------------------------------------------------------------------------------------- */

static int save_page(const struct verb_line *line, const struct verb_call *call)
{
	(void)call;
	struct buf uri = BUF_INIT;
	struct err e = ERR_INIT;
	char *text = NULL;
	buf_adds(&uri, "peak://page/file/");
	buf_add_uri(&uri, line->words[1]);
	buf_adds(&uri, "/0");
	int rc = verbs_read(line, buf_text(&uri), &text, &e);
	int status = VERB_OK;
	if (rc == 0 && verb_get(line, "json"))
		status = verbs_answer(line, json_pack("{s:s}", "text", text), "%s", "");
	else if (rc == 0)
		rc = out_text(verb_get(line, "out"), text, verb_get(line, "force") != NULL, &e);
	buf_fini(&uri);
	free(text);
	return rc < 0 ? verb_fail(line, &e) : status;
}

/* --- the verb ---------------------------------------------------------------------------------------------------------------- */

/* As git has it: the older one first. One alone is compared with its parent. */
static int old_and_new(const struct verb_line *line, const struct verb_call *call)
{
	struct verb_call ordered = *call;
	struct err e = ERR_INIT;
	json_t *arguments = NULL;
	if (line->word_count > 2)
		ordered.arguments = "with at";
	if (call_arguments(line, &ordered, 1, &arguments, &e) < 0)
		return verb_fail(line, &e);
	if (strcmp(call->tool, "read") == 0)
		json_object_set_new(arguments, "what", json_string("diff"));
	return call_tool(line, call->tool, call, arguments, NULL);
}

static int show(const struct verb_line *line, const struct verb_call *call)
{
	struct verb_call part = *call;
	struct err e = ERR_INIT;
	json_t *arguments = NULL;
	if (line->word_count > 2)
		part.tool = "read";
	return call_arguments(line, &part, 1, &arguments, &e) < 0 ? verb_fail(line, &e)
								  : call_tool(line, part.tool, call, arguments, NULL);
}

static const struct table_column list_columns[] = {
	{ "name", "name", TABLE_TEXT },   { "head", "head", TABLE_NUMBER }, { "root", "root", TABLE_NUMBER },
	{ "moved", "moved", TABLE_WHEN }, { NULL, NULL, TABLE_TEXT },
};
static const struct table_column log_columns[] = {
	{ "id", "id", TABLE_NUMBER },
	{ "made by", "by", TABLE_TEXT },
	{ "tags", "tags", TABLE_TEXT },
	{ "status", "status", TABLE_STATE },
	{ "size", "best.sizes", TABLE_TEXT },
	{ "time", "best.median_ns", TABLE_TIME },
	{ "GFLOP/s", "best.gflops", TABLE_NUMBER },
	{ "GB/s", "best.gbs", TABLE_NUMBER },
	{ "speed-up", "best.speedup", TABLE_NUMBER },
	{ "verdict", "best.speedup_verdict", TABLE_STATE },
	{ "with", "best.params", TABLE_TEXT },
	{ "note", "note", TABLE_TEXT },
	{ NULL, NULL, TABLE_TEXT },
};
static const struct table_column compare_columns[] = {
	{ "size", "sizes", TABLE_TEXT }, { "verdict", "verdict", TABLE_STATE }, { "times as fast", "ratio", TABLE_NUMBER },
	{ "from", "low", TABLE_NUMBER }, { "to", "high", TABLE_NUMBER },        { "old", "a_ns", TABLE_TIME },
	{ "new", "b_ns", TABLE_TIME },   { "load", "load", TABLE_TEXT },        { "note", "note", TABLE_TEXT },
	{ NULL, NULL, TABLE_TEXT },
};

const struct verb verbs_workflow = {
	.name = "workflow",
	.hidden = "name at with what text source file",
	.calls =
		(const struct verb_call[]){
			{ "create", "FILE [NAME]", "creates a workflow from a context file; runs nothing", "context_create",
			  "@source name", .min = 1 },
			{ "list", "", "every workflow", "workflow", .takes = "limit", .rows = "workflows",
			  .columns = list_columns },
			{ "log", "NAME", "its checkpoints with their best times", "workflow", "name", .min = 1, .takes = "limit",
			  .rows = "checkpoints", .columns = log_columns },
			{ "show", "AT [PART]",
			  "a checkpoint, or its source, device, host, macros, measurements (CSV), t4 (the same as JSON), "
			  "validations, exchanges, best (the winner's macros) or tuning",
			  "workflow", "at what", .min = 1, .rows = "checkpoints", .columns = log_columns, .run = show },
			{ "diff", "[OLD] NEW", "what changed (OLD: by default the parent)", "read", "at with", .min = 1,
			  .run = old_and_new },
			{ "compare", "[OLD] NEW", "how many times as fast NEW was when the two were timed in pairs", "workflow",
			  "at with", .min = 1, .rows = "compare", .columns = compare_columns, .run = old_and_new },
			{ "restore", "NAME AT", "moves a workflow's head back to a checkpoint", "workflow_change", "name at",
			  .min = 2 },
			{ "tag", "NAME AT", "names a checkpoint", "workflow_change", "name at", .min = 2 },
			{ "branch", "NAME AT", "starts a new workflow at a checkpoint", "workflow_change", "name at", .min = 2 },
			{ "rename", "NAME NEW", "gives a workflow another name", "workflow_change", "name text", .min = 2 },
			{ "rm", "NAME", "deletes a workflow; `peakd vacuum` deletes its checkpoints when they are old enough",
			  "workflow_change", "name", "delete", .min = 1 },
			{ "export", "AT", "writes its fastest validated configurations as a library for C, PyTorch, JAX and CuPy",
			  "workflow", "at", .min = 1, .takes = "sizes device limit out force", .run = export_files },
			{ "page", "NAME", "prints it as one HTML file to be read without a daemon (docs/page.md)", "workflow",
			  "name", .min = 1, .takes = "out force", .run = save_page },
			{ "import", "AT FILE",
			  "imports another tool's measurements (Kernel Tuner's cache or T4 results, JSON, plain or gzipped): tunes "
			  "start from them, and they are never quoted",
			  "workflow_change", "at name", .min = 2, .takes = "sizes", .run = import_file },
			{ .name = NULL },
		},
};
