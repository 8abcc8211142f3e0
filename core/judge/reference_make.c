/* reference_make: see reference_make.h. */
#include "core/judge/reference_make.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/context/host.h"
#include "core/judge/dictionary.h"
#include "core/judge/operands.h"
#include "core/judge/round.h"
#include "core/workers/kept_trial.h"
#include "core/workers/resident.h"

enum {
	PERTURBATIONS = 4,
	AGAIN_MOST = 1 << 18, /* elements of an output whose baseline is run on perturbed inputs, too */
	UNMOVED_MOST = 4,     /* elements that may be off where nothing is perturbed */
	STEPS_ROUNDED = 16    /* roundings of Python code that a kernel may share, where the code errs by as much */
};
/* Amplitudes: what bounds grant, so that decisions that rounding turns over are seen; of floats far more than their rounding. */
#define AMPLITUDE_LIFTED 0x1p-16
#define AMPLITUDE_PLAIN 0x1p-12
#define INTEGERS_NS (10 * CLOCK_S) /* integers without a range may be the lengths of loops */

/* --- running ---------------------------------------------------------------------------------------------------------------- */

static struct trial_input input_of(const struct making *m)
{
	return (struct trial_input){
		.seed = m->q->seed,
		.poison = TRIAL_POISON,
		.values = m->q->values,
		.keep = m->r->resident ? WIRE_RESIDENT : 0,
		.immediates = m->q->immediates,
	};
}

/* Where some inputs move alike, only their fill knows which; all others are perturbed by the oracle itself, in the same
 * exchange. */
static bool oracle_moves(const struct making *m)
{
	enum plan_values v = m->q->values;
	return truth_is_oracle(&m->truth) && !m->there && !round_is_equal(v);
}

/* Whether the baseline's own errors count, and its copies: on declared values, and where Python code rounds to halves. */
static bool has_baseline(const struct making *m)
{
	return !m->q->quick || m->q->values == PLAN_DECLARED || (m->truth.kind == TRUTH_ORACLE_DOUBLE && m->stored > 0x1p-16);
}

static int ask(struct making *m, const struct oracle_question *q, struct err *e)
{
	struct oracle *oracle = references_oracle(m->q->j->ev->references);
	oracle_answer_fini(&m->answer);
	return m->there ? oracle_run_execute(oracle, m->there, q, &m->answer, e) : oracle_ask(oracle, q, &m->answer, e);
}

/* plan: of the inputs. An oracle in double has itself in the types that its code names beside it, in place of a baseline: where
 * those overflow, candidates may. */
static struct oracle_question question_of(const struct making *m, const struct plan *plan, const struct trial_input *input)
{
	bool first = m->r->output_count == 0 && !m->there;
	return (struct oracle_question){ .ctx = m->q->j->baseline,
					 .plan = plan,
					 .params = m->q->params,
					 .input = input,
					 .in_double = m->truth.kind == TRUTH_ORACLE_DOUBLE,
					 .plain = first && m->truth.kind == TRUTH_ORACLE_DOUBLE && has_baseline(m),
					 .moves = first && m->amplitude > 0 && oracle_moves(m) ? m->perturbations : 0,
					 .amplitude = m->amplitude,
					 .cancel = m->q->j->ev->cancel,
					 .device = m->q->j->facts->id };
}

/* One execution of what computes right outputs: a trial, or a question to the oracle. */
static int execute(struct making *m, struct trial *t, const struct trial_input *input, uint64_t *ret_ns, struct err *e)
{
	int64_t start = clock_now();
	if (!truth_is_oracle(&m->truth))
		return trial_execute(t, input, m->timeout, ret_ns, e);
	struct oracle_question q = question_of(m, t->variant->plan, input);
	int rc = ask(m, &q, e);
	if (ret_ns)
		*ret_ns = (uint64_t)(clock_now() - start);
	return rc;
}

