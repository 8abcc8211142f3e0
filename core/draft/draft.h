/* draft: a first kernel context made of an existing CUDA or HIP file: regions from its kernels and launches, inputs from their parameters, the host's
 * variables and its allocations. What the file does not say is asked for, one question each, and answered with a line of `inputs:`
 * (docs/context-format.md). The draft's launch is the file's own: same grid, block and arguments; its tuning parameters have the file's
 * values alone until somebody widens them. */
#ifndef PEAKD_CORE_DRAFT_DRAFT_H
#define PEAKD_CORE_DRAFT_DRAFT_H

#include <stddef.h>

#include "base/err.h"

struct draft {
	char *text;               /* the context file; with questions open it lacks what they ask for */
	char **questions;         /* one sentence each; none: the draft is complete */
	size_t question_count;
	char **notes;             /* what was assumed */
	size_t note_count;
};

/* `backend`: "cuda" or "hip". `declared`: lines as they stand below inputs:, "n: int = {1024, 2048}", which replace what would be
 * guessed for that name. -ERR_INPUT when the file has no kernel that can be read, or a declaration names nothing that a kernel takes. */
int draft_make(const char *source, const char *backend, const char *const *declared, size_t declared_count, struct draft *ret_draft,
               struct err *e);
void draft_fini(struct draft *d);

#endif
