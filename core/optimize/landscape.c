/* landscape: see landscape.h. */
#include "core/optimize/landscape.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

/* How good plans and guidance are. Chosen, not measured. A plan's expectation is off by a factor of 1.35 either way. Guidance names
 * one of three ideas at random and prefers the best of them. What failed can be mended in three of five cases. */
enum { PLANS = 5, DECOYS = 5, MADE = 14 };
#define PLAN_ERROR 0.3
#define PLAN_WIDTH 0.15
#define MENDS 0.6
#define NOISE 0.01

/* --- chance ----------------------------------------------------------------------------------------------------------------- */

struct chance {
	uint64_t state;
};

static double draw(struct chance *c)
{
	return (double)(hash_next(&c->state) >> 11) / 9007199254740992.0;
}

static double draw_normal(struct chance *c)
{
	double u = 1 - draw(c); /* Box and Muller; u is above 0 */
	return sqrt(-2 * log(u)) * cos(2 * M_PI * draw(c));
}

/* --- time ------------------------------------------------------------------------------------------------------------------- */

static double limit_time(const struct landscape *l, unsigned set, int roof)
{
	double t = l->start[roof];
	for (size_t i = 0; i < l->count; i++)
		if (set >> i & 1)
			t *= l->ideas[i].factor[roof];
	return fmax(t, l->floor[roof]);
}

static double gain_of(const struct landscape *l, unsigned set)
{
	double now = 0, start = 0;
	for (int r = 0; r < LANDSCAPE_ROOFS; r++) {
		now += pow(limit_time(l, set, r), 4);
		start += pow(limit_time(l, 0, r), 4);
	}
	return (log(start) - log(now)) / 4;
}

static bool is_allowed(const struct landscape *l, unsigned set, size_t idea)
{
	int needs = l->ideas[idea].needs;
	return !(set >> idea & 1) && (needs < 0 || set >> needs & 1);
}

/* Every idea of the set has what it needs, and none of them fails always. */
static bool is_reachable(const struct landscape *l, unsigned set)
{
	for (size_t i = 0; i < l->count; i++)
		if (set >> i & 1 && (l->ideas[i].fails >= 1 || !is_allowed(l, set & ~(1u << i), i)))
			return false;
	return true;
}

static void find_optimum(struct landscape *l)
{
	l->optimum = 0;
	for (unsigned set = 0; set < 1u << l->count; set++)
		if (is_reachable(l, set))
			l->optimum = fmax(l->optimum, gain_of(l, set));
}

/* --- making ----------------------------------------------------------------------------------------------------------------- */

/* The words by which graph_strategy_of knows them, and the limit that the strategy serves most. */
static const struct {
	const char *word;
	enum graph_strategy strategy;
	int roof;
} kinds[] = {
	{ "fuse", GRAPH_ALGEBRA, 1 },     { "tile", GRAPH_LOCALITY, 0 },       { "vectorize", GRAPH_INSTRUCTIONS, 1 },
	{ "pipeline", GRAPH_OVERLAP, 2 }, { "registers", GRAPH_RESOURCES, 2 },
};

void landscape_make(uint64_t seed, struct landscape *ret_landscape)
{
	struct chance c = { seed * UINT64_C(0x2545f4914f6cdd1d) + 1 };
	struct landscape l = { .count = MADE, .noise = NOISE };
	for (int r = 0; r < LANDSCAPE_ROOFS; r++) {
		l.start[r] = 0.3 + 0.7 * draw(&c);
		l.floor[r] = l.start[r] * (0.05 + 0.15 * draw(&c));
	}
	for (size_t i = 0; i < l.count; i++) {
		struct landscape_idea *x = &l.ideas[i];
		size_t kind = (size_t)(draw(&c) * MEM_COUNT(kinds));
		double luck = draw(&c);
		snprintf(x->name, sizeof x->name, "%s-%zu", kinds[kind].word, i);
		for (int r = 0; r < LANDSCAPE_ROOFS; r++)
			x->factor[r] = exp(0.05 * draw_normal(&c));
		/* A third pays, a third does nothing, a third costs; what costs often opens the way for another one. */
		x->factor[kinds[kind].roof] *= luck < 0.35 ? exp(-0.2 - 0.8 * draw(&c)) : luck > 0.65 ? exp(0.3 * draw(&c)) : 1;
		x->needs = i > 0 && draw(&c) < 0.4 ? (int)(draw(&c) * (double)i) : -1;
		x->fails = 0.1 + 0.3 * draw(&c);
		x->listed = draw(&c) < 0.5;
	}
	find_optimum(&l);
	*ret_landscape = l;
}

