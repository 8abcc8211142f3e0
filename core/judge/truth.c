/* truth: see truth.h. */
#include "core/judge/truth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "core/context/host.h"
#include "core/context/lift.h"
#include "core/context/space.h"
#include "core/judge/bound.h"
#include "core/judge/operands.h"
#include "core/judge/oracle.h"
#include "core/judge/product.h"
#include "core/workers/resident.h"
#include "core/workers/trial.h"

/* GROSS: how far the lifted code may be from the code as it is, of the larger of the value and the output's root mean square: far
 * more than rounding in f32 does where a context can judge at all, far less than a wrong lift. Decisions that rounding turns over
 * (a quantised value, an index) may differ in a few elements. */
#define GROSS 0.05
enum {
	REMEMBERED = 512,
	SAMPLES = 64,
	TRIES = 6,
	FASTER = 8,
	SMALL_BLOCK = 64,
	FLOATS_OFF = 1000 /* one of so many */,
	WHOLE_OFF = 50,
	COARSE = 16 /* one of so many differs by more than rounding in double */
};
#define DOUBLES 0x1p-40        /* what rounding in double may cost, of the larger of the value and the output's root mean square */
#define DOUBLES_RATIO 0x1p-20  /* the same in bounds of floats (run_resident) */
#define SLOW_NS (5 * CLOCK_MS) /* the truth runs some 80 times in a validation: above, a faster configuration is looked for */

void truth_fini(struct truth *t)
{
	context_free(t->ctx);
	params_free(t->params);
	free(t->why);
	*t = (struct truth){ 0 };
}

bool truth_is_oracle(const struct truth *t)
{
	return t->kind == TRUTH_ORACLE_DOUBLE || t->kind == TRUTH_ORACLE;
}

bool truth_is_lifted(const struct truth *t)
{
	return t->kind == TRUTH_BLOCK_LIFTED || t->kind == TRUTH_BASELINE_LIFTED || t->kind == TRUTH_ORACLE_DOUBLE;
}

double truth_roundoff(const struct truth *t, const struct spec *spec, enum dtype output)
{
	bool known = t->kind == TRUTH_BASELINE_LIFTED && t->arithmetic != TRUTH_UNKNOWN && output == DTYPE_F64;
	bool narrow = dtype_is_float(output) && output != DTYPE_F64;
	return spec_roundoff_sums(spec, known ? t->arithmetic == TRUTH_DOUBLES : !narrow && spec_is_double(spec));
}

/* --- memory ----------------------------------------------------------------------------------------------------------------- */

struct choice {
	char *key;
	struct truth truth;
};

struct truth_memory {
	struct lock lock;
	struct choice *at; /* oldest first */
	size_t count;
};

struct truth_memory *truth_memory_new(void)
{
	struct truth_memory *m = MEM_NEW(struct truth_memory);
	lock_init(&m->lock, LOCK_LEAF);
	return m;
}

static void choice_fini(struct choice *c)
{
	free(c->key);
	truth_fini(&c->truth);
}

void truth_memory_free(struct truth_memory *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->count; i++)
		choice_fini(&m->at[i]);
	free(m->at);
	lock_fini(&m->lock);
	free(m);
}

static struct truth copy_of(const struct truth *t)
{
	return (struct truth){ t->kind,         context_ref(t->ctx), params_copy(t->params),
			       mem_str(t->why), t->arithmetic,       t->no_operands,
			       t->on_gpu };
}

static bool recall(struct truth_memory *m, const char *key, struct truth *ret_truth)
{
	bool found = false;
	lock_take(&m->lock);
	for (size_t i = 0; i < m->count && !found; i++)
		if (strcmp(m->at[i].key, key) == 0) {
			*ret_truth = copy_of(&m->at[i].truth);
			found = true;
		}
	lock_release(&m->lock);
	return found;
}

static void remember(struct truth_memory *m, const char *key, const struct truth *t)
{
	lock_take(&m->lock);
	if (m->count == REMEMBERED) {
		choice_fini(&m->at[0]);
		memmove(m->at, m->at + 1, --m->count * sizeof *m->at);
	}
	*MEM_PUSH(m->at, m->count) = (struct choice){ mem_str(key), copy_of(t) };
	lock_release(&m->lock);
}

