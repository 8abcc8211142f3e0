/* probe: see probe.h. */
#include "core/measure/probe.h"

#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/judge/check.h"

#define CAP_MOST_NS (4 * CLOCK_S)

const char *const probe_names[WIRE_PROBES] = {
	[WIRE_PROBE_NONE] = "", [WIRE_PROBE_LOADS] = "loads", [WIRE_PROBE_STORES] = "stores", [WIRE_PROBE_BARRIERS] = "barriers"
};

/* A tenth either way is all that a probe is asked for. */
static const struct trial_pairing pairing = { .min_pairs = 6,
					      .max_pairs = 40,
					      .margin = 0.05,
					      .confidence = 0.95,
					      .width = 0.1,
					      .cap_ns = CLOCK_S / 2,
					      .warm_up_ns = 20 * CLOCK_MS };

static int time_pairs(struct trial *t, struct trial *probe, uint64_t seed, struct probe_result *r, struct err *e)
{
	struct trial_pairing p = pairing;
	struct trial_input input = { .seed = seed, .poison = TRIAL_POISON };
	struct trial_paired paired;
	uint64_t seeds[TRIAL_SEEDS];
	check_seeds(seed, seeds);
	p.seeds = seeds;
	uint64_t ns = 0;
	int rc = trial_execute(probe, &input, EVAL_EXECUTE_NS, NULL, e);
	if (rc == 0)
		rc = trial_execute(t, &input, EVAL_EXECUTE_NS, &ns, e);
	/* A slow kernel needs longer for the fewest pairs. */
	p.cap_ns = ns > CAP_MOST_NS / (4 * p.min_pairs) ? CAP_MOST_NS : p.cap_ns + 4 * (int64_t)ns * p.min_pairs;
	if (rc == 0)
		rc = trial_pair(t, probe, &p, &paired, e);
	if (rc < 0)
		return rc;
	r->ratio = 1 / paired.ratio;
	r->low = 1 / paired.high;
	r->high = 1 / paired.low;
	if (paired.count < 2) {
		*r = (struct probe_result){ .ratio = NAN, .low = NAN, .high = NAN };
		r->why = mem_str("the kernel is too slow to be timed in pairs here");
	} else if (paired.disturbed)
		r->why = mem_fmt("the device was disturbed: %s", paired.cause);
	trial_paired_fini(&paired);
	return 0;
}

int probe_run(const struct eval *ev, struct trial *t, const struct probe_request *q, struct probe_result *ret_result, struct err *e)
{
	struct eval rewritten = *ev;
	struct err why = ERR_INIT;
	struct variant v = { .params = NULL };
	struct trial p;
	*ret_result = (struct probe_result){ .ratio = NAN, .low = NAN, .high = NAN };
	rewritten.probe = q->probe;
	int rc = variant_build(&rewritten, q->ctx, t->variant->params, q->facts, &v, &why);
	if (rc == 0) {
		rc = trial_begin(&p, t->worker, &v, &why);
		if (rc == 0) {
			rc = time_pairs(t, &p, q->seed, ret_result, &why);
			trial_end(&p);
		}
		variant_fini(&v);
	}
	if (rc < 0 && (rc = err_if_cancelled(&why, e)) == 0)
		ret_result->why = mem_str(why.text);
	return rc;
}
