/* validate: sampled execution parameters against the reference; see validate.h. */
#include "core/judge/validate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "core/context/domain.h"
#include "core/context/host.h"
#include "core/context/space.h"
#include "core/judge/external.h"
#include "core/judge/suite.h"
#include "core/record/store.h"
#include "core/workers/lanes.h"

enum {
	OVERSAMPLE = 8,    /* points drawn per point wanted, since host code prunes some */
	CHECK_CONFIGS = 2, /* tuning configurations per check: size */
	MEMORY_SHARE = 16, /* part of the device's memory that a plan may need for references to be computed beside it */
};

/* --- which configurations --------------------------------------------------------------------------------------------------- */

/* One configuration on its way: drawn, compiled, judged. */
struct sample {
	struct validate_finding finding;
	struct variant variant;
	struct err why;      /* of the compile; ERR_NONE when it worked */
	uint64_t other_seed; /* of the values; finding.seed is the first */
	bool first;          /* of its size: the user's validators look at it */
	bool full;           /* gets the full suite: the first of a deep size */
};

struct samples {
	struct sample *at;
	size_t count;
	size_t pruned;
	struct err pruned_why; /* the first pruning; ERR_NONE */
};

/* What all samples of one size have in common. */
struct size_samples {
	uint64_t seed, other_seed;
	bool checked_size; /* of a check: size */
	bool deep;         /* its first sample gets the full suite */
};

static uint64_t size_seed(uint64_t secret, const char *size, char which)
{
	uint64_t seed;
	char *text = mem_fmt("%llx %s %c", (unsigned long long)secret, size, which);
	struct hash hash = hash_text(text);
	free(text);
	sscanf(hash.hex, "%16" SCNx64, &seed);
	return seed;
}

static bool is_deep(const struct validate_request *q, const struct params *size)
{
	bool deep = q->deep_count == 0;
	for (size_t i = 0; i < q->deep_count && !deep; i++) {
		struct params *inputs = params_part(q->deep[i], false);
		deep = params_equal(inputs, size);
		params_free(inputs);
	}
	return deep;
}

/* All samples of a size share their secret values, so that its references are computed once. */
static struct size_samples of_size(const struct validate_request *q, const struct space *space, size_t size, bool checked_size)
{
	struct size_samples all = { .checked_size = checked_size };
	struct params *at = space_size_at(space, size), *inputs = params_part(at, false);
	char *text = params_text(inputs);
	all.seed = q->secret ? size_seed(q->secret, text, 'a') : check_seed();
	all.other_seed = q->secret ? size_seed(q->secret, text, 'b') : check_seed();
	all.deep = checked_size || is_deep(q, inputs);
	free(text);
	params_free(inputs);
	params_free(at);
	return all;
}

static size_t common_divisor(size_t a, size_t b)
{
	return b ? common_divisor(b, a % b) : a;
}

/* Up to `want` points of a size that host code accepts; mistakes in host code count as points, since they are findings. */
static void sample_size(const struct validate_request *q, const struct space *space, size_t size, size_t want, uint64_t seed,
			bool checked_size, struct samples *p)
{
	struct size_samples all = of_size(q, space, size, checked_size);
	size_t first, count, got = 0;
	space_size_range(space, size, &first, &count);
	size_t tries = want * OVERSAMPLE < count ? want * OVERSAMPLE : count;
	/* A walk that visits every point of the size once: a seeded start, and a stride that is coprime to their number. */
	size_t at = count ? (size_t)(seed % count) : 0, stride = count > 2 ? (size_t)((seed >> 20) % (count - 1)) + 1 : 1;
	while (count > 1 && common_divisor(stride, count) != 1)
		stride = stride % count + 1;
	for (size_t i = 0; i < tries && got < want; i++, at = (at + stride) % count) {
		struct params *params = space_at(space, first + at);
		struct plan *plan = NULL;
		struct err why = ERR_INIT;
		int rc = host_run(q->ctx, params, q->facts, &plan, &why);
		plan_free(plan);
		if (rc < 0 && why.code == ERR_PRUNED) {
			if (p->pruned++ == 0)
				p->pruned_why = why;
			params_free(params);
			continue;
		}
		*MEM_PUSH(p->at, p->count) = (struct sample){
			.finding = { .params = params, .checked_size = all.checked_size, .seed = all.seed },
			.other_seed = all.other_seed,
			.first = got == 0,
			.full = got == 0 && all.deep,
		};
		got++;
	}
}

