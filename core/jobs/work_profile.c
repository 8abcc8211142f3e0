/* work_profile: the job behind the profile tool: a checkpoint at its best, at every asked size; see work.h. */
#include "core/jobs/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/knowledge/knowledge.h"
#include "core/measure/compare.h"
#include "core/measure/difference.h"
#include "core/measure/profile.h"

struct request {
	struct work_subject subject;
	char *sizes;     /* one assignment; NULL: every declared size */
	int64_t against; /* another checkpoint, whose profile this one is compared with; 0: none */
	bool probes;     /* also what would be if loads, stores or barriers were free */
};

static const struct layout_field request_fields[] = {
	{ LAYOUT_AT(struct request, subject, PART), .of = &work_subject_layout },
	{ LAYOUT_AT(struct request, sizes, TEXT) },
	{ LAYOUT_AT(struct request, against, ID) },
	{ LAYOUT_AT(struct request, probes, BOOL), .flags = LAYOUT_OPTIONAL },
	{ .name = NULL },
};
static const struct layout request_layout = { "profile request", sizeof(struct request), request_fields };

/* What a micro-profiling tool says. */
struct hint {
	char *tool, *evidence, *guidance, *try;
};

static const struct layout_field hint_fields[] = {
	{ LAYOUT_AT(struct hint, tool, TEXT), .say = "%: " },
	{ LAYOUT_AT(struct hint, evidence, TEXT), .say = "%. " },
	{ LAYOUT_AT(struct hint, guidance, TEXT), .say = "%" },
	{ LAYOUT_AT(struct hint, try, TEXT), .say = " Try: %" },
	{ .name = NULL },
};
static const struct layout hint_layout = { "guidance", sizeof(struct hint), hint_fields };

/* What if something were free? */
struct probe {
	char *free;
	double ratio, low, high;
	char *why; /* there is no ratio */
};

static const struct layout_field probe_fields[] = {
	{ LAYOUT_AT(struct probe, free, TEXT), .say = "if % were free" },
	{ LAYOUT_AT(struct probe, ratio, REAL), .say = ": % times as fast" },
	{ LAYOUT_AT(struct probe, low, REAL), .say = " (% to" },
	{ LAYOUT_AT(struct probe, high, REAL), .say = " %)" },
	{ LAYOUT_AT(struct probe, why, TEXT), .say = ": %" },
	{ .name = NULL },
};
static const struct layout probe_layout = { "probe", sizeof(struct probe), probe_fields };

/* A kernel of the plan; copies and memsets are rows, too. */
struct kernel {
	char *kernel;
	int64_t launches;
	double ns, percent; /* of one cold execution */
	int64_t registers, shared_bytes, spill_bytes;
	char *instructions, *traffic, *waits;
};

static const struct layout_field kernel_fields[] = {
	{ LAYOUT_AT(struct kernel, kernel, TEXT), .say = "%: " },
	{ LAYOUT_AT(struct kernel, ns, REAL), .unit = "ns", .say = "%" },
	{ LAYOUT_AT(struct kernel, percent, REAL), .unit = "%", .say = " (%)" },
	{ LAYOUT_AT(struct kernel, launches, INT), .say = " in % launches" },
	{ LAYOUT_AT(struct kernel, registers, COUNT), .say = ", % registers", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct kernel, shared_bytes, COUNT), .say = ", % bytes of shared memory", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct kernel, spill_bytes, COUNT), .say = ", % spilled", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct kernel, instructions, TEXT), .say = "\n      %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct kernel, traffic, TEXT), .say = "\n      %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct kernel, waits, TEXT), .say = "\n      waits: %", .flags = LAYOUT_DETAIL },
	{ .name = NULL },
};
static const struct layout kernel_layout = { "kernel", sizeof(struct kernel), kernel_fields };

/* A figure that the tools ask about. */
struct figure {
	char *name, *unit;
	double value;
};

static const struct layout_field figure_fields[] = {
	{ LAYOUT_AT(struct figure, name, TEXT) },
	{ LAYOUT_AT(struct figure, value, REAL) },
	{ LAYOUT_AT(struct figure, unit, TEXT) },
	{ .name = NULL },
};
static const struct layout figure_layout = { "figure", sizeof(struct figure), figure_fields };

/* What differs from the other checkpoint's profile. */
struct change {
	char *what, *unit;
	double before, after; /* 0 for a kernel that is not there */
};

