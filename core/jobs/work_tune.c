/* work_tune: the job behind the tune tool: every asked size in turn, each seeded with what was fast for the parent; see work.h. */
#include "core/jobs/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/knowledge/knowledge.h"
#include "core/record/checkpoint.h"
#include "core/record/job.h"
#include "core/record/measurement.h"
#include "core/record/speed.h"
#include "core/record/workflow.h"
#include "core/tune/tune.h"

/* Of a parent's best as many as PEAK takes over; the first few of them come before what is known of other sizes and devices. */
enum { PREFER = 128, PREFER_FIRST = 8, IMPORTS = 4 };

struct request {
	struct work_subject subject;
	int64_t budget;                 /* configurations per tune; 0: 128, or any number when there is another budget */
	char *strategy;                 /* NULL: auto */
	char *sizes;                    /* one assignment; NULL: every declared size */
	char *over;                     /* "each" (NULL): a winner per size; "mean", "worst": one for all */
	char *objective;                /* NULL: time */
	double seconds, device_seconds; /* NAN: any */
	int64_t seed;                   /* of the search; negative: 1 */
	bool warm, resume;              /* resume: continues an earlier tune, or answers as it did */
	char *keep; /* "faster": the workflow's head goes back to the parent unless this is faster; NULL: it stays */
};

static const struct layout_field request_fields[] = {
	{ LAYOUT_AT(struct request, subject, PART), .of = &work_subject_layout },
	{ LAYOUT_AT(struct request, budget, ID) },
	{ LAYOUT_AT(struct request, strategy, TEXT) },
	{ LAYOUT_AT(struct request, sizes, TEXT) },
	{ LAYOUT_AT(struct request, over, TEXT) },
	{ LAYOUT_AT(struct request, objective, TEXT) },
	{ LAYOUT_AT(struct request, seconds, REAL), .unit = "s" },
	{ LAYOUT_AT(struct request, device_seconds, REAL), .unit = "s" },
	{ LAYOUT_AT(struct request, seed, COUNT) },
	{ LAYOUT_AT(struct request, warm, BOOL), .flags = LAYOUT_OPTIONAL },
	{ LAYOUT_AT(struct request, resume, BOOL), .flags = LAYOUT_OPTIONAL },
	{ LAYOUT_AT(struct request, keep, TEXT) },
	{ .name = NULL },
};
static const struct layout request_layout = { "tune request", sizeof(struct request), request_fields };

/* At one input size, or at several together. More than 20 fields, since each is a figure of the answer. */
struct tuned_size {
	char *size;
	char *best; /* the winner's tuning parameters */
	double median_ns;
	double gflops, gbs;   /* NAN where the context declares no flops, no bytes */
	double value;         /* of the objective that was asked for; NAN: none was */
	char *unproven;       /* why the figure may not be quoted; NULL */
	int64_t evidence;     /* validation of the winner; 0: none */
	int64_t tried, space; /* configurations: tried, of the valid ones */
	int64_t pruned, refused, wrong, broken, timed, resumed;
	struct work_library library;
	struct speed speed; /* in pairs, over baseline and parent, as it is recorded at the end; of several sizes together: of the
			       first */
	double rse;         /* relative standard error of the winner's samples */
	int64_t samples;    /* negative: no final timing */
	int64_t run;        /* measurement run */
	double device_seconds, seconds, estimated_seconds;
	char *why; /* examples of what failed, a line each */
};

