/* work_optimize: the job behind the optimize tool: asks a policy what comes next, has it done, and stops by budget or when a roof
 * is near. Its state is rows alone (optimizer.h), so that it can be killed at any time. See work.h. */
#include "core/jobs/optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/measure/energy.h"
#include "core/record/job.h"
#include "core/record/workflow.h"

/* Without any budget: as many calls as an agent is wanted to need for one kernel. */
enum { CALLS = 20, LOST = 2 /* failures in a row that are not the code's */, BATCH = 4 /* jobs that wait for one drain */ };

static const struct layout_field request_fields[] = {
	{ LAYOUT_AT(struct optimizer_request, subject, PART), .of = &work_subject_layout },
	{ LAYOUT_AT(struct optimizer_request, policy, TEXT) },
	{ LAYOUT_AT(struct optimizer_request, model, TEXT) },
	{ LAYOUT_AT(struct optimizer_request, reviewer, TEXT) },
	{ LAYOUT_AT(struct optimizer_request, sequence, TEXT) },
	{ LAYOUT_AT(struct optimizer_request, sizes, TEXT) },
	{ LAYOUT_AT(struct optimizer_request, tune, ID) },
	{ LAYOUT_AT(struct optimizer_request, samples, ID) },
	{ LAYOUT_AT(struct optimizer_request, seed, COUNT) },
	{ LAYOUT_AT(struct optimizer_request, calls, ID) },
	{ LAYOUT_AT(struct optimizer_request, tokens, ID) },
	{ LAYOUT_AT(struct optimizer_request, experiments, ID) },
	{ LAYOUT_AT(struct optimizer_request, seconds, REAL), .unit = "s" },
	{ LAYOUT_AT(struct optimizer_request, device_seconds, REAL), .unit = "s" },
	{ LAYOUT_AT(struct optimizer_request, money, REAL) },
	{ LAYOUT_AT(struct optimizer_request, price_in, REAL) },
	{ LAYOUT_AT(struct optimizer_request, price_out, REAL) },
	{ LAYOUT_AT(struct optimizer_request, roof, REAL), .unit = "%" },
	{ LAYOUT_AT(struct optimizer_request, objective, TEXT) },
	{ LAYOUT_AT(struct optimizer_request, without, TEXT) },
	{ LAYOUT_AS(struct optimizer_request, search, TEXT, "continue") },
	{ LAYOUT_AT(struct optimizer_request, batch, TEXT) },
	{ LAYOUT_AT(struct optimizer_request, resume, BOOL), .flags = LAYOUT_OPTIONAL },
	{ .name = NULL },
};
static const struct layout request_layout = { "optimize request", sizeof(struct optimizer_request), request_fields };

struct result {
	char *policy, *stopped; /* why it ended */
	int64_t best;           /* checkpoint */
	double speedup, low,
		high; /* times as fast as where it started, in pairs; NAN: the start is the best, or it was not compared */
	int64_t decisions, experiments, right, faster, no_ops;
	int64_t calls, tokens_in, tokens_out;
	double money, seconds, device_seconds;
	int64_t *front; /* checkpoints that no other beats at every size */
	size_t front_count;
};

static const struct layout_field result_fields[] = {
	{ LAYOUT_AT(struct result, best, ID), .say = "best: checkpoint %" },
	{ LAYOUT_AT(struct result, speedup, REAL), .unit = "ratio", .say = ", % times as fast as the start" },
	{ LAYOUT_AT(struct result, low, REAL), .unit = "ratio", .say = " (% to", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, high, REAL), .unit = "ratio", .say = " %)", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, stopped, TEXT), .say = "\nstopped: %\n" },
	{ LAYOUT_AT(struct result, policy, TEXT), .say = "policy %:", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, experiments, INT), .say = " % experiments,", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, right, INT), .say = " % gave right code,", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, faster, INT), .say = " % faster code,", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, no_ops, INT), .say = " % the same code again;", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, calls, INT), .say = " % model calls,", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, tokens_in, INT), .say = " % tokens in,", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, tokens_out, INT), .say = " % out,", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, money, REAL), .say = " for %,", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, device_seconds, REAL), .unit = "s", .say = " % on the device\n", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, seconds, REAL), .unit = "s", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct result, decisions, INT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_MANY(struct result, front, front_count, INTS), .flags = LAYOUT_DETAIL },
	{ .name = NULL },
};
static const struct layout result_layout = { "optimize result", sizeof(struct result), result_fields };

