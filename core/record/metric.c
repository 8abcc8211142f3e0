/* metric: rows of profilers; see metric.h. */
#include "core/record/metric.h"

#include <math.h>
#include <string.h>

#include "core/record/query.h"

static const struct layout_field fields[] = {
	{ LAYOUT_AS(struct metric, checkpoint, ID, "checkpoint_id") },
	{ LAYOUT_AT(struct metric, device, TEXT) },
	{ LAYOUT_AT(struct metric, params, TEXT) },
	{ LAYOUT_AT(struct metric, name, TEXT) },
	{ LAYOUT_AT(struct metric, value, REAL) },
	{ LAYOUT_AT(struct metric, unit, TEXT) },
	{ LAYOUT_AT(struct metric, source, TEXT) },
	{ LAYOUT_AS(struct metric, job, TEXT, "job_id") },
	{ LAYOUT_AT(struct metric, created_ms, INT), .unit = "ms" },
	{ .name = NULL },
};
static const struct layout layout = { "metric", sizeof(struct metric), fields };

int metric_add(struct db *db, struct metric *m, struct err *e)
{
	return query_insert(db, "metric", &layout, m, e);
}

int metric_list(struct db *db, int64_t checkpoint, const char *device, const char *params, struct metric_list *ret_list,
		struct err *e)
{
	return query_all(db, "metric_list", QUERY(QUERY_INT(checkpoint), QUERY_TEXT(device), QUERY_TEXT(params)), &layout, ret_list,
			 e);
}

int metric_newest(struct db *db, int64_t checkpoint, const char *device, const char *params, const char *name, double *ret_value,
		  struct err *e)
{
	struct metric_list all;
	*ret_value = NAN;
	int rc = metric_list(db, checkpoint, device, params, &all, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < all.count; i++)
		if (strcmp(all.at[i].name, name) == 0)
			*ret_value = all.at[i].value;
	metric_list_fini(&all);
	return 0;
}

void metric_list_fini(struct metric_list *l)
{
	query_list_fini(&layout, l);
}

static const struct layout_field total_fields[] = {
	{ LAYOUT_AT(struct metric_total, name, TEXT) },
	{ LAYOUT_AT(struct metric_total, labels, TEXT) },
	{ LAYOUT_AT(struct metric_total, value, REAL) },
	{ .name = NULL },
};
static const struct layout total_layout = { "metric_total", sizeof(struct metric_total), total_fields };

int metric_totals(struct db *db, int64_t now_ms, struct metric_total_list *ret_list, struct err *e)
{
	return query_all(db, "metric_totals", QUERY(QUERY_INT(now_ms)), &total_layout, ret_list, e);
}

void metric_total_list_fini(struct metric_total_list *l)
{
	query_list_fini(&total_layout, l);
}
