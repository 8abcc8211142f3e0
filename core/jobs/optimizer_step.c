/* optimizer_step: one decision, carried through by jobs of the kinds that people start by hand: transform, tune, profile. Each
 * child's id is in the decision's row before it runs, so a step that was cut off goes on where it was. See optimizer.h. */
#include "core/jobs/optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/jobs/work.h"
#include "core/measure/compare.h"
#include "core/measure/energy.h"
#include "core/optimize/question.h"
#include "core/record/checkpoint.h"
#include "core/record/job.h"
#include "core/record/store.h"

/* 24 configurations find 90 % of a space's best speed in the median (bench/results/tuner-simulate.json has the curves); what
 * becomes the answer can be tuned further by hand. */
enum { TUNE = 24, NOTE_MAX = 4000 };

struct transformed {
	int64_t checkpoint, same, asked, tokens_in, tokens_out;
	char *summary, *pending;
};
static const struct layout_field transformed_fields[] = {
	{ LAYOUT_AT(struct transformed, checkpoint, ID) }, { LAYOUT_AT(struct transformed, same, ID) },
	{ LAYOUT_AT(struct transformed, asked, ID) },      { LAYOUT_AT(struct transformed, tokens_in, ID) },
	{ LAYOUT_AT(struct transformed, tokens_out, ID) }, { LAYOUT_AT(struct transformed, summary, TEXT) },
	{ LAYOUT_AT(struct transformed, pending, TEXT) },  { .name = NULL },
};
static const struct layout transformed_layout = { "transform result", sizeof(struct transformed), transformed_fields };

static void set_note(struct decision *d, const char *text)
{
	free(d->note);
	d->note = text ? mem_strn(text, strnlen(text, NOTE_MAX)) : NULL;
}

/* A job that a decision needs. */
struct child {
	char **io_job; /* its id in the decision; NULL there: a new one */
	const struct engine_kind *kind;
	const struct layout *result; /* the part of its result that is read */
};

/* The row of the decision and the job appear together. later: the job waits for a drain. */
static int begin_child(struct optimizer *o, struct decision *d, struct child c, json_t *take_request, bool later, struct err *e)
{
	void *request = layout_new(c.kind->request);
	const struct engine_submission submission = { c.kind->name, request, false, NULL };
	bool fresh;
	int rc = *c.io_job ? 0 : layout_read(c.kind->request, take_request, request, e);
	if (rc == 0 && *c.io_job == NULL && (rc = store_begin(o->job->db, e)) == 0) {
		rc = later ? engine_submit(o->job->engine, o->job->db, &submission, c.io_job, &fresh, e)
			   : engine_child_begin(o->job->db, c.kind, request, c.io_job, e);
		if (rc == 0)
			rc = decision_save(o->job->db, d, e);
		rc = store_end(o->job->db, rc, e);
	}
	layout_free(c.kind->request, request);
	json_decref(take_request);
	return rc;
}

static int run_child(struct optimizer *o, struct decision *d, struct child c, json_t *take_request, void *result, struct err *e)
{
	struct job row;
	/* One that somebody cancelled is begun anew, and so is one whose failure says nothing of its code: a search that goes on
	 * would end of it again. */
	if (*c.io_job && job_get(o->job->db, *c.io_job, &row, e) == 0) {
		bool passing = d->kind == DECISION_MEASURE || err_is_passing(err_code_of(row.error_code));
		if (row.state == JOB_CANCELLED || (row.state == JOB_FAILED && passing)) {
			free(*c.io_job);
			*c.io_job = NULL;
		}
		job_fini(&row);
	}
	int rc = begin_child(o, d, c, take_request, false, e);
	return rc < 0 ? rc : engine_child_run(o->job, *c.io_job, c.result, result, e);
}

static void put(json_t *request, const char *name, const char *text)
{
	if (text && *text)
		json_object_set_new(request, name, json_string(text));
}

/* "profile", "knowledge" or "history": what a search may be asked to do without. */
static bool has(const struct optimizer *o, const char *what)
{
	return o->q->without == NULL || !strstr(o->q->without, what);
}

