/* declared: see declared.h. What stands behind the name is read by whoever reads contexts. */
#include "core/problems/declared.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static size_t name_len(const char *at)
{
	size_t n = 0;
	while (isalnum((unsigned char)at[n]) || at[n] == '_')
		n++;
	return isdigit((unsigned char)*at) ? 0 : n;
}

static int read_line(const char *line, struct declared_line *ret_line, struct err *e)
{
	const char *at = line + strspn(line, " \t");
	size_t len = strlen(at);
	while (len && isspace((unsigned char)at[len - 1]))
		len--;
	struct declared_line x = { .kind = DECLARED_ENTRY };
	const char *name = at;
	if (strncmp(at, "local", 5) == 0 && (at[5] == ' ' || at[5] == '\t')) {
		x.kind = DECLARED_LOCAL;
		name = at + 5 + strspn(at + 5, " \t");
	} else if (strncmp(at, "launch", 6) == 0 && at[6 + strspn(at + 6, " ")] == '(') {
		x.kind = DECLARED_LAUNCH;
	}
	size_t n = x.kind == DECLARED_LAUNCH ? 0 : name_len(name);
	char sign = name[n + strspn(name + n, " \t")];
	bool good = x.kind == DECLARED_LAUNCH || (n && sign == (x.kind == DECLARED_LOCAL ? '=' : ':'));
	if (!good || memchr(at, '\n', len) || memchr(at, '\r', len) || strstr(at, "```"))
		return err_set(e, ERR_INPUT, "\"%.200s\" is no declaration: expected \"NAME: …\" as below inputs: or tune:, \"local NAME = …\" or "
		               "\"launch(…)\" as in host code, on one line", at);
	x.name = mem_strn(name, n);
	x.line = mem_strn(at, len);
	*ret_line = x;
	return 0;
}

static struct declared_line *find(struct declared *d, enum declared_kind kind, const char *name)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->at[i].kind == kind && strcmp(d->at[i].name, name) == 0)
			return &d->at[i];
	return NULL;
}

int declared_read(const char *const *lines, size_t count, struct declared *ret_declared, struct err *e)
{
	struct declared d = { 0 };
	for (size_t i = 0; i < count; i++) {
		struct declared_line x;
		int rc = read_line(lines[i], &x, e);
		if (rc < 0) {
			declared_fini(&d);
			return rc;
		}
		/* Launches run one after another, and none replaces another. */
		struct declared_line *before = x.kind == DECLARED_LAUNCH ? NULL : find(&d, x.kind, x.name);
		if (before == NULL) {
			*MEM_PUSH(d.at, d.count) = x;
			continue;
		}
		free(before->line);
		before->line = x.line;
		free(x.name);
	}
	*ret_declared = d;
	return 0;
}

void declared_fini(struct declared *d)
{
	for (size_t i = 0; i < d->count; i++) {
		free(d->at[i].name);
		free(d->at[i].line);
	}
	free(d->at);
	*d = (struct declared){ 0 };
}

const char *declared_take(struct declared *d, enum declared_kind kind, const char *name)
{
	struct declared_line *x = find(d, kind, name);
	if (x == NULL)
		return NULL;
	x->used = true;
	return x->line;
}

int declared_all_used(const struct declared *d, struct err *e)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct declared_line *x = &d->at[i];
		if (x->used)
			continue;
		switch (x->kind) {
		case DECLARED_ENTRY:
			return err_set(e, ERR_INPUT, "\"%s\" is no declaration of something that a kernel takes, that the host's code names, or that "
			               "a block has: expected NAME: … as below inputs: or tune:", x->line);
		case DECLARED_LOCAL:
			return err_set(e, ERR_INPUT, "\"%s\": nothing was asked for under that name", x->line);
		case DECLARED_LAUNCH:
			return err_set(e, ERR_INPUT, "\"%s\": the file has launches of its own, which are taken as they stand", x->line);
		}
	}
	return 0;
}