static const struct layout_field change_fields[] = {
	{ LAYOUT_AT(struct change, what, TEXT), .say = "%: " },
	{ LAYOUT_AT(struct change, before, REAL), .say = "%" },
	{ LAYOUT_AT(struct change, after, REAL), .say = " → %" },
	{ LAYOUT_AT(struct change, unit, TEXT), .say = " %" },
	{ .name = NULL },
};
static const struct layout change_layout = { "change", sizeof(struct change), change_fields };

/* The other checkpoint, timed in pairs with this one. */
struct other {
	int64_t against;
	double ratio, low, high;                /* how many times as fast this one is */
	double before_gflops, before_intensity; /* for a roofline picture */
	struct change *changes;
	size_t change_count;
};

static const struct layout_field other_fields[] = {
	{ LAYOUT_AT(struct other, against, ID), .say = "\n  against checkpoint %" },
	{ LAYOUT_AT(struct other, ratio, REAL), .unit = "ratio", .say = ": % times as fast" },
	{ LAYOUT_AT(struct other, low, REAL), .unit = "ratio", .say = " (% to" },
	{ LAYOUT_AT(struct other, high, REAL), .unit = "ratio", .say = " %)" },
	{ LAYOUT_MANY(struct other, changes, change_count, LIST), .of = &change_layout, .say = "\n    " },
	{ LAYOUT_AT(struct other, before_gflops, REAL), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct other, before_intensity, REAL), .flags = LAYOUT_DETAIL },
	{ .name = NULL },
};
static const struct layout other_layout = { "other checkpoint", sizeof(struct other), other_fields };

/* At one input size. More than 20 fields, since each is a figure of the answer. */
struct size {
	char *size, *params;
	double cold_ns, warm_ns; /* medians */
	double rse;              /* relative standard error of the cold one */
	int64_t samples, discarded;
	double gflops;
	char *load;           /* what others did meanwhile on a CPU that is the device; NULL */
	double joules, watts; /* of one execution, and while it was repeated */
	char *energy;         /* why there is no energy; NULL */
	char *conditions;     /* of the device beside the last sample */
	char *pipe;           /* the execution pipe whose ceiling is nearest */
	double pipe_percent, copy_percent;
	double gbs, intensity; /* of the bytes that must move; FLOP/byte */
	struct work_library library;
	int64_t registers, shared_bytes, spill_bytes;
	char *metrics;     /* what the user's evaluators gave; NULL */
	int64_t evidence;  /* validation */
	char *class, *why; /* what limits it, and the figures behind that */
	struct hint *hints;
	size_t hint_count;
	struct probe *probes;
	size_t probe_count;
	struct figure *figures;
	size_t figure_count;
	char *closed; /* which tools could not be asked */
	struct kernel *kernels;
	size_t kernel_count;
	struct other other;
	char *views; /* which views are closed, and why; NULL: none is */
};

static const struct layout_field size_fields[] = {
	{ LAYOUT_AT(struct size, size, TEXT), .say = "%: " },
	{ LAYOUT_AT(struct size, class, TEXT), .say = "limited by %", .about = "memory, compute, latency or launch" },
	{ LAYOUT_AT(struct size, why, TEXT), .say = " (%)", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AS(struct size, hints, LIST, "guidance"), .count = offsetof(struct size, hint_count), .of = &hint_layout,
	  .say = "\n  - " },
	{ LAYOUT_MANY(struct size, probes, probe_count, LIST), .of = &probe_layout, .say = "\n  " },
	{ LAYOUT_AT(struct size, cold_ns, REAL), .unit = "ns", .say = "\n  cold %" },
	{ LAYOUT_AT(struct size, warm_ns, REAL), .unit = "ns", .say = ", warm %" },
	{ LAYOUT_AT(struct size, gflops, REAL), .say = ", % GFLOP/s", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, gbs, REAL), .say = ", % GB/s", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, pipe_percent, REAL), .unit = "%", .say = ", %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, pipe, TEXT), .say = " of the % ceiling", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, copy_percent, REAL), .unit = "%", .say = ", % of the copy ceiling", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, load, TEXT), .say = "; %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, joules, REAL), .unit = "J", .say = "; % an execution", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, watts, REAL), .unit = "W", .say = " at %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, energy, TEXT), .say = "; energy: %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, library, PART), .of = &work_library_layout },
	{ LAYOUT_AT(struct size, registers, COUNT), .say = "; % registers", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, shared_bytes, COUNT), .say = "; % bytes of shared memory", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, spill_bytes, COUNT), .say = ", % spilled", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, metrics, TEXT), .say = "; %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, params, TEXT), .say = "; %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, evidence, ID), .say = "; evidence %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_MANY(struct size, kernels, kernel_count, LIST), .of = &kernel_layout, .say = "\n  " },
	{ LAYOUT_AT(struct size, closed, TEXT), .say = "\n  not asked: %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, other, PART), .of = &other_layout },
	{ LAYOUT_AT(struct size, views, TEXT), .say = "\n  closed: %", .flags = LAYOUT_DETAIL },
	{ LAYOUT_MANY(struct size, figures, figure_count, LIST), .of = &figure_layout, .say = "", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, intensity, REAL), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, rse, REAL), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, samples, INT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, discarded, INT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct size, conditions, TEXT), .flags = LAYOUT_DETAIL },
	{ .name = NULL },
};
static const struct layout size_layout = { "profiled size", sizeof(struct size), size_fields };

