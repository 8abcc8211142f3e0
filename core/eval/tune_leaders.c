/* tune_leaders: the end of a tune: the fastest are validated with fresh seeds and the check: sizes, then timed as a quoted figure
 * is timed; see tune_inside.h. */
#include "core/eval/tune_inside.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/eval/validate.h"

enum { LEADERS = 3, WINNER_SAMPLES = 4 };

/* What is quoted has at least ten samples and stops when it is sure. */
static const struct trial_timing quoting = { .min_samples = 10, .max_samples = 60, .rse = 0.004, .cap_ns = 4 * CLOCK_S,
                                            .warm_up_ns = 250 * CLOCK_MS };

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

/* Fresh seeds, the check: sizes with the winner's tuning parameters, the domain left alone. */
static int prove(struct tuner *u, const struct leader *l, bool *ret_good, struct err *e)
{
	struct params *tuning = params_part(l->params, true);
	struct validate_request q = { .ctx = u->q->ctx, .root = u->q->root, .facts = u->q->facts, .samples = WINNER_SAMPLES,
	                              .seed = u->seed, .only = tuning };
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
		rc = eval_take_device(u->ev, u->q->facts, NULL, &u->device, e);
	params_free(tuning);
	return rc;
}

static void add_top(struct tuner *u, const struct leader *l, const struct trial_times *times, int64_t evidence)
{
	struct tune_top *top = &u->result.top[u->result.top_count++];
	*top = (struct tune_top){ .params = params_copy(l->params), .median_ns = times->median, .min_ns = times->min,
	                          .rse = times->rse, .samples = times->count, .validation = evidence };
	variant_resources(&l->variant, &top->registers, &top->shared, &top->spill);
}

/* Checks a prepared leader once more, with a seed that nobody has seen, and times it. */
static int time_trial(struct tuner *u, const struct leader *l, struct trial *t, struct err *e)
{
	struct trial_times times = { 0 };
	struct trial_timing timing = quoting;
	struct err why = ERR_INIT;
	struct check c;
	int64_t evidence = 0;
	uint64_t seed = check_seed();
	timing.warm = u->q->warm;
	int rc = check_run(u->ev, t, u->q->root, u->q->facts, seed, TUNE_POISON, &c, e);
	if (rc < 0)
		return rc;
	rc = check_record(u->db, u->checkpoint, u->q->facts, l->params, "input", seed, &c, u->job, &evidence, e);
	if (rc == 0 && !c.passed)
		rc = tune_record_out(u, u->q->facts, l->params, &l->variant, tune_status(c.code), c.reason, e);
	else if (rc == 0 && trial_measure(t, &timing, &times, &why) < 0)
		rc = why.code == ERR_CANCELLED ? (*e = why, -ERR_CANCELLED)
		                               : tune_record_out(u, u->q->facts, l->params, &l->variant, tune_status(why.code), why.text, e);
	else if (rc == 0 && times.disturbed)
		rc = tune_record_out(u, u->q->facts, l->params, &l->variant, MEASUREMENT_DISTURBED, "the device was throttled by heat or hardware, or used by "
		                     "others, while this was timed: nothing is quoted; tune again", e);
	else if (rc == 0 && times.median < u->floor_ns)
		rc = tune_record_out(u, u->q->facts, l->params, &l->variant, MEASUREMENT_IMPOSSIBLE,
		                     "faster than the hardware can be: work is missing", e);
	else if (rc == 0) {
		rc = tune_record(u, u->q->facts, l->params, &l->variant, MEASUREMENT_OK, &times, evidence, "leader, timed again", e);
		if (rc == 0)
			add_top(u, l, &times, evidence);
	}
	trial_times_fini(&times);
	check_fini(&c);
	return rc;
}

/* Times a leader again, as a quoted figure is timed. */
static int time_again(struct tuner *u, const struct leader *l, struct err *e)
{
	struct trial t;
	struct err why = ERR_INIT;
	if (trial_begin(&t, u->device, &l->variant, &why) < 0) {
		if (why.code != ERR_CANCELLED)
			return tune_record_out(u, u->q->facts, l->params, &l->variant, tune_status(why.code), why.text, e);
		*e = why;
		return -ERR_CANCELLED;
	}
	int rc = time_trial(u, l, &t, e);
	trial_end(&t);
	return rc;
}

static int faster(const void *a, const void *b)
{
	double x = ((const struct tune_top *)a)->median_ns, y = ((const struct tune_top *)b)->median_ns;
	return (x > y) - (x < y);
}

int tune_leaders_finish(struct tuner *u, struct err *e)
{
	size_t wanted = u->q->leaders ? u->q->leaders : LEADERS;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < u->leader_count && u->result.top_count < wanted; i++) {
		bool good = false;
		eval_progress(u->ev, (double)u->result.tried, (double)u->planned, "proving and re-timing leader %zu", i + 1);
		rc = prove(u, &u->leaders[i], &good, e);
		if (rc == 0 && good)
			rc = time_again(u, &u->leaders[i], e);
	}
	qsort(u->result.top, u->result.top_count, sizeof u->result.top[0], faster);
	if (rc == 0 && u->result.top_count == 0) {
		const struct tune_result *r = &u->result;
		rc = err_set(e, ERR_WRONG, "none of %zu configurations is valid and could be timed: %zu pruned, %zu refused by the "
		             "compiler, %zu wrong, %zu crashed or timed out%s%s", r->tried, r->pruned, r->refused, r->wrong,
		             r->broken, r->why_count ? "; " : "", r->why_count ? r->why[0] : "");
	}
	return rc;
}
