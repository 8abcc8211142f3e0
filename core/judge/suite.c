/* suite: see suite.h. A table of executions, then four further checks of another kind. */
#include "core/judge/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/judge/round.h"
#include "core/judge/suite_draws.h"

enum {
	REPEATS = 12,        /* executions before the kernel is looked at again, where they are not timed */
	DISTURBED_RUNS = 4,  /* of the rewritten kernel at least, */
	DISTURBED_MOST = 48, /* and at most, */
	DISTURBED_MS = 300,  /* if there is as much time, where each counts as at most */
	DISTURBED_EACH = 25, /* ms, since late blocks sleep for longer, */
	DISTURBED_ALL = 800, /* ms in all */
	ENDS_APART = 6       /* executions between two on ends of ranges (disturbed_on) */
};
#define RACES_NS (CLOCK_S / 2) /* for values as people have them, interpreted */

struct step {
	const char *name; /* completes "wrong …" */
	const char *why;  /* stands behind the name in messages: why such values are right to ask for, or what to declare; NULL */
	bool cheap;       /* not only in the full suite */
	bool other_seed;
	bool fresh_place;                                               /* prepared again, at other addresses */
	enum { LEFT_NAN, LEFT_NUMBER, LEFT_ZEROS, LEFT_FRACTION } left; /* what outputs and scratch hold before */
	enum plan_values values;
	uint32_t keep;
	bool timed_before; /* after as many executions as timing makes */
	bool unless_exact; /* only if the exact step before could not judge */
	bool extra;        /* takes long and says little about values: only where extras are asked for */
};

/* Bytes: of NaN, of 1.5e16 in f32, of zero, of 0.75 in f32. */
static const uint32_t poisons[] = {
	[LEFT_NAN] = TRIAL_POISON, [LEFT_NUMBER] = CHECK_POISON, [LEFT_ZEROS] = 0, [LEFT_FRACTION] = 0x3F
};

#define ZEROS "guards against them must stay; a domain without zero is declared as in `x: f32[n] > 0`"

