/* check: what can be known to be wrong with a request before a job is made of it. So the mistake is answered at once and leaves no
 * failed job. Declared in tools.h; called by tools_start. */
#include <stdlib.h>
#include <string.h>

#include "core/context/domain.h"
#include "core/context/host.h"
#include "core/search/search.h"
#include "core/transform/models.h"
#include "core/tune/objective.h"
#include "core/workers/pool.h"
#include "daemon/tools/tools.h"

/* What a check looks at. */
struct subject {
	const struct work *work;
	const struct context *ctx;
	const struct facts *facts; /* of the device; NULL: it is another machine's */
};

typedef int check(const struct subject *s, const char *text, struct err *e);

static int check_sizes(const struct subject *s, const char *text, struct err *e)
{
	struct params *fixed;
	int rc = params_parse(s->ctx, text, false, &fixed, e);
	if (rc == 0) {
		rc = s->facts ? space_declares(s->ctx, s->facts, fixed, e) : 0;
		params_free(fixed);
	}
	return rc;
}

static int check_objective(const struct subject *s, const char *text, struct err *e)
{
	struct objective *objective;
	int rc = s->facts ? objective_new(text, s->ctx, s->facts, &objective, e) : 0;
	if (rc == 0 && s->facts)
		objective_free(objective);
	return rc;
}

static int check_strategy(const struct subject *s, const char *text, struct err *e)
{
	(void)s;
	return search_known(text, e);
}

static int check_model(const struct subject *s, const char *text, struct err *e)
{
	struct models_open open;
	int rc = models_open(s->work->models, text, 1, &open, e);
	if (rc == 0)
		models_close(&open);
	return rc;
}

static int check_host(const struct subject *s, const char *text, struct err *e)
{
	struct context *edited;
	int rc = context_with_region(s->ctx, REGION_HOST, text, &edited, e);
	if (rc == 0) {
		rc = host_check(edited, e);
		context_free(edited);
	}
	return rc;
}

/* Messages name the lines of the text that was sent: "source:7: …". */
static int check_source(const struct subject *s, const char *text, struct err *e)
{
	struct context *edited;
	size_t good;
	int rc = context_with_source(s->ctx, "source", text, &edited, e);
	if (rc == 0) {
		rc = domain_try(edited, text, NULL, &good, e);
		context_free(edited);
	}
	return rc;
}

/* Arguments by tool; `when`: only where the argument "region" has this value. */
static const struct {
	const char *tool, *argument, *when;
	check *run;
} checks[] = {
	{ "tune", "sizes", NULL, check_sizes },       { "tune", "objective", NULL, check_objective },
	{ "tune", "strategy", NULL, check_strategy }, { "compare", "sizes", NULL, check_sizes },
	{ "profile", "sizes", NULL, check_sizes },    { "optimize", "sizes", NULL, check_sizes },
	{ "transform", "model", NULL, check_model },  { "optimize", "model", NULL, check_model },
	{ "edit", "text", "host", check_host },       { "edit", "source", NULL, check_source },
};

/* A device of this machine, or for another machine a name that fits. *ret_here: facts are set. */
static int check_device(const struct mcp_call *call, const struct context *ctx, struct facts *ret_facts, bool *ret_here,
			struct err *e)
{
	const char *device = tools_text(call, "device"), *batch = tools_text(call, "batch");
	bool named = device && *device;
	bool others = false; /* another backend's; an unknown one is named by the list of devices */
	for (size_t i = 0; i < POOL_BACKENDS && named; i++)
		others = others ||
			 (pool_is_of_backend(device, pool_backends[i]) && strcmp(pool_backends[i], context_backend(ctx)) != 0);
	if (others)
		return pool_wrong_backend(device, context_backend(ctx), e);
	*ret_here = !tools_flag(call, "later") && !(batch && *batch);
	return *ret_here ? work_device(&tools_app(call)->work, device, context_backend(ctx), ret_facts, e) : 0;
}

int tools_check(const struct mcp_call *call, struct db *db, int64_t checkpoint, struct err *e)
{
	struct lineage l;
	struct facts facts;
	bool here = false;
	int rc = lineage_load(db, checkpoint, &l, e);
	if (rc < 0)
		return rc;
	rc = check_device(call, l.ctx, &facts, &here, e);
	struct subject s = { .work = &tools_app(call)->work, .ctx = l.ctx, .facts = here ? &facts : NULL };
	/* Beside PyTorch, sizes are whole configurations, and several: the job reads them. */
	for (size_t i = 0; rc == 0 && i < sizeof checks / sizeof *checks && !tools_beside_pytorch(call); i++) {
		const char *text = tools_text(call, checks[i].argument), *region = tools_text(call, "region");
		if (strcmp(checks[i].tool, mcp_call_name(call)) == 0 && text && *text &&
		    (checks[i].when == NULL || (region && strcmp(region, checks[i].when) == 0)))
			rc = checks[i].run(&s, text, e);
		size_t n = strlen(checks[i].argument);
		if (rc < 0 && (strncmp(e->text, checks[i].argument, n) != 0 || e->text[n] != ':'))
			err_wrap(e, "%s", checks[i].argument);
	}
	lineage_fini(&l);
	return rc;
}
