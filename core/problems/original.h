/* original: does a draft launch what its file launches? The draft is read as a context, its host code is run with the file's own values, and
 * what it asks for is compared with the file's launches, which are evaluated from the file's own expressions: kernels, grids, blocks, shared
 * memory, scalar arguments, which array goes where, and how large it was allocated. Sizes that the file does not say are those of the
 * draft. No compiler and no device are needed. Used by draft.c. */
#ifndef PEAKD_CORE_PROBLEMS_ORIGINAL_H
#define PEAKD_CORE_PROBLEMS_ORIGINAL_H

#include "core/problems/drafting.h"

/* Of a draft without questions: a question for what is no context or launches something else, a note for what was compared and what
 * could not be. */
void original_check(struct drafting *d);

#endif