/* An expert's note that fits what was found. */
struct noted {
	char *note, *standing, *technique; /* its name as a transformation; what was measured of it on such devices */
};

static const struct layout_field noted_fields[] = {
	{ LAYOUT_AT(struct noted, note, TEXT), .say = "%" },
	{ LAYOUT_AT(struct noted, standing, TEXT), .say = " (%)" },
	{ LAYOUT_AT(struct noted, technique, TEXT), .say = ": %" },
	{ .name = NULL },
};
static const struct layout noted_layout = { "note", sizeof(struct noted), noted_fields };

struct result {
	struct size *sizes;
	size_t count;
	struct noted *notes;
	size_t note_count;
};

static const struct layout_field result_fields[] = {
	{ LAYOUT_MANY(struct result, sizes, count, LIST), .of = &size_layout },
	{ LAYOUT_AT(struct result, count, ID), .flags = LAYOUT_DETAIL | LAYOUT_WRITTEN },
	{ LAYOUT_MANY(struct result, notes, note_count, LIST), .of = &noted_layout, .say = "\n  note " },
	{ .name = NULL },
};
static const struct layout result_layout = { "profile result", sizeof(struct result), result_fields };

static char *metrics_text(const struct external_metrics *m)
{
	struct buf text = BUF_INIT;
	for (size_t k = 0; k < m->count; k++)
		buf_addf(&text, "%s%s %.6g%s%s", k ? "; " : "", m->at[k].name, m->at[k].value, *m->at[k].unit ? " " : "",
			 m->at[k].unit);
	for (size_t k = 0; k < m->skipped_count; k++)
		buf_addf(&text, "%s%s", text.len ? "; " : "", m->skipped[k]);
	char *all = text.len ? buf_steal(&text) : NULL;
	buf_fini(&text);
	return all;
}

static void tell_guidance(const struct profile_result *r, struct size *s)
{
	s->class = mem_str(r->class);
	s->why = mem_str(r->why);
	s->closed = r->figures.uncounted && r->closed ? mem_fmt("%s; %s", r->closed, r->figures.uncounted) : mem_str(r->closed);
	for (size_t i = 0; i < r->advice_count; i++) {
		const struct advice *a = &r->advice[i];
		*MEM_PUSH(s->hints, s->hint_count) = (struct hint){ .tool = mem_str(a->tool),
								    .evidence = mem_str(a->evidence),
								    .guidance = mem_str(a->text),
								    .try = mem_str(a->try) };
	}
	for (int p = WIRE_PROBE_NONE + 1; p < WIRE_PROBES; p++)
		if (r->probes[p].why || r->probes[p].ratio > 0)
			*MEM_PUSH(s->probes, s->probe_count) = (struct probe){ .free = mem_str(probe_names[p]),
									       .ratio = r->probes[p].ratio,
									       .low = r->probes[p].low,
									       .high = r->probes[p].high,
									       .why = mem_str(r->probes[p].why) };
	for (size_t i = 0; i < figures_known_count; i++)
		if (isfinite(r->figures.values[i]))
			*MEM_PUSH(s->figures, s->figure_count) = (struct figure){ .name = mem_str(figures_known[i].name),
										  .unit = mem_str(figures_known[i].unit),
										  .value = r->figures.values[i] };
}

