/* validate: sampled execution parameters against the reference; see validate.h. */
#include "core/judge/validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "core/context/domain.h"
#include "core/judge/external.h"
#include "core/workers/lanes.h"
#include "core/judge/perturb.h"
#include "core/judge/sample_configs.h"
#include "core/judge/reference_ahead.h"
#include "core/judge/rounds.h"
#include "core/record/store.h"

enum { MEMORY_SHARE = 16 /* part of the device's memory that a plan may need for references to be computed beside it */ };

struct build { const struct eval *ev; const struct validate_request *q; struct sample_configs *picks; };

/* Every pick; then, while the device is busy with those, what the last check of full ones needs. */
static void build_one(void *arg, size_t i)
{
	struct build *b = arg;
	struct sample_config *x = &b->picks->at[i % b->picks->count];
	if (i < b->picks->count) {
		x->why = (struct err)ERR_INIT;
		variant_build(b->ev, b->q->ctx, x->finding.params, b->q->facts, &x->variant, &x->why);
	} else if (x->full) {
		perturb_ahead(b->ev, b->q->ctx, x->finding.params, b->q->facts);
	}
}

/* Waits until every pick is compiled; those that the compiler refused have their check filled in. -ERR_CANCELLED alone ends it. */
static int finish_builds(const struct eval *ev, struct lanes *lanes, struct sample_configs *p, struct err *e)
{
	lanes_wait(lanes, p->count);
	for (size_t i = 0; i < p->count; i++) {
		struct sample_config *x = &p->at[i];
		if (x->why.code == ERR_CANCELLED || x->why.code == ERR_UNSUPPORTED || x->why.code == ERR_INTERNAL) {
			*e = x->why;
			return -(int)e->code;
		}
		if (x->why.code != ERR_NONE)
			check_failed(&x->finding.check, &x->why);
	}
	return cancel_check(ev->cancel, e);
}

static struct rounds_request rounds_of(const struct validate_request *q, const struct sample_config *x)
{
	return (struct rounds_request){ .ctx = q->ctx, .root = q->root, .facts = q->facts, .seed = x->finding.seed, .other_seed = x->other_seed,
	                                .full = x->full };
}

/* -ERR_CANCELLED and a broken harness end the validation; anything else is the configuration's own failure. Where a worker was killed from
 * outside, a fresh one judges anew. */
static int judge_one(const struct eval *ev, const struct validate_request *q, struct pool_worker *device, struct sample_config *x,
                     struct err *e)
{
	struct rounds_request rounds = rounds_of(q, x);
	struct check *check = &x->finding.check;
	struct err why = ERR_INIT;
	unsigned tries = 0;
	int rc = rounds_run(ev, device, &x->variant, &rounds, check, &why);
	struct buf again = BUF_INIT;
	while (rc == 0 ? eval_retries(ev, check->code, check->reason, &tries) : eval_retries(ev, why.code, why.text, &tries)) {
		buf_addf(&again, "judged again: %s\n", rc == 0 ? check->reason : why.text);
		if (rc == 0)
			check_fini(check);
		why = (struct err)ERR_INIT;
		rc = rounds_run(ev, device, &x->variant, &rounds, check, &why);
	}
	if (rc == 0 && again.len && check->rounds) {
		buf_adds(&again, check->rounds);
		free(check->rounds);
		check->rounds = buf_steal(&again);
	}
	buf_fini(&again);
	if (rc == 0)
		return 0;
	if (why.code != ERR_PRUNED) {
		*e = why;
		return rc;
	}
	/* The root does not accept this size: there is nothing to compare with. */
	why.code = ERR_UNSUPPORTED;
	check_failed(&x->finding.check, &why);
	return 0;
}

static uint64_t plan_bytes(const struct plan *plan, bool outputs)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < plan->buffer_count; i++)
		bytes += !outputs || plan->buffers[i].role == PLAN_OUT || plan->buffers[i].role == PLAN_INOUT ? plan->buffers[i].bytes : 0;
	return bytes;
}

/* The references of all rounds, and what comes later. NULL where the candidate and the root would get into each other's way: on a device
 * that shares the CPU with both, or in its memory. */