/* --- what it took ----------------------------------------------------------------------------------------------------------- */

static void sum_up(const struct optimizer *o, struct result *r)
{
	r->seconds = r->device_seconds = 0;
	r->experiments = r->right = r->faster = r->no_ops = r->calls = r->tokens_in = r->tokens_out = 0;
	r->decisions = (int64_t)o->decisions.count;
	for (size_t i = o->inherited; i < o->decisions.count; i++) {
		const struct decision *d = &o->decisions.at[i];
		r->experiments += d->kind == DECISION_EXPERIMENT || d->kind == DECISION_MEND;
		r->right += d->made != 0;
		r->faster += d->outcome == DECISION_FASTER;
		r->no_ops += d->outcome == DECISION_NO_OP;
		r->calls += d->calls;
		r->tokens_in += d->tokens_in;
		r->tokens_out += d->tokens_out;
		r->seconds += isfinite(d->seconds) ? d->seconds : 0;
		r->device_seconds += isfinite(d->device_seconds) ? d->device_seconds : 0;
	}
	double price_in = isfinite(o->q->price_in) ? o->q->price_in : 0,
	       price_out = isfinite(o->q->price_out) ? o->q->price_out : 0;
	r->money = price_in > 0 || price_out > 0 ? ((double)r->tokens_in * price_in + (double)r->tokens_out * price_out) / 1e6
						 : (double)NAN;
}

/* Failures in a row that say nothing about code: a model or a device that cannot be reached. */
static bool is_lost(const struct optimizer *o)
{
	size_t n = o->decisions.count, failed = 0;
	if (n && o->decisions.at[n - 1].kind == DECISION_STOP)
		n--;
	while (failed < n && o->decisions.at[n - failed - 1].outcome == DECISION_FAILED)
		failed++;
	return failed >= LOST;
}

static size_t count_waiting(const struct optimizer *o)
{
	size_t n = 0;
	for (size_t i = 0; i < o->decisions.count; i++)
		n += o->decisions.at[i].outcome == DECISION_WAITING;
	return n;
}

/* Whether the start's profile, which shows the model what limits it, is yet to be measured elsewhere. */
static bool start_waits(const struct optimizer *o)
{
	return o->decisions.count && o->decisions.at[0].outcome == DECISION_WAITING && o->decisions.at[0].profile_job;
}

/* Why no further decision is to be made; NULL: one is. free(). */
static char *why_stop(const struct optimizer *o)
{
	const struct optimizer_request *q = o->q;
	struct result r;
	sum_up(o, &r);
	bool bounded = q->calls || q->tokens || q->experiments || q->seconds > 0 || q->device_seconds > 0 || q->money > 0;
	int64_t calls = q->calls ? q->calls : bounded ? INT64_MAX : CALLS;
	if (o->graph.nodes[o->graph.best].near_roof)
		return mem_fmt("roof: checkpoint %lld is within %g %% of a ceiling of this device",
			       (long long)o->graph.nodes[o->graph.best].checkpoint, 100 - (isfinite(q->roof) ? q->roof : 90));
	if (r.calls >= calls)
		return mem_fmt("budget: %lld model calls", (long long)r.calls);
	if (q->tokens && r.tokens_in + r.tokens_out >= q->tokens)
		return mem_fmt("budget: %lld tokens", (long long)(r.tokens_in + r.tokens_out));
	if (q->experiments && r.experiments >= q->experiments)
		return mem_fmt("budget: %lld experiments", (long long)r.experiments);
	if (q->seconds > 0 && r.seconds >= q->seconds)
		return mem_fmt("budget: %.0f seconds", r.seconds);
	if (q->device_seconds > 0 && r.device_seconds >= q->device_seconds)
		return mem_fmt("budget: %.0f seconds of the device", r.device_seconds);
	if (q->money > 0 && r.money >= q->money)
		return mem_fmt("budget: %.4g spent on tokens", r.money);
	if (start_waits(o))
		return mem_fmt("waiting: %s first measures what limits the start: drain export, run and merge, then continue",
			       q->batch ? q->batch : "its device");
	if (count_waiting(o) >= BATCH)
		return mem_fmt("waiting: %zu jobs wait for %s: drain export, run and merge them, then continue this search",
			       count_waiting(o), q->batch ? q->batch : "their device");
	if (is_lost(o))
		return mem_fmt("two attempts in a row failed for reasons other than the code: %s",
			       o->decisions.at[o->decisions.count - 1].note ? o->decisions.at[o->decisions.count - 1].note : "");
	return NULL;
}

