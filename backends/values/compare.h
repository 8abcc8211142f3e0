/* compare: how far an output is from its reference: the numbers for core/judge's verdict. Called by
 * backends/worker/runs.c. */
#ifndef PEAKD_BACKENDS_VALUES_COMPARE_H
#define PEAKD_BACKENDS_VALUES_COMPARE_H

#include <stdint.h>

#include "backends/wire/plan.h"
#include "backends/wire/wire.h"

/* What an output of n elements must be. All borrowed. */
struct compare_wanted {
	enum dtype type;    /* of values: the output's, or a wider one */
	const void *values; /* n, packed */
	const void *bounds; /* n, of f64 where values are f64, else f32; NULL: every element must be equal */
	uint32_t poison;    /* byte pattern from before the execution */
};

/* Fills ret_compared (need_reference 0), whose fields are described at struct wire_compared. got: b's logical elements,
 * packed without padding, in b's type. */
void compare_outputs(const struct plan_buffer *b, const void *got, const struct compare_wanted *want,
		     struct wire_compared *ret_compared);

#endif
