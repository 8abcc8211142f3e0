/* policy_greedy: always the fastest checkpoint: hill climbing, as most published agents do. */
#include "core/optimize/policy.h"

static void next(const struct graph *g, struct policy_choice *c)
{
	int node = policy_best_open(g, NULL, 0);
	if (node >= 0)
		policy_expand(g, c, node, POLICY_ANY,
			      node == g->best ? "the fastest checkpoint" : "the fastest where anything is left to try");
}

const struct policy policy_greedy = { "greedy", "hill climbing", "always the fastest checkpoint", next };
