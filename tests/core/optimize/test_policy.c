/* The policies of core/optimize: what each is known for, on small graphs, and that they beat chance on made landscapes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/optimize/landscape.h"
#include "core/optimize/question.h"
#include "tap.h"

static int add(struct graph *g, int64_t checkpoint, int parent, const char *by, double gain)
{
	int node = graph_add_node(g, checkpoint, parent, by);
	g->nodes[node].gain = gain;
	return node;
}

static void plan(struct graph *g, int node, const char *text, double low, double high, double novelty, int asked)
{
	int place = graph_add_option(g, node, text, GRAPH_MODEL);
	struct graph_option *o = &g->nodes[node].options[place];
	o->low = low;
	o->high = high;
	o->novelty = novelty;
	o->asked = asked;
}

static void tried(struct graph *g, enum decision_kind kind, int node, const char *text, enum decision_outcome outcome)
{
	graph_add_trial(g, &(struct graph_trial){ .kind = kind,
						  .node = node,
						  .reference = -1,
						  .made = -1,
						  .text = (char *)text,
						  .outcome = outcome,
						  .step = NAN,
						  .pending = outcome == DECISION_WRONG });
	graph_tally(g);
}

static struct policy_choice ask(const struct policy *p, const struct graph *g)
{
	struct policy_choice c;
	policy_next(p, g, &c);
	free(c.reason);
	c.reason = NULL;
	return c;
}

static void reads_plans(void)
{
	struct graph g = { .asks = true };
	add(&g, 1, -1, "start", 0);
	size_t n = question_read_plans(
		"1. tiles\nPLAN 1.2-1.8 novelty 4: Let each thread compute four elements.\n"
		"- **PLAN** 1.1 – 1.5x, novelty 9: Stage the tile in shared memory.\r\n"
		"PLAN 2-1 novelty 3: A range the wrong way round.\nPLAN 1-2: short\nNo PLAN 1-2 here: this is prose.\n",
		&g, 0, 0);
	is_int(n, 2, "two lines are plans");
	const struct graph_option *o = g.nodes[0].options;
	ok(fabs(exp(o[0].low) - 1.2) < 1e-9 && fabs(exp(o[0].high) - 1.8) < 1e-9 && o[0].novelty == 4, "with range and novelty");
	is_str(o[1].text, "Stage the tile in shared memory.", "in Markdown too, without the line's end");
	ok(o[0].strategy != o[1].strategy && o[1].strategy == GRAPH_LOCALITY, "and a strategy by their words");
	char *why = NULL;
	ok(!question_rejects("ACCEPT. I would not reject this.", &why), "ACCEPT accepts");
	ok(question_rejects("**REJECT**: thread 31 writes past the end", &why) && strncmp(why, "thread 31", 9) == 0,
	   "REJECT gives its reason");
	free(why);
	graph_fini(&g);
}

static void plans_come_first(void)
{
	struct graph g = { .asks = true };
	add(&g, 1, -1, "start", 0);
	graph_add_option(&g, 0, "coarsen", GRAPH_LIBRARY);
	graph_add_option(&g, 0, "stage", GRAPH_GUIDANCE);
	graph_tally(&g);
	is_int(ask(&policy_greedy, &g).kind, DECISION_QUESTION, "the model is asked before what guidance suggests is tried");
	tried(&g, DECISION_QUESTION, 0, NULL, DECISION_ANSWERED);
	is_str(ask(&policy_greedy, &g).text, "stage", "without plans, guidance comes before the rest of the library");
	is_int(question_read_plans("PLAN 1.1-1.2: `coarsen`\nPLAN 1-1.1: Stage the tile of B in shared memory.\n", &g, 0, 0), 2,
	       "a plan may be the name of a transformation");
	is_int((int)g.nodes[0].option_count, 3, "which is no new option");
	graph_tally(&g);
	is_str(ask(&policy_greedy, &g).text, "coarsen", "the plan that promises most is tried first");
	graph_fini(&g);
}

static void scientist(void)
{
	struct graph g = { .asks = true };
	add(&g, 1, -1, "start", 0);
	tried(&g, DECISION_QUESTION, 0, NULL, DECISION_ANSWERED);
	plan(&g, 0, "novel", 0, 0.1, 9, 0);
	plan(&g, 0, "bold", -0.5, 2, 3, 0);
	plan(&g, 0, "safe", 0.3, 0.4, 1, 0);
	plan(&g, 0, "dull", 0.1, 0.2, 2, 0);
	static const char *const want[] = { "novel", "bold", "safe" };
	for (size_t i = 0; i < 3; i++) {
		struct policy_choice c = ask(&policy_scientist, &g);
		is_str(c.text, want[i], "scientist, experiment %zu", i + 1);
		tried(&g, DECISION_EXPERIMENT, 0, want[i], DECISION_WRONG);
	}
	is_int(ask(&policy_scientist, &g).kind, DECISION_QUESTION, "then a new round begins");
	graph_fini(&g);
}

static void mends_and_reviews(void)
{
	struct graph g = { .asks = true };
	add(&g, 1, -1, "start", 0);
	plan(&g, 0, "first", 0.1, 0.5, 1, -1);
	plan(&g, 0, "second", 0.0, 0.2, 1, -1);
	graph_tally(&g);
	ok(ask(&policy_coder_judge, &g).reviewed, "coder-judge has code reviewed");
	ok(!ask(&policy_greedy, &g).reviewed, "greedy does not");
	tried(&g, DECISION_EXPERIMENT, 0, "first", DECISION_WRONG);
	struct policy_choice c = ask(&policy_islands, &g);
	ok(c.kind == DECISION_MEND && strcmp(c.text, "first") == 0, "islands mends what failed");
	is_str(ask(&policy_greedy, &g).text, "second", "greedy goes on to the next plan");
	c = ask(&policy_plan_tree, &g);
	is_str(c.text, "first", "plan-tree tries a promising plan again, since only its code failed");
	tried(&g, DECISION_MEND, 0, "first", DECISION_WRONG);
	ok(ask(&policy_islands, &g).kind != DECISION_MEND, "islands mends once");
	graph_fini(&g);
}

/* The model makes plans before what guidance suggests is tried: what it had suggested gained 1.0 to 1.15 times (bench/ablation). */
static void asks_first(void)
{
	struct graph g = { .asks = true };
	add(&g, 1, -1, "start", 0);
	graph_add_option(&g, 0, "async-copy", GRAPH_GUIDANCE);
	graph_tally(&g);
	for (size_t i = 0; policy_table[i]; i++)
		if (policy_table[i] != &policy_sequence && policy_table[i] != &policy_random)
			is_int(ask(policy_table[i], &g).kind, DECISION_QUESTION, "%s asks the model first", policy_table[i]->name);
	graph_fini(&g);
}