/* Errors of which the search dies. */
static bool is_fatal(const struct optimizer *o, const struct err *e)
{
	return e->code == ERR_CANCELLED || err_is_passing(e->code) || cancel_asked(&o->job->cancel);
}

/* --- time ------------------------------------------------------------------------------------------------------------------- */

/* The verdict over all sizes: the geometric mean of the pairs with the parent, and of their intervals. */
static void judge_tuned(const struct optimizer_tuned *t, struct decision *d)
{
	double gain = 0, low = 0, high = 0;
	d->outcome = DECISION_UNCLEAR;
	for (size_t i = 0; i < t->count; i++) {
		if (t->sizes[i].unproven && *t->sizes[i].unproven) {
			d->outcome = DECISION_WRONG;
			set_note(d, t->sizes[i].unproven);
			return;
		}
		gain += log(t->sizes[i].step) / (double)t->count;
		low += log(t->sizes[i].low) / (double)t->count;
		high += log(t->sizes[i].high) / (double)t->count;
	}
	if (t->count == 0 || !isfinite(gain))
		return;
	d->gain = exp(gain);
	d->low = exp(low);
	d->high = exp(high);
	d->outcome = low > -COMPARE_MARGIN && high < COMPARE_MARGIN ? DECISION_SAME
		     : isfinite(low) && low > 0                     ? DECISION_FASTER
		     : isfinite(high) && high < 0                   ? DECISION_SLOWER
								    : DECISION_UNCLEAR;
}

/* The same by joules, against what the parent needed. They are no pairs and have no interval: what differs by less than 1 % is the
 * same. */
static void judge_weighed(const struct optimizer *o, const struct optimizer_tuned *t, struct decision *d)
{
	int at = graph_find(&o->graph, d->checkpoint);
	const struct graph_node *start = &o->graph.nodes[0], *parent = &o->graph.nodes[at < 0 ? 0 : at];
	double gain = 0;
	if (d->kind == DECISION_MEASURE || d->outcome == DECISION_WRONG)
		return;
	d->outcome = DECISION_UNCLEAR;
	d->gain = d->low = d->high = NAN;
	for (size_t i = 0; i < t->count; i++) {
		double score = energy_score(o->q->objective, t->sizes[i].median_ns, t->sizes[i].joules);
		bool known = i < start->size_count && i < parent->size_count;
		gain += known ? (-log(score) - start->sizes[i] - (at > 0 ? parent->sizes[i] : 0)) / (double)t->count : (double)NAN;
	}
	if (t->count == 0 || !isfinite(gain))
		return;
	d->gain = exp(gain);
	d->outcome = gain > COMPARE_MARGIN ? DECISION_FASTER : gain < -COMPARE_MARGIN ? DECISION_SLOWER : DECISION_SAME;
}

static void judge(const struct optimizer *o, const struct optimizer_tuned *t, struct decision *d)
{
	judge_tuned(t, d);
	if (optimizer_graph_weighs(o))
		judge_weighed(o, t, d);
}

static json_t *tune_request(const struct optimizer *o, int64_t checkpoint)
{
	const struct optimizer_request *q = o->q;
	json_t *request = json_pack("{s:I, s:I, s:b}", "checkpoint", (json_int_t)checkpoint, "budget",
				    (json_int_t)(q->tune ? q->tune : TUNE), "resume", 1);
	put(request, "device", q->subject.device);
	put(request, "sizes", q->sizes);
	put(request, "objective", q->objective);
	return request;
}

static json_t *profile_request(const struct optimizer *o, int64_t checkpoint)
{
	json_t *request = json_pack("{s:I}", "checkpoint", (json_int_t)checkpoint);
	put(request, "device", o->q->subject.device);
	put(request, "sizes", o->q->sizes);
	return request;
}

static int submit_later(struct optimizer *o, struct decision *d, struct child c, json_t *take_request, struct err *e)
{
	json_object_set_new(take_request, "device", json_string(o->q->batch));
	json_object_set_new(take_request, "later", json_true());
	return begin_child(o, d, c, take_request, true, e);
}

