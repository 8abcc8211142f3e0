/* tune_record: rows and counts of what a device said of a configuration, its value for the search, the list of finalists; see
 * tuner.h. */
#include "core/tune/tuner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "core/record/fact.h"
#include "core/record/metric.h"

enum { WHY_MAX = 400 };

enum measurement_status tune_status(enum err_code code)
{
	switch (code) {
	case ERR_PRUNED: return MEASUREMENT_PRUNED;
	case ERR_COMPILE: return MEASUREMENT_COMPILE;
	case ERR_WRONG: return MEASUREMENT_WRONG;
	case ERR_CRASH: return MEASUREMENT_CRASH;
	case ERR_TIMEOUT: return MEASUREMENT_TIMEOUT;
	case ERR_CANCELLED: return MEASUREMENT_CANCELLED;
	case ERR_UNSUPPORTED: return MEASUREMENT_UNSUPPORTED;
	case ERR_NONE: return MEASUREMENT_OK;
	case ERR_INPUT:
	case ERR_NOT_FOUND:
	case ERR_CONFLICT:
	case ERR_MODEL:
	case ERR_NETWORK:
	case ERR_IO:
	case ERR_BUSY:
	case ERR_INTERNAL: return MEASUREMENT_ERROR;
	}
	return MEASUREMENT_ERROR;
}

int tune_record(struct tuner *u, const struct tune_row *row, struct err *e)
{
	struct params *inputs = params_part(row->params, false);
	char *sizes = params_text(inputs), *text = params_text(row->params);
	const struct trial_times *times = row->times;
	struct measurement m = {
		.checkpoint = u->to.checkpoint,
		.run = u->result.run,
		.device = row->facts->uuid,
		.driver = row->facts->driver,
		.sizes = sizes,
		.params = text,
		.status = row->status,
		.median_ns = times ? times->median : NAN,
		.min_ns = times ? times->min : NAN,
		.rse = times ? times->rse : NAN,
		.samples = times ? times->samples : NULL,
		.sample_count = times ? times->count : 0,
		.cold = !u->q->warm,
		.compile_ns = -1,
		.registers = -1,
		.shared_bytes = -1,
		.spill_bytes = -1,
		.message = row->message,
		.validation = row->validation,
		.job = u->to.job,
	};
	if (row->variant && row->variant->plan) {
		m.compile_ns = (int64_t)row->variant->compiled.compile_ns;
		variant_resources(row->variant, &m.registers, &m.shared_bytes, &m.spill_bytes);
	}
	int rc = measurement_add(u->to.db, &m, e);
	if (rc >= 0 && row->status == MEASUREMENT_CRASH)
		rc = fact_crash(u->to.db, m.device, m.checkpoint, text, row->message, e);
	if (rc >= 0 && row->validation && times && times->conditions)
		rc = measurement_conditions_add(u->to.db, m.id, times->conditions, e);
	params_free(inputs);
	free(sizes);
	free(text);
	return rc < 0 ? rc : 0;
}

void tune_record_count(struct tune_result *r, enum measurement_status status)
{
	switch (status) {
	case MEASUREMENT_PRUNED: r->pruned++; break;
	case MEASUREMENT_COMPILE: r->refused++; break;
	case MEASUREMENT_WRONG:
	case MEASUREMENT_IMPOSSIBLE: r->wrong++; break;
	case MEASUREMENT_OK:
	case MEASUREMENT_CRASH:
	case MEASUREMENT_TIMEOUT:
	case MEASUREMENT_DISTURBED:
	case MEASUREMENT_UNSUPPORTED:
	case MEASUREMENT_CANCELLED:
	case MEASUREMENT_ERROR: r->broken++; break;
	}
}

void tune_record_why(struct tuner *u, const struct params *params, const char *message)
{
	struct tune_result *r = &u->result;
	if (r->why_count == TUNE_WHY)
		return;
	char *text = params_text(params);
	r->why[r->why_count++] = mem_fmt("%s: %.*s", text, (int)utf8_fit(message, WHY_MAX), message);
	free(text);
}

int tune_record_out(struct tuner *u, const struct tune_row *row, struct err *e)
{
	tune_record_count(&u->result, row->status);
	/* One pruning is enough as an example: there may be hundreds. */
	if (row->status != MEASUREMENT_PRUNED || u->result.pruned == 1)
		tune_record_why(u, row->params, row->message);
	return tune_record(u, row, e);
}

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
	return u->objective->is_time && u->size_count == 1;
}

int tune_record_metric(struct tuner *u, const struct facts *facts, const struct params *params, const char *name, double value,
		       const char *unit, struct err *e)
{
	char *text = params_text(params);
	struct metric m = { .checkpoint = u->to.checkpoint,
			    .device = facts->uuid,
			    .params = text,
			    .name = name,
			    .value = value,
			    .unit = unit,
			    .source = "tune",
			    .job = u->to.job };
	int rc = isfinite(value) ? metric_add(u->to.db, &m, e) : 0;
	free(text);
	return rc < 0 ? rc : 0;
}

void tune_offer_finalist(struct tuner *u, struct params **params, struct variant *variant, double value, double median_ns)
{
	size_t at = u->finalist_count;
	while (at > 0 && value < u->finalists[at - 1].value)
		at--;
	if (at >= TUNE_FINALISTS)
		return;
	if (u->finalist_count == TUNE_FINALISTS) {
		params_free(u->finalists[TUNE_FINALISTS - 1].params);
		variant_fini(&u->finalists[TUNE_FINALISTS - 1].variant);
		u->finalist_count--;
	}
	memmove(&u->finalists[at + 1], &u->finalists[at], (u->finalist_count - at) * sizeof u->finalists[0]);
	u->finalists[at] = (struct finalist){ .params = *params, .variant = *variant, .value = value, .median_ns = median_ns };
	u->finalist_count++;
	*params = NULL;
	*variant = (struct variant){ 0 };
}
