/* reference_fit: what a reference cannot judge, and why; see reference_make.h. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/judge/dictionary.h"
#include "core/judge/reference_make.h"
#include "core/judge/round.h"

enum { GROSS_RARE = 8192 }; /* of so many elements the baseline may be off in one */

/* Which reason hides most elements, and what helps. */
static int cannot_judge(const struct making *m, size_t k, struct err *e)
{
	const struct reference_output *o = &m->r->outputs[k];
	const struct bound_summary *s = &m->raw[k].summary;
	enum bound_cause most = BOUND_WIDE;
	/* Where the baseline itself overflows, its other elements still say something. */
	uint64_t excused = s->causes[BOUND_ABSORBED] + (m->q->values == PLAN_EXTREME ? s->causes[BOUND_UNLIKE] : 0);
	/* On its own values the baseline answers for itself; on others nobody must be more exact than it is. */
	if (reference_is_close(o) && s->capped && s->baseline_ratio > 1 && m->q->values != PLAN_DECLARED)
		return err_set(e, ERR_INTERNAL, "cannot judge %s: the baseline's own error is %.3g times its bound; %s", o->name,
			       s->baseline_ratio, bound_cause_help(BOUND_POOR));
	/* Where rounding takes 5 % from elements of the baseline, another order of operations may take all of others. */
	if (reference_is_close(o) && m->q->values == PLAN_WIDE && s->gross > o->elements / GROSS_RARE)
		return err_set(e, ERR_INTERNAL, "cannot judge %s: rounding alone decides what the baseline gives there; %s",
			       o->name, bound_cause_help(BOUND_UNLIKE));
	if (!reference_is_close(o) || bound_is_enough((double)s->judged, (double)excused, (double)o->elements))
		return 0;
	for (enum bound_cause c = BOUND_WIDE; c < BOUND_CAUSES; c++)
		if (s->causes[c] > s->causes[most])
			most = c;
	return err_set(e, ERR_INTERNAL, "cannot judge %s: %llu of %llu elements have no bound, since %s; %s", o->name,
		       (unsigned long long)(o->elements - s->judged), (unsigned long long)o->elements, bound_cause_text(most),
		       bound_cause_help(most));
}

/* A baseline that is far from its reference block. What rounding turns over may be off in a few elements. */
static int refuse_gross(const struct making *m, size_t k, struct err *e)
{
	const struct reference_output *o = &m->r->outputs[k];
	const struct bound_summary *s = &m->raw[k].summary;
	bool has_block = m->truth.kind == TRUTH_BLOCK_LIFTED || m->truth.kind == TRUTH_BLOCK;
	uint64_t jumps = s->causes[BOUND_WIDE];
	if (!has_block || !reference_is_close(o) || s->gross <= (jumps ? 4 * jumps + 4 : 0))
		return 0;
	if (m->r->resident)
		return err_set(e, ERR_INTERNAL,
			       "the baseline differs from its reference block in %s by more than 5 %% in %llu elements; one of the "
			       "two is wrong",
			       o->name, (unsigned long long)s->gross);
	double want = dtype_load(m->raw[k].truth_type, m->raw[k].truth + s->first_gross * dtype_size(m->raw[k].truth_type));
	double got = dtype_load(o->type, m->raw[k].baseline + s->first_gross * dtype_size(o->type));
	char *place = reference_place(o, (int64_t)s->first_gross);
	err_set(e, ERR_INTERNAL,
		"the baseline differs from its reference block in %s by more than 5 %% in %llu elements. The first is at %s: "
		"%.9g, not %.9g. One of the two is wrong",
		o->name, (unsigned long long)s->gross, place, got, want);
	free(place);
	return -ERR_INTERNAL;
}

/* Values that no output can be judged on: where the baseline overflows, or which inputs may be rounded away from. */
static int refuse_values(const struct making *m, struct err *e)
{
	/* Squares that overflow give numbers, too: 1/sqrt(infinity) is 0. */
	bool faint = m->q->values == PLAN_FAINT;
	for (size_t k = 0; (m->q->values == PLAN_HUGE || faint) && k < m->r->output_count; k++) {
		const struct bound_summary *s = &m->raw[k].summary;
		if (s->causes[BOUND_UNLIKE] || s->causes[BOUND_POOR] || s->baseline_ratio > 1)
			return err_set(e, ERR_INTERNAL, "the baseline itself %s", faint ? "underflows" : "overflows");
	}
	if (round_is_unmoved(m->q->values) && (m->operands > 0 || !truth_is_lifted(&m->truth)))
		return err_set(e, ERR_INTERNAL,
			       "only exact outputs beside the baseline's show which decisions rounding cannot change");
	if (round_is_alike(m->q->values, m->q->seed) && m->operands > 0)
		return err_set(e, ERR_INTERNAL, "precision: permits rounded inputs, whose errors do not cancel on such values");
	int in = dtype_parse(m->spec->precision_in);
	if (round_is_far(m->q->values) && m->q->values != PLAN_SPARSE && spec_roundoff_inputs(m->spec, 0) > 0 &&
	    (in == DTYPE_F16 || in == DTYPE_E4M3 || in == DTYPE_E5M2))
		return err_set(e, ERR_INTERNAL, "precision: permits inputs in %s, which cannot hold such values",
			       m->spec->precision_in);
	return 0;
}