/* Tune and profile travel together, so that one drain is enough; the decision is settled when their results are merged. */
static int measure_elsewhere(struct optimizer *o, struct decision *d, int64_t checkpoint, struct err *e)
{
	int rc = submit_later(o, d, (struct child){ &d->tune_job, &work_tune, NULL }, tune_request(o, checkpoint), e);
	if (rc == 0 && has(o, "profile"))
		rc = submit_later(o, d, (struct child){ &d->profile_job, &work_profile, NULL }, profile_request(o, checkpoint), e);
	d->outcome = DECISION_WAITING;
	return rc;
}

static int measure(struct optimizer *o, struct decision *d, int64_t checkpoint, struct err *e)
{
	if (o->q->batch)
		return measure_elsewhere(o, d, checkpoint, e);
	struct optimizer_tuned t;
	layout_init(&optimizer_tuned_layout, &t);
	int rc = run_child(o, d, (struct child){ &d->tune_job, &work_tune, &optimizer_tuned_layout }, tune_request(o, checkpoint),
			   &t, e);
	if (rc == 0)
		judge(o, &t, d);
	layout_fini(&optimizer_tuned_layout, &t);
	return rc;
}

/* What a profile cannot be had of is searched without it. */
static int profile(struct optimizer *o, struct decision *d, int64_t checkpoint, struct err *e)
{
	struct err why = ERR_INIT;
	struct optimizer_tuned unused;
	layout_init(&optimizer_tuned_layout, &unused);
	int rc = run_child(o, d, (struct child){ &d->profile_job, &work_profile, &optimizer_tuned_layout },
			   profile_request(o, checkpoint), &unused, &why);
	layout_fini(&optimizer_tuned_layout, &unused);
	if (rc < 0 && is_fatal(o, &why)) {
		*e = why;
		return rc;
	}
	if (rc < 0)
		log_info("job %s: checkpoint %lld is not profiled: %s", o->job->id, (long long)checkpoint, why.text);
	return 0;
}

/* --- code ------------------------------------------------------------------------------------------------------------------- */

/* How often this was tried at this checkpoint before: recordings tell tries apart. */
static json_int_t try_number(const struct optimizer *o, const struct decision *d)
{
	json_int_t n = 1;
	for (size_t i = 0; i < o->decisions.count; i++) {
		const struct decision *was = &o->decisions.at[i];
		n += was->seq < d->seq && was->checkpoint == d->checkpoint && was->kind == DECISION_EXPERIMENT &&
		     was->transformation && strcmp(was->transformation, d->transformation) == 0;
	}
	return n;
}

static json_t *transform_request(const struct optimizer *o, const struct decision *d)
{
	const struct optimizer_request *q = o->q;
	/* Whether to begin afresh is the policy's decision, not the transformation's. */
	json_t *request = json_pack("{s:b, s:i}", "novel", 1, "starts", 1);
	const char *pending = NULL;
	int64_t calls = q->calls;
	for (size_t i = o->inherited; i < o->decisions.count; i++)
		calls -= o->decisions.at[i].seq < d->seq ? o->decisions.at[i].calls : 0;
	if (q->calls)
		json_object_set_new(request, "calls", json_integer(calls > 1 ? calls : 1));
	for (size_t i = 0; d->kind == DECISION_MEND && i < o->decisions.count; i++)
		if (o->decisions.at[i].seq < d->seq && o->decisions.at[i].checkpoint == d->checkpoint && o->decisions.at[i].pending)
			pending = o->decisions.at[i].pending;
	if (pending) {
		put(request, "pending", pending);
	} else {
		char *notes = has(o, "history") ? graph_findings(&o->graph, graph_find(&o->graph, d->checkpoint)) : NULL;
		json_object_set_new(request, "checkpoint", json_integer(d->checkpoint));
		put(request, "transformation", d->transformation);
		json_object_set_new(request, "try", json_integer(try_number(o, d)));
		put(request, "notes", notes);
		free(notes);
	}
	put(request, "device", q->subject.device);
	put(request, "model", q->model);
	put(request, "without", q->without);
	if (d->reviewed)
		json_object_set_new(request, "reviewer", json_string(q->reviewer ? q->reviewer : q->model ? q->model : ""));
	if (q->samples)
		json_object_set_new(request, "samples", json_integer(q->samples));
	return request;
}

