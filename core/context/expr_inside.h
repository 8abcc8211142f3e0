/* expr_inside: the code that an expression is compiled to, which expr.c writes and runs and expr_range.c runs on ranges; nobody else sees
 * it. See expr.h. */
#ifndef PEAKD_CORE_CONTEXT_EXPR_INSIDE_H
#define PEAKD_CORE_CONTEXT_EXPR_INSIDE_H

#include "core/context/expr.h"

enum { EXPR_STACK_MAX = 120 };

enum expr_code { CODE_CONST, CODE_VAR, CODE_OP, CODE_AND, CODE_OR, CODE_CALL };
enum expr_function { FN_CDIV, FN_MIN, FN_MAX, FN_FLOOR, FN_CEIL, FN_ABS, FN_COUNT };

struct expr_ins {
	uint8_t code; /* enum expr_code */
	uint8_t op;   /* enum value_op or enum expr_function */
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