static int draw_samples(const struct validate_request *q, struct samples *p, struct err *e)
{
	struct space *space = NULL;
	int rc = space_new(q->ctx, q->facts, q->only, &space, e);
	if (rc < 0)
		return rc;
	size_t sizes = space_size_count(space), each = sizes ? (q->samples + sizes - 1) / sizes : 0;
	/* With more sizes than samples: as many sizes as samples, evenly apart. */
	size_t step = q->samples && sizes > q->samples ? sizes / q->samples : 1;
	for (size_t s = step > 1 ? q->seed % step : 0; s < sizes; s += step)
		sample_size(q, space, s, each, q->seed + s * 7919, false, p);
	space_free(space);
	rc = space_new_check(q->ctx, q->facts, q->only, &space, e);
	if (rc < 0)
		return rc;
	for (size_t s = 0; s < space_size_count(space); s++)
		sample_size(q, space, s, q->samples > 4 ? CHECK_CONFIGS : 1, q->seed + s * 104729, true, p);
	space_free(space);
	return 0;
}

static void samples_fini(struct samples *p)
{
	for (size_t i = 0; i < p->count; i++) {
		validate_finding_fini(&p->at[i].finding);
		variant_fini(&p->at[i].variant);
	}
	free(p->at);
	*p = (struct samples){ 0 };
}

/* --- judging ------------------------------------------------------------------------------------------------------------------ */

struct build {
	const struct eval *ev;
	const struct validate_request *q;
	struct samples *samples;
};

/* Every sample; then, while the device is busy with those, what the last check of full suites needs. */
static void build_one(void *arg, size_t i)
{
	struct build *b = arg;
	struct sample *x = &b->samples->at[i % b->samples->count];
	if (i < b->samples->count) {
		x->why = (struct err)ERR_INIT;
		variant_build(b->ev, b->q->ctx, x->finding.params, b->q->facts, &x->variant, &x->why);
	} else if (x->full) {
		suite_compile_ahead(b->ev, b->q->ctx, x->finding.params, b->q->facts);
	}
}

/* Waits until every sample is compiled; where the compiler refused, the check is filled in. */
static int finish_builds(const struct eval *ev, struct lanes *lanes, struct samples *p, struct err *e)
{
	lanes_wait(lanes, p->count);
	for (size_t i = 0; i < p->count; i++) {
		struct sample *x = &p->at[i];
		if (x->why.code == ERR_CANCELLED || x->why.code == ERR_UNSUPPORTED || x->why.code == ERR_INTERNAL) {
			*e = x->why;
			return -(int)e->code;
		}
		if (x->why.code != ERR_NONE)
			check_failed(&x->finding.check, &x->why);
	}
	return cancel_check(ev->cancel, e);
}

static struct suite_request suite_of(const struct validate_request *q, const struct sample *x)
{
	return (struct suite_request){ .ctx = q->ctx, .seed = x->finding.seed, .other_seed = x->other_seed, .full = x->full };
}

/* -ERR_CANCELLED and a baseline that cannot judge end the validation; anything else is the configuration's own failure. Where a
 * worker was killed from outside, a fresh one judges again. */