/* Output k of the last execution. *ret_bytes lies within *ret_answer, which the caller frees. */
static int fetch(struct making *m, struct trial *t, size_t k, uint8_t **ret_answer, const uint8_t **ret_bytes, struct err *e)
{
	size_t len;
	if (t->worker)
		return trial_output(t, (uint32_t)k, ret_answer, ret_bytes, &len, e);
	*ret_bytes = *ret_answer = m->answer.outputs[k].bytes;
	m->answer.outputs[k].bytes = NULL;
	return 0;
}

/* Vulkan lets these functions be off by 4096 roundoffs ("Precision and Operation of SPIR-V Instructions"). */
static bool calls_coarse(const struct context *ctx)
{
	static const char *const names[] = { "asin(", "acos(", "atan(", "atan2(" };
	bool calls = false;
	for (size_t i = 0; strcmp(context_backend(ctx), "hlsl") == 0 && i < MEM_COUNT(names); i++)
		calls = calls || strstr(context_region(ctx, REGION_DEVICE), names[i]);
	return calls;
}

static struct bound_rules rules_of(const struct making *m, size_t k)
{
	const struct reference_output *o = &m->r->outputs[k];
	int64_t last = o->dims[o->rank - 1];
	/* Rows of other values than the declared ones may alternate, which are no fields. On the host the values tell fields. */
	unsigned fields = m->q->values != PLAN_DECLARED                           ? round_fields(m->q->values, m->q->seed)
			  : m->r->resident && o->rank > 1 && last <= BOUND_FIELDS ? (unsigned)last
										  : 0;
	bool exact = round_is_exact(m->q->values);
	double far = round_far_factor(m->q->values, m->q->seed), times = m->likely ? fmin(far, SHIFTED_FACTOR) : far;
	return (struct bound_rules){ .sums = truth_roundoff(&m->truth, m->spec, o->type) * times,
				     .inputs = m->operands,
				     .terms = exact ? 1 : spec_reduction(m->spec, m->q->params),
				     .truncates = spec_sums_truncate(m->spec),
				     .stored = m->stored,
				     .flushed = spec_flushed_inputs(m->spec),
				     .rough = (m->truth.kind == TRUTH_BASELINE || m->truth.kind == TRUTH_ORACLE) && !exact,
				     .rounded = m->raw[k].truth_type == o->type,
				     .copies = m->q->values == PLAN_DECLARED && spec_is_random(m->spec, o->type),
				     .far = round_has_long_tails(m->q->values),
				     .shifted = round_is_shifted(m->q->values),
				     .stops = !exact,
				     .cancels = round_cancels(m->q->values, m->q->seed),
				     .pooled = round_is_zero(m->q->values),
				     .lost = round_lost(m->q->values, m->q->seed),
				     .mixed = round_is_singular(m->q->values),
				     .coarse = calls_coarse(m->q->j->baseline),
				     .declared = m->q->values == PLAN_DECLARED,
				     .none = o->judgement.kind == JUDGE_DISTRIBUTION,
				     .fields = fields };
}

/* A step of the truth of output k on the device. t: the run that it looks at; NULL: none. */
static int step_truth(const struct making *m, const struct trial *t, size_t k, enum wire_truth_step which,
		      struct wire_truth_found *ret_found, struct err *e)
{
	struct wire_truth step = { .run = t ? t->run : 0,
				   .output = (uint32_t)k,
				   .step = which,
				   .limits = m->raw[k].limits,
				   .rough = m->truth.kind == TRUTH_BASELINE };
	snprintf(step.hash, sizeof step.hash, "%s", m->r->outputs[k].hash.hex);
	return resident_truth(m->q->process, &step, ret_found, e);
}

static int keep_truth(struct making *m, const struct trial *t, size_t k, struct err *e)
{
	struct reference_output *o = &m->r->outputs[k];
	struct bound_rules rules = rules_of(m, k);
	struct wire_truth_found found;
	uint8_t name[16];
	hash_random(name, sizeof name);
	o->hash = hash_bytes(name, sizeof name);
	m->raw[k].limits = bound_limits_of(o->type, &rules, 1, false);
	int rc = step_truth(m, t, k, WIRE_TRUTH_KEEP, &found, e);
	m->raw[k].most = found.most;
	m->raw[k].fractions = found.fractions;
	return rc;
}

