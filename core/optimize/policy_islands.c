/* policy_islands: after PIKE (arXiv 2511.16964): islands take turns, and each improves its own best. Code that failed is mended
 * before anything else, and now and then an island learns from another one's best. */
#include "core/optimize/policy.h"

#include <math.h>

#include "base/mem.h"

/* Three islands and an exchange every fourth turn: PIKE's sizes are for thousands of calls; these fit 10 to 40. Mending comes once,
 * since the transformation's own repairs have been used up by then. */
enum { ISLANDS = 3, EXCHANGE = 4 };

/* By the place of the line's first step; the start belongs to all. */
static int island_of(const struct graph *g, int node)
{
	int first = node, place = 0;
	while (g->nodes[first].depth > 1)
		first = g->nodes[first].parent;
	for (int i = 1; i < first; i++)
		place += g->nodes[i].depth == 1;
	return place % ISLANDS;
}

static int best_of(const struct graph *g, int island)
{
	int found = -1;
	for (size_t i = 1; i < g->node_count; i++)
		if (island_of(g, (int)i) == island && !policy_is_dead(g, (int)i) && policy_can_expand(g, (int)i, POLICY_ANY) &&
		    (found < 0 || g->nodes[i].gain > g->nodes[found].gain))
			found = (int)i;
	return found;
}

static bool mend(const struct graph *g, struct policy_choice *c)
{
	const struct graph_trial *t = g->trial_count ? &g->trials[g->trial_count - 1] : NULL;
	if (t == NULL || !t->pending || t->mended || t->kind != DECISION_EXPERIMENT)
		return false;
	policy_try_text(c, t->node, t->text, mem_str("its code failed: mended once"));
	c->kind = DECISION_MEND;
	return true;
}

static void next(const struct graph *g, struct policy_choice *c)
{
	if (mend(g, c))
		return;
	unsigned turns = 0;
	for (size_t i = 0; i < g->trial_count; i++)
		turns += g->trials[i].kind == DECISION_EXPERIMENT;
	int island = (int)(turns % ISLANDS), node = best_of(g, island), other = best_of(g, (island + 1) % ISLANDS);
	if (node >= 0 && other >= 0 && g->asks && turns % EXCHANGE == EXCHANGE - 1 && policy_can_expand(g, node, 0) &&
	    g->trials[g->trial_count - 1].kind != DECISION_QUESTION) {
		policy_ask(c, node, other, mem_fmt("island %d learns from the best of another one", island + 1));
		return;
	}
	if (node < 0 && policy_can_expand(g, 0, POLICY_ANY))
		node = 0;
	if (node < 0)
		node = policy_best_open(g, NULL, 0);
	if (node >= 0)
		policy_expand(g, c, node, POLICY_ANY,
			      node ? "the best of the island whose turn it is" : "an island begins at the start");
}

const struct policy policy_islands = { "islands", "PIKE",
				       "three lines take turns, failures are mended, lines learn from each other", next };