static const struct layout_field size_fields[] = {
	{ LAYOUT_AT(struct tuned_size, size, TEXT), .say = "%: " },
	{ LAYOUT_AT(struct tuned_size, median_ns, REAL), .unit = "ns", .say = "best %" },
	{ LAYOUT_AT(struct tuned_size, gflops, REAL), .say = " (% GFLOP/s)" },
	{ LAYOUT_AT(struct tuned_size, gbs, REAL), .say = " (% GB/s)" },
	{ LAYOUT_AT(struct tuned_size, best, TEXT), .say = " with %;" },
	{ LAYOUT_AT(struct tuned_size, value, REAL), .say = " objective %;", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct tuned_size, unproven, TEXT), .say = " NOT VALIDATED (%);" },
	{ LAYOUT_AT(struct tuned_size, evidence, ID), .say = " evidence %;" },
	{ LAYOUT_AT(struct tuned_size, tried, INT), .say = " % tried", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct tuned_size, space, INT), .say = " of % valid,", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct tuned_size, pruned, INT), .say = " % pruned,", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct tuned_size, refused, INT), .say = " % refused by the compiler,", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct tuned_size, wrong, INT), .say = " % wrong,", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct tuned_size, broken, INT), .say = " % broken", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct tuned_size, speed, PART), .of = &speed_layout },
	{ LAYOUT_AT(struct tuned_size, library, PART), .of = &work_library_layout },
	{ LAYOUT_AT(struct tuned_size, timed, INT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct tuned_size, resumed, ID), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct tuned_size, rse, REAL), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct tuned_size, samples, COUNT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct tuned_size, run, ID), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct tuned_size, device_seconds, REAL), .unit = "s", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct tuned_size, seconds, REAL), .unit = "s", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct tuned_size, estimated_seconds, REAL), .unit = "s", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct tuned_size, why, TEXT), .flags = LAYOUT_DETAIL },
	{ .name = NULL },
};
static const struct layout size_layout = { "tuned size", sizeof(struct tuned_size), size_fields };

static const struct layout_field result_fields[] = {
	{ LAYOUT_MANY(struct work_tuned, sizes, count, LIST), .of = &size_layout },
	{ LAYOUT_AT(struct work_tuned, count, ID), .flags = LAYOUT_DETAIL | LAYOUT_WRITTEN },
	{ LAYOUT_AT(struct work_tuned, kept, TEXT), .say = "%\n", .about = "kept or restored, and why" },
	{ .name = NULL },
};
const struct layout work_tuned_layout = { "tune result", sizeof(struct work_tuned), result_fields };

/* --- what is tried first ------------------------------------------------------------------------------------------------------ */

struct seeds {
	struct params **at;
	size_t count;
};

static void add_seeds(struct seeds *s, const struct context *ctx, const struct measurement_list *list, size_t from, size_t to)
{
	struct err ignored = ERR_INIT;
	struct params *params;
	for (size_t i = from; i < list->count && i < to; i++)
		if (params_parse(ctx, list->at[i].params, false, &params, &ignored) == 0)
			*MEM_PUSH(s->at, s->count) = params;
}

/* The fastest of what was imported for a checkpoint, the newest import first. */
static void add_imported(struct engine_job *job, struct seeds *seeds, const struct context *ctx, int64_t checkpoint)
{
	struct measurement_run_list runs;
	struct measurement_list list;
	struct err ignored = ERR_INIT;
	if (measurement_runs(job->db, checkpoint, &runs, &ignored) < 0)
		return;
	for (size_t i = 0, n = 0; i < runs.count && n < IMPORTS; i++) {
		struct measurement_query q = {
			.checkpoint = checkpoint, .run = runs.at[i].id, .unproven = true, .warm = true, .limit = PREFER_FIRST
		};
		if (strcmp(runs.at[i].strategy, "import") != 0 || measurement_top(job->db, &q, &list, &ignored) < 0)
			continue;
		add_seeds(seeds, ctx, &list, 0, PREFER_FIRST);
		measurement_list_fini(&list);
		n++;
	}
	measurement_run_list_fini(&runs);
}

/* What was fast before is tried first. This checkpoint's and its parent's best at this size on this device come first. Then come
 * their best at other sizes, on other devices and of imported files; then the rest of the first. Validated or not: all are measured
 * anew. */
static void find_preferred(struct engine_job *job, const struct lineage *l, const struct facts *facts, const char *sizes,
			   struct seeds *seeds)
{
	const int64_t ids[] = { l->id, l->parent_id };
	struct context *const ctxs[] = { l->ctx, l->parent };
	struct measurement_list here[2] = { { .count = 0 } }, elsewhere = { .count = 0 };
	struct err ignored = ERR_INIT;
	for (size_t k = 0; k < 2 && ids[k]; k++) {
		struct measurement_query q = {
			.checkpoint = ids[k], .device = facts->uuid, .sizes = sizes, .limit = PREFER, .unproven = true
		};
		if (measurement_top(job->db, &q, &here[k], &ignored) == 0)
			add_seeds(seeds, ctxs[k], &here[k], 0, PREFER_FIRST);
	}
	for (size_t k = 0; k < 2 && ids[k]; k++) {
		struct measurement_query q = { .checkpoint = ids[k], .unproven = true };
		if (measurement_best_each(job->db, &q, &elsewhere, &ignored) == 0)
			add_seeds(seeds, ctxs[k], &elsewhere, 0, PREFER_FIRST);
		measurement_list_fini(&elsewhere);
		add_imported(job, seeds, ctxs[k], ids[k]);
	}
	for (size_t k = 0; k < 2 && ids[k]; k++)
		add_seeds(seeds, ctxs[k], &here[k], PREFER_FIRST, PREFER);
	for (size_t k = 0; k < 2; k++)
		measurement_list_fini(&here[k]);
}

