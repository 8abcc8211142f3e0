/* metric: rows of profilers; see metric.h. */
#include "core/record/metric.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/record/query.h"

int metric_add(struct db *db, struct metric *m, struct err *e)
{
	struct query q;
	int64_t now = m->created_ms ? m->created_ms : clock_wall_ms();
	query_init(&q, db, "metric_add");
	query_put_int(&q, m->checkpoint);
	query_put_text(&q, m->device);
	query_put_text(&q, m->params);
	query_put_text(&q, m->name);
	query_put_real(&q, m->value);
	query_put_text(&q, m->unit);
	query_put_text(&q, m->source);
	query_put_text(&q, m->job);
	query_put_int(&q, now);
	int rc = query_run(&q, NULL, e);
	if (rc == 0)
		m->created_ms = now;
	return rc;
}

static void read_row(struct query *q, struct metric *m)
{
	m->checkpoint = query_get_int(q);
	m->device = query_get_text(q);
	m->params = query_get_text(q);
	m->name = query_get_text(q);
	m->value = query_get_real(q);
	m->unit = query_get_text(q);
	m->source = query_get_text(q);
	m->job = query_get_text(q);
	m->created_ms = query_get_int(q);
}

QUERY_LIST_READER(read_list, metric, read_row)

int metric_list(struct db *db, int64_t checkpoint, const char *device, const char *params, struct metric_list *ret_list,
                struct err *e)
{
	struct query q;
	query_init(&q, db, "metric_list");
	query_put_int(&q, checkpoint);
	query_put_text(&q, device);
	query_put_text(&q, params);
	return read_list(&q, ret_list, e);
}

void metric_list_fini(struct metric_list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free((char *)l->at[i].device);
		free((char *)l->at[i].params);
		free((char *)l->at[i].name);
		free((char *)l->at[i].unit);
		free((char *)l->at[i].source);
		free((char *)l->at[i].job);
	}
	free(l->at);
	*l = (struct metric_list){ .count = 0 };
}
