/* profile: one configuration, measured from all sides; see profile.h. */
#include "core/measure/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/judge/check.h"
#include "core/measure/ceiling.h"
#include "core/measure/counters.h"
#include "core/measure/guidance.h"
#include "core/record/metric.h"

#define ENERGY_NS CLOCK_S

static const struct trial_timing timing = {
	.min_samples = 10, .max_samples = 60, .rse = 0.004, .rests = true, .cap_ns = 3 * CLOCK_S / 2, .warm_up_ns = 250 * CLOCK_MS
};

/* The fastest pipe that precision: permits. */
static const char *pipe_of(const struct spec *spec)
{
	if (spec->precision != SPEC_TENSOR)
		return spec_roundoff(spec) < dtype_roundoff(DTYPE_F32) ? "f64" : "f32";
	if (strcmp(spec->precision_in, "tf32") == 0)
		return "tensor.tf32";
	return strcmp(spec->precision_in, "bf16") == 0 ? "tensor.bf16" : "tensor.f16";
}

/* For prompts, and for those who ask the database. */
static int keep_kernels(struct db *db, struct metric *m, const struct kernel_profiles *k, struct err *e)
{
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < k->count; i++) {
		char *name = mem_fmt(GUIDANCE_KERNEL "%s", k->at[i].name);
		m->name = name;
		m->value = k->at[i].ns;
		m->unit = "ns";
		m->source = "events";
		if (isfinite(m->value))
			rc = metric_add(db, m, e);
		free(name);
	}
	return rc < 0 ? rc : 0;
}

static int keep(const struct evidence *to, const struct profile_request *q, const struct profile_result *r, struct err *e)
{
	char *params = params_text(q->params);
	const struct {
		const char *name;
		double value;
		const char *unit, *source;
	} rows[] = {
		{ "time.cold", r->cold.median, "ns", "events" },
		{ "time.warm", r->warm.median, "ns", "events" },
		{ "energy", r->energy.joules, "J", "nvml" },
		{ "power", r->energy.watts, "W", "nvml" },
		{ "ceiling.pipe", 100 * r->pipe_share, "%", "events" },
		{ "ceiling.copy", 100 * r->copy_share, "%", "events" },
		{ "library", r->library.name && !r->library.why ? 100 * r->library.paired.ratio : NAN, "%", "events" },
	};
	struct metric m = { .checkpoint = to->checkpoint, .device = to->facts->uuid, .params = params, .job = to->job };
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < MEM_COUNT(rows); i++) {
		m.name = rows[i].name;
		m.value = rows[i].value;
		m.unit = rows[i].unit;
		m.source = rows[i].source;
		if (isfinite(rows[i].value))
			rc = metric_add(to->db, &m, e);
	}
	m.source = "profile";
	for (size_t i = 0; rc >= 0 && i < figures_known_count; i++) {
		char *name = mem_fmt(FIGURES_METRIC "%s", figures_known[i].name);
		m.name = name;
		m.value = r->figures.values[i];
		m.unit = figures_known[i].unit;
		if (isfinite(m.value))
			rc = metric_add(to->db, &m, e);
		free(name);
	}
	rc = rc < 0 ? rc : keep_kernels(to->db, &m, &r->kernels, e);
	m.source = "evaluator";
	for (size_t i = 0; rc >= 0 && i < r->more.count; i++) {
		m.name = r->more.at[i].name;
		m.value = r->more.at[i].value;
		m.unit = r->more.at[i].unit;
		rc = metric_add(to->db, &m, e);
	}
	free(params);
	return rc < 0 ? rc : 0;
}

/* The interpreter's counts; what it does not know is no failure. */
static int count(struct trial *t, uint64_t seed, struct wire_counted *ret_counted, char **ret_why, struct err *e)
{
	struct err why = ERR_INIT;
	if (trial_count(t, seed, ret_counted, &why) == 0)
		return 0;
	*ret_counted = (struct wire_counted){ .count = 0 };
	*ret_why = mem_str(why.text);
	return err_if_cancelled(&why, e);
}