/* --- the loop --------------------------------------------------------------------------------------------------------------- */

static int reload(struct optimizer *o, struct err *e)
{
	decision_list_fini(&o->decisions);
	int rc = decision_list(o->job->db, o->search, &o->decisions, e);
	return rc < 0 ? rc : optimizer_graph_load(o, e);
}

/* The row of what the policy, the budget or the very beginning decides. */
static int decide(struct optimizer *o, struct err *e)
{
	struct policy_choice c = { .kind = DECISION_MEASURE, .reference = -1, .low = NAN, .high = NAN, .novelty = NAN };
	struct decision d;
	char *stop = o->decisions.count ? why_stop(o) : NULL;
	if (o->decisions.count == 0)
		c.reason = mem_str("the search starts here: what is it worth, and what limits it?");
	else if (stop)
		policy_stop(&c, mem_str(stop));
	else
		policy_next(o->policy, &o->graph, &c);
	if (c.kind == DECISION_STOP && !stop && count_waiting(o)) {
		free(c.reason);
		policy_stop(&c, mem_fmt("waiting: nothing can be decided before %zu jobs of another device are merged",
					count_waiting(o)));
	}
	decision_init(&d);
	d.search = mem_str(o->search);
	d.seq = (int64_t)o->decisions.count + 1;
	d.policy = mem_str(o->policy->name);
	d.kind = c.kind;
	d.checkpoint = o->graph.nodes[c.kind == DECISION_STOP ? o->graph.best : c.node].checkpoint;
	d.reference = c.reference >= 0 ? o->graph.nodes[c.reference].checkpoint : 0;
	d.transformation = mem_str(c.text);
	d.expected_low = exp(c.low);
	d.expected_high = exp(c.high);
	d.novelty = c.novelty;
	d.reviewed = c.reviewed;
	d.reason = c.reason;
	int rc = decision_add(o->job->db, &d, e);
	free(stop);
	decision_fini(&d);
	return rc;
}

static void tell(struct optimizer *o, const struct decision *d)
{
	char *text = mem_fmt("decision %lld, %s at checkpoint %lld%s%.80s: %s", (long long)d->seq, decision_kinds[d->kind],
			     (long long)d->checkpoint, d->transformation ? ", " : "", d->transformation ? d->transformation : "",
			     d->reason);
	engine_progress(o->job, (double)d->seq, 0, text);
	free(text);
}

static int search(struct optimizer *o, struct err *e)
{
	int rc = reload(o, e);
	if (rc == 0 && o->decisions.count) {
		rc = optimizer_step_settle(o, e);
		if (rc == 0)
			rc = reload(o, e);
	}
	while (rc == 0) {
		struct decision *d = o->decisions.count ? &o->decisions.at[o->decisions.count - 1] : NULL;
		if (d && d->outcome == DECISION_OPEN) {
			tell(o, d);
			rc = optimizer_step(o, d, e);
			bool stopped = d->kind == DECISION_STOP;
			if (rc == 0)
				rc = reload(o, e);
			if (stopped)
				break;
		} else if (d && d->kind == DECISION_STOP && o->decisions.count > o->inherited) {
			break;
		} else {
			rc = decide(o, e);
			if (rc == 0)
				rc = reload(o, e);
		}
	}
	return rc;
}

/* --- the end ---------------------------------------------------------------------------------------------------------------- */

