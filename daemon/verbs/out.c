/* out: see out.h. */
#include "daemon/verbs/out.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
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
		return err_set(e, ERR_CONFLICT, "%s exists and was not changed: add --force, or name another file",
			       path);
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
