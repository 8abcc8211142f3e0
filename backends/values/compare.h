/* compare: how far an output is from its reference: the numbers for core/judge's verdict. Called by
 * backends/worker/runs.c. */
#ifndef PEAKD_BACKENDS_VALUES_COMPARE_H
#define PEAKD_BACKENDS_VALUES_COMPARE_H

#include <stdint.h>

#include "backends/wire/plan.h"
#include "backends/wire/wire.h"

/* Fills ret_compared (need_reference 0) for two arrays of b's logical elements, packed without padding, in b's type.
 * The fields are described at struct wire_compared. Integers match only when equal, whatever the tolerance. A reference
 * of NaN matches anything (and counts in ref_nan), an infinite one only itself. */
void compare_outputs(const struct plan_buffer *b, const void *got, const void *want, double tolerance, uint32_t poison,
		     struct wire_compared *ret_compared);

#endif