struct compared_size {
	double ratio, low, high;
};
static const struct layout_field compared_fields[] = {
	{ LAYOUT_AT(struct compared_size, ratio, REAL) },
	{ LAYOUT_AT(struct compared_size, low, REAL) },
	{ LAYOUT_AT(struct compared_size, high, REAL) },
	{ .name = NULL },
};
static const struct layout compared_size_layout = { "compared size", sizeof(struct compared_size), compared_fields };
struct compared {
	struct compared_size *sizes;
	size_t count;
};
static const struct layout_field compare_fields[] = {
	{ LAYOUT_MANY(struct compared, sizes, count, LIST), .of = &compared_size_layout },
	{ .name = NULL },
};
static const struct layout compare_layout = { "compare result", sizeof(struct compared), compare_fields };

/* The figure that is shown is measured, not multiplied from steps: the best and the start in pairs. */
static int compare_ends(struct optimizer *o, int64_t best, struct result *r, struct err *e)
{
	struct compared c;
	struct err why = ERR_INIT;
	char *id = NULL;
	void *request = layout_new(work_compare.request);
	json_t *asked = json_pack("{s:I, s:I}", "a", (json_int_t)o->start.id, "b", (json_int_t)best);
	if (o->q->subject.device)
		json_object_set_new(asked, "device", json_string(o->q->subject.device));
	if (o->q->sizes)
		json_object_set_new(asked, "sizes", json_string(o->q->sizes));
	layout_init(&compare_layout, &c);
	int rc = layout_read(work_compare.request, asked, request, &why);
	if (rc == 0)
		rc = engine_child_begin(o->job->db, &work_compare, request, &id, &why);
	if (rc == 0)
		rc = engine_child_run(o->job, id, &compare_layout, &c, &why);
	double ratio = 0, low = 0, high = 0;
	for (size_t i = 0; i < c.count; i++) {
		ratio += log(c.sizes[i].ratio) / (double)c.count;
		low += log(c.sizes[i].low) / (double)c.count;
		high += log(c.sizes[i].high) / (double)c.count;
	}
	if (rc == 0 && c.count) {
		r->speedup = exp(ratio);
		r->low = exp(low);
		r->high = exp(high);
	} else if ((rc = err_if_cancelled(&why, e)) == 0) {
		log_info("job %s: the best is not compared with the start: %s", o->job->id, why.text);
	}
	layout_fini(&compare_layout, &c);
	layout_free(work_compare.request, request);
	json_decref(asked);
	free(id);
	return rc;
}

/* Nobody may have moved the workflow meanwhile. */
static void keep_best(struct optimizer *o, int64_t best)
{
	const char *name = o->q->subject.workflow;
	struct workflow w;
	struct err why = ERR_INIT;
	if (name == NULL || !*name || best == o->start.id || workflow_get(o->job->db, name, &w, &why) < 0)
		return;
	if (w.head == o->start.id && workflow_restore(o->job->db, name, best, &why) < 0)
		log_warning("job %s: the head of %s was not moved: %s", o->job->id, name, why.text);
	workflow_fini(&w);
}

static void describe(struct optimizer *o, struct result *r)
{
	const struct decision *last = o->decisions.count ? &o->decisions.at[o->decisions.count - 1] : NULL;
	const struct graph *g = &o->graph;
	sum_up(o, r);
	r->policy = mem_str(o->policy ? o->policy->name : NULL);
	r->stopped = mem_str(last && last->kind == DECISION_STOP ? last->reason : "it was interrupted");
	r->best = g->node_count ? g->nodes[g->best].checkpoint : o->start.id;
	for (size_t i = 0; i < g->node_count; i++)
		if (graph_on_front(g, (int)i))
			*MEM_PUSH(r->front, r->front_count) = g->nodes[i].checkpoint;
}

/* --- the job ---------------------------------------------------------------------------------------------------------------- */

static int find_policy(const char *name, const struct policy **ret_policy, struct err *e)
{
	struct buf names = BUF_INIT;
	*ret_policy = name && *name ? policy_find(name) : policy_table[0];
	for (size_t i = 0; policy_table[i]; i++)
		buf_addf(&names, "%s%s", i ? ", " : "", policy_table[i]->name);
	int rc = *ret_policy ? 0 : err_set(e, ERR_INPUT, "policy: there is no '%s'; there are %s", name, buf_text(&names));
	buf_fini(&names);
	return rc;
}

