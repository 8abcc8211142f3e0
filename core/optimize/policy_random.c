/* policy_random: any node and anything that may be tried there: what the others must beat. */
#include "core/optimize/policy.h"

#include "base/mem.h"

static void next(const struct graph *g, struct policy_choice *c)
{
	size_t open = 0;
	for (size_t i = 0; i < g->node_count; i++)
		open += policy_can_expand(g, (int)i, POLICY_ANY);
	size_t pick = (size_t)(graph_random(g, 1) * (double)open);
	for (size_t i = 0; i < g->node_count; i++) {
		const struct graph_node *n = &g->nodes[i];
		if (!policy_can_expand(g, (int)i, POLICY_ANY) || pick-- != 0)
			continue;
		/* The first untried option at or behind a random one. */
		size_t from = (size_t)(graph_random(g, 2) * (double)n->option_count);
		for (size_t k = 0; k < n->option_count; k++) {
			size_t o = (from + k) % n->option_count;
			if (n->options[o].tries == 0) {
				policy_try(g, c, (int)i, (int)o, mem_str("chosen at random"));
				return;
			}
		}
		policy_expand(g, c, (int)i, POLICY_ANY, "chosen at random");
		return;
	}
}

const struct policy policy_random = { "random", "baseline", "any checkpoint and anything that may be tried on it", next };
