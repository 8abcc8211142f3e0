/* judgement: how one output is compared with its reference: what a context declares behind an output of `inputs:`, as
 * data. core/context reads it, the wire carries it, and backends/values/compare_kind.c goes by it. The baseline's
 * declaration counts, never a candidate's. */
#ifndef PEAKD_BACKENDS_WIRE_JUDGEMENT_H
#define PEAKD_BACKENDS_WIRE_JUDGEMENT_H

#include "backends/wire/plan.h"

enum judgement_kind {
	JUDGE_CLOSE,        /* each element within a bound that follows from rounding */
	JUDGE_EXACT,        /* each element equals the reference's */
	JUDGE_ULP,          /* each element within `amount` spacings of the output's type */
	JUDGE_UNITS,        /* each element within `amount` of the reference's */
	JUDGE_INDICES,      /* each element is an index; the values that it selects are compared */
	JUDGE_SET,          /* the elements of a row, in any order */
	JUDGE_PERMUTATION,  /* the same, and in the declared order */
	JUDGE_DISTRIBUTION, /* random numbers, as the reference's are distributed */
	JUDGE_KINDS,        /* their number */
};
enum judgement_order { JUDGE_UNORDERED, JUDGE_ASCENDING, JUDGE_DESCENDING };

struct judgement {
	uint32_t kind;  /* enum judgement_kind */
	uint32_t order; /* PERMUTATION: enum judgement_order */
	uint32_t of;    /* INDICES: 1 + the position of the array that is indexed, in the plan; 0: none */
	uint32_t axis;  /* INDICES: the axis of that array along which indices count */
	double amount;  /* ULP, UNITS */
	bool any_order; /* INDICES: the indices of a row may come in any order */
	bool declared;  /* else chosen by the output's type */
};

extern const struct wire_table judgement_table;

/* Floating types: close. Integers: exact. */
struct judgement judgement_default(enum dtype type);
/* Appends it as a context declares it: "within 2 ulp", "indices of X along 1". `of` names the indexed array; else NULL. */
void judgement_add_text(const struct judgement *j, const char *of, struct buf *out);

/* Where the rows of an indexed array lie, and how many indices each has. Element i of row r begins at
 * (r / inner * extent + i) * inner + r % inner, in logical elements; index k of it at the same with `per_row` as extent. */
struct judgement_rows {
	uint64_t count;   /* of rows */
	uint64_t extent;  /* elements of a row */
	uint64_t inner;   /* elements between two neighbours of a row */
	uint64_t per_row; /* indices of a row */
};
/* False when the shapes do not fit: indices have the extents of the indexed array without the axis, or with their number
 * in its place. */
bool judgement_find_rows(const struct plan_buffer *indices, const struct plan_buffer *of, uint32_t axis,
			 struct judgement_rows *ret_rows);

#endif
