/* run_check: see run_check.h. The daemon is asked, since transformations, models and recordings are where it finds them. */
#include "daemon/run_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/context/context.h"
#include "core/context/space.h"

static int ask(struct run *r, const char *name, struct err *e)
{
	return run_setup_call(r, name, "transformations", json_pack("{s:s}", "name", name), NULL, e);
}

/* A sentence is a transformation of its own. */
static int check_steps(struct run *r, struct err *e)
{
	int rc = 0;
	for (size_t i = 0; i < r->step_count && rc == 0; i++)
		if (strpbrk(r->steps[i], " \t\n") == NULL)
			rc = ask(r, r->steps[i], e);
	return rc;
}

/* A workflow that is gone on with may have all its steps, and need none. */
static int check_models(struct run *r, struct err *e)
{
	int rc = 0;
	if (r->step_count == 0 || verb_get(r->line, "resume"))
		return 0;
	for (size_t i = 0; rc == 0; i++) {
		const char *model = verb_get_nth(r->line, "model", i);
		if (model == NULL && i > 0)
			break;
		char *name = mem_fmt("model:%s", model ? model : "");
		rc = ask(r, name, e);
		free(name);
		if (rc < 0 && model == NULL) {
			struct err why = *e;
			rc = err_set(e, why.code, "%s. The baseline needs none: `peakd workflow create %s`, then `peakd validate` and `peakd tune`", why.text,
			             r->path ? r->path : "FILE.peak.md");
		}
	}
	return rc;
}

static int check_sizes(const struct run *r, struct err *e)
{
	const char *sizes = verb_get(r->line, "sizes");
	struct params *fixed = NULL;
	struct space *space = NULL;
	int rc = sizes ? params_parse(r->context, sizes, false, &fixed, e) : 0;
	if (rc == 0)
		rc = space_new(r->context, NULL, fixed, &space, e);
	if (rc < 0 && sizes)
		err_wrap(e, "--sizes %s", sizes);
	space_free(space);
	params_free(fixed);
	return rc;
}

static int check_from(struct run *r, struct err *e)
{
	if (r->from == NULL || r->path == NULL)
		return 0;
	return run_setup_call(r, "checkpoint", "workflow", json_pack("{s:s, s:s}", "action", "show", "at", r->from), NULL, e);
}

/* What is there stays as it is until there is something to write. */
static int check_json(const struct run *r, struct err *e)
{
	const char *path = verb_get(r->line, "json");
	if (path == NULL || strcmp(path, "-") == 0)
		return 0;
	struct stat st;
	bool there = stat(path, &st) == 0;
	if (there && !S_ISREG(st.st_mode))
		return 0; /* "/dev/stdout", a pipe: opening it has consequences */
	FILE *f = fopen(path, "ae");
	if (f == NULL)
		return err_sys(e, errno, "--json: %s cannot be written", path);
	fclose(f);
	if (!there)
		unlink(path);
	return 0;
}

int run_check(struct run *r, long long attempt, struct err *e)
{
	int rc = run_setup_context(r, e);
	if (rc == 0)
		rc = run_setup_device(r, e);
	if (rc == 0)
		rc = run_setup_steps(r, e);
	if (rc == 0)
		rc = check_json(r, e);
	if (rc == 0)
		rc = check_sizes(r, e);
	if (rc == 0)
		rc = check_from(r, e);
	if (rc == 0)
		rc = check_steps(r, e);
	return rc < 0 || attempt > 1 ? rc : check_models(r, e);
}
