/* policy_beam: the few fastest checkpoints take turns. */
#include "core/optimize/policy.h"

/* Three: at budgets of 10 to 40 experiments a wider beam gives each member too few (bench/results/optimize-simulate.json). */
enum { WIDTH = 3 };

static void next(const struct graph *g, struct policy_choice *c)
{
	int beam[WIDTH], turn = -1;
	for (size_t i = 0; i < WIDTH; i++) {
		beam[i] = policy_best_open(g, beam, i);
		if (beam[i] < 0)
			break;
		const struct graph_node *n = &g->nodes[beam[i]];
		if (turn < 0 || n->tries + n->questions < g->nodes[turn].tries + g->nodes[turn].questions)
			turn = beam[i];
	}
	if (turn >= 0)
		policy_expand(g, c, turn, POLICY_ANY, "its turn among the three fastest");
}

const struct policy policy_beam = { "beam", "beam search", "the three fastest checkpoints take turns", next };
