/* event: rows with numbers, the bell that announces them, and waiting for it; see event.h. */
#include "core/record/event.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/record/query.h"
#include "core/record/store.h"

static const struct layout_field fields[] = {
	{ LAYOUT_AT(struct event, seq, INT) },
	{ LAYOUT_AT(struct event, created_ms, INT), .unit = "ms" },
	{ LAYOUT_AT(struct event, kind, TEXT) },
	{ LAYOUT_AT(struct event, progress, REAL) },
	{ LAYOUT_AT(struct event, total, REAL) },
	{ LAYOUT_AT(struct event, message, TEXT) },
	{ .name = NULL },
};
static const struct layout layout = { "event", sizeof(struct event), fields };

/* --- the bell ---------------------------------------------------------------------------------------------------- */

void event_bell_init(struct event_bell *b)
{
	*b = (struct event_bell){ .rung = 0 };
	lock_init(&b->lock, LOCK_LEAF);
	lock_bell_init(&b->cond);
}

void event_bell_fini(struct event_bell *b)
{
	assert(b->fd_count == 0);
	lock_bell_fini(&b->cond);
	lock_fini(&b->lock);
	free(b->fds);
}

static void ring_locked(struct event_bell *b)
{
	b->rung++;
	for (size_t i = 0; i < b->fd_count; i++) {
		/* Cannot block; a full counter is readable already. */
		ssize_t n = write(b->fds[i], &(uint64_t){ 1 }, sizeof(uint64_t));
		(void)n;
	}
	lock_bell_ring(&b->cond);
}

void event_bell_ring(struct event_bell *b)
{
	lock_take(&b->lock);
	ring_locked(b);
	lock_release(&b->lock);
}

static uint64_t bell_count(struct event_bell *b)
{
	lock_take(&b->lock);
	uint64_t rung = b->rung;
	lock_release(&b->lock);
	return rung;
}

static int bell_wait(struct event_bell *b, uint64_t seen, int64_t deadline)
{
	lock_take(&b->lock);
	while (b->rung == seen && !b->closed && lock_bell_wait(&b->cond, &b->lock, deadline) == 0)
		;
	int rung = b->rung != seen && !b->closed;
	lock_release(&b->lock);
	return rung;
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

static int add_row(struct db *db, const char *job, const struct event *event, int64_t *ret_seq, struct err *e)
{
	struct query q;
	query_init(&q, db, "event_add");
	query_put_text(&q, job);
	query_put_int(&q, clock_wall_ms());
	query_put_text(&q, event->kind);
	/* NAN would be NULL, which the table refuses. */
	query_put_real(&q, isnan(event->progress) ? 0 : event->progress);
	query_put_real(&q, isnan(event->total) ? 0 : event->total);
	query_put_text(&q, event->message ? event->message : "");
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
		return err_set(e, ERR_NOT_FOUND, "there is no job %s in this database: list the jobs to see their ids", job);
	return rc < 0 ? rc : 0;
}

int event_append(struct db *db, const char *job, const struct event *event, int64_t *ret_seq, struct err *e)
{
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	int64_t seq = 0;
	rc = last_seq(db, job, &seq, e);
	if (rc == 0)
		rc = add_row(db, job, event, &seq, e);
	db->ring = true;
	rc = store_end(db, rc, e);
	if (rc == 0 && ret_seq)
		*ret_seq = seq;
	return rc;
}

int event_since(struct db *db, const char *job, int64_t after, int limit, struct event_list *ret_list, struct err *e)
{
	struct query q;
	query_init(&q, db, "event_since");
	query_put_text(&q, job);
	query_put_int(&q, after);
	query_put_limit(&q, limit);
	return QUERY_LIST(&q, &layout, ret_list, e);
}

void event_list_fini(struct event_list *l)
{
	layout_free_list(&layout, l->at, l->count);
	*l = (struct event_list){ .count = 0 };
}

int event_wait(struct db *db, const char *job, int64_t after, int64_t deadline, struct err *e)
{
	assert(db->depth == 0 && "waiting inside a transaction would keep everybody else from writing");
	struct event_bell *bell = store_bell(db->store);
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
	struct event_bell *b = store_bell(s);
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return err_sys(e, errno, "a descriptor for watching events cannot be made");
	lock_take(&b->lock);
	*MEM_PUSH(b->fds, b->fd_count) = fd;
	lock_release(&b->lock);
	return fd;
}

void event_unwatch(struct store *s, int take_fd)
{
	struct event_bell *b = store_bell(s);
	size_t i = 0;
	lock_take(&b->lock);
	while (i < b->fd_count && b->fds[i] != take_fd)
		i++;
	assert(i < b->fd_count);
	b->fds[i] = b->fds[--b->fd_count];
	lock_release(&b->lock);
	close(take_fd);
}

void event_wake(struct store *s)
{
	struct event_bell *b = store_bell(s);
	lock_take(&b->lock);
	b->closed = true;
	ring_locked(b);
	lock_release(&b->lock);
}

void event_ring(struct store *s)
{
	event_bell_ring(store_bell(s));
}
