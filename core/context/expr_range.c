/* expr_range: what an expression can come to while some of its variables are only known to lie between two numbers, in
 * equal steps; see expr.h. Called by core/context/enumerate, which skips what cannot hold.
 *
 * Every operation encloses what value.c computes. Interval arithmetic: Moore, Kearfott and Cloud, Introduction to
 * Interval Analysis, 2009. Steps: Granger, Static analysis of arithmetical congruences, International Journal of
 * Computer Mathematics 30, 1989. For example, every X*Y is a multiple of X's step, which refutes a product that must
 * equal a number that the step does not divide. Bounds stay below 2^50, where integers do not wrap, doubles hold them
 * exactly, and no quotient of two is rounded to a wrong integer; what may lie beyond may be anything. */
#include <math.h>

#include "core/context/expr.h"

#define BOUND_MAX 0x1p50

static struct expr_range truth(bool yes, bool no)
{
	return (struct expr_range){ .yes = yes, .no = no };
}

static struct expr_range anything(void)
{
	return (struct expr_range){ .yes = true, .no = true, .fails = true };
}

/* Numbers are true, also 0. */
static struct expr_range between(double lo, double hi)
{
	if (!(lo >= -BOUND_MAX && hi <= BOUND_MAX))
		return anything();
	return (struct expr_range){ .number = true, .yes = true, .lo = lo, .hi = hi };
}

