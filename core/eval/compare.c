/* compare: see compare.h. */
#include "core/eval/compare.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/eval/check.h"
#include "core/record/comparison.h"

enum { POISON = 0xFF };

static const struct trial_pairing pairing = { .min_pairs = 12, .max_pairs = 200, .margin = COMPARE_MARGIN,
                                              .confidence = COMPARE_CONFIDENCE, .width = 0.01, .cap_ns = 3 * CLOCK_S,
                                              .warm_up_ns = 100 * CLOCK_MS };

static int prove(const struct eval *ev, struct compare_side *side, struct trial *t, const struct facts *facts, uint64_t seed,
                 struct db *db, const char *job, struct err *e)
{
	struct check c;
	int rc = check_run(ev, t, side->root, facts, seed, POISON, &c, e);
	if (rc < 0)
		return rc;
	rc = check_record(db, side->checkpoint, facts, side->params, "input", seed, &c, job, &side->evidence, e);
	if (rc == 0 && !c.passed)
		rc = err_set(e, ERR_WRONG, "checkpoint %lld is not right, so there is no verdict on its speed: %s",
		             (long long)side->checkpoint, c.reason);
	check_fini(&c);
	return rc;
}

int compare_record(struct db *db, const struct facts *facts, const struct compare_side *a, const struct compare_side *b,
                   const char *library, const struct trial_paired *p, bool warm, const char *job, struct err *e)
{
	struct params *inputs = params_part(a->params, false);
	char *sizes = params_text(inputs), *a_params = params_text(a->params), *b_params = b ? params_text(b->params) : NULL;
	double *samples = MEM_NEW_N(double, 2 * p->count);
	for (size_t i = 0; i < p->count; i++) {
		samples[2 * i] = p->a[i];
		samples[2 * i + 1] = p->b[i];
	}
	struct comparison row = {
		.a = a->checkpoint, .b = b ? b->checkpoint : 0, .library = b ? NULL : library, .device = facts->uuid,
		.driver = facts->driver, .sizes = sizes, .a_params = a_params, .b_params = b_params,
		.verdict = trial_verdict_name(p->verdict), .a_ns = p->a_ns, .b_ns = p->b_ns, .ratio = p->ratio, .low = p->low,
		.high = p->high, .confidence = COMPARE_CONFIDENCE, .margin = COMPARE_MARGIN, .samples = samples, .pairs = p->count,
		.discarded = p->discarded, .disturbed = p->disturbed, .cold = !warm, .conditions = p->conditions,
		.a_validation = a->evidence, .b_validation = b ? b->evidence : 0, .job = job,
	};
	int rc = comparison_add(db, &row, e);
	params_free(inputs);
	free(sizes);
	free(a_params);
	free(b_params);
	free(samples);
	return rc;
}

static int pair(const struct eval *ev, struct compare_request *q, struct trial t[2], struct db *db, const char *job,
                struct trial_paired *ret_paired, struct err *e)
{
	struct trial_pairing p = pairing;
	uint64_t seed = check_seed();
	p.warm = q->warm;
	int rc = prove(ev, &q->a, &t[0], q->facts, seed, db, job, e);
	if (rc == 0)
		rc = prove(ev, &q->b, &t[1], q->facts, seed, db, job, e);
	if (rc == 0)
		rc = trial_pair(&t[0], &t[1], &p, ret_paired, e);
	if (rc < 0)
		return rc;
	rc = compare_record(db, q->facts, &q->a, &q->b, NULL, ret_paired, q->warm, job, e);
	if (rc < 0)
		trial_paired_fini(ret_paired);
	return rc;
}

int compare_run(const struct eval *ev, struct compare_request *q, struct db *db, const char *job,
                struct trial_paired *ret_paired, struct err *e)
{
	struct variant v[2] = { { .params = NULL } };
	struct trial t[2] = { { .worker = NULL } };
	struct pool_worker *device = NULL;
	int rc = variant_build(ev, q->a.ctx, q->a.params, q->facts, &v[0], e);
	if (rc == 0)
		rc = variant_build(ev, q->b.ctx, q->b.params, q->facts, &v[1], e);
	if (rc == 0)
		rc = eval_take_device(ev, q->facts, NULL, &device, e);
	if (rc == 0)
		rc = trial_begin(&t[0], device, &v[0], e);
	if (rc == 0) {
		rc = trial_begin(&t[1], device, &v[1], e);
		if (rc == 0) {
			rc = pair(ev, q, t, db, job, ret_paired, e);
			trial_end(&t[1]);
		}
		trial_end(&t[0]);
	}
	pool_give(device);
	variant_fini(&v[0]);
	variant_fini(&v[1]);
	return rc;
}
