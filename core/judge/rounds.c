/* rounds: see rounds.h. */
#include "core/judge/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "core/judge/perturb.h"

enum { NAN_POISON = 0xFF, NUMBER_POISON = CHECK_POISON };
enum { PAIRS = 4, SURE = 5, TIMED_MIN = 12 };
#define SUSPICIOUS 3.0      /* times faster with the last execution's scratch */
#define WORTH_TIMING_NS 100000

struct round {
	const char *name;    /* completes "wrong …" */
	bool full;           /* only in a full programme */
	bool other_seed;
	bool fresh_place;    /* prepared again, at other addresses */
	uint32_t poison;
	enum plan_values values;
	uint32_t keep;
	bool timed_before;   /* behind as many executions as timing makes */
	bool unless_exact;   /* only if the exact round before judged nobody */
};

static const struct round programme[] = {
	{ .name = "with secret values", .poison = NAN_POISON },
	{ .name = "with other values, scratch and outputs left as they were", .other_seed = true, .poison = NAN_POISON,
	  .keep = WIRE_KEEP_SCRATCH | WIRE_KEEP_OUTPUTS },
	{ .name = "with the same values again, scratch left, outputs poisoned", .full = true, .other_seed = true,
	  .poison = NUMBER_POISON, .keep = WIRE_KEEP_SCRATCH },
	{ .name = "with another poison", .full = true, .poison = NUMBER_POISON },
	{ .name = "on exact integers", .full = true, .poison = NAN_POISON, .values = PLAN_EXACT },
	{ .name = "on small exact integers", .full = true, .poison = NAN_POISON, .values = PLAN_EXACT_SMALL, .unless_exact = true },
	{ .name = "on values with spikes", .full = true, .poison = NAN_POISON, .values = PLAN_SPIKES },
	{ .name = "on values far from zero", .full = true, .poison = NAN_POISON, .values = PLAN_OFFSET },
	{ .name = CHECK_AS_LEFT, .full = true, .timed_before = true, .poison = NUMBER_POISON, .keep = WIRE_LOOK },
	{ .name = CHECK_AFTER, .full = true, .poison = NUMBER_POISON, .keep = WIRE_KEEP_SCRATCH },
	{ .name = "at other addresses", .full = true, .fresh_place = true, .poison = NAN_POISON },
};

/* One programme while it runs. */
struct running {
	const struct eval *ev;
	const struct rounds_request *q;
	struct trial trial;
	struct check check;     /* of the last round */
	struct buf log;
};