static struct reference_ahead *look_ahead(const struct eval *ev, const struct validate_request *q, const struct sample_configs *p,
                                          struct pool_worker *device)
{
	struct reference_ahead *a = reference_ahead_new(ev, q->root, q->facts, device);
	uint64_t most = 0, largest = 0;
	for (size_t i = 0; i < p->count; i++) {
		const struct sample_config *x = &p->at[i];
		if (x->why.code != ERR_NONE)
			continue;
		struct rounds_request rounds = rounds_of(q, x);
		uint64_t bytes = plan_bytes(x->variant.plan, true), all = plan_bytes(x->variant.plan, false);
		most = bytes > most ? bytes : most;
		largest = all > largest ? all : largest;
		if (x->first)
			rounds_ahead(&rounds, x->finding.params, bytes, a);
	}
	for (size_t i = 0; i < q->later_count; i++)
		reference_ahead_add(a, q->later[i].size, q->later[i].seed, PLAN_DECLARED, most);
	if (q->facts->shares_cpu || largest > q->facts->memory_bytes / MEMORY_SHARE) {
		reference_ahead_free(a);
		return NULL;
	}
	reference_ahead_start(a);
	return a;
}

static int judge_all(const struct eval *ev, const struct validate_request *q, struct sample_configs *p, struct err *e)
{
	struct pool_worker *device = NULL;
	struct reference_ahead *ahead = NULL;
	int rc = eval_take_device(ev, q->facts, NULL, &device, e);
	if (rc == 0)
		ahead = look_ahead(ev, q, p, device);
	for (size_t i = 0; rc == 0 && i < p->count; i++) {
		if (p->at[i].why.code == ERR_NONE)
			rc = judge_one(ev, q, device, &p->at[i], e);
		if (rc == 0)
			eval_progress(ev, (double)(i + 1), (double)p->count, "validate %zu/%zu", i + 1, p->count);
	}
	reference_ahead_free(ahead);
	pool_give(device);
	return rc;
}

static void take_answer(struct sample_configs *p, const struct validate_finding *about, struct external_answer *a)
{
	struct validate_finding f = { .params = params_copy(about->params), .checked_size = about->checked_size, .seed = about->seed,
	                              .validator = a->name, .details = a->details };
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
	*MEM_PUSH(p->at, p->count) = (struct sample_config){ .finding = f };
}

