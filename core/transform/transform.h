/* transform: one transformation carried out on one context, as a state machine that can be stopped, saved and
 * continued between any two calls. The same machine serves a model that the daemon calls, replayed recordings, and an
 * agent that is the model itself (transform_begin / transform_submit): ask for the prompt, feed the reply, judge the
 * pass, and so on.
 *
 *   while ((s = transform_state(x)) is not final)
 *       TRANSFORM_ASK:   transform_prompt → somebody answers → transform_feed
 *       TRANSFORM_JUDGE: transform_judge
 *
 * transform_run is that loop. Not thread-safe; one owner at a time. */
#ifndef PEAKD_CORE_TRANSFORM_TRANSFORM_H
#define PEAKD_CORE_TRANSFORM_TRANSFORM_H

#include <stdatomic.h>
#include <stdint.h>

#include "backends/wire/facts.h"
#include "base/buf.h"
#include "base/err.h"
#include "core/transform/judge.h"
#include "core/transform/model.h"
#include "core/transform/prompt.h"
#include "core/transform/transformation.h"

struct transform;

enum transform_state {
	TRANSFORM_ASK,   /* the prompt waits for a reply */
	TRANSFORM_JUDGE, /* all steps of the pass are in; the pass waits for its verdict */
	TRANSFORM_DONE,  /* every pass holds */
	TRANSFORM_STUCK, /* repairs and fresh samples are used up; the half-done pass can be finished by hand */
};

/* Zeros take the defaults that are named. */
struct transform_limits {
	unsigned compile_repairs; /* per sample of a pass; 3 */
	unsigned wrong_repairs;   /* per sample of a pass; 2 */
	unsigned malformed;       /* replies without a usable region, per sample of a pass; 2 */
	unsigned samples;         /* fresh starts of a pass, the first included; 2 */
};

/* Checks prerequisites (transformation_check), applies drops, and the parameters of the first pass. Texts are copied;
 * `facts` may be NULL. `applied`: transformations that the context has behind it, oldest first. */
int transform_new(const struct transformation *t, const struct context *parent, const struct facts *facts,
		  const char *const *applied, size_t applied_count, const struct transform_limits *limits,
		  struct transform **ret_x, struct err *e);
void transform_free(struct transform *x);

enum transform_state transform_state(const struct transform *x);
/* In TRANSFORM_ASK: what to show to the model, and the key of the exchange. Borrowed until the next change. */
const struct prompt *transform_prompt(const struct transform *x);
struct model_key transform_key(const struct transform *x);
/* The region that the prompt asks for, and its text now. */
enum region transform_region(const struct transform *x);
/* Feeds one answer. 0 also when the answer is unusable: then the state is TRANSFORM_ASK again with feedback (or
 * STUCK), and *ret_outcome (may be NULL) and transform_last say why. -ERR_CONFLICT in another state. */
int transform_feed(struct transform *x, const char *answer, enum reply_finish finish, enum reply_outcome *ret_outcome,
		   struct err *e);
/* In TRANSFORM_JUDGE: judges the pass as its `expect:` says and moves on: next pass, repair, fresh sample, done or
 * stuck. Negative only when nothing could be judged; the state is then unchanged and it can be called again. */
int transform_judge(struct transform *x, const struct judge *judge, struct err *e);

/* The context now: after DONE the result; in STUCK the half-done one, for hand-over. Borrowed until the next change. */
const struct context *transform_context(const struct transform *x);
const struct context *transform_parent(const struct transform *x);
const struct transformation *transform_transformation(const struct transform *x);
/* Where it stands, from 1; and counts over the whole run. */
unsigned transform_pass(const struct transform *x);
unsigned transform_step(const struct transform *x);
unsigned transform_asked(const struct transform *x);   /* replies fed */
unsigned transform_repairs(const struct transform *x); /* of those, repairs of any kind */
/* The last verdict on a pass; JUDGE_PASS before the first. Not saved. */
enum judge_result transform_verdict(const struct transform *x);
/* What happened last, one or two lines for people ("pass 2: does not compile: …"); never NULL. Borrowed. */
const char *transform_last(const struct transform *x);
/* The last verdict's feedback as the model was told it; "" when there was none. Borrowed. */
const char *transform_feedback(const struct transform *x);

/* Somebody finished the pass by hand: takes this context as the state to be judged (from ASK, JUDGE or STUCK). */
int transform_take_over(struct transform *x, const struct context *ctx, struct err *e);

/* All of it as text, and back: transformation, parent, current context, counters, turns. `facts` as in transform_new. */
void transform_save(const struct transform *x, struct buf *out);
int transform_load(const char *text, size_t len, const struct facts *facts, struct transform **ret_x, struct err *e);

/* What transform_run tells its caller between two moves; may record, report, or stop it by a negative return. */
struct transform_watch {
	void *arg;
	/* After every answer. */
	int (*answered)(void *arg, const struct transform *x, const struct model_request *request,
			const struct model_answer *answer, enum reply_outcome outcome, struct err *e);
	/* After every verdict; `x` has already moved on. */
	int (*judged)(void *arg, const struct transform *x, struct err *e);
};

/* Runs until DONE (0). -ERR_MODEL when stuck (transform_context has the half-done pass), or whatever model or judge
 * failed with; the machine then stands where it stood and can be run again. `watch` and `cancel` may be NULL. */
int transform_run(struct transform *x, const struct model *model, const struct judge *judge,
		  const struct transform_watch *watch, const atomic_bool *cancel, struct err *e);

#endif