/* --- one run ---------------------------------------------------------------------------------------------------------------- */

/* What it is chosen for, and where. */
struct choosing {
	const struct reference_source *j;
	struct pool_worker *process;
	const struct params *params;
};

struct output {
	char *name;
	enum dtype type;
	double *v;
	size_t n;
};

struct outputs {
	struct output *at;
	size_t count;
};

static void outputs_fini(struct outputs *o)
{
	for (size_t i = 0; i < o->count; i++) {
		free(o->at[i].name);
		free(o->at[i].v);
	}
	free(o->at);
	*o = (struct outputs){ 0 };
}

static int run(const struct choosing *c, const struct context *ctx, const struct params *params, struct outputs *ret_outputs,
	       struct err *e)
{
	struct trial_input input = { .seed = 1, .poison = TRIAL_POISON };
	struct outputs out = { 0 };
	struct variant v;
	struct trial t;
	int rc = variant_build(c->j->ev, ctx, params, c->j->facts, &v, e);
	if (rc < 0)
		return rc;
	rc = trial_begin(&t, c->process, &v, e);
	if (rc == 0) {
		rc = trial_execute(&t, &input, EVAL_EXECUTE_NS, NULL, e);
		if (rc == 0) {
			rc = 0;
			for (uint32_t k = 0; rc == 0 && k < variant_output_count(t.variant); k++) {
				const struct plan_buffer *b = variant_output(t.variant, k);
				const uint8_t *bytes;
				uint8_t *answer;
				size_t len;
				rc = trial_output(&t, k, &answer, &bytes, &len, e);
				if (rc < 0)
					break;
				struct output o = { .name = mem_str(b->name), .type = b->type, .n = len / dtype_size(b->type) };
				o.v = MEM_NEW_N(double, o.n + 1);
				dtype_load_all(b->type, bytes, o.v, o.n);
				free(answer);
				*MEM_PUSH(out.at, out.count) = o;
			}
		}
		trial_end(&t);
	}
	variant_fini(&v);
	if (rc < 0)
		outputs_fini(&out);
	else
		*ret_outputs = out;
	return rc;
}

/* --- comparing -------------------------------------------------------------------------------------------------------------- */

static double root_mean_square(const struct output *o)
{
	double sum = 0, n = 0;
	for (size_t i = 0; i < o->n; i++)
		if (isfinite(o->v[i])) {
			sum += o->v[i] * o->v[i];
			n++;
		}
	return n > 0 ? sqrt(sum / n) : 0;
}

/* Where the code as it is overflows, the lifted code knows better. */
static bool differs(double lifted, double plain, double scale, enum dtype type)
{
	if (!isfinite(plain))
		return isnan(plain) != isnan(lifted) && !isfinite(lifted);
	return !(fabs(lifted - plain) <= GROSS * fmax(fabs(plain), scale) + 2 * dtype_roundoff(type) * fabs(plain));
}

/* -ERR_UNSUPPORTED naming an output that the two disagree on. */
static int compare(const struct outputs *lifted, const struct outputs *plain, struct err *e)
{
	for (size_t k = 0; k < plain->count; k++) {
		const struct output *a = &lifted->at[k], *b = &plain->at[k];
		bool whole = !dtype_is_float(b->type);
		double scale = whole ? 0 : root_mean_square(b);
		size_t off = 0, first = 0;
		if (k >= lifted->count || a->n != b->n)
			return err_set(e, ERR_UNSUPPORTED, "computed in double, it has other outputs");
		for (size_t i = 0; i < b->n; i++)
			if (whole ? a->v[i] != b->v[i] : differs(a->v[i], b->v[i], scale, b->type)) {
				first = off ? first : i;
				off++;
			}
		if (off > b->n / (whole ? WHOLE_OFF : FLOATS_OFF))
			return err_set(
				e, ERR_UNSUPPORTED,
				"computed in double, %s differs from its value in float in %zu of %zu elements, the first is %zu: "
				"%g, not %g",
				b->name, off, b->n, first, a->v[first], b->v[first]);
	}
	return 0;
}

