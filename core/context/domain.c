/* domain: sizes that a context accepts, and what a child refuses that its parent took; see domain.h. */
#include "core/context/domain.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "core/context/host.h"
#include "core/context/space.h"

enum {
	RUNS_MAX = 20000, /* host code runs per size before giving up */
	SHOWN_MAX = 4,    /* narrowed sizes in the text */
};

/* Runs host code over the space until one configuration is accepted; *ret_why is set when none is. */
static int try_all(const struct context *ctx, const struct facts *facts, const struct space *space, bool *ret_accepts,
		   char **ret_why, struct err *e)
{
	struct err last = ERR_INIT;
	for (size_t k = 0; k < space_count(space); k++) {
		struct plan *plan = NULL;
		if (k == RUNS_MAX)
			return err_set(e, ERR_INPUT,
				       "%s: host code prunes the first %d of %zu configurations; a condition on tuning parameters "
				       "belongs under where:, where it costs nothing",
				       context_file(ctx), RUNS_MAX, space_count(space));
		struct params *p = space_at(space, k);
		int rc = host_run(ctx, p, facts, &plan, &last);
		params_free(p);
		plan_free(plan);
		if (rc < 0 && last.code != ERR_PRUNED)
			return err_set(e, last.code, "%s", last.text);
		if (rc == 0) {
			*ret_accepts = true;
			return 0;
		}
	}
	*ret_why = mem_str(last.text);
	return 0;
}

/* *ret_accepts: some tuning configuration is accepted for the size by where: and by host code, which runs until one is. *ret_why
 * (may be NULL; owned by the caller): why the last one was not. Never -ERR_PRUNED. */
static int accepts(const struct context *ctx, const struct facts *facts, const struct params *size, bool *ret_accepts,
		   char **ret_why, struct err *e)
{
	const struct spec *spec = context_spec(ctx);
	struct space *space = NULL;
	char *why = NULL;
	int rc = 0;
	*ret_accepts = false;
	if (spec_domain_ok(spec, size, &why) && spec_device_ok(spec, facts, size, &why))
		rc = space_new_maybe(ctx, facts, size, &space, &why, e);
	if (rc == 0 && space && space_count(space) > 0)
		rc = try_all(ctx, facts, space, ret_accepts, &why, e);
	space_free(space);
	if (rc == 0 && !*ret_accepts && ret_why)
		*ret_why = why;
	else
		free(why);
	return rc;
}

struct comparison {
	const struct context *parent, *child;
	const struct facts *facts;
	struct domain *out;
	struct buf narrowed; /* "n=67 (why), …" */
	struct err *e;
};

static int compare_size(struct comparison *c, const struct params *size)
{
	bool parent = false, child = false;
	char *why = NULL;
	int rc = accepts(c->parent, c->facts, size, &parent, NULL, c->e);
	if (rc < 0 || !parent)
		return rc;
	c->out->sizes++;
	rc = accepts(c->child, c->facts, size, &child, &why, c->e);
	if (rc == 0 && child)
		c->out->covered++;
	else if (rc == 0 && !spec_domain_ok(context_spec(c->child), size, NULL))
		c->out->declared++;
	else if (rc == 0 && c->out->narrowed++ < SHOWN_MAX) {
		char *text = params_text(size);
		buf_addf(&c->narrowed, "%s%s (%s)", c->narrowed.len ? ", " : "", text, why);
		free(text);
	}
	free(why);
	return rc;
}

int domain_compare(const struct context *parent, const struct context *child, const struct facts *facts, struct domain *ret_domain,
		   struct err *e)
{
	struct domain d = { .sizes = 0 };
	struct comparison c = { .parent = parent, .child = child, .facts = facts, .out = &d, .narrowed = BUF_INIT, .e = e };
	struct space *declared = NULL, *check = NULL;
	int rc = space_new(parent, facts, NULL, &declared, e);
	if (rc == 0)
		rc = space_new_check(parent, facts, NULL, &check, e);
	const struct space *spaces[] = { declared, check };
	for (size_t s = 0; rc == 0 && s < MEM_COUNT(spaces); s++)
		for (size_t k = 0; rc == 0 && k < space_size_count(spaces[s]); k++) {
			struct params *size = space_size_at(spaces[s], k);
			rc = compare_size(&c, size);
			params_free(size);
		}
	if (rc == 0) {
		struct buf text = BUF_INIT;
		buf_addf(&text, "%zu of %zu input sizes covered", d.covered, d.sizes);
		if (d.declared)
			buf_addf(&text, ", %zu excluded by requires:", d.declared);
		if (d.narrowed)
			buf_addf(&text, "; narrowed without requires: %s%s", buf_text(&c.narrowed),
				 d.narrowed > SHOWN_MAX ? ", …" : "");
		d.text = buf_steal(&text);
		*ret_domain = d;
	}
	buf_fini(&c.narrowed);
	space_free(declared);
	space_free(check);
	return rc;
}

void domain_fini(struct domain *d)
{
	free(d->text);
	d->text = NULL;
}
