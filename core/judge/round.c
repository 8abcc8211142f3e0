/* round: see round.h. */
#include "core/judge/round.h"

#include <ctype.h>
#include <string.h>

#include "base/lex.h"
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

const char *round_elsewhere(enum plan_values values, bool nan, enum dtype type, enum judgement_kind kind)
{
	if (kind == JUDGE_DISTRIBUTION && (round_is_infinite(values) || values == PLAN_RUNS))
		return "chance decides which infinities and NaN stay";
	if (dtype_is_float(type))
		return values == PLAN_SPECIAL_NUMBERS ? "with NaN among them" : NULL;
	return values == PLAN_SPECIAL && nan ? "what NaN decides among integers is not specified" : NULL;
}

const enum plan_values *round_absorbing(enum plan_values values, const char *baseline, size_t *ret_count)
{
	static const struct {
		enum plan_values values;
		size_t count;
		enum plan_values others[3];
	} all[] = {
		{ PLAN_SPECIAL, 3, { PLAN_SPECIAL_HIGH, PLAN_SPECIAL_LOW, PLAN_SPECIAL_NUMBERS } },
		{ PLAN_SPECIAL_NUMBERS, 1, { PLAN_SPECIAL_FINITE } },
		{ PLAN_INFINITE_ROWS, 2, { PLAN_FINITE_ROWS, PLAN_INFINITE_ROWS } },
		{ PLAN_RUNS, 2, { PLAN_FINITE_RUNS, PLAN_RUNS } },
	};
	static const enum plan_values beside_nan[] = { PLAN_SPECIAL_NANS };
	if (values == PLAN_SPECIAL && round_asks_nan(baseline)) {
		*ret_count = MEM_COUNT(beside_nan);
		return beside_nan;
	}
	for (size_t i = 0; i < MEM_COUNT(all); i++)
		if (all[i].values == values) {
			*ret_count = all[i].count;
			return all[i].others;
		}
	*ret_count = 0;
	return NULL;
}

static bool is_name(char c)
{
	return lex_in_word(c) || c == '.';
}

/* Whether a comparison, which is at `at`, has the same name on both sides, as only NaN differs from itself. */
static bool with_itself(const char *code, const char *at)
{
	const char *left = at, *right = at + 2, *end;
	while (left > code && left[-1] == ' ')
		left--;
	end = left;
	while (left > code && is_name(left[-1]))
		left--;
	right += strspn(right, " ");
	size_t n = (size_t)(end - left);
	return n > 0 && !isdigit((unsigned char)*left) && strncmp(left, right, n) == 0 && !is_name(right[n]) &&
	       !strchr("([", right[n]);
}

bool round_asks_nan(const char *code)
{
	bool asks = strstr(code, "isnan") != NULL;
	for (const char *at = code; !asks && (at = strpbrk(at, "!=")) != NULL; at++)
		asks = at[1] == '=' && with_itself(code, at);
	return asks;
}
