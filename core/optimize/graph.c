/* graph: see graph.h. */
#include "core/optimize/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"

const char *const graph_strategy_names[] = { "algebra", "locality", "instructions", "overlap", "resources", NULL };

/* The first that is found decides, so the more telling words come first. */
static const struct {
	const char *word;
	enum graph_strategy strategy;
} words[] = {
	{ "fus", GRAPH_ALGEBRA },           { "split-k", GRAPH_ALGEBRA },     { "online", GRAPH_ALGEBRA },
	{ "rescale", GRAPH_ALGEBRA },       { "algorithm", GRAPH_ALGEBRA },   { "pipelin", GRAPH_OVERLAP },
	{ "overlap", GRAPH_OVERLAP },       { "async", GRAPH_OVERLAP },       { "persistent", GRAPH_OVERLAP },
	{ "prefetch", GRAPH_OVERLAP },      { "early", GRAPH_OVERLAP },       { "speciali", GRAPH_OVERLAP },
	{ "double buffer", GRAPH_OVERLAP }, { "vector", GRAPH_INSTRUCTIONS }, { "unroll", GRAPH_INSTRUCTIONS },
	{ "float4", GRAPH_INSTRUCTIONS },   { "tensor", GRAPH_INSTRUCTIONS }, { "mma", GRAPH_INSTRUCTIONS },
	{ "warp", GRAPH_INSTRUCTIONS },     { "wave", GRAPH_INSTRUCTIONS },   { "shuffle", GRAPH_INSTRUCTIONS },
	{ "til", GRAPH_LOCALITY },          { "shared", GRAPH_LOCALITY },     { "stag", GRAPH_LOCALITY },
	{ "cache", GRAPH_LOCALITY },        { "coalesc", GRAPH_LOCALITY },    { "transpos", GRAPH_LOCALITY },
	{ "reuse", GRAPH_LOCALITY },        { "block", GRAPH_LOCALITY },      { "order", GRAPH_LOCALITY },
	{ "reduc", GRAPH_ALGEBRA },
};

enum graph_strategy graph_strategy_of(const char *text)
{
	for (size_t i = 0; i < MEM_COUNT(words); i++)
		if (strcasestr(text, words[i].word))
			return words[i].strategy;
	return GRAPH_RESOURCES;
}

/* A kernel at the copy ceiling does not gain from faster arithmetic, nor one at the arithmetic ceiling from another order of
 * loads. */
bool graph_pays(enum advice_class class, enum graph_strategy strategy)
{
	static const unsigned mask[ADVICE_CLASSES] = {
		[ADVICE_MEMORY] = 1u << GRAPH_ALGEBRA | 1u << GRAPH_LOCALITY | 1u << GRAPH_OVERLAP | 1u << GRAPH_RESOURCES,
		[ADVICE_COMPUTE] = 1u << GRAPH_ALGEBRA | 1u << GRAPH_INSTRUCTIONS | 1u << GRAPH_RESOURCES,
		[ADVICE_LATENCY] = (1u << GRAPH_STRATEGIES) - 1,
		[ADVICE_LAUNCH] = 1u << GRAPH_ALGEBRA | 1u << GRAPH_OVERLAP,
	};
	return class >= ADVICE_CLASSES || mask[class] >> strategy & 1;
}

/* --- filling ---------------------------------------------------------------------------------------------------------------- */

int graph_add_node(struct graph *g, int64_t checkpoint, int parent, const char *by)
{
	*MEM_PUSH(g->nodes, g->node_count) = (struct graph_node){
		.checkpoint = checkpoint, .parent = parent, .by = mem_str(by), .gain = NAN, .step = NAN, .class = ADVICE_CLASSES
	};
	return (int)g->node_count - 1;
}

int graph_find_option(const struct graph *g, int node, const char *text)
{
	const struct graph_node *n = &g->nodes[node];
	for (size_t i = 0; i < n->option_count; i++)
		if (strcmp(n->options[i].text, text) == 0)
			return (int)i;
	return -1;
}