/* The greatest common divisor of what is not negative; 0 with 0: 0. */
static int64_t common(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

static int64_t size_of(double whole)
{
	return (int64_t)fabs(whole);
}

/* Whole numbers from lo on, in these steps; hi is one of them, too. */
static struct expr_range in_steps(struct expr_range r, int64_t step)
{
	r.whole = r.number;
	r.step = r.lo == r.hi ? 0 : step;
	return r;
}

/* Sums and differences of a's and b's, which r encloses. */
static struct expr_range in_steps_of(struct expr_range r, struct expr_range a, struct expr_range b)
{
	return r.number && a.whole && b.whole ? in_steps(r, common(a.step, b.step)) : r;
}

struct expr_range expr_range_of(struct value v)
{
	if (v.kind == VALUE_BOOL)
		return truth(v.b, !v.b);
	if (v.kind == VALUE_NONE)
		return anything();
	struct expr_range r = between(value_double(v), value_double(v));
	return r.number && floor(r.lo) == r.lo ? in_steps(r, 0) : r;
}

/* One or the other of two numbers' ranges, which r encloses. */
static struct expr_range one_of(struct expr_range r, struct expr_range a, struct expr_range b)
{
	return r.number && a.whole && b.whole ? in_steps(r, common(common(a.step, b.step), size_of(a.lo - b.lo))) : r;
}

struct expr_range expr_range_join(struct expr_range a, struct expr_range b)
{
	if (a.number && b.number)
		return one_of(between(fmin(a.lo, b.lo), fmax(a.hi, b.hi)), a, b);
	return (struct expr_range){ .yes = a.yes || b.yes, .no = a.no || b.no, .fails = a.fails || b.fails };
}

/* The corners of a function that is monotonic in each operand. */
static struct expr_range hull(double a, double b, double c, double d)
{
	return between(fmin(fmin(a, b), fmin(c, d)), fmax(fmax(a, b), fmax(c, d)));
}

static struct expr_range quotient(struct expr_range a, struct expr_range b, double (*rounded)(double))
{
	if (b.lo <= 0 && b.hi >= 0)
		return anything();
	struct expr_range q = hull(a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi);
	return q.number && rounded ? in_steps(between(rounded(q.lo), rounded(q.hi)), 1) : q;
}

/* Its sign is the divisor's; below a positive one, a dividend that is small already stays as it is. What is taken away is a
 * multiple of the divisor. */
static struct expr_range modulo(struct expr_range a, struct expr_range b)
{
	if (b.lo <= 0)
		return anything();
	if (a.lo >= 0 && a.hi < b.lo)
		return a;
	struct expr_range r = between(0, a.lo >= 0 ? fmin(a.hi, b.hi) : b.hi);
	if (!a.whole || !b.whole)
		return r;
	int64_t step = common(a.step, common(b.step, (int64_t)b.lo)), first = (int64_t)a.lo % step;
	r.lo = (double)(first < 0 ? first + step : first);
	r.hi = fmin(r.hi, b.hi - 1);
	r.hi -= (double)((int64_t)(r.hi - r.lo) % step);
	return in_steps(r, step);
}

static struct expr_range product(struct expr_range a, struct expr_range b)
{
	struct expr_range r = hull(a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi);
	if (!r.number || !a.whole || !b.whole)
		return r;
	/* (a.lo + i * a.step) * (b.lo + k * b.step). A step is no longer than its range, so that none of these is beyond four
	 * corners. */
	return in_steps(r, common(common(a.step * b.step, a.step * size_of(b.lo)), b.step * size_of(a.lo)));
}

/* Of one number, as value.c has it; else of what is not negative, to a known power. pow() may be off in its last digits. */
static struct expr_range power(struct expr_range a, struct expr_range b)
{
	struct value v;
	if (a.lo == a.hi && b.lo == b.hi && value_apply(VALUE_POW, value_of_float(a.lo), value_of_float(b.lo), &v) == VALUE_OK)
		return expr_range_of(v);
	if (a.lo < 0 || b.lo < 0 || b.lo != b.hi)
		return anything();
	return between(pow(a.lo, b.lo) * (1 - 0x1p-50), pow(a.hi, b.lo) * (1 + 0x1p-50));
}

static bool can_meet(struct expr_range a, struct expr_range b)
{
	if (a.lo > b.hi || b.lo > a.hi)
		return false;
	int64_t step = a.whole && b.whole ? common(a.step, b.step) : 0;
	return step == 0 || size_of(a.lo - b.lo) % step == 0;
}

static struct expr_range apply(enum value_op op, struct expr_range a, struct expr_range b)
{
	if (op == VALUE_NOT)
		return (struct expr_range){ .yes = a.no, .no = a.yes, .fails = a.fails };
	if (!a.number || !b.number)
		return anything();
	bool same = a.lo == b.hi && a.hi == b.lo; /* one number each */
	switch (op) {
	case VALUE_ADD: return in_steps_of(between(a.lo + b.lo, a.hi + b.hi), a, b);
	case VALUE_SUB: return in_steps_of(between(a.lo - b.hi, a.hi - b.lo), a, b);
	case VALUE_NEG: return in_steps_of(between(-a.hi, -a.lo), a, a);
	case VALUE_MUL: return product(a, b);
	case VALUE_DIV: return quotient(a, b, NULL);
	case VALUE_IDIV: return quotient(a, b, floor);
	case VALUE_MOD: return modulo(a, b);
	case VALUE_POW: return power(a, b);
	case VALUE_EQ: return truth(can_meet(a, b), !same);
	case VALUE_NE: return truth(!same, can_meet(a, b));
	case VALUE_LT: return truth(a.lo < b.hi, a.hi >= b.lo);
	case VALUE_LE: return truth(a.lo <= b.hi, a.hi > b.lo);
	case VALUE_GT: return truth(a.hi > b.lo, a.lo <= b.hi);
	case VALUE_GE: return truth(a.hi >= b.lo, a.lo < b.hi);
	case VALUE_BAND:
	case VALUE_BOR:
	case VALUE_BXOR:
	case VALUE_SHL:
	case VALUE_SHR:
	case VALUE_BNOT:
	case VALUE_NOT: break;
	}
	return anything();
}

static struct expr_range absolute(struct expr_range a)
{
	if (a.lo >= 0)
		return a;
	if (a.hi <= 0)
		return in_steps_of(between(-a.hi, -a.lo), a, a);
	struct expr_range r = between(0, fmax(-a.lo, a.hi));
	return a.whole ? in_steps(r, 1) : r;
}

static struct expr_range call(enum value_function fn, const struct expr_range *args, size_t count)
{
	struct expr_range r = args[0];
	for (size_t k = 0; k < count; k++)
		if (!args[k].number)
			return anything();
	switch (fn) {
	case VALUE_CDIV: return quotient(args[0], args[1], ceil);
	case VALUE_FLOOR: return r.whole ? r : in_steps(between(floor(r.lo), floor(r.hi)), 1);
	case VALUE_CEIL: return r.whole ? r : in_steps(between(ceil(r.lo), ceil(r.hi)), 1);
	case VALUE_ABS: return absolute(r);
	case VALUE_MIN:
		for (size_t k = 1; k < count; k++)
			r = one_of(between(fmin(r.lo, args[k].lo), fmin(r.hi, args[k].hi)), r, args[k]);
		return r;
	case VALUE_MAX:
		for (size_t k = 1; k < count; k++)
			r = one_of(between(fmax(r.lo, args[k].lo), fmax(r.hi, args[k].hi)), r, args[k]);
		return r;
	case VALUE_FUNCTIONS: break;
	}
	return anything();
}

/* Of `and` and `or` whose left side may or may not decide. */
static struct expr_range either(enum expr_code code, struct expr_range left, struct expr_range right)
{
	bool goes_on = code == EXPR_AND ? left.yes : left.no;
	return (struct expr_range){ .yes = (code == EXPR_OR && left.yes) || (goes_on && right.yes),
				    .no = (code == EXPR_AND && left.no) || (goes_on && right.no),
				    .fails = left.fails || (goes_on && right.fails) };
}

/* The code from pc to end, which leaves one value at `top`. */
static void walk(const struct expr *x, size_t pc, size_t end, const struct value *env, const struct expr_range *wide,
		 struct expr_range *top)
{
	struct expr_range left;
	for (; pc < end; pc++) {
		const struct expr_ins in = x->code[pc];
		switch ((enum expr_code)in.code) {
		case EXPR_CONST: *top++ = expr_range_of(x->consts[in.arg]); break;
		case EXPR_VAR: *top++ = env[in.arg].kind == VALUE_NONE ? wide[in.arg] : expr_range_of(env[in.arg]); break;
		case EXPR_OP:
			top -= in.op < VALUE_NEG;
			top[-1] = apply(in.op, top[-1], in.op < VALUE_NEG ? top[0] : top[-1]);
			break;
		case EXPR_AND:
		case EXPR_OR:
			left = top[-1];
			if (!left.fails && !(in.code == EXPR_OR ? left.yes : left.no)) {
				top--;
				break;
			}
			if (left.fails || (in.code == EXPR_OR ? left.no : left.yes)) {
				walk(x, pc + 1, in.arg, env, wide, top - 1);
				top[-1] = either(in.code, left, top[-1]);
			}
			pc = (size_t)in.arg - 1;
			break;
		case EXPR_CALL:
			top -= in.arg;
			*top = call(in.op, top, in.arg);
			top++;
			break;
		}
	}
}

struct expr_range expr_range(const struct expr *x, const struct value *env, const struct expr_range *wide)
{
	struct expr_range stack[EXPR_STACK_MAX + 8];
	walk(x, 0, x->len, env, wide, stack);
	return stack[0];
}