static int judge_one(const struct reference_source *j, const struct validate_request *q, struct pool_worker *device,
		     struct sample *x, struct err *e)
{
	struct suite_request suite = suite_of(q, x);
	struct check *check = &x->finding.check;
	struct err why = ERR_INIT;
	struct buf again = BUF_INIT;
	unsigned tries = 0;
	int rc = suite_run(j, device, &x->variant, &suite, check, &why);
	while (rc == 0 ? eval_retries(j->ev, check->code, check->reason, &tries)
		       : eval_retries(j->ev, why.code, why.text, &tries)) {
		buf_addf(&again, "judged again: %s\n", rc == 0 ? check->reason : why.text);
		if (rc == 0)
			check_fini(check);
		why = (struct err)ERR_INIT;
		rc = suite_run(j, device, &x->variant, &suite, check, &why);
	}
	if (rc == 0 && again.len && check->log) {
		buf_adds(&again, check->log);
		free(check->log);
		check->log = buf_steal(&again);
	}
	buf_fini(&again);
	if (rc == 0)
		return 0;
	if (why.code != ERR_PRUNED) {
		*e = why;
		return rc;
	}
	/* The baseline does not accept this size: there is nothing to compare with. */
	why.code = ERR_UNSUPPORTED;
	check_failed(check, &why);
	return 0;
}

static uint64_t plan_bytes(const struct plan *plan, bool outputs)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < plan->buffer_count; i++)
		bytes += !outputs || plan->buffers[i].role == PLAN_OUT || plan->buffers[i].role == PLAN_INOUT
				 ? plan->buffers[i].bytes
				 : 0;
	return bytes;
}

/* The references of all suites, and what comes later. NULL where candidate and baseline would get into each other's way: on a
 * device that shares the CPU with both, or in its memory. */
static struct reference_ahead *look_ahead(const struct reference_source *j, const struct validate_request *q,
					  const struct samples *p, struct pool_worker *device)
{
	struct reference_ahead *a = reference_ahead_new(j, device);
	uint64_t most = 0, largest = 0;
	for (size_t i = 0; i < p->count; i++) {
		const struct sample *x = &p->at[i];
		if (x->why.code != ERR_NONE)
			continue;
		struct suite_request suite = suite_of(q, x);
		uint64_t bytes = plan_bytes(x->variant.plan, true), all = plan_bytes(x->variant.plan, false);
		most = bytes > most ? bytes : most;
		largest = all > largest ? all : largest;
		if (x->first)
			suite_ahead(&suite, x->finding.params, bytes, a);
	}
	for (size_t i = 0; i < q->later_count; i++)
		reference_ahead_add(a, &q->later[i], most);
	if (q->facts->shares_cpu || largest > q->facts->memory_bytes / MEMORY_SHARE) {
		reference_ahead_free(a);
		return NULL;
	}
	reference_ahead_start(a);
	return a;
}

static int judge_all(const struct eval *ev, const struct validate_request *q, struct samples *p, struct err *e)
{
	struct reference_source judge = { .ev = ev, .baseline = q->baseline, .facts = q->facts };
	struct pool_worker *device = NULL;
	struct reference_ahead *ahead = NULL;
	int rc = eval_take_device(ev, q->facts, NULL, &device, e);
	if (rc == 0)
		ahead = look_ahead(&judge, q, p, device);
	for (size_t i = 0; rc == 0 && i < p->count; i++) {
		if (p->at[i].why.code == ERR_NONE)
			rc = judge_one(&judge, q, device, &p->at[i], e);
		if (rc == 0)
			eval_progress(ev, (double)(i + 1), (double)p->count, "validate %zu/%zu", i + 1, p->count);
	}
	reference_ahead_free(ahead);
	pool_give(device);
	return rc;
}

