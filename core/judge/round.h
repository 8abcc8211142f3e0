/* round: what kinds of input values (enum plan_values) ask of a reference and of bounds. Called by core/judge/reference_make.c. */
#ifndef PEAKD_CORE_JUDGE_ROUND_H
#define PEAKD_CORE_JUDGE_ROUND_H

#include <stdbool.h>

#include "backends/wire/plan_buffer.h"

#define FAR_FACTOR 32.0 /* times the roundoffs on far values */
#define SHIFTED_FACTOR 4.0

static inline bool round_is_at_end(enum plan_values v)
{
	return v == PLAN_HIGH_END || v == PLAN_LOW_END;
}

static inline bool round_is_zero(enum plan_values v)
{
	return v == PLAN_MIXED_ZEROS || v == PLAN_ALONE;
}

/* Values that indexes and lengths of loops may not be meant for. */
static inline bool round_is_all_integers(enum plan_values v)
{
	return plan_values_whole(v) || round_is_at_end(v) || round_is_zero(v);
}

static inline bool round_is_exact(enum plan_values v)
{
	return v == PLAN_EXACT || v == PLAN_EXACT_SMALL;
}

/* Values whose sizes differ by many powers of two, among themselves or from a formula's constants, which even honest formulas may
 * cancel. */
static inline bool round_is_far(enum plan_values v)
{
	return v == PLAN_FAR || v == PLAN_WIDE || v == PLAN_SMALL || v == PLAN_SPECIAL || v == PLAN_INFINITE_ROWS ||
	       v == PLAN_RUNS || v == PLAN_SPARSE || v == PLAN_EXTREME || v == PLAN_HUGE || round_is_zero(v);
}

/* Values that stand at a decision on purpose: to perturb them would forgive what they are to show. */
static inline bool round_is_unmoved(enum plan_values v)
{
	return v == PLAN_QUARTERS;
}

/* Values on which an honest baseline itself may fail; then they judge nobody, which is no gap in the verdict. */
static inline bool round_is_optional(enum plan_values v)
{
	return v == PLAN_EXTREME || v == PLAN_HUGE || v == PLAN_INFINITE_ROWS || v == PLAN_ALONE || round_is_unmoved(v);
}

/* How many times the roundoffs count. A shift shows in the sensitivity; a few large values among small ones do not, nor does what a
 * formula around another value than zero costs where rows are zero. Roundings of a sum of equal numbers have one sign and do not
 * cancel. */
static inline double round_far_factor(enum plan_values v)
{
	bool equal = v == PLAN_TIES || v == PLAN_NEAR_TIES || v == PLAN_COINCIDING;
	bool shifted = v == PLAN_FAR || equal || round_is_at_end(v);
	return shifted ? SHIFTED_FACTOR : round_is_far(v) || round_is_unmoved(v) ? FAR_FACTOR : 1;
}

#endif
