/* tune_record: what becomes of configurations, as rows and counts; see tune_inside.h. */
#include "core/tune/tune_inside.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"

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
	case ERR_INTERNAL: return MEASUREMENT_ERROR;
	}
	return MEASUREMENT_ERROR;
}

int tune_record(struct tuner *u, const struct facts *facts, const struct params *params, const struct variant *variant,
                enum measurement_status status, const struct trial_times *times, int64_t validation, const char *message, struct err *e)
{
	struct params *inputs = params_part(params, false);
	char *sizes = params_text(inputs), *text = params_text(params);
	struct measurement m = {
		.checkpoint = u->checkpoint, .run = u->result.run, .device = facts->uuid, .driver = facts->driver,
		.sizes = sizes, .params = text, .status = status, .median_ns = times ? times->median : NAN,
		.min_ns = times ? times->min : NAN, .rse = times ? times->rse : NAN, .samples = times ? times->samples : NULL,
		.sample_count = times ? times->count : 0, .cold = !u->q->warm, .compile_ns = -1, .registers = -1,
		.shared_bytes = -1, .spill_bytes = -1, .message = message, .validation = validation, .job = u->job,
	};
	if (variant && variant->plan) {
		m.compile_ns = (int64_t)variant->compiled.compile_ns;
		variant_resources(variant, &m.registers, &m.shared_bytes, &m.spill_bytes);
	}
	int rc = measurement_add(u->db, &m, e);
	if (rc >= 0 && validation && times && times->conditions)
		rc = measurement_conditions_add(u->db, m.id, times->conditions, e);
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

int tune_record_out(struct tuner *u, const struct facts *facts, const struct params *params, const struct variant *variant,
                    enum measurement_status status, const char *message, struct err *e)
{
	tune_record_count(&u->result, status);
	/* One pruning is enough as an example: there may be hundreds. */
	if (status != MEASUREMENT_PRUNED || u->result.pruned == 1)
		tune_record_why(u, params, message);
	return tune_record(u, facts, params, variant, status, NULL, 0, message, e);
}