static int fetch_truth(struct making *m, struct trial *t, struct err *e)
{
	size_t n = variant_output_count(t->variant);
	m->r->outputs = MEM_NEW_N(struct reference_output, n + 1);
	m->raw = MEM_NEW_N(struct making_raw, n + 1);
	for (size_t k = 0; k < n; k++) {
		const struct plan_buffer *b = variant_output(t->variant, k);
		const struct spec_array *a = spec_array(m->spec, b->name);
		struct reference_output *o = &m->r->outputs[m->r->output_count];
		struct making_raw *raw = &m->raw[m->r->output_count++];
		*o = (struct reference_output){ .name = mem_str(b->name),
						.type = a ? a->type : b->type,
						.rank = b->rank,
						.judgement = a ? a->judged : judgement_default(b->type) };
		memcpy(o->dims, b->dims, sizeof o->dims);
		raw->truth_type = t->worker ? b->type : m->answer.outputs[k].type;
		o->elements = plan_buffer_logical(b);
		int rc = m->r->resident ? keep_truth(m, t, k, e) : fetch(m, t, k, &raw->answer, &raw->truth, e);
		if (rc < 0)
			return rc;
		if (m->r->resident)
			continue;
		struct oracle_output none = { .bytes = NULL }, *asked = t->worker ? &none : &m->answer.outputs[k];
		raw->moved = asked->moved ? asked->moved : MEM_NEW_N(float, o->elements + 1);
		raw->baseline = raw->baseline_answer = asked->plain;
		asked->moved = NULL;
		asked->plain = NULL;
	}
	return 0;
}

struct bound_output reference_make_output(const struct making *m, size_t k)
{
	const struct making_raw *raw = &m->raw[k];
	return (struct bound_output){ .type = m->r->outputs[k].type,
				      .n = m->r->outputs[k].elements,
				      .truth_type = raw->truth_type,
				      .truth = raw->truth,
				      .baseline = raw->baseline,
				      .moved = raw->moved,
				      .errors = raw->errors,
				      .amplitude = m->amplitude > 0 ? m->amplitude : 1 };
}

/* Whether the baseline's errors are looked at on perturbed inputs, too: on one draw an honest one may be lucky. Narrow inputs would
 * be rounded again. */
static bool looks_again(const struct making *m)
{
	bool narrow = false, large = false;
	for (size_t i = 0; i < m->plan->buffer_count; i++) {
		const struct plan_buffer *b = &m->plan->buffers[i];
		narrow |= plan_is_input(b) && dtype_is_float(b->type) && dtype_size(b->type) < sizeof(float);
		large |= plan_is_output(b) && plan_buffer_logical(b) > AGAIN_MOST;
	}
	return !m->q->quick && !m->r->resident && !narrow && !large && m->amplitude > 0 && truth_is_lifted(&m->truth) &&
	       !truth_is_oracle(&m->truth);
}

/* Which perturbation: from 1 on. */
static void keep_moved(struct making *m, size_t k, const uint8_t *bytes, uint32_t which)
{
	struct making_raw *raw = &m->raw[k];
	size_t n = m->r->outputs[k].elements;
	if (!dtype_is_float(m->r->outputs[k].type))
		return;
	if (!raw->others)
		raw->others = MEM_NEW_N(double, PERTURBATIONS * n);
	dtype_load_all(raw->truth_type, bytes, raw->others + (which - 1) * n, n);
}

