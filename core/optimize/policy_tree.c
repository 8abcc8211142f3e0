/* policy_tree: Monte Carlo tree search as KernelPro (2026) names its parts: UCT (Kocsis, Szepesvari 2006), polynomial progressive widening
 * (Auger and others 2013), the logarithm of the speed-up as reward, dead ends pruned. Its constants were not published. */
#include "core/optimize/policy.h"

#include <math.h>

/* Chosen on the made landscapes of landscape.h over 200 seeds (bench/results/optimize-simulate.json): rewards are scaled to the best one, so
 * C = 0.5 lets a node with half of the reward and a quarter of the visits win. A node may have 2 * visits^0.5 children. */
#define C 0.5
#define WIDEN 2.0
#define ALPHA 0.5

static bool may_widen(const struct graph *g, int node)
{
	const struct graph_node *n = &g->nodes[node];
	return policy_can_expand(g, node, POLICY_ANY) && n->tries < WIDEN * pow(n->visits + 1.0, ALPHA);
}

/* Whether anything can be expanded at or below it. */
static bool is_open(const struct graph *g, int node)
{
	for (size_t i = (size_t)node; i < g->node_count; i++)
		if (graph_is_below(g, (int)i, node) && !policy_is_dead(g, (int)i) && policy_can_expand(g, (int)i, POLICY_ANY))
			return true;
	return false;
}

/* Half of the value is the mean of what was reached below, half the best of it: a search wants one fast kernel, not many good ones. */
static double value(const struct graph *g, int node, double scale)
{
	const struct graph_node *n = &g->nodes[node], *up = &g->nodes[n->parent];
	double q = n->visits ? (n->reward / n->visits + n->best) / 2 : n->gain;
	return q / scale + C * sqrt(log(up->visits + 1.0) / (n->visits + 1.0));
}

static int select_child(const struct graph *g, int node)
{
	double best = g->nodes[g->best].gain, scale = isfinite(best) && best > 0.05 ? best : 0.05;
	int found = -1;
	for (size_t i = (size_t)node + 1; i < g->node_count; i++)
		if (g->nodes[i].parent == node && is_open(g, (int)i) &&
		    (found < 0 || value(g, (int)i, scale) > value(g, found, scale)))
			found = (int)i;
	return found;
}

static void next(const struct graph *g, struct policy_choice *c)
{
	int node = 0;
	for (;;) {
		int child = select_child(g, node);
		bool here = !policy_is_dead(g, node) && policy_can_expand(g, node, POLICY_ANY);
		if (here && (child < 0 || may_widen(g, node)))
			break;
		if (child < 0)
			return;
		node = child;
	}
	policy_expand(g, c, node, POLICY_ANY,
		      node == g->best ? "UCT leads to the fastest checkpoint" : "UCT leads here: little tried for what it reached");
}

const struct policy policy_tree = { "tree", "KernelPro; UCT; progressive widening", "tree search with log speed-ups as reward",
				    next };
