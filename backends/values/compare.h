/* compare: how far an output is from its reference: the numbers for core/judge's verdict. Called by
 * backends/worker/runs.c and, for the other kinds of outputs, by compare_kind.c. */
#ifndef PEAKD_BACKENDS_VALUES_COMPARE_H
#define PEAKD_BACKENDS_VALUES_COMPARE_H

#include <math.h>
#include <stdint.h>

#include "backends/wire/plan.h"
#include "backends/wire/wire.h"

/* What an output of n elements must be. All borrowed. */
struct compare_wanted {
	enum dtype type;    /* of values: the output's, or a wider one */
	const void *values; /* n, packed */
	const void *bounds; /* n, of f64 where values are f64, else f32; NULL: every element must be equal */
	uint32_t poison;    /* byte pattern from before the execution */
	bool several;       /* DISTRIBUTION: numbers of several executions, one row each */
};

/* Fills ret_compared (need_reference 0), whose fields are described at struct wire_compared. got: b's logical elements,
 * packed without padding, in b's type. */
void compare_outputs(const struct plan_buffer *b, const void *got, const struct compare_wanted *want,
		     struct wire_compared *ret_compared);

/* The array that an output of indices points into: its values before the execution, with the padding of its rows. */
struct compare_indexed {
	const struct plan_buffer *buffer;
	const void *values;
};
/* The same, by the kind that the baseline declares (compare_kind.c). x: for JUDGE_INDICES, else NULL. Indices that
 * nobody declared may differ only in ties, where the reference's select the extremes of rows in order. Bounds count for
 * floating elements that are close, in a set or permuted; a fault that no single element shows is in ret_compared's
 * finding, and counts as one that mismatches. */
void compare_by_kind(const struct plan_buffer *b, const void *got, const struct compare_wanted *want, const struct judgement *j,
		     const struct compare_indexed *x, struct wire_compared *ret_compared);
/* Random numbers: are they distributed as the reference's, and free of repetitions (compare_random.c)? */
void compare_random(const struct plan_buffer *b, const void *got, const struct compare_wanted *want,
		    struct wire_compared *ret_compared);

/* The random numbers of two executions whose integers differ little, and the reference's. All borrowed. */
struct compare_streams {
	enum dtype type, want_type;
	const void *got[2], *want[2];
	uint64_t n;
	bool equal; /* all of got's are, and want's are not */
};
/* Says in `finding` how they are related, unlike the reference's; its text completes "the numbers … ". True where they are the
 * same, or where stretches of the one occur in the other; the latter honest streams do by chance, once in thousands of pairs,
 * and says nothing in `finding`. */
bool compare_streams(const struct compare_streams *x, char finding[WIRE_FINDING]);

/* signed_mean of struct wire_compared, out of both sums. */
static inline double compare_signed(double ratios, double outward, uint64_t judged)
{
	double larger = fabs(outward) > fabs(ratios) ? outward : ratios;
	return judged ? larger / (double)judged : 0;
}

/* Of n rows or columns, those that fall into tile k of wire_compared's map. */
static inline uint64_t compare_in_tile(uint64_t n, uint64_t k)
{
	return ((k + 1) * n + WIRE_MAP - 1) / WIRE_MAP - (k * n + WIRE_MAP - 1) / WIRE_MAP;
}

#endif
