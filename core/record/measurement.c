/* measurement: rows of timings, the queries for the best times, and tune runs; see measurement.h. */
#include "core/record/measurement.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/record/query.h"

/* What this list lacks reads as the last word: a newer peakd may have written it. */
static const char *const status_names[] = {
	[MEASUREMENT_OK] = "ok",
	[MEASUREMENT_PRUNED] = "pruned",
	[MEASUREMENT_COMPILE] = "compile",
	[MEASUREMENT_WRONG] = "wrong",
	[MEASUREMENT_CRASH] = "crash",
	[MEASUREMENT_TIMEOUT] = "timeout",
	[MEASUREMENT_DISTURBED] = "disturbed",
	[MEASUREMENT_IMPOSSIBLE] = "impossible",
	[MEASUREMENT_UNSUPPORTED] = "unsupported",
	[MEASUREMENT_CANCELLED] = "cancelled",
	[MEASUREMENT_ERROR] = "error",
	[MEASUREMENT_STATUSES] = NULL,
};

static const struct layout_field fields[] = {
	{ LAYOUT_AT(struct measurement, id, ID) },
	{ LAYOUT_AS(struct measurement, checkpoint, ID, "checkpoint_id") },
	{ LAYOUT_AS(struct measurement, run, ID, "run_id") },
	{ LAYOUT_AT(struct measurement, device, TEXT) },
	{ LAYOUT_AT(struct measurement, driver, TEXT) },
	{ LAYOUT_AT(struct measurement, sizes, TEXT) },
	{ LAYOUT_AT(struct measurement, params, TEXT) },
	{ LAYOUT_AT(struct measurement, status, WORD), .words = status_names },
	{ LAYOUT_AT(struct measurement, median_ns, REAL), .unit = "ns" },
	{ LAYOUT_AT(struct measurement, min_ns, REAL), .unit = "ns" },
	{ LAYOUT_AT(struct measurement, rse, REAL), .unit = "share" },
	{ LAYOUT_MANY(struct measurement, samples, sample_count, REALS), .unit = "ns" },
	{ LAYOUT_AT(struct measurement, cold, BOOL) },
	{ LAYOUT_AT(struct measurement, compile_ns, COUNT), .unit = "ns" },
	{ LAYOUT_AT(struct measurement, registers, COUNT) },
	{ LAYOUT_AT(struct measurement, shared_bytes, COUNT), .unit = "bytes" },
	{ LAYOUT_AT(struct measurement, spill_bytes, COUNT), .unit = "bytes" },
	{ LAYOUT_AT(struct measurement, message, TEXT) },
	{ LAYOUT_AS(struct measurement, validation, ID, "validation_id") },
	{ LAYOUT_AS(struct measurement, job, TEXT, "job_id") },
	{ LAYOUT_AT(struct measurement, created_ms, INT), .unit = "ms" },
	{ .name = NULL },
};
const struct layout measurement_layout = { "measurement", sizeof(struct measurement), fields };

/* As it is read: whether a time may be quoted is asked of the view measurement_proven each time. */
static const struct layout_field read_fields[] = {
	{ .name = "row", .type = LAYOUT_PART, .size = sizeof(struct measurement), .of = &measurement_layout },
	{ LAYOUT_AT(struct measurement, proven, BOOL) },
	{ .name = NULL },
};
static const struct layout read_layout = { "measurement", sizeof(struct measurement), read_fields };

static const struct layout_field run_fields[] = {
	{ LAYOUT_AT(struct measurement_run, id, ID) },
	{ LAYOUT_AS(struct measurement_run, checkpoint, ID, "checkpoint_id") },
	{ LAYOUT_AT(struct measurement_run, device, TEXT) },
	{ LAYOUT_AT(struct measurement_run, strategy, TEXT) },
	{ LAYOUT_AT(struct measurement_run, settings, TEXT) },
	{ LAYOUT_AT(struct measurement_run, planned, COUNT) },
	{ LAYOUT_AS(struct measurement_run, job, TEXT, "job_id") },
	{ LAYOUT_AT(struct measurement_run, created_ms, INT), .unit = "ms" },
	{ LAYOUT_AT(struct measurement_run, ended_ms, INT), .unit = "ms" },
	{ .name = NULL },
};
static const struct layout run_layout = { "measurement run", sizeof(struct measurement_run), run_fields };