/* The same code, but made of the same checkpoint by an earlier search: it is right already, and this search has yet to learn its
 * time. */
static bool is_new_here(const struct optimizer *o, const struct decision *d, int64_t same)
{
	struct checkpoint c;
	struct err ignored = ERR_INIT;
	if (graph_find(&o->graph, same) >= 0 || checkpoint_get(o->job->db, same, &c, &ignored) < 0)
		return false;
	bool is = c.status == CHECKPOINT_ACCEPTED && c.parent_count && c.parents[0] == d->checkpoint;
	checkpoint_fini(&c);
	return is;
}

/* The outcome stays open where a checkpoint was made, which is then measured. */
static int write_code(struct optimizer *o, struct decision *d, struct err *e)
{
	struct transformed t;
	struct err why = ERR_INIT;
	layout_init(&transformed_layout, &t);
	int rc = run_child(o, d, (struct child){ &d->transform_job, &work_transform, &transformed_layout }, transform_request(o, d),
			   &t, &why);
	if (rc < 0 && is_fatal(o, &why)) {
		layout_fini(&transformed_layout, &t);
		*e = why;
		return rc;
	}
	d->calls = t.asked;
	d->tokens_in = t.tokens_in;
	d->tokens_out = t.tokens_out;
	set_note(d, rc < 0 ? why.text : t.summary);
	if (t.same && (d->made == t.same || is_new_here(o, d, t.same)))
		d->made = t.same;
	else if (t.same)
		d->outcome = DECISION_NO_OP;
	else if (t.checkpoint)
		d->made = t.checkpoint;
	else
		d->outcome = rc < 0 && why.code != ERR_MODEL ? DECISION_FAILED : DECISION_WRONG;
	if (rc < 0 && t.pending)
		d->pending = mem_str(t.pending);
	layout_fini(&transformed_layout, &t);
	return decision_save(o->job->db, d, e);
}

static int experiment(struct optimizer *o, struct decision *d, struct err *e)
{
	struct err why = ERR_INIT;
	int rc = write_code(o, d, e);
	if (rc < 0 || d->made == 0)
		return rc;
	rc = measure(o, d, d->made, &why);
	if (rc < 0 && is_fatal(o, &why)) {
		*e = why;
		return rc;
	}
	if (rc < 0) {
		d->outcome = why.code == ERR_WRONG || why.code == ERR_PRUNED ? DECISION_WRONG : DECISION_FAILED;
		set_note(d, why.text);
		return 0;
	}
	return d->outcome == DECISION_FASTER && has(o, "profile") ? profile(o, d, d->made, e) : 0;
}

/* --- words ------------------------------------------------------------------------------------------------------------------ */

static int question(struct optimizer *o, struct decision *d, struct err *e)
{
	int node = graph_find(&o->graph, d->checkpoint), other = d->reference ? graph_find(&o->graph, d->reference) : -1;
	struct prompt prompt = PROMPT_INIT;
	struct work_asked asked = { .calls = d->calls, .tokens_in = d->tokens_in, .tokens_out = d->tokens_out };
	struct err why = ERR_INIT;
	char *answer = NULL, *profiled = NULL, *findings = has(o, "history") ? graph_findings(&o->graph, node) : NULL;
	/* Both are there: the graph was made of them. */
	const struct lineage *l = &o->lines[node].l, *reference = other >= 0 ? &o->lines[other].l : NULL;
	const struct work_known known = { .l = l, .facts = &o->facts, .without = o->q->without };
	int rc = work_known_text(o->w, o->job->db, &known, &profiled, &why);
	const struct question_about about = { .ctx = l->ctx,
					      .reference = reference ? reference->ctx : NULL,
					      .facts = &o->facts,
					      .profile = profiled,
					      .findings = findings,
					      .offers = o->lines[node].offered };
	question_plans(&prompt, &about);
	const struct work_question q = { .model = o->q->model,
					 .name = QUESTION_PLANS,
					 .about = *context_hash(l->ctx),
					 .attempt = o->graph.nodes[node].questions + 1,
					 .prompt = &prompt };
	if (rc == 0)
		rc = work_ask(o->job, &q, &answer, &asked, &why);
	d->calls = asked.calls;
	d->tokens_in = asked.tokens_in;
	d->tokens_out = asked.tokens_out;
	d->outcome = rc < 0 ? DECISION_FAILED : DECISION_ANSWERED;
	set_note(d, rc < 0 ? why.text : answer);
	if (rc < 0 && is_fatal(o, &why))
		*e = why;
	else
		rc = 0;
	prompt_fini(&prompt);
	free(findings);
	free(profiled);
	free(answer);
	return rc;
}

