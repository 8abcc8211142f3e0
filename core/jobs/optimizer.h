/* optimizer: the state of one optimize job, shared by its files. work_optimize has request, result, the loop and its budget;
 * optimizer_graph makes rows a graph. optimizer_step carries one decision through, by jobs that are parts of this one. All that
 * must survive is rows: decisions, the jobs that they name, checkpoints. */
#ifndef PEAKD_CORE_JOBS_OPTIMIZER_H
#define PEAKD_CORE_JOBS_OPTIMIZER_H

#include "core/jobs/work.h"
#include "core/optimize/policy.h"

/* What is asked. More than 20 fields, since each is an option. */
struct optimizer_request {
	struct work_subject subject;
	char *policy, *model;
	char *reviewer;  /* of coder-judge; NULL: the model */
	char *sequence;  /* a name in the library */
	char *sizes;     /* one assignment; NULL: every declared size */
	char *objective; /* "energy" or "edp" (core/measure/energy.h); NULL or "time": time */
	int64_t tune;    /* configurations for each new checkpoint and size; 0: a default */
	int64_t samples, seed;
	int64_t calls, tokens, experiments; /* budgets; 0: none */
	double seconds, device_seconds, money;
	double price_in, price_out; /* of a million tokens, in the unit of money */
	double roof;                /* percent of a measured ceiling that is near enough; NAN: 90 */
	char *without;              /* "profile", "knowledge", "history": what the search does without; NULL: it has all */
	char *search;               /* a job whose search this one continues; NULL: a new search */
	char *batch;                /* a device that times elsewhere, by drains; NULL: subject.device times */
	bool resume;                /* read by engine_submit alone */
};

/* What a node's code is, and what the library offers for it; read once. */
struct optimizer_line {
	struct lineage l;
	char **offers; /* names */
	size_t offer_count;
	char *offered; /* Markdown: a line for each, with its summary; NULL: none */
};

struct optimizer {
	struct engine_job *job;
	const struct optimizer_request *q;
	struct work *w;
	const struct policy *policy;
	struct lineage start;
	struct facts facts;
	char *search; /* the job that began the search: this one, or an earlier one */
	struct decision_list decisions;
	size_t inherited; /* of them, made by earlier jobs */
	struct graph graph;
	char **sequence;
	size_t sequence_count;
	struct optimizer_line *lines; /* of the graph's nodes */
	size_t line_count;
	int64_t began; /* monotonic */
};

/* Reads what jobs of the tune and profile kinds found; each is a part of the kind's own result. */
struct optimizer_size {
	char *size, *unproven;
	double median_ns, speedup, start_speedup, step, low, high;
	double joules; /* of one execution; NAN: not weighed */
};
struct optimizer_tuned {
	struct optimizer_size *sizes;
	size_t count;
};
extern const struct layout optimizer_tuned_layout;

/* Whether checkpoints are compared by joules. */
bool optimizer_graph_weighs(const struct optimizer *o);
/* optimizer_graph.c: builds the graph anew from o->decisions. */
int optimizer_graph_load(struct optimizer *o, struct err *e);
/* Of a node; borrowed until the next call. NULL on failure. */
const struct optimizer_line *optimizer_graph_line(struct optimizer *o, int node, struct err *e);
void optimizer_graph_fini(struct optimizer *o);

/* optimizer_step.c: takes what was timed elsewhere meanwhile. */
int optimizer_step_settle(struct optimizer *o, struct err *e);
/* Does what the decision says, or continues it, and fills and saves its outcome. Negative only where the search itself
 * cannot go on: cancelled, the database fails. */
int optimizer_step(struct optimizer *o, struct decision *d, struct err *e);

#endif
