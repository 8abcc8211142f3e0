/* work_pytorch: the job behind `compare A pytorch`: a checkpoint with a Python reference beside PyTorch running that reference, in
 * the ways that PyTorch has (eager, compile, max-autotune), and the speed of light. Kernel and PyTorch take turns in blocks, in two
 * processes under one lease of the device. Each way becomes a comparison row with PyTorch as the library. See work.h. */
#include "core/jobs/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/judge/oracle.h"
#include "core/measure/ceiling.h"
#include "core/measure/compare.h"

enum { BLOCK = 5, BLOCKS_MIN = 4, BLOCKS_MAX = 16, TRIES = 4, FLUSH_MIN = 64 << 20 };
#define FORGET_NS                                                                                                                  \
	(300 * CLOCK_MS)     /* after it, a driver's figures of other processes say nothing about PyTorch's last block any more */
#define WAY_NS (2 * CLOCK_S) /* of samples of one way, once there are BLOCKS_MIN blocks of either side */

struct request {
	struct work_subject subject;
	char *sizes; /* execution parameters, with ';' between; where tuning parameters are missing the best are taken; NULL: every
			declared size */
};

static const struct layout_field request_fields[] = {
	{ LAYOUT_AT(struct request, subject, PART), .of = &work_subject_layout },
	{ LAYOUT_AT(struct request, sizes, TEXT) },
	{ .name = NULL },
};
static const struct layout request_layout = { "pytorch request", sizeof(struct request), request_fields };

struct way {
	char *way, *verdict; /* of PyTorch relative to the kernel */
	double ns, ours_ns;
	double ratio, low, high; /* PyTorch's time / ours, and its interval: above 1 the kernel is faster */
	char *why;               /* there is no figure; NULL: there is */
};

static const struct layout_field way_fields[] = {
	{ LAYOUT_AT(struct way, way, TEXT), .say = "; %" },
	{ LAYOUT_AT(struct way, why, TEXT), .say = ": %" },
	{ LAYOUT_AT(struct way, ns, REAL), .unit = "ns", .say = " %" },
	{ LAYOUT_AT(struct way, ratio, REAL), .unit = "ratio", .say = ", the kernel is % times as fast" },
	{ LAYOUT_AT(struct way, low, REAL), .unit = "ratio", .say = " (% to" },
	{ LAYOUT_AT(struct way, high, REAL), .unit = "ratio", .say = " %)" },
	{ LAYOUT_AT(struct way, verdict, TEXT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct way, ours_ns, REAL), .unit = "ns", .flags = LAYOUT_DETAIL },
	{ .name = NULL },
};
static const struct layout way_layout = { "way", sizeof(struct way), way_fields };

struct size {
	char *size, *params;
	double median_ns;
	double light_ns; /* the speed of light: bytes and operations at the ceilings that were measured */
	double flops, bytes;
	char *pipe; /* whose ceiling bounds the operations */
	char *by;   /* what ran the reference, and where */
	char *why;  /* PyTorch was not timed; NULL: it was */
	struct way *ways;
	size_t way_count;
	int64_t evidence;
};

static const struct layout_field size_fields[] = {
	{ LAYOUT_AT(struct size, size, TEXT), .say = "%: " },
	{ LAYOUT_AT(struct size, median_ns, REAL), .unit = "ns", .say = "%" },
	{ LAYOUT_AT(struct size, light_ns, REAL), .unit = "ns", .say = ", speed of light %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, by, TEXT), .say = "; %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, why, TEXT), .say = "; %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_MANY(struct size, ways, way_count, LIST), .of = &way_layout, .say = "", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, flops, REAL), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, bytes, REAL), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, pipe, TEXT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, params, TEXT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, evidence, ID), .say = "; evidence %", .flags = LAYOUT_DETAIL },
	{ .name = NULL },
};
static const struct layout size_layout = { "size beside PyTorch", sizeof(struct size), size_fields };

struct result {
	int64_t a;
	char *device; /* its name */
	struct size *sizes;
	size_t count;
};

static const struct layout_field result_fields[] = {
	{ LAYOUT_AT(struct result, a, ID), .say = "checkpoint % beside PyTorch", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, device, TEXT), .say = " on %\n", .flags = LAYOUT_DETAIL },
	{ LAYOUT_MANY(struct result, sizes, count, LIST), .of = &size_layout },
	{ LAYOUT_AT(struct result, count, ID), .flags = LAYOUT_DETAIL | LAYOUT_WRITTEN },
	{ .name = NULL },
};
static const struct layout result_layout = { "pytorch result", sizeof(struct result), result_fields };

