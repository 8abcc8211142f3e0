/* set: a set of values as front matter writes it: `{1, 2, 4}`, `EXPR for i = a,b[,step] [if COND]`, or a single
 * expression. It may mention variables bound before it. Used by core/context/{spec,space}. */
#ifndef PEAKD_CORE_CONTEXT_SET_H
#define PEAKD_CORE_CONTEXT_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "core/context/expr.h"

enum { SET_VALUES_MAX = 4096 }; /* values in one set */

struct set;

/* Compiles text[0…len); `scope` as in expr_parse, and given a slot for the loop variable while the text is read. */
int set_parse(struct scope *scope, const char *text, size_t len, struct set **ret_set, struct err *e);
void set_free(struct set *s);
/* The values in order, repetitions dropped, for what is bound in env. `env` has one value per slot of the scope that
 * the set was parsed with, and is written to while it runs (the loop variable). *ret_values is owned by the caller.
 * An empty set is not an error here. The work, as expr_cost counts it, is added to *steps (may be NULL). -ERR_INPUT for an expression that fails, a range without end or more than
 * SET_VALUES_MAX values. */
int set_values(const struct set *s, struct value *env, struct value **ret_values, size_t *ret_count, uint64_t *steps,
	       struct err *e);
/* Mentions this slot (its own loop variable apart). */
bool set_mentions(const struct set *s, size_t slot);

#endif
