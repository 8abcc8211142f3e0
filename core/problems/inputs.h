/* inputs: what stands below inputs:, and scratch memory: sizes from the host's variables and allocations, roles from what kernels do, and
 * whatever was declared. Used by draft.c. */
#ifndef PEAKD_CORE_PROBLEMS_INPUTS_H
#define PEAKD_CORE_PROBLEMS_INPUTS_H

#include "core/problems/drafting.h"

/* Before the launches are read: what is declared under a name of the host's code ("rows: int = {1024}") becomes an input of that name. */
void inputs_name(struct drafting *d);
/* Behind them: every entry's line, or a question. */
void inputs_write(struct drafting *d);
/* The bytes of an allocation, through a variable (`size_t bytes = …`) where that is all that stands there, and the tokens they are in. */
struct source_range inputs_bytes(const struct source *s, const struct source_buffer *b, const struct tokens **ret_tokens);

#endif
