/* profile: see profile.h. */
#include "core/measure/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/measure/ceiling.h"
#include "core/judge/check.h"
#include "core/record/metric.h"

enum { POISON = 0xFF };
#define ENERGY_NS CLOCK_S

static const struct trial_timing timing = { .min_samples = 10, .max_samples = 60, .rse = 0.004, .rests = true, .cap_ns = 4 * CLOCK_S,
                                            .warm_up_ns = 250 * CLOCK_MS };

/* The fastest pipe that precision: permits. */
static const char *pipe_of(const struct spec *spec)
{
	if (spec->precision != SPEC_TENSOR)
		return spec_roundoff(spec) < dtype_roundoff(DTYPE_F32) ? "f64" : "f32";
	if (strcmp(spec->precision_in, "tf32") == 0)
		return "tensor.tf32";
	return strcmp(spec->precision_in, "bf16") == 0 ? "tensor.bf16" : "tensor.f16";
}

static void add_shares(const struct profile_request *q, const struct ceilings *list, struct profile_result *r)
{
	const struct spec *spec = context_spec(q->ctx);
	double seconds = r->cold.median / 1e9;
	r->flops = spec_flops(spec, q->params);
	r->bytes = spec_bytes(spec, q->params);
	r->pipe = isfinite(ceiling_of(list, pipe_of(spec))) ? pipe_of(spec) : NULL;
	r->pipe_share = r->pipe ? r->flops / seconds / ceiling_of(list, r->pipe) : NAN;
	r->copy_share = r->bytes / seconds / ceiling_of(list, "copy");
}

static int keep(struct db *db, const struct profile_request *q, int64_t checkpoint, const char *job, const struct profile_result *r,
                struct err *e)
{
	char *params = params_text(q->params);
	const struct { const char *name; double value; const char *unit, *source; } rows[] = {
		{ "time.cold", r->cold.median, "ns", "events" },       { "time.warm", r->warm.median, "ns", "events" },
		{ "energy", r->energy.joules, "J", "nvml" },           { "power", r->energy.watts, "W", "nvml" },
		{ "ceiling.pipe", 100 * r->pipe_share, "%", "events" }, { "ceiling.copy", 100 * r->copy_share, "%", "events" },
		{ "library", r->library.name && !r->library.why ? 100 * r->library.paired.ratio : NAN, "%", "events" },
	};
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < MEM_COUNT(rows); i++) {
		struct metric m = { .checkpoint = checkpoint, .device = q->facts->uuid, .params = params, .name = rows[i].name,
		                    .value = rows[i].value, .unit = rows[i].unit, .source = rows[i].source, .job = job };
		if (isfinite(rows[i].value))
			rc = metric_add(db, &m, e);
	}
	for (size_t i = 0; rc >= 0 && i < r->more.count; i++) {
		const struct external_metric *x = &r->more.at[i];
		struct metric m = { .checkpoint = checkpoint, .device = q->facts->uuid, .params = params, .name = x->name, .value = x->value,
		                    .unit = x->unit, .source = "evaluator", .job = job };
		rc = metric_add(db, &m, e);
	}
	free(params);
	return rc < 0 ? rc : 0;
}

static int ask_evaluators(const struct eval *ev, const struct profile_request *q, struct profile_result *r, struct err *e)
{
	struct external_subject subject = { .ctx = q->ctx, .params = q->params, .facts = q->facts, .median_ns = r->cold.median };
	return external_evaluate(ev, &subject, &r->more, e);
}

static int refuse_disturbed(const struct trial_times *times, struct err *e)
{
	return times->disturbed ? err_set(e, ERR_UNSUPPORTED, "the device was throttled by heat or hardware, or used by others, all the "
	                                  "time (%s): nothing is quoted; try again", times->cause) : 0;
}

static int measure(const struct eval *ev, const struct profile_request *q, struct trial *t, struct profile_result *r, struct err *e)
{
	struct trial_timing cold = timing, warm = timing;
	warm.warm = true;
	eval_progress(ev, 0, 3, "timing, cold and warm");
	int rc = trial_measure(t, &cold, &r->cold, e);
	if (rc == 0)
		rc = refuse_disturbed(&r->cold, e);
	if (rc == 0)
		rc = trial_measure(t, &warm, &r->warm, e);
	if (rc == 0)
		rc = refuse_disturbed(&r->warm, e);
	eval_progress(ev, 1, 3, "comparing with the library");
	if (rc == 0 && context_spec(q->ctx)->gemm)
		rc = library_baseline_compare(ev, t, q->ctx, q->root, q->facts, check_seed(), false, &r->library, e);
	/* Last: a device that has worked for a second on end may be slowed down for a while. */
	eval_progress(ev, 2, 3, "weighing");
	if (rc == 0)
		rc = trial_energy(t, ENERGY_NS, &r->energy, e);
	return rc;
}

/* Checked before it is timed, and after. */
static int prove_and_measure(const struct eval *ev, const struct profile_request *q, struct trial *t, struct db *db, int64_t checkpoint,
                             const char *job, struct profile_result *r, struct err *e)
{
	struct check c = { .passed = false };
	uint64_t seed = check_seed();
	int rc = check_run(ev, t, q->root, q->facts, seed, POISON, &c, e);
	if (rc == 0 && c.passed)
		rc = measure(ev, q, t, r, e);
	if (rc == 0 && c.passed)
		rc = check_after(ev, t, q->root, q->facts, seed, &c, e);
	if (rc == 0)
		rc = check_record(db, checkpoint, q->facts, q->params, "input", seed, &c, job, &r->evidence, e);
	if (rc == 0 && !c.passed)
		rc = err_set(e, ERR_WRONG, "it is not right, so nothing is said of its speed: %s", c.reason);
	check_fini(&c);
	return rc;
}

int profile_run(const struct eval *ev, const struct profile_request *q, struct db *db, int64_t checkpoint, const char *job,
                struct profile_result *ret_result, struct err *e)
{
	struct profile_result r = { .energy = { .joules = NAN, .watts = NAN } };
	struct ceilings list = { .at = NULL };
	struct pool_worker *device = NULL;
	struct variant v;
	struct trial t;
	int rc = variant_build(ev, q->ctx, q->params, q->facts, &v, e);
	if (rc < 0)
		return rc;
	variant_resources(&v, &r.registers, &r.shared, &r.spill);
	rc = ceiling_list(ev, q->facts, db, &list, e);
	if (rc == 0)
		rc = eval_take_device(ev, q->facts, NULL, &device, e);
	if (rc == 0)
		rc = trial_begin(&t, device, &v, e);
	if (rc == 0) {
		rc = prove_and_measure(ev, q, &t, db, checkpoint, job, &r, e);
		trial_end(&t);
	}
	pool_give(device);
	if (rc == 0)
		add_shares(q, &list, &r);
	if (rc == 0)
		rc = ask_evaluators(ev, q, &r, e);
	if (rc == 0)
		rc = keep(db, q, checkpoint, job, &r, e);
	if (rc == 0 && r.library.name)
		rc = library_baseline_record(db, checkpoint, q->facts, q->params, &r.library, false, r.evidence, job, e);
	free(list.at);
	variant_fini(&v);
	if (rc < 0)
		profile_result_fini(&r);
	else
		*ret_result = r;
	return rc;
}

void profile_result_fini(struct profile_result *r)
{
	trial_times_fini(&r->cold);
	trial_times_fini(&r->warm);
	free(r->energy.note);
	library_baseline_fini(&r->library);
	external_metrics_fini(&r->more);
}
