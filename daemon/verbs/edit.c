/* edit: `peakd edit AT [FILE]`: a change by hand. Without a file it opens the checkpoint's text in an editor, as git does for a
 * message; the tool edit then validates what was written. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/context/context.h"
#include "daemon/verbs/call.h"
#include "daemon/verbs/out.h"
#include "daemon/verbs/run_setup.h"
#include "daemon/verbs/verbs.h"

/* Runs the person's editor on a file. */
static int run_editor(const char *path, struct err *e)
{
	const char *editor = getenv("VISUAL");
	if (editor == NULL || !*editor)
		editor = getenv("EDITOR");
	if (editor == NULL || !*editor)
		editor = "vi";
	pid_t child = fork();
	if (child == 0) {
		char *command = mem_fmt("%s \"$1\"", editor);
		execl("/bin/sh", "sh", "-c", command, "sh", path, (char *)NULL);
		_exit(127);
	}
	int status = 0;
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return err_set(e, ERR_CANCELLED, "the editor '%s' failed, and nothing was changed: set $EDITOR, or name a file", editor);
}

/* The text after a person's edit. *ret_text: free(); a text that stays the same is an error. */
static int edit_text(const char *text, char **ret_text, struct err *e)
{
	const char *folder = getenv("TMPDIR");
	char *path = mem_fmt("%s/peakd-XXXXXX.peak.md", folder && *folder ? folder : "/tmp");
	int fd = mkstemps(path, (int)strlen(".peak.md"));
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	bool good = f && fputs(text, f) >= 0;
	int rc = f && fclose(f) == 0 && good ? 0 : err_sys(e, errno, "%s cannot be written", path);
	rc = rc < 0 ? rc : run_editor(path, e);
	rc = rc < 0 ? rc : run_setup_read(path, ret_text, e);
	if (rc == 0 && strcmp(*ret_text, text) == 0) {
		rc = err_set(e, ERR_CANCELLED, "nothing was changed");
		free(*ret_text);
		*ret_text = NULL;
	}
	if (fd >= 0)
		unlink(path);
	free(path);
	return rc;
}

static int edit_run(const struct verb_line *line, const struct verb_call *call)
{
	const char *region = verb_get(line, "region");
	bool pending = verb_get(line, "pending");
	/* With --pending there is no AT. A region's text is another argument than a source. */
	struct verb_call one = *call;
	char *names = mem_fmt("%s@%s", pending ? "" : "at ", region ? "text" : "source"), *text = NULL;
	struct err e = ERR_INIT;
	json_t *arguments = NULL, *shown = NULL;
	int rc = 0, status = VERB_OK;
	size_t file = pending ? 0 : 1;
	one.arguments = names;
	if (line->word_count < file || line->word_count > file + 1 || (pending && line->word_count == 0))
		rc = err_set(&e, ERR_INPUT, "usage: peakd edit AT [FILE], or peakd edit --pending ID FILE");
	else if (region && context_region_parse(region) < 0)
		rc = err_set(&e, ERR_INPUT, "--region: there is no region '%s'; there are device, host and macros", region);
	if (rc < 0)
		status = verb_misused(line, &e);
	rc = rc < 0 ? rc : call_arguments(line, &one, 0, &arguments, &e);
	if (rc == 0 && line->word_count == file) {
		status = call_tool(
			line, "read", NULL,
			json_pack("{s:s, s:s, s:i}", "at", line->words[0], "what", region ? region : "source", "limit", 100000000),
			&shown);
		if (status == VERB_OK)
			rc = edit_text(run_setup_text(shown, "text"), &text, &e);
		if (text)
			json_object_set_new(arguments, region ? "text" : "source", json_string(text));
	}
	if (rc == 0 && status == VERB_OK)
		status = call_tool(line, call->tool, call, json_incref(arguments), NULL);
	else if (rc < 0 && status == VERB_OK)
		status = verb_fail(line, &e);
	json_decref(arguments);
	json_decref(shown);
	free(names);
	free(text);
	return status;
}

const struct verb edit_verb = { .name = "edit",
				.hidden = "text",
				.calls = VERB_CALL(.tool = "edit", .arguments = "at @source", .run = edit_run) };