static void dead_ends(void)
{
	struct graph g = { .asks = false };
	add(&g, 1, -1, "start", 0);
	int slow = add(&g, 2, 0, "slow", -2), good = add(&g, 3, 0, "good", 0.5);
	graph_add_option(&g, slow, "a", GRAPH_LIBRARY);
	graph_add_option(&g, good, "a", GRAPH_LIBRARY);
	graph_add_option(&g, good, "good", GRAPH_LIBRARY);
	graph_tally(&g);
	ok(policy_is_dead(&g, slow) && !policy_is_dead(&g, good) && !policy_is_dead(&g, 0),
	   "what is far behind is dead; the start never is");
	is_int(ask(&policy_tree, &g).node, good, "the tree goes to the fast child");
	tried(&g, DECISION_EXPERIMENT, good, "a", DECISION_WRONG);
	is_int(graph_untried(&g, good, POLICY_ANY, GRAPH_LIBRARY), -1, "what made a checkpoint is not tried on it again");
	is_int(ask(&policy_tree, &g).kind, DECISION_STOP, "with nothing left the search stops");
	graph_fini(&g);
}

static void failures_go_last(void)
{
	struct graph g = { .asks = false };
	add(&g, 1, -1, "start", 0);
	graph_add_option(&g, 0, "a", GRAPH_GUIDANCE);
	tried(&g, DECISION_EXPERIMENT, 0, "a", DECISION_WRONG);
	int child = add(&g, 2, 0, "b", 0.5);
	graph_add_option(&g, child, "a", GRAPH_GUIDANCE);
	graph_add_option(&g, child, "c", GRAPH_LIBRARY);
	graph_tally(&g);
	is_str(ask(&policy_greedy, &g).text, "c", "what failed above is tried last");
	graph_fini(&g);
}

