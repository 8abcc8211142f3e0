/* judgement: defaults, texts and shapes of what contexts declare about their outputs; see judgement.h. */
#include "backends/wire/judgement.h"

const struct wire_table judgement_table = WIRE_TABLE("judgement", judgement, NULL, WIRE_UP_TO(judgement, kind, JUDGE_KINDS - 1),
						     WIRE_UP_TO(judgement, order, JUDGE_DESCENDING), WIRE_ANY(judgement, of),
						     WIRE_UP_TO(judgement, axis, PLAN_RANK_MAX - 1), WIRE_AMOUNT(judgement, amount),
						     WIRE_ANY(judgement, any_order), WIRE_ANY(judgement, declared));

struct judgement judgement_default(enum dtype type)
{
	return (struct judgement){ .kind = dtype_is_float(type) ? JUDGE_CLOSE : JUDGE_EXACT };
}

void judgement_add_text(const struct judgement *j, const char *of, struct buf *out)
{
	static const char *const orders[] = { "", " ascending", " descending" };
	switch ((enum judgement_kind)j->kind) {
	case JUDGE_CLOSE: buf_adds(out, "close"); break;
	case JUDGE_EXACT: buf_adds(out, "exact"); break;
	case JUDGE_ULP: buf_addf(out, "within %g ulp", j->amount); break;
	case JUDGE_UNITS: buf_addf(out, "within %g unit%s", j->amount, j->amount == 1 ? "" : "s"); break;
	case JUDGE_INDICES:
		buf_addf(out, "indices of %s along %u%s", of ? of : "?", j->axis, j->any_order ? " in any order" : "");
		break;
	case JUDGE_SET: buf_adds(out, "set"); break;
	case JUDGE_PERMUTATION: buf_addf(out, "permutation%s", orders[j->order]); break;
	case JUDGE_DISTRIBUTION: buf_adds(out, "distribution"); break;
	case JUDGE_KINDS: break;
	}
}

bool judgement_find_rows(const struct plan_buffer *indices, const struct plan_buffer *of, uint32_t axis,
			 struct judgement_rows *ret_rows)
{
	struct judgement_rows r = { .count = 1, .inner = 1, .per_row = 1 };
	bool kept = indices->rank == of->rank; /* the axis is there, with another extent */
	if (axis >= of->rank || (!kept && indices->rank + 1 != of->rank))
		return false;
	for (unsigned d = 0; d < of->rank; d++) {
		if (d == axis)
			continue;
		if (indices->dims[kept || d < axis ? d : d - 1] != of->dims[d])
			return false;
		r.count *= (uint64_t)of->dims[d];
		r.inner *= d > axis ? (uint64_t)of->dims[d] : 1;
	}
	r.extent = (uint64_t)of->dims[axis];
	r.per_row = kept ? (uint64_t)indices->dims[axis] : 1;
	*ret_rows = r;
	return true;
}