static void tell_kernels(const struct profile_result *r, struct size *s)
{
	struct buf closed = BUF_INIT;
	const char *const views[][2] = { { "instructions", r->no_sass },
					 { "counters", r->no_counters },
					 { "stalls", r->no_stalls } };
	for (size_t i = 0; i < r->kernels.count; i++) {
		const struct kernel_profile *k = &r->kernels.at[i];
		*MEM_PUSH(s->kernels, s->kernel_count) = (struct kernel){ .kernel = mem_str(k->name),
									  .launches = (int64_t)k->launches,
									  .ns = k->ns,
									  .percent = 100 * k->share,
									  .registers = k->registers,
									  .shared_bytes = k->shared,
									  .spill_bytes = k->spill,
									  .instructions = mem_str(k->instructions),
									  .traffic = mem_str(k->traffic),
									  .waits = mem_str(k->waits) };
	}
	for (size_t i = 0; i < MEM_COUNT(views); i++)
		if (views[i][1]) {
			bool goes_on = i + 1 < MEM_COUNT(views) && views[i + 1][1] && strcmp(views[i][1], views[i + 1][1]) == 0;
			buf_addf(&closed, goes_on ? "%s, " : "%s (%s)%s", views[i][0], views[i][1],
				 i + 1 < MEM_COUNT(views) && views[i + 1][1] ? "; " : "");
		}
	s->views = closed.len ? buf_steal(&closed) : NULL;
	buf_fini(&closed);
}

static void describe(const struct profile_result *r, const char *size, const struct params *params, struct size *s)
{
	struct params *tuning = params_part(params, true);
	const char *conditions = r->cold.conditions ? r->cold.conditions : "", *last = strrchr(conditions, '\n');
	layout_init(&size_layout, s);
	s->size = mem_str(size);
	s->params = params_text(tuning);
	s->cold_ns = r->cold.median;
	s->warm_ns = r->warm.median;
	s->rse = r->cold.rse;
	s->samples = (int64_t)r->cold.count;
	s->discarded = (int64_t)(r->cold.discarded + r->warm.discarded);
	s->gflops = r->flops / r->cold.median;
	s->gbs = figures_get(&r->figures, "gbs");
	s->intensity = figures_get(&r->figures, "intensity");
	s->load = *r->load ? mem_str(r->load) : NULL;
	s->joules = r->energy.joules;
	s->watts = r->energy.watts;
	if (!isfinite(r->energy.joules))
		s->energy = mem_str(r->energy.note && *r->energy.note ? r->energy.note : "not available");
	s->conditions = mem_str(last ? last + 1 : conditions);
	s->pipe = mem_str(r->pipe);
	s->pipe_percent = 100 * r->pipe_share;
	s->copy_percent = 100 * r->copy_share;
	work_library_set(&s->library, r->library.name, r->library.why, r->library.paired.ratio, r->library.paired.low,
			 r->library.paired.high);
	s->registers = r->registers;
	s->shared_bytes = r->shared;
	s->spill_bytes = r->spill;
	s->metrics = metrics_text(&r->more);
	s->evidence = r->evidence;
	tell_guidance(r, s);
	tell_kernels(r, s);
	params_free(tuning);
}

/* Everything that the profiles of one job share. */
struct asked {
	struct engine_job *job;
	const struct request *request;
	const struct facts *facts;
	const struct advisors *advisors;
};

static int profile_one(const struct asked *a, const struct lineage *l, const struct params *params, struct profile_result *ret,
		       struct err *e)
{
	struct eval ev = work_eval(a->job);
	struct profile_request q = { .ctx = l->ctx,
				     .baseline = l->root,
				     .params = params,
				     .facts = a->facts,
				     .probes = a->request->probes,
				     .advisors = a->advisors };
	return profile_run(&ev, &q, a->job->db, l->id, a->job->id, ret, e);
}

static void tell_changes(const struct profile_result *before, const struct profile_result *after, const struct trial_paired *p,
			 struct other *o)
{
	struct differences list = { .at = NULL };
	o->ratio = 1 / p->ratio;
	o->low = 1 / p->high;
	o->high = 1 / p->low;
	o->before_gflops = figures_get(&before->figures, "gflops");
	o->before_intensity = figures_get(&before->figures, "intensity");
	difference_kernels(&before->kernels, &after->kernels, &list);
	difference_figures(&before->figures, &after->figures, &list);
	difference_sort(&list);
	for (size_t i = 0; i < list.count; i++)
		*MEM_PUSH(o->changes, o->change_count) =
			(struct change){ .what = mem_str(list.at[i].what),
					 .unit = *list.at[i].unit ? mem_str(list.at[i].unit) : NULL,
					 .before = isfinite(list.at[i].before) ? list.at[i].before : 0,
					 .after = isfinite(list.at[i].after) ? list.at[i].after : 0 };
	difference_fini(&list);
}