/* The truth from other inputs, which the last execution gave: which step it is. */
static int add_perturbed(struct making *m, struct trial *t, enum wire_truth_step which, const struct trial_input *input,
			 struct err *e)
{
	bool kept = which == WIRE_TRUTH_MOVED && input->amplitude > 0 && looks_again(m);
	int rc = 0;
	for (size_t k = 0; rc == 0 && k < m->r->output_count; k++) {
		const uint8_t *bytes;
		uint8_t *answer = NULL;
		struct wire_truth_found found;
		rc = m->r->resident ? step_truth(m, t, k, which, &found, e) : fetch(m, t, k, &answer, &bytes, e);
		if (rc < 0)
			break;
		if (m->r->resident)
			continue;
		struct bound_output o = reference_make_output(m, k);
		if (which == WIRE_TRUTH_ABSORBED)
			bound_add_absorbed(&o, bytes);
		else if (which == WIRE_TRUTH_DECIDED)
			bound_add_decided(&o, bytes);
		else
			bound_add_moved(&o, bytes);
		if (kept)
			keep_moved(m, k, bytes, input->perturbation);
		free(answer);
	}
	return rc;
}

static int run_other(struct making *m, struct trial *t, const struct trial_input *input, enum wire_truth_step step, struct err *e)
{
	int rc = execute(m, t, input, NULL, e);
	return rc < 0 ? rc : add_perturbed(m, t, step, input, e);
}

static bool turns_over(const struct making *m)
{
	for (size_t k = 0; !m->r->resident && k < m->r->output_count; k++) {
		struct bound_output o = reference_make_output(m, k);
		if (bound_turns(&o))
			return true;
	}
	return false;
}

static struct trial_input perturbed(const struct making *m, const struct trial *t, double amplitude)
{
	struct trial_input input = input_of(m);
	input.amplitude = amplitude;
	input.still = operands_buffers(m->truth.no_operands, m->spec, t->variant->plan);
	input.share = operands_share(m->spec);
	return input;
}

static int run_moved(struct making *m, struct trial *t, double amplitude, struct err *e)
{
	struct trial_input input = perturbed(m, t, amplitude);
	int rc = 0;
	for (input.perturbation = 1; rc == 0 && input.perturbation <= m->perturbations; input.perturbation++)
		rc = run_other(m, t, &input, WIRE_TRUTH_MOVED, e);
	return rc;
}

/* The truths from perturbed inputs. Decisions are seen from both sides, so that what is turned over in nearly every honest kernel
 * is known. */
static int run_perturbed(struct making *m, struct trial *t, struct err *e)
{
	int rc = oracle_moves(m) ? 0 : run_moved(m, t, m->amplitude, e);
	if (rc < 0 || m->q->quick)
		return rc;
	if (!oracle_moves(m) && turns_over(m))
		rc = run_moved(m, t, -m->amplitude, e);
	size_t count;
	const enum plan_values *others = round_absorbing(m->q->values, context_region(m->q->j->baseline, REGION_DEVICE), &count);
	struct trial_input input = input_of(m);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		input.values = others[i];
		rc = run_other(m, t, &input, WIRE_TRUTH_ABSORBED, e);
	}
	input.values = PLAN_NAN_ROWS;
	return rc == 0 && m->q->values == PLAN_INFINITE_ROWS ? run_other(m, t, &input, WIRE_TRUTH_DECIDED, e) : rc;
}

/* By how much inputs are perturbed, relative to each; 0: nothing can be. */
static double amplitude_of(const struct making *m, const struct plan *plan)
{
	/* Values close together decide by differences, which bounds grant more roundoffs; zeros leave fewer that move. */
	bool near = round_is_close(m->q->values) || round_is_zero(m->q->values);
	double own = (truth_is_lifted(&m->truth) ? AMPLITUDE_LIFTED : AMPLITUDE_PLAIN) * (near ? SHIFTED_FACTOR : 1);
	double amplitude = fmax(own, 2 * m->operands);
	bool any = false, exact = round_is_exact(m->q->values);
	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		bool zero = m->q->values == PLAN_ALONE && plan_values_apply(b, PLAN_ALONE); /* zeros do not move */
		if (!plan_is_input(b) || !dtype_is_float(b->type) || zero)
			continue;
		any = true;
		exact = exact && plan_values_apply(b, m->q->values);
		amplitude = fmax(amplitude, 2 * dtype_roundoff(b->type));
	}
	/* Integers decide exactly; what a domain without integers holds does not. */
	return any && !exact && !round_is_unmoved(m->q->values) ? amplitude : 0;
}

