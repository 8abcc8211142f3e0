/* tune_finalists: the end of a tune: the fastest are validated with fresh seeds and the check: sizes, then timed as a quoted figure
 * is timed; see tuner.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/judge/suite.h"
#include "core/judge/validate.h"
#include "core/tune/tuner.h"
#include "core/workers/lanes.h"
#include "core/workers/resident.h"

enum { FINALISTS = 3, WINNER_SAMPLES = 4 };

/* A quoted figure has at least ten samples and stops when it is sure. */
static const struct trial_timing quoting = {
	.min_samples = 10, .max_samples = 60, .rse = 0.004, .rests = true, .cap_ns = 4 * CLOCK_S, .warm_up_ns = 250 * CLOCK_MS
};
#define WEIGH_NS CLOCK_S

/* --- which of those that the search cannot tell apart ---------------------------------------------------------------------------
 */

/* Those within this factor of the first. */
#define NEAR 1.02
#define EACH_NS (200 * CLOCK_MS)

/* As a quoted figure is timed, without its warm-up: the device has been at work all along. */
static const struct trial_timing timing_again = {
	.min_samples = 20, .max_samples = 60, .rse = 0.001, .cap_ns = EACH_NS, .warm_up_ns = 10 * CLOCK_MS
};

static int refuse(struct tuner *u, const struct params *params, const struct variant *v, enum measurement_status status,
		  const char *why, struct err *e)
{
	struct tune_row row = { .facts = u->q->facts, .params = params, .variant = v, .status = status, .message = why };
	return tune_record_out(u, &row, e);
}

/* Builds a finalist that is not built yet. What cannot be built any more is recorded, and `out`; negative only when the tune cannot
 * go on. */
static int build(struct tuner *u, struct finalist *f, struct err *e)
{
	struct err why = ERR_INIT;
	if (f->variant.plan || f->out || variant_build(u->ev, u->q->ctx, f->params, u->q->facts, &f->variant, &why) == 0)
		return 0;
	/* An interrupted run may have been made with another compiler, driver or other limits. */
	enum err_code code = why.code;
	f->out = code == ERR_COMPILE || code == ERR_PRUNED || code == ERR_CRASH || code == ERR_TIMEOUT;
	if (f->out)
		return refuse(u, f->params, NULL, tune_status(why.code), why.text, e);
	*e = why;
	return -(int)why.code;
}

/* Those that were timed again come before all that were not: their times are of another kind. */
static int sooner(const void *a, const void *b)
{
	const struct finalist *x = a, *y = b;
	double a_ns = x->again_ns, b_ns = y->again_ns;
	if ((a_ns > 0) != (b_ns > 0))
		return a_ns > 0 ? -1 : 1;
	if (a_ns == 0) {
		a_ns = x->value;
		b_ns = y->value;
	}
	return (a_ns > b_ns) - (a_ns < b_ns);
}

/* The search's few samples of a flushed cache are an order to search by: where the best are within a few percent of each other,
 * chance decides which are first. Where more than `wanted` are that close, times all of these as a quoted figure is timed, and
 * sorts them by that. Time at one size only. */
static int sort_near(struct tuner *u, size_t wanted, struct err *e)
{
	size_t near = 0;
	int rc = 0;
	while (near < u->finalist_count && u->finalists[near].value < u->finalists[0].value * NEAR)
		near++;
	/* Executions of milliseconds say enough with three samples. */
	if (!tune_plain(u) || near <= wanted || u->finalists[0].median_ns * timing_again.min_samples > EACH_NS)
		return 0;
	for (size_t i = 0; rc == 0 && i < near; i++) {
		struct finalist *f = &u->finalists[i];
		struct trial_times times = { .count = 0 };
		eval_progress(u->ev, (double)u->result.tried, (double)u->planned,
			      "timing %zu of %zu again that are too close to tell apart", i + 1, near);
		if (f->again_ns > 0)
			continue;
		/* Whoever waits for the device gets it. Where no other worker can be started the tune ends, instead of asking once
		 * for each. */
		pool_give(u->device);
		u->device = NULL;
		rc = tune_take_device(u, e);
		if (rc == 0)
			rc = build(u, f, e);
		if (rc == 0 && !f->out) {
			/* Fills the inputs and times. What cannot be timed keeps no time. */
			struct trial t;
			struct trial_timing timing = timing_again;
			struct trial_input input = { .seed = u->secrets.search, .poison = TRIAL_POISON };
			struct err why = ERR_INIT;
			uint64_t ns;
			timing.warm = u->q->warm;
			if (trial_begin(&t, u->device, &f->variant, &why) == 0) {
				struct err unprepared =
					ERR_INIT; /* then the worker fills its buffers itself, which takes a second a gigabyte */
				if (resident_suits(u->q->facts, f->variant.plan))
					trial_adopt(&t, pool_reference(u->device), &unprepared);
				if (trial_execute(&t, &input, EVAL_EXECUTE_NS, &ns, &why) == 0)
					trial_measure(&t, &timing, &times, &why);
				trial_end(&t);
			}
			rc = err_if_cancelled(&why, e);
		}
		if (rc == 0 && times.count && !times.disturbed) {
			struct tune_row row = { .facts = u->q->facts,
						.params = f->params,
						.variant = &f->variant,
						.status = MEASUREMENT_OK,
						.times = &times,
						.message = TUNE_AGAIN };
			f->again_ns = times.median;
			rc = tune_record(u, &row, e);
		}
		trial_times_fini(&times);
	}
	/* A cancelled tune leaves all as the search saw them: half of the times would be of one kind, half of the other. */
	if (rc < 0)
		return rc;
	qsort(u->finalists, u->finalist_count, sizeof u->finalists[0], sooner);
	for (size_t i = 0; i < u->finalist_count && u->finalists[i].again_ns > 0; i++)
		u->finalists[i].value = u->finalists[i].median_ns = u->finalists[i].again_ns;
	return 0;
}