static void take_answer(struct samples *p, const struct validate_finding *about, struct external_answer *a)
{
	struct validate_finding f = { .params = params_copy(about->params),
				      .checked_size = about->checked_size,
				      .seed = about->seed,
				      .validator = a->name,
				      .details = a->details };
	struct err why = ERR_INIT;
	if (a->verdict == VALIDATION_PASSED || (a->verdict == VALIDATION_SKIPPED && !a->broken)) {
		f.check = (struct check){ .passed = true, .error = NAN, .tolerance = NAN };
		f.excuse = a->reason;
		a->reason = NULL;
	} else {
		err_set(&why, a->broken ? ERR_INTERNAL : ERR_WRONG, "%s: %s", a->name, a->reason);
		check_failed(&f.check, &why);
	}
	f.check.device_ns = (uint64_t)a->took_ns;
	a->name = a->details = NULL;
	*MEM_PUSH(p->at, p->count) = (struct sample){ .finding = f };
}

/* The user's validators look at the first configuration of each size, once its outputs are right. */
static int ask_external(const struct eval *ev, const struct validate_request *q, struct samples *p, struct err *e)
{
	size_t count = p->count;
	int rc = 0;
	for (size_t i = 0; rc == 0 && ev->external && ev->external->validators && *ev->external->validators && i < count; i++) {
		struct validate_finding about = p->at[i].finding;
		struct external_subject subject = { .ctx = q->ctx, .params = about.params, .facts = q->facts, .median_ns = NAN };
		struct external_answers answers = { .count = 0 };
		if (!p->at[i].first || !about.check.passed)
			continue;
		eval_progress(ev, (double)i, (double)count, "asking the configured validators");
		rc = external_validate(ev, &subject, &answers, e);
		for (size_t k = 0; rc == 0 && k < answers.count; k++)
			take_answer(p, &about, &answers.at[k]);
		external_answers_fini(&answers);
	}
	return rc;
}

static void count_findings(struct samples *p, struct validate_result *r)
{
	r->findings = MEM_NEW_N(struct validate_finding, p->count + 1);
	for (size_t i = 0; i < p->count; i++) {
		struct validate_finding *f = &p->at[i].finding;
		if (f->check.code == ERR_PRUNED) {
			/* The device's own limits refused it: no evidence, in either direction. */
			r->pruned_count++;
			if (p->pruned_why.code == ERR_NONE)
				err_set(&p->pruned_why, ERR_PRUNED, "%s", f->check.reason);
			check_fini(&f->check);
			continue;
		}
		r->findings[r->finding_count++] = *f;
		*f = (struct validate_finding){ 0 };
		if (r->findings[r->finding_count - 1].check.passed)
			r->passed_count += r->findings[r->finding_count - 1].validator == NULL;
		else if (check_skipped(&r->findings[r->finding_count - 1].check))
			r->skipped_count++;
		else
			r->failed_count++;
	}
	r->pruned_count += p->pruned;
}

/* The first that did not pass: a failure, or one that could not be judged when there is no failure. */
static const struct validate_finding *first_failure(const struct validate_result *r)
{
	const struct validate_finding *skipped = NULL;
	for (size_t i = 0; i < r->finding_count; i++) {
		const struct validate_finding *f = &r->findings[i];
		if (!f->check.passed && !check_skipped(&f->check))
			return f;
		if (!f->check.passed && skipped == NULL)
			skipped = f;
	}
	return skipped;
}

/* What each of the user's validators said, and why one was skipped. */
static void add_external(const struct validate_result *r, struct buf *out)
{
	for (size_t i = 0; i < r->finding_count; i++) {
		const struct validate_finding *f = &r->findings[i];
		bool told = false;
		for (size_t k = 0; f->validator && !told && k < i; k++)
			told = r->findings[k].validator && strcmp(r->findings[k].validator, f->validator) == 0 &&
			       !r->findings[k].excuse == !f->excuse;
		if (f->validator && !told)
			buf_addf(out, "; %s %s%s", f->validator, f->excuse ? "skipped: " : "passed", f->excuse ? f->excuse : "");
	}
}