/* --- the answer --------------------------------------------------------------------------------------------------------------- */

/* Why nothing that a tune of this checkpoint finds may be quoted. NULL when it stands; free(). */
static char *why_refuted(struct db *db, int64_t checkpoint)
{
	struct checkpoint c;
	struct err unknown = ERR_INIT;
	char *why = NULL;
	if (checkpoint_get(db, checkpoint, &c, &unknown) < 0)
		return mem_fmt("it is not known whether checkpoint %lld is still valid: %s", (long long)checkpoint, unknown.text);
	if (c.status == CHECKPOINT_FAILED)
		why = mem_fmt("checkpoint %lld was refuted: %s", (long long)checkpoint, c.note ? c.note : "see its validations");
	checkpoint_fini(&c);
	return why;
}

static bool is_top(const struct tune_result *t, const char *best)
{
	bool found = false;
	for (size_t k = 0; k < t->top_count && !found; k++) {
		char *params = params_text(t->top[k].params);
		found = best && strcmp(params, best) == 0;
		free(params);
	}
	return found;
}

/* A run that had ended before is answered as the job did that made it, which knew more than the rows: the library's figure, what it
 * took. False when no such job is left; then the rows describe it. */
static bool describe_known(struct db *db, const struct tune_result *t, struct tuned_size *s)
{
	struct job_list jobs;
	struct err ignored = ERR_INIT;
	bool found = false;
	if (job_list(db, "tune", false, 0, &jobs, &ignored) < 0)
		return false;
	for (size_t k = 0; k < jobs.count && !found; k++) {
		struct work_tuned other;
		layout_init(&work_tuned_layout, &other);
		if (jobs.at[k].state == JOB_DONE && jobs.at[k].result)
			layout_read_text(&work_tuned_layout, jobs.at[k].result, &other, &ignored);
		for (size_t i = 0; i < other.count && !found; i++) {
			struct tuned_size *known = &other.sizes[i];
			found = known->run == t->run && (known->unproven == NULL || *known->unproven == '\0') &&
				is_top(t, known->best);
			if (found) {
				*s = *known;
				layout_init(&size_layout, known);
			}
		}
		layout_fini(&work_tuned_layout, &other);
	}
	job_list_fini(&jobs);
	return found;
}

static void describe(const struct context *ctx, const struct tune_result *t, const char *size, bool objective, struct tuned_size *s)
{
	const struct tune_top *best = &t->top[0];
	struct buf why = BUF_INIT;
	layout_init(&size_layout, s);
	s->size = mem_str(size);
	s->best = params_text(best->params);
	s->median_ns = best->median_ns;
	s->gflops = spec_flops(context_spec(ctx), best->params) / best->median_ns;
	s->gbs = spec_bytes(context_spec(ctx), best->params) / best->median_ns;
	if (best->validation) {
		s->rse = best->rse;
		s->samples = (int64_t)best->samples;
		s->evidence = best->validation;
	} else {
		s->unproven = mem_str("a figure of the search, which was cut off before it validated anything");
	}
	if (objective)
		s->value = best->value;
	s->run = t->run;
	s->space = (int64_t)t->space;
	s->tried = (int64_t)t->tried;
	s->timed = (int64_t)t->timed;
	s->resumed = (int64_t)t->resumed;
	s->pruned = (int64_t)t->pruned;
	s->refused = (int64_t)t->refused;
	s->wrong = (int64_t)t->wrong;
	s->broken = (int64_t)t->broken;
	s->device_seconds = t->device_s;
	s->seconds = (double)t->elapsed_ns / 1e9;
	s->estimated_seconds = t->estimate_s;
	work_library_set(&s->library, t->library.name, t->library.why, t->library.ratio, t->library.low, t->library.high);
	for (size_t k = 0; k < t->why_count; k++)
		buf_addf(&why, "%s\n", t->why[k]);
	s->why = buf_steal(&why);
}

