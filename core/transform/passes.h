/* passes: the body of a transformation's file: `## Pass N: title`, directives, `### region` steps, code to insert.
 * The second half of transformation.c, which alone calls it. */
#ifndef PEAKD_CORE_TRANSFORM_PASSES_H
#define PEAKD_CORE_TRANSFORM_PASSES_H

#include "core/transform/transformation.h"

/* Fills intro and passes of `t` (whose params are read already). -ERR_INPUT with `where` and line. On failure what
 * was read so far stays in `t`, to be freed with it. */
int passes_parse(struct transformation *t, const char *body, int line, const char *where, struct err *e);
void passes_fini(struct transformation *t);

#endif
