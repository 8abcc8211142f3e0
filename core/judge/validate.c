/* validate: sampled execution parameters against the reference; see validate.h. */
#include "core/judge/validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "core/context/domain.h"
#include "core/judge/dictionary.h"
#include "core/judge/external.h"
#include "core/judge/limits.h"
#include "core/judge/samples.h"
#include "core/judge/suite.h"
#include "core/record/store.h"
#include "core/workers/lanes.h"
#include "core/workers/resident.h"

enum {
	LEFT_OUT_SHOWN = 3, /* configurations, in the summary */
	MEMORY_SHARE = 16,  /* part of the device's memory that a plan may need for references to be computed beside it */
};

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
	} else if (x->full && x->first) {
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

static struct suite_request suite_of(const struct validate_request *q, const struct wire_immediates *immediates,
				     const struct sample *x)
{
	return (struct suite_request){
		.ctx = q->ctx,
		.seed = x->finding.seed,
		.other_seed = x->other_seed,
		.full = x->full,
		.extras = x->full && x->first,
		.without = q->without,
		.immediates = immediates,
	};
}

/* -ERR_CANCELLED and a baseline that cannot judge end the validation; anything else is the configuration's own failure. Where a
 * worker was killed from outside, a fresh one judges again. */
static int judge_one(const struct reference_source *j, const struct validate_request *q, struct pool_worker *device,
		     const struct wire_immediates *immediates, struct sample *x, struct err *e)
{
	struct suite_request suite = suite_of(q, immediates, x);
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

static uint64_t output_bytes(const struct plan *plan)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < plan->buffer_count; i++)
		bytes += plan_is_output(&plan->buffers[i]) ? plan->buffers[i].bytes : 0;
	return bytes;
}

/* The references of all suites, and what comes later. NULL where candidate and baseline would get into each other's way: on a
 * device that shares the CPU with both, or in its memory. */
static struct reference_ahead *look_ahead(const struct reference_source *j, const struct validate_request *q,
					  const struct samples *p, struct pool_worker *device)
{
	struct reference_ahead *a = reference_ahead_new(j, device);
	uint64_t most = 0, largest = 0;
	bool stays = false; /* on the device, where one thread at a time judges */
	for (size_t i = 0; i < p->count; i++) {
		const struct sample *x = &p->at[i];
		if (x->why.code != ERR_NONE)
			continue;
		struct suite_request suite = suite_of(q, NULL, x);
		uint64_t bytes = output_bytes(x->variant.plan), all = plan_bytes(x->variant.plan);
		most = bytes > most ? bytes : most;
		largest = all > largest ? all : largest;
		stays |= resident_suits(q->facts, x->variant.plan);
		if (x->first)
			suite_ahead(&suite, x->variant.plan, x->finding.params, bytes, a);
	}
	for (size_t i = 0; i < q->later_count; i++)
		reference_ahead_add(a, &q->later[i], most);
	if (q->facts->shares_cpu || stays || largest > q->facts->memory_bytes / MEMORY_SHARE) {
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
	struct wire_immediates immediates = { 0 };
	for (size_t i = 0; i < p->count; i++)
		if (p->at[i].why.code == ERR_NONE)
			dictionary_add(&immediates, &p->at[i].variant);
	int rc = eval_take_device(ev, q->facts, NULL, &device, e);
	if (rc == 0)
		ahead = look_ahead(&judge, q, p, device);
	for (size_t i = 0; rc == 0 && i < p->count; i++) {
		if (p->at[i].why.code == ERR_NONE)
			rc = judge_one(&judge, q, device, &immediates, &p->at[i], e);
		if (rc == 0) {
			/* Where the first of a size hangs, the next one gets what only the first one gets. */
			if (p->at[i].first && p->at[i].finding.check.code == ERR_TIMEOUT && i + 1 < p->count &&
			    p->at[i + 1].finding.seed == p->at[i].finding.seed)
				p->at[i + 1].first = true;
		}
		if (rc == 0)
			eval_progress(ev, (double)(i + 1), (double)p->count, "validate %zu/%zu", i + 1, p->count);
	}
	reference_ahead_free(ahead);
	dictionary_fini(&immediates);
	pool_give(device);
	return rc;
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
		for (size_t k = 0; rc == 0 && k < answers.count; k++) {
			struct validate_finding f = { .params = params_copy(about.params),
						      .checked_size = about.checked_size,
						      .seed = about.seed,
						      .validator = answers.at[k].name,
						      .details = answers.at[k].details };
			struct err why = ERR_INIT;
			if (answers.at[k].verdict == VALIDATION_PASSED ||
			    (answers.at[k].verdict == VALIDATION_SKIPPED && !answers.at[k].broken)) {
				f.check = (struct check){ .passed = true, .error = NAN, .tolerance = NAN };
				f.excuse = answers.at[k].reason;
				answers.at[k].reason = NULL;
			} else {
				err_set(&why, answers.at[k].broken ? ERR_INTERNAL : ERR_WRONG, "%s: %s", answers.at[k].name,
					answers.at[k].reason);
				check_failed(&f.check, &why);
			}
			f.check.device_ns = (uint64_t)answers.at[k].took_ns;
			answers.at[k].name = answers.at[k].details = NULL;
			*MEM_PUSH(p->at, p->count) = (struct sample){ .finding = f };
		}
		external_answers_fini(&answers);
	}
	return rc;
}

