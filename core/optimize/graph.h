/* graph: what a search for faster code knows: checkpoints with the times that pairs gave, what may be tried on each, and what was
 * tried. core/jobs/work_optimize fills one from rows, landscape.h makes one up; policies (policy.h) only read it. Speed-ups are
 * natural logarithms here, so that they add up and a loss weighs as much as the gain that undoes it. */
#ifndef PEAKD_CORE_OPTIMIZE_GRAPH_H
#define PEAKD_CORE_OPTIMIZE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/advise/advice.h"
#include "core/record/decision.h"

/* Where expert knowledge pays, after the survey of 2026 (docs/optimize.md): the strategies of the bandit. */
enum graph_strategy {
	GRAPH_ALGEBRA,      /* fewer operations: fusion, splitting, other formulas */
	GRAPH_LOCALITY,     /* tiling, staging, order of access */
	GRAPH_INSTRUCTIONS, /* vectors, unrolling, warps, matrix units */
	GRAPH_OVERLAP,      /* pipelines, asynchronous copies, persistent blocks */
	GRAPH_RESOURCES,    /* registers, precision, occupancy, values fixed at compile time */
	GRAPH_STRATEGIES
};
extern const char *const graph_strategy_names[GRAPH_STRATEGIES + 1];
/* By the words of a name or a sentence; GRAPH_RESOURCES where none is known. */
enum graph_strategy graph_strategy_of(const char *text);
/* Whether a strategy can pay for a kernel of this class (ADVICE_CLASSES: unknown, so all can). */
bool graph_pays(enum advice_class class, enum graph_strategy strategy);

/* Who proposed an option, the most trusted first. A model sees the code and the guidance: its plans gained 2 to 39 times on the
 * four kernels of bench/ablation, where what guidance alone suggested gained 1.0 to 1.15 times. */
enum graph_source { GRAPH_MODEL, GRAPH_GUIDANCE, GRAPH_LIBRARY };

/* What may be tried on a node. */
struct graph_option {
	char *text; /* a transformation's name, or a sentence */
	enum graph_source source;
	enum graph_strategy strategy;
	double low, high, novelty; /* as the plan expects: ln of times as fast, and 0 to 10; NAN: it says nothing */
	int asked;                 /* the question's place in trials; negative: none */
	unsigned tries;            /* on this node, whatever came of them */
	unsigned failed_above;     /* how often it failed on the line that leads here */
	bool done;                 /* it gave code that was timed, or code that existed already */
};

struct graph_node {
	int64_t checkpoint;
	int parent;        /* place in nodes; negative: the start */
	char *by;          /* what made it */
	double gain;       /* ln(the start's time / its own), by pairs; the mean over sizes; NAN: not timed */
	double step;       /* the same over its parent */
	double *sizes;     /* gain at each size */
	size_t size_count; /* the same for all nodes that were timed */
	enum advice_class class;
	bool near_roof; /* a roof leaves less than the request's share */
	struct graph_option *options;
	size_t option_count;
	/* By graph_tally: */
	unsigned depth, tries, failures, questions; /* of experiments and questions that started here */
	unsigned visits;                            /* experiments here and below */
	double reward;                              /* sum of what they reached: gain of what they made, or of where they started */
	double best;                                /* the largest gain here and below */
};

/* What was decided before. */
struct graph_trial {
	enum decision_kind kind;
	int node, reference, made; /* places in nodes; negative: none */
	char *text;
	char *note; /* what came of it, its first line; NULL */
	enum decision_outcome outcome;
	double step;  /* ln; NAN: not timed */
	bool pending; /* half done: can be mended */
	bool mended;  /* a later trial continued it */
};

struct graph {
	struct graph_node *nodes; /* the first is the start; parents before children */
	size_t node_count;
	struct graph_trial *trials; /* in order */
	size_t trial_count;
	int best;  /* of the largest gain */
	bool asks; /* a model can be asked for plans */
	uint64_t seed;
	char **sequence; /* names in order, for the policy of that name; borrowed */
	size_t sequence_count;
};

/* New things at the end; texts are copied. Returns the place. */
int graph_add_node(struct graph *g, int64_t checkpoint, int parent, const char *by);
int graph_add_option(struct graph *g, int node, const char *text, enum graph_source source);
int graph_find_option(const struct graph *g, int node, const char *text); /* negative: there is none */
int graph_add_trial(struct graph *g, const struct graph_trial *trial);
/* Counts again what nodes and options sum up; after every change. */
void graph_tally(struct graph *g);
void graph_fini(struct graph *g);

int graph_find(const struct graph *g, int64_t checkpoint);
/* The option that is to be tried next: what did not fail above yet, then guidance, then plans by what they expect, then the
 * library; `strategies` is a mask of 1 << enum graph_strategy. Negative: all were tried. */
int graph_untried(const struct graph *g, int node, unsigned strategies, enum graph_source worst);
/* Below or at `node`? */
bool graph_is_below(const struct graph *g, int at, int node);
/* A number in [0, 1) that depends on seed, trials so far and `salt` alone, so that a resumed search decides as before. */
double graph_random(const struct graph *g, unsigned salt);
/* No other node is at least as fast at every size and faster at one. */
bool graph_on_front(const struct graph *g, int node);
/* What was tried here and above and came of it, as Markdown for a model. free(); NULL: nothing. */
char *graph_findings(const struct graph *g, int node);

#endif
