/* launches: the file's launches in the words of a context: arguments become inputs, blocks become tuning parameters, grids
 * expressions of both. Used by draft.c; original.c reads the same parts. */
#ifndef PEAKD_CORE_PROBLEMS_LAUNCHES_H
#define PEAKD_CORE_PROBLEMS_LAUNCHES_H

#include "core/problems/drafting.h"

/* The parts of a grid or block, of dim3 its arguments, else the one expression: how many, and the tokens that they are in. */
size_t launches_parts(const struct source *s, struct source_range range, const struct tokens **ret_tokens, struct source_range parts[3]);
/* Entries, tuning parameters and host code of all launches; of a file without one, what can be asked for. */
void launches_write(struct drafting *d);

#endif