static const struct step steps[] = {
	{ .name = "with secret values", .cheap = true },
	{ .name = "with other values, scratch and outputs left as they were",
	  .cheap = true,
	  .other_seed = true,
	  .keep = WIRE_KEEP_SCRATCH | WIRE_KEEP_OUTPUTS },
	{ .name = "with the same values again, scratch left, outputs poisoned",
	  .other_seed = true,
	  .left = LEFT_NUMBER,
	  .keep = WIRE_KEEP_SCRATCH },
	{ .name = "on exact integers", .values = PLAN_EXACT },
	{ .name = "on small exact integers", .values = PLAN_EXACT_SMALL, .unless_exact = true },
	{ .name = "with another poison", .left = LEFT_NUMBER },
	{ .name = "with a few elements changed, scratch and outputs left as they were",
	  .why = "every element of every input counts, and some are 2^10 times as large; a domain without them is declared as "
		 "in `x: f32[n] = random(0, 1) closed`",
	  .values = PLAN_SPARSE,
	  .keep = WIRE_KEEP_SCRATCH | WIRE_KEEP_OUTPUTS },
	{ .name = "on values far from zero", .why = SUITE_OPEN, .values = PLAN_FAR },
	{ .name = "on values 32 times as large", .why = SUITE_OPEN, .values = PLAN_LARGER },
	{ .name = "on values 2^10 and 2^50 times smaller", .why = SUITE_OPEN, .values = PLAN_SMALL },
	{ .name = "on magnitudes from 2^-20 to 2^20", .why = SUITE_OPEN, .values = PLAN_WIDE },
	{ .name = "on values 2^50 times as large", .why = SUITE_OPEN, .values = PLAN_EXTREME },
	{ .name = "on values 2^100 times as large (halves 2^8 times)", .why = SUITE_OPEN, .values = PLAN_HUGE },
	{ .name = "on values 2^80 and 2^100 times smaller", .why = SUITE_OPEN, .values = PLAN_FAINT },
	{ .name = SUITE_SPECIAL,
	  .why = "they must propagate as in the reference; a domain without them is declared as in `x: f32[n] = random closed`",
	  .left = LEFT_NUMBER,
	  .values = PLAN_SPECIAL },
	{ .name = "on zeros, denormals and infinities",
	  .why = "integers are made of them as in the reference; a domain without them is declared as in `x: f32[n] = random "
		 "closed`",
	  .left = LEFT_NUMBER,
	  .values = PLAN_SPECIAL_NUMBERS },
	{ .name = "on rows of infinities",
	  .why = "no finite number stands for them; a domain without them is declared as in `x: f32[n] = random closed`",
	  .left = LEFT_NUMBER,
	  .values = PLAN_INFINITE_ROWS },
	{ .name = "on rows and runs of NaN",
	  .why = "the baseline asks for NaN; a domain without them is declared as in `x: f32[n] = random closed`",
	  .left = LEFT_NUMBER,
	  .values = PLAN_NAN_RUNS },
	{ .name = "on rows of zeros, and zeros among other values", .why = ZEROS, .values = PLAN_MIXED_ZEROS },
	{ .name = "on zeros alone", .why = ZEROS, .values = PLAN_ALONE },
	{ .name = "on constant and equal rows", .values = PLAN_NEAR_TIES },
	{ .name = "on all integers of their range",
	  .why = "without a range that is their whole type; an index declares its range, as in `index: i32[n] < m`",
	  .values = PLAN_INTEGERS },
	{ .name = "on other constants",
	  .why = "inputs declared zeros, ones or iota may hold other values; write `= ones closed` where they may not",
	  .values = PLAN_MIXED_CONSTANTS },
	{ .name = "on values of the other sign, and other integers for zeros and ones",
	  .why = SUITE_OPEN,
	  .values = PLAN_NEGATIVE },
	{ .name = "on values at the upper end of their range", .values = PLAN_HIGH_END },
	{ .name = "on values at the lower end of their range", .values = PLAN_LOW_END },
	{ .name = "on few values that coincide", .values = PLAN_COINCIDING },
	{ .name = "on few integers that differ little", .values = PLAN_FEW },
	{ .name = "on squares, powers and Fibonacci numbers", .values = PLAN_NUMBERS },
	{ .name = "on integers that count up or are shifted", .values = PLAN_CHAINS },
	{ .name = "on halves and quarters", .values = PLAN_EIGHTHS },
	{ .name = CHECK_AS_LEFT,
	  .extra = true,
	  .timed_before = true,
	  .left = LEFT_NUMBER,
	  .keep = WIRE_KEEP_SCRATCH | WIRE_KEEP_OUTPUTS },
	{ .name = CHECK_AFTER, .extra = true, .left = LEFT_NUMBER, .keep = WIRE_KEEP_SCRATCH },
	{ .name = "with zeros in outputs and scratch", .extra = true, .left = LEFT_ZEROS },
	{ .name = "with fractions in outputs and scratch", .extra = true, .left = LEFT_FRACTION },
	{ .name = "at other addresses", .extra = true, .fresh_place = true },
};

/* Other addresses: where there is room for both, the new place is made before the old one is given up. */
static int move(struct suite_running *r, struct err *e)
{
	struct trial next, *t = &r->trial;
	const struct variant *variant = t->variant;
	struct pool_worker *worker = t->worker;
	int rc = trial_begin(&next, worker, variant, e);
	bool no_room = rc < 0 && (e->code == ERR_PRUNED || e->code == ERR_BUSY);
	if (rc == 0 || no_room)
		trial_end(t);
	if (no_room) {
		*e = (struct err)ERR_INIT;
		rc = trial_begin(&next, worker, variant, e);
	}
	if (rc == 0)
		*t = next;
	return rc;
}

/* Executes many times, and nothing is reset in between: a kernel that counts its calls shows itself in the next step, and one
 * that finds its own results is faster (check_reuse). A result kept under a key made of the inputs is right every time; only its
 * speed gives it away. */
static int repeat(struct suite_running *r, struct err *e)
{
	struct trial_input input = { .seed = r->q->seed, .poison = CHECK_POISON, .keep = WIRE_KEEP_SCRATCH };
	uint64_t ns = 0;
	int rc = trial_execute(&r->trial, &input, EVAL_EXECUTE_NS, &ns, e);
	input.keep |= WIRE_KEEP_OUTPUTS;
	if (rc == 0 && !r->j->facts->emulated) {
		rc = reference_hold(r->j, r->trial.worker, e);
		if (rc < 0)
			return rc;
		rc = trial_reuse(&r->trial, (int64_t)ns, r->j->facts->shares_cpu, &r->reuse, e);
		reference_let_go(r->j, r->trial.worker);
		if (rc == 0 || e->code != ERR_UNSUPPORTED)
			return rc;
		r->reuse_unfit = mem_str(e->text);
		*e = (struct err)ERR_INIT;
		rc = 0;
	}
	for (int i = 0; rc == 0 && i < REPEATS; i++)
		rc = trial_execute(&r->trial, &input, EVAL_EXECUTE_NS, &ns, e);
	return rc;
}