/* The winner in pairs at each size that was tuned, and what the first one's say. */
static int compare_winner(struct engine_job *job, const struct lineage *l, const struct facts *facts, const struct tune_request *q,
			  const struct tune_result *t, struct speed *s, struct err *e)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < q->also_count + 1; i++) {
		struct params *winner = i ? params_merge(t->top[0].params, q->also[i - 1]) : params_copy(t->top[0].params);
		const struct work_pairs_request pairs = {
			.l = l, .facts = facts, .winner = winner, .warm = q->warm, .missing = t->known
		};
		rc = work_pairs(job, &pairs, e);
		params_free(winner);
	}
	char *sizes = params_text(q->size), *params = params_text(t->top[0].params);
	struct speed_query asked = { .checkpoint = l->id,
				     .parent = l->parent_id,
				     .root = l->root_id,
				     .device = facts->uuid,
				     .sizes = sizes,
				     .params = params,
				     .warm = q->warm };
	speed_fini(s);
	speed_of(job->db, &asked, s);
	free(sizes);
	free(params);
	return rc;
}

/* --- the job ------------------------------------------------------------------------------------------------------------------ */

/* Faster at one size at least and slower at none, in pairs with the parent. Appends the figures. */
static bool is_faster(const struct work_tuned *t, struct buf *figures)
{
	bool faster = false, slower = false;
	char text[SPEED_TEXT];
	for (size_t i = 0; i < t->count; i++) {
		const struct speed_ratio *r = &t->sizes[i].speed.parent;
		const char *verdict = t->sizes[i].unproven ? "not validated" : r->verdict ? r->verdict : "not compared";
		buf_addf(figures, "%s%s", i ? ", " : "",
			 verdict == r->verdict && isfinite(r->times) ? speed_words(r, text) : verdict);
		faster |= strcmp(verdict, "faster") == 0;
		slower |= strcmp(verdict, "slower") == 0 || t->sizes[i].unproven;
	}
	return faster && !slower;
}

/* Puts the head back on the parent when the checkpoint is not faster, unless somebody has moved it meanwhile. */
static int settle(struct engine_job *job, const char *workflow, const struct lineage *l, struct work_tuned *result, struct err *e)
{
	struct workflow w = { .name = NULL };
	struct err none = ERR_INIT;
	struct buf figures = BUF_INIT;
	int rc = 0;
	bool faster = is_faster(result, &figures);
	bool head = workflow && *workflow && workflow_get(job->db, workflow, &w, &none) == 0 && w.head == l->id;
	if (!faster && head && l->parent_id)
		rc = workflow_restore(job->db, workflow, l->parent_id, e);
	if (rc == 0 && l->parent_id == 0)
		result->kept = mem_fmt("checkpoint %lld is a baseline, so there is no parent to compare it with", (long long)l->id);
	else if (rc == 0)
		result->kept = mem_fmt("%s: %s as checkpoint %lld%s", faster ? "kept" : "not kept", buf_text(&figures),
				       (long long)l->parent_id,
				       faster ? ""
				       : head ? ", which is the head again"
					      : "; no workflow was moved");
	workflow_fini(&w);
	buf_fini(&figures);
	return rc;
}

/* What is tuned, where, and at which sizes. */
struct subject {
	struct lineage l;
	struct facts *facts; /* of each device; owned */
	size_t devices;
	struct work_sizes sizes;
};

