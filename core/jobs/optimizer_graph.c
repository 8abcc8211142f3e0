/* optimizer_graph: from rows to a graph; see optimizer.h. */
#include "core/jobs/optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/measure/energy.h"
#include "core/optimize/question.h"
#include "core/record/job.h"

#define ROOF_PERCENT 90.0

/* --- what child jobs found -------------------------------------------------------------------------------------------------- */

static const struct layout_field size_fields[] = {
	{ LAYOUT_AT(struct optimizer_size, size, TEXT) },
	{ LAYOUT_AT(struct optimizer_size, unproven, TEXT) },
	{ LAYOUT_AT(struct optimizer_size, median_ns, REAL) },
	{ LAYOUT_AT(struct optimizer_size, joules, REAL) },
	{ LAYOUT_AT(struct optimizer_size, speedup, REAL) },
	{ LAYOUT_AT(struct optimizer_size, start_speedup, REAL) },
	{ LAYOUT_AS(struct optimizer_size, step, REAL, "step_speedup") },
	{ LAYOUT_AS(struct optimizer_size, low, REAL, "step_speedup_low") },
	{ LAYOUT_AS(struct optimizer_size, high, REAL, "step_speedup_high") },
	{ .name = NULL },
};
static const struct layout size_layout = { "tuned size", sizeof(struct optimizer_size), size_fields };
static const struct layout_field tuned_fields[] = {
	{ LAYOUT_MANY(struct optimizer_tuned, sizes, count, LIST), .of = &size_layout },
	{ .name = NULL },
};
const struct layout optimizer_tuned_layout = { "tune result", sizeof(struct optimizer_tuned), tuned_fields };

struct hint {
	char *try;
};
static const struct layout_field hint_fields[] = { { LAYOUT_AT(struct hint, try, TEXT) }, { .name = NULL } };
static const struct layout hint_layout = { "guidance", sizeof(struct hint), hint_fields };

struct profiled_size {
	char *class;
	double pipe_percent, copy_percent;
	struct hint *hints;
	size_t hint_count;
};
static const struct layout_field profiled_fields[] = {
	{ LAYOUT_AT(struct profiled_size, class, TEXT) },
	{ LAYOUT_AT(struct profiled_size, pipe_percent, REAL) },
	{ LAYOUT_AT(struct profiled_size, copy_percent, REAL) },
	{ LAYOUT_AS(struct profiled_size, hints, LIST, "guidance"), .count = offsetof(struct profiled_size, hint_count),
	  .of = &hint_layout },
	{ .name = NULL },
};
static const struct layout profiled_size_layout = { "profiled size", sizeof(struct profiled_size), profiled_fields };

struct profiled {
	struct profiled_size *sizes;
	size_t count;
};
static const struct layout_field profile_fields[] = {
	{ LAYOUT_MANY(struct profiled, sizes, count, LIST), .of = &profiled_size_layout },
	{ .name = NULL },
};
static const struct layout profile_layout = { "profile result", sizeof(struct profiled), profile_fields };

/* False when the job has no result; the object is to be freed by layout_fini either way. */
static bool read_result(struct db *db, const char *job, const struct layout *l, void *result)
{
	struct job row;
	struct err ignored = ERR_INIT;
	layout_init(l, result);
	if (job == NULL || job_get(db, job, &row, &ignored) < 0)
		return false;
	bool read = row.state == JOB_DONE && row.result && layout_read_text(l, row.result, result, &ignored) >= 0;
	job_fini(&row);
	return read;
}

/* --- nodes ------------------------------------------------------------------------------------------------------------------ */

/* Over the baseline at its own best or, where that was timed on another machine's copy or never, as it starts. The baseline itself
 * is 1. */
static double over_baseline(const struct optimizer *o, const struct optimizer_size *s, bool root)
{
	double speedup = o->q->batch || !isfinite(s->speedup) ? s->start_speedup : s->speedup;
	return root && !(o->q->batch && isfinite(speedup)) ? 0 : log(speedup);
}

bool optimizer_graph_weighs(const struct optimizer *o)
{
	bool weighs = false;
	struct err ignored = ERR_INIT;
	return energy_weighs(o->q->objective, &weighs, &ignored) == 0 && weighs;
}

static void set_gains(struct optimizer *o, int node, const char *job)
{
	struct graph_node *n = &o->graph.nodes[node];
	const struct graph_node *start = &o->graph.nodes[0];
	struct optimizer_tuned t;
	bool root = node == 0 && o->start.id == o->start.root_id;
	if (read_result(o->job->db, job, &optimizer_tuned_layout, &t) && n->size_count == 0) {
		double sum = 0;
		for (size_t i = 0; i < t.count; i++)
			if (t.sizes[i].unproven == NULL || !*t.sizes[i].unproven)
				*MEM_PUSH(n->sizes, n->size_count) =
					optimizer_graph_weighs(o)
						? -log(energy_score(o->q->objective, t.sizes[i].median_ns, t.sizes[i].joules))
						: over_baseline(o, &t.sizes[i], root);
		bool comparable = n->size_count == t.count && t.count && (node == 0 || start->size_count == n->size_count);
		for (size_t i = 0; comparable && i < n->size_count; i++)
			sum += node ? n->sizes[i] -= start->sizes[i] : 0;
		n->gain = comparable ? sum / (double)n->size_count : (double)NAN;
	}
	layout_fini(&optimizer_tuned_layout, &t);
}