static void note(struct suite_running *r, const char *name, const char *unfit)
{
	buf_addf(&r->log, !unfit ? "passed %s\n" : r->needless ? "not needed %s: %s\n" : SUITE_GAP "%s: %s\n", name, unfit);
}

/* Whether what the step says behind its name helps: not where all that it asks to declare is declared. */
static bool says_why(const struct plan *plan, const struct step *x)
{
	struct round_inputs inputs = round_inputs(plan, x->values);
	if (x->values == PLAN_INTEGERS)
		return !inputs.closed;
	return x->why && (inputs.open || !strstr(x->why, "domain"));
}

/* Such values of closed inputs are the ends of their domain. */
static const char *name_in(const struct plan *plan, const struct step *x)
{
	struct round_inputs inputs = round_inputs(plan, x->values);
	if (x->values != PLAN_SPECIAL || !inputs.any || inputs.open)
		return x->name;
	return inputs.floats ? "on zeros, denormals and the ends of their domain" : "on a few integers at the ends of their range";
}

/* Of special values the table has many: suite_check_special has one alone. */
uint64_t suite_seed(const struct suite_request *q, enum plan_values values, bool other)
{
	uint64_t seed = other ? q->other_seed : q->seed;
	return values == PLAN_SPECIAL || values == PLAN_SPECIAL_NUMBERS ? plan_seed(seed, PLAN_SEED_MANY) : seed;
}

/* Runs of NaN judge only where the baseline's code asks for NaN. */
static bool is_meant(const struct reference_source *j, enum plan_values values)
{
	return values != PLAN_NAN_RUNS || round_asks_nan(context_region(j->baseline, REGION_DEVICE));
}

bool suite_has_values(const struct suite_running *r, enum plan_values values)
{
	const struct plan *plan = r->trial.variant->plan;
	bool infinite = round_is_infinite(values) || values == PLAN_RUNS;
	return round_inputs(plan, values).any && round_judges(plan, values) && is_meant(r->j, values) &&
	       !(infinite && suite_in_parts(context_spec(r->j->baseline)));
}

static int run_step(struct suite_running *r, const struct step *x, bool *ret_unfit, struct err *e)
{
	struct trial_input input = {
		.seed = suite_seed(r->q, x->values, x->other_seed), .poison = poisons[x->left], .values = x->values, .keep = x->keep
	};
	char *unfit = NULL;
	check_fini(&r->check);
	if ((x->fresh_place && move(r, e) < 0) || (x->timed_before && repeat(r, e) < 0)) {
		check_failed(&r->check, e);
		return e->code == ERR_CANCELLED ? -ERR_CANCELLED : 0;
	}
	int rc = 0;
	bool has_values = round_inputs(r->trial.variant->plan, x->values).any && is_meant(r->j, x->values);
	if (!has_values || !round_judges(r->trial.variant->plan, x->values)) {
		unfit = mem_str(has_values ? "all outputs are judged on other values" : "no input has such values");
		r->needless = true;
		r->check = (struct check){ .passed = true, .error = NAN, .tolerance = NAN };
	} else if (round_is_infinite(x->values) && suite_in_parts(context_spec(r->j->baseline))) {
		unfit = mem_str("products made of several narrower ones turn infinity into NaN");
		r->check = (struct check){ .passed = true, .error = NAN, .tolerance = NAN };
	} else {
		/* Some step must tell kernels from constants. */
		rc = (r->told ? check_draw : check_execution)(r->j, &r->trial, &input, &r->check, &unfit, e);
		/* Nothing is missing: such values only say more about sums of products. */
		r->needless |= unfit && (strstr(unfit, REFERENCE_INEXACT) || strstr(unfit, REFERENCE_ELSEWHERE) ||
					 round_is_optional(x->values));
	}
	if (rc < 0)
		return rc;
	*ret_unfit = unfit != NULL;
	if (r->check.passed)
		note(r, name_in(r->trial.variant->plan, x), unfit);
	if (r->check.passed && !unfit) {
		/* How exact the output nearest to its limit was, so that the precision of two checkpoints can be compared, the
		 * baseline's own included. */
		const struct wire_compared *f = &r->check.figures;
		double rms = f->ref_norm / sqrt((double)f->elements);
		if (r->check.output && rms > 0)
			buf_addf(&r->log, "\t%s: relative error %.2e, the largest %.2e of its root mean square\n", r->check.output,
				 f->error, f->max_abs / rms);
		r->told |= r->check.tells;
		if (r->weak == NULL)
			r->weak = mem_str(r->check.weak);
	}
	free(unfit);
	return 0;
}

