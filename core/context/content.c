/* content: see content.h. */
#include "core/context/content.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/lex.h"
#include "core/context/output.h"

const char *const content_fills[] = { "zeros", "ones", "random", "normal", "iota", "sorted", "permutation", "probabilities", NULL };
static const enum plan_fill kinds[] = { PLAN_ZEROS, PLAN_ONES,   PLAN_RANDOM,      PLAN_NORMAL,
					PLAN_IOTA,  PLAN_SORTED, PLAN_PERMUTATION, PLAN_PROBABILITIES };
#define FILLS "zeros, ones, random, random(lo, hi), normal, iota, sorted, sorted(lo, hi), permutation or probabilities"
#define DOMAINS "`closed`, or bounds as in `>= 0` or `>= 0, < n`"
#define NORMAL_MOST 6 /* normal values lie within ± this */

struct spec_content content_default(void)
{
	return (struct spec_content){ .fill = PLAN_RANDOM };
}

void content_fini(struct spec_content *c)
{
	expr_free(c->lo);
	expr_free(c->hi);
	expr_free(c->least.x);
	expr_free(c->most.x);
	*c = content_default();
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static int take_bound(const struct spec *spec, const char **at, struct expr **ret_x, struct err *e)
{
	size_t n = lex_until(*at, ",)");
	struct expr *x = NULL;
	int rc = expr_parse(spec->scope, *at, n, &x, e);
	for (size_t k = 0; rc == 0 && k < SPEC_DEVICE_NAMES; k++)
		if (expr_mentions(x, spec->device_slot + k))
			rc = err_set(e, ERR_INPUT, "values cannot depend on the device");
	if (rc < 0) {
		expr_free(x);
		return rc;
	}
	*at += n;
	*ret_x = x;
	return 0;
}

/* False when it depends on sizes, or fails. */
static bool is_known(const struct spec *spec, const struct expr *x, double *ret_v)
{
	struct value *env = spec_env(spec, NULL, NULL), v;
	bool known = expr_eval(x, env, &v) == VALUE_OK;
	free(env);
	if (known)
		*ret_v = value_double(v);
	return known;
}

/* `(lo, hi)`, *at on the parenthesis. */
static int take_range(const struct spec *spec, struct spec_content *c, const char **at, struct err *e)
{
	const char *text = *at, *name = c->fill == PLAN_SORTED ? "sorted" : "random";
	double lo, hi;
	++*at;
	int rc = take_bound(spec, at, &c->lo, e);
	if (rc == 0 && **at == ',') {
		++*at;
		rc = take_bound(spec, at, &c->hi, e);
	}
	if (rc < 0)
		return rc;
	if (c->hi == NULL || **at != ')')
		return err_set(e, ERR_INPUT, "expected %s(lo, hi), found `%s%s`", name, name, text);
	if (is_known(spec, c->lo, &lo) && is_known(spec, c->hi, &hi) && !(lo < hi && isfinite(lo) && isfinite(hi)))
		return err_set(e, ERR_INPUT, "expected %s(lo, hi) with two numbers, lo < hi, found `%s%s`", name, name, text);
	++*at;
	return 0;
}

static int take_fill(const struct spec *spec, struct spec_array *a, const char **at, struct err *e)
{
	struct spec_content *c = &a->content;
	size_t k = 0;
	*at += strspn(*at, " ");
	while (content_fills[k] && !lex_take(at, content_fills[k]))
		k++;
	if (content_fills[k] == NULL)
		return err_set(e, ERR_INPUT, "expected " FILLS " behind '=', found `%s`", *at);
	c->fill = kinds[k];
	if (c->fill == PLAN_PROBABILITIES && !dtype_is_float(a->type))
		return err_set(e, ERR_INPUT, "probabilities are fractions, and %s is an integer type", dtype_name(a->type));
	*at += strspn(*at, " ");
	bool ranged = c->fill == PLAN_RANDOM || c->fill == PLAN_SORTED;
	return ranged && **at == '(' ? take_range(spec, c, at, e) : 0;
}

/* `closed`, or bounds. */
static int take_domain(const struct spec *spec, struct spec_content *c, const char **at, struct err *e)
{
	const char *text = *at;
	c->closed = lex_take(at, "closed");
	if (c->closed)
		return 0;
	while (**at == '<' || **at == '>') {
		struct spec_bound *b = **at == '<' ? &c->most : &c->least;
		const char *which = **at == '<' ? "upper" : "lower";
		if (b->x)
			return err_set(e, ERR_INPUT, "two %s bounds in `%s`", which, text);
		b->strict = (*at)[1] != '=';
		*at += b->strict ? 1 : 2;
		int rc = take_bound(spec, at, &b->x, e);
		if (rc < 0)
			return rc;
		if (**at == ',')
			*at += 1 + strspn(*at + 1, " ");
	}
	return 0;
}

int content_read(const struct spec *spec, struct spec_array *a, const char *text, struct err *e)
{
	const char *at = text + strspn(text, " ");
	int rc = 0;
	if (*at && a->role == PLAN_OUT)
		return err_set(
			e, ERR_INPUT,
			"an output has no fill, because it is poisoned before every run; write inout if the kernel reads it");
	if (*at == '=') {
		at++;
		rc = take_fill(spec, a, &at, e);
	}
	at += strspn(at, " ");
	if (rc == 0)
		rc = take_domain(spec, &a->content, &at, e);
	if (rc == 0 && a->role != PLAN_IN && !a->judged.declared)
		rc = output_take(a, &at, e); /* how an inout is judged may also stand behind its fill */
	at += strspn(at, " ");
	if (rc == 0 && *at)
		rc = err_set(e, ERR_INPUT, "expected " DOMAINS " or the end of the line behind the fill, found `%s`", at);
	return rc;
}

/* --- placing ------------------------------------------------------------------------------------------------------ */

/* The neighbour of a float in its type, away from or towards zero. */
static double neighbour(enum dtype t, double v, bool up)
{
	uint64_t bits = 0, sign = UINT64_C(1) << (8 * dtype_size(t) - 1);
	dtype_store(t, &bits, v);
	if (v == 0)
		bits = up ? 1 : sign | 1;
	else
		bits += (v > 0) == up ? 1 : UINT64_MAX;
	return dtype_load(t, &bits);
}

/* The number of type t that a bound permits and that is nearest to it. */
static double tightest(enum dtype t, double bound, bool upper, bool strict)
{
	uint64_t bits = 0;
	if (isinf(bound))
		return bound;
	if (!dtype_is_float(t))
		return upper ? (strict ? ceil(bound) - 1 : floor(bound)) : (strict ? floor(bound) + 1 : ceil(bound));
	if (bound == 0 && strict) /* devices flush denormals to the zero that is excluded */
		return upper ? -dtype_smallest_normal(t) : dtype_smallest_normal(t);
	dtype_store(t, &bits, bound);
	double v = dtype_load(t, &bits);
	while (upper ? v > bound || (strict && v == bound) : v < bound || (strict && v == bound))
		v = neighbour(t, v, !upper);
	return v;
}

static int number(const struct spec_array *a, const struct expr *x, const struct value *env, double *ret_v, struct err *e)
{
	struct value v;
	enum value_status st = expr_eval(x, env, &v);
	if (st != VALUE_OK)
		return err_set(e, ERR_INPUT, "inputs: %s: a bound of its values cannot be computed: %s", a->name,
			       value_status_text(st));
	*ret_v = value_double(v);
	if (!isfinite(*ret_v))
		return err_set(e, ERR_INPUT, "inputs: %s: a bound of its values is %g; expected a number", a->name, *ret_v);
	return 0;
}

/* Plain `random` is symmetric for signed types, so that sums cancel and errors show. */
static void default_range(enum dtype t, double *ret_lo, double *ret_hi)
{
	*ret_lo = dtype_is_float(t) ? -1 : dtype_is_signed(t) ? -8 : 0;
	*ret_hi = dtype_is_float(t) ? 1 : dtype_is_signed(t) ? 8 : 16;
}

/* Values from lo to last are drawn where no range is declared: as usual, as far as the domain permits. */
static void fit_range(const struct plan_buffer *b, double *io_lo, double *io_last)
{
	double width = *io_last - *io_lo;
	if (isfinite(b->least) && isfinite(b->most)) {
		*io_lo = b->least;
		*io_last = b->most;
	} else if (isfinite(b->least)) {
		*io_lo = fmax(*io_lo, b->least);
		*io_last = *io_last > *io_lo ? *io_last : *io_lo + width;
	} else if (isfinite(b->most)) {
		*io_last = fmin(*io_last, b->most);
		*io_lo = *io_lo < *io_last ? *io_lo : *io_last - width;
	}
}

int content_place(const struct spec_array *a, const struct value *env, struct plan_buffer *b, struct err *e)
{
	const struct spec_content *c = &a->content;
	enum dtype t = dtype_is_float(b->rounded) ? b->rounded : b->type;
	bool whole = !dtype_is_float(t), range = c->lo != NULL, bounds = c->least.x || c->most.x;
	double least = -INFINITY, most = INFINITY, last;
	int rc = 0;
	b->fill = c->fill;
	default_range(t, &b->lo, &b->hi);
	if (range)
		rc = number(a, c->lo, env, &b->lo, e);
	if (rc == 0 && range)
		rc = number(a, c->hi, env, &b->hi, e);
	if (rc == 0 && !(b->lo < b->hi))
		rc = err_set(e, ERR_INPUT, "inputs: %s: %s(%g, %g) has no value; expected lo < hi", a->name, content_fills[c->fill],
			     b->lo, b->hi);
	if (rc == 0 && c->least.x)
		rc = number(a, c->least.x, env, &least, e);
	if (rc == 0 && c->most.x)
		rc = number(a, c->most.x, env, &most, e);
	if (rc < 0)
		return rc;
	/* The last value of lo … hi: integers end before hi. */
	last = whole ? ceil(b->hi) - 1 : b->hi;
	b->closed = c->closed || bounds || (whole && range) || c->fill == PLAN_PROBABILITIES || c->fill == PLAN_PERMUTATION;
	if (!b->closed)
		return 0;
	if (c->fill == PLAN_ZEROS || c->fill == PLAN_ONES) {
		least = bounds ? least : c->fill == PLAN_ONES;
		most = bounds ? most : least;
	} else if (c->fill == PLAN_PROBABILITIES) {
		least = fmax(least, 0);
		most = fmin(most, 1);
	} else if (!bounds && c->fill == PLAN_NORMAL) {
		least = -NORMAL_MOST;
		most = NORMAL_MOST;
	} else if (!bounds && (c->fill == PLAN_RANDOM || c->fill == PLAN_SORTED)) {
		least = b->lo;
		most = last;
	} else if (c->most.x && whole && c->least.x == NULL) {
		least = range ? b->lo : 0; /* an index */
	}
	b->least = tightest(t, least, false, c->least.x && c->least.strict);
	b->most = tightest(t, most, true, c->most.x && c->most.strict);
	if (!(b->least <= b->most))
		return err_set(e, ERR_INPUT, "inputs: %s: no %s value is within its bounds, %g to %g", a->name, dtype_name(t),
			       least, most);
	if (!range)
		fit_range(b, &b->lo, &last);
	else if (b->lo < b->least || last > b->most) {
		bool open_end = c->most.x && c->most.strict && last == most && b->lo >= b->least; /* [0, 1) is < 1 */
		bool slightly = !whole && (c->closed || open_end); /* 0.1 is no f32: the number next to it stands for it */
		if (!slightly)
			return err_set(e, ERR_INPUT, "inputs: %s: %s(%g, %g) leaves its bounds, %g to %g", a->name,
				       content_fills[c->fill], b->lo, b->hi, b->least, b->most);
		b->lo = fmax(b->lo, b->least);
		last = b->most;
	}
	b->hi = whole ? last + 1 : last;
	return 0;
}