/* Of outputs that agree (compare). Those narrower than f64 do not tell. */
static enum truth_arithmetic arithmetic_of(const struct outputs *lifted, const struct outputs *plain)
{
	for (size_t k = 0; k < plain->count; k++) {
		const struct output *a = &lifted->at[k], *b = &plain->at[k];
		double scale = root_mean_square(b);
		size_t off = 0;
		for (size_t i = 0; i < b->n && b->type == DTYPE_F64; i++)
			off += isfinite(a->v[i]) && isfinite(b->v[i]) &&
			       fabs(a->v[i] - b->v[i]) > DOUBLES * fmax(fabs(a->v[i]), scale);
		if (off > b->n / COARSE)
			return TRUTH_FLOATS;
	}
	return TRUTH_DOUBLES;
}

/* --- lifting ---------------------------------------------------------------------------------------------------------------- */

static double threads_of(const struct plan *plan)
{
	double most = 1;
	for (size_t i = 0; i < plan->op_count; i++)
		if (plan->ops[i].kind == PLAN_OP_LAUNCH) {
			const uint32_t *b = plan->ops[i].launch.block;
			most = fmax(most, (double)b[0] * b[1] * b[2]);
		}
	return most;
}

struct other {
	struct params *params;
	double distance; /* of its block from a small one */
};

static int by_distance(const void *a, const void *b)
{
	double x = ((const struct other *)a)->distance, y = ((const struct other *)b)->distance;
	return (x > y) - (x < y);
}

/* Other tuning parameters of these sizes that the lifted code can be launched with, in an order drawn by chance. To be freed with
 * params_free. */
static size_t sample_others(const struct choosing *c, const struct context *lifted, struct other others[SAMPLES])
{
	struct params *inputs = params_part(c->params, false);
	size_t index[SAMPLES], count = 0;
	struct space *space;
	struct err ignored = ERR_INIT;
	if (space_new(c->j->baseline, c->j->facts, inputs, &space, &ignored) == 0) {
		size_t n = space_sample(space, 1, SAMPLES, index);
		for (size_t i = 0; i < n; i++) {
			struct other o = { .params = space_at(space, index[i]) };
			struct plan *plan = NULL;
			if (host_run(lifted, o.params, c->j->facts, &plan, &ignored) == 0) {
				o.distance = fabs(log2(threads_of(plan) / SMALL_BLOCK));
				others[count++] = o;
				plan_free(plan);
			} else {
				params_free(o.params);
			}
		}
		space_free(space);
	}
	params_free(inputs);
	return count;
}

/* Doubles take twice the shared memory, so a smaller block may run where the given one does not. */
static int run_otherwise(const struct choosing *c, const struct context *lifted, struct params **ret_params,
			 struct outputs *ret_outputs, struct err *e)
{
	struct other others[SAMPLES];
	size_t count = sample_others(c, lifted, others), tried = 0;
	int rc = -(int)e->code;
	qsort(others, count, sizeof *others, by_distance);
	for (size_t i = 0; i < count; i++) {
		if (rc == -ERR_PRUNED && tried++ < TRIES) {
			*e = (struct err)ERR_INIT;
			rc = run(c, lifted, others[i].params, ret_outputs, e);
			if (rc == 0) {
				*ret_params = others[i].params;
				continue;
			}
		}
		params_free(others[i].params);
	}
	return rc;
}

/* --- arrays that stay on the device ------------------------------------------------------------------------------------------ */

/* A run where truths are kept. */
struct resident_run {
	const struct context *ctx;
	const struct params *params;
	enum wire_truth_step which; /* what is made of its outputs */
	bool exact;                 /* they are the kept ones but for the rounding of floats, */
	bool doubles;               /* and of doubles, where they are f64 */
	uint64_t ns;                /* of its execution */
};