/* What most often makes NaN of infinities that an honest kernel keeps apart, or of numbers in the reference. */
static const char *hint_of(const struct suite_running *r, enum plan_values values)
{
	if (!round_is_infinite(values))
		return r->check.wants_nan
			       ? "; the reference is NaN there, as where it overflows: declare a range in which it is not"
			       : "";
	if (!r->check.gave_nan)
		return "";
	const char *code = context_region(r->q->ctx, REGION_DEVICE);
	if (strstr(code, "exp(") || strstr(code, "expf(") || strstr(code, "exp2(") || strstr(code, "exp2f("))
		return "; where a running maximum m may still be infinite, exp(x - m) is NaN and needs a guard";
	return "; zero times infinity is NaN: padding, and a mask that multiplies, need a guard";
}

static int check_reuse(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e)
{
	(void)c;
	if (r->reuse_unfit || r->j->facts->emulated)
		*ret_unfit = mem_str(r->reuse_unfit ? r->reuse_unfit : "the device gives no times");
	else if (r->reuse < 1)
		return err_set(e, ERR_WRONG,
			       "it keeps results from one execution to the next: where it finds everything as the last execution "
			       "left it, it takes %.2f of the time",
			       r->reuse);
	return 0;
}

/* How far outputs may depend on the order of groups: not at all where all are integers, made of integers, whose places count. */
static enum wire_order order_of(const struct spec *spec)
{
	enum wire_order order = WIRE_ORDER_FIXED;
	for (size_t i = 0; i < spec->array_count; i++) {
		const struct spec_array *a = &spec->arrays[i];
		bool by_value = a->judged.kind == JUDGE_CLOSE || a->judged.kind == JUDGE_EXACT;
		if (a->role != PLAN_IN && !by_value)
			return WIRE_ORDER_ANY;
		if (dtype_is_float(a->type))
			order = WIRE_ORDER_ROUNDS;
	}
	return order;
}

/* One interpretation. Other values reach branches that declared ones do not; what it cannot judge there is no gap. */
static int interpret(struct suite_running *r, const struct wire_races *asked, bool *ret_settled, char **ret_unfit,
		     char **ret_finding, struct err *e)
{
	int rc = trial_races(&r->trial, asked, ret_settled, ret_finding, e);
	if (rc == 0 || e->code != ERR_UNSUPPORTED)
		return rc;
	if (asked->values == PLAN_DECLARED) {
		r->needless = strcmp(context_backend(r->q->ctx), "cuda") == 0; /* check_disturbed looks for them there */
		*ret_unfit = mem_str(e->text);
	}
	*e = (struct err)ERR_INIT;
	return 0;
}

