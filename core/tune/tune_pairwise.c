/* tune_pairwise: pairwise timing at the end of a tune: finalists that stand close together, and the winner against the vendor's
 * library; see tuner.h. Only alternating pairs tell apart what differs by less than the device drifts. Both sides are checked
 * before and after. So what the pairs say of each is a figure as good as the one that it had, and takes its place in the record.
 * Whoever asks for the fastest later gets the winner of the pairs. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/measure/library_baseline.h"
#include "core/tune/tuner.h"

/* Those within this factor of the first are timed against it. */
#define CLOSE 1.03
static const struct trial_pairing close_pairing = { .min_pairs = 10,
						    .max_pairs = 60,
						    .margin = 0.002,
						    .confidence = 0.95,
						    .width = 0.004,
						    .cap_ns = 3 * CLOCK_S,
						    .warm_up_ns = 100 * CLOCK_MS };

/* One side of a pair. */
struct side {
	struct tune_top *top;
	struct finalist *finalist;
	struct trial trial;
	struct check check;
	bool judged; /* `check` is set */
	int64_t evidence;
	bool out; /* it failed a check that validation had not made */
};

static struct finalist *finalist_of(struct tuner *u, const struct tune_top *top)
{
	for (size_t i = 0; i < u->finalist_count; i++)
		if (params_equal(u->finalists[i].params, top->params))
			return &u->finalists[i];
	return NULL;
}

/* Checked, paired, checked; *ret_paired is empty when there is nothing to go by. After one fails the other is not looked at: their
 * worker may have died of it. */
static int pair_up(struct tuner *u, struct side s[2], uint64_t seed, struct trial_paired *ret_paired, struct err *e)
{
	struct trial_pairing pairing = close_pairing;
	struct err why = ERR_INIT;
	uint64_t seeds[TRIAL_SEEDS] = { seed, u->secrets.timing[0], u->secrets.timing[1] };
	int rc = 0;
	pairing.warm = u->q->warm;
	pairing.seeds = seeds;
	for (int k = 0; k < 2; k++) {
		rc = check_run(&u->source, &s[k].trial, seed, &s[k].check, e);
		s[k].judged = rc == 0;
		if (rc < 0 || !s[k].check.passed)
			return rc;
	}
	if (trial_pair(&s[0].trial, &s[1].trial, &pairing, ret_paired, &why) < 0) {
		*ret_paired = (struct trial_paired){ .count = 0 };
		return err_if_cancelled(&why, e);
	}
	for (int k = 0; k < 2 && rc == 0 && s[0].check.passed; k++)
		rc = check_after(&u->source, &s[k].trial, seed, &s[k].check, e);
	return rc;
}

/* The pairs' times of one side are its figure from here on. */
static int take_figure(struct tuner *u, struct side *s, const struct trial_paired *p, bool b, struct err *e)
{
	struct tune_top *top = s->top;
	struct trial_times times;
	struct tune_row row = { .facts = u->q->facts,
				.params = s->finalist->params,
				.variant = &s->finalist->variant,
				.status = MEASUREMENT_OK,
				.times = &times,
				.validation = s->evidence,
				.message = "finalist, timed in pairs" };
	trial_paired_times(p, b, &times);
	if (times.median < u->floor_ns[0])
		return 0;
	int rc = tune_record(u, &row, e);
	top->value = top->median_ns = times.median;
	top->min_ns = times.min;
	top->rse = times.rse;
	top->samples = times.count;
	top->validation = s->evidence;
	return rc;
}

/* Times both alternately; what cannot be loaded, timed or judged stays as it was. */
static int time_pair(struct tuner *u, struct side s[2], struct err *e)
{
	struct trial_paired paired = { .count = 0 };
	struct err ignored = ERR_INIT;
	uint64_t seed = check_seed();
	if (trial_begin(&s[0].trial, u->device, &s[0].finalist->variant, &ignored) < 0)
		return cancel_check(u->ev->cancel, e);
	if (trial_begin(&s[1].trial, u->device, &s[1].finalist->variant, &ignored) < 0) {
		trial_end(&s[0].trial);
		return cancel_check(u->ev->cancel, e);
	}
	int rc = pair_up(u, s, seed, &paired, e);
	trial_end(&s[1].trial);
	trial_end(&s[0].trial);
	if (rc == 0) {
		rc = 0;
		for (int k = 0; k < 2 && rc == 0 && s[k].judged; k++) {
			rc = check_record(&u->to, s[k].finalist->params, "input", seed, &s[k].check, &s[k].evidence, e);
			s[k].out = !s[k].check.passed && !check_skipped(&s[k].check);
			if (s[k].out) {
				tune_record_count(&u->result, tune_status(s[k].check.code));
				tune_record_why(u, s[k].finalist->params, s[k].check.reason);
			}
		}
		bool good = paired.count && !paired.disturbed && s[0].check.passed && s[1].check.passed;
		for (int k = 0; k < 2 && rc == 0 && good; k++)
			rc = take_figure(u, &s[k], &paired, k == 1, e);
	}
	trial_paired_fini(&paired);
	check_fini(&s[0].check);
	check_fini(&s[1].check);
	return rc;
}

