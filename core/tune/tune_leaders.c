/* tune_leaders: the end of a tune: the fastest are validated with fresh seeds and the check: sizes, then timed as a quoted figure
 * is timed; see tune_inside.h. */
#include "core/tune/tune_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/workers/lanes.h"
#include "core/judge/perturb.h"
#include "core/judge/validate.h"

enum { LEADERS = 3, WINNER_SAMPLES = 4 };

/* What is quoted has at least ten samples and stops when it is sure. */
static const struct trial_timing quoting = { .min_samples = 10, .max_samples = 60, .rse = 0.004, .rests = true, .cap_ns = 4 * CLOCK_S,
                                            .warm_up_ns = 250 * CLOCK_MS };

#define WEIGH_NS CLOCK_S

/* Evidence against a configuration that is wrong elsewhere (another size, another seed): its time at this size, which passed its
 * own check, is not quoted any more. */
static int refute(struct tuner *u, const struct leader *l, const char *summary, struct err *e)
{
	struct check c;
	struct err why = ERR_INIT;
	err_set(&why, ERR_WRONG, "these tuning parameters were refuted: %s", summary);
	check_failed(&c, &why);
	int rc = check_record(u->db, u->checkpoint, u->q->facts, l->params, "input", u->seed, &c, u->job, NULL, e);
	check_fini(&c);
	u->result.wrong++;
	tune_record_why(u, l->params, summary);
	return rc;
}

/* Seeds that the search has not used, the check: sizes with the leader's tuning parameters, the domain left alone. The leaders share their
 * values, so that references are computed once; the sizes that are tuned get all rounds. */
static int prove(struct tuner *u, struct leader *l, bool *ret_good, struct err *e)
{
	const struct params *deep[TUNE_SIZES] = { u->q->size };
	struct validate_later later[TUNE_SIZES + MEM_COUNT(u->library_baseline_seeds)];
	struct params *tuning = params_part(l->params, true);
	size_t n = u->size_count;
	for (size_t i = 1; i < n; i++)
		deep[i] = u->q->also[i - 1];
	for (size_t i = 0; i < n; i++)
		later[i] = (struct validate_later){ .size = deep[i], .seed = l->seeds[i] = check_seed() };
	for (size_t i = 0; context_spec(u->q->ctx)->gemm && i < MEM_COUNT(u->library_baseline_seeds); i++)
		later[n++] = (struct validate_later){ .size = u->q->size, .seed = u->library_baseline_seeds[i] };
	struct validate_request q = { .ctx = u->q->ctx, .root = u->q->root, .facts = u->q->facts, .samples = WINNER_SAMPLES,
	                              .seed = u->seed, .only = tuning, .deep = deep, .deep_count = u->size_count, .secret = u->proof_seed,
	                              .later = later, .later_count = n };
	struct validate_result v;
	pool_give(u->device); /* validation leases the device itself */
	u->device = NULL;
	int rc = validate_run(u->ev, &q, u->db, u->checkpoint, u->job, &v, e);
	if (rc == 0) {
		*ret_good = v.passed;
		if (v.failed_count)
			rc = refute(u, l, v.summary, e);
		else if (!v.passed)
			tune_record_why(u, l->params, v.summary);
		validate_result_fini(&v);
	}
	if (rc == 0)
		rc = tune_take_device(u, e);
	params_free(tuning);
	return rc;
}

/* --- times ---------------------------------------------------------------------------------------------------------------- */

/* What becomes of a leader that is timed again: not good after all (recorded), or an outcome for one size. */
struct again {
	struct trial_times times;
	int64_t evidence;
	double value;
	bool good;
};

static int refuse(struct tuner *u, const struct variant *v, enum measurement_status status, const char *why, struct err *e)
{
	return tune_record_out(u, u->q->facts, v->params, v, status, why, e);
}

static int refuse_disturbed(struct tuner *u, const struct variant *v, const struct trial_times *times, struct err *e)
{
	char *why = mem_fmt("the device was throttled by heat or hardware, or used by others, while this was timed (%s): nothing is quoted; tune again",
	                    times->cause);
	int rc = refuse(u, v, MEASUREMENT_DISTURBED, why, e);
	free(why);
	return rc;
}

/* Energy of a prepared trial where the objective wants it; else *ret_joules stays as it is. */
static int weigh(const struct tuner *u, struct trial *t, double *ret_joules, struct err *why)
{
	struct trial_weighed weighed;
	if (!objective_weighs(u->objective))
		return 0;
	int rc = trial_energy(t, WEIGH_NS, &weighed, why);
	if (rc < 0)
		return rc;
	*ret_joules = weighed.joules;
	free(weighed.note);
	return 0;
}

