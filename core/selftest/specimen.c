/* specimen: see specimen.h. */
#include "core/selftest/specimen.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"

enum { SPECIMEN_MAX = 1 << 20 };
#define FENCE "```"

void specimen_fini(struct specimen *s)
{
	free(s->name);
	free(s->because);
	free(s->caught_by);
	context_free(s->ctx);
	context_free(s->baseline);
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);
	return n >= m && strcmp(text + n - m, end) == 0;
}

int specimen_list(const char *folder, const char *only, char ***ret_names, size_t *ret_count, struct err *e)
{
	DIR *d = opendir(folder);
	char **names = NULL;
	size_t count = 0;
	if (d == NULL)
		return err_set(e, ERR_NOT_FOUND,
			       "the suite's folder %s cannot be read: %s; install peakd whole, or set PEAKD_SHARE to a source tree",
			       folder, strerror(errno));
	for (struct dirent *x; (x = readdir(d)) != NULL;)
		if ((ends_with(x->d_name, ".bad.peak.md") || ends_with(x->d_name, ".good.peak.md")) &&
		    (!only || strstr(x->d_name, only)))
			*MEM_PUSH(names, count) = mem_str(x->d_name);
	closedir(d);
	if (count)
		qsort(names, count, sizeof *names, order_texts);
	*ret_names = names;
	*ret_count = count;
	return 0;
}

/* The value of a line `KEY: value` in the prose of a context's text; NULL when there is none. free(). */
static char *line_of(const char *text, const char *key)
{
	size_t n = strlen(key);
	for (const char *at = text; at && *at; at = strchr(at, '\n'), at += at != NULL)
		if (strncmp(at, key, n) == 0 && at[n] == ':') {
			const char *value = at + n + 1 + strspn(at + n + 1, " ");
			return mem_strn(value, strcspn(value, "\r\n"));
		}
	return NULL;
}

/* Front matter of the root, then the file's own prose and blocks, then the root's blocks that the file does not replace. */
static char *complete(const char *text, const char *root)
{
	struct buf out = BUF_INIT;
	const char *end = strstr(root + strlen("---\n"), "\n---\n") + strlen("\n---\n");
	buf_add(&out, root, (size_t)(end - root));
	buf_adds(&out, text);
	for (const char *at = strstr(end, "\n" FENCE); at; at = strstr(at, "\n" FENCE)) {
		char *info = mem_strn(at, strcspn(at + 1, "\n") + 2); /* the fence's line, with the line ends around it */
		const char *close = strstr(at + 1, "\n" FENCE "\n");
		close = close ? close + strlen("\n" FENCE) : at + strlen(at) - 1;
		if (!strstr(text, info))
			buf_add(&out, at + 1, (size_t)(close - at));
		free(info);
		at = close;
	}
	return buf_steal(&out);
}

/* A file without front matter takes its root's, and its root's blocks where it has none of that kind. */
static void parse(struct specimen *s, const char *path, const char *text)
{
	bool whole = s->baseline == NULL || strncmp(text, "---\n", strlen("---\n")) == 0;
	char *all = whole ? mem_str(text) : complete(text, context_render(s->baseline));
	context_parse(path, all, &s->ctx, &s->why);
	free(all);
}

void specimen_read(const char *folder, const char *file, struct specimen *s)
{
	char *path = mem_fmt("%s/%s", folder, file), *root_path = NULL;
	struct buf text = BUF_INIT;
	*s = (struct specimen){ .name = mem_strn(file, strlen(file) - strlen(".peak.md")), .bad = ends_with(file, ".bad.peak.md") };
	if (buf_add_file(&text, path, SPECIMEN_MAX, &s->why) == 0) {
		char *root = line_of(buf_text(&text), "Root"), *needs = line_of(buf_text(&text), "Needs");
		s->because = line_of(buf_text(&text), "Because");
		s->caught_by = line_of(buf_text(&text), "Caught by");
		s->compile_only = needs && strcmp(needs, "compiler") == 0;
		root_path = root ? mem_fmt("%s/%s.root.peak.md", folder, root) : NULL;
		free(root);
		free(needs);
	}
	if (root_path && context_load(root_path, &s->baseline, &s->why) < 0)
		s->why.code = ERR_INTERNAL; /* a mistake in the suite is not a refusal */
	if (s->why.code == ERR_NONE)
		parse(s, path, buf_text(&text));
	if (s->ctx && !s->baseline)
		s->baseline = context_ref(s->ctx);
	buf_fini(&text);
	free(root_path);
	free(path);
}