/* t: of the truth; without a worker where an oracle is asked. plan: of its inputs, in the types that they are perturbed for. */
static int run_truth_with(struct making *m, struct trial *t, const struct plan *plan, struct err *e)
{
	struct trial_input input = input_of(m);
	m->amplitude = amplitude_of(m, plan);
	int rc = execute(m, t, &input, &m->r->execute_ns, e);
	if (rc == 0)
		rc = fetch_truth(m, t, e);
	if (rc == 0 && m->truth.kind == TRUTH_BASELINE)
		dictionary_add(&m->r->immediates, t->variant);
	m->r->by = m->answer.by;
	m->answer.by = NULL;
	return rc == 0 && m->amplitude > 0 ? run_perturbed(m, t, e) : rc;
}

static int take_trial(const struct making *m, const struct context *ctx, const struct params *params, struct kept_trial **ret_kept,
		      struct err *e)
{
	const struct reference_source *j = m->q->j;
	struct kept_trial_request q = { j->ev, m->q->process, ctx, params, j->facts };
	return kept_trial_take(references_trials(j->ev->references), &q, ret_kept, e);
}

/* Its arrays stay on the device. */
static int run_oracle_there(struct making *m, struct err *e)
{
	struct trial_input input = input_of(m);
	struct oracle_question q = question_of(m, m->plan, &input);
	struct oracle_run run;
	int rc = oracle_run_begin(&run, m->q->process, &q, e);
	m->there = &run;
	if (rc == 0)
		rc = run_truth_with(m, &run.trial, m->plan, e);
	oracle_run_end(&run);
	m->there = NULL;
	return rc;
}

/* What does not fit on the device beside everything else, the oracle computes with arrays that travel. */
static int run_oracle(struct making *m, struct err *e)
{
	if (m->r->resident) {
		int rc = run_oracle_there(m, e);
		if (m->r->output_count || (rc != -ERR_INTERNAL && rc != -ERR_BUSY))
			return rc;
		*e = (struct err)ERR_INIT;
		m->r->resident = false;
	}
	struct variant v = { .plan = m->plan };
	return run_truth_with(m, &(struct trial){ .variant = &v }, m->plan, e);
}

static int run_truth(struct making *m, struct err *e)
{
	struct kept_trial *kept;
	if (truth_is_oracle(&m->truth))
		return run_oracle(m, e);
	int rc = take_trial(m, m->truth.ctx, m->truth.params, &kept, e);
	if (rc < 0)
		return rc;
	rc = run_truth_with(m, &kept->trial, kept->variant.plan, e);
	kept_trial_give(kept, rc == 0);
	return rc;
}

/* --- bounds ----------------------------------------------------------------------------------------------------------------- */

static void bound_on_host(struct making *m, size_t k)
{
	struct reference_output *o = &m->r->outputs[k];
	struct bound_output source = reference_make_output(m, k);
	struct bound_rules rules = rules_of(m, k);
	size_t values = o->elements * dtype_size(o->wanted_type);
	o->wanted_len = values + (dtype_is_float(o->type) && !rules.none ? o->elements * wire_bound_size(o->wanted_type) : 0);
	o->wanted = mem_new(o->wanted_len + 1, 1);
	o->causes = mem_new(o->elements + 1, 1);
	bound_make(&source, &rules, o->wanted, o->wanted + values, o->causes, &m->raw[k].summary);
	o->hash = hash_array(o->wanted, o->wanted_len);
}

/* t: the baseline's run; NULL: the baseline is the truth. */
static int bound_on_device(struct making *m, const struct trial *t, size_t k, struct err *e)
{
	struct making_raw *raw = &m->raw[k];
	struct bound_rules rules = rules_of(m, k);
	struct wire_truth_found found;
	raw->limits = bound_limits_of(m->r->outputs[k].type, &rules, m->amplitude > 0 ? m->amplitude : 1, t != NULL);
	bound_limits_reach(&raw->limits, raw->most, m->r->outputs[k].elements);
	int rc = step_truth(m, t, k, WIRE_TRUTH_BOUND, &found, e);
	if (rc < 0)
		return rc;
	bound_summarise(&found.tally, 1, m->r->outputs[k].elements, &raw->summary);
	raw->summary.capped = found.capped;
	return 0;
}