static void masks(void)
{
	ok(!graph_pays(ADVICE_MEMORY, GRAPH_INSTRUCTIONS) && graph_pays(ADVICE_COMPUTE, GRAPH_INSTRUCTIONS) &&
		   graph_pays(ADVICE_CLASSES, GRAPH_INSTRUCTIONS),
	   "the class masks strategies that cannot pay; an unknown one masks none");
	struct graph g = { .asks = false };
	add(&g, 1, -1, "start", 0);
	g.nodes[0].class = ADVICE_MEMORY;
	graph_add_option(&g, 0, "vectorize", GRAPH_LIBRARY);
	graph_add_option(&g, 0, "tb-tiling", GRAPH_LIBRARY);
	graph_tally(&g);
	is_str(ask(&policy_bandit, &g).text, "tb-tiling", "the bandit pulls no masked arm");
	graph_fini(&g);
}

static void front(void)
{
	struct graph g = { .asks = false };
	static const double sizes[3][2] = { { 0, 0 }, { 0.5, 0.1 }, { 0.2, 0.4 } };
	for (int i = 0; i < 3; i++) {
		add(&g, i + 1, i - 1, "x", 0);
		g.nodes[i].size_count = 2;
		g.nodes[i].sizes = malloc(sizeof sizes[i]);
		memcpy(g.nodes[i].sizes, sizes[i], sizeof sizes[i]);
	}
	ok(!graph_on_front(&g, 0) && graph_on_front(&g, 1) && graph_on_front(&g, 2), "the front holds what is best at some size");
	graph_fini(&g);
}

static double regret(const struct policy *p, unsigned seeds)
{
	double sum = 0, best[16];
	for (unsigned s = 0; s < seeds; s++) {
		struct landscape l;
		landscape_make(500 + s, &l);
		landscape_search(&l, p, 16, s, best);
		sum += 1 - best[15] / l.optimum;
	}
	return sum / seeds;
}

static void landscapes(void)
{
	double chance = regret(&policy_random, 60);
	for (size_t i = 0; policy_table[i]; i++)
		if (policy_table[i] != &policy_random && policy_table[i] != &policy_sequence) {
			double r = regret(policy_table[i], 60);
			ok(r < chance, "%s beats chance on made landscapes: %.2f < %.2f", policy_table[i]->name, r, chance);
		}
	ok(regret(&policy_bandit, 5) == regret(&policy_bandit, 5), "the same seeds give the same search");
	struct landscape l;
	struct err e = ERR_INIT;
	ok(landscape_read("x", "# recorded\nrefactor 0.9 0.1\ntile 4 0.2\n", &l, &e) == 0 && fabs(l.optimum - log(3.6)) < 1e-9,
	   "a recorded line's optimum is its end");
	ok(landscape_read("x", "tile 4\n", &l, &e) < 0 && strncmp(e.text, "x:1", 3) == 0, "a bad line is named");
}

int main(void)
{
	reads_plans();
	plans_come_first();
	scientist();
	mends_and_reviews();
	asks_first();
	dead_ends();
	failures_go_last();
	masks();
	front();
	landscapes();
	return tap_done();
}