/* Other addresses: the new place is made before the old one is given up, where there is room for both. */
static int move(struct running *r, struct err *e)
{
	struct trial next, *t = &r->trial;
	const struct variant *variant = t->variant;
	struct pool_worker *worker = t->worker;
	int rc = trial_begin(&next, worker, variant, e);
	bool no_room = rc < 0 && e->code == ERR_PRUNED;
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

static void name_round(struct check *c, const char *name)
{
	if (c->reason == NULL)
		return;
	char *reason = mem_fmt("%s (%s)", c->reason, name);
	free(c->reason);
	c->reason = reason;
}

/* A kernel that counts its calls shows itself; the figures are not used. However slow this machine is at the moment, the kernel runs
 * TIMED_MIN times: a verdict must not depend on how many executions fit into a time. */
static int repeat(struct running *r, struct err *e)
{
	static const struct trial_timing timing = { .min_samples = 5, .max_samples = 40, .cap_ns = CLOCK_S / 5 };
	struct trial_input input = { .seed = r->q->seed, .poison = NUMBER_POISON, .keep = WIRE_KEEP_SCRATCH };
	struct trial_times times = { .count = 0 };
	size_t executed = 0;
	uint64_t ns;
	int rc = trial_execute(&r->trial, &input, EVAL_EXECUTE_NS, &ns, e);
	input.keep |= WIRE_KEEP_OUTPUTS;
	if (rc == 0 && !r->q->facts->emulated) {
		rc = reference_hold(r->ev, r->trial.worker, e);
		if (rc < 0)
			return rc;
		rc = trial_measure(&r->trial, &timing, &times, e);
		reference_let_go(r->ev, r->trial.worker);
		executed = times.count;
		if (rc == 0)
			trial_times_fini(&times);
	}
	while (rc == 0 && executed++ < TIMED_MIN)
		rc = trial_execute(&r->trial, &input, EVAL_EXECUTE_NS, &ns, e);
	return rc;
}

static void note(struct running *r, const char *name, const char *unfit)
{
	buf_addf(&r->log, unfit ? "not judged %s: %s\n" : "passed %s\n", name, unfit);
}

/* How exact the output nearest to its limit was, so that the precision of two checkpoints can be compared, the root's own included. */
static void note_errors(struct running *r)
{
	const struct wire_compared *f = &r->check.figures;
	double rms = f->ref_norm / sqrt((double)f->elements);
	if (r->check.output && rms > 0)
		buf_addf(&r->log, "\t%s: relative error %.2e, the largest %.2e of its root mean square\n", r->check.output, f->error, f->max_abs / rms);
}

static int one_round(struct running *r, const struct round *x, bool *ret_unfit, struct err *e)
{
	struct trial_input input = { .seed = x->other_seed ? r->q->other_seed : r->q->seed, .poison = x->poison, .values = x->values,
	                             .keep = x->keep };
	char *unfit = NULL;
	check_fini(&r->check);
	if ((x->fresh_place && move(r, e) < 0) || (x->timed_before && repeat(r, e) < 0)) {
		check_failed(&r->check, e);
		return e->code == ERR_CANCELLED ? -ERR_CANCELLED : 0;
	}
	int rc = 0;
	if (x->keep & WIRE_LOOK && !check_can_look(r->trial.variant->plan)) {
		unfit = mem_str("it changes its inputs");
		r->check = (struct check){ .passed = true, .error = NAN, .tolerance = NAN };
	} else {
		rc = check_execution(r->ev, &r->trial, r->q->root, r->q->facts, &input, &r->check, &unfit, e);
	}
	if (rc < 0)
		return rc;
	*ret_unfit = unfit != NULL;
	if (unfit)
		r->check.passed = true;
	if (r->check.passed)
		note(r, x->name, unfit);
	if (r->check.passed && !unfit)
		note_errors(r);
	free(unfit);
	return 0;
}

static bool has_scratch(const struct variant *v)
{
	for (size_t i = 0; i < v->plan->buffer_count; i++)
		if (v->plan->buffers[i].role == PLAN_SCRATCH)
			return true;
	return false;
}

/* A result kept under a key made of the inputs is right every time; only its speed betrays it. Timed loops replay one set of inputs, so
 * such a kernel would time as a copy, or as nothing where it finds its own output. Disturbances only ever add time, so the least of each is
 * compared. */
static int compare_speed(struct running *r, struct err *e)
{
	static const struct { uint32_t keep; const char *what; } ways[] = {
		{ 0, "nothing" }, { WIRE_KEEP_SCRATCH, "scratch" }, { WIRE_KEEP_SCRATCH | WIRE_KEEP_OUTPUTS, "scratch and outputs" },
	};
	uint64_t least[MEM_COUNT(ways)] = { UINT64_MAX, UINT64_MAX, UINT64_MAX }, ns = 0;
	struct trial_input input = { .seed = r->q->seed, .poison = NUMBER_POISON };
	size_t suspect = 1;
	/* On a busy machine all of a few may have been disturbed: who is suspected is timed on, until it is sure. */
	for (size_t i = 0; i < PAIRS * MEM_COUNT(ways) || (suspect && i < SURE * PAIRS * MEM_COUNT(ways)); i++) {
		size_t way = i % MEM_COUNT(ways);
		input.keep = ways[way].keep;
		int rc = trial_execute(&r->trial, &input, EVAL_EXECUTE_NS, &ns, e);
		if (rc < 0)
			return rc;
		least[way] = ns < least[way] ? ns : least[way];
		suspect = 0;
		for (size_t k = 1; k < MEM_COUNT(ways) && suspect == 0 && least[0] >= WORTH_TIMING_NS; k++)
			suspect = (double)least[k] * SUSPICIOUS <= (double)least[0] ? k : 0;
	}
	if (suspect == 0)
		return 0;
	return err_set(e, ERR_WRONG, "it keeps results from one execution to the next: with %s as the last execution left it, it takes "
	               "%.3g ms in place of %.3g ms", ways[suspect].what, (double)least[suspect] / 1e6, (double)least[0] / 1e6);
}

static int check_kept(struct running *r, struct check *c, char **ret_unfit, struct err *e)
{
	(void)c;
	if (has_scratch(r->trial.variant) && !r->q->facts->emulated) {
		int rc = reference_hold(r->ev, r->trial.worker, e);
		if (rc < 0)
			return rc;
		rc = compare_speed(r, e);
		reference_let_go(r->ev, r->trial.worker);
		return rc;
	}
	*ret_unfit = mem_str(r->q->facts->emulated ? "the device gives no times" : "there is no scratch");
	return 0;
}

static int check_races(struct running *r, struct check *c, char **ret_unfit, struct err *e)
{
	char *finding = NULL;
	(void)c;
	int rc = trial_races(&r->trial, r->q->seed, &finding, e);
	if (rc < 0 && e->code == ERR_UNSUPPORTED) {
		*ret_unfit = mem_str(e->text);
		*e = (struct err)ERR_INIT;
		return 0;
	}
	if (finding)
		rc = err_set(e, ERR_WRONG, "%s", finding);
	free(finding);
	return rc;
}

static int check_delays(struct running *r, struct check *c, char **ret_unfit, struct err *e)
{
	return perturb_run(r->ev, r->trial.worker, r->trial.variant->params, r->q, c, ret_unfit, e);
}

/* The tolerance that the reference gives to this output with declared values; it is kept from the first round. */
static int tolerance_of(struct running *r, const char *name, double *ret_tolerance, struct err *e)
{
	const struct reference *reference = NULL;
	int rc = reference_get(r->ev, r->q->root, r->q->facts, r->trial.worker, r->trial.variant->params, r->q->seed, PLAN_DECLARED, &reference, e);
	if (rc < 0)
		return rc;
	*ret_tolerance = 0;
	for (size_t i = 0; i < reference->output_count; i++)
		if (strcmp(reference->outputs[i].name, name) == 0)
			*ret_tolerance = reference->outputs[i].tolerance;
	reference_release(r->ev->references, reference);
	return 0;
}

static unsigned buffer_of(const struct plan *plan, const char *name)
{
	unsigned i = 0;
	while (i < plan->buffer_count && strcmp(plan->buffers[i].name, name) != 0)
		i++;
	return i; /* one that does not exist is refused */
}

/* Where the root says that it is a matrix product, that is checked without it. */
static int check_product(struct running *r, struct check *c, char **ret_unfit, struct err *e)
{
	const struct spec *spec = context_spec(r->q->root);
	struct trial_input input = { .seed = r->q->seed, .poison = NAN_POISON };
	char *finding = NULL;
	double tolerance = 0;
	(void)c;
	if (spec->gemm == NULL || spec->arrays[spec->gemm->c].type == DTYPE_F64) {
		*ret_unfit = mem_str(spec->gemm ? "sums of f64 are as exact as the check's own" : "`library:` names no matrix product");
		return 0;
	}
	const struct plan *plan = r->trial.variant->plan;
	const char *c_name = spec->arrays[spec->gemm->c].name;
	struct plan_gemm gemm = { .a = buffer_of(plan, spec->arrays[spec->gemm->a].name), .b = buffer_of(plan, spec->arrays[spec->gemm->b].name),
	                          .c = buffer_of(plan, c_name), .a_transposed = spec->gemm->a_transposed,
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

/* What follows the programme. An error is the kernel's own failure. */
static const struct { const char *name; int (*run)(struct running *r, struct check *c, char **ret_unfit, struct err *e); } extras[] = {
	{ "against A·(B·x)", check_product },
	{ "on kept results", check_kept },
	{ "interpreted, looking for races", check_races },
	{ "with random delays at its barriers", check_delays },
};

static int one_extra(struct running *r, size_t i, struct err *e)
{
	char *unfit = NULL;
	struct check c = { .passed = true };
	struct err why = ERR_INIT;
	int rc = extras[i].run(r, &c, &unfit, &why);
	if (rc < 0 && why.code == ERR_CANCELLED) {
		*e = why;
		return rc;
	}
	if (rc < 0)
		check_failed(&c, &why);
	name_round(&c, extras[i].name);
	if (c.passed)
		note(r, extras[i].name, unfit);
	free(unfit);
	if (c.passed) {
		check_fini(&c); /* the figures of the programme stay */
		return 0;
	}
	check_fini(&r->check);
	r->check = c;
	return 0;
}

static int afterwards(struct running *r, struct err *e)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && r->check.passed && i < MEM_COUNT(extras); i++)
		rc = one_extra(r, i, e);
	return rc;
}

/* Wrong outputs may come of a race: then the interpreter can name it, which says more than any figure. */
static void explain(struct running *r)
{
	char *finding = NULL;
	struct err ignored = ERR_INIT; /* the outputs are wrong, whatever this finds */
	if (trial_races(&r->trial, r->q->seed, &finding, &ignored) < 0 || finding == NULL)
		return;
	char *reason = mem_fmt("%s; %s", r->check.reason, finding);
	free(r->check.reason);
	r->check.reason = reason;
	free(finding);
}

static bool is_due(const struct running *r, const struct round *x, bool exact_unfit)
{
	return (r->q->full || !x->full) && (!x->unless_exact || exact_unfit);
}

static int run_all(struct running *r, struct err *e)
{
	bool unfit = false;
	int rc = 0;
	for (size_t i = 0; rc == 0 && r->check.passed && i < MEM_COUNT(programme); i++) {
		const struct round *x = &programme[i];
		if (!is_due(r, x, unfit))
			continue;
		rc = one_round(r, x, &unfit, e);
		if (rc == 0 && i > 0)
			name_round(&r->check, x->name);
	}
	return rc;
}

void rounds_ahead(const struct rounds_request *request, const struct params *size, uint64_t output_bytes, struct reference_ahead *to)
{
	for (size_t i = 0; i < MEM_COUNT(programme); i++) {
		const struct round *x = &programme[i];
		bool new = !x->unless_exact && (request->full || !x->full);
		for (size_t k = 0; k < i && new; k++)
			new = programme[k].other_seed != x->other_seed || programme[k].values != x->values;
		if (new)
			reference_ahead_add(to, size, x->other_seed ? request->other_seed : request->seed, x->values, output_bytes);
	}
}

int rounds_run(const struct eval *ev, struct pool_worker *device, const struct variant *variant,
               const struct rounds_request *request, struct check *ret_check, struct err *e)
{
	struct running r = { .ev = ev, .q = request, .check = { .passed = true }, .log = BUF_INIT };
	int rc = trial_begin(&r.trial, device, variant, e);
	if (rc < 0) {
		if (e->code == ERR_CANCELLED)
			return rc;
		check_failed(ret_check, e);
		*e = (struct err)ERR_INIT;
		return 0;
	}
	rc = run_all(&r, e);
	if (rc == 0 && r.check.passed && request->full)
		rc = afterwards(&r, e);
	else if (rc == 0 && r.check.code == ERR_WRONG && request->full)
		explain(&r);
	trial_end(&r.trial);
	if (rc < 0)
		check_fini(&r.check);
	else
		*ret_check = r.check;
	if (rc == 0)
		ret_check->rounds = buf_steal(&r.log);
	buf_fini(&r.log);
	return rc;
}
