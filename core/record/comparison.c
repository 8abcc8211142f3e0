/* comparison: rows of comparisons; see comparison.h. */
#include "core/record/comparison.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/record/query.h"

static const struct layout_field fields[] = {
	{ LAYOUT_AT(struct comparison, id, ID) },
	{ LAYOUT_AS(struct comparison, a, ID, "a_id") },
	{ LAYOUT_AS(struct comparison, b, ID, "b_id") },
	{ LAYOUT_AT(struct comparison, library, TEXT) },
	{ LAYOUT_AT(struct comparison, device, TEXT) },
	{ LAYOUT_AT(struct comparison, driver, TEXT) },
	{ LAYOUT_AT(struct comparison, sizes, TEXT) },
	{ LAYOUT_AT(struct comparison, a_params, TEXT) },
	{ LAYOUT_AT(struct comparison, b_params, TEXT) },
	{ LAYOUT_AT(struct comparison, verdict, TEXT) },
	{ LAYOUT_AT(struct comparison, a_ns, REAL), .unit = "ns" },
	{ LAYOUT_AT(struct comparison, b_ns, REAL), .unit = "ns" },
	{ LAYOUT_AT(struct comparison, ratio, REAL), .unit = "ratio" },
	{ LAYOUT_AT(struct comparison, low, REAL), .unit = "ratio" },
	{ LAYOUT_AT(struct comparison, high, REAL), .unit = "ratio" },
	{ LAYOUT_AT(struct comparison, confidence, REAL), .unit = "share" },
	{ LAYOUT_AT(struct comparison, margin, REAL), .unit = "share" },
	{ LAYOUT_MANY(struct comparison, samples, sample_count, REALS), .unit = "ns" },
	{ LAYOUT_AT(struct comparison, discarded, INT) },
	{ LAYOUT_AT(struct comparison, disturbed, BOOL) },
	{ LAYOUT_AT(struct comparison, cold, BOOL) },
	{ LAYOUT_AT(struct comparison, a_start, BOOL) },
	{ LAYOUT_AT(struct comparison, conditions, TEXT) },
	{ LAYOUT_AT(struct comparison, load, TEXT) },
	{ LAYOUT_AT(struct comparison, a_validation, ID) },
	{ LAYOUT_AT(struct comparison, b_validation, ID) },
	{ LAYOUT_AS(struct comparison, job, TEXT, "job_id") },
	{ LAYOUT_AT(struct comparison, created_ms, INT), .unit = "ms" },
	{ .name = NULL },
};
static const struct layout layout = { "comparison", sizeof(struct comparison), fields };

int comparison_add(struct db *db, struct comparison *c, struct err *e)
{
	c->sample_count = c->pairs ? 2 * c->pairs : c->sample_count;
	return query_insert(db, "comparison", &layout, c, e);
}

int comparison_library(struct db *db, int64_t checkpoint, const char *device, const char *params, bool cold,
		       struct comparison *ret_comparison, struct err *e)
{
	int rc = query_one(db, "comparison_library",
			   QUERY(QUERY_INT(checkpoint), QUERY_TEXT(device), QUERY_TEXT(params), QUERY_INT(cold)), &layout,
			   ret_comparison, e);
	if (rc == 0)
		return err_set(e, ERR_NOT_FOUND, "checkpoint %lld was not compared with a library", (long long)checkpoint);
	return rc < 0 ? rc : 0;
}

int comparison_pair(struct db *db, const struct comparison_query *q, struct comparison *ret_comparison, struct err *e)
{
	int rc = query_one(db, "comparison_pair",
			   QUERY(QUERY_INT(q->a), QUERY_INT(q->b), QUERY_TEXT(q->device), QUERY_TEXT(q->sizes), QUERY_INT(q->cold),
				 QUERY_TEXT(q->a_params), QUERY_TEXT(q->b_params), QUERY_INT(q->a_start)),
			   &layout, ret_comparison, e);
	if (rc == 0)
		return err_set(e, ERR_NOT_FOUND,
			       "checkpoints %lld and %lld were not compared: `peakd compare %lld %lld` times them in pairs",
			       (long long)q->a, (long long)q->b, (long long)q->a, (long long)q->b);
	if (rc > 0 && (ret_comparison->b != q->b || strcmp(ret_comparison->b_params, q->b_params) != 0)) {
		/* The same pairs, told from the other side; the samples stay as they were taken. */
		struct comparison was = *ret_comparison;
		ret_comparison->a = was.b;
		ret_comparison->b = was.a;
		ret_comparison->a_ns = was.b_ns;
		ret_comparison->b_ns = was.a_ns;
		ret_comparison->ratio = 1 / was.ratio;
		ret_comparison->low = 1 / was.high;
		ret_comparison->high = 1 / was.low;
		ret_comparison->a_validation = was.b_validation;
		ret_comparison->b_validation = was.a_validation;
		ret_comparison->a_params = was.b_params;
		ret_comparison->b_params = was.a_params;
		bool faster = strcmp(was.verdict, "faster") == 0;
		if (faster || strcmp(was.verdict, "slower") == 0) {
			ret_comparison->verdict = mem_str(faster ? "slower" : "faster");
			free((char *)was.verdict);
		}
	}
	return rc < 0 ? rc : 0;
}

void comparison_fini(struct comparison *c)
{
	layout_fini(&layout, c);
}

/* --- by energy -------------------------------------------------------------------------------------------------------- */

static const struct layout_field weighing_fields[] = {
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
static const struct layout weighing_layout = { "weighing", sizeof(struct weighing), weighing_fields };

int comparison_weighing_add(struct db *db, struct weighing *w, struct err *e)
{
	return query_insert(db, "weighing", &weighing_layout, w, e);
}

int comparison_weighing(struct db *db, int64_t comparison, struct weighing *ret_weighing, struct err *e)
{
	return query_one(db, "weighing_of", QUERY(QUERY_INT(comparison)), &weighing_layout, ret_weighing, e);
}

void comparison_weighing_fini(struct weighing *w)
{
	layout_fini(&weighing_layout, w);
}