static int is_waiting(struct optimizer *o, const char *job, bool *ret_waits, struct err *e)
{
	struct job row;
	int rc = job_get(o->job->db, job, &row, e);
	if (rc == 0) {
		*ret_waits = !job_state_ended(row.state);
		job_fini(&row);
	}
	return rc;
}

static int settle(struct optimizer *o, struct decision *d, struct err *e)
{
	struct optimizer_tuned t;
	struct err why = ERR_INIT;
	bool waits = false;
	int rc = is_waiting(o, d->tune_job, &waits, e);
	if (rc == 0 && !waits && d->profile_job)
		rc = is_waiting(o, d->profile_job, &waits, e);
	if (rc < 0 || waits)
		return rc;
	layout_init(&optimizer_tuned_layout, &t);
	rc = engine_child_run(o->job, d->tune_job, &optimizer_tuned_layout, &t, &why);
	if (rc < 0 && cancel_asked(&o->job->cancel)) {
		/* The next job that continues the search takes the result. */
		*e = why;
		layout_fini(&optimizer_tuned_layout, &t);
		return rc;
	}
	if (rc < 0) {
		d->outcome = why.code == ERR_WRONG || why.code == ERR_PRUNED ? DECISION_WRONG : DECISION_FAILED;
		set_note(d, why.text);
	} else if (d->kind == DECISION_MEASURE) {
		d->outcome = DECISION_MEASURED;
	} else {
		judge(o, &t, d);
	}
	layout_fini(&optimizer_tuned_layout, &t);
	return decision_save(o->job->db, d, e);
}

int optimizer_step_settle(struct optimizer *o, struct err *e)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < o->decisions.count; i++)
		if (o->decisions.at[i].outcome == DECISION_WAITING && o->decisions.at[i].tune_job)
			rc = settle(o, &o->decisions.at[i], e);
	return rc;
}

static double leased_seconds(const struct engine_job *job)
{
	return (double)atomic_load(&job->spent.leased_ns) / 1e9;
}

int optimizer_step(struct optimizer *o, struct decision *d, struct err *e)
{
	int64_t began = clock_now();
	double leased = leased_seconds(o->job);
	int rc = 0;
	switch (d->kind) {
	case DECISION_MEASURE:
		rc = measure(o, d, d->checkpoint, e);
		d->outcome = d->outcome == DECISION_WAITING ? d->outcome : DECISION_MEASURED;
		if (rc == 0 && d->outcome == DECISION_MEASURED && has(o, "profile"))
			rc = profile(o, d, d->checkpoint, e);
		break;
	case DECISION_EXPERIMENT:
	case DECISION_MEND: rc = experiment(o, d, e); break;
	case DECISION_QUESTION: rc = question(o, d, e); break;
	case DECISION_STOP: d->outcome = DECISION_STOPPED; break;
	}
	d->seconds = (isfinite(d->seconds) ? d->seconds : 0) + (double)(clock_now() - began) / 1e9;
	d->device_seconds = (isfinite(d->device_seconds) ? d->device_seconds : 0) + leased_seconds(o->job) - leased;
	if (rc < 0) {
		/* What it took counts even where it must be done again. */
		struct err ignored = ERR_INIT;
		enum decision_outcome reached = d->outcome;
		d->outcome = DECISION_OPEN;
		decision_save(o->job->db, d, &ignored);
		d->outcome = reached;
		return rc;
	}
	d->ended_ms = clock_wall_ms();
	return decision_save(o->job->db, d, e);
}