int landscape_read(const char *where, const char *text, struct landscape *ret_landscape, struct err *e)
{
	struct landscape l = { .noise = NOISE, .start = { 1, 0, 0 } };
	unsigned number = 0;
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		struct landscape_idea x = { .needs = (int)l.count - 1, .listed = true };
		double ratio;
		number++;
		if (*line == '#' || *line == '\n')
			continue;
		if (sscanf(line, "%63s %lf %lf", x.name, &ratio, &x.fails) != 3 || !(ratio > 0) || !(x.fails >= 0 && x.fails < 1))
			return err_set(e, ERR_INPUT, "%s:%u: expected NAME RATIO FAILS", where, number);
		if (l.count + DECOYS >= LANDSCAPE_IDEAS)
			return err_set(e, ERR_INPUT, "%s:%u: more than %d steps", where, number, LANDSCAPE_IDEAS - DECOYS);
		for (int r = 0; r < LANDSCAPE_ROOFS; r++)
			x.factor[r] = r ? 1 : 1 / ratio;
		l.ideas[l.count++] = x;
	}
	for (size_t i = 0; i < DECOYS; i++) {
		struct landscape_idea x = { .needs = -1, .fails = 1, .listed = true, .factor = { 1, 1, 1 } };
		snprintf(x.name, sizeof x.name, "%s-unfit-%zu", kinds[i].word, i);
		l.ideas[l.count++] = x;
	}
	find_optimum(&l);
	*ret_landscape = l;
	return 0;
}

/* --- searching -------------------------------------------------------------------------------------------------------------- */

/* A node's checkpoint number is 1 + the set of its ideas. */
struct walk {
	const struct landscape *l;
	struct graph g;
	struct chance chance;
	double best; /* true gain */
};

static unsigned set_of(const struct walk *w, int node)
{
	return (unsigned)w->g.nodes[node].checkpoint - 1;
}

static double step_gain(const struct walk *w, int node, size_t idea)
{
	return gain_of(w->l, set_of(w, node) | 1u << idea) - gain_of(w->l, set_of(w, node));
}

static enum advice_class class_of(const struct landscape *l, unsigned set)
{
	int slowest = 0;
	for (int r = 1; r < LANDSCAPE_ROOFS; r++)
		if (limit_time(l, set, r) > limit_time(l, set, slowest))
			slowest = r;
	return (enum advice_class)slowest;
}

static int add_node(struct walk *w, unsigned set, int parent, const char *by)
{
	const struct landscape *l = w->l;
	int node = graph_add_node(&w->g, 1 + (int64_t)set, parent, by), hinted = -1;
	struct graph_node *n = &w->g.nodes[node];
	n->class = class_of(l, set);
	n->gain = node ? gain_of(l, set) + l->noise * draw_normal(&w->chance) : 0;
	w->best = fmax(w->best, gain_of(l, set));
	for (size_t i = 0; i < l->count; i++)
		if (l->ideas[i].listed && is_allowed(l, set, i))
			graph_add_option(&w->g, node, l->ideas[i].name, GRAPH_LIBRARY);
	for (size_t k = 0; k < 3 && n->option_count; k++) {
		int o = (int)(draw(&w->chance) * (double)n->option_count);
		if (graph_pays(n->class, n->options[o].strategy) && (hinted < 0 || draw(&w->chance) < 0.5))
			hinted = o;
	}
	if (hinted >= 0)
		n->options[hinted].source = GRAPH_GUIDANCE;
	return node;
}

