/* out: see out.h. */
#include "daemon/verbs/out.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

bool out_is_stdout(const char *path)
{
	return path == NULL || strcmp(path, "-") == 0;
}

static FILE *begin(const char *path, const char *mode)
{
	return out_is_stdout(path) ? stdout : fopen(path, mode);
}

/* A full disk may show only when the last bytes are flushed. */
static bool end(FILE *f, bool good)
{
	if (f == NULL)
		return false;
	return (f == stdout ? fflush(f) : fclose(f)) == 0 && good;
}

static const char *name_of(const char *path)
{
	return out_is_stdout(path) ? "standard output" : path;
}

/* Leaves an existing file as it is. */
int out_check(const char *path, bool force, struct err *e)
{
	struct stat st;
	if (out_is_stdout(path))
		return 0;
	bool there = stat(path, &st) == 0;
	if (there && !force)
		return err_set(e, ERR_CONFLICT, "%s exists and was not changed: add --force, or name another file", path);
	if (there && !S_ISREG(st.st_mode))
		return 0; /* opening a pipe or /dev/stdout has side effects */
	FILE *f = fopen(path, "ae");
	if (f == NULL)
		return err_sys(e, errno, "%s cannot be written", path);
	fclose(f);
	if (!there)
		unlink(path);
	return 0;
}

int out_text(const char *path, const char *text, bool force, struct err *e)
{
	FILE *f = begin(path, force ? "we" : "wxe");
	if (f == NULL && errno == EEXIST)
		return out_check(path, force, e);
	bool good = f && fputs(text, f) >= 0;
	return end(f, good) ? 0 : err_sys(e, errno, "%s cannot be written", name_of(path));
}

int out_json(const char *path, const json_t *json, size_t flags, struct err *e)
{
	FILE *f = begin(path, "we");
	bool good = f && json && json_dumpf(json, f, flags) == 0 && fputc('\n', f) != EOF;
	return end(f, good) ? 0 : err_sys(e, errno, "--json: %s cannot be written", name_of(path));
}

/* --- terminals -------------------------------------------------------------------------------------------------------------- */

enum { WIDTH = 80 };

bool out_is_terminal(FILE *f)
{
	return isatty(fileno(f));
}

bool out_colours(FILE *f)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	return out_is_terminal(f) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

int out_width(FILE *f)
{
	struct winsize size = { 0 };
	return ioctl(fileno(f), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : WIDTH;
}

void out_wrapped(const char *text, int indent)
{
	int width = out_width(stdout) - 1 - indent;
	while (out_is_terminal(stdout) && width > indent && (int)strlen(text) > width) {
		int n = width;
		while (n > 0 && text[n] != ' ')
			n--;
		if (n == 0)
			break;
		printf("%.*s\n%*s", n, text, indent, "");
		text += n + 1;
	}
	printf("%s\n", text);
}

void out_coloured(const char *text)
{
	bool diff = strncmp(text, "--- ", 4) == 0 && out_colours(stdout);
	for (const char *at = text; diff && *at;) {
		size_t n = strcspn(at, "\n");
		const char *colour = strncmp(at, "---", 3) == 0 || strncmp(at, "+++", 3) == 0 ? OUT_BOLD
				     : *at == '+'                                             ? OUT_GREEN
				     : *at == '-'                                             ? OUT_RED
				     : *at == '@'                                             ? OUT_CYAN
											      : "";
		printf("%s%.*s%s\n", colour, (int)n, at, *colour ? OUT_PLAIN : "");
		at += n + (at[n] == '\n');
	}
	if (!diff)
		printf("%s\n", text);
}
