/* domain: sizes that a context accepts, and what a child refuses that its parent took; see domain.h. */
#include "core/context/domain.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "core/context/host.h"

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

static int lines_before(const char *text, const char *at)
{
	int lines = 0;
	for (; text < at; text++)
		lines += *text == '\n';
	return lines;
}

/* "NAME: host code, line 2: WHY" becomes "FILE:21: host code: WHY"; a mistake in an input gets the line of its declaration. */
static int name_line(const struct context *ctx, const char *text, const struct err *why, struct err *e)
{
	static const char host[] = "host code, line ", inputs[] = ": inputs: ";
	const char *file = context_file(ctx), *region = strstr(text, context_region(ctx, REGION_HOST));
	const char *at = strstr(why->text, host), *input = strstr(why->text, inputs);
	int line, end = 0;
	if (at && region && sscanf(at, "host code, line %d: %n", &line, &end) == 1 && end > 0)
		return err_set(e, ERR_INPUT, "%s:%d: host code: %s", file, line + lines_before(text, region), at + end);
	static const char whole[] = "host code: ";
	at = strstr(why->text, whole);
	if (at && region)
		return err_set(e, ERR_INPUT, "%s:%d: %s", file, lines_before(text, region), at);
	if (input) {
		const char *name = input + sizeof inputs - 1;
		size_t n = strcspn(name, ": ");
		for (const char *c = strchr(text, '\n'); c; c = strchr(c + 1, '\n')) {
			const char *word = c + 1 + strspn(c + 1, " \t");
			if (strncmp(word, name, n) == 0 && word[n + strspn(word + n, " \t")] == ':')
				return err_set(e, ERR_INPUT, "%s:%d: %s", file, lines_before(text, word) + 1, input + 2);
		}
	}
	return err_set(e, ERR_INPUT, "%s", why->text);
}

int domain_try(const struct context *ctx, const char *text, const struct space *space, size_t *ret_good, struct err *e)
{
	static const struct facts large = { .arch = "sm_90a",
					    .warp_size = 32,
					    .max_threads = 1024,
					    .max_block = { 1024, 1024, 64 },
					    .max_grid = { INT32_MAX, 65535, 65535 },
					    .shared_static = 48 << 10,
					    .shared_optin = 227 << 10,
					    .registers = 64 << 10,
					    .units = 128,
					    .clock_khz = 1500000,
					    .max_cluster = 8,
					    .l2_bytes = 50 << 20,
					    .memory_bytes = 64LL << 30 };
	struct err first = ERR_INIT;
	size_t good = 0;
	int rc = host_check(ctx, &first);
	for (size_t s = 0; space && rc == 0 && s < space_size_count(space) && s < DOMAIN_TRIES; s++) {
		struct plan *plan = NULL;
		struct err why = ERR_INIT;
		size_t at, count;
		space_size_range(space, s, &at, &count);
		struct params *params = space_at(space, at);
		if (host_run(ctx, params, &large, &plan, &why) != -ERR_INPUT)
			good++;
		else if (first.code == ERR_NONE)
			first = why;
		plan_free(plan);
		params_free(params);
	}
	*ret_good = good;
	return first.code == ERR_NONE ? 0 : name_line(ctx, text, &first, e);
}
