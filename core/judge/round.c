/* round: see round.h. */
#include "core/judge/round.h"

#include "base/mem.h"

struct round_inputs round_inputs(const struct plan *plan, enum plan_values values)
{
	struct round_inputs found = { .any = values == PLAN_DECLARED };
	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		if (!plan_takes(b, values))
			continue;
		found.any = true;
		found.open |= !b->closed;
		found.closed |= b->closed;
		found.floats |= dtype_is_float(b->type);
	}
	return found;
}

bool round_judges(const struct plan *plan, enum plan_values values)
{
	bool with = false, without = false, nan = plan_takes_nan(plan);
	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		bool whole = !dtype_is_float(b->type);
		with = with || (plan_is_output(b) && (!whole || !nan || plan_buffer_logical(b) == 1));
		without = without || (plan_is_output(b) && whole && nan);
	}
	return values == PLAN_SPECIAL ? with : values == PLAN_SPECIAL_NUMBERS ? without : true;
}

const char *round_elsewhere(enum plan_values values, bool nan, enum dtype type)
{
	if (dtype_is_float(type))
		return values == PLAN_SPECIAL_NUMBERS ? "with NaN among them" : NULL;
	return values == PLAN_SPECIAL && nan ? "what NaN decides among integers is not specified" : NULL;
}

const enum plan_values *round_absorbing(enum plan_values values, size_t *ret_count)
{
	static const enum plan_values of_places[] = { PLAN_SPECIAL_HIGH, PLAN_SPECIAL_LOW, PLAN_SPECIAL_NUMBERS },
				      of_infinities[] = { PLAN_SPECIAL_FINITE },
				      of_rows[] = { PLAN_FINITE_ROWS, PLAN_INFINITE_ROWS },
				      of_runs[] = { PLAN_FINITE_RUNS, PLAN_RUNS };
	*ret_count = values == PLAN_SPECIAL                                ? MEM_COUNT(of_places)
		     : values == PLAN_SPECIAL_NUMBERS                      ? MEM_COUNT(of_infinities)
		     : values == PLAN_RUNS || values == PLAN_INFINITE_ROWS ? MEM_COUNT(of_rows)
									   : 0;
	return values == PLAN_SPECIAL           ? of_places
	       : values == PLAN_SPECIAL_NUMBERS ? of_infinities
	       : values == PLAN_RUNS            ? of_runs
						: of_rows;
}
