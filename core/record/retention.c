/* retention: statements that delete a few rows at a time until nothing old is left; see retention.h. */
#include "core/record/retention.h"

#include "core/record/query.h"
#include "core/record/store.h"

enum { BATCH = 500 };
#define DAY_MS ((int64_t)24 * 3600 * 1000)

/* Runs a statement of schema/queries.sql until it finds no more than it may delete at once. */
static int delete_old(struct db *db, const char *name, int64_t before_ms, int64_t *count, struct err *e)
{
	int64_t deleted;
	do {
		struct query q;
		int rc = store_begin(db, e);
		if (rc < 0)
			return rc;
		deleted = 0;
		query_start(&q, db, name, QUERY(QUERY_INT(before_ms), QUERY_INT(BATCH)));
		while ((rc = query_next(&q, e)) > 0)
			deleted++;
		query_fini(&q);
		rc = store_end(db, rc, e);
		if (rc < 0)
			return rc;
		*count += deleted;
	} while (deleted == BATCH);
	return 0;
}

int retention_apply(struct db *db, const struct retention *policy, int64_t now_ms, struct retention_counts *ret_counts,
		    struct err *e)
{
	struct retention_counts c = { 0 };
	int64_t import_runs = 0;
	/* In this order, since rows that go first are what keeps others. */
	const struct {
		const char *name;
		int days;
		int64_t *count;
	} steps[] = {
		{ "retention_events", policy->events, &c.events },
		{ "retention_jobs", policy->jobs, &c.jobs },
		{ "retention_pending", policy->checkpoints, &c.transformations },
		{ "retention_checkpoints", policy->checkpoints, &c.checkpoints },
		{ "retention_imports", policy->imports, &c.imports },
		{ "retention_import_runs", policy->imports, &import_runs },
		{ "retention_exchanges", policy->exchanges, &c.exchanges },
	};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < MEM_COUNT(steps); i++)
		if (steps[i].days > 0)
			rc = delete_old(db, steps[i].name, now_ms - steps[i].days * DAY_MS, steps[i].count, e);
	if (rc == 0)
		rc = delete_old(db, "retention_blobs", now_ms, &c.texts, e);
	*ret_counts = c;
	return rc;
}

int retention_compact(struct db *db, struct err *e)
{
	return query_exec(db, "retention_compact", e);
}