static int check_races(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e)
{
	static const enum plan_values values[] = {
		PLAN_DECLARED, PLAN_WIDE,          PLAN_MIXED_ZEROS, PLAN_NEAR_TIES, PLAN_HUGE,
		PLAN_FAINT,    PLAN_INFINITE_ROWS, PLAN_CHAINS,      PLAN_FEW,
	};
	enum {
		ORDERED = 4, /* the first ones: whether the order of groups shows is asked on them */
		ENDS = 6,    /* then so many draws of integers at the ends of their range: carries that run far */
	};
	struct dictionary_draw draws[DICTIONARY_DRAWS];
	unsigned n = 0;
	char *finding = NULL;
	bool settled = false;
	int rc = 0;
	(void)c;
	for (size_t i = 0; i < MEM_COUNT(values) + ENDS && rc == 0 && finding == NULL && *ret_unfit == NULL && !settled; i++) {
		bool ends = i >= MEM_COUNT(values);
		struct wire_races asked = { .seed = r->q->seed + ends * i, .values = ends ? PLAN_MIXED_ENDS : values[i] };
		asked.ordered = i < ORDERED ? order_of(context_spec(r->j->baseline)) : WIRE_ORDER_ANY;
		if (round_inputs(r->trial.variant->plan, asked.values).any)
			rc = interpret(r, &asked, &settled, ret_unfit, &finding, e);
	}
	/* Values as people have them, in all arrays, first rows that rise throughout; all but these while time is left. */
	int64_t until = clock_now() + RACES_NS;
	for (unsigned i = 0; i < PLAN_FORMS && rc == 0 && finding == NULL && *ret_unfit == NULL && !settled; i++) {
		uint64_t seed = plan_natural_seed(r->q->seed, (PLAN_FORM_ASCENDING + i) % PLAN_FORMS, true);
		struct wire_races asked = { .seed = seed, .values = PLAN_NATURAL, .ordered = WIRE_ORDER_ANY };
		if (!round_inputs(r->trial.variant->plan, PLAN_NATURAL).any || (i > 0 && clock_now() > until))
			break;
		rc = interpret(r, &asked, &settled, ret_unfit, &finding, e);
	}
	if (rc == 0 && finding == NULL && *ret_unfit == NULL && !settled)
		rc = suite_numbers(r, PLAN_IMMEDIATE_ROWS, draws, &n, e);
	for (unsigned i = 0; i < n && rc == 0 && finding == NULL; i++) {
		struct wire_races asked = { .seed = draws[i].seed, .values = draws[i].values, .immediates = draws[i].numbers };
		rc = interpret(r, &asked, NULL, ret_unfit, &finding, e);
	}
	if (finding)
		rc = err_set(e, ERR_WRONG, "%s", finding);
	free(finding);
	return rc;
}

/* The kernel rewritten so that what it leaves to chance shows. */
static int build_disturbed(const struct eval *ev, const struct context *ctx, const struct params *params, const struct facts *facts,
			   struct variant *ret_variant, struct err *e)
{
	struct eval disturbed = *ev;
	disturbed.disturbed = true;
	return variant_build(&disturbed, ctx, params, facts, ret_variant, e);
}

static bool can_disturb(const struct context *ctx)
{
	return strcmp(context_backend(ctx), "cuda") == 0;
}

void suite_compile_ahead(const struct eval *ev, const struct context *ctx, const struct params *params, const struct facts *facts)
{
	struct variant v;
	struct err ignored = ERR_INIT; /* check_disturbed meets it again */
	if (ev->binaries && can_disturb(ctx) && build_disturbed(ev, ctx, params, facts, &v, &ignored) == 0)
		variant_fini(&v);
}

/* What it is executed on, in turn. Others than declared values reach branches that these do not: ties, empty or masked rows, runs
 * that a carry passes through. */
static const enum plan_values disturbed_on[] = {
	PLAN_DECLARED, PLAN_DECLARED,      PLAN_DECLARED,    PLAN_WIDE,    PLAN_NEAR_TIES, PLAN_MIXED_ENDS,
	PLAN_FEW,      PLAN_ALONE,         PLAN_MIXED_ZEROS, PLAN_RUNS,    PLAN_CHAINS,    PLAN_MIXED_ENDS,
	PLAN_HIGH_END, PLAN_INFINITE_ROWS, PLAN_COINCIDING,  PLAN_SPECIAL, PLAN_NAN_RUNS,  PLAN_NATURAL,
};