/* Whether a single yes or no is all that this output says, as whether any element is NaN. */
static bool is_flag(const struct making *m, size_t k)
{
	const struct making_raw *raw = &m->raw[k];
	bool single = m->r->outputs[k].elements == 1 && !dtype_is_float(m->r->outputs[k].type);
	return single && (m->r->resident ? raw->most : dtype_load(raw->truth_type, raw->truth)) <= 1;
}

/* Integers that every permitted sum holds exactly, in truth and baseline alike. */
static bool is_exact(const struct making *m, size_t k)
{
	const struct making_raw *raw = &m->raw[k];
	const struct reference_output *o = &m->r->outputs[k];
	double sums = truth_roundoff(&m->truth, m->spec, o->type), own = dtype_roundoff(o->type);
	if (m->r->resident)
		return raw->fractions == 0 && raw->most * sums <= 1 && raw->summary.baseline_ratio <= 1;
	struct bound_output whole = reference_make_output(m, k);
	return bound_is_whole(&whole, sums, own);
}

static int refuse_output(const struct making *m, size_t k, struct err *e)
{
	const struct reference_output *o = &m->r->outputs[k];
	const char *elsewhere = is_flag(m, k) ? NULL : round_elsewhere(m->q->values, m->nan, o->type, o->judgement.kind);
	if (elsewhere)
		return err_set(e, ERR_INTERNAL, "%s " REFERENCE_ELSEWHERE ": %s", o->name, elsewhere);
	/* Where NaN stands in an order is not specified, and an end of a range may look like a gap. */
	if (m->q->values == PLAN_SPECIAL && (o->judgement.kind == JUDGE_SET || o->judgement.kind == JUDGE_PERMUTATION))
		return err_set(e, ERR_INTERNAL,
			       "%s is judged by the values of its rows, among which NaN and ends of ranges have no place", o->name);
	/* Among zeros alone any place is that of an extreme. */
	bool place = spec_flushed_inputs(m->spec) > 0 && !dtype_is_float(o->type) && o->judgement.kind == JUDGE_EXACT;
	if (m->q->values == PLAN_ALONE && place)
		return err_set(e, ERR_INTERNAL, "%s may hold the places of extremes, and all values are equal", o->name);
	if (round_is_exact(m->q->values) && dtype_is_float(o->type) && reference_is_close(o) && !is_exact(m, k))
		return err_set(e, ERR_INTERNAL, "%s " REFERENCE_INEXACT ": this context does more than add and multiply", o->name);
	return cannot_judge(m, k, e);
}

/* An output that other values than the declared ones cannot judge hides no other. */
int reference_fit(struct making *m, struct err *e)
{
	int rc = refuse_values(m, e);
	size_t judged = 0;
	m->r->tells = false;
	for (size_t k = 0; rc == 0 && k < m->r->output_count; k++)
		rc = refuse_gross(m, k, e);
	for (size_t k = 0; rc == 0 && k < m->r->output_count; k++) {
		struct reference_output *o = &m->r->outputs[k];
		struct err why = ERR_INIT;
		if (refuse_output(m, k, &why) < 0) {
			o->unfit = mem_str(why.text);
			if (m->q->values == PLAN_DECLARED || (k + 1 == m->r->output_count && judged == 0))
				rc = err_set(e, why.code, "%s", m->q->values == PLAN_DECLARED ? o->unfit : m->r->outputs[0].unfit);
			continue;
		}
		judged++;
		m->r->tells |= o->tells;
	}
	for (size_t k = 0; rc == 0 && !m->r->tells && m->r->weak == NULL && k < m->r->output_count; k++)
		if (!m->r->outputs[k].tells)
			m->r->weak = bound_weakness(&m->raw[k].summary, m->r->outputs[k].name);
	return rc;
}