const char *measurement_status_name(enum measurement_status status)
{
	return status_names[status];
}

const char *measurement_standing(const struct measurement *m)
{
	return m->proven ? "proven" : m->validation ? "refuted" : "unvalidated";
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

int measurement_add(struct db *db, struct measurement *m, struct err *e)
{
	assert((m->status != MEASUREMENT_OK || m->median_ns > 0) && "a timed row has a time");
	return query_insert(db, "measurement", &measurement_layout, m, e);
}

int measurement_conditions_add(struct db *db, int64_t measurement, const char *conditions, struct err *e)
{
	return query_do(db, "measurement_condition_add", QUERY(QUERY_INT(measurement), QUERY_TEXT(conditions)), NULL, e);
}

void measurement_fini(struct measurement *m)
{
	layout_fini(&read_layout, m);
}

void measurement_list_fini(struct measurement_list *l)
{
	query_list_fini(&read_layout, l);
}

int measurement_device(struct db *db, int64_t checkpoint, const char *class, char **ret_device, struct err *e)
{
	*ret_device = NULL;
	int rc = query_text(db, "measurement_device", QUERY(QUERY_INT(checkpoint), QUERY_TEXT(class)), ret_device, e);
	return rc < 0 ? rc : 0;
}

int measurement_list(struct db *db, const struct measurement_query *q, struct measurement_list *ret_list, struct err *e)
{
	return query_all(db, "measurement_list",
			 QUERY(QUERY_INT(q->checkpoint), QUERY_ID(q->run), QUERY_TEXT(q->device), QUERY_TEXT(q->sizes),
			       QUERY_LIMIT(q->limit)),
			 &read_layout, ret_list, e);
}

int measurement_top(struct db *db, const struct measurement_query *q, struct measurement_list *ret_list, struct err *e)
{
	return query_all(db, "measurement_top",
			 QUERY(QUERY_INT(q->checkpoint), QUERY_ID(q->run), QUERY_TEXT(q->device), QUERY_TEXT(q->sizes),
			       QUERY_INT(!q->warm), QUERY_INT(q->unproven), QUERY_LIMIT(q->limit)),
			 &read_layout, ret_list, e);
}

int measurement_best(struct db *db, const struct measurement_query *q, struct measurement *ret_measurement, struct err *e)
{
	struct measurement_query first = *q;
	struct measurement_list list = { .count = 0 };
	first.limit = 1;
	int rc = measurement_top(db, &first, &list, e);
	if (rc < 0)
		return rc;
	if (list.count == 0)
		return err_set(e, ERR_NOT_FOUND, "checkpoint %lld has no %s time%s%s%s%s: tune it", (long long)q->checkpoint,
			       q->unproven ? "measured" : "validated", q->device ? " on device " : "", q->device ? q->device : "",
			       q->sizes ? " for " : "", q->sizes ? q->sizes : "");
	*ret_measurement = list.at[0];
	free(list.at);
	return 0;
}

int measurement_best_each(struct db *db, const struct measurement_query *q, struct measurement_list *ret_list, struct err *e)
{
	return query_all(db, "measurement_best_each",
			 QUERY(QUERY_INT(q->checkpoint), QUERY_ID(q->run), QUERY_TEXT(q->device), QUERY_INT(!q->warm),
			       QUERY_INT(q->unproven)),
			 &read_layout, ret_list, e);
}

/* --- runs -------------------------------------------------------------------------------------------------------- */

int measurement_run_begin(struct db *db, struct measurement_run *r, struct err *e)
{
	return query_insert(db, "measurement_run", &run_layout, r, e);
}

int measurement_run_end(struct db *db, int64_t run, struct err *e)
{
	return query_do(db, "measurement_run_end", QUERY(QUERY_INT(run), QUERY_INT(clock_wall_ms())), NULL, e);
}

int measurement_runs(struct db *db, int64_t checkpoint, struct measurement_run_list *ret_list, struct err *e)
{
	return query_all(db, "measurement_runs", QUERY(QUERY_INT(checkpoint)), &run_layout, ret_list, e);
}

void measurement_run_list_fini(struct measurement_run_list *l)
{
	query_list_fini(&run_layout, l);
}
