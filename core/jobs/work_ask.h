/* work_ask: one question to a configured model beside the passes of a transformation, recorded as an exchange of the job. Used by
 * work_gate (reviews) and work_optimize (plans). */
#ifndef PEAKD_CORE_JOBS_WORK_ASK_H
#define PEAKD_CORE_JOBS_WORK_ASK_H

#include "base/hash.h"
#include "core/jobs/engine.h"
#include "core/transform/prompt.h"

/* All borrowed. */
struct work_question {
	const char *model; /* NULL or "": the default */
	const char *name;  /* what stands for a transformation's name in the exchange and in recordings */
	struct hash about; /* the context's hash */
	unsigned attempt;  /* from 1: which question about this context */
	const struct prompt *prompt;
};

/* What the questions of a job took so far. */
struct work_asked {
	int64_t calls, tokens_in, tokens_out;
};

/* *ret_answer: free(). Adds to *io_asked. Errors as of struct model's ask. */
int work_ask(struct engine_job *job, const struct work_question *q, char **ret_answer, struct work_asked *io_asked, struct err *e);

#endif
