/* tune_try: one configuration on the device: checked, timed, weighed if the objective wants it, at every size; see tune_inside.h. */
#include "core/eval/tune_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/eval/check.h"
#include "core/record/metric.h"

/* Searching needs an order, not a figure: few samples. */
static const struct trial_timing searching = { .min_samples = 3, .max_samples = 12, .rse = 0.02, .cap_ns = CLOCK_S,
                                              .warm_up_ns = 10 * CLOCK_MS };
#define GIVE_UP 1.6      /* times the best so far */
#define GIVE_UP_OTHER 4  /* where time at one size is not all that counts */
#define WEIGH_NS (300 * CLOCK_MS)

/* --- values --------------------------------------------------------------------------------------------------------------- */

double tune_over_sizes(struct tuner *u, const double *values)
{
	double sum = 0, worst = 0;
	if (u->reference[0] == 0)
		memcpy(u->reference, values, u->size_count * sizeof values[0]);
	for (size_t i = 0; i < u->size_count; i++) {
		sum += log(values[i]);
		worst = fmax(worst, values[i] / u->reference[i]);
	}
	if (u->size_count == 1)
		return values[0];
	return u->q->worst ? worst * u->reference[0] : exp(sum / (double)u->size_count);
}

struct params *tune_at_size(const struct tuner *u, const struct params *params, size_t size)
{
	struct params *tuning = params_part(params, true);
	struct params *whole = params_merge(size ? u->q->also[size - 1] : u->q->size, tuning);
	params_free(tuning);
	return whole;
}

int tune_weigh(struct tuner *u, struct trial *t, const struct params *params, int64_t min_ns, double *ret_joules, struct err *e)
{
	struct trial_weighed weighed;
	*ret_joules = NAN;
	if (!objective_weighs(u->objective))
		return 0;
	int rc = trial_energy(t, min_ns, &weighed, e);
	if (rc < 0)
		return rc;
	if (!isfinite(weighed.joules)) {
		rc = err_set(e, ERR_UNSUPPORTED, "objective %s needs energy, and %s tells none: %s", objective_text(u->objective),
		             u->q->facts->id, weighed.note);
	} else {
		char *text = params_text(params);
		struct metric m = { .checkpoint = u->checkpoint, .device = u->q->facts->uuid, .params = text, .name = "energy",
		                    .value = weighed.joules, .unit = "J", .source = "tune", .job = u->job };
		rc = metric_add(u->db, &m, e);
		*ret_joules = weighed.joules;
		free(text);
	}
	free(weighed.note);
	return rc < 0 ? rc : 0;
}

int tune_value(const struct tuner *u, const struct params *params, const struct variant *variant, const struct trial_times *times,
               double joules, double *ret_value, struct err *e)
{
	struct objective_metrics m = { .params = params, .seconds = times->median / 1e9, .joules = joules };
	variant_resources(variant, &m.registers, &m.shared, &m.spill);
	return objective_value(u->objective, &m, ret_value, e);
}

void tune_offer_leader(struct tuner *u, struct params **params, struct variant *variant, double value, double median_ns)
{
	size_t at = u->leader_count;
	while (at > 0 && value < u->leaders[at - 1].value)
		at--;
	if (at >= TUNE_TOP)
		return;
	if (u->leader_count == TUNE_TOP) {
		params_free(u->leaders[TUNE_TOP - 1].params);
		variant_fini(&u->leaders[TUNE_TOP - 1].variant);
		u->leader_count--;
	}
	memmove(&u->leaders[at + 1], &u->leaders[at], (u->leader_count - at) * sizeof u->leaders[0]);
	u->leaders[at] = (struct leader){ .params = *params, .variant = *variant, .value = value, .median_ns = median_ns };
	u->leader_count++;
	*params = NULL;
	*variant = (struct variant){ 0 };
}

/* --- one size ------------------------------------------------------------------------------------------------------------- */

/* What one configuration came to at one size. */
struct outcome {
	double value, median_ns; /* INFINITY: out */
	bool hopeless;
};

static double hopeless_ns(const struct tuner *u, size_t size)
{
	bool plain = objective_is_time(u->objective) && u->size_count == 1;
	double factor = u->q->give_up > 0 ? u->q->give_up : plain ? GIVE_UP : GIVE_UP_OTHER;
	return isfinite(u->fastest_ns[size]) ? u->fastest_ns[size] * factor : 0;
}

/* Cancelled, or no energy at all: the tune ends. Anything else is the configuration's own. */
static int own_fault(struct tuner *u, const struct variant *v, const struct err *why, struct err *e)
{
	if (why->code == ERR_CANCELLED || why->code == ERR_UNSUPPORTED || why->code == ERR_INPUT) {
		*e = *why;
		return -(int)why->code;
	}
	return tune_record_out(u, v->params, v, tune_status(why->code), why->text, e);
}

