/* policy: the table of policies and what they share; see policy.h. */
#include "core/optimize/policy.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* A node is asked about twice at most: five plans each are more than the experiments that a node gets. A node is dead after three
 * failures without a success, which is one more than a transformation's own repairs of wrong code; or when it is 4 times slower
 * than the best: the recorded step split-precision is 2.7 times slower than the baseline, and the steps behind it pay for that. */
enum { QUESTIONS = 2, FAILURES = 3 };
#define FAR_BEHIND 1.386 /* ln 4 */

const struct policy *const policy_table[] = {
	&policy_tree,        &policy_greedy,    &policy_beam,     &policy_scientist, &policy_bandit, &policy_islands,
	&policy_coder_judge, &policy_plan_tree, &policy_sequence, &policy_random,    NULL,
};

const struct policy *policy_find(const char *name)
{
	for (size_t i = 0; policy_table[i]; i++)
		if (strcmp(policy_table[i]->name, name) == 0)
			return policy_table[i];
	return NULL;
}

void policy_next(const struct policy *policy, const struct graph *g, struct policy_choice *ret_choice)
{
	*ret_choice = (struct policy_choice){ .kind = DECISION_STOP, .reference = -1, .low = NAN, .high = NAN, .novelty = NAN };
	policy->next(g, ret_choice);
	if (ret_choice->reason == NULL)
		policy_stop(ret_choice, mem_str("nothing is left to try"));
}

void policy_try_text(struct policy_choice *c, int node, const char *text, char *take_why)
{
	c->kind = DECISION_EXPERIMENT;
	c->node = node;
	c->text = text;
	c->reason = take_why;
}

void policy_try(const struct graph *g, struct policy_choice *c, int node, int option, char *take_why)
{
	const struct graph_option *o = &g->nodes[node].options[option];
	policy_try_text(c, node, o->text, take_why);
	c->low = o->low;
	c->high = o->high;
	c->novelty = o->novelty;
}

void policy_ask(struct policy_choice *c, int node, int reference, char *take_why)
{
	c->kind = DECISION_QUESTION;
	c->node = node;
	c->reference = reference;
	c->reason = take_why;
}

void policy_stop(struct policy_choice *c, char *take_why)
{
	c->kind = DECISION_STOP;
	c->reason = take_why;
}

/* An option that did not fail above; else a question (-1), as long as the node was asked about less than twice; else one that
 * failed. */
static int find_expansion(const struct graph *g, int node, unsigned strategies)
{
	const struct graph_node *n = &g->nodes[node];
	int planned = graph_untried(g, node, strategies, GRAPH_MODEL), any = graph_untried(g, node, strategies, GRAPH_LIBRARY);
	if (planned >= 0 && n->options[planned].failed_above == 0)
		return planned;
	if (g->asks && n->questions == 0)
		return -1;
	if (any >= 0 && n->options[any].failed_above == 0)
		return any;
	return g->asks && n->questions < QUESTIONS ? -1 : any >= 0 ? any : -2;
}

bool policy_can_expand(const struct graph *g, int node, unsigned strategies)
{
	return find_expansion(g, node, strategies) > -2;
}

bool policy_expand(const struct graph *g, struct policy_choice *c, int node, unsigned strategies, const char *why)
{
	static const char *const who[] = { "the model planned it", "the profile's guidance suggests it", "the library offers it" };
	int option = find_expansion(g, node, strategies);
	if (option >= 0)
		policy_try(g, c, node, option, mem_fmt("%s; %s", why, who[g->nodes[node].options[option].source]));
	else if (option == -1)
		policy_ask(c, node, -1, mem_fmt("%s; no untried plan is left here", why));
	return option > -2;
}

bool policy_is_dead(const struct graph *g, int node)
{
	const struct graph_node *n = &g->nodes[node];
	double best = g->nodes[g->best].gain;
	if (node == 0)
		return false;
	return !isfinite(n->gain) || (isfinite(best) && n->gain < best - FAR_BEHIND) ||
	       (n->failures >= FAILURES && n->failures == n->tries);
}

int policy_best_open(const struct graph *g, const int *without, size_t count)
{
	int found = -1;
	for (size_t i = 0; i < g->node_count; i++) {
		bool skip = policy_is_dead(g, (int)i) || !policy_can_expand(g, (int)i, POLICY_ANY);
		for (size_t k = 0; k < count; k++)
			skip = skip || without[k] == (int)i;
		if (!skip && (found < 0 || g->nodes[i].gain > g->nodes[found].gain))
			found = (int)i;
	}
	return found;
}
