/* metric: rows of profilers; see metric.h. */
#include "core/record/metric.h"

#include "base/clock.h"
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
	m->created_ms = m->created_ms ? m->created_ms : clock_wall_ms();
	return query_add(db, "metric", &layout, m, NULL, e);
}

int metric_list(struct db *db, int64_t checkpoint, const char *device, const char *params, struct metric_list *ret_list,
		struct err *e)
{
	struct query q;
	query_init(&q, db, "metric_list");
	query_put_int(&q, checkpoint);
	query_put_text(&q, device);
	query_put_text(&q, params);
	return QUERY_LIST(&q, &layout, ret_list, e);
}

void metric_list_fini(struct metric_list *l)
{
	layout_free_list(&layout, l->at, l->count);
	*l = (struct metric_list){ .count = 0 };
}