/* --- validation -----------------------------------------------------------------------------------------------------------------
 */

/* Evidence against a configuration that is wrong elsewhere (another size, another seed): its time at this size, which passed its
 * own check, is no longer quoted. */
static int refute(struct tuner *u, const struct finalist *f, enum err_code code, const char *summary, struct err *e)
{
	struct check c;
	struct err why = ERR_INIT;
	err_set(&why, code, "these tuning parameters were refuted: %s", summary);
	check_failed(&c, &why);
	int rc = check_record(&u->to, f->params, "input", u->secrets.search, &c, NULL, e);
	check_fini(&c);
	u->result.wrong++;
	tune_record_why(u, f->params, summary);
	return rc;
}

/* A finalist that only hangs, or does not fit, is out; any other failure refutes the checkpoint, too (check_record). */
static enum err_code worst_code(const struct validate_result *v)
{
	enum err_code code = ERR_TIMEOUT;
	for (size_t i = 0; i < v->finding_count; i++) {
		const struct check *c = &v->findings[i].check;
		if (!c->passed && c->code != ERR_TIMEOUT && c->code != ERR_PRUNED && !check_skipped(c))
			code = ERR_WRONG;
	}
	return code;
}

/* Seeds that the search has not used, the check: sizes with the finalist's tuning parameters; the domain is not compared. Finalists
 * share their values, so that references are computed once; the sizes that are tuned get the full suite. */
static int validate(struct tuner *u, struct finalist *f, bool *ret_good, struct err *e)
{
	const struct params *deep[TUNE_SIZES] = { u->q->size };
	struct reference_values later[TUNE_SIZES + MEM_COUNT(u->secrets.library)];
	struct params *tuning = params_part(f->params, true);
	size_t n = u->size_count;
	for (size_t i = 1; i < n; i++)
		deep[i] = u->q->also[i - 1];
	for (size_t i = 0; i < n; i++)
		later[i] =
			(struct reference_values){ .size = deep[i], .seed = f->seeds[i] = check_seed(), .values = PLAN_DECLARED };
	for (size_t i = 0; context_spec(u->q->ctx)->gemm && i < MEM_COUNT(u->secrets.library); i++)
		later[n++] =
			(struct reference_values){ .size = u->q->size, .seed = u->secrets.library[i], .values = PLAN_DECLARED };
	struct validate_request q = { .ctx = u->q->ctx,
				      .baseline = u->q->baseline,
				      .facts = u->q->facts,
				      .samples = WINNER_SAMPLES,
				      .seed = u->secrets.search,
				      .only = tuning,
				      .deep = deep,
				      .deep_count = u->size_count,
				      .secret = u->secrets.validation,
				      .later = later,
				      .later_count = n };
	struct validate_result v;
	pool_give(u->device); /* validation leases the device itself */
	u->device = NULL;
	int rc = validate_run(u->ev, &q, u->to.db, u->to.checkpoint, u->to.job, &v, e);
	if (rc == 0) {
		*ret_good = v.passed;
		if (v.failed_count)
			rc = refute(u, f, worst_code(&v), v.summary, e);
		else if (!v.passed)
			tune_record_why(u, f->params, v.summary);
		validate_result_fini(&v);
	}
	if (rc == 0)
		rc = tune_take_device(u, e);
	params_free(tuning);
	return rc;
}

