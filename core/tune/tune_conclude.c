/* tune_conclude: what a device said of a configuration becomes rows, a value for the search, and perhaps a leader; see tune_inside.h. */
#include "core/tune/tune_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/record/metric.h"

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

int tune_value(const struct tuner *u, const struct params *params, const struct variant *variant, const struct trial_times *times,
               double joules, double *ret_value, struct err *e)
{
	struct objective_metrics m = { .params = params, .time_ns = times->median, .joules = joules };
	variant_resources(variant, &m.registers, &m.shared, &m.spill);
	return objective_value(u->objective, &m, ret_value, e);
}

bool tune_plain(const struct tuner *u)
{
	return objective_is_time(u->objective) && u->size_count == 1;
}

int tune_record_metric(struct tuner *u, const struct facts *facts, const struct params *params, const char *name, double value,
                       const char *unit, struct err *e)
{
	char *text = params_text(params);
	struct metric m = { .checkpoint = u->checkpoint, .device = facts->uuid, .params = text, .name = name, .value = value, .unit = unit,
	                    .source = "tune", .job = u->job };
	int rc = isfinite(value) ? metric_add(u->db, &m, e) : 0;
	free(text);
	return rc < 0 ? rc : 0;
}

void tune_offer_leader(struct tuner *u, struct params **params, struct variant *variant, double value, double median_ns)
{
	size_t at = u->leader_count;
	while (at > 0 && value < u->leaders[at - 1].value)
		at--;
	if (at >= TUNE_LEADERS)
		return;
	if (u->leader_count == TUNE_LEADERS) {
		params_free(u->leaders[TUNE_LEADERS - 1].params);
		variant_fini(&u->leaders[TUNE_LEADERS - 1].variant);
		u->leader_count--;
	}
	memmove(&u->leaders[at + 1], &u->leaders[at], (u->leader_count - at) * sizeof u->leaders[0]);
	u->leaders[at] = (struct leader){ .params = *params, .variant = *variant, .value = value, .median_ns = median_ns };
	u->leader_count++;
	*params = NULL;
	*variant = (struct variant){ 0 };
}

/* --- rows ----------------------------------------------------------------------------------------------------------------- */

/* One size's rows. *ret_value is INFINITY when the configuration is out there. Figures carry no evidence, so that nobody quotes them: they
 * are an order to search by, of few samples. Leaders get figures. */
static int conclude_size(struct tuner *u, struct tune_tried *t, size_t size, double *ret_value, struct err *e)
{
	const struct tune_judged *j = &t->at[size];
	int rc = 0;
	*ret_value = INFINITY;
	if (j->checked)
		rc = check_record(u->db, u->checkpoint, t->facts, j->params, "input", u->seed, &j->check, u->job, NULL, e);
	if (rc < 0)
		return rc;
	if (j->checked && !j->check.passed)
		return tune_record_out(u, t->facts, j->params, j->used, tune_status(j->check.code), j->check.reason, e);
	if (j->why.code != ERR_NONE)
		return tune_record_out(u, t->facts, j->params, j->used, tune_status(j->why.code), j->why.text, e);
	if (j->times.median < u->floor_ns[size])
		return tune_record_out(u, t->facts, j->params, j->used, MEASUREMENT_IMPOSSIBLE,
		                       "faster than the hardware can be: work is missing", e);
	/* An objective that cannot be computed is the request's fault, not the configuration's. */
	rc = tune_value(u, j->params, j->used, &j->times, j->joules, ret_value, e);
	if (rc == 0)
		rc = tune_record_metric(u, t->facts, j->params, "energy", j->joules, "J", e);
	if (rc == 0)
		rc = tune_record(u, t->facts, j->params, j->used, MEASUREMENT_OK, &j->times, 0,
		                 j->times.hopeless ? TUNE_GIVEN_UP : TUNE_SEARCHED, e);
	return rc;
}

int tune_conclude(struct tuner *u, struct tune_tried *t, double *ret_value, struct err *e)
{
	double values[TUNE_SIZES];
	const struct tune_judged *last = &t->at[t->count ? t->count - 1 : 0];
	int rc = 0;
	*ret_value = INFINITY;
	if (t->broken.code != ERR_NONE) {
		*e = t->broken;
		return -(int)e->code;
	}
	for (size_t i = 0; rc == 0 && i < t->count; i++)
		rc = conclude_size(u, t, i, &values[i], e);
	if (rc < 0 || t->count == 0 || !isfinite(values[t->count - 1]))
		return rc;
	u->result.timed++;
	/* Given up before all sizes were looked at: slow, as far as anybody knows; its ratio there stands for the others. */
	if (t->count < u->size_count)
		*ret_value = u->leader_count ? u->leaders[0].value * last->times.median / u->fastest_ns[t->count - 1] : INFINITY;
	else
		*ret_value = tune_over_sizes(u, values);
	/* The value over all sizes is no column of a measurement: a resumed tune reads it from here. */
	if (!tune_plain(u))
		rc = tune_record_metric(u, t->facts, t->built->params, "objective", *ret_value, objective_unit(u->objective), e);
	if (rc < 0 || last->times.hopeless)
		return rc;
	if (u->leader_count == 0 || *ret_value < u->leaders[0].value)
		for (size_t i = 0; i < t->count; i++)
			u->fastest_ns[i] = t->at[i].times.median;
	tune_offer_leader(u, &t->built->params, &t->built->variant, *ret_value, t->at[0].times.median);
	t->at[0].params = t->built->params;
	return 0;
}