/* One of the executions. What those on other values cannot judge is no gap. *ret_ended: the rewritten kernel does not run here. */
static int execute_disturbed(struct suite_running *r, struct trial *t, int i, struct check *c, bool *ret_ended, char **io_unfit,
			     struct err *e)
{
	enum plan_values values = disturbed_on[i % (int)MEM_COUNT(disturbed_on)];
	bool declared = values == PLAN_DECLARED, ends = values == PLAN_MIXED_ENDS;
	uint64_t seed = suite_seed(r->q, values, declared && i % 2);
	struct trial_input input = { .seed = seed, .poison = TRIAL_POISON, .values = values };
	if (ends) /* as in suite_check_ends, so that references are known */
		input.seed += 1 + (uint64_t)(i / ENDS_APART) % PLAN_SEEDS;
	char *unfit = NULL;
	if (!suite_has_values(r, values))
		return 0;
	check_fini(c);
	c->passed = true;
	int rc = check_draw(r->j, t, &input, c, &unfit, e);
	if (!c->passed && (c->code == ERR_TIMEOUT || c->code == ERR_PRUNED || c->code == ERR_UNSUPPORTED)) {
		/* Its own waits take longer with pauses, and rewritten code needs more registers. */
		free(unfit);
		unfit = mem_str(c->reason);
		check_fini(c);
		c->passed = true;
		*ret_ended = true;
	}
	if (unfit && (declared || *ret_ended)) {
		free(*io_unfit);
		*io_unfit = unfit;
	} else {
		free(unfit);
	}
	return rc;
}

/* Data races often go unnoticed; a kernel that pauses elsewhere and then gives other results has one. */
static int check_disturbed(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e)
{
	struct variant v = { 0 };
	struct trial t;
	if (!can_disturb(r->q->ctx)) {
		/* HLSL has the interpreter instead; with HIP nobody looks for races. */
		r->needless = strcmp(context_backend(r->q->ctx), "hip") != 0;
		*ret_unfit = mem_fmt("code for %s cannot be rewritten", context_backend(r->q->ctx));
		return 0;
	}
	int rc = build_disturbed(r->j->ev, r->q->ctx, r->trial.variant->params, r->j->facts, &v, e);
	if (rc == 0)
		rc = trial_begin(&t, r->trial.worker, &v, e);
	if (rc == 0) {
		int64_t begun = clock_now(), counted = 0;
		bool ended = false;
		for (int i = 0; rc == 0 && c->passed && !ended && i < DISTURBED_MOST; i++) {
			int64_t before = clock_now();
			if (i >= DISTURBED_RUNS && (counted > DISTURBED_MS * CLOCK_MS || before - begun > DISTURBED_ALL * CLOCK_MS))
				break;
			rc = execute_disturbed(r, &t, i, c, &ended, ret_unfit, e);
			int64_t took = clock_now() - before, most = DISTURBED_EACH * CLOCK_MS;
			counted += took < most ? took : most;
		}
		trial_end(&t);
	} else if (e->code != ERR_CANCELLED && e->code != ERR_COMPILE) { /* it compiled before: it has names of rewritten code */
		/* What keeps the rewritten kernel from running says nothing about the kernel itself. */
		*ret_unfit = mem_str(e->text);
		*e = (struct err)ERR_INIT;
		rc = 0;
	}
	variant_fini(&v);
	return rc;
}

/* The tolerance that the reference gives to this output with declared values; the first step has computed it. */
static int tolerance_of(struct suite_running *r, const char *name, double *ret_tolerance, struct err *e)
{
	const struct reference_values values = { .size = r->trial.variant->params, .seed = r->q->seed, .values = PLAN_DECLARED };
	const struct reference *reference = NULL;
	int rc = reference_get(r->j, r->trial.worker, &values, &reference, e);
	if (rc < 0)
		return rc;
	*ret_tolerance = 0;
	for (size_t i = 0; i < reference->output_count; i++)
		if (strcmp(reference->outputs[i].name, name) == 0)
			*ret_tolerance = reference->outputs[i].tolerance;
	reference_release(r->j->ev->references, reference);
	return 0;
}

static unsigned buffer_of(const struct plan *plan, const char *name)
{
	unsigned i = 0;
	while (i < plan->buffer_count && strcmp(plan->buffers[i].name, name) != 0)
		i++;
	return i; /* past the end when there is none: the worker refuses it */
}