/* The search of an earlier job, which must have begun at this checkpoint, and in which nobody else decides now. What was decided
 * since this job was asked for is its own: it was killed, and runs again. */
static int inherit(struct optimizer *o, struct err *e)
{
	struct job is;
	char *rival = NULL;
	const char *named = o->q->search;
	int rc = named ? decision_list(o->job->db, named, &o->decisions, e) : 0;
	if (rc == 0 && named && (o->decisions.count == 0 || o->decisions.at[0].checkpoint != o->start.id))
		rc = err_set(e, ERR_INPUT, "continue: job %s is not a search that began at checkpoint %lld", named,
			     (long long)o->start.id);
	o->search = mem_str(rc == 0 && named ? o->decisions.at[0].search : o->job->id);
	if (rc < 0 || named == NULL)
		return rc;
	rc = decision_rival(o->job->db, o->search, o->job->id, &rival, e);
	if (rc == 0 && rival)
		rc = err_set(e, ERR_CONFLICT,
			     "continue: job %s works on this search and has not ended: wait for it with `job`, or cancel it with "
			     "`job_control`",
			     rival);
	free(rival);
	if (rc == 0)
		rc = job_get(o->job->db, o->job->id, &is, e);
	if (rc < 0)
		return rc;
	while (o->inherited < o->decisions.count && o->decisions.at[o->inherited].created_ms < is.created_ms)
		o->inherited++;
	job_fini(&is);
	return 0;
}

static int open_model(struct optimizer *o, struct err *e)
{
	struct models_open open = { 0 };
	int rc = models_open(o->w->models, o->q->model ? o->q->model : "", 1, &open, e);
	models_close(&open);
	return rc;
}

static int check_objective(const struct optimizer *o, struct err *e)
{
	bool weighs;
	int rc = energy_weighs(o->q->objective, &weighs, e);
	return rc == 0 && weighs ? energy_need(&o->facts, "objective energy or edp", e) : rc;
}

static int run(struct engine_job *job, const void *request, void *ret_result, struct err *e)
{
	const struct optimizer_request *q = request;
	struct result *r = ret_result;
	struct optimizer o = { .job = job, .q = q, .w = job->user, .began = clock_now() };
	int rc = find_policy(q->policy, &o.policy, e);
	if (rc == 0 && q->money > 0 && !(q->price_in > 0 || q->price_out > 0))
		rc = err_set(e, ERR_INPUT,
			     "money: without price_in or price_out nothing limits the search; give the prices of a million tokens");
	if (rc == 0)
		rc = lineage_load(job->db, q->subject.checkpoint, &o.start, e);
	if (rc == 0)
		rc = work_device(job->user, q->subject.device, context_backend(o.start.ctx), &o.facts, e);
	if (rc == 0 && !o.facts.runs && q->batch == NULL)
		rc = err_set(e, ERR_UNSUPPORTED, "%s only compiles: nothing can be timed on it", o.facts.id);
	if (rc == 0)
		rc = check_objective(&o, e);
	if (rc == 0)
		rc = open_model(&o, e);
	if (rc == 0)
		rc = inherit(&o, e);
	if (rc == 0)
		rc = q->sequence ? library_sequence(o.w->library, q->sequence, &o.sequence, &o.sequence_count, e) : 0;
	if (rc == 0)
		rc = search(&o, e);
	describe(&o, r);
	/* A search that found nothing because its model or device was away has failed. */
	if (rc == 0 && r->best == o.start.id && is_lost(&o))
		rc = err_set(e, ERR_NETWORK, "%s", r->stopped);
	if (rc == 0 && r->best != o.start.id && q->batch == NULL)
		rc = compare_ends(&o, r->best, r, e);
	/* What is measured here and is no faster moves no workflow; elsewhere the jobs' own pairs have to do. */
	if (rc == 0 && (q->batch || optimizer_graph_weighs(&o) || r->low > 1))
		keep_best(&o, r->best);
	optimizer_graph_fini(&o);
	decision_list_fini(&o.decisions);
	free(o.search);
	mem_free_texts(o.sequence, o.sequence_count);
	lineage_fini(&o.start);
	return rc;
}

const struct engine_kind work_optimize = { "optimize", &request_layout, &result_layout, run };