/* Before, timed and weighed, after; *ret_check is negative evidence as soon as one is. What kept it from being timed or weighed is in `why`. */
static int check_and_time(struct tuner *u, struct trial *t, uint64_t seed, struct trial_times *times, double *ret_joules, struct check *ret_check,
                          struct err *why, struct err *e)
{
	struct trial_timing timing = quoting;
	timing.warm = u->q->warm;
	int rc = check_run(u->ev, t, u->q->root, u->q->facts, seed, TUNE_POISON, ret_check, e);
	if (rc == 0 && ret_check->passed && trial_measure(t, &timing, times, why) == 0 && weigh(u, t, ret_joules, why) == 0)
		rc = check_after(u->ev, t, u->q->root, u->q->facts, seed, ret_check, e);
	return rc;
}

/* Checks a prepared leader once more, with a seed that nobody has seen, and times it. */
static int time_trial(struct tuner *u, const struct variant *v, struct trial *t, size_t size, uint64_t seed, struct again *again, struct err *e)
{
	struct trial_times *times = &again->times;
	struct err why = ERR_INIT;
	struct check c = { .passed = false };
	double joules = NAN;
	int rc = check_and_time(u, t, seed, times, &joules, &c, &why, e);
	if (rc < 0) {
		check_fini(&c);
		return rc;
	}
	rc = check_record(u->db, u->checkpoint, u->q->facts, v->params, "input", seed, &c, u->job, &again->evidence, e);
	if (rc == 0 && !c.passed)
		rc = refuse(u, v, tune_status(c.code), c.reason, e);
	else if (rc == 0 && why.code != ERR_NONE)
		rc = why.code == ERR_CANCELLED ? (*e = why, -ERR_CANCELLED) : refuse(u, v, tune_status(why.code), why.text, e);
	else if (rc == 0 && times->disturbed)
		rc = refuse_disturbed(u, v, times, e);
	else if (rc == 0 && times->median < u->floor_ns[size])
		rc = refuse(u, v, MEASUREMENT_IMPOSSIBLE, "faster than the hardware can be: work is missing", e);
	else if (rc == 0)
		again->good = (rc = tune_record_metric(u, u->q->facts, v->params, "energy", joules, "J", e)) == 0 &&
		              (rc = tune_value(u, v->params, v, times, joules, &again->value, e)) == 0 &&
		              (rc = tune_record(u, u->q->facts, v->params, v, MEASUREMENT_OK, times, again->evidence, "leader, timed again", e)) == 0;
	check_fini(&c);
	return rc;
}

static int time_variant(struct tuner *u, const struct variant *v, size_t size, uint64_t seed, struct again *again, struct err *e)
{
	struct trial t;
	struct err why = ERR_INIT;
	unsigned tries = 0;
	*again = (struct again){ .good = false };
	while (trial_begin(&t, u->device, v, &why) < 0) {
		if (eval_retries(u->ev, why.code, why.text, &tries))
			continue;
		if (why.code != ERR_CANCELLED)
			return refuse(u, v, tune_status(why.code), why.text, e);
		*e = why;
		return -ERR_CANCELLED;
	}
	int rc = time_trial(u, v, &t, size, seed, again, e);
	trial_end(&t);
	return rc;
}

static void add_top(struct tuner *u, const struct leader *l, const struct again *first, double value)
{
	struct tune_top *top = &u->result.top[u->result.top_count++];
	*top = (struct tune_top){ .params = params_copy(l->params), .value = value, .median_ns = first->times.median,
	                          .min_ns = first->times.min, .rse = first->times.rse, .samples = first->times.count,
	                          .validation = first->evidence };
	variant_resources(&l->variant, &top->registers, &top->shared, &top->spill);
}

/* Times a leader again, at every size, as a quoted figure is timed. */
static int time_again(struct tuner *u, struct leader *l, struct err *e)
{
	struct again all[TUNE_SIZES] = { 0 };
	double values[TUNE_SIZES];
	size_t n = 0;
	int rc = time_variant(u, &l->variant, 0, l->seeds[0], &all[0], e);
	for (n = 1; rc == 0 && all[n - 1].good && n < u->size_count; n++) {
		struct params *whole = tune_try_params(u->q, l->params, n);
		struct variant v = { 0 };
		rc = variant_build(u->ev, u->q->ctx, whole, u->q->facts, &v, e);
		if (rc == 0)
			rc = time_variant(u, &v, n, l->seeds[n], &all[n], e);
		variant_fini(&v);
		params_free(whole);
	}
	for (size_t i = 0; i < n; i++)
		values[i] = all[i].value;
	if (rc == 0 && all[n - 1].good)
		add_top(u, l, &all[0], tune_over_sizes(u, values));
	for (size_t i = 0; i < n; i++)
		trial_times_fini(&all[i].times);
	return rc;
}

