/* policy_plan_tree: K-Search (arXiv 2602.19128): plans live apart from code. A plan that was made for a checkpoint stays open for
 * everything that grew out of it; a bad implementation does not kill it. The model revises the plans when the code has changed. */
#include "core/optimize/policy.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* A failed try says less about a plan than about its code: three tries, each lowering what is expected by a quarter. */
enum { TRIES = 3 };
#define DISCOUNT 0.75
#define UNKNOWN 0.1 /* what a library transformation is expected to bring: ln 1.1 */

struct found {
	const struct graph_option *plan;
	double value;
	unsigned tries;
};

/* Tries of a plan on the line that leads to `node`; negative: it is part of it. */
static int tries_on_line(const struct graph *g, int node, const char *text)
{
	int n = 0;
	for (size_t i = 0; i < g->trial_count; i++) {
		const struct graph_trial *t = &g->trials[i];
		if (t->text == NULL || strcmp(t->text, text) != 0 || t->kind == DECISION_QUESTION ||
		    !graph_is_below(g, node, t->node))
			continue;
		bool timed = t->made >= 0 && isfinite(g->nodes[t->made].gain);
		/* Timed code has answered the plan's question, for better or worse. */
		if (timed || t->outcome == DECISION_NO_OP || t->outcome == DECISION_WAITING)
			return -1;
		n++;
	}
	return n;
}

static struct found best_plan(const struct graph *g, int node)
{
	struct found best = { .value = -INFINITY };
	for (int at = node; at >= 0; at = g->nodes[at].parent)
		for (size_t k = 0; k < g->nodes[at].option_count; k++) {
			const struct graph_option *o = &g->nodes[at].options[k];
			int tries = tries_on_line(g, node, o->text);
			double hoped = isfinite(o->low) && isfinite(o->high) ? (o->low + o->high) / 2
				       : o->source == GRAPH_GUIDANCE         ? 2 * UNKNOWN
									     : UNKNOWN;
			double value = hoped * pow(DISCOUNT, tries);
			if (tries >= 0 && tries < TRIES && value > best.value)
				best = (struct found){ o, value, (unsigned)tries };
		}
	return best;
}

static void next(const struct graph *g, struct policy_choice *c)
{
	int node = g->best;
	struct found best = best_plan(g, node);
	/* The first question on new code makes plans where the model has none open, and revises what is left of the older ones. */
	bool stale = best.plan == NULL || (best.plan->source != GRAPH_MODEL && g->nodes[node].questions == 0);
	if (g->asks && g->nodes[node].questions < 2 && (stale || (g->nodes[node].questions == 0 && best.value < UNKNOWN))) {
		bool old = best.plan && best.plan->source == GRAPH_MODEL;
		policy_ask(c, node, -1, mem_str(old ? "the plans are revised for the fastest checkpoint" : "no plan is open"));
		return;
	}
	if (best.plan == NULL)
		return;
	policy_try_text(c, node, best.plan->text,
			mem_fmt("the open plan that promises most, %.2f times as fast%s", exp(best.value),
				best.tries ? "; its last implementation failed, which says little about the plan" : ""));
	c->low = best.plan->low;
	c->high = best.plan->high;
	c->novelty = best.plan->novelty;
}

const struct policy policy_plan_tree = { "plan-tree", "K-Search",
					 "plans stay open apart from code; a failed implementation does not kill one", next };