/* hashes: one an output. */
static int run_resident(const struct choosing *c, struct resident_run *r, const struct hash *hashes, const struct plan *plain,
			struct err *e)
{
	struct trial_input input = { .seed = 1, .poison = TRIAL_POISON, .keep = WIRE_RESIDENT };
	struct bound_rules rules = { .sums = 0x1p-24, .terms = 1 };
	struct wire_truth_found found;
	struct variant v;
	struct trial t;
	uint32_t k = 0;
	int rc = variant_build(c->j->ev, r->ctx, r->params, c->j->facts, &v, e);
	if (rc < 0)
		return rc;
	rc = trial_begin(&t, c->process, &v, e);
	if (rc == 0)
		rc = trial_execute(&t, &input, EVAL_EXECUTE_NS, &r->ns, e);
	r->exact = r->doubles = rc == 0;
	for (size_t i = 0; rc == 0 && i < plain->buffer_count; i++) {
		const struct plan_buffer *b = &plain->buffers[i];
		if (!plan_is_output(b))
			continue;
		struct wire_truth step = {
			.run = t.run, .output = k, .step = r->which, .limits = bound_limits_of(b->type, &rules, 1, true)
		};
		/* The scale of neighbours matters here, not the largest element. */
		bound_limits_reach(&step.limits, ldexp(1, 64), plan_buffer_logical(b));
		memcpy(step.hash, hashes[k].hex, sizeof step.hash);
		rc = resident_truth(c->process, &step, &found, e);
		if (rc == 0 && found.tally.gross > found.elements / FLOATS_OFF)
			rc = err_set(e, ERR_UNSUPPORTED,
				     "computed in double, %s differs from its value in float in %llu of %llu elements", b->name,
				     (unsigned long long)found.tally.gross, (unsigned long long)found.elements);
		if (rc == 0 && r->which == WIRE_TRUTH_BOUND) {
			struct bound_summary summary;
			bound_summarise(&found.tally, 1, found.elements, &summary);
			r->exact &= summary.gross == 0 && summary.baseline_ratio <= 1;
			r->doubles &= b->type != DTYPE_F64 || summary.baseline_ratio <= DOUBLES_RATIO;
		}
		k++;
	}
	if (rc == 0 || e->code != ERR_CRASH)
		trial_end(&t);
	variant_fini(&v);
	return rc;
}

/* The fastest of some configurations that compute what the given one does: a naive kernel's first may be ten times slower than
 * its best. ns: of the given one. */
static void choose_faster(const struct choosing *c, const struct context *lifted, uint64_t ns, const struct hash *hashes,
			  const struct plan *plain, struct params **io_params)
{
	struct other others[SAMPLES];
	size_t count = sample_others(c, lifted, others);
	for (size_t i = 0; i < count; i++) {
		struct resident_run r = { lifted, others[i].params, WIRE_TRUTH_BOUND, false, false, 0 };
		struct err ignored = ERR_INIT;
		if (i < FASTER && run_resident(c, &r, hashes, plain, &ignored) == 0 && r.exact && r.ns < ns) {
			params_free(*io_params);
			*io_params = params_copy(others[i].params);
			ns = r.ns;
		}
		params_free(others[i].params);
	}
}

/* The declared matrix product in tiles, where it computes what the lifted code does. */
static bool choose_product(const struct choosing *c, uint64_t ns, const struct hash *hashes, const struct context *plain,
			   const struct plan *plan, struct context **io_lifted)
{
	struct context *product = NULL, *lifted = NULL;
	struct err ignored = ERR_INIT;
	int rc = product_context(plain, plan, &product, &ignored);
	if (rc == 0 && lift_context(product, true, &lifted, &ignored) < 0)
		rc = lift_context(product, false, &lifted, &ignored);
	struct resident_run r = { lifted, c->params, WIRE_TRUTH_BOUND, false, false, 0 };
	bool chosen = rc == 0 && run_resident(c, &r, hashes, plan, &ignored) == 0 && r.exact && r.ns < ns;
	context_free(product);
	context_free(chosen ? *io_lifted : lifted);
	if (chosen)
		*io_lifted = lifted;
	return chosen;
}