/* The names that guidance suggests, where the library has them and they fit. */
static void add_hints(struct graph *g, int node, const char *names)
{
	char *list = mem_str(names), *rest = list;
	for (char *name = strtok_r(list, ", ", &rest); name; name = strtok_r(NULL, ", ", &rest))
		for (size_t i = 0; i < g->nodes[node].option_count; i++)
			if (strcmp(g->nodes[node].options[i].text, name) == 0 && g->nodes[node].options[i].source == GRAPH_LIBRARY)
				g->nodes[node].options[i].source = GRAPH_GUIDANCE;
	free(list);
}

static void set_profile(struct optimizer *o, int node, const char *job)
{
	struct graph_node *n = &o->graph.nodes[node];
	struct profiled p;
	double roof = isfinite(o->q->roof) ? o->q->roof : ROOF_PERCENT;
	if (read_result(o->job->db, job, &profile_layout, &p)) {
		n->near_roof = p.count > 0;
		for (size_t i = 0; i < p.count; i++) {
			const struct profiled_size *s = &p.sizes[i];
			n->near_roof = n->near_roof && fmax(s->pipe_percent, s->copy_percent) >= roof;
			for (enum advice_class c = 0; s->class && c < ADVICE_CLASSES; c++)
				if (strcmp(s->class, advice_class_names[c]) == 0)
					n->class = c;
			for (size_t k = 0; k < s->hint_count; k++)
				if (s->hints[k].try)
					add_hints(&o->graph, node, s->hints[k].try);
		}
	}
	layout_fini(&profile_layout, &p);
}

static void read_offers(const struct optimizer *o, struct optimizer_line *line)
{
	struct library_offers offers;
	struct buf text = BUF_INIT;
	library_offers(o->w->library, line->l.ctx, &o->facts, (const char *const *)line->l.applied, line->l.applied_count, &offers);
	for (size_t i = 0; i < offers.offered; i++) {
		const struct transformation *t = offers.at[i].t;
		*MEM_PUSH(line->offers, line->offer_count) = mem_str(t->name);
		buf_addf(&text, "- %s: %s\n", t->name, t->summary);
	}
	line->offered = buf_steal(&text);
	library_offers_fini(&offers);
}

const struct optimizer_line *optimizer_graph_line(struct optimizer *o, int node, struct err *e)
{
	while (o->line_count <= (size_t)node)
		*MEM_PUSH(o->lines, o->line_count) = (struct optimizer_line){ .offers = NULL };
	struct optimizer_line *line = &o->lines[node];
	if (line->l.id)
		return line;
	if (lineage_load(o->job->db, o->graph.nodes[node].checkpoint, &line->l, e) < 0)
		return NULL;
	read_offers(o, line);
	return line;
}

static int add_offers(struct optimizer *o, int node, struct err *e)
{
	const struct optimizer_line *line = optimizer_graph_line(o, node, e);
	if (line == NULL)
		return -(int)e->code;
	for (size_t i = 0; i < line->offer_count; i++)
		graph_add_option(&o->graph, node, line->offers[i], GRAPH_LIBRARY);
	return 0;
}

/* --- decisions -------------------------------------------------------------------------------------------------------------- */

static int add_decision(struct optimizer *o, const struct decision *d, struct err *e)
{
	struct graph *g = &o->graph;
	int node = graph_find(g, d->checkpoint), made = d->made ? graph_find(g, d->made) : -1, rc = 0;
	if (node < 0)
		return err_set(e, ERR_INTERNAL, "decision %lld is about a checkpoint that this search did not make",
			       (long long)d->seq);
	if (d->made && made < 0) {
		made = graph_add_node(g, d->made, node, d->transformation ? d->transformation : "");
		rc = add_offers(o, made, e);
	}
	int subject = made >= 0 ? made : node;
	if (d->kind == DECISION_MEASURE || d->made)
		set_gains(o, subject, d->tune_job);
	if (d->profile_job)
		set_profile(o, subject, d->profile_job);
	if (made >= 0 && made != node)
		g->nodes[made].step = g->nodes[made].gain - g->nodes[node].gain;
	const struct graph_trial trial = { .kind = d->kind,
					   .node = node,
					   .reference = d->reference ? graph_find(g, d->reference) : -1,
					   .made = made,
					   .text = d->transformation,
					   .note = d->kind == DECISION_QUESTION ? NULL : d->note,
					   .outcome = d->outcome,
					   .step = isfinite(d->gain) ? log(d->gain) : (double)NAN,
					   .pending = d->pending != NULL };
	int place = graph_add_trial(g, &trial);
	if (d->kind == DECISION_QUESTION && d->note)
		question_read_plans(d->note, g, node, place);
	return rc;
}

int optimizer_graph_load(struct optimizer *o, struct err *e)
{
	struct graph *g = &o->graph;
	graph_fini(g);
	g->seed = (uint64_t)(o->q->seed < 0 ? 1 : o->q->seed);
	g->asks = o->q->policy == NULL || strcmp(o->q->policy, "sequence") != 0;
	g->sequence = o->sequence;
	g->sequence_count = o->sequence_count;
	graph_add_node(g, o->start.id, -1, "start");
	int rc = add_offers(o, 0, e);
	for (size_t i = 0; rc == 0 && i < o->decisions.count; i++)
		rc = add_decision(o, &o->decisions.at[i], e);
	graph_tally(g);
	return rc;
}

void optimizer_graph_fini(struct optimizer *o)
{
	graph_fini(&o->graph);
	for (size_t i = 0; i < o->line_count; i++) {
		lineage_fini(&o->lines[i].l);
		mem_free_texts(o->lines[i].offers, o->lines[i].offer_count);
		free(o->lines[i].offered);
	}
	free(o->lines);
}