/* --- times ----------------------------------------------------------------------------------------------------------------------
 */

/* A finalist timed again at one size: not good after all (recorded), or a figure with its evidence. */
struct again {
	struct trial_times times;
	double joules; /* NAN: not asked for */
	struct check check;
	struct err why; /* what kept it from being timed or weighed; ERR_NONE */
	int64_t evidence;
	double value;
	bool good;
};

/* Checks with a seed that nothing has seen, times, weighs where the objective wants it, checks what timing left. What came of it is
 * in *a. */
static int check_and_time(struct tuner *u, const struct variant *v, uint64_t seed, struct again *a, struct err *e)
{
	struct trial t;
	struct trial_timing timing = quoting;
	uint64_t seeds[TRIAL_SEEDS] = { seed, u->secrets.timing[0], u->secrets.timing[1] };
	timing.warm = u->q->warm;
	timing.seeds = seeds;
	if (trial_begin(&t, u->device, v, &a->why) < 0)
		return 0;
	int rc = check_run(&u->source, &t, seed, &a->check, e);
	if (rc == 0 && a->check.passed && trial_measure(&t, &timing, &a->times, &a->why) == 0 && objective_weighs(u->objective)) {
		struct trial_weighed weighed;
		if (trial_energy(&t, WEIGH_NS, &weighed, &a->why) == 0) {
			a->joules = weighed.joules;
			free(weighed.note);
		}
	}
	if (rc == 0 && a->check.passed && a->why.code == ERR_NONE)
		rc = check_after(&u->source, &t, seed, &a->check, e);
	trial_end(&t);
	return rc;
}

/* Times a finalist again at one size, and records what came of it. Where its worker was killed from outside, a fresh one tries
 * anew. */
static int time_again_at(struct tuner *u, const struct variant *v, size_t size, uint64_t seed, struct again *a, struct err *e)
{
	const struct check *c = &a->check;
	unsigned tries = 0;
	int rc;
	for (;;) {
		*a = (struct again){ .joules = NAN };
		rc = check_and_time(u, v, seed, a, e);
		if (rc == 0 ? !eval_retries(u->ev, a->why.code == ERR_NONE ? c->code : a->why.code,
					    a->why.code == ERR_NONE ? c->reason : a->why.text, &tries)
			    : !eval_retries(u->ev, e->code, e->text, &tries))
			break;
		check_fini(&a->check);
		trial_times_fini(&a->times);
		*e = (struct err)ERR_INIT;
	}
	struct tune_row row = { .facts = u->q->facts,
				.params = v->params,
				.variant = v,
				.status = MEASUREMENT_OK,
				.times = &a->times,
				.message = "finalist, timed again" };
	bool checked = c->passed || c->code != ERR_NONE;
	if (rc < 0)
		goto out;
	if ((rc = err_if_cancelled(&a->why, e)) < 0)
		goto out;
	if (checked)
		rc = check_record(&u->to, v->params, "input", seed, c, &a->evidence, e);
	if (rc < 0)
		goto out;
	row.validation = a->evidence;
	if (checked && !c->passed) {
		rc = refuse(u, v->params, v, tune_status(c->code), c->reason, e);
	} else if (a->why.code != ERR_NONE) {
		rc = refuse(u, v->params, v, tune_status(a->why.code), a->why.text, e);
	} else if (a->times.disturbed) {
		char *text = mem_fmt("the device was throttled by heat or hardware, or used by others, while this was timed (%s): "
				     "nothing is quoted; tune again",
				     a->times.cause);
		rc = refuse(u, v->params, v, MEASUREMENT_DISTURBED, text, e);
		free(text);
	} else if (a->times.median < u->floor_ns[size]) {
		rc = refuse(u, v->params, v, MEASUREMENT_IMPOSSIBLE,
			    "faster than the hardware can be, so some of the work was not done", e);
	} else {
		rc = tune_record_metric(u, u->q->facts, v->params, "energy", a->joules, "J", e);
		if (rc == 0)
			rc = tune_value(u, v->params, v, &a->times, a->joules, &a->value, e);
		if (rc == 0)
			rc = tune_record(u, &row, e);
		a->good = rc == 0;
	}
out:
	check_fini(&a->check);
	return rc;
}

