/* notify: see notify.h. */
#include "daemon/notify.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/record/event.h"
#include "core/record/job.h"
#include "daemon/app.h"
#include "mcp/server.h"

#define GRACE_NS (10 * CLOCK_S) /* how long the job of a closed stream lives, in case a client attaches */

struct waiter {
	struct mcp_call *call;
	char *job;
	int64_t deadline, seen; /* seen: number of the last event sent; negative: the last one of any earlier answer */
	bool fresh;             /* no client knows the job's id yet */
	notify_answer *answer;
	struct waiter *next;
};

/* How far the answers about a running job have told its events, for clients that ask again. */
struct told {
	char *job;
	int64_t seq;
	struct told *next;
};

/* A job whose only client left before it learned the id. */
struct orphan {
	char *job;
	int64_t deadline;
	struct orphan *next;
};

/* A task or resource that clients subscribed to (2026-07-28: subscriptions/listen; before: resources/subscribe). */
struct watched {
	char *task, *uri; /* one of them */
	char *job;        /* the job whose events count; NULL: any job's end, since only jobs change checkpoints */
	int64_t seen;     /* the last event told, or the number of ended jobs; -1: nothing was told */
	bool still;       /* seen in the current look */
	struct watched *next;
};

struct notify {
	struct app *app;
	struct lock lock;
	struct waiter *arrived;       /* handed over to the thread */
	bool hurry, ending, newcomer; /* newcomer: there is a new subscription */
	struct mcp_server *listened;  /* the server with subscribers, or NULL */
	int wake_fd;                  /* eventfd: something arrived */
	int event_fd;                 /* the store's bell */
	pthread_t thread;
	/* The thread's own: */
	struct waiter *waiters;
	struct orphan *orphans;
	struct told *told;
	struct watched *watched;
	struct mcp_server *server; /* tells subscribers; NULL until there is one */
};

static void waiter_free(struct waiter *w)
{
	mcp_call_unref(w->call);
	free(w->job);
	free(w);
}

static void reset(int fd)
{
	uint64_t n;
	while (read(fd, &n, sizeof n) < 0 && errno == EINTR)
		;
}