/* Where the baseline declares a matrix product, that is checked without it. */
static int check_product(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e)
{
	const struct spec *spec = context_spec(r->j->baseline);
	struct trial_input input = { .seed = r->q->seed, .poison = TRIAL_POISON };
	char *finding = NULL;
	double tolerance = 0;
	(void)c;
	if (spec->gemm == NULL || spec->arrays[spec->gemm->c].type == DTYPE_F64) {
		*ret_unfit =
			mem_str(spec->gemm ? "sums of f64 are as exact as the check's own" : "`library:` names no matrix product");
		r->needless = true;
		return 0;
	}
	const struct plan *plan = r->trial.variant->plan;
	const char *c_name = spec->arrays[spec->gemm->c].name;
	struct plan_gemm gemm = { .a = buffer_of(plan, spec->arrays[spec->gemm->a].name),
				  .b = buffer_of(plan, spec->arrays[spec->gemm->b].name),
				  .c = buffer_of(plan, c_name),
				  .a_transposed = spec->gemm->a_transposed,
				  .b_transposed = spec->gemm->b_transposed };
	int rc = tolerance_of(r, c_name, &tolerance, e);
	if (rc == 0)
		rc = trial_execute(&r->trial, &input, EVAL_EXECUTE_NS, NULL, e);
	if (rc == 0)
		rc = trial_product(&r->trial, &gemm, tolerance, check_seed(), &finding, e);
	if (finding)
		rc = err_set(e, ERR_WRONG, "%s", finding);
	free(finding);
	return rc;
}

/* What follows the table of steps. An error is the kernel's own failure. */
static const struct {
	const char *name, *what; /* completes "wrong …", and "not judged: …" */
	int (*run)(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e);
	bool values; /* for all configurations, as the steps */
} extras[] = {
	{ "on more values", "more values", suite_check_again, false },
	{ "with one NaN or infinity alone, and on more zeros, denormals and infinities", "one NaN or infinity alone",
	  suite_check_special, false },
	{ "on the code's own numbers", "the code's own numbers", suite_check_immediates, true },
	{ "on rows near the code's own numbers", "rows near the code's own numbers", suite_check_immediate_rows, true },
	{ "on rows and columns at different distances from zero", "rows and columns far from zero", suite_check_apart, true },
	{ "on rows of which parts are far smaller", "rows of which parts are far smaller", suite_check_segments, true },
	{ "against A·(B·x)", "the product", check_product, false },
	{ "over many seeds", "random numbers", suite_check_many_seeds, false },
	{ "over neighbouring seeds", "random numbers of neighbouring seeds", suite_check_neighbours, false },
	{ "on integers at the ends of their ranges, or that nearly repeat", "integers at the ends of their ranges",
	  suite_check_ends, false },
	{ "on integers that nearly count up, or are nearly those of another array", "integers that nearly count up",
	  suite_check_chains, false },
	{ "on integers of few bits", "integers of few bits", suite_check_narrow, false },
	{ "on values as people have them, and with one array zero", "values as people have them", suite_check_natural, false },
	{ "on another kind of values in each array", "mixed kinds of values", suite_check_mixture, false },
	{ "on ends of ranges in patterns", "ends of ranges in patterns", suite_check_patterns, false },
	{ "on rows and runs of infinities", "rows and runs of infinities", suite_check_runs, false },
	{ "on kept results", "kept results", check_reuse, false },
	{ "interpreted, looking for races", "races", check_races, false },
	{ "with pauses, jumping clocks, late copies and garbage in unwritten memory", "chance", check_disturbed, false },
};

static void log_took(const char *name, int64_t begun)
{
	log_debug("check %s took %.3f ms", name, (double)(clock_now() - begun) / 1e6);
}

static int run_extra(struct suite_running *r, size_t i, struct err *e)
{
	char *unfit = NULL;
	struct check c = { .passed = true };
	struct err why = ERR_INIT;
	r->needless = false;
	int64_t begun = clock_now();
	int rc = extras[i].run(r, &c, &unfit, &why);
	log_took(extras[i].name, begun);
	if (rc < 0 && why.code == ERR_CANCELLED) {
		*e = why;
		return rc;
	}
	if (rc < 0)
		check_failed(&c, &why);
	check_name(&c, extras[i].name);
	if (c.passed)
		note(r, unfit ? extras[i].what : extras[i].name, unfit);
	r->needless = false;
	free(unfit);
	if (c.passed) {
		check_fini(&c); /* the figures of the steps stay */
		return 0;
	}
	check_fini(&r->check);
	r->check = c;
	return 0;
}

/* Wrong outputs may come of a data race: then the interpreter can name it, which says more than any figure. */
static void explain(struct suite_running *r)
{
	char *finding = NULL;
	const struct wire_races asked = { .seed = r->q->seed };
	struct err ignored = ERR_INIT; /* the outputs are wrong, whatever this finds */
	if (trial_races(&r->trial, &asked, NULL, &finding, &ignored) < 0 || finding == NULL)
		return;
	char *reason = mem_fmt("%s; %s", r->check.reason, finding);
	free(r->check.reason);
	r->check.reason = reason;
	free(finding);
}