static int make_bounds(struct making *m, const struct trial *t, size_t k, struct err *e)
{
	struct reference_output *o = &m->r->outputs[k];
	struct bound_summary *s = &m->raw[k].summary;
	o->wanted_type = bound_wanted_type(o->type);
	int rc = m->r->resident ? bound_on_device(m, t, k, e) : (bound_on_host(m, k), 0);
	if (rc < 0)
		return rc;
	o->forgiven = s->forgiven;
	o->jump = s->jump;
	o->turns = !dtype_is_float(o->type) && m->amplitude > 0 && !m->r->resident;
	if (round_is_unmoved(m->q->values)) {
		o->forgiven = bound_forgiven(s->causes[BOUND_JUMPS] + s->causes[BOUND_POOR], o->elements);
		o->forgiven += o->elements / 16 < UNMOVED_MOST ? o->elements / 16 : UNMOVED_MOST;
		o->jump = INFINITY;
	}
	o->overflows = m->q->values == PLAN_EXTREME            ? s->causes[BOUND_UNLIKE]
		       : dictionary_is_huge(&m->q->immediates) ? o->elements
							       : 0;
	o->tolerance = s->size;
	o->other_values = m->q->values != PLAN_DECLARED;
	/* What becomes of an infinity at the beginning of a sum that is kept up to date is asked once, not in each further draw. */
	o->may_be_nan = m->q->values == PLAN_RUNS || (m->q->values == PLAN_SPECIAL && m->q->seed % PLAN_SEEDS != PLAN_SEED_MANY);
	o->repeats = round_repeats(m->q->values) || round_is_unmoved(m->q->values) || round_may_crash(m->q->values);
	o->tells = !reference_is_close(o) || (s->tells_zeros && s->tells_constant);
	if (s->capped && s->baseline_ratio > 1)
		o->hint = mem_fmt("the baseline's own error is %.3g times its bound: its arithmetic is coarser than `precision: "
				  "%s` permits; declare the precision that is meant",
				  s->baseline_ratio, m->spec->precision_text);
	return 0;
}

/* --- all -------------------------------------------------------------------------------------------------------------------- */

/* By the baseline's own declaration its output must be right, too. */
static int compare_kinds(const struct making *m, struct trial *t, struct err *e)
{
	for (size_t k = 0; k < m->r->output_count; k++) {
		const struct reference_output *o = &m->r->outputs[k];
		struct wire_compared c;
		struct trial_expected want = { .hash = o->hash.hex,
					       .bytes = o->wanted,
					       .len = o->wanted_len,
					       .type = o->wanted_type,
					       .judgement = o->judgement,
					       .poison = TRIAL_POISON };
		if (reference_is_close(o))
			continue;
		int rc = trial_compare(t, (uint32_t)k, &want, &c, e);
		if (rc < 0)
			return rc;
		if (c.mismatched)
			return err_set(e, ERR_WRONG,
				       "%s is judged as declared, and the baseline's own %s differs in %llu elements%s%s", o->name,
				       o->name, (unsigned long long)c.mismatched, *c.finding ? ": " : "", c.finding);
	}
	return 0;
}

static int fetch_baseline(struct making *m, struct trial *t, struct err *e)
{
	struct trial_input input = input_of(m);
	int rc = trial_execute(t, &input, m->timeout, &m->r->execute_ns, e);
	if (rc == 0 && variant_output_count(t->variant) != m->r->output_count)
		rc = err_set(e, ERR_INTERNAL, "the baseline has %zu outputs, but its reference has %zu",
			     variant_output_count(t->variant), m->r->output_count);
	for (size_t k = 0; rc == 0 && !m->r->resident && k < m->r->output_count; k++) {
		struct making_raw *raw = &m->raw[k];
		size_t len;
		rc = trial_output(t, (uint32_t)k, &raw->baseline_answer, &raw->baseline, &len, e);
		if (rc == 0 && len != m->r->outputs[k].elements * dtype_size(m->r->outputs[k].type))
			rc = err_set(e, ERR_INTERNAL, "the baseline's %s has %zu bytes, but its reference has %zu elements",
				     m->r->outputs[k].name, len, m->r->outputs[k].elements);
	}
	return rc;
}