/* --- the speed of light ----------------------------------------------------------------------------------------------------- */

/* Inputs in half precision may go through tensor cores, whatever the kernel does. */
static const char *pipe_of(const struct spec *spec, const struct ceilings *list)
{
	static const char *const pipes[] = { [DTYPE_F16] = "tensor.f16", [DTYPE_BF16] = "tensor.bf16", [DTYPE_F64] = "f64" };
	const char *pipe = "f32";
	for (size_t i = 0; i < spec->array_count; i++) {
		enum dtype type = spec->arrays[i].type;
		if (spec->arrays[i].role == PLAN_IN && (size_t)type < MEM_COUNT(pipes) && pipes[type] &&
		    isfinite(ceiling_of(list, pipes[type])))
			pipe = pipes[type];
	}
	return pipe;
}

/* Every byte once and every operation, at the ceilings measured on this device. */
static void measure_light(const struct spec *spec, const struct params *params, const struct ceilings *list, struct size *s)
{
	const char *pipe = pipe_of(spec, list);
	double compute = spec_flops(spec, params) / ceiling_of(list, pipe),
	       memory = spec_bytes(spec, params) / ceiling_of(list, "copy");
	s->flops = spec_flops(spec, params);
	s->bytes = spec_bytes(spec, params);
	s->pipe = mem_str(pipe);
	s->light_ns = fmax(compute, memory) * 1e9; /* fmax passes over the one that is not known */
}

/* --- in turns --------------------------------------------------------------------------------------------------------------- */

struct turns {
	struct trial *t;
	struct trial_timing timing;
	struct oracle_timer *timer;
	double a[BLOCKS_MAX * BLOCK], b[BLOCKS_MAX * BLOCK]; /* ours, PyTorch's */
	struct trial_paired paired;                          /* a and b as a comparison */
};

static int time_ours(struct turns *x, double *ns, struct err *e)
{
	struct trial_times times = { .disturbed = true };
	int rc = 0;
	for (int i = 0; i < TRIES && rc == 0 && times.disturbed; i++) {
		if (i)
			clock_sleep(FORGET_NS);
		trial_times_fini(&times);
		rc = trial_measure(x->t, &x->timing, &times, e);
	}
	if (rc < 0)
		return rc;
	if (times.disturbed)
		rc = err_set(e, ERR_UNSUPPORTED, "the device was throttled or used by others (%s): compare again", times.cause);
	/* A slow kernel gives fewer samples than were asked for. */
	for (size_t i = 0; i < BLOCK && rc == 0; i++)
		ns[i] = times.samples[i % times.count];
	trial_times_fini(&times);
	return rc;
}

/* The ratio is the geometric mean over blocks, its interval Student's t, as for weighed energies. */
static void conclude(struct turns *x, size_t blocks)
{
	double logs[BLOCKS_MAX];
	double ratio, low, high;
	for (size_t i = 0; i < blocks; i++)
		logs[i] = log(trial_median(x->b + i * BLOCK, BLOCK) / trial_median(x->a + i * BLOCK, BLOCK));
	compare_interval(logs, blocks, &ratio, &low, &high);
	x->paired = (struct trial_paired){ .a = x->a,
					   .b = x->b,
					   .count = blocks * BLOCK,
					   .a_ns = trial_median(x->a, blocks * BLOCK),
					   .b_ns = trial_median(x->b, blocks * BLOCK),
					   .ratio = ratio,
					   .low = low,
					   .high = high,
					   .margin = COMPARE_MARGIN };
	x->paired.verdict = high < 1 - COMPARE_MARGIN                               ? WIRE_FASTER
			    : low > 1 + COMPARE_MARGIN                              ? WIRE_SLOWER
			    : low > 1 - COMPARE_MARGIN && high < 1 + COMPARE_MARGIN ? WIRE_SAME
										    : WIRE_UNCLEAR;
}

static int take_turns(struct turns *x, unsigned way, struct err *e)
{
	int64_t end = clock_now() + WAY_NS;
	size_t n = 0;
	int rc = 0;
	for (; rc == 0 && n < BLOCKS_MAX && (n < BLOCKS_MIN || clock_now() < end); n++) {
		rc = time_ours(x, x->a + n * BLOCK, e);
		if (rc == 0)
			rc = oracle_timer_block(x->timer, way, BLOCK, x->b + n * BLOCK, e);
	}
	if (rc == 0)
		conclude(x, n);
	return rc;
}

/* --- one size --------------------------------------------------------------------------------------------------------------- */