static void wake(struct notify *n)
{
	uint64_t one = 1;
	while (write(n->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
		;
}

static void woken_by_cancel(void *arg)
{
	wake(arg);
}

/* Remembers `seq` for a job that goes on; forgets a job that has ended. */
static void set_told(struct notify *n, const char *job, bool ended, int64_t seq)
{
	struct told **link = &n->told;
	while (*link && strcmp((*link)->job, job) != 0)
		link = &(*link)->next;
	struct told *t = *link;
	if (ended && t) {
		*link = t->next;
		free(t->job);
		free(t);
	} else if (!ended && t == NULL) {
		*link = t = MEM_NEW(struct told);
		t->job = mem_str(job);
	}
	if (!ended)
		t->seq = seq;
}

/* Of a job that no answer was about yet, only the newest event is news. */
static int64_t told_of(const struct notify *n, const struct job *job)
{
	for (const struct told *t = n->told; t; t = t->next)
		if (strcmp(t->job, job->id) == 0)
			return t->seq;
	return job->last_event > 0 ? job->last_event - 1 : 0;
}

static void send_progress(struct db *db, struct waiter *w)
{
	struct event_list events;
	struct err e = ERR_INIT;
	if (event_since(db, w->job, w->seen, 0, &events, &e) < 0) {
		log_warning("events of job %s: %s", w->job, e.text);
		return;
	}
	for (size_t i = 0; i < events.count; i++) {
		const struct event *v = &events.at[i];
		w->seen = v->seq;
		/* Event numbers increase strictly, which is all that the protocol asks of progress. */
		mcp_call_progress(w->call, (double)v->seq, 0, v->message && *v->message ? v->message : v->kind);
		mcp_call_log(
			w->call, MCP_LOG_DEBUG, "job",
			json_pack("{s:s, s:s, s:s}", "job", w->job, "event", v->kind, "message", v->message ? v->message : ""));
	}
	event_list_fini(&events);
}

static void cancel_job(struct notify *n, struct db *db, const char *job)
{
	struct err e = ERR_INIT;
	if (engine_cancel(n->app->engine, db, job, &e) < 0 && e.code != ERR_CONFLICT)
		log_warning("cancelling job %s: %s", job, e.text);
}

static bool others_wait(const struct notify *n, const char *job)
{
	for (const struct waiter *w = n->waiters; w; w = w->next)
		if (strcmp(w->job, job) == 0 && !mcp_call_cancelled(w->call))
			return true;
	return false;
}

/* The transports end after notify_hurry, so that their end is never taken for a client's wish. */
static bool hurrying(struct notify *n)
{
	lock_take(&n->lock);
	bool hurry = n->hurry || n->ending;
	lock_release(&n->lock);
	return hurry;
}

/* Cancels a job whose id no client knows when its client asked for that. Where a client can only close its stream (2026-07-28 over
 * HTTP), a lost connection looks the same, so others may attach within the grace period. The end of a session or stdio connection
 * cancels nothing. */
static void client_left(struct notify *n, struct db *db, const struct waiter *w)
{
	enum mcp_cancel why = mcp_call_cancelled(w->call);
	/* When the daemon ends, running jobs are interrupted and can be resumed. */
	if (!w->fresh || why == MCP_CANCEL_ENDED || hurrying(n) || others_wait(n, w->job))
		return;
	if (why == MCP_CANCEL_ASKED) {
		cancel_job(n, db, w->job);
		return;
	}
	struct orphan *o = MEM_NEW(struct orphan);
	o->job = mem_str(w->job);
	o->deadline = clock_now() + GRACE_NS;
	o->next = n->orphans;
	n->orphans = o;
}

/* Sends a waiter its progress or answer; true after the answer. */
static bool attend(struct notify *n, struct db *db, struct waiter *w, bool hurry)
{
	struct err e = ERR_INIT;
	struct job job;
	if (mcp_call_cancelled(w->call)) {
		client_left(n, db, w);
		mcp_call_was_pending(mcp_call_fail(w->call, -32603, "cancelled"));
		return true;
	}
	if (job_get(db, w->job, &job, &e) < 0) {
		mcp_call_was_pending(mcp_call_refuse(w->call, "%s", e.text));
		return true;
	}
	if (w->seen < 0)
		w->seen = told_of(n, &job);
	send_progress(db, w);
	char *lost = job_state_ended(job.state) ? NULL : engine_lost(n->app->engine, w->job);
	if (lost) {
		free((char *)job.error_text);
		job.error_text = lost;
		job.state = JOB_FAILED;
	}
	bool done = hurry || job_state_ended(job.state) || job.state == JOB_INTERRUPTED || clock_now() >= w->deadline;
	if (done) {
		set_told(n, w->job, job_state_ended(job.state), w->seen);
		mcp_call_was_pending(w->answer(n->app, db, w->call, &job));
	}
	job_fini(&job);
	return done;
}

static void attend_all(struct notify *n, struct db *db, bool hurry)
{
	for (struct waiter **link = &n->waiters; *link;) {
		struct waiter *w = *link;
		if (attend(n, db, w, hurry)) {
			*link = w->next;
			waiter_free(w);
		} else {
			link = &w->next;
		}
	}
	for (struct orphan **link = &n->orphans; *link;) {
		struct orphan *o = *link;
		bool attached = others_wait(n, o->job);
		if (attached || clock_now() >= o->deadline) {
			if (!attached)
				cancel_job(n, db, o->job);
			*link = o->next;
			free(o->job);
			free(o);
		} else {
			link = &o->next;
		}
	}
}

/* --- subscriptions ------------------------------------------------------------------------------------------------------------ */

static const char JOB[] = "peak://job/", CHECKPOINT[] = "peak://checkpoint/";

static void watched_free(struct watched *one)
{
	free(one->task);
	free(one->uri);
	free(one->job);
	free(one);
}

/* Drops what nobody watches any more; all: everything. */
static void drop_watched(struct notify *n, bool all)
{
	for (struct watched **link = &n->watched; *link;) {
		struct watched *one = *link;
		if (one->still && !all) {
			link = &one->next;
		} else {
			*link = one->next;
			watched_free(one);
		}
	}
}

static bool same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void note_watched(void *arg, const char *task, const char *uri)
{
	struct notify *n = arg;
	for (struct watched *one = n->watched; one; one = one->next) {
		if (same(one->task, task) && same(one->uri, uri)) {
			one->still = true;
			return;
		}
	}
	bool of_job = uri && strncmp(uri, JOB, sizeof JOB - 1) == 0;
	if (uri && !of_job && strncmp(uri, CHECKPOINT, sizeof CHECKPOINT - 1) != 0)
		return; /* transformations and documents do not change */
	struct watched *one = MEM_NEW(struct watched);
	one->task = mem_str(task);
	one->uri = mem_str(uri);
	if (task)
		one->job = mem_str(task);
	else if (of_job)
		one->job = mem_strn(uri + sizeof JOB - 1, strcspn(uri + sizeof JOB - 1, "/"));
	one->seen = -1;
	one->still = true;
	one->next = n->watched;
	n->watched = one;
}

/* The number that grows with news; -1 without such a job. */
static int64_t number_of(struct db *db, const struct watched *one)
{
	struct err e = ERR_INIT;
	struct job job;
	int64_t number = -1;
	if (one->job == NULL) {
		if (job_ended(db, &number, &e) < 0)
			log_warning("counting jobs: %s", e.text);
	} else if (job_get(db, one->job, &job, &e) == 0) {
		number = job.last_event;
		job_fini(&job);
	}
	return number;
}

/* Compares everything watched with the database and tells subscribers what changed. After a new subscription it tells everything,
 * since what the subscriber waits for may have happened already. */
static void tell_subscribers(struct notify *n, struct db *db, bool newcomer)
{
	for (struct watched *one = n->watched; one; one = one->next)
		one->still = false;
	mcp_server_watched(n->server, note_watched, n);
	drop_watched(n, false);
	for (struct watched *one = n->watched; one; one = one->next) {
		int64_t number = number_of(db, one);
		if (number == one->seen && !newcomer)
			continue;
		one->seen = number;
		if (one->task)
			mcp_server_task_updated(n->server, one->task);
		else
			mcp_server_resource_updated(n->server, one->uri);
	}
}

/* --- the thread --------------------------------------------------------------------------------------------------------------- */

static int64_t next_deadline(const struct notify *n)
{
	int64_t at = CLOCK_NEVER;
	for (const struct waiter *w = n->waiters; w; w = w->next)
		at = w->deadline < at ? w->deadline : at;
	for (const struct orphan *o = n->orphans; o; o = o->next)
		at = o->deadline < at ? o->deadline : at;
	return at;
}

/* Takes new waiters and flags; false when the thread has to end. */
static bool take_arrived(struct notify *n, bool *ret_hurry, bool *ret_newcomer)
{
	lock_take(&n->lock);
	while (n->arrived) {
		struct waiter *w = n->arrived;
		n->arrived = w->next;
		w->next = n->waiters;
		n->waiters = w;
	}
	bool ending = n->ending;
	*ret_hurry = n->hurry || ending;
	n->server = n->listened;
	*ret_newcomer = n->newcomer;
	n->newcomer = false;
	lock_release(&n->lock);
	return !ending;
}

/* Without a database the jobs' states are unknown, and every waiter is told so. */
static void refuse_all(struct notify *n, const struct err *why)
{
	while (n->waiters) {
		struct waiter *w = n->waiters;
		n->waiters = w->next;
		mcp_call_was_pending(mcp_call_refuse(w->call,
						     "job %s continues, but its state cannot be read: %s; ask for it again with "
						     "the tool job",
						     w->job, why->text));
		waiter_free(w);
	}
}

static void *notify_thread(void *arg)
{
	struct notify *n = arg;
	struct db *db = NULL;
	struct err e = ERR_INIT;
	bool hurry, newcomer, lost = false;
	while (take_arrived(n, &hurry, &newcomer)) {
		int64_t next;
		if (db == NULL && store_take(n->app->work.store, &db, &e) < 0) {
			if (!lost)
				log_error("notifications: %s; trying again every second", e.text);
			refuse_all(n, &e);
			next = clock_now() + CLOCK_S;
		} else {
			attend_all(n, db, hurry);
			if (n->server)
				tell_subscribers(n, db, newcomer);
			next = next_deadline(n);
		}
		lost = db == NULL;
		struct pollfd fds[] = { { .fd = n->wake_fd, .events = POLLIN }, { .fd = n->event_fd, .events = POLLIN } };
		poll(fds, MEM_COUNT(fds), clock_poll_ms(next));
		if (fds[0].revents)
			reset(n->wake_fd);
		if (fds[1].revents)
			reset(n->event_fd);
	}
	if (db)
		attend_all(n, db, true);
	else
		refuse_all(n, &e);
	store_give(db);
	return NULL;
}

int notify_new(struct app *app, struct notify **ret_notify, struct err *e)
{
	struct notify *n = MEM_NEW(struct notify);
	n->app = app;
	lock_init(&n->lock, LOCK_LEAF);
	n->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	n->event_fd = event_watch(app->work.store, e);
	int rc = n->event_fd < 0 ? n->event_fd : n->wake_fd < 0 ? err_sys(e, errno, "eventfd") : 0;
	if (rc == 0 && pthread_create(&n->thread, NULL, notify_thread, n) != 0)
		rc = err_set(e, ERR_INTERNAL, "cannot start the notification thread");
	if (rc < 0) {
		if (n->event_fd >= 0)
			event_unwatch(app->work.store, n->event_fd);
		if (n->wake_fd >= 0)
			close(n->wake_fd);
		free(n);
		return rc;
	}
	*ret_notify = n;
	return 0;
}

void notify_hurry(struct notify *n)
{
	if (n == NULL)
		return;
	lock_take(&n->lock);
	n->hurry = true;
	lock_release(&n->lock);
	wake(n);
}

void notify_free(struct notify *n)
{
	if (n == NULL)
		return;
	lock_take(&n->lock);
	n->ending = true;
	lock_release(&n->lock);
	wake(n);
	pthread_join(n->thread, NULL);
	while (n->waiters) {
		struct waiter *w = n->waiters;
		n->waiters = w->next;
		waiter_free(w);
	}
	while (n->orphans) {
		struct orphan *o = n->orphans;
		n->orphans = o->next;
		free(o->job);
		free(o);
	}
	while (n->told)
		set_told(n, n->told->job, true, 0);
	event_unwatch(n->app->work.store, n->event_fd);
	close(n->wake_fd);
	drop_watched(n, true);
	lock_fini(&n->lock);
	free(n);
}

void notify_listened(struct notify *n, struct mcp_server *server)
{
	if (n == NULL)
		return;
	lock_take(&n->lock);
	n->listened = server;
	n->newcomer = true;
	lock_release(&n->lock);
	wake(n);
}

const struct mcp_done *notify_wait(struct notify *n, struct mcp_call *call, const char *job, int64_t after, int64_t deadline,
				   int fresh, notify_answer *answer)
{
	struct waiter *w = MEM_NEW(struct waiter);
	w->call = mcp_call_ref(call);
	w->job = mem_str(job);
	w->seen = after;
	w->deadline = deadline;
	w->fresh = fresh;
	w->answer = answer;
	mcp_call_on_cancel(call, woken_by_cancel, n);
	const struct mcp_done *done = mcp_call_pending(call);
	lock_take(&n->lock);
	w->next = n->arrived;
	n->arrived = w;
	lock_release(&n->lock);
	wake(n);
	return done;
}