static void drop(struct tune_result *r, size_t i)
{
	params_free(r->top[i].params);
	r->top_count--;
	memmove(&r->top[i], &r->top[i + 1], (r->top_count - i) * sizeof r->top[0]);
}

/* Times number i against the first; the faster is first afterwards. *ret_next: the next to time, 1 when another is first. */
static int compare_with_first(struct tuner *u, size_t i, size_t *ret_next, struct err *e)
{
	struct tune_result *result = &u->result;
	struct tune_top *top = result->top;
	struct side s[2] = { { .top = &top[0], .finalist = finalist_of(u, &top[0]) },
			     { .top = &top[i], .finalist = finalist_of(u, &top[i]) } };
	bool built = s[0].finalist && s[1].finalist && s[0].finalist->variant.plan && s[1].finalist->variant.plan;
	int rc = 0;
	if (built) {
		eval_progress(u->ev, (double)result->tried, (double)u->planned, "timing finalist %zu and the first in pairs",
			      i + 1);
		rc = time_pair(u, s, e);
	}
	if (s[1].out) {
		drop(result, i);
	} else if (!s[0].out && top[i].value < top[0].value) {
		struct tune_top first = top[i];
		memmove(&top[1], &top[0], i * sizeof top[0]);
		top[0] = first;
	}
	if (s[0].out)
		drop(result, 0);
	*ret_next = s[0].out ? 1 : s[1].out ? i : i + 1;
	return rc;
}

static size_t least(const struct tune_result *r)
{
	size_t best = 0;
	for (size_t i = 1; i < r->top_count; i++)
		if (r->top[i].value < r->top[best].value)
			best = i;
	return best;
}

int tune_pairwise(struct tuner *u, struct err *e)
{
	struct tune_result *result = &u->result;
	struct tune_top *top = result->top;
	size_t i = 1;
	int rc = 0;
	if (!tune_plain(u))
		return 0;
	while (rc == 0 && i < result->top_count && top[i].value < top[0].value * CLOSE)
		rc = compare_with_first(u, i, &i, e);
	/* The device may have become slower or faster between two comparisons. One that lost, but has a better figure than the
	 * first by now, is timed once more. So the answer is what the record has. Where that does not settle, figures decide, here
	 * as there. */
	for (size_t more = result->top_count; rc == 0 && more > 0 && (i = least(result)) > 0; more--)
		rc = compare_with_first(u, i, &i, e);
	return rc;
}

/* --- the library ----------------------------------------------------------------------------------------------------------------
 */

/* The winner is checked before it is timed beside the library, and after. */
static int compare_winner(struct tuner *u, const struct finalist *winner, struct library_baseline *r, struct err *e)
{
	struct check c = { .passed = false };
	uint64_t seed = u->secrets.library[0];
	int64_t evidence = 0;
	struct trial t;
	int rc = trial_begin(&t, u->device, &winner->variant, e);
	if (rc < 0)
		return rc;
	rc = check_run(&u->source, &t, seed, &c, e);
	if (rc == 0 && c.passed)
		rc = library_baseline_compare(&u->source, &t, u->q->ctx, u->secrets.library[1], u->q->warm, r, e);
	if (rc == 0 && c.passed)
		rc = check_after(&u->source, &t, seed, &c, e);
	if (rc == 0)
		rc = check_record(&u->to, winner->params, "input", seed, &c, &evidence, e);
	if (rc == 0 && !c.passed)
		rc = check_refuse(&c, "the winner's outputs are wrong", e);
	check_fini(&c);
	trial_end(&t);
	if (rc == 0)
		rc = library_baseline_record(&u->to, winner->params, r, u->q->warm, evidence, e);
	return rc;
}

int tune_pairwise_library(struct tuner *u, struct err *e)
{
	struct tune_result *r = &u->result;
	struct tune_library *to = &r->library;
	struct library_baseline compared = { .name = NULL };
	const struct finalist *winner = r->top_count ? finalist_of(u, &r->top[0]) : NULL;
	struct err why = ERR_INIT;
	int rc = 0;
	*to = (struct tune_library){ .ratio = NAN, .low = NAN, .high = NAN };
	if (context_spec(u->q->ctx)->gemm == NULL || winner == NULL)
		return 0;
	eval_progress(u->ev, (double)r->tried, (double)u->planned, "comparing the winner with the vendor's library");
	if (compare_winner(u, winner, &compared, &why) == 0) {
		if (compared.why == NULL) {
			to->ratio = compared.paired.ratio;
			to->low = compared.paired.low;
			to->high = compared.paired.high;
		}
		to->name = mem_str(compared.name);
		to->why = mem_str(compared.why);
	} else if (why.code == ERR_CANCELLED) {
		*e = why;
		rc = -ERR_CANCELLED;
	} else if (why.code == ERR_WRONG) {
		/* Its last check found it out: the next one is the winner, and nothing is said of a library. */
		tune_record_why(u, r->top[0].params, why.text);
		r->wrong++;
		drop(r, 0);
		if (r->top_count == 0) {
			*e = why;
			rc = -ERR_WRONG;
		}
	} else {
		to->name = mem_str("the vendor's library");
		to->why = mem_str(why.text);
	}
	library_baseline_fini(&compared);
	return rc;
}