struct beside {
	struct engine_job *job;
	struct eval ev;
	const struct lineage *l;
	const struct facts *facts;
	struct ceilings ceilings;
};

/* Where PyTorch is to run: beside a kernel on the CPU there, too. free() */
static char *torch_device(const struct facts *facts)
{
	return facts->shares_cpu ? mem_str("cpu") : mem_fmt("cuda:%u", facts->index);
}

static int time_ways(struct beside *b, struct turns *x, const struct compare_side *ours, struct size *s, struct err *e)
{
	struct evidence to = { .db = b->job->db, .checkpoint = b->l->id, .facts = b->facts, .job = b->job->id };
	int rc = 0;
	for (unsigned k = 0; rc == 0 && k < ORACLE_WAYS; k++) {
		struct way *w = MEM_PUSH(s->ways, s->way_count);
		layout_init(&way_layout, w);
		w->way = mem_str(oracle_ways[k]);
		w->why = mem_str(oracle_timer_why(x->timer, k));
		if (w->why)
			continue;
		eval_progress(&b->ev, k, ORACLE_WAYS, "%s: timing in turns with PyTorch, %s", s->size, oracle_ways[k]);
		struct err trouble = ERR_INIT;
		if (take_turns(x, k, &trouble) < 0) {
			w->why = mem_str(trouble.text);
			rc = err_if_cancelled(&trouble, e);
			continue;
		}
		const struct trial_paired *p = &x->paired;
		w->ns = p->b_ns;
		w->ours_ns = s->median_ns = p->a_ns;
		w->ratio = p->ratio;
		w->low = p->low;
		w->high = p->high;
		w->verdict = mem_str(trial_verdict_name(p->verdict));
		char *name = mem_fmt("PyTorch, %s: %s", oracle_ways[k], s->by);
		rc = compare_record(&to, &(struct compare_pair){ .a = ours, .library = name }, p, NULL, e);
		free(name);
	}
	return rc;
}

/* Without PyTorch only our time is taken. */
static int time_all(struct beside *b, struct trial *t, const struct params *params, uint64_t seed, int64_t evidence, struct size *s,
		    struct err *e)
{
	uint64_t seeds[TRIAL_SEEDS];
	struct trial_input input = { .seed = seed };
	struct oracle_question q = {
		.ctx = b->l->root, .plan = t->variant->plan, .params = params, .input = &input, .cancel = b->ev.cancel
	};
	struct compare_side ours = { .checkpoint = b->l->id, .params = params, .evidence = evidence };
	struct turns x = { .t = t,
			   .timing = { .min_samples = BLOCK,
				       .max_samples = BLOCK,
				       .cap_ns = 10 * CLOCK_S,
				       .warm_up_ns = 20 * CLOCK_MS,
				       .seeds = seeds } };
	struct err why = ERR_INIT;
	char *device = torch_device(b->facts);
	size_t flush = 2 * b->facts->l2_bytes > FLUSH_MIN ? 2 * b->facts->l2_bytes : FLUSH_MIN;
	check_seeds(seed, seeds);
	eval_progress(&b->ev, 0, 0, "%s: PyTorch gets ready", s->size);
	int rc = oracle_timer_begin(&q, device, flush, &x.timer, &why);
	if (rc == 0) {
		s->by = mem_str(oracle_timer_by(x.timer));
		rc = time_ways(b, &x, &ours, s, e);
	} else if ((rc = err_if_cancelled(&why, e)) == 0) {
		s->why = mem_str(why.text);
	}
	if (rc == 0 && !isfinite(s->median_ns)) {
		rc = time_ours(&x, x.a, e);
		s->median_ns = rc == 0 ? trial_median(x.a, BLOCK) : NAN;
	}
	oracle_timer_end(x.timer);
	free(device);
	return rc;
}

/* Checked before it is timed, and after. The rows of a comparison point at the first check. */
static int check_and_time(struct beside *b, struct trial *t, const struct params *params, struct size *s, struct err *e)
{
	struct reference_source reference = { .ev = &b->ev, .baseline = b->l->root, .facts = b->facts };
	struct evidence to = { .db = b->job->db, .checkpoint = b->l->id, .facts = b->facts, .job = b->job->id };
	struct check c = { .passed = false };
	uint64_t seed = check_seed();
	int rc = check_run(&reference, t, seed, &c, e);
	if (rc == 0)
		rc = check_record(&to, params, "input", seed, &c, &s->evidence, e);
	if (rc == 0 && c.passed)
		rc = time_all(b, t, params, seed, s->evidence, s, e);
	if (rc == 0 && c.passed && (rc = check_after(&reference, t, seed, &c, e)) == 0 && !c.passed)
		rc = check_record(&to, params, "input", seed, &c, NULL, e);
	if (rc == 0 && !c.passed)
		rc = check_refuse(&c, "its outputs are wrong, so its speed is not quoted", e);
	check_fini(&c);
	return rc;
}

