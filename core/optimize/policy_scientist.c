/* policy_scientist: GPU Kernel Scientist (arXiv 2506.20807): a base and a reference, five plans out of ten avenues, three
 * experiments: the most innovative plan, the one of the highest maximum, then the highest minimum of those left. */
#include "core/optimize/policy.h"

#include <math.h>

#include "base/mem.h"

enum { RUN = 3, MODES = 3 };

/* The fastest node that is neither above nor below the base. */
static int find_reference(const struct graph *g, int base)
{
	int found = -1;
	for (size_t i = 0; i < g->node_count; i++)
		if (isfinite(g->nodes[i].gain) && !graph_is_below(g, (int)i, base) && !graph_is_below(g, base, (int)i) &&
		    (found < 0 || g->nodes[i].gain > g->nodes[found].gain))
			found = (int)i;
	return found;
}

static double score(const struct graph_option *o, unsigned mode)
{
	double x = mode == 0 ? o->novelty : mode == 1 ? o->high : o->low;
	return isfinite(x) ? x : -1;
}

/* Of the plans that a question gave; *ret_run counts those that were run. */
static int pick(const struct graph *g, int question, unsigned *ret_run)
{
	const struct graph_node *n = &g->nodes[g->trials[question].node];
	int found = -1;
	*ret_run = 0;
	for (size_t k = 0; k < n->option_count; k++)
		*ret_run += n->options[k].asked == question && n->options[k].tries > 0;
	for (size_t k = 0; k < n->option_count; k++) {
		const struct graph_option *o = &n->options[k];
		if (o->asked == question && o->tries == 0 && *ret_run < RUN &&
		    (found < 0 || score(o, *ret_run) > score(&n->options[found], *ret_run)))
			found = (int)k;
	}
	return found;
}

static void next(const struct graph *g, struct policy_choice *c)
{
	static const char *const modes[MODES] = { "the most innovative", "the highest maximum", "the highest minimum" };
	for (size_t i = g->trial_count; i > 0; i--) {
		unsigned run;
		if (g->trials[i - 1].kind != DECISION_QUESTION)
			continue;
		int option = pick(g, (int)i - 1, &run);
		if (option >= 0) {
			policy_try(g, c, g->trials[i - 1].node, option,
				   mem_fmt("experiment %u of 3 of this round: %s", run + 1, modes[run]));
			return;
		}
		break;
	}
	int base = policy_best_open(g, NULL, 0);
	if (base < 0)
		return;
	if (g->asks && policy_can_expand(g, base, 0)) {
		int reference = find_reference(g, base);
		policy_ask(c, base, reference,
			   mem_fmt("a new round: the fastest checkpoint as base%s",
				   reference < 0 ? "" : ", the best of another branch as reference"));
		return;
	}
	policy_expand(g, c, base, POLICY_ANY, "no model plans here");
}

const struct policy policy_scientist = { "scientist", "GPU Kernel Scientist",
					 "five plans a round; three are run: novel, high maximum, high minimum", next };