static void summarise(struct validate_result *r, bool executed, const char *pruned_why)
{
	const struct validate_finding *bad = first_failure(r);
	size_t configurations = 0;
	for (size_t i = 0; i < r->finding_count; i++)
		configurations += r->findings[i].validator == NULL;
	r->passed = r->failed_count == 0 && r->skipped_count == 0 && r->passed_count > 0 && !r->narrowed;
	if (bad) {
		char *params = params_text(bad->params);
		if (bad->validator)
			r->summary = mem_fmt("%zu configurations have the right outputs, but %s: %s", r->passed_count, params,
					     bad->check.reason);
		else if (r->failed_count)
			r->summary = mem_fmt("%zu of %zu configurations %s; %s: %s", r->failed_count, configurations,
					     executed ? "failed" : "do not compile", params, bad->check.reason);
		else
			r->summary = mem_fmt("%zu of %zu configurations could not be judged; %s: %s", r->skipped_count,
					     configurations, params, bad->check.reason);
		free(params);
	} else if (r->narrowed) {
		r->summary = mem_fmt("the domain was narrowed without a declaration: %s", r->domain);
	} else if (r->passed_count == 0) {
		r->summary = mem_fmt("no configuration could be judged: all %zu tried were pruned%s%s", r->pruned_count,
				     *pruned_why ? ", the first because of: " : "", pruned_why);
	} else if (!executed) {
		r->summary = mem_fmt("%zu configurations compile, %zu pruned; nothing was executed, so nothing is validated",
				     r->passed_count, r->pruned_count);
	} else {
		struct buf text = BUF_INIT;
		buf_addf(&text, "%zu configurations passed, %zu pruned", r->passed_count, r->pruned_count);
		add_external(r, &text);
		r->summary = buf_steal(&text);
	}
}

static int compare_domain(const struct validate_request *q, struct validate_result *r, struct err *e)
{
	struct domain d;
	if (q->parent == NULL)
		return 0;
	int rc = domain_compare(q->parent, q->ctx, q->facts, &d, e);
	if (rc < 0)
		return rc;
	r->domain = mem_str(d.text);
	r->narrowed = d.narrowed > 0;
	domain_fini(&d);
	return 0;
}

static int record_external(const struct evidence *to, const struct validate_finding *f, struct err *e)
{
	struct params *inputs = params_part(f->params, false);
	char *sizes = params_text(inputs), *text = params_text(f->params);
	bool skipped = f->excuse || check_skipped(&f->check);
	struct validation row = {
		.checkpoint = to->checkpoint,
		.validator = f->validator,
		.device = to->facts->uuid,
		.sizes = sizes,
		.params = text,
		.size_kind = f->checked_size ? "check" : "input",
		.verdict = skipped           ? VALIDATION_SKIPPED
			   : f->check.passed ? VALIDATION_PASSED
					     : VALIDATION_FAILED,
		.reason = f->excuse ? f->excuse : f->check.reason,
		.error = NAN,
		.tolerance = NAN,
		.details = f->details,
		.took_ns = (int64_t)f->check.device_ns,
		.job = to->job,
	};
	int rc = validation_add(to->db, &row, e);
	params_free(inputs);
	free(sizes);
	free(text);
	return rc < 0 ? rc : 0;
}

int validate_record(const struct evidence *to, const struct validate_result *r, struct err *e)
{
	int rc = store_begin(to->db, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < r->finding_count; i++) {
		const struct validate_finding *f = &r->findings[i];
		if (f->params->count == 0)
			continue; /* the context as a whole was refused: there is no configuration to name */
		rc = f->validator ? record_external(to, f, e)
				  : check_record(to, f->params, f->checked_size ? "check" : "input", f->seed, &f->check, NULL, e);
	}
	return store_end(to->db, rc, e);
}

/* A mistake in the context itself (host code, an empty space, front matter) is a verdict. */
static bool is_verdict(enum err_code code)
{
	return code == ERR_INPUT || code == ERR_PRUNED || code == ERR_COMPILE;
}