static int run_size(struct beside *b, const struct params *params, struct size *s, struct err *e)
{
	struct params *inputs = params_part(params, false);
	struct variant v = { .params = NULL };
	struct pool_worker *device = NULL;
	struct trial t;
	layout_init(&size_layout, s);
	s->size = params_text(inputs);
	s->params = params_text(params);
	measure_light(context_spec(b->l->root), params, &b->ceilings, s);
	int rc = variant_build(&b->ev, b->l->ctx, params, b->facts, &v, e);
	if (rc == 0)
		rc = eval_take_device(&b->ev, b->facts, NULL, &device, e);
	if (rc == 0 && (rc = trial_begin(&t, device, &v, e)) == 0) {
		rc = check_and_time(b, &t, params, s, e);
		trial_end(&t);
	}
	pool_give(device);
	variant_fini(&v);
	params_free(inputs);
	return rc < 0 ? err_wrap(e, "%s", s->size) : 0;
}

/* --- the job ---------------------------------------------------------------------------------------------------------------- */

/* "n=64 BX=32" as it is; "n=64" with the best that is known here. */
static int best_of(struct beside *b, const char *text, struct params **ret_params, struct err *e)
{
	struct params *size = NULL;
	struct err partial = ERR_INIT;
	if (params_parse(b->l->ctx, text, true, ret_params, &partial) == 0)
		return 0;
	int rc = params_parse(b->l->ctx, text, false, &size, e);
	if (rc == 0)
		rc = work_best(b->job->db, b->l, b->facts, size, false, ret_params, e);
	params_free(size);
	return rc;
}

static int list_sizes(struct beside *b, const char *text, struct work_sizes *ret_sizes, struct err *e)
{
	struct work_sizes named = { .count = 0 }, declared = { .count = 0 };
	int rc = text && *text ? 0 : work_sizes_list(NULL, b->l->ctx, b->facts, &declared, e);
	for (size_t i = 0; rc == 0 && i < declared.count; i++)
		rc = work_best(b->job->db, b->l, b->facts, declared.at[i], false, MEM_PUSH(named.at, named.count), e);
	for (const char *at = text; rc == 0 && at && *at; at += strcspn(at, ";"), at += *at == ';') {
		char *one = mem_strn(at, strcspn(at, ";"));
		rc = best_of(b, one, MEM_PUSH(named.at, named.count), e);
		free(one);
	}
	work_sizes_fini(&declared);
	if (rc < 0 && named.count)
		named.count--; /* the last one was not found */
	if (rc < 0)
		work_sizes_fini(&named);
	else
		*ret_sizes = named;
	return rc;
}

static int run(struct engine_job *job, const void *request, void *ret_result, struct err *e)
{
	const struct request *q = request;
	struct result *result = ret_result;
	struct lineage l;
	struct facts facts;
	struct work_sizes sizes = { .count = 0 };
	struct beside b = { .job = job, .ev = work_eval(job), .l = &l, .facts = &facts };
	int rc = lineage_load(job->db, q->subject.checkpoint, &l, e);
	if (rc < 0)
		return rc;
	if (context_oracle(l.root) == NULL)
		rc = err_set(e, ERR_INPUT, "b: the baseline of checkpoint %lld has no Python reference that PyTorch could run",
			     (long long)l.id);
	if (rc == 0)
		rc = work_device(job->user, q->subject.device, context_backend(l.ctx), &facts, e);
	if (rc == 0 && !facts.runs)
		rc = err_set(e, ERR_UNSUPPORTED, "%s only compiles: nothing can be timed on it", facts.id);
	if (rc == 0)
		rc = list_sizes(&b, q->sizes, &sizes, e);
	if (rc == 0)
		rc = ceiling_list(&b.ev, &facts, job->db, &b.ceilings, e);
	result->a = l.id;
	result->device = rc == 0 ? mem_str(facts.name) : NULL;
	for (size_t i = 0; rc == 0 && i < sizes.count; i++)
		rc = run_size(&b, sizes.at[i], MEM_PUSH(result->sizes, result->count), e);
	free(b.ceilings.at);
	work_sizes_fini(&sizes);
	lineage_fini(&l);
	return rc;
}

const struct engine_kind work_pytorch = { "pytorch", &request_layout, &result_layout, run };
