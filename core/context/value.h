/* value: one number or truth value of an expression, and Lua 5.4's arithmetic on it (reference manual 3.4.1 to 3.4.5):
 * wrapping 64-bit integers, doubles, floor division and modulo, exact comparison between the two. Used by
 * core/context/expr and by whoever reads the result of an expression. */
#ifndef PEAKD_CORE_CONTEXT_VALUE_H
#define PEAKD_CORE_CONTEXT_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum value_kind { VALUE_NONE, VALUE_INT, VALUE_FLOAT, VALUE_BOOL };

struct value {
	enum value_kind kind; /* VALUE_NONE: a variable that has no value (yet) */
	union {
		int64_t i;
		double f;
		bool b;
	};
};

enum value_status {
	VALUE_OK,
	VALUE_DIVZERO, /* integer division or modulo by zero */
	VALUE_UNBOUND, /* a variable without a value */
	VALUE_TYPE,    /* arithmetic on a truth value, bit operation on a fraction */
};

enum value_op {
	VALUE_ADD,
	VALUE_SUB,
	VALUE_MUL,
	VALUE_DIV,
	VALUE_IDIV,
	VALUE_MOD,
	VALUE_POW,
	VALUE_BAND,
	VALUE_BOR,
	VALUE_BXOR,
	VALUE_SHL,
	VALUE_SHR,
	VALUE_EQ,
	VALUE_NE,
	VALUE_LT,
	VALUE_LE,
	VALUE_GT,
	VALUE_GE,
	VALUE_NEG,
	VALUE_BNOT,
	VALUE_NOT, /* unary: the second operand is not looked at */
};

struct value value_of_int(int64_t i);
struct value value_of_float(double f);
struct value value_of_bool(bool b);

enum value_status value_apply(enum value_op op, struct value a, struct value b, struct value *ret_v);
/* The functions of expressions and of host code, on numbers. */
enum value_function {
	VALUE_CDIV, /* ceiling division: the smallest integer not below a/b */
	VALUE_MIN,
	VALUE_MAX,
	VALUE_FLOOR,
	VALUE_CEIL,
	VALUE_ABS,
	VALUE_FUNCTIONS
};
/* "cdiv", "min", …, by number. */
extern const char *const value_function_names[VALUE_FUNCTIONS];
/* How many arguments a function takes: 0 for one or more. */
size_t value_arity(enum value_function fn);
/* Calls a function with as many arguments as it takes. */
enum value_status value_call(enum value_function fn, const struct value *args, size_t count, struct value *ret_v);
/* "division by zero", … for messages. */
const char *value_status_text(enum value_status status);

/* Anything but false is true, as in Lua. */
bool value_true(struct value v);
/* The number as a double; NaN for a truth value or none. */
double value_double(struct value v);
/* An integer, or a float without fraction that fits: sets *ret_i. */
bool value_int(struct value v, int64_t *ret_i);
/* Integral floats become integers. */
struct value value_normal(struct value v);
/* Same kind and same content. */
bool value_same(struct value a, struct value b);

#endif
