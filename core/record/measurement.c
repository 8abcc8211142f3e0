/* measurement: rows of timings, the queries for the best of them, and tune runs; see measurement.h. */
#include "core/record/measurement.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/record/query.h"

static const char *const status_names[MEASUREMENT_STATUSES] = {
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
};

const char *measurement_status_name(enum measurement_status status)
{
	return status_names[status];
}

const char *measurement_standing(const struct measurement *m)
{
	return m->proven ? "proven" : m->validation ? "refuted" : "unvalidated";
}

/* A word that this peakd does not know counts as an error: the schema leaves the list open for later ones. */
static enum measurement_status read_status(struct query *q)
{
	char *name = query_get_text(q);
	int i = 0;
	while (i < MEASUREMENT_ERROR && strcmp(status_names[i], name) != 0)
		i++;
	free(name);
	return (enum measurement_status)i;
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

int measurement_add(struct db *db, struct measurement *m, struct err *e)
{
	struct query q;
	int64_t id = 0, now = m->created_ms ? m->created_ms : clock_wall_ms();
	assert((m->status != MEASUREMENT_OK || m->median_ns > 0) && "what was timed took time");
	query_init(&q, db, "measurement_add");
	query_put_int(&q, m->checkpoint);
	query_put_id(&q, m->run);
	query_put_text(&q, m->device);
	query_put_text(&q, m->driver);
	query_put_text(&q, m->sizes);
	query_put_text(&q, m->params);
	query_put_text(&q, measurement_status_name(m->status));
	query_put_real(&q, m->median_ns);
	query_put_real(&q, m->min_ns);
	query_put_real(&q, m->rse);
	query_put_bytes(&q, m->samples, m->sample_count * sizeof *m->samples);
	query_put_int(&q, m->cold);
	query_put_count(&q, m->compile_ns);
	query_put_count(&q, m->registers);
	query_put_count(&q, m->shared_bytes);
	query_put_count(&q, m->spill_bytes);
	query_put_text(&q, m->message);
	query_put_id(&q, m->validation);
	query_put_text(&q, m->job);
	query_put_int(&q, now);
	int rc = query_run(&q, &id, e);
	if (rc < 0)
		return rc;
	m->id = id;
	m->created_ms = now;
	return 0;
}

int measurement_conditions_add(struct db *db, int64_t measurement, const char *conditions, struct err *e)
{
	struct query q;
	query_init(&q, db, "measurement_condition_add");
	query_put_int(&q, measurement);
	query_put_text(&q, conditions);
	int rc = query_run(&q, NULL, e);
	return rc < 0 ? rc : 0;
}

int measurement_conditions(struct db *db, int64_t measurement, char **ret_conditions, struct err *e)
{
	struct query q;
	query_init(&q, db, "measurement_condition_get");
	query_put_int(&q, measurement);
	int rc = query_next(&q, e);
	if (rc >= 0)
		*ret_conditions = rc > 0 ? query_get_text(&q) : NULL;
	query_fini(&q);
	return rc < 0 ? rc : 0;
}

static void read_samples(struct query *q, struct measurement *m)
{
	struct buf bytes = BUF_INIT;
	query_get_bytes(q, &bytes);
	m->sample_count = bytes.len / sizeof *m->samples;
	m->samples = m->sample_count ? mem_copy(bytes.data, m->sample_count * sizeof *m->samples) : NULL;
	buf_fini(&bytes);
}

static void read_row(struct query *q, struct measurement *m)
{
	m->id = query_get_int(q);
	m->checkpoint = query_get_int(q);
	m->run = query_get_int(q);
	m->device = query_get_text(q);
	m->driver = query_get_text(q);
	m->sizes = query_get_text(q);
	m->params = query_get_text(q);
	m->status = read_status(q);
	m->median_ns = query_get_real(q);
	m->min_ns = query_get_real(q);
	m->rse = query_get_real(q);
	read_samples(q, m);
	m->cold = query_get_int(q) != 0;
	m->compile_ns = query_get_count(q);
	m->registers = query_get_count(q);
	m->shared_bytes = query_get_count(q);
	m->spill_bytes = query_get_count(q);
	m->message = query_get_text(q);
	m->validation = query_get_int(q);
	m->job = query_get_text(q);
	m->created_ms = query_get_int(q);
	m->proven = query_get_int(q) != 0;
}

void measurement_fini(struct measurement *m)
{
	free((char *)m->device);
	free((char *)m->driver);
	free((char *)m->sizes);
	free((char *)m->params);
	free((double *)m->samples);
	free((char *)m->message);
	free((char *)m->job);
	*m = (struct measurement){ .id = 0 };
}

void measurement_list_fini(struct measurement_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		measurement_fini(&l->at[i]);
	free(l->at);
	*l = (struct measurement_list){ .count = 0 };
}

QUERY_LIST_READER(read_list, measurement, read_row)

int measurement_list(struct db *db, const struct measurement_query *q, struct measurement_list *ret_list,
                     struct err *e)
{
	struct query query;
	query_init(&query, db, "measurement_list");
	query_put_int(&query, q->checkpoint);
	query_put_id(&query, q->run);
	query_put_text(&query, q->device);
	query_put_text(&query, q->sizes);
	query_put_limit(&query, q->limit);
	return read_list(&query, ret_list, e);
}

int measurement_top(struct db *db, const struct measurement_query *q, struct measurement_list *ret_list, struct err *e)
{
	struct query query;
	query_init(&query, db, "measurement_top");
	query_put_int(&query, q->checkpoint);
	query_put_id(&query, q->run);
	query_put_text(&query, q->device);
	query_put_text(&query, q->sizes);
	query_put_int(&query, !q->warm);
	query_put_int(&query, q->unproven);
	query_put_limit(&query, q->limit);
	return read_list(&query, ret_list, e);
}

int measurement_best(struct db *db, const struct measurement_query *q, struct measurement *ret_measurement,
                     struct err *e)
{
	struct measurement_query first = *q;
	struct measurement_list list = { .count = 0 };
	first.limit = 1;
	int rc = measurement_top(db, &first, &list, e);
	if (rc < 0)
		return rc;
	if (list.count == 0)
		return err_set(e, ERR_NOT_FOUND, "checkpoint %lld has no %s time%s%s%s%s: tune it",
		               (long long)q->checkpoint, q->unproven ? "measured" : "validated",
		               q->device ? " on device " : "", q->device ? q->device : "",
		               q->sizes ? " for " : "", q->sizes ? q->sizes : "");
	*ret_measurement = list.at[0];
	free(list.at);
	return 0;
}

int measurement_best_each(struct db *db, const struct measurement_query *q, struct measurement_list *ret_list,
                          struct err *e)
{
	struct query query;
	query_init(&query, db, "measurement_best_each");
	query_put_int(&query, q->checkpoint);
	query_put_id(&query, q->run);
	query_put_text(&query, q->device);
	query_put_int(&query, !q->warm);
	query_put_int(&query, q->unproven);
	return read_list(&query, ret_list, e);
}

int measurement_count(struct db *db, int64_t checkpoint, int64_t run, struct measurement_counts *ret_counts,
                      struct err *e)
{
	struct measurement_counts counts = { .of = { 0 } };
	struct query q;
	query_init(&q, db, "measurement_count");
	query_put_int(&q, checkpoint);
	query_put_id(&q, run);
	int rc;
	while ((rc = query_next(&q, e)) > 0) {
		enum measurement_status status = read_status(&q);
		counts.of[status] += query_get_int(&q);
	}
	query_fini(&q);
	if (rc == 0)
		*ret_counts = counts;
	return rc;
}

/* --- runs -------------------------------------------------------------------------------------------------------- */

int measurement_run_begin(struct db *db, struct measurement_run *r, struct err *e)
{
	struct query q;
	int64_t id = 0, now = r->created_ms ? r->created_ms : clock_wall_ms();
	query_init(&q, db, "measurement_run_begin");
	query_put_int(&q, r->checkpoint);
	query_put_text(&q, r->device);
	query_put_text(&q, r->strategy);
	query_put_text(&q, r->settings);
	query_put_count(&q, r->planned);
	query_put_text(&q, r->job);
	query_put_int(&q, now);
	int rc = query_run(&q, &id, e);
	if (rc < 0)
		return rc;
	r->id = id;
	r->created_ms = now;
	return 0;
}

int measurement_run_end_at(struct db *db, int64_t run, int64_t wall_ms, struct err *e)
{
	struct query q;
	query_init(&q, db, "measurement_run_end");
	query_put_int(&q, run);
	query_put_int(&q, wall_ms);
	return query_run(&q, NULL, e);
}

int measurement_run_end(struct db *db, int64_t run, struct err *e)
{
	return measurement_run_end_at(db, run, clock_wall_ms(), e);
}

static void read_run(struct query *q, struct measurement_run *r)
{
	r->id = query_get_int(q);
	r->checkpoint = query_get_int(q);
	r->device = query_get_text(q);
	r->strategy = query_get_text(q);
	r->settings = query_get_text(q);
	r->planned = query_get_count(q);
	r->job = query_get_text(q);
	r->created_ms = query_get_int(q);
	r->ended_ms = query_get_int(q);
}

int measurement_run_get(struct db *db, int64_t run, struct measurement_run *ret_run, struct err *e)
{
	struct query q;
	query_init(&q, db, "measurement_run_get");
	query_put_int(&q, run);
	int rc = query_next(&q, e);
	if (rc > 0)
		read_run(&q, ret_run);
	query_fini(&q);
	if (rc == 0)
		return err_set(e, ERR_NOT_FOUND, "there is no tune run %lld in this database", (long long)run);
	return rc < 0 ? rc : 0;
}

int measurement_run_of_job(struct db *db, const char *job, int64_t checkpoint, struct measurement_run *ret_run,
                           struct err *e)
{
	struct query q;
	query_init(&q, db, "measurement_run_of_job");
	query_put_text(&q, job);
	query_put_int(&q, checkpoint);
	int rc = query_next(&q, e);
	if (rc > 0)
		read_run(&q, ret_run);
	query_fini(&q);
	if (rc == 0)
		return err_set(e, ERR_NOT_FOUND, "job %s has no tune run on checkpoint %lld", job,
		               (long long)checkpoint);
	return rc < 0 ? rc : 0;
}

int measurement_runs(struct db *db, int64_t checkpoint, struct measurement_run_list *ret_list, struct err *e)
{
	struct measurement_run_list list = { .count = 0 };
	struct query q;
	query_init(&q, db, "measurement_runs");
	query_put_int(&q, checkpoint);
	int rc;
	while ((rc = query_next(&q, e)) > 0)
		read_run(&q, MEM_PUSH(list.at, list.count));
	query_fini(&q);
	if (rc < 0)
		measurement_run_list_fini(&list);
	else
		*ret_list = list;
	return rc;
}

void measurement_run_list_fini(struct measurement_run_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		measurement_run_fini(&l->at[i]);
	free(l->at);
	*l = (struct measurement_run_list){ .count = 0 };
}

void measurement_run_fini(struct measurement_run *r)
{
	free((char *)r->device);
	free((char *)r->strategy);
	free((char *)r->settings);
	free((char *)r->job);
	*r = (struct measurement_run){ .id = 0 };
}
