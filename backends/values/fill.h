/* fill: the values of a plan's inputs. They depend only on the seed, the buffer's name and the element's logical index. So every
 * backend, machine and plan (also with more scratch or other padding) sees the same. Called by backends/worker/runs.c, and by tests
 * that compute references. */
#ifndef PEAKD_BACKENDS_VALUES_FILL_H
#define PEAKD_BACKENDS_VALUES_FILL_H

#include <stdint.h>

#include "backends/wire/plan.h"

/* Writes all b->bytes at `to`: the logical elements by b->fill, rounded to b->rounded and b->type; padding between rows and behind
 * the last one with 0xFF (NaN in every floating type), so that reading it shows. random: uniform in [lo,hi) before rounding, which
 * may yield hi (f16 and bf16 round the f32 value); integers are lo…hi-1. normal: mean 0, deviation 1, within ±6. iota: the logical
 * index; floats start again at 1/roundoff, beyond which they cannot count; integers wrap. */
void fill_buffer(const struct plan_buffer *b, uint64_t seed, void *to);
/* In a perturbation: half of the elements do not move, of buffers that the host fills. */
#define FILL_HALF UINT32_C(0x80000000)
/* Which values a buffer gets. */
struct fill_choice {
	uint64_t seed;
	enum plan_values values;
	uint32_t perturbation; /* 0: the values themselves; else which stream of ξ, uniform in [-1,1), */
	double amplitude;      /* moves every floating value x to x·(1 + amplitude·ξ), which is rounded to b->type;
				  either sign */
	struct plan_immediates immediates; /* of PLAN_IMMEDIATES and PLAN_IMMEDIATE_ROWS; else none */
};
/* The kind that such a choice means for this buffer: PLAN_DECLARED where others do not apply, one of several for PLAN_MIXTURE; and
 * the seed that its values are drawn from. */
enum plan_values fill_values(const struct plan_buffer *b, const struct fill_choice *choice);
uint64_t fill_seed(const struct plan_buffer *b, const struct fill_choice *choice);
/* The same for any choice, with its values where they apply (plan.h), else as by fill_buffer. Integers, zeros, infinities, NaN and
 * padding are never moved. */
void fill_chosen(const struct plan_buffer *b, const struct fill_choice *choice, void *to);
/* Whether the buffer may hold this number; rounded, where it is floating. */
bool fill_holds(const struct plan_buffer *b, double v);
/* Whether this seed chooses the buffer: PLAN_RUNS gives infinities to such alone, and PLAN_PATTERNS one end throughout. */
bool fill_chooses(const struct plan_buffer *b, uint64_t seed);

#endif