/* *io_lifted, *io_params: what the truth is, and what it runs with. */
static int compare_resident(const struct choosing *c, const struct context *plain, const struct plan *plan,
			    struct context **io_lifted, struct params **io_params, enum truth_arithmetic *ret_arithmetic,
			    struct err *e)
{
	const struct context *lifted = *io_lifted;
	struct hash *hashes = MEM_NEW_N(struct hash, plan->buffer_count + 1);
	uint8_t name[16];
	for (size_t i = 0; i < plan->buffer_count; i++) {
		hash_random(name, sizeof name);
		hashes[i] = hash_bytes(name, sizeof name);
	}
	struct resident_run in_double = { lifted, c->params, WIRE_TRUTH_KEEP, false, false, 0 };
	struct resident_run in_float = { plain, c->params, WIRE_TRUTH_BOUND, false, false, 0 };
	int rc = run_resident(c, &in_double, hashes, plan, e);
	if (rc == 0)
		rc = run_resident(c, &in_float, hashes, plan, e);
	*ret_arithmetic = in_float.doubles ? TRUTH_DOUBLES : TRUTH_FLOATS;
	if (rc == 0 && in_double.ns > SLOW_NS && !choose_product(c, in_double.ns, hashes, plain, plan, io_lifted))
		choose_faster(c, lifted, in_double.ns, hashes, plan, io_params);
	for (size_t i = 0; i < plan->buffer_count; i++) {
		struct wire_truth drop = { .step = WIRE_TRUTH_DROP };
		struct wire_truth_found found;
		struct err ignored = ERR_INIT; /* it may not have been kept */
		memcpy(drop.hash, hashes[i].hex, sizeof drop.hash);
		resident_truth(c->process, &drop, &found, &ignored);
	}
	free(hashes);
	return rc;
}

/* Takes the lifted context, which is the truth when rc is 0. */
static int finish_lift(const struct params *params, int rc, struct context *take_lifted, struct truth *t)
{
	if (rc < 0) {
		context_free(take_lifted);
		return rc;
	}
	t->ctx = take_lifted;
	t->params = params_copy(params);
	return 0;
}

/* 0: *t is lifted, and right. */
static int lift(const struct choosing *c, const struct context *plain, bool narrow, struct truth *t, struct err *e)
{
	struct context *lifted = NULL;
	struct params *params = NULL;
	struct outputs in_double = { 0 }, in_float = { 0 };
	struct plan *plan = NULL;
	int rc = lift_context(plain, narrow, &lifted, e);
	if (rc < 0)
		return rc;
	rc = host_run(plain, c->params, c->j->facts, &plan, e);
	if (rc == 0 && resident_suits(c->j->facts, plan)) {
		params = params_copy(c->params);
		rc = compare_resident(c, plain, plan, &lifted, &params, &t->arithmetic, e);
		plan_free(plan);
		rc = finish_lift(params, rc, lifted, t);
		params_free(params);
		return rc;
	}
	plan_free(plan);
	if (rc == 0)
		rc = run(c, lifted, c->params, &in_double, e);
	if (rc == 0)
		params = params_copy(c->params);
	else if (rc == -ERR_PRUNED)
		rc = run_otherwise(c, lifted, &params, &in_double, e);
	if (rc == 0)
		rc = run(c, plain, c->params, &in_float, e);
	if (rc == 0)
		rc = compare(&in_double, &in_float, e);
	if (rc == 0)
		t->arithmetic = arithmetic_of(&in_double, &in_float);
	rc = finish_lift(params, rc, lifted, t);
	params_free(params);
	outputs_fini(&in_double);
	outputs_fini(&in_float);
	return rc;
}

/* In one line; of a compiler's errors the first, below "kernel K:". */
static char *reason(const struct err *why)
{
	const char *line = strchr(why->text, '\n');
	if (why->code != ERR_COMPILE)
		return mem_str(why->text);
	line = strncmp(why->text, "kernel ", strlen("kernel ")) == 0 && line ? line + 1 : why->text;
	return mem_fmt("in double it does not compile: %.*s", (int)strcspn(line, "\n"), line);
}

static struct outputs outputs_of(const struct oracle_answer *a, const struct plan *plan, bool plain)
{
	struct outputs out = { 0 };
	for (size_t i = 0, k = 0; i < plan->buffer_count; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		if (!plan_is_output(b))
			continue;
		const struct oracle_output *o = &a->outputs[k++];
		struct output made = { .name = mem_str(b->name), .type = b->type, .n = o->elements };
		made.v = MEM_NEW_N(double, made.n + 1);
		dtype_load_all(plain ? o->declared : o->type, plain ? o->plain : o->bytes, made.v, made.n);
		*MEM_PUSH(out.at, out.count) = made;
	}
	return out;
}