static int refuse_disturbed(const struct trial_times *times, struct err *e)
{
	return times->disturbed ? err_set(e, ERR_UNSUPPORTED,
					  "the device was throttled by heat or hardware, or used by others, all the "
					  "time (%s): nothing is quoted; try again",
					  times->cause)
				: 0;
}

/* What disassembler and counters say. A closed view is no failure. */
static int look_inside(const struct eval *ev, const struct profile_request *q, const struct variant *v, struct profile_result *r,
		       struct err *e)
{
	struct wire_counters counters = { .counters = NULL };
	struct sass sass = { .at = NULL };
	struct err why = ERR_INIT;
	int rc = 0;
	if (strcmp(q->facts->backend, "cuda") == 0 && !plan_is_library(v->plan)) {
		struct eval lines = *ev;
		struct variant with_lines = { .params = NULL };
		lines.line_info = true;
		rc = variant_build(&lines, q->ctx, q->params, q->facts, &with_lines, &why);
		if (rc == 0)
			rc = sass_disassemble(with_lines.compiled.binary, with_lines.compiled.binary_len, ev->cancel, &sass, &why);
		variant_fini(&with_lines);
	} else {
		rc = err_set(&why, ERR_UNSUPPORTED, "only NVIDIA's devices have this view");
	}
	r->no_sass = rc < 0 && isnan(figures_get(&r->figures, "instructions")) ? mem_str(why.text) : NULL;
	if (err_if_cancelled(&why, e) < 0)
		return -ERR_CANCELLED;
	rc = counters_read(ev, q->ctx, q->params, q->facts, &counters, e);
	if (rc == 0) {
		kernels_add_counters(&r->kernels, &counters, &r->figures);
		struct kernel_work work = { .buffers = figures_get(&r->figures, "working_set"),
					    .flops = r->flops,
					    .bytes = r->bytes };
		kernels_work(&r->kernels, &counters, &sass, &work);
		r->flops = work.flops;
		r->bytes = work.bytes;
		kernels_add_sass(&r->kernels, &sass, &counters, &r->figures);
		r->no_counters = counters.counter_count ? NULL : mem_str(counters.counters_closed);
		r->no_stalls = counters.stall_count ? NULL : mem_str(counters.stalls_closed);
	}
	wire_counters_fini(&counters);
	sass_fini(&sass);
	return rc;
}

/* seed: of the execution that was checked. What each timing left is checked before the next. */
static int measure(const struct reference_source *j, const struct profile_request *q, struct trial *t, uint64_t seed,
		   struct profile_result *r, struct check *io_check, struct err *e)
{
	struct trial_timing cold = timing, warm = timing;
	struct load load;
	uint64_t seeds[TRIAL_SEEDS];
	check_seeds(seed, seeds);
	warm.warm = true;
	cold.seeds = warm.seeds = seeds;
	eval_progress(j->ev, 0, 3, "timing, cold and warm");
	load_begin(&load, pool_worker_pid(t->worker));
	int rc = trial_measure(t, &cold, &r->cold, e);
	if (rc == 0)
		rc = refuse_disturbed(&r->cold, e);
	if (rc == 0)
		rc = check_left(j, t, io_check, e);
	if (rc < 0 || !io_check->passed)
		return rc;
	rc = trial_measure(t, &warm, &r->warm, e);
	if (q->facts->shares_cpu)
		load_end(&load, r->load);
	if (rc == 0)
		rc = refuse_disturbed(&r->warm, e);
	if (rc == 0)
		rc = check_left(j, t, io_check, e);
	if (rc < 0 || !io_check->passed)
		return rc;
	eval_progress(j->ev, 1, 3, "comparing with the library");
	if (rc == 0 && context_spec(q->ctx)->gemm)
		rc = library_baseline_compare(j, t, q->ctx, check_seed(), false, &r->library, e);
	/* Energy last: a device that has worked for a whole second may be slowed down for a while. */
	eval_progress(j->ev, 2, 3, "measuring energy");
	if (rc == 0)
		rc = trial_energy(t, ENERGY_NS, &r->energy, e);
	return rc;
}