static int time_it(struct tuner *u, const struct variant *v, struct trial *t, size_t size, struct outcome *o, struct err *e)
{
	struct trial_times times = { 0 };
	struct trial_timing timing = searching;
	struct err why = ERR_INIT;
	double joules;
	timing.warm = u->q->warm;
	timing.hopeless_ns = hopeless_ns(u, size);
	int rc = trial_measure(t, &timing, &times, &why);
	if (rc < 0)
		return own_fault(u, v, &why, e);
	if (times.median < u->floor_ns && size == 0) {
		rc = tune_record_out(u, v->params, v, MEASUREMENT_IMPOSSIBLE, "faster than the hardware can be: work is missing", e);
		goto out;
	}
	if (tune_weigh(u, t, v->params, WEIGH_NS, &joules, &why) < 0 ||
	    tune_value(u, v->params, v, &times, joules, &o->value, &why) < 0) {
		o->value = INFINITY;
		rc = own_fault(u, v, &why, e);
		goto out;
	}
	o->median_ns = times.median;
	o->hopeless = times.hopeless;
	/* Without evidence, so that nobody quotes it: it is an order to search by, of few samples. Leaders get figures. */
	rc = tune_record(u, v->params, v, MEASUREMENT_OK, &times, 0, times.hopeless ? "search, given up early" : "search", e);
out:
	trial_times_fini(&times);
	return rc;
}

static int check_and_time(struct tuner *u, const struct variant *v, size_t size, struct outcome *o, struct err *e)
{
	struct trial t;
	struct check c;
	struct err why = ERR_INIT;
	*o = (struct outcome){ .value = INFINITY, .median_ns = INFINITY };
	if (trial_begin(&t, u->device, v, &why) < 0)
		return own_fault(u, v, &why, e);
	int rc = check_run(u->ev, &t, u->q->root, u->q->facts, u->seed, TUNE_POISON, &c, e);
	if (rc == 0) {
		rc = check_record(u->db, u->checkpoint, u->q->facts, v->params, "input", u->seed, &c, u->job, NULL, e);
		if (rc == 0 && !c.passed)
			rc = tune_record_out(u, v->params, v, tune_status(c.code), c.reason, e);
		else if (rc == 0)
			rc = time_it(u, v, &t, size, o, e);
		check_fini(&c);
	}
	trial_end(&t);
	return rc;
}

/* A further size: built here, by a compile worker (device code that does not mention the size is not compiled again). */
static int try_size(struct tuner *u, const struct params *params, size_t size, struct outcome *o, struct err *e)
{
	struct params *whole = tune_at_size(u, params, size);
	struct variant v = { 0 };
	struct err why = ERR_INIT;
	int rc;
	*o = (struct outcome){ .value = INFINITY, .median_ns = INFINITY };
	if (!tunespace_has(u->spaces[size], whole))
		rc = tune_record_out(u, whole, NULL, MEASUREMENT_PRUNED, "where: does not hold at this size", e);
	else if (variant_build(u->ev, u->q->ctx, whole, u->q->facts, &v, &why) < 0)
		rc = why.code == ERR_CANCELLED ? (*e = why, -ERR_CANCELLED) : tune_record_out(u, whole, NULL, tune_status(why.code), why.text, e);
	else
		rc = check_and_time(u, &v, size, o, e);
	variant_fini(&v);
	params_free(whole);
	return rc;
}

/* --- all sizes ------------------------------------------------------------------------------------------------------------ */

/* The value over all sizes is no column of a measurement: a resumed tune reads it from here. */
static int record_value(struct tuner *u, const struct params *params, double value, struct err *e)
{
	if (objective_is_time(u->objective) && u->size_count == 1)
		return 0;
	char *text = params_text(params);
	struct metric m = { .checkpoint = u->checkpoint, .device = u->q->facts->uuid, .params = text, .name = "objective", .value = value,
	                    .unit = objective_unit(u->objective), .source = "tune", .job = u->job };
	int rc = metric_add(u->db, &m, e);
	free(text);
	return rc < 0 ? rc : 0;
}

static int try_sizes(struct tuner *u, struct tune_built *b, double *ret_value, struct err *e)
{
	struct outcome all[TUNE_SIZES];
	double values[TUNE_SIZES];
	int rc = check_and_time(u, &b->variant, 0, &all[0], e);
	size_t n = 1;
	for (; rc == 0 && n < u->size_count && isfinite(all[n - 1].value) && !all[n - 1].hopeless; n++)
		rc = try_size(u, b->params, n, &all[n], e);
	if (rc < 0 || !isfinite(all[n - 1].value))
		return rc;
	u->result.timed++;
	if (n < u->size_count) {
		/* Hopeless at one size: slow, as far as anybody knows; its ratio there stands for the others. */
		*ret_value = u->leader_count ? u->leaders[0].value * all[n - 1].median_ns / u->fastest_ns[n - 1] : INFINITY;
		return record_value(u, b->params, *ret_value, e);
	}
	for (size_t i = 0; i < n; i++)
		values[i] = all[i].value;
	double value = *ret_value = tune_over_sizes(u, values);
	rc = record_value(u, b->params, value, e);
	if (all[n - 1].hopeless)
		return rc;
	if (u->leader_count == 0 || value < u->leaders[0].value)
		for (size_t i = 0; i < n; i++)
			u->fastest_ns[i] = all[i].median_ns;
	tune_offer_leader(u, &b->params, &b->variant, value, all[0].median_ns);
	return rc;
}

int tune_try(struct tuner *u, struct tune_built *b, double *ret_value, struct err *e)
{
	*ret_value = INFINITY;
	if (b->why.code == ERR_CANCELLED || b->why.code == ERR_UNSUPPORTED) {
		*e = b->why;
		return -(int)e->code;
	}
	if (b->why.code != ERR_NONE)
		return tune_record_out(u, b->params, &b->variant, tune_status(b->why.code), b->why.text, e);
	return try_sizes(u, b, ret_value, e);
}