/* Five ideas that can be added, each with what it would bring as far as the model knows. */
static void answer(struct walk *w, int node, int trial)
{
	const struct landscape *l = w->l;
	size_t from = (size_t)(draw(&w->chance) * (double)l->count), found = 0;
	for (size_t k = 0; k < l->count && found < PLANS; k++) {
		size_t i = (from + k) % l->count;
		if (!is_allowed(l, set_of(w, node), i))
			continue;
		int o = graph_add_option(&w->g, node, l->ideas[i].name, GRAPH_MODEL);
		struct graph_option *option = &w->g.nodes[node].options[o];
		double hoped = (l->ideas[i].fails >= 1 ? 0 : step_gain(w, node, i)) + PLAN_ERROR * draw_normal(&w->chance);
		option->source = GRAPH_MODEL;
		option->asked = trial;
		option->low = hoped - PLAN_WIDTH;
		option->high = hoped + PLAN_WIDTH;
		option->novelty = 10 * draw(&w->chance);
		found++;
	}
}

static size_t idea_of(const struct landscape *l, const char *name)
{
	size_t i = 0;
	while (i < l->count && strcmp(l->ideas[i].name, name) != 0)
		i++;
	assert(i < l->count);
	return i;
}

static void experiment(struct walk *w, const struct policy_choice *c, struct graph_trial *t)
{
	size_t i = idea_of(w->l, c->text);
	unsigned set = set_of(w, c->node);
	double fails = c->kind == DECISION_MEND && w->l->ideas[i].fails < 1 ? 1 - MENDS : w->l->ideas[i].fails;
	if (!is_allowed(w->l, set, i)) {
		t->outcome = DECISION_FAILED;
	} else if (draw(&w->chance) < fails) {
		t->outcome = DECISION_WRONG;
		t->pending = true;
	} else if (graph_find(&w->g, 1 + (int64_t)(set | 1u << i)) >= 0) {
		t->outcome = DECISION_NO_OP;
	} else {
		t->made = add_node(w, set | 1u << i, c->node, c->text);
		struct graph_node *made = &w->g.nodes[t->made];
		t->step = made->step = made->gain - w->g.nodes[c->node].gain;
		t->outcome = t->step > 0.01 ? DECISION_FASTER : t->step < -0.01 ? DECISION_SLOWER : DECISION_SAME;
	}
}

void landscape_search(const struct landscape *l, const struct policy *policy, unsigned calls, uint64_t seed, double *ret_best)
{
	struct walk w = { .l = l, .chance = { seed * UINT64_C(0x9e3779b97f4a7c15) + 7 } };
	unsigned spent = 0;
	w.g.asks = true;
	w.g.seed = seed;
	add_node(&w, 0, -1, "start");
	while (spent < calls) {
		struct policy_choice c;
		graph_tally(&w.g);
		policy_next(policy, &w.g, &c);
		free(c.reason);
		if (c.kind == DECISION_STOP)
			break;
		struct graph_trial t = { .kind = c.kind, .node = c.node, .reference = c.reference, .made = -1, .step = NAN };
		t.text = (char *)c.text;
		t.outcome = DECISION_ANSWERED;
		if (c.kind != DECISION_QUESTION)
			experiment(&w, &c, &t);
		/* A reviewer is a call of its own. */
		for (unsigned k = 0; k < 1u + c.reviewed && spent < calls; k++)
			ret_best[spent++] = w.best;
		int place = graph_add_trial(&w.g, &t);
		if (c.kind == DECISION_QUESTION)
			answer(&w, c.node, place);
	}
	for (; spent < calls; spent++)
		ret_best[spent] = w.best;
	graph_fini(&w.g);
}
