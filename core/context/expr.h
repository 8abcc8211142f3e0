/* expr: the expressions of front matter: Lua 5.4's numeric expressions with Lua's meaning. They are compiled to a small immutable
 * stack code, evaluated without a Lua state, millions of times a second. They can be evaluated on ranges, and as sets of values.
 * Used by core/context/{spec,enumerate} and by core/problems.
 *
 * Operators, precedences and number rules are those of the Lua 5.4 reference manual, section 3.4. There are no strings,
 * tables or assignments; the functions are cdiv, min, max, floor, ceil and abs; names are resolved when the expression
 * is compiled. */
#ifndef PEAKD_CORE_CONTEXT_EXPR_H
#define PEAKD_CORE_CONTEXT_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/context/value.h"

/* The names that the expressions of one front matter see, each with a slot in the array of values that they are
 * evaluated with. */
struct expr_scope {
	char **names; /* by slot; the name of a loop variable is spoilt once its set is read, which hides it */
	size_t count;
};
struct expr_scope *expr_scope_new(void);
void expr_scope_free(struct expr_scope *s);
/* Adds a name; returns its slot. */
size_t expr_scope_add(struct expr_scope *s, const char *name);
/* Slot of a name, -1 when there is none. */
int expr_scope_find(const struct expr_scope *s, const char *name);

struct expr;

/* Compiles text[0…len). -ERR_INPUT says what was expected and where ("column 7"), and the nearest name for an unknown
 * one. */
int expr_parse(const struct expr_scope *scope, const char *text, size_t len, struct expr **ret_expr, struct err *e);
void expr_free(struct expr *x);

/* Evaluates with one value per slot of the scope. An integral float result becomes an integer (2*n^3). */
enum value_status expr_eval(const struct expr *x, const struct value *env, struct value *ret_value);
/* The slots that the expression mentions: each once, ascending. Borrowed. */
const uint16_t *expr_slots(const struct expr *x, size_t *ret_count);
bool expr_mentions(const struct expr *x, size_t slot);
/* How long one evaluation takes, in steps of one cheap operation each. */
uint64_t expr_cost(const struct expr *x);

/* --- ranges (expr_range.c) ---------------------------------------------------------------------------------------- */
/* What is known about a value. */
struct expr_range {
	bool number;         /* it certainly is a number, from lo to hi (and so true) */
	bool yes, no, fails; /* it may be true; false; not computable */
	double lo, hi;
	bool whole;   /* a number without fraction: lo plus a multiple of `step`; so is hi */
	int64_t step; /* 0: lo alone */
};

struct expr_range expr_range_of(struct value v);
/* One or the other. */
struct expr_range expr_range_join(struct expr_range a, struct expr_range b);
/* What the expression can come to, where each variable without a value in env has one that `wide` encloses (by slot,
 * too). Values outside the result are certainly impossible; values inside need not be possible. */
struct expr_range expr_range(const struct expr *x, const struct value *env, const struct expr_range *wide);

/* --- sets of values (expr_set.c) ---------------------------------------------------------------------------------- */
enum { EXPR_SET_MAX = 4096 }; /* values in one set */

/* `{1, 2, 4}`, `EXPR for i = a,b[,step] [if COND]`, or a single expression. It may mention variables bound before it. */
struct expr_set;

/* Compiles text[0…len); `scope` as in expr_parse; gets a slot for the loop variable. */
int expr_set_parse(struct expr_scope *scope, const char *text, size_t len, struct expr_set **ret_set, struct err *e);
void expr_set_free(struct expr_set *s);
/* The values in order, repetitions dropped, for what is bound in env. `env` has one value per slot of the scope that
 * the set was parsed with, and is written to meanwhile (the loop variable). *ret_values is owned by the caller. An empty
 * set is not an error. The work, as expr_cost counts it, is added to *steps (may be NULL). -ERR_INPUT for an expression
 * that fails, a range that is too long or more than EXPR_SET_MAX values. */
int expr_set_values(const struct expr_set *s, struct value *env, struct value **ret_values, size_t *ret_count, uint64_t *steps,
		    struct err *e);
/* Mentions this slot (its own loop variable apart). */
bool expr_set_mentions(const struct expr_set *s, size_t slot);

/* --- for expr.c and expr_range.c alone: the code ------------------------------------------------------------------ */
enum { EXPR_STACK_MAX = 120 };
enum expr_code { EXPR_CONST, EXPR_VAR, EXPR_OP, EXPR_AND, EXPR_OR, EXPR_CALL };

struct expr_ins {
	uint8_t code; /* enum expr_code */
	uint8_t op;   /* enum value_op or enum value_function */
	uint16_t arg; /* constant, slot, jump target or number of arguments */
};

struct expr {
	struct expr_ins *code;
	size_t len;
	struct value *consts;
	size_t const_count;
	uint16_t *slots;
	size_t slot_count;
};

#endif