/* One tune: of size number `first`, or of all sizes together. */
static int tune_sizes(struct engine_job *job, const struct request *r, const struct subject *x, struct work_tuned *result,
		      struct err *e)
{
	const struct lineage *l = &x->l;
	const struct facts *facts = x->facts;
	const struct work_sizes *sizes = &x->sizes;
	struct eval ev = work_eval(job);
	struct seeds seeds = { .count = 0 };
	struct tune_result t = { 0 };
	size_t first = result->count;
	bool worst = r->over && strcmp(r->over, "worst") == 0, together = worst || (r->over && strcmp(r->over, "mean") == 0);
	char *size = params_text(sizes->at[first]);
	char *shown = together && sizes->count > 1 ? mem_fmt("%s and %zu more together", size, sizes->count - 1) : mem_str(size);
	find_preferred(job, l, facts, size, &seeds);
	struct tune_request q = {
		.ctx = l->ctx,
		.baseline = l->root,
		.facts = facts,
		.device_count = x->devices,
		.size = sizes->at[first],
		.also = sizes->at + 1,
		.also_count = together ? sizes->count - 1 : 0,
		.worst = worst,
		.objective = r->objective,
		.budget = (size_t)r->budget,
		.seconds = isfinite(r->seconds) ? r->seconds : 0,
		.device_seconds = isfinite(r->device_seconds) ? r->device_seconds : 0,
		.strategy = r->strategy,
		.seed = r->seed < 0 ? 1 : (uint64_t)r->seed,
		.prefer = seeds.at,
		.prefer_count = seeds.count,
		.warm = r->warm,
		.resume = r->resume,
	};
	int rc = tune_run(&ev, &q, job->db, l->id, job->id, &t, e);
	if (t.top_count) {
		struct tuned_size *s = MEM_PUSH(result->sizes, result->count);
		if (!t.known || !describe_known(job->db, &t, s))
			describe(l->ctx, &t, shown, r->objective && *r->objective, s);
		char *refuted = why_refuted(job->db, l->id);
		if (rc == 0 && t.top[0].validation && !refuted) {
			rc = compare_winner(job, l, facts, &q, &t, &s->speed, e);
			refuted = why_refuted(job->db, l->id); /* by a check beside the pairs */
		}
		if (refuted) {
			free(s->unproven);
			s->unproven = refuted;
		}
	}
	if (rc < 0)
		err_wrap(e, "%s", shown);
	tune_result_fini(&t);
	for (size_t i = 0; i < seeds.count; i++)
		params_free(seeds.at[i]);
	free(seeds.at);
	free(shown);
	free(size);
	return rc;
}

static int run(struct engine_job *job, const void *request, void *ret_result, struct err *e)
{
	const struct request *q = request;
	struct work_tuned *result = ret_result;
	struct subject x = { .facts = NULL };
	const char *over = q->over && *q->over ? q->over : "each";
	bool each = strcmp(over, "each") == 0;
	if (!each && strcmp(over, "mean") != 0 && strcmp(over, "worst") != 0)
		return err_set(e, ERR_INPUT, "over: '%s'; expected each (a winner per input size), mean (geometric) or worst",
			       over);
	int rc = lineage_load(job->db, q->subject.checkpoint, &x.l, e);
	if (rc < 0)
		return rc;
	rc = work_devices(job->user, q->subject.device, context_backend(x.l.ctx), &x.facts, &x.devices, e);
	for (size_t i = 0; rc == 0 && i < x.devices; i++)
		rc = knowledge_remember(job->db, &x.facts[i], e);
	if (rc == 0)
		rc = work_sizes_list(q->sizes, x.l.ctx, x.facts, &x.sizes, e);
	for (size_t i = 0; rc == 0 && i < (each ? x.sizes.count : 1); i++)
		rc = tune_sizes(job, q, &x, result, e);
	if (rc == 0 && work_keep_faster(q->keep))
		rc = settle(job, q->subject.workflow, &x.l, result, e);
	free(x.facts);
	work_sizes_fini(&x.sizes);
	lineage_fini(&x.l);
	return rc;
}

int work_keep_check(struct engine_job *job, const struct lineage *l, const struct facts *facts, struct err *e)
{
	struct work_sizes sizes = { .count = 0 };
	struct params *best = NULL;
	int rc = facts->runs ? work_sizes_list(NULL, l->ctx, facts, &sizes, e)
			     : err_set(e, ERR_UNSUPPORTED, "keep: %s only compiles, so nothing can be timed on it", facts->id);
	for (size_t i = 0; rc == 0 && i < sizes.count; i++) {
		rc = work_best(job->db, l, facts, sizes.at[i], false, &best, e);
		params_free(best);
		best = NULL;
	}
	if (rc < 0)
		err_wrap(e, "keep: the edit is to be timed against checkpoint %lld", (long long)l->id);
	work_sizes_fini(&sizes);
	return rc;
}

int work_tune_step(struct engine_job *job, const struct work_tune_step *step, struct work_tuned *result, struct err *e)
{
	struct request q;
	layout_init(&request_layout, &q);
	q.subject.checkpoint = step->checkpoint;
	q.subject.workflow = (char *)step->workflow;
	q.subject.device = (char *)step->device;
	q.budget = step->budget;
	q.keep = (char *)"faster";
	return run(job, &q, result, e);
}

const struct engine_kind work_tune = { "tune", &request_layout, &work_tuned_layout, run };
