/* policy: which experiment comes next. A policy is a pure function of a graph: the same graph gives the same choice, so a search
 * that was killed goes on as it would have. Each is one file policy_NAME.c and one line of policy_table. Called by
 * core/jobs/work_optimize with recorded graphs and by landscape.c with made ones. */
#ifndef PEAKD_CORE_OPTIMIZE_POLICY_H
#define PEAKD_CORE_OPTIMIZE_POLICY_H

#include "core/optimize/graph.h"

/* The next thing to do. */
struct policy_choice {
	enum decision_kind kind; /* EXPERIMENT, MEND, QUESTION or STOP */
	int node;                /* where; of STOP: any */
	int reference;           /* a second node to learn from; negative: none */
	const char *text;        /* EXPERIMENT, MEND: what to apply; borrowed from the graph */
	double low, high, novelty;
	bool reviewed; /* by an independent reviewer before device time is spent */
	char *reason;  /* in words; owned */
};

struct policy {
	const char *name, *origin, *about; /* origin: the paper or textbook it follows */
	void (*next)(const struct graph *g, struct policy_choice *ret_choice);
};

extern const struct policy *const policy_table[];   /* NULL at the end; the first is the default */
const struct policy *policy_find(const char *name); /* NULL: there is none */
/* Asks the policy and fills in what it leaves open. free() ret_choice->reason. */
void policy_next(const struct policy *policy, const struct graph *g, struct policy_choice *ret_choice);

extern const struct policy policy_sequence, policy_greedy, policy_beam, policy_tree, policy_scientist, policy_bandit,
	policy_islands, policy_coder_judge, policy_plan_tree, policy_random;

/* --- what policies share ---------------------------------------------------------------------------------------------------- */

enum { POLICY_ANY = (1 << GRAPH_STRATEGIES) - 1 };

/* What a policy chooses, and why, in words. One that chooses nothing stops the search. */
void policy_try(const struct graph *g, struct policy_choice *c, int node, int option, char *take_why);
void policy_try_text(struct policy_choice *c, int node, const char *text, char *take_why);
void policy_ask(struct policy_choice *c, int node, int reference, char *take_why);
void policy_stop(struct policy_choice *c, char *take_why);
/* Something new at this node, in order: the model's plans, a question for plans, what guidance suggests, the library, a second
 * question. False: there is nothing. `why` says why this node. */
bool policy_expand(const struct graph *g, struct policy_choice *c, int node, unsigned strategies, const char *why);
/* Whether policy_expand would find something. */
bool policy_can_expand(const struct graph *g, int node, unsigned strategies);
/* Nothing good is to be expected of this node: it was never timed, is far behind, or its experiments failed again and again. */
bool policy_is_dead(const struct graph *g, int node);
/* The fastest node that is alive, can be expanded, and is not among `without`; negative: none. */
int policy_best_open(const struct graph *g, const int *without, size_t count);

#endif
