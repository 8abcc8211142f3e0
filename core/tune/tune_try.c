/* tune_try: preparing, checking, timing, weighing; see tune_try.h. */
#include "core/tune/tune_try.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/tune/tune_inside.h"

#define WEIGH_NS (300 * CLOCK_MS)

struct params *tune_try_params(const struct tune_request *q, const struct params *params, size_t size)
{
	struct params *tuning = params_part(params, true);
	struct params *whole = params_merge(size ? q->also[size - 1] : q->size, tuning);
	params_free(tuning);
	return whole;
}

/* Cancelled, or a device that cannot do what is asked: the tune ends. Anything else is the configuration's own. */
static bool ends_all(const struct err *why)
{
	return why->code == ERR_CANCELLED || why->code == ERR_UNSUPPORTED;
}

static void weigh(struct trial *trial, const struct tune_tried *t, struct tune_judged *j)
{
	struct trial_weighed weighed;
	if (trial_energy(trial, WEIGH_NS, &weighed, &j->why) < 0)
		return;
	j->joules = weighed.joules;
	if (!isfinite(weighed.joules))
		err_set(&j->why, ERR_UNSUPPORTED, "the objective needs energy, and %s tells none: %s", t->facts->id, weighed.note);
	free(weighed.note);
}

static void check_and_time_once(const struct tune_try *c, struct pool_worker *worker, double best_ns, struct tune_tried *t,
                                struct tune_judged *j)
{
	struct trial trial;
	struct trial_timing timing = c->timing;
	if (trial_begin(&trial, worker, j->used, &j->why) < 0)
		return;
	if (check_run(c->ev, &trial, c->q->root, t->facts, c->seed, c->poison, &j->check, &t->broken) == 0) {
		j->checked = true;
		timing.hopeless_ns = isfinite(best_ns) ? best_ns * c->give_up : 0;
		if (j->check.passed && trial_measure(&trial, &timing, &j->times, &j->why) == 0 && c->weigh)
			weigh(&trial, t, j);
	}
	trial_end(&trial);
}

/* Where the worker was killed from outside, a fresh one tries anew. */
static void check_and_time(const struct tune_try *c, struct pool_worker *worker, double best_ns, struct tune_tried *t,
                           struct tune_judged *j)
{
	for (unsigned tries = 0;;) {
		check_and_time_once(c, worker, best_ns, t, j);
		enum err_code code = t->broken.code != ERR_NONE ? t->broken.code : j->checked ? j->check.code : ERR_NONE;
		const char *why = t->broken.code != ERR_NONE ? t->broken.text : j->checked ? j->check.reason : NULL;
		if (code == ERR_NONE) {
			code = j->why.code;
			why = j->why.text;
		}
		if (!eval_retries(c->ev, code, why, &tries))
			return;
		if (j->checked)
			check_fini(&j->check);
		trial_times_fini(&j->times);
		j->checked = false;
		j->why = t->broken = (struct err)ERR_INIT;
	}
}

/* A further size is built here, by a compile worker (device code that does not mention the size is not compiled again). */
static void build(const struct tune_try *c, struct tune_tried *t, size_t size, struct tune_judged *j)
{
	if (size == 0) {
		j->params = t->built->params;
		j->why = t->built->why;
		j->used = j->why.code == ERR_NONE ? &t->built->variant : NULL;
		return;
	}
	j->params = tune_try_params(c->q, t->built->params, size);
	if (!tunespace_has(c->spaces[size], j->params))
		err_set(&j->why, ERR_PRUNED, "where: does not hold at this size");
	else if (variant_build(c->ev, c->q->ctx, j->params, t->facts, &j->variant, &j->why) == 0)
		j->used = &j->variant;
}

void tune_try_on(const struct tune_try *c, struct pool_worker *worker, const double best_ns[TUNE_SIZES], struct tune_tried *t)
{
	int64_t start = clock_now();
	for (size_t size = 0; size < c->size_count; size++) {
		struct tune_judged *j = &t->at[t->count++];
		*j = (struct tune_judged){ .joules = NAN };
		build(c, t, size, j);
		if (j->used)
			check_and_time(c, worker, best_ns[size], t, j);
		if (t->broken.code == ERR_NONE && ends_all(&j->why))
			t->broken = j->why;
		if (t->broken.code != ERR_NONE || !tune_try_good(t, size) || j->times.hopeless)
			break;
	}
	t->took_ns = clock_now() - start;
}

bool tune_try_good(const struct tune_tried *t, size_t size)
{
	const struct tune_judged *j = &t->at[size];
	return size < t->count && j->checked && j->check.passed && j->why.code == ERR_NONE && j->times.count > 0;
}

void tune_tried_free(struct tune_tried *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct tune_judged *j = &t->at[i];
		if (i > 0)
			params_free(j->params);
		variant_fini(&j->variant);
		if (j->checked)
			check_fini(&j->check);
		trial_times_fini(&j->times);
	}
	if (t->built)
		tune_built_free(t->built);
	free(t);
}