/* What it errs by on inputs on which the truth was perturbed. */
static int fetch_errors(struct making *m, struct trial *t, struct err *e)
{
	struct trial_input input = perturbed(m, t, m->amplitude);
	bool any = false; /* integers alone have none */
	int rc = 0;
	for (size_t k = 0; k < m->r->output_count; k++)
		any |= m->raw[k].others != NULL;
	for (input.perturbation = 1; rc == 0 && any && input.perturbation <= PERTURBATIONS; input.perturbation++) {
		rc = trial_execute(t, &input, m->timeout, NULL, e);
		for (size_t k = 0; rc == 0 && k < m->r->output_count; k++) {
			struct making_raw *raw = &m->raw[k];
			struct bound_output o = reference_make_output(m, k);
			const uint8_t *bytes;
			uint8_t *answer;
			size_t len;
			if (!raw->others)
				continue;
			if (!raw->errors)
				raw->errors = MEM_NEW_N(float, o.n);
			rc = trial_output(t, (uint32_t)k, &answer, &bytes, &len, e);
			if (rc < 0)
				break;
			bound_add_errors(&o, raw->others + (input.perturbation - 1) * o.n, bytes, raw->errors);
			free(answer);
		}
	}
	return rc;
}

static int run_baseline(struct making *m, struct err *e)
{
	struct kept_trial *kept;
	int rc = take_trial(m, m->q->j->baseline, m->q->params, &kept, e);
	if (rc < 0)
		return rc;
	rc = fetch_errors(m, &kept->trial, e);
	if (rc == 0)
		rc = fetch_baseline(m, &kept->trial, e);
	for (size_t k = 0; rc == 0 && k < m->r->output_count; k++)
		rc = make_bounds(m, &kept->trial, k, e);
	if (rc == 0)
		rc = compare_kinds(m, &kept->trial, e);
	if (rc == 0)
		dictionary_add(&m->r->immediates, &kept->variant);
	kept_trial_give(kept, rc == 0);
	return rc;
}

/* The oracle on the device in the types that its code names, in place of the baseline. */
static int run_plain(struct making *m, struct err *e)
{
	struct trial_input input = input_of(m);
	struct oracle_question q = question_of(m, m->plan, &input);
	struct oracle_run run;
	q.in_double = false;
	int rc = oracle_run_begin(&run, m->q->process, &q, e);
	m->there = &run;
	if (rc == 0)
		rc = ask(m, &q, e);
	for (size_t k = 0; rc == 0 && k < m->r->output_count; k++)
		rc = make_bounds(m, &run.trial, k, e);
	oracle_run_end(&run);
	m->there = NULL;
	return rc;
}

/* What the baseline's plan says: whether the arrays of these sizes should stay on the device, and what products may round. */
static int look_at_plan(struct making *m, struct err *e)
{
	const struct reference_making *q = m->q;
	struct plan *plan = NULL;
	int rc = host_run(q->j->baseline, q->params, q->j->facts, &plan, e);
	if (rc < 0)
		return rc;
	m->r->resident = resident_suits(q->j->facts, plan);
	for (size_t i = 0; i < m->spec->array_count; i++)
		if (m->spec->arrays[i].role != PLAN_IN && m->spec->arrays[i].judged.kind != JUDGE_CLOSE)
			m->r->resident = false;
	m->likely = true;
	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		m->likely &= !plan_takes(b, q->values) || b->fill == PLAN_PROBABILITIES;
	}
	m->stored = context_oracle(q->j->baseline) ? STEPS_ROUNDED * plan_roundoff(plan) : plan_stored_roundoff(plan);
	m->nan = plan_takes_nan(plan);
	m->plan = plan;
	return 0;
}

