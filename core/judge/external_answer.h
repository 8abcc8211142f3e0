/* external_answer: reads what a user's validator or evaluator answered (docs/validators.md). Strict: anything but the protocol is
 * that program's failure. Called by external.c and its test. */
#ifndef PEAKD_CORE_JUDGE_EXTERNAL_ANSWER_H
#define PEAKD_CORE_JUDGE_EXTERNAL_ANSWER_H

#include "core/judge/external.h"

/* -ERR_INPUT unless the name can stand in a row: letters, digits, '-' and '_', at most 40, and not one of peakd's own validators.
 */
int external_answer_name(const char *name, struct err *e);
/* One document {"verdict": …}: fills verdict, reason and details. -ERR_INPUT says what is wrong with it. */
int external_answer_read(const char *text, size_t len, const struct context *ctx, struct external_answer *answer, struct err *e);
/* One document {"metrics": […]} or {"skipped": "why"}: adds to *io_metrics, all or none. -ERR_INPUT. */
int external_answer_metrics(const char *text, size_t len, const char *evaluator, struct external_metrics *io_metrics,
			    struct err *e);

#endif
