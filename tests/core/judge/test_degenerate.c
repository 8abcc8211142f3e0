/* core/judge/bound: elements whose inputs are zero, infinite or NaN, which relative perturbations do not move. */
#include "core/judge/bound.h"

#include <math.h>

#include "tap.h"

#define DELTA 0x1p-16 /* the amplitude of perturbations */

/* Maxima that drop NaN, quotients by infinity: what takes part in them is nobody's promise. A sigmoid of infinity is 1 whatever
 * stands for it, and an output that is NaN stays wanted. */
static void test_absorbed(void)
{
	enum { N = 64, ABSORBED = 9 };
	double truth[N], high[N], low[N], values[N], bounds[N];
	float moved[N] = { 0 };
	uint8_t causes[N];
	struct bound_summary s;
	struct bound_rules rules = { .sums = 0x1p-53, .terms = 1 };
	for (int i = 0; i < N; i++)
		truth[i] = high[i] = low[i] = i % 2 ? 1 : 0.25;
	high[1] = 0x1p60; /* max(1, NaN): only one of the two shows it */
	low[2] = -0x1p60;
	truth[3] = 0, high[3] = low[3] = 0x1p-30; /* x/infinity */
	truth[4] = 0, high[4] = INFINITY;
	truth[5] = NAN, high[5] = low[5] = 3;
	truth[6] = INFINITY, high[6] = low[6] = 0x1p60;
	for (int i = 0; i < ABSORBED - 4; i++)
		low[N - 1 - i] = NAN;
	struct bound_output o = {
		.type = DTYPE_F64, .n = N, .truth_type = DTYPE_F64, .truth = truth, .moved = moved, .amplitude = DELTA
	};
	bound_add_absorbed(&o, high);
	bound_add_absorbed(&o, low);
	bound_make(&o, &rules, values, bounds, causes, &s);
	is_int((long long)s.causes[BOUND_ABSORBED], ABSORBED, "what large numbers change is absorbed");
	for (int i = 1; i < 5; i++)
		ok(causes[i] == BOUND_ABSORBED && isinf(bounds[i]), "element %d is not judged", i);
	ok(causes[5] == BOUND_EXACT && causes[6] == BOUND_EXACT, "NaN and infinity are wanted where the truth has them");
	is_int((long long)s.judged, N - ABSORBED, "all others are judged");
	ok(bound_is_enough(N - ABSORBED, ABSORBED, N) && !bound_is_enough(N - ABSORBED, 0, N),
	   "what is absorbed does not count against the others");
	ok(!bound_is_enough(0, 1, 1) && !bound_is_enough(3, 61, 64), "but a few elements do not speak for all");
}

/* A guard against infinity is told from a comparison that NaN passes, and from a limit. */
static void test_decided(void)
{
	enum { N = 32 };
	double truth[N], huge[N], with_nan[N], values[N], bounds[N];
	float moved[N] = { 0 };
	uint8_t causes[N];
	struct bound_summary s;
	struct bound_rules rules = { .sums = 0x1p-53, .terms = 1 };
	for (int i = 0; i < N; i++)
		truth[i] = huge[i] = with_nan[i] = i > 3;
	huge[1] = 0.25, with_nan[1] = NAN;    /* m == infinity ? 0 : … */
	huge[2] = 0.25;                       /* max(infinity - infinity, 0) */
	huge[3] = 0x1p-70, with_nan[3] = NAN; /* x/infinity */
	struct bound_output o = { DTYPE_F64, N, DTYPE_F64, truth, NULL, moved, DELTA };
	bound_add_absorbed(&o, huge);
	bound_add_decided(&o, with_nan);
	bound_make(&o, &rules, values, bounds, causes, &s);
	ok(bounds[1] < 1e-9 && values[1] == 0, "what an infinity decides is judged");
	ok(causes[2] == BOUND_ABSORBED && causes[3] == BOUND_ABSORBED, "what NaN would decide, too, and limits are not");
	is_int((long long)s.judged, N - 2, "all others are judged");
}

/* Among zeros the largest element says how large terms may be, as far as its neighbours let an element be judged. */
static void test_pooled(void)
{
	enum { N = 48 };
	double truth[N], values[N], bounds[N];
	float moved[N] = { 0 };
	uint8_t causes[N];
	struct bound_summary s;
	struct bound_rules rules = { .sums = 0x1p-53, .terms = 1 }, pooled = rules;
	pooled.pooled = true;
	for (int i = 0; i < N; i++)
		truth[i] = i < 16 ? 1 : i < 32 ? 0x1p-20 : 0;
	truth[40] = 0x1p-48;
	truth[3] = 16;
	struct bound_output o = { DTYPE_F64, N, DTYPE_F64, truth, NULL, moved, DELTA };
	bound_make(&o, &rules, values, bounds, causes, &s);
	double alone = bounds[20];
	bound_make(&o, &pooled, values, bounds, causes, &s);
	ok(bounds[0] > 16 * 64 * 0x1p-53 && bounds[20] > 16 * 64 * 0x1p-53 && alone < 0x1p-60,
	   "terms may be as large as the largest element (%g, not %g)", bounds[20], alone);
	ok(bounds[40] < 0x1p-56 && s.judged == N, "and no element is beyond judging for that (%g)", bounds[40]);
}

int main(void)
{
	test_absorbed();
	test_decided();
	test_pooled();
	return tap_done();
}