/* Checks before it times, and after. */
static int check_and_measure(const struct reference_source *j, const struct profile_request *q, struct trial *t,
			     const struct evidence *to, struct profile_result *r, struct err *e)
{
	struct check c = { .passed = false };
	uint64_t seed = check_seed();
	int rc = check_run(j, t, seed, &c, e);
	if (rc == 0 && c.passed)
		rc = measure(j, q, t, seed, r, &c, e);
	if (rc == 0 && c.passed)
		rc = check_after(j, t, seed, &c, e);
	if (rc == 0)
		rc = check_record(to, q->params, "input", seed, &c, &r->evidence, e);
	if (rc == 0 && !c.passed)
		rc = check_refuse(&c, "its outputs are wrong, so its speed is not quoted", e);
	check_fini(&c);
	return rc;
}

int profile_run(const struct eval *ev, const struct profile_request *q, struct db *db, int64_t checkpoint, const char *job,
		struct profile_result *ret_result, struct err *e)
{
	struct reference_source reference = { .ev = ev, .baseline = q->baseline, .facts = q->facts };
	struct evidence to = { .db = db, .checkpoint = checkpoint, .facts = q->facts, .job = job };
	struct profile_result r = { .energy = { .joules = NAN, .watts = NAN } };
	struct external_subject subject = { .ctx = q->ctx, .params = q->params, .facts = q->facts };
	struct ceilings list = { .at = NULL };
	struct pool_worker *device = NULL;
	struct wire_counted counted = { .count = 0 };
	char *uncounted = NULL;
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
		rc = check_and_measure(&reference, q, &t, &to, &r, e);
		if (rc == 0)
			rc = kernels_time(&t, r.cold.median, &r.kernels, e);
		if (rc == 0)
			rc = count(&t, check_seed(), &counted, &uncounted, e);
		for (enum wire_probe p = WIRE_PROBE_NONE + 1; rc == 0 && q->probes && p < WIRE_PROBES; p++) {
			eval_progress(ev, p, WIRE_PROBES, "what if %s were free", probe_names[p]);
			const struct probe_request asked = { q->ctx, q->facts, p, check_seed() };
			rc = probe_run(ev, &t, &asked, &r.probes[p], e);
		}
		trial_end(&t);
	}
	pool_give(device);
	if (rc == 0) {
		struct guidance_source source = { .variant = &v,
						  .facts = q->facts,
						  .spec = context_spec(q->ctx),
						  .ceilings = &list,
						  .counted = &counted,
						  .uncounted = uncounted };
		r.flops = spec_flops(source.spec, q->params);
		r.bytes = spec_bytes(source.spec, q->params);
		r.pipe = isfinite(ceiling_of(&list, pipe_of(source.spec))) ? pipe_of(source.spec) : NULL;
		guidance_figures(&source, &r);
		rc = look_inside(ev, q, &v, &r, e);
		guidance_roofs(&source, &r);
		guidance_ask(q->advisors, &r);
	}
	wire_counted_fini(&counted);
	free(uncounted);
	subject.median_ns = r.cold.median;
	if (rc == 0)
		rc = external_evaluate(ev, &subject, &r.more, e);
	if (rc == 0)
		rc = keep(&to, q, &r, e);
	if (rc == 0 && r.library.name)
		rc = library_baseline_record(&to, q->params, &r.library, false, r.evidence, e);
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
	figures_fini(&r->figures);
	free(r->why);
	for (int p = 0; p < WIRE_PROBES; p++)
		free(r->probes[p].why);
	advice_free(r->advice, r->advice_count);
	free(r->closed);
	kernels_fini(&r->kernels);
	free(r->no_sass);
	free(r->no_counters);
	free(r->no_stalls);
}
