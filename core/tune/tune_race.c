/* tune_race: leaders that stand close together are timed against the first alternately, pair by pair, as nothing else tells apart what differs
 * by less than the device drifts; see tune_inside.h. Both are checked before and after, so that what the pairs say of each is a figure as good
 * as the one that it had, and takes its place in the record: whoever asks for the fastest later is told the one that the race was won by. */
#include "core/tune/tune_inside.h"

#include <string.h>

#include "base/clock.h"
#include "core/judge/check.h"

/* Who races: those within this factor of the first. */
#define CLOSE 1.03
static const struct trial_pairing racing = { .min_pairs = 10, .max_pairs = 60, .margin = 0.002, .confidence = 0.95, .width = 0.004,
                                            .cap_ns = 3 * CLOCK_S, .warm_up_ns = 100 * CLOCK_MS };

/* One of the two. */
struct racer {
	struct tune_top *top;
	struct leader *leader;
	struct trial trial;
	struct check check;
	bool judged;         /* there is one */
	int64_t evidence;
	bool out;            /* it failed a check that the proof had not */
};

static struct leader *leader_of(struct tuner *u, const struct tune_top *top)
{
	for (size_t i = 0; i < u->leader_count; i++)
		if (params_equal(u->leaders[i].params, top->params))
			return &u->leaders[i];
	return NULL;
}

/* Checked, paired, checked; *ret_paired is empty when there is nothing to go by. Behind one that fails the other is not looked at: their worker may
 * have died of it. */
static int pair_up(struct tuner *u, struct racer r[2], uint64_t seed, struct trial_paired *ret_paired, struct err *e)
{
	struct trial_pairing pairing = racing;
	struct err why = ERR_INIT;
	int rc = 0;
	pairing.warm = u->q->warm;
	for (int k = 0; k < 2; k++) {
		rc = check_run(u->ev, &r[k].trial, u->q->root, u->q->facts, seed, TUNE_POISON, &r[k].check, e);
		r[k].judged = rc == 0;
		if (rc < 0 || !r[k].check.passed)
			return rc;
	}
	if (trial_pair(&r[0].trial, &r[1].trial, &pairing, ret_paired, &why) < 0) {
		*ret_paired = (struct trial_paired){ .count = 0 };
		return why.code == ERR_CANCELLED ? (*e = why, -ERR_CANCELLED) : 0;
	}
	for (int k = 0; k < 2 && rc == 0 && r[0].check.passed; k++)
		rc = check_after(u->ev, &r[k].trial, u->q->root, u->q->facts, seed, &r[k].check, e);
	return rc;
}

/* What the pairs say of one is its figure from here on. */
static int take_figure(struct tuner *u, struct racer *r, const struct trial_paired *p, bool b, struct err *e)
{
	struct tune_top *top = r->top;
	struct trial_times times;
	trial_paired_times(p, b, &times);
	if (times.median < u->floor_ns[0])
		return 0;
	int rc = tune_record(u, u->q->facts, r->leader->params, &r->leader->variant, MEASUREMENT_OK, &times, r->evidence, "leader, timed in pairs", e);
	top->value = top->median_ns = times.median;
	top->min_ns = times.min;
	top->rse = times.rse;
	top->samples = times.count;
	top->validation = r->evidence;
	return rc;
}

static int conclude(struct tuner *u, struct racer r[2], uint64_t seed, const struct trial_paired *p, struct err *e)
{
	int rc = 0;
	for (int k = 0; k < 2 && rc == 0 && r[k].judged; k++) {
		rc = check_record(u->db, u->checkpoint, u->q->facts, r[k].leader->params, "input", seed, &r[k].check, u->job, &r[k].evidence, e);
		r[k].out = !r[k].check.passed && !check_skipped(&r[k].check);
		if (r[k].out) {
			tune_record_count(&u->result, tune_status(r[k].check.code));
			tune_record_why(u, r[k].leader->params, r[k].check.reason);
		}
	}
	bool good = p->count && !p->disturbed && r[0].check.passed && r[1].check.passed;
	for (int k = 0; k < 2 && rc == 0 && good; k++)
		rc = take_figure(u, &r[k], p, k == 1, e);
	return rc;
}

/* Times both alternately; what cannot be loaded, timed or judged stays as it was. */
static int challenge(struct tuner *u, struct racer r[2], struct err *e)
{
	struct trial_paired paired = { .count = 0 };
	struct err ignored = ERR_INIT;
	uint64_t seed = check_seed();
	if (trial_begin(&r[0].trial, u->device, &r[0].leader->variant, &ignored) < 0)
		return cancel_check(u->ev->cancel, e);
	if (trial_begin(&r[1].trial, u->device, &r[1].leader->variant, &ignored) < 0) {
		trial_end(&r[0].trial);
		return cancel_check(u->ev->cancel, e);
	}
	int rc = pair_up(u, r, seed, &paired, e);
	trial_end(&r[1].trial);
	trial_end(&r[0].trial);
	if (rc == 0)
		rc = conclude(u, r, seed, &paired, e);
	trial_paired_fini(&paired);
	check_fini(&r[0].check);
	check_fini(&r[1].check);
	return rc;
}

static void drop(struct tune_result *r, size_t i)
{
	params_free(r->top[i].params);
	r->top_count--;
	memmove(&r->top[i], &r->top[i + 1], (r->top_count - i) * sizeof r->top[0]);
}

static void lead(struct tune_top *top, size_t i)
{
	struct tune_top first = top[i];
	memmove(&top[1], &top[0], i * sizeof top[0]);
	top[0] = first;
}

/* Number i against the first, which the faster one of them is then. *ret_next: who comes behind i, and 1 when there is another first. */
static int race(struct tuner *u, size_t i, size_t *ret_next, struct err *e)
{
	struct tune_result *result = &u->result;
	struct tune_top *top = result->top;
	struct racer r[2] = { { .top = &top[0], .leader = leader_of(u, &top[0]) }, { .top = &top[i], .leader = leader_of(u, &top[i]) } };
	bool built = r[0].leader && r[1].leader && r[0].leader->variant.plan && r[1].leader->variant.plan;
	int rc = 0;
	if (built) {
		eval_progress(u->ev, (double)result->tried, (double)u->planned, "racing leader %zu against the first", i + 1);
		rc = challenge(u, r, e);
	}
	if (r[1].out)
		drop(result, i);
	else if (!r[0].out && top[i].value < top[0].value)
		lead(top, i);
	if (r[0].out)
		drop(result, 0);
	*ret_next = r[0].out ? 1 : r[1].out ? i : i + 1;
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

int tune_race(struct tuner *u, struct err *e)
{
	struct tune_result *result = &u->result;
	struct tune_top *top = result->top;
	size_t i = 1;
	int rc = 0;
	if (!tune_plain(u))
		return 0;
	while (rc == 0 && i < result->top_count && top[i].value < top[0].value * CLOSE)
		rc = race(u, i, &i, e);
	/* Between two races the device may have grown slower, or faster: whoever lost one, and has a better figure than the first by now, races once more,
	 * so that the answer is what the record has. Where that does not come to rest, figures decide, here as there. */
	for (size_t more = result->top_count; rc == 0 && more > 0 && (i = least(result)) > 0; more--)
		rc = race(u, i, &i, e);
	return rc;
}