/* It hung, and another configuration of its size is right: it is useless, and says nothing about the others. Or any number would
 * pass at its `check:` size, such as a softmax of one column, and another size is right. */
static bool is_spared(const struct samples *p, const struct validate_finding *f)
{
	struct params *size = params_part(f->params, false);
	bool hung = f->check.code == ERR_TIMEOUT, degenerate = f->check.degenerate && f->checked_size, spared = false;
	for (size_t i = 0; i < p->count && (hung || degenerate) && !spared; i++) {
		const struct validate_finding *other = &p->at[i].finding;
		spared = other->check.passed && !other->validator && (degenerate || params_contain(other->params, size));
	}
	params_free(size);
	return spared;
}

/* What passed, failed, hung or could not be judged; `*p` keeps what was pruned by the device's own limits: no evidence, in either
 * direction. */
static void count_findings(struct samples *p, struct validate_result *r)
{
	struct limits_gaps gaps = { .count = 0 };
	bool *spared = MEM_NEW_N(bool, p->count + 1);
	for (size_t i = 0; i < p->count; i++)
		spared[i] = is_spared(p, &p->at[i].finding);
	r->findings = MEM_NEW_N(struct validate_finding, p->count + 1);
	for (size_t i = 0; i < p->count; i++) {
		struct validate_finding *f = &p->at[i].finding;
		const struct check *c = &f->check;
		if (c->code == ERR_PRUNED || spared[i]) {
			r->pruned_count++;
			if (p->pruned_why.code == ERR_NONE)
				err_set(&p->pruned_why, ERR_PRUNED, "%s", c->reason);
			if (!spared[i])
				continue;
			*MEM_PUSH(r->left_out, r->left_out_count) = *f;
		} else {
			r->passed_count += c->passed && f->validator == NULL;
			r->extras_count += c->passed && f->validator == NULL && p->at[i].first && p->at[i].full;
			r->skipped_count += !c->passed && check_skipped(c);
			r->failed_count += !c->passed && !check_skipped(c);
			if (c->passed)
				limits_gaps_add(&gaps, c->log);
			r->findings[r->finding_count++] = *f;
		}
		*f = (struct validate_finding){ 0 };
	}
	r->pruned_count += p->pruned;
	r->not_judged = limits_gaps_text(&gaps, r->passed_count, r->extras_count);
	limits_gaps_fini(&gaps);
	free(spared);
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

/* Those that were left out. */
static void add_left_out(const struct validate_result *r, struct buf *out)
{
	for (size_t i = 0; i < r->left_out_count && i < LEFT_OUT_SHOWN; i++) {
		char *params = params_text(r->left_out[i].params);
		buf_addf(out, "; left out: %s: %s", params, r->left_out[i].check.reason);
		free(params);
	}
	if (r->left_out_count > LEFT_OUT_SHOWN)
		buf_addf(out, " and %zu more", r->left_out_count - LEFT_OUT_SHOWN);
}

char *validate_caveats(const struct validate_result *r)
{
	return mem_fmt("%s%s%s%s%s", r->not_judged ? "not judged: " : "", r->not_judged ? r->not_judged : "",
		       r->not_judged && r->limits ? "; " : "", r->limits ? "limits: " : "", r->limits ? r->limits : "");
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
		add_left_out(r, &text);
		if (r->extras_count < r->passed_count)
			buf_addf(&text,
				 "; races, kept results and outputs after timing were checked for %zu of them, one of each size",
				 r->extras_count);
		/* What each of the user's validators said, and why one was skipped. */
		for (size_t i = 0; i < r->finding_count; i++) {
			const struct validate_finding *f = &r->findings[i];
			bool told = false;
			for (size_t k = 0; f->validator && !told && k < i; k++)
				told = r->findings[k].validator && strcmp(r->findings[k].validator, f->validator) == 0 &&
				       !r->findings[k].excuse == !f->excuse;
			if (f->validator && !told)
				buf_addf(&text, "; %s %s%s", f->validator, f->excuse ? "skipped: " : "passed",
					 f->excuse ? f->excuse : "");
		}
		char *caveats = validate_caveats(r);
		buf_addf(&text, "%s%s", *caveats ? "; " : "", caveats);
		free(caveats);
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
	struct validation row = {
		.validator = f->validator,
		.size_kind = f->checked_size ? "check" : "input",
		.verdict = f->excuse || check_skipped(&f->check) ? VALIDATION_SKIPPED
			   : f->check.passed                     ? VALIDATION_PASSED
								 : VALIDATION_FAILED,
		.reason = f->excuse ? f->excuse : f->check.reason,
		.error = NAN,
		.tolerance = NAN,
		.details = f->details,
		.took_ns = (int64_t)f->check.device_ns,
	};
	return check_evidence(to, f->params, &row, e);
}

int validate_record(const struct evidence *to, const struct validate_result *r, struct err *e)
{
	int rc = store_begin(to->db, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < r->left_out_count; i++)
		rc = check_record(to, r->left_out[i].params, r->left_out[i].checked_size ? "check" : "input", r->left_out[i].seed,
				  &r->left_out[i].check, NULL, e);
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

static int run(const struct eval *ev, const struct validate_request *q, bool execute, struct validate_result *r, struct err *e)
{
	struct samples samples = { .refused = BUF_INIT };
	struct build build = { .ev = ev, .q = q, .samples = &samples };
	struct lanes *lanes = NULL;
	int rc = samples_draw(q, &samples, e);
	if (rc == 0) {
		lanes = lanes_new(pool_compile_width(ev->pool), execute ? 2 * samples.count : samples.count, build_one, &build);
		rc = finish_builds(ev, lanes, &samples, e);
	}
	for (size_t i = 0; rc == 0 && !execute && i < samples.count; i++)
		samples.at[i].finding.check.passed = samples.at[i].why.code == ERR_NONE;
	if (rc == 0 && !execute) {
		/* Where nothing runs, all that is learned is what the compiler says of registers and memory. */
		for (size_t i = 0; i < samples.count && !r->log; i++)
			if (samples.at[i].why.code == ERR_NONE)
				r->log = variant_describe(&samples.at[i].variant);
	}
	if (rc == 0 && execute)
		rc = judge_all(ev, q, &samples, e);
	lanes_free(lanes);
	if (rc == 0 && execute)
		rc = ask_external(ev, q, &samples, e);
	if (rc == 0 && execute)
		rc = compare_domain(q, r, e);
	if (rc == 0) {
		count_findings(&samples, r);
		if (execute) {
			/* What the front matter narrows, and which of the baseline's sizes are not accepted. */
			char *declared = limits_declared(q->baseline, q->parent, q->ctx);
			if (declared || samples.refused.len)
				r->limits =
					mem_fmt("%s%s%s%s", declared ? declared : "", declared && samples.refused.len ? "; " : "",
						samples.refused.len ? "not accepted: " : "",
						samples.refused.len ? buf_text((struct buf *)&samples.refused) : "");
			free(declared);
		}
		summarise(r, execute, samples.pruned_why.text);
	}
	samples_fini(&samples);
	if (rc < 0 && is_verdict(e->code)) {
		r->passed = false;
		free(r->summary);
		r->summary = mem_str(e->text);
		struct validate_finding f = { .params = params_new() };
		check_failed(&f.check, e);
		*MEM_PUSH(r->findings, r->finding_count) = f;
		r->failed_count++;
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
	for (size_t i = 0; i < r->left_out_count; i++)
		validate_finding_fini(&r->left_out[i]);
	free(r->left_out);
	free(r->findings);
	free(r->summary);
	free(r->not_judged);
	free(r->limits);
	free(r->domain);
	free(r->log);
	*r = (struct validate_result){ 0 };
}