const char *suite_check_name(size_t i)
{
	if (i < MEM_COUNT(steps))
		return steps[i].name;
	return i - MEM_COUNT(steps) < MEM_COUNT(extras) ? extras[i - MEM_COUNT(steps)].name : NULL;
}

static bool left_out(const struct suite_request *request, const char *name)
{
	return request->without && strcmp(request->without, name) == 0;
}

void suite_ahead(const struct suite_request *request, const struct plan *plan, const struct params *size, uint64_t output_bytes,
		 struct reference_ahead *to)
{
	for (size_t i = 0; i < MEM_COUNT(steps); i++) {
		const struct step *x = &steps[i];
		bool fresh = !x->unless_exact && x->values != PLAN_NAN_RUNS && (request->full || x->cheap) &&
			     (request->extras || !x->extra);
		fresh = fresh && round_inputs(plan, x->values).any && round_judges(plan, x->values);
		for (size_t k = 0; k < i && fresh; k++)
			fresh = steps[k].other_seed != x->other_seed || steps[k].values != x->values;
		struct reference_values values = {
			.size = size, .seed = suite_seed(request, x->values, x->other_seed), .values = x->values, .quick = i > 0
		};
		if (fresh)
			reference_ahead_add(to, &values, output_bytes);
	}
}

int suite_run(const struct reference_source *j, struct pool_worker *device, const struct variant *variant,
	      const struct suite_request *request, struct check *ret_check, struct err *e)
{
	struct suite_running r = { .j = j, .q = request, .check = { .passed = true }, .log = BUF_INIT, .reuse = 1 };
	bool unfit = false;
	int rc = trial_begin(&r.trial, device, variant, e);
	if (rc < 0) {
		if (e->code == ERR_CANCELLED)
			return rc;
		check_failed(ret_check, e);
		*e = (struct err)ERR_INIT;
		return 0;
	}
	for (size_t i = 0; rc == 0 && r.check.passed && i < MEM_COUNT(steps); i++) {
		const struct step *x = &steps[i];
		bool unasked = (!x->cheap && !request->full) || (x->extra && !request->extras);
		if (unasked || (x->unless_exact && !unfit) || left_out(request, x->name))
			continue;
		r.needless = i + 1 < MEM_COUNT(steps) && steps[i + 1].unless_exact; /* the next step stands in for it */
		int64_t begun = clock_now();
		rc = run_step(&r, x, &unfit, e);
		log_took(x->name, begun);
		if (rc == 0 && i > 0) {
			const struct plan *plan = r.trial.variant->plan;
			bool says = says_why(plan, x);
			char *when =
				mem_fmt("%s%s%s%s", name_in(plan, x), says ? ": " : "", says ? x->why : "", hint_of(&r, x->values));
			check_name(&r.check, when);
			free(when);
		}
	}
	if (rc == 0 && r.check.passed && request->full && !r.told && r.weak) {
		struct err why = ERR_INIT;
		err_set(&why, ERR_INTERNAL, "%s", r.weak);
		check_fini(&r.check);
		check_failed(&r.check, &why);
		r.check.degenerate = true;
	}
	if (rc == 0 && !r.check.passed && r.check.code == ERR_WRONG && request->extras)
		explain(&r);
	for (size_t i = 0; rc == 0 && r.check.passed && request->full && i < MEM_COUNT(extras); i++)
		if ((request->extras || extras[i].values) && !left_out(request, extras[i].name))
			rc = run_extra(&r, i, e);
	if (rc == 0 && r.check.passed && request->full && request->extras && request->without == NULL)
		rc = suite_branches(&r, e);
	trial_end(&r.trial);
	free(r.reuse_unfit);
	if (rc < 0)
		check_fini(&r.check);
	else
		*ret_check = r.check;
	if (rc == 0 && r.check.by)
		buf_addf(&r.log, "right outputs by %s\n", r.check.by);
	if (rc == 0)
		ret_check->log = buf_steal(&r.log);
	buf_fini(&r.log);
	free(r.weak);
	return rc;
}