/* In double where the code runs so and gives nothing else; a code that runs only in double is taken so. */
static int choose_oracle(const struct choosing *c, struct truth *t, struct err *e)
{
	struct trial_input declared = { .seed = 1 };
	struct oracle_question q = { .ctx = c->j->baseline,
				     .params = c->params,
				     .input = &declared,
				     .in_double = true,
				     .plain = true,
				     .cancel = c->j->ev->cancel };
	struct oracle *oracle = references_oracle(c->j->ev->references);
	struct oracle_answer answer = { .count = 0 };
	struct plan *plan = NULL;
	struct err why = ERR_INIT;
	int rc = host_run(c->j->baseline, c->params, c->j->facts, &plan, e);
	if (rc < 0)
		return rc;
	q.plan = plan;
	rc = oracle_ask(oracle, &q, &answer, &why);
	if (rc < 0 && why.code == ERR_INTERNAL) {
		q.in_double = q.plain = false;
		rc = oracle_ask(oracle, &q, &answer, e);
	} else if (rc < 0) {
		*e = why;
	} else if (answer.count && answer.outputs[0].plain) {
		struct outputs in_double = outputs_of(&answer, plan, false), plain = outputs_of(&answer, plan, true);
		compare(&in_double, &plain, &why);
		outputs_fini(&in_double);
		outputs_fini(&plain);
	}
	if (rc == 0)
		*t = (struct truth){ .kind = why.code == ERR_NONE ? TRUTH_ORACLE_DOUBLE : TRUTH_ORACLE,
				     .ctx = context_ref(c->j->baseline),
				     .params = params_copy(c->params),
				     .why = why.code == ERR_NONE ? NULL : mem_str(why.text),
				     .on_gpu = answer.on_gpu };
	oracle_answer_fini(&answer);
	plan_free(plan);
	return rc;
}

/* 1: for lack of something that the device may have again, so it is not to be remembered. */
static int choose(const struct choosing *c, struct truth *t, struct err *e)
{
	if (context_oracle(c->j->baseline))
		return choose_oracle(c, t, e);
	struct context *block = NULL;
	const struct context *plain = c->j->baseline;
	struct err why = ERR_INIT;
	bool has_block = context_reference(plain) != NULL;
	if (has_block) {
		int rc = context_as_reference(plain, &block, e);
		if (rc < 0)
			return rc;
		plain = block;
	}
	int rc = lift(c, plain, true, t, &why);
	if (rc < 0 && rc != -ERR_CANCELLED) {
		why = (struct err)ERR_INIT;
		rc = lift(c, plain, false, t, &why);
	}
	t->kind = has_block ? TRUTH_BLOCK_LIFTED : TRUTH_BASELINE_LIFTED;
	if (rc < 0) {
		t->kind = has_block ? TRUTH_BLOCK : TRUTH_BASELINE;
		t->ctx = context_ref(plain);
		t->params = params_copy(c->params);
		t->why = reason(&why);
	}
	context_free(block);
	if (rc == -ERR_CANCELLED) {
		truth_fini(t);
		*e = why;
		return rc;
	}
	return rc < 0 && err_is_passing(why.code);
}

/* Nothing but rounding hangs on it: where the truth does not run so, all inputs are operands. */
static void find_operands(const struct choosing *c, struct truth *t)
{
	const struct spec *spec = context_spec(c->j->baseline);
	struct err e = ERR_INIT;
	struct variant v;
	struct trial trial;
	if (truth_is_oracle(t) || spec_roundoff_inputs(spec, 0) <= 0 ||
	    variant_build(c->j->ev, t->ctx, t->params, c->j->facts, &v, &e) < 0)
		return;
	if (trial_begin(&trial, c->process, &v, &e) == 0) {
		operands_none(&trial, spec, &t->no_operands, &e); /* on failure it says none */
		trial_end(&trial);
	}
	variant_fini(&v);
}

int truth_choose(struct truth_memory *memory, const struct reference_source *j, struct pool_worker *process,
		 const struct params *params, struct truth *ret_truth, struct err *e)
{
	struct choosing c = { j, process, params };
	struct truth t = { 0 };
	char *text = params_text(params), *key = mem_fmt("%s %s %s", context_hash(j->baseline)->hex, j->facts->id, text);
	int rc = recall(memory, key, &t) ? 1 : choose(&c, &t, e);
	if (rc == 0) {
		find_operands(&c, &t);
		remember(memory, key, &t);
	}
	if (rc >= 0) {
		*ret_truth = t;
		rc = 0;
	}
	free(text);
	free(key);
	return rc;
}
