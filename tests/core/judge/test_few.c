/* core/judge/bound: outputs of a few elements, which no neighbours tell the scale of, and elements that are few among others. */
#include "core/judge/bound.h"

#include <math.h>

#include "tap.h"

/* A sum of numbers of both signs that is nearly zero by chance. */
static float bound_of(bool declared, float moved)
{
	double truth = 0.001;
	float baseline = 0.0011F, value, bound;
	uint8_t cause;
	struct bound_output o = { .type = DTYPE_F32,
				  .n = 1,
				  .truth_type = DTYPE_F64,
				  .truth = &truth,
				  .baseline = &baseline,
				  .moved = &moved,
				  .amplitude = 0x1p-16 };
	struct bound_rules rules = { .sums = 0x1p-24, .terms = 4096, .stored = 0x1p-6, .fields = 1, .declared = declared };
	struct bound_summary s;
	bound_make(&o, &rules, &value, &bound, &cause, &s);
	return bound;
}

/* Rows of x - mean beside a mean of 2^24: sums of floats leave nothing of x, so that the baseline is off by all of each element.
 * Of one that is small by chance it is off by little, but another order of the sums is off by as much as of the others. */
static float beside_poor(int poor)
{
	enum { N = 32 * BOUND_GROUP }; /* the others are as they should be */
	double truth[N];
	float baseline[N], moved[N], value[N], bound[N];
	uint8_t cause[N];
	for (int i = 0; i < N; i++) {
		truth[i] = i == 0 ? 100 : i <= poor ? 1e6 + i : i < BOUND_GROUP ? 2e4 + i : 1 + i;
		moved[i] = (i < BOUND_GROUP ? 2e7F : 1) * 0x1p-16F;
		baseline[i] = i == 0 || i <= poor ? 0 : (float)truth[i];
	}
	struct bound_output o = { .type = DTYPE_F32,
				  .n = N,
				  .truth_type = DTYPE_F64,
				  .truth = truth,
				  .baseline = baseline,
				  .moved = moved,
				  .amplitude = 0x1p-16 };
	struct bound_rules rules = { .sums = 0x1p-24, .terms = 4096, .fields = 1 };
	struct bound_summary s;
	bound_make(&o, &rules, value, bound, cause, &s);
	return bound[0];
}

int main(void)
{
	ok(isinf(beside_poor(8)), "an element is not judged where the baseline knows little of half of its neighbours");
	ok(isfinite(beside_poor(7)), "beside fewer it is");
	float usual = bound_of(true, 0x1p-16F);
	ok(isfinite(usual) && usual > 1e-4F && usual < 0.05F, "a small sum of large terms is judged by these (%g)", (double)usual);
	ok(isinf(bound_of(false, 0x1p-16F)), "on other values than the declared ones it is not judged");
	return tap_done();
}
