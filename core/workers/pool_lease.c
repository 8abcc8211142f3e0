/* pool: leases: who may use which worker, and for how long others wait; see pool.h. */
#include "core/workers/pool_inside.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define FLOCK_RETRY_NS (50 * CLOCK_MS)

enum { HOLDER_LOOKS = 10 /* who waits looks this often for who holds the device before he hears "another process" */ };

int pool_take_compile(struct pool *pool, struct cancel *cancel, struct pool_worker **ret_worker, struct err *e)
{
	struct pool_worker *found = NULL;
	int rc = 0;
	lock_take(&pool->lock);
	while (found == NULL && (rc = cancel_check(cancel, e)) == 0) {
		/* A warm one first: it has its libraries loaded. */
		for (unsigned i = 0; i < pool->width; i++) {
			struct pool_worker *w = &pool->compilers[i];
			if (!w->leased && (found == NULL || w->process.pid > 0))
				found = w;
		}
		if (found == NULL)
			lock_bell_wait(&pool->bell, &pool->lock, clock_now() + POOL_LOOK_NS);
	}
	if (found) {
		found->leased = true;
		found->cancel = cancel;
	}
	lock_release(&pool->lock);
	if (found)
		*ret_worker = found;
	return rc;
}

/* The lock must be held. */
static struct device *device_locked(struct pool *pool, const struct facts *facts)
{
	for (struct device *d = pool->devices; d; d = d->next)
		if (strcmp(d->facts.id, facts->id) == 0)
			return d;
	struct device *d = MEM_NEW(struct device);
	d->facts = *facts;
	d->lock_fd = -1;
	pool_worker_init(&d->candidate, pool, ROLE_DEVICE, d);
	pool_worker_init(&d->reference, pool, ROLE_REFERENCE, d);
	d->next = pool->devices;
	pool->devices = d;
	return d;
}

static void release_device_locked(struct device *d)
{
	d->leased = false;
	lock_bell_ring(&d->candidate.pool->bell);
}

static void leave_line_locked(struct device *d, const struct waiter *me)
{
	struct waiter **link = &d->waiters;
	while (*link != me)
		link = &(*link)->next;
	*link = me->next;
}

static void say_waiting(const struct pool_wish *wish, const struct device *d, const char *who)
{
	char *line = mem_fmt("waiting for %s: %s uses it", d->facts.id, who);
	if (wish->waiting)
		wish->waiting(wish->arg, line);
	free(line);
}

static bool is_free_locked(const struct device *d, const struct waiter *me)
{
	return !d->leased && d->waiters == me;
}

static int check_wanted(const struct pool_wish *wish, struct err *e)
{
	int rc = cancel_check(wish->cancel, e);
	return rc < 0 ? rc : cancel_check(wish->over, e);
}

/* Waits for this daemon's other leases on the device, in the order of asking. */
static int wait_turn(struct pool *pool, struct device *d, const struct pool_wish *wish, struct err *e)
{
	struct waiter me = { .next = NULL }, **last = &d->waiters;
	int rc;
	lock_take(&pool->lock);
	while (*last)
		last = &(*last)->next;
	*last = &me;
	if (!is_free_locked(d, &me)) {
		lock_release(&pool->lock);
		say_waiting(wish, d, "another job");
		lock_take(&pool->lock);
	}
	while ((rc = check_wanted(wish, e)) == 0 && !is_free_locked(d, &me))
		lock_bell_wait(&pool->bell, &pool->lock, clock_now() + POOL_LOOK_NS);
	leave_line_locked(d, &me);
	if (rc == 0) {
		d->leased = true;
		d->candidate.cancel = d->reference.cancel = wish->cancel;
	}
	lock_bell_ring(&pool->bell);
	lock_release(&pool->lock);
	return rc;
}

/* The lock file's text is the number of the process that has it, written and erased while it does: who was killed left his, and who has just
 * taken it may not have come to writing. False when it is not known. */