/* What the proofs need of the compiler and the search did not: compiled for all leaders at once, beside the first one's executions. */
struct ahead {
	const struct tuner *u;
	const struct params *at[TUNE_TOP];
	size_t count;
	struct lanes *lanes;
};

static void compile_ahead(void *arg, size_t i)
{
	const struct ahead *a = arg;
	perturb_ahead(a->u->ev, a->u->q->ctx, a->at[i], a->u->q->facts);
}

/* Those of an interrupted run may be proved already. */
static void ahead_init(struct ahead *a, const struct tuner *u, size_t wanted)
{
	*a = (struct ahead){ .u = u };
	for (size_t i = 0; i < u->leader_count && a->count < wanted; i++)
		if (u->leaders[i].variant.plan)
			a->at[a->count++] = u->leaders[i].params;
	a->lanes = lanes_new(pool_compile_width(u->ev->pool), a->count, compile_ahead, a);
}

/* Of an interrupted run: the compiler, the driver or the limits may be others now. */
static bool is_its_own(enum err_code code)
{
	return code == ERR_COMPILE || code == ERR_PRUNED || code == ERR_CRASH || code == ERR_TIMEOUT;
}

int tune_leader_build(struct tuner *u, struct leader *l, struct err *e)
{
	struct err why = ERR_INIT;
	if (l->variant.plan || l->out || variant_build(u->ev, u->q->ctx, l->params, u->q->facts, &l->variant, &why) == 0)
		return 0;
	l->out = is_its_own(why.code);
	if (l->out)
		return tune_record_out(u, u->q->facts, l->params, NULL, tune_status(why.code), why.text, e);
	*e = why;
	return -(int)why.code;
}

static int finish_leader(struct tuner *u, struct leader *l, const struct ahead *a, struct err *e)
{
	bool good = false;
	/* Also one whose figure is known: it may have to race, or to be compared with the library. */
	int rc = tune_leader_build(u, l, e);
	if (rc < 0 || l->variant.plan == NULL)
		return rc;
	if (tune_resume_top(u, l, &u->result.top[u->result.top_count])) {
		u->result.top_count++;
		return 0;
	}
	rc = prove(u, l, &good, e);
	if (rc == 0 && good)
		lanes_wait(a->lanes, a->count); /* nothing compiles while a figure is taken that will be quoted */
	return rc == 0 && good ? time_again(u, l, e) : rc;
}

/* Of two with the same figure the one that has had it for longer, as in the record. */
static int better(const void *a, const void *b)
{
	const struct tune_top *x = a, *y = b;
	return x->value != y->value ? (x->value > y->value) - (x->value < y->value) : (x->validation > y->validation) - (x->validation < y->validation);
}

int tune_leaders_finish(struct tuner *u, struct err *e)
{
	size_t wanted = u->q->leaders ? u->q->leaders : LEADERS;
	struct ahead ahead;
	int rc = 0;
	/* The search flushed the cache, leaders take turns with buffers: their times are measured against each other's alone. */
	memset(u->reference, 0, sizeof u->reference);
	rc = tune_playoff(u, wanted, e);
	ahead_init(&ahead, u, wanted);
	for (size_t i = 0; rc == 0 && i < u->leader_count && u->result.top_count < wanted; i++) {
		eval_progress(u->ev, (double)u->result.tried, (double)u->planned, "proving and re-timing leader %zu", i + 1);
		rc = finish_leader(u, &u->leaders[i], &ahead, e);
	}
	lanes_free(ahead.lanes);
	qsort(u->result.top, u->result.top_count, sizeof u->result.top[0], better);
	if (rc == 0)
		rc = tune_race(u, e);
	qsort(u->result.top, u->result.top_count, sizeof u->result.top[0], better);
	if (rc == 0 && u->result.top_count == 0) {
		const struct tune_result *r = &u->result;
		rc = err_set(e, ERR_WRONG, "none of %zu configurations is valid and could be timed: %zu pruned, %zu refused by the "
		             "compiler, %zu wrong, %zu crashed or timed out%s%s", r->tried, r->pruned, r->refused, r->wrong,
		             r->broken, r->why_count ? "; " : "", r->why_count ? r->why[0] : "");
	}
	return rc;
}
