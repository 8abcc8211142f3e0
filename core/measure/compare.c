/* compare: pairwise timing of two configurations; see compare.h. */
#include "core/measure/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/knowledge/knowledge.h"
#include "core/record/comparison.h"

static const struct trial_pairing pairing = { .min_pairs = 12,
					      .max_pairs = 200,
					      .margin = COMPARE_MARGIN,
					      .floor_ns = COMPARE_FLOOR_NS,
					      .confidence = COMPARE_CONFIDENCE,
					      .width = 0.01,
					      .cap_ns = 3 * CLOCK_S,
					      .warm_up_ns = 100 * CLOCK_MS };

/* At the end of a tune: what is clear ends after a few pairs, and for the rest an interval within 10 % will do. */
static const struct trial_pairing brief_pairing = { .min_pairs = 6,
						    .max_pairs = 60,
						    .margin = COMPARE_MARGIN,
						    .floor_ns = COMPARE_FLOOR_NS,
						    .confidence = COMPARE_CONFIDENCE,
						    .width = 0.1,
						    .cap_ns = 1500 * CLOCK_MS,
						    .warm_up_ns = 20 * CLOCK_MS };

int compare_record(const struct evidence *to, const struct compare_pair *pair, const struct trial_paired *p, int64_t *ret_row,
		   struct err *e)
{
	const struct compare_side *a = pair->a, *b = pair->b;
	struct params *inputs = params_part(a->params, false);
	char *sizes = params_text(inputs), *a_params = params_text(a->params), *b_params = b ? params_text(b->params) : NULL;
	double *samples = MEM_NEW_N(double, 2 * p->count);
	for (size_t i = 0; i < p->count; i++) {
		samples[2 * i] = p->a[i];
		samples[2 * i + 1] = p->b[i];
	}
	struct comparison row = {
		.a = a->checkpoint,
		.b = b ? b->checkpoint : 0,
		.library = b ? NULL : pair->library,
		.device = to->facts->uuid,
		.driver = to->facts->driver,
		.sizes = sizes,
		.a_params = a_params,
		.b_params = b_params,
		.verdict = trial_verdict_name(p->verdict),
		.a_ns = p->a_ns,
		.b_ns = p->b_ns,
		.ratio = p->ratio,
		.low = p->low,
		.high = p->high,
		.confidence = COMPARE_CONFIDENCE,
		.margin = p->margin,
		.samples = samples,
		.pairs = p->count,
		.discarded = p->discarded,
		.disturbed = p->disturbed,
		.cold = !pair->warm,
		.a_start = pair->a_start,
		.load = pair->load && *pair->load ? pair->load : NULL,
		.conditions = p->conditions,
		.a_validation = a->evidence,
		.b_validation = b ? b->evidence : 0,
		.job = to->job,
	};
	int rc = knowledge_remember(to->db, to->facts, e);
	if (rc == 0)
		rc = comparison_add(to->db, &row, e);
	if (rc >= 0 && ret_row)
		*ret_row = row.id;
	params_free(inputs);
	free(sizes);
	free(a_params);
	free(b_params);
	free(samples);
	return rc;
}

/* The rows: of the times, and of the energy where both were weighed. */
static int record(const struct evidence *to, struct compare_request *q, const struct trial_paired *paired, struct err *e)
{
	const struct compare_pair both = { .a = &q->a, .b = &q->b, .load = q->load, .warm = q->warm, .a_start = q->a_start };
	const struct energy_subject a = { .checkpoint = q->a.checkpoint, .params = q->a.params, .facts = q->facts },
				    b = { .checkpoint = q->b.checkpoint, .params = q->b.params, .facts = q->facts };
	int rc = compare_record(to, &both, paired, &q->weighing.comparison, e);
	return rc == 0 && q->weighing.verdict ? energy_keep(to, &a, &b, &q->weighing, e) : rc;
}

