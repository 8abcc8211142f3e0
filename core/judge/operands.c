/* operands: see operands.h. */
#include "core/judge/operands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/values/fill.h"
#include "base/mem.h"

enum {
	LARGE_BYTES = 64 << 20, /* of outputs and inputs together: they travel to the daemon */
	OUTPUTS_LEAST = 64      /* elements of an output that move at all: fewer tell nothing */
};
#define AMPLITUDE 0.25
#define STILL 0.375      /* of an output's elements: of a sum of two a quarter needs no element that moves, of one alone a half */
#define OWN_ROUNDOFFS 16 /* of sums, granted to an input that is no operand: rho of the bound, and six */

double operands_share(const struct spec *spec)
{
	double operand = spec_roundoff_inputs(spec, 0);
	return operand > 0 ? fmin(1, OWN_ROUNDOFFS * spec_roundoff_sums(spec, false) / operand) : 1;
}

uint64_t operands_buffers(uint64_t arrays, const struct spec *spec, const struct plan *plan)
{
	uint64_t buffers = 0;
	for (size_t i = 0; arrays && i < plan->buffer_count && i < WIRE_STILL_MOST; i++) {
		const struct spec_array *a = plan->buffers[i].name ? spec_array(spec, plan->buffers[i].name) : NULL;
		size_t k = a ? (size_t)(a - spec->arrays) : WIRE_STILL_MOST;
		if (k < WIRE_STILL_MOST && arrays >> k & 1)
			buffers |= UINT64_C(1) << i;
	}
	return buffers;
}

/* All outputs of an execution, one behind the other; free() each. */
struct seen {
	uint8_t *answers[WIRE_STILL_MOST];
	const uint8_t *bytes[WIRE_STILL_MOST];
	size_t count;
};

static void seen_fini(struct seen *s)
{
	for (size_t k = 0; k < s->count; k++)
		free(s->answers[k]);
	*s = (struct seen){ 0 };
}

/* Buffer `moving` alone moves, or half of its elements; -1: none does. */
static int look(struct trial *t, int moving, bool half, struct seen *ret_seen, struct err *e)
{
	struct trial_input input = { .seed = 1, .poison = TRIAL_POISON };
	if (moving >= 0) {
		input.perturbation = 1 | (half ? FILL_HALF : 0);
		input.amplitude = AMPLITUDE;
		input.still = ~(UINT64_C(1) << moving);
	}
	int rc = trial_execute(t, &input, EVAL_EXECUTE_NS, NULL, e);
	for (uint32_t k = 0; rc == 0 && k < variant_output_count(t->variant) && k < WIRE_STILL_MOST; k++) {
		size_t len;
		rc = trial_output(t, k, &ret_seen->answers[k], &ret_seen->bytes[k], &len, e);
		ret_seen->count = k + (rc == 0);
	}
	return rc;
}

/* Whether each output that the input reaches needs one of its elements for each of its own. */
static bool is_single(const struct trial *t, const struct seen *none, const struct seen *all, const struct seen *half)
{
	bool single = false;
	for (uint32_t k = 0; k < none->count; k++) {
		const struct plan_buffer *b = variant_output(t->variant, k);
		size_t size = dtype_size(b->type), n = plan_buffer_logical(b), moved = 0, still = 0;
		for (size_t i = 0; i < n; i++)
			if (memcmp(none->bytes[k] + i * size, all->bytes[k] + i * size, size) != 0) {
				moved++;
				still += memcmp(none->bytes[k] + i * size, half->bytes[k] + i * size, size) == 0;
			}
		if (moved == 0)
			continue;
		if (moved < OUTPUTS_LEAST || (double)still < STILL * (double)moved)
			return false;
		single = true;
	}
	return single;
}

int operands_none(struct trial *t, const struct spec *spec, uint64_t *ret_arrays, struct err *e)
{
	const struct plan *plan = t->variant->plan;
	struct seen none = { 0 };
	uint64_t arrays = 0;
	size_t floats = 0, found = 0;
	*ret_arrays = 0;
	if (plan_bytes(plan) > LARGE_BYTES)
		return 0;
	int rc = look(t, -1, false, &none, e);
	for (size_t i = 0; rc == 0 && i < plan->buffer_count && i < WIRE_STILL_MOST; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		const struct spec_array *a = plan_is_input(b) && b->name ? spec_array(spec, b->name) : NULL;
		if (a == NULL || !dtype_is_float(a->type) || a - spec->arrays >= WIRE_STILL_MOST)
			continue;
		struct seen all = { 0 }, half = { 0 };
		rc = look(t, (int)i, false, &all, e);
		if (rc == 0)
			rc = look(t, (int)i, true, &half, e);
		floats++;
		if (rc == 0 && is_single(t, &none, &all, &half)) {
			found++;
			if (spec_roundoff_operand(spec, a->type) > 0)
				arrays |= UINT64_C(1) << (a - spec->arrays);
		}
		seen_fini(&all);
		seen_fini(&half);
	}
	seen_fini(&none);
	/* Without a sum of products, it is up to the context's author what `precision:` means. */
	if (rc == 0 && found < floats)
		*ret_arrays = arrays;
	return rc;
}