static void only_reason(struct validate_result *r, const struct err *why)
{
	r->passed = false;
	free(r->summary);
	r->summary = mem_str(why->text);
	struct validate_finding f = { .params = params_new() };
	check_failed(&f.check, why);
	*MEM_PUSH(r->findings, r->finding_count) = f;
	r->failed_count++;
}

/* Where nothing runs, all that is learned is what the compiler says of registers and memory. */
static void keep_log(const struct samples *p, struct validate_result *r)
{
	for (size_t i = 0; i < p->count && !r->log; i++)
		if (p->at[i].why.code == ERR_NONE)
			r->log = variant_describe(&p->at[i].variant);
}

static int run(const struct eval *ev, const struct validate_request *q, bool execute, struct validate_result *r, struct err *e)
{
	struct samples samples = { 0 };
	struct build build = { .ev = ev, .q = q, .samples = &samples };
	struct lanes *lanes = NULL;
	int rc = draw_samples(q, &samples, e);
	if (rc == 0) {
		lanes = lanes_new(pool_compile_width(ev->pool), execute ? 2 * samples.count : samples.count, build_one, &build);
		rc = finish_builds(ev, lanes, &samples, e);
	}
	for (size_t i = 0; rc == 0 && !execute && i < samples.count; i++)
		samples.at[i].finding.check.passed = samples.at[i].why.code == ERR_NONE;
	if (rc == 0 && !execute)
		keep_log(&samples, r);
	if (rc == 0 && execute)
		rc = judge_all(ev, q, &samples, e);
	lanes_free(lanes);
	if (rc == 0 && execute)
		rc = ask_external(ev, q, &samples, e);
	if (rc == 0 && execute)
		rc = compare_domain(q, r, e);
	if (rc == 0) {
		count_findings(&samples, r);
		summarise(r, execute, samples.pruned_why.text);
	}
	samples_fini(&samples);
	if (rc < 0 && is_verdict(e->code)) {
		only_reason(r, e);
		*e = (struct err)ERR_INIT;
		rc = 0;
	}
	return rc;
}

int validate_run(const struct eval *ev, const struct validate_request *request, struct db *db, int64_t checkpoint, const char *job,
		 struct validate_result *ret_result, struct err *e)
{
	struct evidence to = { .db = db, .checkpoint = checkpoint, .facts = request->facts, .job = job };
	struct validate_result r = { 0 };
	struct eval_spent none = { 0 }, *spent = ev->spent ? ev->spent : &none;
	int64_t since = clock_now(), leased_before = atomic_load(&spent->leased_ns);
	int rc = run(ev, request, true, &r, e);
	atomic_fetch_add(&spent->validation_ns, clock_now() - since);
	atomic_fetch_add(&spent->validation_leased_ns, atomic_load(&spent->leased_ns) - leased_before);
	if (rc == 0 && db && checkpoint > 0)
		rc = validate_record(&to, &r, e);
	if (rc < 0)
		validate_result_fini(&r);
	else
		*ret_result = r;
	return rc;
}

int validate_compile(const struct eval *ev, const struct context *ctx, const struct facts *facts, unsigned samples, uint64_t seed,
		     struct validate_result *ret_result, struct err *e)
{
	struct validate_request q = { .ctx = ctx, .facts = facts, .samples = samples, .seed = seed };
	struct validate_result r = { 0 };
	int rc = run(ev, &q, false, &r, e);
	if (rc < 0)
		validate_result_fini(&r);
	else
		*ret_result = r;
	return rc;
}

void validate_finding_fini(struct validate_finding *f)
{
	params_free(f->params);
	check_fini(&f->check);
	free(f->validator);
	free(f->excuse);
	free(f->details);
}

void validate_result_fini(struct validate_result *r)
{
	for (size_t i = 0; i < r->finding_count; i++)
		validate_finding_fini(&r->findings[i]);
	free(r->findings);
	free(r->summary);
	free(r->domain);
	free(r->log);
	*r = (struct validate_result){ 0 };
}
