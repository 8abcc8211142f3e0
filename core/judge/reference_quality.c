/* reference_quality: see reference_quality.h. */
#include "core/judge/reference_quality.h"

#include <math.h>
#include <string.h>

#include "base/parallel_for.h"

enum { BLOCK = 1024, CHAINS = 4 }; /* elements that are widened, and added, at once */
#define NONE SIZE_MAX
#define TERMS_MIN 16.0 /* a few operations per element are always there, whatever flops: says */
#define F32_ROUNDOFF 0x1p-24

/* --- does it vary ------------------------------------------------------------------------------------------------------- */

struct statistics {
	double count, mean, squares, most; /* squares: of the distances from the mean, summed */
	size_t odd;                        /* the first element that is not finite; NONE */
};

struct looking {
	const struct reference_output *output;
	struct statistics parts[PARALLEL_FOR_PARTS];
};

static size_t first_odd(const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return i;
	return NONE;
}

/* The mean first, then the distances from it, so that what cancels is no larger than the block's own spread. Four chains, so that
 * additions do not wait for each other; v-v is 0 for finite v only. x has room for CHAINS more elements. */
static struct statistics look_at_block(double *x, size_t n)
{
	struct statistics s = { .count = (double)n, .odd = NONE };
	double sum[CHAINS] = { 0 }, squares[CHAINS] = { 0 }, most[CHAINS] = { 0 }, odd = 0;
	for (size_t i = n; i < n + CHAINS; i++)
		x[i] = 0;
	for (size_t i = 0; i < n; i += CHAINS)
		for (size_t k = 0; k < CHAINS; k++) {
			double a = fabs(x[i + k]);
			sum[k] += x[i + k];
			most[k] = a > most[k] ? a : most[k];
			odd += x[i + k] - x[i + k];
		}
	if (odd != 0)
		s.odd = first_odd(x, n);
	s.mean = (sum[0] + sum[1] + sum[2] + sum[3]) / (double)n;
	for (size_t i = n; i < n + CHAINS; i++)
		x[i] = s.mean;
	for (size_t i = 0; i < n; i += CHAINS)
		for (size_t k = 0; k < CHAINS; k++) {
			double d = x[i + k] - s.mean;
			squares[k] += d * d;
		}
	s.squares = squares[0] + squares[1] + squares[2] + squares[3];
	s.most = fmax(fmax(most[0], most[1]), fmax(most[2], most[3]));
	return s;
}

/* Means and sums of squares of two parts as those of both (Chan, Golub, LeVeque, "Algorithms for computing the sample variance",
 * 1983). */
static void add_statistics(struct statistics *to, const struct statistics *x)
{
	double count = to->count + x->count, d = x->mean - to->mean;
	if (x->count == 0)
		return;
	to->squares += x->squares + d * d * to->count * x->count / count;
	to->mean += d * x->count / count;
	to->most = fmax(to->most, x->most);
	to->count = count;
	if (to->odd == NONE)
		to->odd = x->odd;
}

static void look_at_part(void *arg, unsigned k, uint64_t from, uint64_t to)
{
	struct looking *l = arg;
	enum dtype t = l->output->type;
	double x[BLOCK + CHAINS];
	for (uint64_t at = from; at < to && l->parts[k].odd == NONE; at += BLOCK) {
		size_t n = to - at < BLOCK ? (size_t)(to - at) : BLOCK;
		dtype_load_all(t, l->output->bytes + at * dtype_size(t), x, n);
		struct statistics s = look_at_block(x, n);
		if (s.odd != NONE)
			s.odd += at;
		add_statistics(&l->parts[k], &s);
	}
}