int graph_add_option(struct graph *g, int node, const char *text, enum graph_source source)
{
	struct graph_node *n = &g->nodes[node];
	int known = graph_find_option(g, node, text);
	if (known >= 0)
		return known;
	*MEM_PUSH(n->options, n->option_count) = (struct graph_option){ .text = mem_str(text),
									.source = source,
									.strategy = graph_strategy_of(text),
									.low = NAN,
									.high = NAN,
									.novelty = NAN,
									.asked = -1 };
	return (int)n->option_count - 1;
}

int graph_add_trial(struct graph *g, const struct graph_trial *trial)
{
	struct graph_trial *t = MEM_PUSH(g->trials, g->trial_count);
	*t = *trial;
	t->text = mem_str(trial->text);
	t->note = trial->note ? mem_strn(trial->note, strcspn(trial->note, "\n")) : NULL;
	return (int)g->trial_count - 1;
}

void graph_fini(struct graph *g)
{
	for (size_t i = 0; i < g->node_count; i++) {
		struct graph_node *n = &g->nodes[i];
		for (size_t k = 0; k < n->option_count; k++)
			free(n->options[k].text);
		free(n->options);
		free(n->sizes);
		free(n->by);
	}
	for (size_t i = 0; i < g->trial_count; i++) {
		free(g->trials[i].text);
		free(g->trials[i].note);
	}
	free(g->nodes);
	free(g->trials);
	*g = (struct graph){ .best = 0 };
}

static bool made_something(enum decision_outcome outcome)
{
	return outcome == DECISION_FASTER || outcome == DECISION_SLOWER || outcome == DECISION_SAME || outcome == DECISION_UNCLEAR;
}

/* What failed on a line of code fails on its next version as a rule. */
static void count_failure(struct graph *g, const struct graph_trial *t)
{
	for (size_t i = (size_t)t->node + 1; i < g->node_count; i++)
		for (size_t k = 0; graph_is_below(g, (int)i, t->node) && k < g->nodes[i].option_count; k++)
			g->nodes[i].options[k].failed_above += t->text && strcmp(g->nodes[i].options[k].text, t->text) == 0;
}

static void count_option(struct graph_node *n, const struct graph_trial *t)
{
	for (size_t k = 0; k < n->option_count; k++) {
		struct graph_option *o = &n->options[k];
		if (t->text == NULL || strcmp(o->text, t->text) != 0)
			continue;
		o->tries++;
		o->done = o->done || made_something(t->outcome) || t->outcome == DECISION_NO_OP || t->outcome == DECISION_WAITING;
	}
}

static void count_trial(struct graph *g, struct graph_trial *t)
{
	struct graph_node *n = &g->nodes[t->node];
	if (t->kind == DECISION_QUESTION)
		n->questions++;
	if (t->kind != DECISION_EXPERIMENT && t->kind != DECISION_MEND)
		return;
	for (struct graph_trial *was = g->trials; was < t; was++)
		was->mended = was->mended || (t->kind == DECISION_MEND && was->node == t->node && was->text && t->text &&
					      strcmp(was->text, t->text) == 0);
	count_option(n, t);
	n->tries++;
	if (t->outcome == DECISION_WRONG || t->outcome == DECISION_FAILED || t->outcome == DECISION_NO_OP) {
		n->failures++;
		count_failure(g, t);
	}
	const struct graph_node *reached = t->made >= 0 ? &g->nodes[t->made] : n;
	double reward = isfinite(reached->gain) ? reached->gain : isfinite(n->gain) ? n->gain : 0;
	for (int at = t->made >= 0 ? t->made : t->node; at >= 0; at = g->nodes[at].parent) {
		g->nodes[at].visits++;
		g->nodes[at].reward += reward;
	}
}

void graph_tally(struct graph *g)
{
	g->best = 0;
	for (size_t i = 0; i < g->node_count; i++) {
		struct graph_node *n = &g->nodes[i];
		n->depth = n->parent < 0 ? 0 : g->nodes[n->parent].depth + 1;
		n->tries = n->failures = n->questions = n->visits = 0;
		n->reward = 0;
		n->best = isfinite(n->gain) ? n->gain : -INFINITY;
		for (size_t k = 0; k < n->option_count; k++) {
			n->options[k].tries = n->options[k].failed_above = 0;
			n->options[k].done = false;
		}
		if (n->best > g->nodes[g->best].best)
			g->best = (int)i;
	}
	for (size_t i = g->node_count; i > 1; i--) {
		struct graph_node *n = &g->nodes[i - 1];
		if (n->parent >= 0)
			g->nodes[n->parent].best = fmax(g->nodes[n->parent].best, n->best);
	}
	for (size_t i = 0; i < g->trial_count; i++)
		count_trial(g, &g->trials[i]);
}

