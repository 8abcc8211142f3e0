/* diff: two texts compared line by line, shown as unified diffs are. For contexts, which are short. */
#ifndef PEAKD_BASE_DIFF_H
#define PEAKD_BASE_DIFF_H

#include "base/buf.h"

/* Appends "--- a\n+++ b\n@@ … @@" hunks with `around` lines of context; nothing when the texts are equal. Texts of more than
 * DIFF_LINES_MAX lines that differ are shown as all removed, all added. */
enum { DIFF_LINES_MAX = 4000 };
void diff_unified(struct buf *out, const char *name_a, const char *a, const char *name_b, const char *b, unsigned around);

#endif