/* The user's validators look at the first configuration of each size, once its outputs are right. */
static int ask_external(const struct eval *ev, const struct validate_request *q, struct sample_configs *p, struct err *e)
{
	size_t count = p->count;
	int rc = 0;
	for (size_t i = 0; rc == 0 && ev->external && i < count; i++) {
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

static void count_findings(struct sample_configs *p, struct validate_result *r)
{
	r->findings = MEM_NEW_N(struct validate_finding, p->count + 1);
	for (size_t i = 0; i < p->count; i++) {
		struct validate_finding *f = &p->at[i].finding;
		if (f->check.code == ERR_PRUNED) {
			/* The device's own limits refused it: not evidence, in either direction. */
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

/* What each of the user's validators said, and why where one said nothing. */
static void add_external(const struct validate_result *r, struct buf *out)
{
	for (size_t i = 0; i < r->finding_count; i++) {
		const struct validate_finding *f = &r->findings[i];
		bool told = false;
		for (size_t k = 0; f->validator && !told && k < i; k++)
			told = r->findings[k].validator && strcmp(r->findings[k].validator, f->validator) == 0 && !r->findings[k].excuse == !f->excuse;
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
			r->summary = mem_fmt("%zu configurations have the right outputs, but %s: %s", r->passed_count, params, bad->check.reason);
		else if (r->failed_count)
			r->summary = mem_fmt("%zu of %zu configurations %s; %s: %s", r->failed_count, configurations,
			                     executed ? "failed" : "do not compile", params, bad->check.reason);
		else
			r->summary = mem_fmt("%zu of %zu configurations could not be judged; %s: %s", r->skipped_count,
			                     configurations, params, bad->check.reason);
		free(params);
	} else if (r->narrowed) {
		r->summary = mem_fmt("the domain was narrowed without being declared: %s", r->domain);
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

static int record_external(struct db *db, int64_t checkpoint, const struct facts *facts, const char *job, const struct validate_finding *f,
                           struct err *e)
{
	struct params *inputs = params_part(f->params, false);
	char *sizes = params_text(inputs), *text = params_text(f->params);
	bool skipped = f->excuse || check_skipped(&f->check);
	struct validation row = {
		.checkpoint = checkpoint, .validator = f->validator, .device = facts->uuid, .sizes = sizes, .params = text,
		.size_kind = f->checked_size ? "check" : "input",
		.verdict = skipped ? VALIDATION_SKIPPED : f->check.passed ? VALIDATION_PASSED : VALIDATION_FAILED,
		.reason = f->excuse ? f->excuse : f->check.reason, .error = NAN, .tolerance = NAN, .details = f->details,
		.took_ns = (int64_t)f->check.device_ns, .job = job,
	};
	int rc = validation_add(db, &row, e);
	params_free(inputs);
	free(sizes);
	free(text);
	return rc < 0 ? rc : 0;
}

int validate_record(struct db *db, int64_t checkpoint, const struct facts *facts, const char *job,
                    const struct validate_result *r, struct err *e)
{
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < r->finding_count; i++) {
		const struct validate_finding *f = &r->findings[i];
		if (f->params->count == 0)
			continue; /* the context as a whole was refused: no configuration to point at */
		rc = f->validator ? record_external(db, checkpoint, facts, job, f, e)
		                  : check_record(db, checkpoint, facts, f->params, f->checked_size ? "check" : "input", f->seed, &f->check, job,
		                                 NULL, e);
	}
	return store_end(db, rc, e);
}

/* A mistake in the context itself (host code, an empty space, front matter) is a verdict, not a failure to judge. */
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

/* Nothing will run: what the compiler says of registers and memory is all that is learned. */
static void keep_log(const struct sample_configs *p, struct validate_result *r)
{
	for (size_t i = 0; i < p->count && !r->log; i++)
		if (p->at[i].why.code == ERR_NONE)
			r->log = variant_describe(&p->at[i].variant);
}

static int run(const struct eval *ev, const struct validate_request *q, bool execute, struct validate_result *r,
               struct err *e)
{
	struct sample_configs picks = { 0 };
	struct build build = { .ev = ev, .q = q, .picks = &picks };
	struct lanes *lanes = NULL;
	int rc = sample_configs_draw(q, &picks, e);
	if (rc == 0) {
		lanes = lanes_new(pool_compile_width(ev->pool), execute ? 2 * picks.count : picks.count, build_one, &build);
		rc = finish_builds(ev, lanes, &picks, e);
	}
	for (size_t i = 0; rc == 0 && !execute && i < picks.count; i++)
		picks.at[i].finding.check.passed = picks.at[i].why.code == ERR_NONE;
	if (rc == 0 && !execute)
		keep_log(&picks, r);
	if (rc == 0 && execute)
		rc = judge_all(ev, q, &picks, e);
	lanes_free(lanes);
	if (rc == 0 && execute)
		rc = ask_external(ev, q, &picks, e);
	if (rc == 0 && execute)
		rc = compare_domain(q, r, e);
	if (rc == 0) {
		count_findings(&picks, r);
		summarise(r, execute, picks.pruned_why.text);
	}
	sample_configs_fini(&picks);
	if (rc < 0 && is_verdict(e->code)) {
		only_reason(r, e);
		*e = (struct err)ERR_INIT;
		rc = 0;
	}
	return rc;
}

static int64_t leased_so_far(const struct eval *ev)
{
	return ev->spent ? atomic_load(&ev->spent->leased_ns) : 0;
}

static void spend(const struct eval *ev, int64_t since, int64_t leased_before)
{
	if (ev->spent == NULL)
		return;
	atomic_fetch_add(&ev->spent->validation_ns, clock_now() - since);
	atomic_fetch_add(&ev->spent->validation_leased_ns, leased_so_far(ev) - leased_before);
}

int validate_run(const struct eval *ev, const struct validate_request *request, struct db *db, int64_t checkpoint,
                 const char *job, struct validate_result *ret_result, struct err *e)
{
	struct validate_result r = { 0 };
	int64_t since = clock_now(), leased_before = leased_so_far(ev);
	int rc = run(ev, request, true, &r, e);
	spend(ev, since, leased_before);
	if (rc == 0 && db && checkpoint > 0)
		rc = validate_record(db, checkpoint, request->facts, job, &r, e);
	if (rc < 0)
		validate_result_fini(&r);
	else
		*ret_result = r;
	return rc;
}

int validate_compile(const struct eval *ev, const struct context *ctx, const struct facts *facts, unsigned samples,
                     uint64_t seed, struct validate_result *ret_result, struct err *e)
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
