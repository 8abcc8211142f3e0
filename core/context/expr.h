/* expr: the expressions of front matter: Lua 5.4's numeric expressions with Lua's meaning, compiled to a small stack
 * code that is immutable and evaluated without a Lua state, millions of times a second. Used by
 * core/context/{set,spec,space}.
 *
 * Operators, precedences and number rules are those of the Lua 5.4 reference manual, §3.4. There are no strings,
 * tables or assignments; the functions are cdiv, min, max, floor, ceil and abs; names are resolved when the
 * expression is compiled. */
#ifndef PEAKD_CORE_CONTEXT_EXPR_H
#define PEAKD_CORE_CONTEXT_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/context/scope.h"
#include "core/context/value.h"

struct expr;

/* Compiles text[0…len). -ERR_INPUT says what was expected and where ("column 7"), and the nearest name for an unknown
 * one. */
int expr_parse(const struct scope *scope, const char *text, size_t len, struct expr **ret_expr, struct err *e);
void expr_free(struct expr *x);

/* Evaluates with one value per slot of the scope. An integral float result becomes an integer (2*n^3). */
enum value_status expr_eval(const struct expr *x, const struct value *env, struct value *ret_value);
/* What is known of a value. */
struct expr_range {
	bool number;         /* it surely is one, from lo to hi (and so true) */
	bool yes, no, fails; /* it may be true; false; not computable */
	double lo, hi;
	bool whole;   /* a number without fraction: lo and a multiple of `step`, which hi is, too */
	int64_t step; /* 0: lo alone */
};

struct expr_range expr_range_of(struct value v);
/* One or the other. */
struct expr_range expr_range_join(struct expr_range a, struct expr_range b);
/* What the expression can come to where each variable without a value in env has one that `wide` encloses (by slot, too). What cannot be is
 * left out for certain; what is not left out need not be. */
struct expr_range expr_range(const struct expr *x, const struct value *env, const struct expr_range *wide);

/* The slots that the expression mentions: each once, ascending. Borrowed. */
const uint16_t *expr_slots(const struct expr *x, size_t *ret_count);
bool expr_mentions(const struct expr *x, size_t slot);
/* How long one evaluation takes, in steps of one cheap operation each. */
uint64_t expr_cost(const struct expr *x);

#endif