/* --- questions about it ----------------------------------------------------------------------------------------------------- */

int graph_find(const struct graph *g, int64_t checkpoint)
{
	for (size_t i = 0; i < g->node_count; i++)
		if (g->nodes[i].checkpoint == checkpoint)
			return (int)i;
	return -1;
}

/* What made the node or one above it is not tried again. */
static bool is_part_of(const struct graph *g, int node, const char *text)
{
	for (; node >= 0; node = g->nodes[node].parent)
		if (strcmp(g->nodes[node].by, text) == 0)
			return true;
	return false;
}

static double expected(const struct graph_option *o)
{
	return isfinite(o->low) && isfinite(o->high) ? (o->low + o->high) / 2 : 0;
}

int graph_untried(const struct graph *g, int node, unsigned strategies, enum graph_source worst)
{
	const struct graph_node *n = &g->nodes[node];
	int found = -1;
	for (size_t i = 0; i < n->option_count; i++) {
		const struct graph_option *o = &n->options[i], *best = found < 0 ? NULL : &n->options[found];
		if (o->tries || o->source > worst || !(strategies >> o->strategy & 1) || is_part_of(g, node, o->text))
			continue;
		int order = best == NULL ? -1 : (int)o->failed_above - (int)best->failed_above;
		if (best && order == 0)
			order = (int)o->source - (int)best->source;
		if (order < 0 || (order == 0 && expected(o) > expected(best)))
			found = (int)i;
	}
	return found;
}

bool graph_is_below(const struct graph *g, int at, int node)
{
	while (at > node)
		at = g->nodes[at].parent;
	return at == node;
}

double graph_random(const struct graph *g, unsigned salt)
{
	/* SplitMix64 (Steele, Lea, Flood 2014). */
	uint64_t x = g->seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)g->trial_count * UINT64_C(0xd1342543de82ef95) + salt;
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((x ^ x >> 31) >> 11) / 9007199254740992.0;
}

bool graph_on_front(const struct graph *g, int node)
{
	const struct graph_node *n = &g->nodes[node];
	if (n->size_count == 0 || !isfinite(n->gain))
		return false;
	for (size_t i = 0; i < g->node_count; i++) {
		const struct graph_node *other = &g->nodes[i];
		bool covers = other != n && isfinite(other->gain) && other->size_count == n->size_count, better = false;
		for (size_t k = 0; covers && k < n->size_count; k++) {
			covers = other->sizes[k] >= n->sizes[k];
			better = better || other->sizes[k] > n->sizes[k];
		}
		if (covers && better)
			return false;
	}
	return true;
}

char *graph_findings(const struct graph *g, int node)
{
	struct buf out = BUF_INIT;
	for (size_t i = 0; i < g->trial_count; i++) {
		const struct graph_trial *t = &g->trials[i];
		bool applied = t->made >= 0 && graph_is_below(g, node, t->made);
		if ((t->kind != DECISION_EXPERIMENT && t->kind != DECISION_MEND) || t->text == NULL || t->outcome == DECISION_OPEN)
			continue;
		buf_addf(&out, "- %.*s: ", 160, t->text);
		if (isfinite(t->step))
			buf_addf(&out, "%.2f times as fast", exp(t->step));
		else
			buf_addf(&out, "%s%s%.*s", decision_outcomes[t->outcome], t->note ? ", " : "", 300, t->note ? t->note : "");
		buf_adds(&out, applied ? " (part of this code)\n" : t->node == node ? " (tried on this code)\n" : "\n");
	}
	char *text = out.len ? buf_steal(&out) : NULL;
	buf_fini(&out);
	return text;
}
