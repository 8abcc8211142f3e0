/* machine: the inside of transform.c: the state of one transformation, and how it moves from step to step and from
 * pass to pass. Only transform.c and saved.c look in here. */
#ifndef PEAKD_CORE_TRANSFORM_MACHINE_H
#define PEAKD_CORE_TRANSFORM_MACHINE_H

#include "core/transform/transform.h"

struct transform {
	struct transformation *t;
	struct context *parent, *ctx;
	struct context
		*start; /* what the pass started from, its new parameters included: fresh samples go back to it */
	struct facts facts;
	bool has_facts;
	struct transform_limits limits;
	enum transform_state state;
	unsigned pass, step;                                /* from 0 */
	unsigned sample;                                    /* of this pass, from 1 */
	unsigned compile_repairs, wrong_repairs, malformed; /* of this sample */
	bool repairing;                                     /* the answer that is waited for mends a judged pass */
	unsigned attempts[REGION_COUNT];                    /* of each step of this pass, over all samples */
	struct prompt talks[REGION_COUNT];                  /* the conversation of each step of this pass */
	unsigned asked, repairs;                            /* over the whole run */
	enum judge_result verdict; /* the last one; JUDGE_PASS before any */
	char *last, *feedback;
};

/* Without contexts and state; limits of zero become the defaults. transform_free frees it. */
struct transform *machine_new(struct transformation *take_t, const struct facts *facts,
			      const struct transform_limits *limits);
void machine_set_text(char **to, char *take_text);
void machine_set_context(struct context **to, struct context *take_ctx);
void machine_clear_talks(struct transform *x);
const struct transformation_pass *machine_pass(const struct transform *x);
const struct transformation_step *machine_step(const struct transform *x);
/* Whether a step (from 0) of this pass asks a model on the context's backend; else it only inserts code. */
bool machine_needs_model(const struct transform *x, unsigned step);
/* Every change of state goes through here; one that is not allowed is a bug. */
void machine_set_state(struct transform *x, enum transform_state to);

/* Enters x->pass: parameters, first sample, first step. */
int machine_begin_pass(struct transform *x, struct err *e);
/* The pass holds: the next one, or done. On failure the machine stands before the pass's verdict again. */
int machine_next_pass(struct transform *x, struct err *e);
/* From the step that x->step names: inserts code until a step needs the model, or the pass is complete. */
int machine_go_on(struct transform *x, struct err *e);
/* The sample is given up: another one from the pass's start, or stuck. */
int machine_give_up(struct transform *x, struct err *e);

#endif
