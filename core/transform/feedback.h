/* feedback: what a model is told after an answer that failed: one user turn, appended to the prompt. Used by
 * transform.c. */
#ifndef PEAKD_CORE_TRANSFORM_FEEDBACK_H
#define PEAKD_CORE_TRANSFORM_FEEDBACK_H

#include "base/buf.h"
#include "core/context/context.h"
#include "core/transform/judge.h"
#include "core/transform/reply.h"

enum {
	FEEDBACK_ERRORS = 3, /* first errors shown */
	FEEDBACK_AROUND = 3, /* lines of source shown before and after each */
	FEEDBACK_MISMATCHES = 8,
	FEEDBACK_CONFIGS = 8, /* failing and passing ones named, each */
};

/* After an unusable answer: which region is wanted and what was wrong with it. */
void feedback_reply(const struct reply *reply, enum region region, const char *backend, struct buf *out);
/* After a verdict other than pass: the findings on `ctx`. */
void feedback_verdict(const struct judge_verdict *v, const struct context *ctx, struct buf *out);
/* What ends the turn: return the corrected region, whole or as search/replace blocks. */
void feedback_ask(enum region region, const char *backend, struct buf *out);

#endif
