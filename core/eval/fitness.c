/* fitness: see fitness.h. */
#include "core/eval/fitness.h"

#include <math.h>
#include <string.h>

#define TERMS_MIN 16.0 /* a few operations per element are always there, whatever flops: says */
#define F32_ROUNDOFF 0x1p-24

/* --- does it vary ------------------------------------------------------------------------------------------------------- */

/* Smallest normal number; below it hardware may flush to zero. */
static double smallest_normal(enum dtype t)
{
	switch (t) {
	case DTYPE_F16:
	case DTYPE_E5M2: return 0x1p-14;
	case DTYPE_E4M3: return 0x1p-6;
	case DTYPE_F64: return 0x1p-1022;
	case DTYPE_BF16:
	case DTYPE_F32: return 0x1p-126;
	case DTYPE_I8: case DTYPE_I16: case DTYPE_I32: case DTYPE_I64:
	case DTYPE_U8: case DTYPE_U16: case DTYPE_U32: case DTYPE_U64:
	case DTYPE_COUNT: break;
	}
	return 0;
}

struct statistics { double mean, deviation, most; size_t odd; bool is_odd; };

/* Welford's running mean and sum of squares. */
static struct statistics look(const struct reference_output *o, size_t n)
{
	struct statistics s = { 0 };
	size_t size = dtype_size(o->type);
	double squares = 0;
	for (size_t i = 0; i < n; i++) {
		double x = dtype_load(o->type, o->bytes + i * size), d = x - s.mean;
		if (!isfinite(x)) {
			s.odd = i;
			s.is_odd = true;
			return s;
		}
		s.mean += d / (double)(i + 1);
		squares += d * (x - s.mean);
		s.most = fmax(s.most, fabs(x));
	}
	s.deviation = n ? sqrt(squares / (double)n) : 0;
	return s;
}

/* True when some element differs from the one at the axis' origin. */
static bool varies_along(const struct reference_output *o, size_t n, unsigned axis)
{
	size_t size = dtype_size(o->type), stride = 1, extent = (size_t)o->dims[axis];
	for (unsigned k = axis + 1; k < o->rank; k++)
		stride *= (size_t)o->dims[k];
	for (size_t i = 0; i < n; i++) {
		size_t origin = i - i / stride % extent * stride;
		if (memcmp(o->bytes + i * size, o->bytes + origin * size, size) != 0)
			return true;
	}
	return extent == 1;
}

int fitness_check(const struct reference_output *o, struct err *e)
{
	size_t n = o->len / dtype_size(o->type);
	struct statistics s = look(o, n);
	if (s.is_odd)
		return err_set(e, ERR_INTERNAL, "the reference output %s is not finite at element %zu: it cannot judge anybody; change "
		               "the inputs' values or the reference block", o->name, s.odd);
	if (s.most == 0)
		return err_set(e, ERR_INTERNAL, "the reference output %s is zero throughout: a kernel that does nothing would "
		               "pass; change the inputs' values", o->name);
	if (s.most < smallest_normal(o->type))
		return err_set(e, ERR_INTERNAL, "the reference output %s is denormal throughout (at most %.3g): hardware may flush it to "
		               "zero; change the inputs' values", o->name, s.most);
	if (n > 1 && s.deviation <= 4 * dtype_roundoff(o->type) * fabs(s.mean))
		return err_set(e, ERR_INTERNAL, "the reference output %s is constant (%.6g, deviation %.3g): a kernel that writes one "
		               "number would pass; change the inputs' values", o->name, s.mean, s.deviation);
	for (unsigned axis = 0; axis < o->rank; axis++)
		if (!varies_along(o, n, axis))
			return err_set(e, ERR_INTERNAL, "the reference output %s does not vary along axis %u: a kernel that computes one "
			               "slice would pass; change the inputs' values", o->name, axis);
	return 0;
}

/* --- how exactly -------------------------------------------------------------------------------------------------------- */

int fitness_permits(const struct spec *spec, bool has_reference, struct err *e)
{
	int in = dtype_parse(spec->precision_in);
	if (!has_reference)
		return err_set(e, ERR_INTERNAL, "without a reference block nobody knows the root's own error on such values");
	if (spec_roundoff_inputs(spec) > 0 && (in == DTYPE_F16 || in == DTYPE_E4M3 || in == DTYPE_E5M2))
		return err_set(e, ERR_INTERNAL, "precision: permits inputs in %s, which does not hold such values", spec->precision_in);
	return 0;
}

/* Integers that every permitted sum holds exactly. */
static bool is_exact(const struct reference_output *o, double sums)
{
	size_t size = dtype_size(o->type), n = o->len / size;
	for (size_t i = 0; i < n; i++) {
		double x = dtype_load(o->type, o->bytes + i * size);
		if (x != floor(x) || fabs(x) * sums > 1)
			return false;
	}
	return true;
}

static int exact_tolerance(struct reference_output *o, double sums, struct err *e)
{
	if (!is_exact(o, sums) || o->own_error > 0)
		return err_set(e, ERR_INTERNAL, "%s is not exact on integers: this context does more than add and multiply", o->name);
	o->tolerance = 16 * sums;
	return 0;
}

int fitness_tolerances(const struct spec *spec, const struct params *params, enum plan_values values, struct reference *r,
                       struct err *e)
{
	double sums = spec_roundoff_sums(spec), inputs = spec_roundoff_inputs(spec);
	double terms = sqrt(fmax(spec_reduction(spec, params), TERMS_MIN));
	bool exact = values == PLAN_EXACT || values == PLAN_EXACT_SMALL;
	for (size_t k = 0; k < r->output_count; k++) {
		struct reference_output *o = &r->outputs[k];
		bool known = !isnan(o->own_error);
		double floor_ = dtype_roundoff(o->type) + 2 * inputs + (known ? fmin(sums, F32_ROUNDOFF) : sums) * terms;
		if (values == PLAN_SPIKES || values == PLAN_OFFSET)
			floor_ *= 4;
		o->tolerance = known ? fmax(floor_, 4 * o->own_error) : floor_;
		if (exact && exact_tolerance(o, sums, e) < 0)
			return -(int)e->code;
	}
	return 0;
}
