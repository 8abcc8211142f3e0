/* value: Lua 5.4's arithmetic; see value.h. Used by core/context/expr. */
#include "core/context/value.h"

#include <math.h>

struct value value_of_int(int64_t i)
{
	return (struct value){ .kind = VALUE_INT, .i = i };
}

struct value value_of_float(double f)
{
	return (struct value){ .kind = VALUE_FLOAT, .f = f };
}

struct value value_of_bool(bool b)
{
	return (struct value){ .kind = VALUE_BOOL, .b = b };
}

const char *value_status_text(enum value_status status)
{
	switch (status) {
	case VALUE_OK: return "no error";
	case VALUE_DIVZERO: return "division by zero";
	case VALUE_UNBOUND: return "a parameter without a value";
	case VALUE_TYPE: return "arithmetic on a truth value, or a bit operation on a fraction";
	}
	return "";
}

bool value_true(struct value v)
{
	return !(v.kind == VALUE_BOOL && !v.b);
}

static bool is_number(struct value v)
{
	return v.kind == VALUE_INT || v.kind == VALUE_FLOAT;
}

double value_double(struct value v)
{
	return v.kind == VALUE_INT ? (double)v.i : v.kind == VALUE_FLOAT ? v.f : NAN;
}

bool value_int(struct value v, int64_t *ret_i)
{
	if (v.kind == VALUE_INT) {
		*ret_i = v.i;
		return true;
	}
	/* 2^63 itself does not fit, -2^63 does. */
	if (v.kind != VALUE_FLOAT || !(v.f >= -0x1p63 && v.f < 0x1p63) || v.f != floor(v.f))
		return false;
	*ret_i = (int64_t)v.f;
	return true;
}

struct value value_normal(struct value v)
{
	int64_t i;
	return v.kind == VALUE_FLOAT && value_int(v, &i) ? value_of_int(i) : v;
}

bool value_same(struct value a, struct value b)
{
	if (a.kind != b.kind)
		return false;
	switch (a.kind) {
	case VALUE_NONE: return true;
	case VALUE_INT: return a.i == b.i;
	case VALUE_FLOAT: return a.f == b.f || (isnan(a.f) && isnan(b.f));
	case VALUE_BOOL: return a.b == b.b;
	}
	return false;
}

/* -1, 0, 1 for an integer against a float, exactly; the float is not NaN. */
static int compare_mixed(int64_t i, double f)
{
	if (f >= 0x1p63)
		return -1;
	if (f < -0x1p63)
		return 1;
	int64_t whole = (int64_t)floor(f);
	if (i != whole)
		return i < whole ? -1 : 1;
	return f > floor(f) ? -1 : 0;
}

/* Ordering of two numbers; false in *ret_ordered when one is NaN. */
static int compare(struct value a, struct value b, bool *ret_ordered)
{
	*ret_ordered = !isnan(value_double(a)) && !isnan(value_double(b));
	if (!*ret_ordered)
		return 0;
	if (a.kind == VALUE_INT && b.kind == VALUE_INT)
		return (a.i > b.i) - (a.i < b.i);
	if (a.kind == VALUE_FLOAT && b.kind == VALUE_FLOAT)
		return (a.f > b.f) - (a.f < b.f);
	return a.kind == VALUE_INT ? compare_mixed(a.i, b.f) : -compare_mixed(b.i, a.f);
}

static enum value_status relation(enum value_op op, struct value a, struct value b, struct value *ret_v)
{
	bool ordered = true;
	int c = 0;
	if (is_number(a) && is_number(b))
		c = compare(a, b, &ordered);
	else if (op == VALUE_EQ || op == VALUE_NE)
		c = value_same(a, b) ? 0 : 1;
	else
		return VALUE_TYPE;
	bool r = op == VALUE_EQ   ? c == 0
		 : op == VALUE_NE ? c != 0
		 : op == VALUE_LT ? c < 0
		 : op == VALUE_LE ? c <= 0
		 : op == VALUE_GT ? c > 0
				  : c >= 0;
	*ret_v = value_of_bool(ordered ? r : op == VALUE_NE);
	return VALUE_OK;
}

static int64_t floor_div(int64_t a, int64_t b)
{
	if (b == -1)
		return (int64_t)(0 - (uint64_t)a); /* INT64_MIN // -1 wraps instead of trapping */
	int64_t q = a / b;
	return (a % b != 0 && (a ^ b) < 0) ? q - 1 : q;
}

static int64_t floor_mod(int64_t a, int64_t b)
{
	if (b == -1)
		return 0;
	int64_t r = a % b;
	return r != 0 && (r ^ b) < 0 ? r + b : r;
}

static uint64_t shift_left(uint64_t a, int64_t by)
{
	if (by <= -64 || by >= 64)
		return 0;
	return by >= 0 ? a << by : a >> -by;
}