/* At every size. */
static int time_again(struct tuner *u, struct finalist *f, struct err *e)
{
	struct again all[TUNE_SIZES] = { 0 };
	double values[TUNE_SIZES];
	size_t n = 0;
	int rc = time_again_at(u, &f->variant, 0, f->seeds[0], &all[0], e);
	for (n = 1; rc == 0 && all[n - 1].good && n < u->size_count; n++) {
		struct params *whole = tune_try_params(u->q, f->params, n);
		struct variant v = { 0 };
		rc = variant_build(u->ev, u->q->ctx, whole, u->q->facts, &v, e);
		if (rc == 0)
			rc = time_again_at(u, &v, n, f->seeds[n], &all[n], e);
		variant_fini(&v);
		params_free(whole);
	}
	for (size_t i = 0; i < n; i++)
		values[i] = all[i].value;
	if (rc == 0 && all[n - 1].good) {
		struct tune_top *top = &u->result.top[u->result.top_count++];
		const struct trial_times *times = &all[0].times;
		*top = (struct tune_top){ .params = params_copy(f->params),
					  .value = tune_over_sizes(u, values),
					  .median_ns = times->median,
					  .min_ns = times->min,
					  .rse = times->rse,
					  .samples = times->count,
					  .validation = all[0].evidence };
		variant_resources(&f->variant, &top->registers, &top->shared, &top->spill);
	}
	for (size_t i = 0; i < n; i++)
		trial_times_fini(&all[i].times);
	return rc;
}

/* --- all of them ----------------------------------------------------------------------------------------------------------------
 */

/* What validation needs of the compiler and the search did not: compiled for all finalists at once, beside the first one's
 * executions. */
struct ahead {
	const struct tuner *u;
	const struct params *at[TUNE_TOP];
	size_t count;
	struct lanes *lanes;
};

static void compile_ahead(void *arg, size_t i)
{
	const struct ahead *a = arg;
	suite_compile_ahead(a->u->ev, a->u->q->ctx, a->at[i], a->u->q->facts);
}

static int finish_one(struct tuner *u, struct finalist *f, const struct ahead *a, struct err *e)
{
	bool good = false;
	/* Built even when its figure is known: it may have to be timed in pairs, or compared with the library. */
	int rc = build(u, f, e);
	if (rc < 0 || f->variant.plan == NULL)
		return rc;
	if (tune_resume_top(u, f, &u->result.top[u->result.top_count])) {
		u->result.top_count++;
		return 0;
	}
	rc = validate(u, f, &good, e);
	if (rc == 0 && good)
		lanes_wait(a->lanes, a->count); /* nothing compiles while a figure is taken that will be quoted */
	return rc == 0 && good ? time_again(u, f, e) : rc;
}

/* Of two with the same figure, the one that has had it for longer, as in the record. */
static int better(const void *a, const void *b)
{
	const struct tune_top *x = a, *y = b;
	return x->value != y->value ? (x->value > y->value) - (x->value < y->value)
				    : (x->validation > y->validation) - (x->validation < y->validation);
}

int tune_finalists_finish(struct tuner *u, struct err *e)
{
	size_t wanted = u->q->finalists ? u->q->finalists : FINALISTS;
	struct tune_result *r = &u->result;
	struct ahead ahead = { .u = u };
	/* The search flushed the cache, finalists rotate through buffers: their times compare with each other's only. */
	memset(u->reference, 0, sizeof u->reference);
	int rc = sort_near(u, wanted, e);
	/* Finalists of an interrupted run, which are not built, may be validated already. */
	for (size_t i = 0; i < u->finalist_count && ahead.count < wanted; i++)
		if (u->finalists[i].variant.plan)
			ahead.at[ahead.count++] = u->finalists[i].params;
	ahead.lanes = lanes_new(pool_compile_width(u->ev->pool), ahead.count, compile_ahead, &ahead);
	for (size_t i = 0; rc == 0 && i < u->finalist_count && r->top_count < wanted; i++) {
		eval_progress(u->ev, (double)r->tried, (double)u->planned, "validating and timing finalist %zu", i + 1);
		rc = finish_one(u, &u->finalists[i], &ahead, e);
	}
	lanes_free(ahead.lanes);
	qsort(r->top, r->top_count, sizeof r->top[0], better);
	if (rc == 0)
		rc = tune_pairwise(u, e);
	qsort(r->top, r->top_count, sizeof r->top[0], better);
	if (rc == 0 && r->top_count == 0)
		rc = err_set(e, ERR_WRONG,
			     "none of %zu configurations is valid and could be timed: %zu pruned, %zu refused by the compiler, %zu "
			     "wrong, %zu crashed or timed out%s%s",
			     r->tried, r->pruned, r->refused, r->wrong, r->broken, r->why_count ? "; " : "",
			     r->why_count ? r->why[0] : "");
	return rc;
}