static bool read_holder(int fd, char who[64])
{
	char text[32] = "";
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	long pid = n > 0 ? strtol(text, NULL, 10) : 0;
	snprintf(who, 64, "process %ld", pid);
	return pid > 0 && pid <= INT_MAX && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

/* "": nobody has it any more. */
static void write_holder(int fd, const char *text)
{
	size_t n = strlen(text);
	/* A word for people: nothing depends on it. */
	if (ftruncate(fd, 0) != 0 || pwrite(fd, text, n, 0) != (ssize_t)n)
		log_debug("the device lock has no holder's number");
}

static int open_lock(const struct device *d, const char *ending, struct err *e)
{
	const char *name = d->facts.uuid[0] ? d->facts.uuid : d->facts.id;
	char *path = mem_fmt("%s/peakd-device-%s.%s", d->candidate.pool->lock_folder, name, ending);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		fd = err_sys(e, errno, "cannot open the device lock %s", path);
	free(path);
	return fd;
}

/* Somebody who waits for another process's lock, and is to be told once whose. */
struct outside {
	const struct device *device;
	const struct pool_wish *wish;
	int fd;         /* of the device's lock */
	unsigned looks; /* in which the holder was not known */
	bool said;
};

static void say_holder(struct outside *o)
{
	char who[64];
	bool known = !o->said && read_holder(o->fd, who);
	if (o->said || (!known && ++o->looks < HOLDER_LOOKS))
		return;
	say_waiting(o->wish, o->device, known ? who : "another process");
	o->said = true;
}

static int wait_flock(int fd, struct outside *o, struct err *e)
{
	int rc = 0;
	while (rc == 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_sys(e, errno, "cannot lock a device");
		rc = check_wanted(o->wish, e);
		if (rc == 0) {
			say_holder(o);
			clock_sleep(FLOCK_RETRY_NS);
		}
	}
	return rc;
}

/* One process at a time on the whole machine: an flock per physical device. Whoever wants it takes the `next` lock first and
 * keeps it until the device is its own: a holder that gives the device back and asks again at once stands behind who waited.
 * Without it, who looks only every FLOCK_RETRY_NS would lose against such a holder again and again. */
static int lock_device(struct device *d, const struct pool_wish *wish, struct err *e)
{
	int fd, rc, next = open_lock(d, "next", e);
	if (next < 0)
		return next;
	fd = rc = open_lock(d, "lock", e);
	struct outside o = { .device = d, .wish = wish, .fd = fd };
	if (fd >= 0 && ((rc = wait_flock(next, &o, e)) < 0 || (rc = wait_flock(fd, &o, e)) < 0))
		close(fd);
	close(next);
	if (rc == 0) {
		char me[32];
		snprintf(me, sizeof me, "%ld\n", (long)getpid());
		write_holder(fd, me);
		d->lock_fd = fd;
	}
	return rc;
}

/* A worker behind another launcher than its lease asks for is none that it can use. */
static void set_launcher(struct pool_worker *w, const char *const *launcher)
{
	if (w->launcher != launcher)
		pool_worker_retire(w);
	w->launcher = launcher;
}

int pool_take_device(struct pool *pool, const struct facts *facts, const struct pool_wish *wish,
                     struct pool_worker **ret_worker, struct err *e)
{
	static const struct pool_wish nothing = { .cancel = NULL };
	if (wish == NULL)
		wish = &nothing;
	if (!facts->runs)
		return err_set(e, ERR_UNSUPPORTED, "%s can only be compiled for: nothing runs or is timed on it; name a device "
		               "of this machine (see `peakd devices`)", facts->id);
	lock_take(&pool->lock);
	struct device *d = device_locked(pool, facts);
	lock_release(&pool->lock);
	int rc = wait_turn(pool, d, wish, e);
	if (rc < 0)
		return rc;
	rc = lock_device(d, wish, e);
	if (rc == 0) {
		d->since = clock_now();
		d->leased_ns = wish->leased_ns;
		set_launcher(&d->candidate, wish->launcher);
		rc = pool_ensure_started(&d->candidate, e);
	}
	if (rc < 0) {
		pool_give(&d->candidate);
		return rc;
	}
	*ret_worker = &d->candidate;
	return 0;
}

struct pool_worker *pool_reference(struct pool_worker *worker)
{
	assert(worker->role == ROLE_DEVICE);
	return &worker->device->reference;
}

void pool_give(struct pool_worker *w)
{
	if (w == NULL)
		return;
	struct pool *pool = w->pool;
	if (w->launcher)
		set_launcher(w, NULL); /* it ends: a sanitizer writes its log then */
	if (w->role == ROLE_DEVICE && w->device->lock_fd >= 0)
		write_holder(w->device->lock_fd, "");
	lock_take(&pool->lock);
	w->cancel = NULL;
	if (w->role == ROLE_COMPILE) {
		w->leased = false;
		lock_bell_ring(&pool->bell);
	} else {
		assert(w->role == ROLE_DEVICE && w->device->leased);
		w->device->reference.cancel = NULL;
		if (w->device->lock_fd >= 0)
			close(w->device->lock_fd);
		w->device->lock_fd = -1;
		if (w->device->leased_ns)
			atomic_fetch_add(w->device->leased_ns, clock_now() - w->device->since);
		w->device->leased_ns = NULL;
		release_device_locked(w->device);
	}
	lock_release(&pool->lock);
}