/* Checks both, times them in pairs, checks both again; what was found of each side becomes its evidence. */
static int pair(const struct eval *ev, struct compare_request *q, struct trial t[2], struct evidence *to,
		struct trial_paired *ret_paired, struct err *e)
{
	struct trial_pairing p = q->brief ? brief_pairing : pairing;
	struct trial_paired paired = { .count = 0 };
	struct check c[2] = { { .passed = false }, { .passed = false } };
	struct compare_side *side[2] = { &q->a, &q->b };
	struct reference_source reference[2];
	uint64_t seed = q->seed ? q->seed : check_seed();
	struct load load;
	struct err unweighed = ERR_INIT; /* the row of the times is kept all the same */
	uint64_t seeds[TRIAL_SEEDS];
	int rc = 0;
	check_seeds(seed, seeds);
	p.warm = q->warm;
	p.seeds = seeds;
	for (int k = 0; k < 2; k++)
		reference[k] = (struct reference_source){ .ev = ev, .baseline = side[k]->baseline, .facts = q->facts };
	for (int k = 0; k < 2 && rc == 0; k++)
		rc = check_run(&reference[k], &t[k], seed, &c[k], e);
	bool right = c[0].passed && c[1].passed;
	if (rc == 0 && right) {
		load_begin(&load, pool_worker_pid(t[0].worker));
		rc = trial_pair(&t[0], &t[1], &p, &paired, e);
		if (q->facts->shares_cpu)
			load_end(&load, q->load);
	}
	if (rc == 0 && right && q->objective)
		energy_pair(&t[0], &t[1], q->objective, paired.ratio, &q->weighing, &unweighed);
	for (int k = 0; k < 2 && rc == 0 && right; k++)
		rc = check_after(&reference[k], &t[k], seed, &c[k], e);
	for (int k = 0; k < 2 && rc == 0; k++) {
		char what[96];
		snprintf(what, sizeof what, "checkpoint %lld has wrong outputs, so there is no verdict on its speed",
			 (long long)side[k]->checkpoint);
		to->checkpoint = side[k]->checkpoint;
		rc = check_record(to, side[k]->params, "input", seed, &c[k], &side[k]->evidence, e);
		if (rc == 0 && !c[k].passed)
			rc = check_refuse(&c[k], what, e);
	}
	if (rc == 0)
		rc = record(to, q, &paired, e);
	if (rc == 0 && unweighed.code != ERR_NONE) {
		*e = unweighed;
		rc = -(int)unweighed.code;
	}
	for (int k = 0; k < 2; k++)
		check_fini(&c[k]);
	if (rc < 0)
		trial_paired_fini(&paired);
	else
		*ret_paired = paired;
	return rc;
}

int compare_run(const struct eval *ev, struct compare_request *q, struct db *db, const char *job, struct trial_paired *ret_paired,
		struct err *e)
{
	struct evidence to = { .db = db, .facts = q->facts, .job = job };
	struct variant v[2] = { { .params = NULL } };
	struct trial t[2] = { { .worker = NULL } };
	struct pool_worker *device = NULL;
	int rc = q->objective ? energy_need(q->facts, "a comparison by energy", e) : 0;
	q->weighing = (struct weighing){ .comparison = 0 };
	if (rc == 0)
		rc = variant_build(ev, q->a.ctx, q->a.params, q->facts, &v[0], e);
	if (rc == 0)
		rc = variant_build(ev, q->b.ctx, q->b.params, q->facts, &v[1], e);
	if (rc == 0)
		rc = eval_take_device(ev, q->facts, NULL, &device, e);
	if (rc == 0)
		rc = trial_begin(&t[0], device, &v[0], e);
	if (rc == 0) {
		rc = trial_begin(&t[1], device, &v[1], e);
		if (rc == 0) {
			rc = pair(ev, q, t, &to, ret_paired, e);
			trial_end(&t[1]);
		}
		trial_end(&t[0]);
	}
	pool_give(device);
	variant_fini(&v[0]);
	variant_fini(&v[1]);
	return rc;
}

/* The 97.5 % quantile of Student's t by the Cornish-Fisher series (Abramowitz and Stegun 26.7.5); 2.262 for 9. */
static double student(double freedom)
{
	const double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
	return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
}

void compare_interval(const double *logs, size_t n, double *ret_ratio, double *ret_low, double *ret_high)
{
	double mean = 0, squares = 0;
	for (size_t i = 0; i < n; i++)
		mean += logs[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (logs[i] - mean) * (logs[i] - mean);
	double half = student((double)n - 1) * sqrt(squares / (double)(n - 1) / (double)n);
	*ret_ratio = exp(mean);
	*ret_low = exp(mean - half);
	*ret_high = exp(mean + half);
}
