/* run_check: see run_check.h. The daemon is asked, since transformations, models and recordings are where it finds them. */
#include "daemon/run_check.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "core/context/context.h"
#include "core/context/space.h"
#include "core/transform/library.h"
#include "daemon/out.h"

/* A sentence is a transformation of its own; what else the tool shows ("sequence:NAME") is no step. */
static int check_step(struct run *r, const char *step, struct err *e)
{
	json_t *answer = NULL;
	if (!library_is_name(step))
		return 0;
	int rc = run_setup_call(r, step, "transformations", json_pack("{s:s}", "name", step), &answer, e);
	if (rc == 0 && strcmp(run_setup_text(answer, "name"), step) != 0)
		rc = err_set(e, ERR_INPUT, "there is no transformation \"%s\"; --sequence names a sequence", step);
	json_decref(answer);
	return rc;
}

static int check_steps(struct run *r, struct err *e)
{
	int rc = 0;
	for (size_t i = 0; i < r->step_count && rc == 0; i++)
		rc = check_step(r, r->steps[i], e);
	return rc;
}

/* As a part of an address: what is no letter or digit is written as %XX. */
static char *model_uri(const char *name)
{
	struct buf uri = BUF_INIT;
	buf_adds(&uri, "peak://model/");
	for (const char *c = name; *c; c++)
		if (isalnum((unsigned char)*c))
			buf_addc(&uri, *c);
		else
			buf_addf(&uri, "%%%02X", (unsigned char)*c);
	return buf_steal(&uri);
}

/* NULL: the default one. */
static int check_model(struct run *r, const char *name, struct err *e)
{
	char *uri = model_uri(name && *name ? name : "default"), *text = NULL;
	int rc = client_read(r->client, uri, &text, e);
	json_t *model = rc == 0 ? json_loads(text, 0, NULL) : NULL;
	if (rc == 0 && !json_is_true(json_object_get(model, "available")))
		rc = err_set(e, ERR_NOT_FOUND, "%s", run_setup_text(model, "why"));
	json_decref(model);
	free(text);
	free(uri);
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
		rc = check_model(r, model, e);
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
	if (out_is_stdout(path))
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
