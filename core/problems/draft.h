/* draft: a first kernel context made of an existing CUDA or HIP file: regions from its kernels and launches, inputs from their parameters, the host's
 * variables and its allocations. What the file does not say is asked for, one question each, and answered with a line of `inputs:`
 * (docs/context-format.md). The draft's launch is the file's own: same grid, block and arguments, which is checked (original.h); its tuning
 * parameters have the file's values alone until somebody widens them. ask.h has a model answer the questions. */
#ifndef PEAKD_CORE_PROBLEMS_DRAFT_H
#define PEAKD_CORE_PROBLEMS_DRAFT_H

#include <stddef.h>

#include "base/err.h"

struct draft {
	char *text;               /* the context file; with questions open it lacks what they ask for */
	char **questions;         /* one sentence each; none: the draft is complete */
	size_t question_count;
	char **notes;             /* what was assumed */
	size_t note_count;
};

/* `backend`: "cuda" or "hip". `declared`: lines of declared.h's forms, "n: int = {1024, 2048}", which replace what would be guessed for that
 * name. A text without questions is a context, and its host code runs. -ERR_INPUT when the file has no kernel that can be read, or a
 * declaration names nothing that the file has. */
int draft_make(const char *source, const char *backend, const char *const *declared, size_t declared_count, struct draft *ret_draft,
               struct err *e);
void draft_fini(struct draft *d);

#endif
