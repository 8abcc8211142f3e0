/* core/judge/bound: outputs of a few elements, which no neighbours tell the scale of. */
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

int main(void)
{
	float usual = bound_of(true, 0x1p-16F);
	ok(isfinite(usual) && usual > 1e-4F && usual < 0.05F, "a small sum of large terms is judged by these (%g)", (double)usual);
	ok(isinf(bound_of(false, 0x1p-16F)), "on other values than the declared ones it is not judged");
	return tap_done();
}
