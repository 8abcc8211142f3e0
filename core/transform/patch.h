/* patch: search/replace blocks in a model's answer, applied to a region: all or none. The form is the one that most
 * models know (conflict markers); each search must be whole lines that stand in the region exactly once. Used by
 * reply.c. */
#ifndef PEAKD_CORE_TRANSFORM_PATCH_H
#define PEAKD_CORE_TRANSFORM_PATCH_H

#include <stdbool.h>
#include <stddef.h>

enum patch_result { PATCH_OK, PATCH_NONE, PATCH_MISSING, PATCH_TWICE, PATCH_BROKEN };

/* True when the answer holds a line that opens a block. */
bool patch_present(const char *answer);
/* Applies every block of the answer, in order, each to what the one before left. *ret_text (PATCH_OK) and *ret_detail
 * (else: a sentence that quotes the search's first line) are owned by the caller. PATCH_BROKEN: a block is not
 * closed. */
enum patch_result patch_apply(const char *region, const char *answer, char **ret_text, char **ret_detail);

#endif
