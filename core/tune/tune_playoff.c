/* tune_playoff: which of the configurations that the search cannot tell apart are worth a proof; see tune_inside.h. The search's few samples of
 * an overwritten cache are an order to search by: where the best stand within a few percent, it is chance which are first. */
#include "core/tune/tune_inside.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"

/* Who takes part: those within this factor of the first. */
#define NEAR 1.02
#define EACH_NS (200 * CLOCK_MS)

/* As a quoted figure is timed, without its warm-up: the device has been at work all along. */
static const struct trial_timing timing_again = { .min_samples = 20, .max_samples = 60, .rse = 0.001, .cap_ns = EACH_NS, .warm_up_ns = 10 * CLOCK_MS };

static size_t count_near(const struct tuner *u)
{
	size_t n = 0;
	while (n < u->leader_count && u->leaders[n].value < u->leaders[0].value * NEAR)
		n++;
	return n;
}

/* Fills the inputs and times. What cannot be timed or was disturbed keeps no time. */
static int time_once_more(struct tuner *u, const struct variant *v, struct trial_times *times, struct err *e)
{
	struct trial t;
	struct trial_timing timing = timing_again;
	struct trial_input input = { .seed = u->seed, .poison = TUNE_POISON };
	struct err why = ERR_INIT;
	uint64_t ns;
	timing.warm = u->q->warm;
	if (trial_begin(&t, u->device, v, &why) < 0)
		return why.code == ERR_CANCELLED ? (*e = why, -ERR_CANCELLED) : 0;
	if (trial_execute(&t, &input, EVAL_EXECUTE_NS, &ns, &why) == 0)
		trial_measure(&t, &timing, times, &why);
	trial_end(&t);
	return why.code == ERR_CANCELLED ? (*e = why, -ERR_CANCELLED) : 0;
}

/* Between two leaders whoever waits for the device gets it. One that breaks its worker leaves no time; where no other worker can be started the
 * tune ends, instead of asking once for each leader. */
static int let_others(struct tuner *u, struct err *e)
{
	pool_give(u->device);
	u->device = NULL;
	return tune_take_device(u, e);
}

static int play(struct tuner *u, struct leader *l, struct err *e)
{
	struct trial_times times = { .count = 0 };
	int rc = let_others(u, e);
	if (rc == 0)
		rc = tune_leader_build(u, l, e);
	if (rc == 0 && !l->out)
		rc = time_once_more(u, &l->variant, &times, e);
	if (rc == 0 && times.count && !times.disturbed) {
		l->again_ns = times.median;
		rc = tune_record(u, u->q->facts, l->params, &l->variant, MEASUREMENT_OK, &times, 0, TUNE_AGAIN, e);
	}
	trial_times_fini(&times);
	return rc;
}

/* Whoever was timed again stands before all who were not: their times are of another kind. */
static int sooner(const void *a, const void *b)
{
	const struct leader *x = a, *y = b;
	double a_ns = x->again_ns, b_ns = y->again_ns;
	if ((a_ns > 0) != (b_ns > 0))
		return a_ns > 0 ? -1 : 1;
	if (a_ns == 0) {
		a_ns = x->value;
		b_ns = y->value;
	}
	return (a_ns > b_ns) - (a_ns < b_ns);
}

int tune_playoff(struct tuner *u, size_t wanted, struct err *e)
{
	size_t n = count_near(u);
	int rc = 0;
	/* Executions of milliseconds say enough of themselves with three samples. */
	if (!tune_plain(u) || n <= wanted || u->leaders[0].median_ns * timing_again.min_samples > EACH_NS)
		return 0;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		eval_progress(u->ev, (double)u->result.tried, (double)u->planned, "timing %zu of %zu again that stand together", i + 1, n);
		rc = u->leaders[i].again_ns > 0 ? 0 : play(u, &u->leaders[i], e);
	}
	/* One that is cancelled leaves all as the search saw them: half of the times would be of one kind, half of the other. */
	if (rc < 0)
		return rc;
	qsort(u->leaders, u->leader_count, sizeof u->leaders[0], sooner);
	for (size_t i = 0; i < u->leader_count && u->leaders[i].again_ns > 0; i++)
		u->leaders[i].value = u->leaders[i].median_ns = u->leaders[i].again_ns;
	return 0;
}
