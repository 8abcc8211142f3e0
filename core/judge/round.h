/* round: what kinds of input values (enum plan_values) ask of a reference, of bounds and of a plan. Called by reference_make.c and
 * suite.c. */
#ifndef PEAKD_CORE_JUDGE_ROUND_H
#define PEAKD_CORE_JUDGE_ROUND_H

#include <stdbool.h>

#include "backends/wire/judgement.h"
#include "backends/wire/plan.h"

#define FAR_FACTOR 32.0 /* times the roundoffs on far values */
#define SHIFTED_FACTOR 4.0
#define END_FACTOR 16.0    /* where all of a row lie close together and one element may lie apart */
#define LOST 0x1p-50       /* beside 1 */
#define MIXED_FACTOR 256.0 /* on rows of two scales: what is small there costs what is large */

static inline bool round_is_at_end(enum plan_values v)
{
	return v == PLAN_HIGH_END || v == PLAN_LOW_END;
}

/* Values close together at the ends of their range. */
static inline bool round_is_close(enum plan_values v)
{
	return round_is_at_end(v) || v == PLAN_PATTERNS;
}

/* Rows or numbers that are equal, and move alike. */
static inline bool round_is_equal(enum plan_values v)
{
	return v == PLAN_TIES || v == PLAN_NEAR_TIES || v == PLAN_COINCIDING;
}

static inline bool round_is_zero(enum plan_values v)
{
	return v == PLAN_MIXED_ZEROS || v == PLAN_ALONE || v == PLAN_BLANK || v == PLAN_MIXTURE;
}

/* Where all of a row may cancel: what is left of it is as exact as the largest numbers are. */
static inline bool round_cancels(enum plan_values v, uint64_t seed)
{
	unsigned form = plan_natural_form(seed);
	return v == PLAN_PATTERNS || (v == PLAN_NATURAL && (form == PLAN_FORM_BAND || form == PLAN_FORM_REGULAR));
}

/* Values that indexes, lengths of loops and locks may not be meant for, so that a baseline may crash or hang. */
static inline bool round_may_crash(enum plan_values v)
{
	return plan_values_whole(v) || round_is_at_end(v) || round_is_zero(v) || v == PLAN_IMMEDIATES || v == PLAN_NARROW ||
	       v == PLAN_NATURAL || v == PLAN_MIXED_CONSTANTS || v == PLAN_NEGATIVE;
}

static inline bool round_is_exact(enum plan_values v)
{
	return v == PLAN_EXACT || v == PLAN_EXACT_SMALL;
}

/* Values whose sizes differ by many powers of two, among themselves or from a formula's constants, which even honest formulas may
 * cancel. */
static inline bool round_is_far(enum plan_values v)
{
	return v == PLAN_FAR || v == PLAN_APART || v == PLAN_WIDE || v == PLAN_SMALL || v == PLAN_SPECIAL ||
	       v == PLAN_SPECIAL_NUMBERS || v == PLAN_INFINITE_ROWS || v == PLAN_RUNS || v == PLAN_NAN_RUNS || v == PLAN_SPARSE ||
	       v == PLAN_EXTREME || v == PLAN_HUGE || v == PLAN_IMMEDIATES || v == PLAN_IMMEDIATE_ROWS || v == PLAN_FAINT ||
	       v == PLAN_SEGMENTS || v == PLAN_NARROW || round_is_zero(v);
}

/* Where the errors of two honest formulas differ most. */
static inline bool round_has_long_tails(enum plan_values v)
{
	return round_is_far(v) || round_is_close(v) || round_is_equal(v) || v == PLAN_NATURAL;
}

/* Terms that even doubles lose beside others: x of 1 + x, or exp(-x) of 1 + exp(-x) times a number. */
static inline double round_lost(enum plan_values v, uint64_t seed)
{
	double size = v == PLAN_NARROW ? (double)(1 << plan_width(seed)) : v == PLAN_LARGER ? 32 : v == PLAN_FAINT ? 1 : 0;
	return LOST * size;
}

/* Values that stand at a decision on purpose: to perturb them would forgive what they are to show. */
static inline bool round_is_unmoved(enum plan_values v)
{
	return v == PLAN_EIGHTHS;
}

/* Rows, and so results, of which many are equal. */
static inline bool round_repeats(enum plan_values v)
{
	return v == PLAN_NEAR_TIES || v == PLAN_COINCIDING || v == PLAN_PATTERNS || v == PLAN_ALONE || v == PLAN_HIGH_END ||
	       v == PLAN_LOW_END || v == PLAN_NATURAL || v == PLAN_BLANK || v == PLAN_MIXTURE;
}