/* Operands of products are inputs, and what the baseline keeps between its kernels: a matrix unit takes both in IN. */
static double roundoff_of_operands(const struct making *m)
{
	double u = spec_roundoff_inputs(m->spec, m->truth.no_operands);
	for (size_t i = 0; i < m->plan->buffer_count; i++)
		if (m->plan->buffers[i].role == PLAN_SCRATCH)
			u = fmax(u, spec_roundoff_operand(m->spec, m->plan->buffers[i].type));
	return u;
}

static int load_kernels(const struct making *m, struct err *e)
{
	const struct reference_making *q = m->q;
	return m->r->resident ? resident_prepare(q->j->ev, q->j->facts, q->process, e) : 0;
}

static int make(struct making *m, struct err *e)
{
	const struct reference_making *q = m->q;
	bool asks = context_oracle(q->j->baseline) != NULL;
	int rc = look_at_plan(m, e);
	if (rc == 0 && !asks)
		rc = load_kernels(m, e);
	if (rc == 0)
		rc = truth_choose(references_truths(q->j->ev->references), q->j, q->process, q->params, &m->truth, e);
	if (rc == 0 && asks) {
		m->r->resident &= m->truth.on_gpu && strchr(q->j->facts->id, '/') == NULL; /* of this machine */
		rc = load_kernels(m, e);
	}
	if (rc == 0) {
		m->operands = roundoff_of_operands(m);
		rc = run_truth(m, e);
	}
	bool alone = m->truth.kind == TRUTH_BASELINE || asks || !has_baseline(m);
	if (rc == 0 && !alone)
		rc = run_baseline(m, e);
	if (rc == 0 && m->r->resident && m->truth.kind == TRUTH_ORACLE_DOUBLE && has_baseline(m)) {
		rc = run_plain(m, e);
		alone = rc == -ERR_INTERNAL; /* the code does not run so */
		if (alone) {
			*e = (struct err)ERR_INIT;
			rc = 0;
		}
	}
	for (size_t k = 0; rc == 0 && alone && k < m->r->output_count; k++)
		rc = make_bounds(m, NULL, k, e);
	return rc < 0 ? rc : reference_fit(m, e);
}

int reference_make(const struct reference_making *q, struct reference *io_reference, struct err *e)
{
	struct making m = { .q = q,
			    .spec = context_spec(q->j->baseline),
			    .r = io_reference,
			    .perturbations = q->quick ? 1 : PERTURBATIONS,
			    .timeout = round_may_crash(q->values) ? INTEGERS_NS : EVAL_EXECUTE_NS };
	int rc = make(&m, e);
	for (size_t k = 0; k < m.r->output_count; k++) {
		free(m.raw[k].answer);
		free(m.raw[k].baseline_answer);
		free(m.raw[k].moved);
		free(m.raw[k].others);
		free(m.raw[k].errors);
	}
	free(m.raw);
	oracle_answer_fini(&m.answer);
	truth_fini(&m.truth);
	plan_free(m.plan);
	bool lost = round_may_crash(q->values) && (e->code == ERR_CRASH || e->code == ERR_TIMEOUT);
	if (rc < 0 && q->values != PLAN_DECLARED && (e->code == ERR_INTERNAL || e->code == ERR_WRONG || lost)) {
		/* Other values need not suit every context: what they cannot judge is noted. */
		const char *hint = "; an array that indexes declares its range, as in `index: i32[n] < m`";
		io_reference->unfit = mem_fmt("%s%s", e->text, q->values == PLAN_INTEGERS || lost ? hint : "");
		*e = (struct err)ERR_INIT;
		return 0;
	}
	/* A fault of the baseline says nothing about the candidate. */
	if (rc == 0)
		return 0;
	if (e->code == ERR_INPUT || e->code == ERR_COMPILE || e->code == ERR_PRUNED || e->code == ERR_WRONG)
		e->code = ERR_INTERNAL;
	return err_wrap(e, "reference");
}
