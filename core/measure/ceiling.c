/* ceiling: measures what the device reaches and keeps it; see ceiling.h. */
#include "core/measure/ceiling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/record/fact.h"
#include "core/workers/trial.h"

/* Raised when a backend measures another one: what was kept before is measured anew. */
#define KERNELS "kernels 2"
#define LIST_NS (30 * CLOCK_S)

static const struct trial_timing timing = { .min_samples = 10,
					    .max_samples = 40,
					    .rse = 0.004,
					    .rests = true,
					    .cap_ns = CLOCK_S,
					    .warm_up_ns = 200 * CLOCK_MS,
					    .warm = true };

static void add(struct ceilings *list, const char *name, double per_second)
{
	struct ceiling *c = MEM_PUSH(list->at, list->count);
	*c = (struct ceiling){ .per_second = per_second };
	snprintf(c->name, sizeof c->name, "%s", name);
}

double ceiling_of(const struct ceilings *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->at[i].name, name) == 0)
			return list->at[i].per_second;
	return NAN;
}

/* What kept figures depend on. free() */
static char *made_by(const struct facts *facts)
{
	return mem_fmt("%s; " KERNELS, facts->driver);
}

/* Kept figures count as long as the driver is the same. */
static int read_kept(struct db *db, const struct facts *facts, struct ceilings *list, bool *ret_fresh, struct err *e)
{
	struct fact_list all;
	char *now = made_by(facts);
	int rc = fact_list(db, facts->uuid, &all, e);
	*ret_fresh = false;
	for (size_t i = 0; rc >= 0 && i < all.count; i++) {
		const struct fact *f = &all.at[i];
		if (strcmp(f->key, "ceilings.driver") == 0)
			*ret_fresh = strcmp(f->value, now) == 0;
		else if (strncmp(f->key, "ceiling.", 8) == 0)
			add(list, f->key + 8, strtod(f->value, NULL));
	}
	if (rc >= 0)
		fact_list_fini(&all);
	free(now);
	return rc < 0 ? rc : 0;
}

/* Work per second; NAN in it when the device was disturbed. */
static int measure(const struct eval *ev, const struct facts *facts, const struct wire_ceiling *c, double *ret_speed, struct err *e)
{
	struct variant v = { .plan = c->plan }; /* borrowed */
	struct pool_worker *device = NULL;
	struct trial_times times = { 0 };
	struct trial t;
	struct wire_compile compile = { .backend = (char *)facts->backend,
					.arch = (char *)facts->arch,
					.macros = (char *)"",
					.device = c->device,
					.plan = c->plan };
	struct pool_question question = { .type = WIRE_COMPILE, .request = &compile, .timeout_ns = EVAL_COMPILE_NS };
	int rc = pool_ask_compiler(ev->pool, ev->cancel, &question, &v.compiled, e);
	if (rc == 0)
		rc = eval_take_device(ev, facts, NULL, &device, e);
	if (rc == 0)
		rc = trial_begin(&t, device, &v, e);
	if (rc == 0) {
		rc = trial_measure(&t, &timing, &times, e);
		trial_end(&t);
	}
	pool_give(device);
	/* Nobody sees what else the CPU did meanwhile, and a slow figure would be kept: the fastest execution counts. */
	if (rc == 0)
		*ret_speed = times.disturbed ? NAN : c->work / (facts->shares_cpu ? times.min : times.median) * 1e9;
	trial_times_fini(&times);
	wire_compiled_fini(&v.compiled);
	return rc;
}

static int keep(struct db *db, const struct facts *facts, const char *name, double speed, struct err *e)
{
	char *key = mem_fmt("ceiling.%s", name), *value = mem_fmt("%.6g", speed);
	int rc = fact_set(db, facts->uuid, key, value, e);
	free(key);
	free(value);
	return rc < 0 ? rc : 0;
}

int ceiling_list(const struct eval *ev, const struct facts *facts, struct db *db, struct ceilings *ret_list, struct err *e)
{
	struct ceilings list = { .at = NULL };
	struct wire_target target = { .backend = (char *)facts->backend,
				      .arch = (char *)facts->arch,
				      .units = facts->units,
				      .shares_cpu = facts->shares_cpu };
	struct wire_ceilings kernels = { 0 };
	bool fresh, whole = true;
	int rc = read_kept(db, facts, &list, &fresh, e);
	if (rc < 0 || fresh)
		goto out;
	list.count = 0;
	/* The backend's own kernels. */
	rc = pool_ask_compiler(ev->pool, ev->cancel,
			       &(struct pool_question){ .type = WIRE_CEILINGS, .request = &target, .timeout_ns = LIST_NS },
			       &kernels, e);
	for (size_t i = 0; rc == 0 && i < kernels.count; i++) {
		struct err why = ERR_INIT;
		double speed = NAN;
		eval_progress(ev, (double)i, (double)kernels.count, "measuring what %s reaches: %s", facts->id, kernels.at[i].name);
		/* A pipe that this device lacks is not a failure; a lost worker or a full device is one. */
		if (measure(ev, facts, &kernels.at[i], &speed, &why) < 0)
			rc = err_if_cancelled(&why, e);
		whole = whole && !err_is_passing(why.code) && (why.code != ERR_NONE || isfinite(speed));
		if (rc == 0 && isfinite(speed)) {
			add(&list, kernels.at[i].name, speed);
			rc = keep(db, facts, kernels.at[i].name, speed, e);
		}
	}
	char *now = made_by(facts);
	if (rc == 0 && whole)
		rc = fact_set(db, facts->uuid, "ceilings.driver", now, e) < 0 ? -(int)e->code : 0;
	free(now);
	wire_ceilings_fini(&kernels);
out:
	if (rc < 0)
		free(list.at);
	else
		*ret_list = list;
	return rc;
}