/* Profiles the other checkpoint too, and times both in pairs. */
static int profile_other(const struct asked *a, const struct lineage *l, const struct params *size, const struct params *params,
			 const struct profile_result *r, struct other *o, struct err *e)
{
	struct eval ev = work_eval(a->job);
	struct lineage other;
	struct profile_result before;
	struct params *theirs = NULL;
	struct trial_paired p;
	int rc = lineage_load(a->job->db, a->request->against, &other, e);
	if (rc < 0)
		return rc;
	rc = work_best(a->job->db, &other, a->facts, size, false, &theirs, e);
	if (rc == 0)
		rc = profile_one(a, &other, theirs, &before, e);
	if (rc == 0) {
		struct compare_request q = {
			.a = { .checkpoint = other.id, .ctx = other.ctx, .baseline = other.root, .params = theirs },
			.b = { .checkpoint = l->id, .ctx = l->ctx, .baseline = l->root, .params = params },
			.facts = a->facts,
			.brief = true
		};
		rc = compare_run(&ev, &q, a->job->db, a->job->id, &p, e);
		if (rc == 0) {
			o->against = other.id;
			tell_changes(&before, r, &p, o);
			trial_paired_fini(&p);
		}
		profile_result_fini(&before);
	}
	params_free(theirs);
	lineage_fini(&other);
	return rc < 0 ? err_wrap(e, "against") : 0;
}

static int profile_size(const struct asked *a, const struct lineage *l, const struct params *size, struct result *result,
			struct err *e)
{
	struct params *params = NULL;
	struct profile_result r;
	char *text = params_text(size);
	int rc = work_best(a->job->db, l, a->facts, size, false, &params, e);
	if (rc == 0)
		rc = profile_one(a, l, params, &r, e);
	if (rc == 0) {
		rc = knowledge_screen(a->job->db, a->facts, a->advisors, r.advice, r.advice_count, e);
		if (rc == 0)
			describe(&r, text, params, MEM_PUSH(result->sizes, result->count));
		if (rc == 0 && a->request->against)
			rc = profile_other(a, l, size, params, &r, &result->sizes[result->count - 1].other, e);
		profile_result_fini(&r);
	}
	if (rc < 0)
		err_wrap(e, "%s", text);
	params_free(params);
	free(text);
	return rc;
}

enum { NOTES_SHOWN = 3 };

static int tell_notes(struct engine_job *job, const struct lineage *l, const struct facts *facts, struct result *result,
		      struct err *e)
{
	struct notes notes;
	struct knowledge found = { .count = 0 };
	int rc = library_notes(((const struct work *)job->user)->library, &notes, e);
	if (rc < 0)
		return rc;
	const struct knowledge_query q = { .notes = &notes, .facts = facts, .checkpoint = l->id, .ctx = l->ctx };
	rc = knowledge_search(job->db, &q, &found, e);
	for (size_t i = 0; i < found.count && i < NOTES_SHOWN; i++) {
		struct buf standing = BUF_INIT;
		knowledge_say(&found.at[i].standing, &standing);
		*MEM_PUSH(result->notes, result->note_count) =
			(struct noted){ .note = mem_fmt(NOTE_PREFIX "%s", found.at[i].note->name),
					.standing = buf_steal(&standing),
					.technique = mem_str(found.at[i].note->text) };
	}
	knowledge_fini(&found);
	note_fini(&notes);
	return rc;
}

static int run(struct engine_job *job, const void *request, void *result, struct err *e)
{
	const struct request *q = request;
	struct lineage l;
	struct facts facts;
	struct work_sizes sizes = { .count = 0 };
	struct advisors advisors = { .count = 0 };
	int rc = lineage_load(job->db, q->subject.checkpoint, &l, e);
	if (rc < 0)
		return rc;
	rc = work_device(job->user, q->subject.device, context_backend(l.ctx), &facts, e);
	if (rc == 0 && !facts.runs)
		rc = err_set(e, ERR_UNSUPPORTED, "%s only compiles: nothing can be timed on it", facts.id);
	if (rc == 0)
		rc = work_sizes_list(q->sizes, l.ctx, &facts, &sizes, e);
	if (rc == 0)
		rc = library_advisors(((const struct work *)job->user)->library, &advisors, e);
	if (rc == 0) {
		struct library_offers offers;
		library_offers(((const struct work *)job->user)->library, l.ctx, &facts, (const char *const *)l.applied,
			       l.applied_count, &offers);
		library_offers_screen(&offers, &advisors);
		library_offers_fini(&offers);
	}
	struct asked asked = { .job = job, .request = q, .facts = &facts, .advisors = &advisors };
	for (size_t i = 0; rc == 0 && i < sizes.count; i++)
		rc = profile_size(&asked, &l, sizes.at[i], result, e);
	if (rc == 0)
		rc = tell_notes(job, &l, &facts, result, e);
	advice_fini(&advisors);
	work_sizes_fini(&sizes);
	lineage_fini(&l);
	return rc;
}

const struct engine_kind work_profile = { "profile", &request_layout, &result_layout, run };
