/* comparison: rows of comparisons; see comparison.h. */
#include "core/record/comparison.h"

#include "base/clock.h"
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
	{ LAYOUT_AT(struct comparison, conditions, TEXT) },
	{ LAYOUT_AT(struct comparison, a_validation, ID) },
	{ LAYOUT_AT(struct comparison, b_validation, ID) },
	{ LAYOUT_AS(struct comparison, job, TEXT, "job_id") },
	{ LAYOUT_AT(struct comparison, created_ms, INT), .unit = "ms" },
	{ .name = NULL },
};
static const struct layout layout = { "comparison", sizeof(struct comparison), fields };

int comparison_add(struct db *db, struct comparison *c, struct err *e)
{
	int64_t id = 0;
	c->id = 0;
	c->sample_count = 2 * c->pairs;
	c->created_ms = c->created_ms ? c->created_ms : clock_wall_ms();
	int rc = query_add(db, "comparison", &layout, c, &id, e);
	c->id = id;
	return rc;
}

int comparison_library(struct db *db, int64_t checkpoint, const char *device, const char *params, bool cold,
		       struct comparison *ret_comparison, struct err *e)
{
	struct query q;
	query_init(&q, db, "comparison_library");
	query_put_int(&q, checkpoint);
	query_put_text(&q, device);
	query_put_text(&q, params);
	query_put_int(&q, cold);
	int rc = query_row(&q, &layout, ret_comparison, e);
	if (rc == 0)
		return err_set(e, ERR_NOT_FOUND, "checkpoint %lld was not compared with a library", (long long)checkpoint);
	return rc < 0 ? rc : 0;
}

void comparison_fini(struct comparison *c)
{
	layout_fini(&layout, c);
}