static struct statistics look(const struct reference_output *o, size_t n)
{
	struct looking l = { .output = o };
	struct statistics s = { .odd = NONE };
	for (unsigned k = 0; k < PARALLEL_FOR_PARTS; k++)
		l.parts[k].odd = NONE;
	parallel_for(n, look_at_part, &l);
	for (unsigned k = 0; k < PARALLEL_FOR_PARTS; k++)
		add_statistics(&s, &l.parts[k]);
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

int reference_quality_check(const struct reference_output *o, struct err *e)
{
	size_t n = o->len / dtype_size(o->type);
	struct statistics s = look(o, n);
	double deviation = n ? sqrt(s.squares / (double)n) : 0;
	if (s.odd != NONE)
		return err_set(e, ERR_INTERNAL,
			       "the reference output %s is not finite at element %zu: no candidate can be compared "
			       "with it; change "
			       "the inputs' values or the reference block",
			       o->name, s.odd);
	if (s.most == 0)
		return err_set(e, ERR_INTERNAL,
			       "the reference output %s is zero throughout: a kernel that does nothing would "
			       "pass; change the inputs' values",
			       o->name);
	if (s.most < dtype_smallest_normal(o->type))
		return err_set(e, ERR_INTERNAL,
			       "the reference output %s is denormal throughout (at most %.3g): hardware may flush it to "
			       "zero; change the inputs' values",
			       o->name, s.most);
	if (n > 1 && deviation <= 4 * dtype_roundoff(o->type) * fabs(s.mean))
		return err_set(e, ERR_INTERNAL,
			       "the reference output %s is constant (%.6g, deviation %.3g): a kernel that writes one "
			       "number would pass; change the inputs' values",
			       o->name, s.mean, deviation);
	for (unsigned axis = 0; axis < o->rank; axis++)
		if (!varies_along(o, n, axis))
			return err_set(e, ERR_INTERNAL,
				       "the reference output %s does not vary along axis %u: a kernel that computes one "
				       "slice would pass; change the inputs' values",
				       o->name, axis);
	return 0;
}

/* --- how exactly -------------------------------------------------------------------------------------------------------- */

int reference_quality_permits(const struct spec *spec, bool has_reference, struct err *e)
{
	int in = dtype_parse(spec->precision_in);
	if (!has_reference)
		return err_set(e, ERR_INTERNAL, "without a reference block the baseline's own error on such values is unknown");
	if (spec_roundoff_inputs(spec) > 0 && (in == DTYPE_F16 || in == DTYPE_E4M3 || in == DTYPE_E5M2))
		return err_set(e, ERR_INTERNAL, "precision: permits inputs in %s, which cannot hold such values",
			       spec->precision_in);
	return 0;
}

struct exactness {
	const struct reference_output *output;
	double sums;
	bool lost[PARALLEL_FOR_PARTS];
};

static void exact_part(void *arg, unsigned k, uint64_t from, uint64_t to)
{
	struct exactness *j = arg;
	enum dtype t = j->output->type;
	double x[BLOCK];
	for (uint64_t at = from; at < to && !j->lost[k]; at += BLOCK) {
		size_t n = to - at < BLOCK ? (size_t)(to - at) : BLOCK;
		dtype_load_all(t, j->output->bytes + at * dtype_size(t), x, n);
		for (size_t i = 0; i < n; i++)
			j->lost[k] |= x[i] != floor(x[i]) || fabs(x[i]) * j->sums > 1;
	}
}

/* Integers that every permitted sum holds exactly. */
static bool is_exact(const struct reference_output *o, double sums)
{
	struct exactness j = { .output = o, .sums = sums };
	bool lost = false;
	parallel_for(o->len / dtype_size(o->type), exact_part, &j);
	for (unsigned k = 0; k < PARALLEL_FOR_PARTS; k++)
		lost |= j.lost[k];
	return !lost;
}

static int exact_tolerance(struct reference_output *o, double sums, struct err *e)
{
	if (!is_exact(o, sums) || o->own_error > 0)
		return err_set(e, ERR_INTERNAL, "%s is not exact on integers: this context does more than add and multiply",
			       o->name);
	o->tolerance = 16 * sums;
	return 0;
}

int reference_quality_tolerances(const struct spec *spec, const struct params *params, enum plan_values values, struct reference *r,
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
		if (exact && reference_is_close(o) && exact_tolerance(o, sums, e) < 0)
			return -(int)e->code;
	}
	return 0;
}
