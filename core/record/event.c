/* event: rows with numbers, and waiting for them; see event.h. */
#include "core/record/event.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/record/bell.h"
#include "core/record/query.h"
#include "core/record/store.h"

static int add_row(struct db *db, const char *job, const char *kind, double progress, double total, const char *message,
                   int64_t *ret_seq, struct err *e)
{
	struct query q;
	query_init(&q, db, "event_add");
	query_put_text(&q, job);
	query_put_int(&q, clock_wall_ms());
	query_put_text(&q, kind);
	/* NAN would be NULL: a share of nothing is no progress. */
	query_put_real(&q, isnan(progress) ? 0 : progress);
	query_put_real(&q, isnan(total) ? 0 : total);
	query_put_text(&q, message ? message : "");
	int rc = query_run(&q, ret_seq, e);
	return rc < 0 ? rc : 0;
}

/* The number of the newest event, or ERR_NOT_FOUND when there is no such job. */
static int last_seq(struct db *db, const char *job, int64_t *ret_seq, struct err *e)
{
	struct query q;
	query_init(&q, db, "event_last");
	query_put_text(&q, job);
	int rc = query_run(&q, ret_seq, e);
	if (rc == 0)
		return err_set(e, ERR_NOT_FOUND, "there is no job %s in this database: list the jobs to see their ids",
		               job);
	return rc < 0 ? rc : 0;
}

int event_append(struct db *db, const char *job, const char *kind, double progress, double total, const char *message,
                 int64_t *ret_seq, struct err *e)
{
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	int64_t seq = 0;
	rc = last_seq(db, job, &seq, e);
	if (rc == 0)
		rc = add_row(db, job, kind, progress, total, message, &seq, e);
	db->ring = true;
	rc = store_end(db, rc, e);
	if (rc == 0 && ret_seq)
		*ret_seq = seq;
	return rc;
}

static void read_row(struct query *q, struct event *v)
{
	v->seq = query_get_int(q);
	v->created_ms = query_get_int(q);
	v->kind = query_get_text(q);
	v->progress = query_get_real(q);
	v->total = query_get_real(q);
	v->message = query_get_text(q);
}

QUERY_LIST_READER(read_list, event, read_row)

int event_since(struct db *db, const char *job, int64_t after, int limit, struct event_list *ret_list, struct err *e)
{
	struct query q;
	query_init(&q, db, "event_since");
	query_put_text(&q, job);
	query_put_int(&q, after);
	query_put_limit(&q, limit);
	return read_list(&q, ret_list, e);
}

void event_list_fini(struct event_list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free((char *)l->at[i].kind);
		free((char *)l->at[i].message);
	}
	free(l->at);
	*l = (struct event_list){ .count = 0 };
}

int event_wait(struct db *db, const char *job, int64_t after, int64_t deadline, struct err *e)
{
	assert(db->depth == 0 && "waiting inside a transaction would keep everybody else from writing");
	struct bell *bell = store_bell(db->store);
	for (;;) {
		uint64_t seen = bell_count(bell);
		int64_t last = 0;
		int rc = last_seq(db, job, &last, e);
		if (rc < 0)
			return rc;
		if (last > after)
			return 1;
		if (!bell_wait(bell, seen, deadline))
			return 0;
	}
}

int event_watch(struct store *s, struct err *e)
{
	return bell_watch(store_bell(s), e);
}

void event_unwatch(struct store *s, int take_fd)
{
	bell_unwatch(store_bell(s), take_fd);
}

void event_wake(struct store *s)
{
	bell_close(store_bell(s));
}
