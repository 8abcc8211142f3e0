/* transform: one transformation applied to one context, as a state machine that can stop, be saved and continue between
 * any two calls. The machine, its row (saved.h) and its job share one state and one table of allowed moves. It serves
 * a model that the daemon calls, replayed recordings, an agent that answers itself, and a person who edits:
 *
 *   TRANSFORM_ASK:   transform_prompt → somebody answers → transform_feed
 *   TRANSFORM_JUDGE: transform_judge
 *   TRANSFORM_STUCK: transform_reopen, or transform_take_over with a context finished by hand
 *
 * transform_run is the loop for a model. Called by core/jobs/work_transform and the tool transform_begin. Not
 * thread-safe: one owner at a time. */
#ifndef PEAKD_CORE_TRANSFORM_TRANSFORM_H
#define PEAKD_CORE_TRANSFORM_TRANSFORM_H

#include <stdatomic.h>
#include <stdint.h>

#include "backends/wire/facts.h"
#include "base/err.h"
#include "core/transform/judge.h"
#include "core/transform/model.h"
#include "core/transform/prompt.h"
#include "core/transform/transformation.h"

enum transform_state {
	TRANSFORM_ASK,       /* a step waits for an answer */
	TRANSFORM_JUDGE,     /* every step of the pass is answered; the pass waits for its verdict */
	TRANSFORM_DONE,      /* every pass holds: the context becomes a checkpoint */
	TRANSFORM_STUCK,     /* repairs and fresh samples are used up; anybody may continue */
	TRANSFORM_DISCARDED, /* somebody dropped it */
	TRANSFORM_STATES
};

/* Zeros take the defaults named. */
struct transform_limits {
	unsigned compile_repairs; /* per sample of a pass; 3 */
	unsigned wrong_repairs;   /* per sample of a pass; 2 */
	unsigned malformed;       /* answers without a usable region, per sample of a pass; 2 */
	unsigned samples;         /* fresh starts of a pass, the first included; 2 */
	bool no_plan; /* a sentence is answered with its regions, since there are too few calls for a plan; not saved */
};

/* More than 20 fields, because this is everything that a saved transformation must bring back. Others read it freely;
 * only the functions below write it, apart from workflow, parent_id and facts, which its owner sets. */
struct transform {
	enum transform_state state;      /* written by one function of transform.c */
	struct transformation *t;        /* what is applied: the model's plan once it answered a sentence with one */
	struct transformation *sentence; /* what was asked for when `t` became a plan in this process; else NULL; not saved */
	struct context *parent;          /* what the transformation began with */
	struct context *ctx;             /* the context now: the result when done, half done when stuck */
	struct context *start;           /* what the pass began with, new parameters included: fresh samples return to it */
	struct facts facts;
	bool has_facts;
	struct transform_limits limits;
	unsigned pass, step;                                /* from 0 */
	unsigned sample;                                    /* of this pass, from 1 */
	unsigned compile_repairs, wrong_repairs, malformed; /* of this sample */
	bool repairing;                                     /* the next answer repairs a judged pass */
	unsigned attempts[REGION_COUNT];                    /* of each step of this pass, over all samples */
	struct prompt talks[REGION_COUNT];                  /* the conversation of each step of this pass */
	unsigned asked, repairs;                            /* answers, and repairs asked for, over the whole run */
	enum judge_result verdict;                          /* the last one; JUDGE_PASS before the first; not saved */
	char *profile;                                      /* what a profile found of `parent`; NULL: there was none */
	char *last;                                         /* what happened last, in one or two lines; never NULL */
	/* The row: see saved.h. */
	char *id;           /* NULL before it was kept */
	int64_t parent_id;  /* the checkpoint that `parent` is */
	char *workflow;     /* whose head is to advance; NULL: none */
	int64_t checkpoint; /* what it became; 0 before */
};

/* What a transformation begins with; all borrowed, texts are copied. */
struct transform_start {
	const struct transformation *t;
	const struct context *parent;
	const struct facts *facts;  /* NULL: no device is chosen */
	const char *profile;        /* what a profile found of it, as Markdown; NULL: there was none */
	const char *const *applied; /* transformations that led to the context, oldest first */
	size_t applied_count;
	const struct transform_limits *limits; /* NULL: the defaults */
};

/* Checks that it fits (fits_check), applies drops and the first pass's parameters. */
int transform_new(const struct transform_start *start, struct transform **ret_x, struct err *e);
void transform_free(struct transform *x);
/* "waiting", "open", "accepted", "given-up", "cancelled": the words of rows and results. Static storage. */
const char *transform_state_name(enum transform_state state);

/* In ASK and STUCK: the question, and the key of the exchange that answers it. Borrowed until the next change. Without
 * turns when no step of a stuck pass asks a model. */
const struct prompt *transform_prompt(const struct transform *x);
struct model_key transform_key(const struct transform *x);
/* The region that the question asks for. */
enum region transform_region(const struct transform *x);

/* The plan that a model wrote for a sentence, as a transformation's file; NULL: there is none. Borrowed. */
const char *transform_plan(const struct transform *x);

/* The transformation that an exchange belongs to: the sentence, where a plan has taken its place since. Borrowed. */
const struct transformation *transform_asked(const struct transform *x, const struct model_key *key);

/* Feeds one answer; a sentence may be answered with a plan, which takes its place. 0 also when the answer is unusable: then the
 * state is ASK again with feedback (or STUCK), and *ret_outcome (may be NULL) and x->last say why. -ERR_CONFLICT in another
 * state. */
int transform_feed(struct transform *x, const char *answer, enum reply_finish finish, enum reply_outcome *ret_outcome,
		   struct err *e);
/* In JUDGE: judges the pass as its `expect:` says and moves on: next pass, repair, fresh sample, done or stuck.
 * Negative only when nothing could be judged; then the state is unchanged and it can be called again. */
int transform_judge(struct transform *x, const struct judge *judge, struct err *e);
/* From STUCK, with all limits unused: `fresh` starts the pass again, as a model does; else the last question stays
 * open, so that an answer continues the half-done pass. -ERR_CONFLICT when no step of the pass asks a model. */
int transform_reopen(struct transform *x, bool fresh, struct err *e);
/* Somebody finished the pass by hand: this context waits for its verdict, with all limits unused. From ASK, JUDGE and
 * STUCK. */
int transform_take_over(struct transform *x, const struct context *ctx, struct err *e);
/* Drops it, from every state but the final ones. */
int transform_discard(struct transform *x, struct err *e);

/* What transform_run tells its caller; either may stop it by a negative return. */
struct transform_watch {
	void *arg;
	/* After every answer; `x` has already moved on. */
	int (*answered)(void *arg, struct transform *x, const struct model_request *request, const struct model_answer *answer,
			enum reply_outcome outcome, struct err *e);
	/* After every verdict; `x` has already moved on. */
	int (*judged)(void *arg, struct transform *x, struct err *e);
};

/* Runs until DONE (0). -ERR_MODEL when stuck, or whatever model or judge failed with; the machine then stands where it
 * stood and can be run again. `watch` and `cancel` may be NULL. */
int transform_run(struct transform *x, const struct model *model, const struct judge *judge, const struct transform_watch *watch,
		  const atomic_bool *cancel, struct err *e);

#endif