/* Values on which an honest baseline itself may fail; then they judge nobody, which is no gap in the verdict. */
static inline bool round_is_optional(enum plan_values v)
{
	return v == PLAN_EXTREME || v == PLAN_HUGE || v == PLAN_FAINT || v == PLAN_INFINITE_ROWS || v == PLAN_ALONE ||
	       v == PLAN_NEGATIVE || v == PLAN_NARROW || v == PLAN_NATURAL || v == PLAN_BLANK || v == PLAN_MIXTURE ||
	       round_is_unmoved(v);
}

/* Where rounding alone decides whether a number is divided by zero: of two scales, or equal, as in a matrix without an inverse. */
static inline bool round_is_singular(enum plan_values v)
{
	return v == PLAN_SEGMENTS || v == PLAN_MIXTURE || v == PLAN_NATURAL || round_is_equal(v) || round_is_close(v);
}

/* Where many numbers are nearly equal, or equal along a direction: the errors of rounding them to a narrower type are, too, and add
 * up. */
static inline bool round_is_alike(enum plan_values v, uint64_t seed)
{
	unsigned form = plan_natural_form(seed);
	return v == PLAN_MIXTURE || (v == PLAN_NATURAL && (form == PLAN_FORM_NEARLY || form == PLAN_FORM_REGULAR));
}

/* Every so manyth output is alike: where every other column is zero, so may be every other output. */
static inline unsigned round_fields(enum plan_values v, uint64_t seed)
{
	return v == PLAN_PATTERNS && seed % PLAN_SEEDS == PLAN_SEED_ZEROS ? 2 : 1;
}

/* Where infinities stand among values in one place or in rows. */
static inline bool round_is_infinite(enum plan_values v)
{
	return v == PLAN_SPECIAL || v == PLAN_SPECIAL_NUMBERS || v == PLAN_INFINITE_ROWS || v == PLAN_NAN_RUNS;
}

/* Where all values are far from zero, or larger than declared ones. */
static inline bool round_is_shifted(enum plan_values v)
{
	return v == PLAN_FAR || v == PLAN_APART || v == PLAN_LARGER;
}

/* How many times the roundoffs count. A shift shows in the sensitivity; a few large values among small ones do not, nor does what a
 * formula around another value than zero costs where rows are zero. Roundings of a sum of equal numbers have one sign and do not
 * cancel. */
static inline double round_far_factor(enum plan_values v, uint64_t seed)
{
	bool nearly = v == PLAN_NATURAL && plan_natural_form(seed) == PLAN_FORM_NEARLY;
	if (v == PLAN_SEGMENTS || v == PLAN_MIXTURE)
		return MIXED_FACTOR;
	if (round_is_shifted(v) || nearly)
		return SHIFTED_FACTOR;
	if (round_is_at_end(v) || v == PLAN_NATURAL || round_is_equal(v))
		return END_FACTOR;
	return round_is_far(v) || v == PLAN_PATTERNS || round_is_unmoved(v) ? FAR_FACTOR : 1;
}

/* What the inputs are that get such values, in place of declared ones. */
struct round_inputs {
	bool any, floats;  /* there is one; there is a floating one */
	bool open, closed; /* there is one that may leave its declared values; that may not */
};
struct round_inputs round_inputs(const struct plan *plan, enum plan_values values);
/* Whether they judge any output. What NaN decides among integers is not specified, and no perturbation shows how far it reaches:
 * PLAN_SPECIAL judges floats, and single integers, which may be flags; PLAN_SPECIAL_NUMBERS judges integers. */
bool round_judges(const struct plan *plan, enum plan_values values);
/* Why such values do not judge an output of that type, which others do; NULL: they may. nan: plan_takes_nan. */
const char *round_elsewhere(enum plan_values values, bool nan, enum dtype type, enum judgement_kind kind);
/* The values that show what the truth absorbs of infinities and NaN; *ret_count is 0 where there are none. Where the
 * baseline's code asks for NaN, what NaN gives is judged. */
const enum plan_values *round_absorbing(enum plan_values values, const char *baseline, size_t *ret_count);
/* Whether this code asks whether a number is NaN, so that what it makes of one is meant. */
bool round_asks_nan(const char *code);

#endif
