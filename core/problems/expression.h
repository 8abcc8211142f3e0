/* expression: the file's C expressions in the words of a context: sizes, grids and blocks. Used by draft.c. */
#ifndef PEAKD_CORE_PROBLEMS_EXPRESSION_H
#define PEAKD_CORE_PROBLEMS_EXPRESSION_H

#include <stdbool.h>

#include "base/buf.h"
#include "core/context/value.h"
#include "core/problems/source.h"

/* What a name of the host's code is called in the context: "d_A" is "A", "block.x" is "BX". */
struct expression_meaning { char *host, *context; };
struct expression_names {
	struct expression_meaning *at; /* texts owned */
	size_t count;
};

void expression_names_fini(struct expression_names *n);
/* The first meaning of a name stays. */
void expression_name(struct expression_names *n, const char *host, const char *context);
/* NULL when it has none. */
const char *expression_named(const struct expression_names *n, const char *host);
/* Appends the range as Lua: names by their meaning, the host's variables by their values, C's division of integers as //. False when
 * something in it has no meaning in a context; `out` then has what came before, and *ret_unknown (may be NULL; free()) the word. */
bool expression_lua(const struct source *s, const struct tokens *t, struct source_range range, const struct expression_names *names,
                    struct buf *out, char **ret_unknown);
/* The value of a range that is a constant; false when it is none. `numbers`: what names stand for, as numbers; NULL: the file's own values alone. */
bool expression_value(const struct source *s, const struct tokens *t, struct source_range range, const struct expression_names *numbers,
                      struct value *ret_value);

#endif
