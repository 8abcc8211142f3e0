/* run_check: see run_check.h. The daemon is asked, since transformations, models and recordings are where it finds them. */
#include "daemon/verbs/run_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/context/context.h"
#include "core/context/space.h"
#include "core/transform/library.h"
#include "core/transform/transformation.h"
#include "daemon/verbs/out.h"

enum { LOG_ALL = 100000 };

/* Names of transformations, in order. */
struct names { char **at; size_t count; };

static void names_fini(struct names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->at[i]);
	free(n->at);
}

/* What lies behind the checkpoint that the first step starts from. */
static int read_past(struct run *r, struct names *past, struct err *e)
{
	json_t *log = NULL;
	const json_t *c;
	size_t i;
	if (r->from == NULL)
		return 0;
	int rc = run_setup_call(r, "checkpoint", "workflow", json_pack("{s:s, s:s, s:i}", "action", "log", "at", r->from, "limit", LOG_ALL), &log, e);
	json_array_foreach(json_object_get(log, "checkpoints"), i, c)
		*MEM_PUSH(past->at, past->count) = mem_str(run_setup_text(c, "by"));
	json_decref(log);
	return rc;
}

/* Read here, too: whether, with `past`, it is one for this backend, and has behind it what it builds on. What else the tool shows ("sequence:NAME") is no
 * step; a sentence is a transformation of its own. */
static int check_step(struct run *r, const char *step, const struct names *past, struct err *e)
{
	json_t *answer = NULL;
	struct transformation *t = NULL;
	if (!library_is_name(step))
		return 0;
	int rc = run_setup_call(r, step, "transformations", json_pack("{s:s}", "name", step), &answer, e);
	if (rc == 0 && strcmp(run_setup_text(answer, "name"), step) != 0)
		rc = err_set(e, ERR_INPUT, "there is no transformation \"%s\"; --sequence names a sequence", step);
	if (rc == 0)
		rc = transformation_parse(run_setup_text(answer, "text"), step, &t, e);
	if (rc == 0 && past)
		rc = transformation_check(t, r->backend, (const char *const *)past->at, past->count, e);
	transformation_free(t);
	json_decref(answer);
	return rc;
}

int run_check_steps(struct run *r, bool fit, struct err *e)
{
	struct names past = { 0 };
	int rc = read_past(r, &past, e);
	for (size_t i = 0; i < r->step_count && rc == 0; i++) {
		rc = check_step(r, r->steps[i], fit ? &past : NULL, e);
		*MEM_PUSH(past.at, past.count) = mem_str(r->steps[i]);
	}
	names_fini(&past);
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
		rc = run_setup_ask(r, "model", model && *model ? model : "default", NULL, e);
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

static int check_json(const struct run *r, struct err *e)
{
	return out_check(verb_get(r->line, "json"), true, e) < 0 ? err_wrap(e, "--json") : 0;
}

int run_check(struct run *r, long long attempt, struct err *e)
{
	int rc = run_setup_context(r, e);
	if (rc == 0)
		rc = run_setup_name(r, e);
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
		rc = run_check_steps(r, !r->resumed, e);
	return rc < 0 || attempt > 1 ? rc : check_models(r, e);
}
