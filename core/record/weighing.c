/* weighing: rows of comparisons by energy; see weighing.h. */
#include "core/record/weighing.h"

#include "core/record/query.h"

static const struct layout_field fields[] = {
	{ LAYOUT_AS(struct weighing, comparison, ID, "comparison_id") },
	{ LAYOUT_AT(struct weighing, objective, TEXT) },
	{ LAYOUT_AT(struct weighing, verdict, TEXT) },
	{ LAYOUT_AT(struct weighing, ratio, REAL) },
	{ LAYOUT_AT(struct weighing, low, REAL) },
	{ LAYOUT_AT(struct weighing, high, REAL) },
	{ LAYOUT_AT(struct weighing, a_joules, REAL) },
	{ LAYOUT_AT(struct weighing, b_joules, REAL) },
	{ LAYOUT_AT(struct weighing, time_ratio, REAL) },
	{ LAYOUT_AT(struct weighing, matched, BOOL) },
	{ LAYOUT_AT(struct weighing, window_s, REAL) },
	{ LAYOUT_MANY(struct weighing, samples, sample_count, REALS) },
	{ LAYOUT_AT(struct weighing, created_ms, INT) },
	{ .name = NULL },
};
static const struct layout layout = { "weighing", sizeof(struct weighing), fields };

int weighing_add(struct db *db, struct weighing *w, struct err *e)
{
	return query_insert(db, "weighing", &layout, w, e);
}

int weighing_of(struct db *db, int64_t comparison, struct weighing *ret_weighing, struct err *e)
{
	return query_one(db, "weighing_of", QUERY(QUERY_INT(comparison)), &layout, ret_weighing, e);
}

void weighing_fini(struct weighing *w)
{
	layout_fini(&layout, w);
}
