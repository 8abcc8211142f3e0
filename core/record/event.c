/* event: rows with numbers, and the bell that announces them; see event.h. */
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

void event_bell_init(struct event_bell *b)
{
	*b = (struct event_bell){ .fd_count = 0 };
	lock_init(&b->lock, LOCK_LEAF);
}

void event_bell_fini(struct event_bell *b)
{
	assert(b->fd_count == 0);
	lock_fini(&b->lock);
	free(b->fds);
}

void event_bell_ring(struct event_bell *b)
{
	lock_take(&b->lock);
	for (size_t i = 0; i < b->fd_count; i++) {
		/* Cannot block; a full counter is readable already. */
		ssize_t n = write(b->fds[i], &(uint64_t){ 1 }, sizeof(uint64_t));
		(void)n;
	}
	lock_release(&b->lock);
}

int event_append(struct db *db, const char *job, const struct event *event, int64_t *ret_seq, struct err *e)
{
	int64_t seq = 0;
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = query_do(db, "event_last", QUERY(QUERY_TEXT(job)), &seq, e);
	if (rc == 0)
		rc = err_set(e, ERR_NOT_FOUND, "there is no job %s in this database: list the jobs to see their ids", job);
	/* NAN would be NULL, which the table refuses. */
	if (rc > 0)
		rc = query_do(db, "event_add",
			      QUERY(QUERY_TEXT(job), QUERY_INT(clock_wall_ms()), QUERY_TEXT(event->kind),
				    QUERY_REAL(isnan(event->progress) ? 0 : event->progress),
				    QUERY_REAL(isnan(event->total) ? 0 : event->total),
				    QUERY_TEXT(event->message ? event->message : "")),
			      &seq, e);
	db->ring = true;
	rc = store_end(db, rc < 0 ? rc : 0, e);
	if (rc == 0 && ret_seq)
		*ret_seq = seq;
	return rc;
}

int event_since(struct db *db, const char *job, int64_t after, int limit, struct event_list *ret_list, struct err *e)
{
	return query_all(db, "event_since", QUERY(QUERY_TEXT(job), QUERY_INT(after), QUERY_LIMIT(limit)), &layout, ret_list, e);
}

int event_trace(struct db *db, const char *job, char **ret_text, struct err *e)
{
	return query_text(db, "event_trace", QUERY(QUERY_TEXT(job)), ret_text, e);
}

void event_list_fini(struct event_list *l)
{
	query_list_fini(&layout, l);
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

void event_ring(struct store *s)
{
	event_bell_ring(store_bell(s));
}