static double float_mod(double a, double b)
{
	double r = fmod(a, b);
	return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static enum value_status bits(enum value_op op, struct value a, struct value b, struct value *ret_v)
{
	int64_t x, y = 0;
	if (!value_int(a, &x) || (op != VALUE_BNOT && !value_int(b, &y)))
		return VALUE_TYPE;
	uint64_t u = (uint64_t)x, w = (uint64_t)y, r = 0;
	if (op == VALUE_BAND)
		r = u & w;
	else if (op == VALUE_BOR)
		r = u | w;
	else if (op == VALUE_BXOR)
		r = u ^ w;
	else if (op == VALUE_BNOT)
		r = ~u;
	else
		r = shift_left(u, op == VALUE_SHL ? y : y == INT64_MIN ? INT64_MAX : -y);
	*ret_v = value_of_int((int64_t)r);
	return VALUE_OK;
}

static enum value_status integers(enum value_op op, int64_t a, int64_t b, struct value *ret_v)
{
	uint64_t x = (uint64_t)a, y = (uint64_t)b;
	if ((op == VALUE_IDIV || op == VALUE_MOD) && b == 0)
		return VALUE_DIVZERO;
	int64_t r = op == VALUE_ADD    ? (int64_t)(x + y)
		    : op == VALUE_SUB  ? (int64_t)(x - y)
		    : op == VALUE_MUL  ? (int64_t)(x * y)
		    : op == VALUE_IDIV ? floor_div(a, b)
		    : op == VALUE_MOD  ? floor_mod(a, b)
				       : (int64_t)(0 - x);
	*ret_v = value_of_int(r);
	return VALUE_OK;
}

static enum value_status arithmetic(enum value_op op, struct value a, struct value b, struct value *ret_v)
{
	if (!is_number(a) || (op != VALUE_NEG && !is_number(b)))
		return VALUE_TYPE;
	bool whole = a.kind == VALUE_INT && (op == VALUE_NEG || b.kind == VALUE_INT);
	if (whole && op != VALUE_DIV && op != VALUE_POW)
		return integers(op, a.i, b.i, ret_v);
	double x = value_double(a), y = value_double(b);
	double r = op == VALUE_ADD    ? x + y
		   : op == VALUE_SUB  ? x - y
		   : op == VALUE_MUL  ? x * y
		   : op == VALUE_DIV  ? x / y
		   : op == VALUE_IDIV ? floor(x / y)
		   : op == VALUE_MOD  ? float_mod(x, y)
		   : op == VALUE_POW  ? pow(x, y)
				      : -x;
	*ret_v = value_of_float(r);
	return VALUE_OK;
}

enum value_status value_apply(enum value_op op, struct value a, struct value b, struct value *ret_v)
{
	switch (op) {
	case VALUE_ADD:
	case VALUE_SUB:
	case VALUE_MUL:
	case VALUE_DIV:
	case VALUE_IDIV:
	case VALUE_MOD:
	case VALUE_POW:
	case VALUE_NEG: return arithmetic(op, a, b, ret_v);
	case VALUE_BAND:
	case VALUE_BOR:
	case VALUE_BXOR:
	case VALUE_SHL:
	case VALUE_SHR:
	case VALUE_BNOT: return bits(op, a, b, ret_v);
	case VALUE_EQ:
	case VALUE_NE:
	case VALUE_LT:
	case VALUE_LE:
	case VALUE_GT:
	case VALUE_GE: return relation(op, a, b, ret_v);
	case VALUE_NOT: *ret_v = value_of_bool(!value_true(a)); return VALUE_OK;
	}
	return VALUE_TYPE;
}

/* --- functions ---------------------------------------------------------------------------------------------------- */
const char *const value_function_names[VALUE_FUNCTIONS] = { "cdiv", "min", "max", "floor", "ceil", "abs" };

size_t value_arity(enum value_function fn)
{
	return fn == VALUE_CDIV ? 2 : fn == VALUE_MIN || fn == VALUE_MAX ? 0 : 1;
}

/* ceil(a/b) = -floor(-a/b) */
static enum value_status ceiling_division(struct value a, struct value b, struct value *ret_v)
{
	struct value minus, q;
	enum value_status st = arithmetic(VALUE_NEG, a, a, &minus);
	if (st == VALUE_OK)
		st = arithmetic(VALUE_IDIV, minus, b, &q);
	if (st == VALUE_OK)
		st = arithmetic(VALUE_NEG, q, q, ret_v);
	if (st == VALUE_OK)
		*ret_v = value_normal(*ret_v);
	return st;
}

enum value_status value_call(enum value_function fn, const struct value *args, size_t count, struct value *ret_v)
{
	struct value v = args[0], wins;
	if (!is_number(v))
		return VALUE_TYPE;
	if (fn == VALUE_CDIV)
		return ceiling_division(v, args[1], ret_v);
	if (fn == VALUE_ABS && value_double(v) < 0)
		return arithmetic(VALUE_NEG, v, v, ret_v);
	if (fn == VALUE_FLOOR || fn == VALUE_CEIL)
		v = v.kind == VALUE_INT ? v : value_normal(value_of_float(fn == VALUE_FLOOR ? floor(v.f) : ceil(v.f)));
	for (size_t k = 1; k < count && (fn == VALUE_MIN || fn == VALUE_MAX); k++) {
		if (relation(fn == VALUE_MIN ? VALUE_LT : VALUE_GT, args[k], v, &wins) != VALUE_OK)
			return VALUE_TYPE;
		if (wins.b)
			v = args[k];
	}
	*ret_v = v;
	return VALUE_OK;
}
