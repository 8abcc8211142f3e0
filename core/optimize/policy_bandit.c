/* policy_bandit: after KernelBand (arXiv 2511.18868): one arm for each cluster of kernels and strategy, not for each kernel; what
 * limits a cluster masks the strategies that cannot pay. Its clusters and constants were not in the text that was read. */
#include "core/optimize/policy.h"

#include <math.h>

#include "base/mem.h"

/* Clusters are the class by the roofline, and whether the gain is at least half of the best one's: both are measured, and ten
 * clusters are few enough to learn at 40 experiments. UCB1's exploration (Auer and others 2002) is halved, since rewards above 1
 * are rare. */
enum { BANDS = 2, CLUSTERS = (ADVICE_CLASSES + 1) * BANDS };
#define C 0.7

struct arm {
	double reward;
	unsigned pulls;
	int node, option; /* what it would try; option -1: nothing */
};

static unsigned cluster_of(const struct graph *g, int node)
{
	const struct graph_node *n = &g->nodes[node];
	double best = g->nodes[g->best].gain;
	return (unsigned)n->class * BANDS + (isfinite(best) && n->gain >= best / 2);
}

/* What each arm earned: the log of a success, nothing otherwise. */
static void count(const struct graph *g, struct arm arms[CLUSTERS][GRAPH_STRATEGIES])
{
	for (size_t i = 0; i < g->trial_count; i++) {
		const struct graph_trial *t = &g->trials[i];
		if (t->text == NULL || (t->kind != DECISION_EXPERIMENT && t->kind != DECISION_MEND))
			continue;
		struct arm *a = &arms[cluster_of(g, t->node)][graph_strategy_of(t->text)];
		a->pulls++;
		a->reward += isfinite(t->step) ? fmin(fmax(t->step, 0), 1) : 0;
	}
}

/* The fastest kernel of its cluster with something of the strategy left. */
static void fill(const struct graph *g, struct arm arms[CLUSTERS][GRAPH_STRATEGIES])
{
	for (size_t i = 0; i < g->node_count; i++)
		for (enum graph_strategy s = 0; s < GRAPH_STRATEGIES; s++) {
			struct arm *a = &arms[cluster_of(g, (int)i)][s];
			int option = policy_is_dead(g, (int)i) || !graph_pays(g->nodes[i].class, s)
					     ? -1
					     : graph_untried(g, (int)i, 1u << s, GRAPH_LIBRARY);
			if (option >= 0 && (a->option < 0 || g->nodes[i].gain > g->nodes[a->node].gain)) {
				a->node = (int)i;
				a->option = option;
			}
		}
}

static void next(const struct graph *g, struct policy_choice *c)
{
	struct arm arms[CLUSTERS][GRAPH_STRATEGIES], *found = NULL;
	double best = -1;
	for (unsigned k = 0; k < CLUSTERS; k++)
		for (unsigned s = 0; s < GRAPH_STRATEGIES; s++)
			arms[k][s] = (struct arm){ .option = -1 };
	count(g, arms);
	fill(g, arms);
	unsigned strategy = 0;
	for (unsigned k = 0; k < CLUSTERS; k++)
		for (unsigned s = 0; s < GRAPH_STRATEGIES; s++) {
			struct arm *a = &arms[k][s];
			double value = a->pulls ? a->reward / a->pulls + C * sqrt(log(g->trial_count + 1.0) / a->pulls) : 10;
			/* A faster kernel breaks ties between arms that were never pulled. */
			value += a->option >= 0 && isfinite(g->nodes[a->node].gain) ? 1e-3 * g->nodes[a->node].gain : 0;
			if (a->option >= 0 && value > best) {
				best = value;
				found = a;
				strategy = s;
			}
		}
	int fastest = policy_best_open(g, NULL, 0);
	if (g->asks && fastest >= 0 && g->nodes[fastest].questions == 0 && graph_untried(g, fastest, POLICY_ANY, GRAPH_MODEL) < 0)
		policy_ask(c, fastest, -1, mem_str("the arms need plans for the fastest checkpoint"));
	else if (found)
		policy_try(g, c, found->node, found->option,
			   mem_fmt("arm %s of its cluster: %.2f after %u pulls", graph_strategy_names[strategy],
				   found->pulls ? found->reward / found->pulls : 0.0, found->pulls));
	else if (fastest >= 0)
		policy_expand(g, c, fastest, POLICY_ANY, "no arm is left");
}

const struct policy policy_bandit = { "bandit", "KernelBand; UCB1",
				      "arms are clusters of kernels x strategies, masked by what limits them", next };
