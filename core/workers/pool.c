/* pool: the workers' lives, calls and leases; see pool.h. One lock guards who holds what; it is never held while a
 * worker works. */
#include "core/workers/pool.h"

#include <assert.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/workers/device_lock.h"
#include "core/workers/process.h"
#include "core/workers/remote.h"

#define OPEN_NS (60 * CLOCK_S)   /* a first driver start on a cold machine */
#define LOOK_NS (200 * CLOCK_MS) /* how often a waiter looks whether it is cancelled */

enum role { ROLE_COMPILE, ROLE_DEVICE, ROLE_REFERENCE };

/* A place in the line for a device; on the stack of the thread that waits. */
struct waiter {
	struct waiter *next;
};

struct pool_worker {
	struct pool *pool;
	enum role role;
	struct process process;
	struct device *device; /* ROLE_DEVICE and ROLE_REFERENCE */
	struct cancel *cancel; /* of the lease's holder; NULL */
	bool leased;
	bool busy;               /* in a call now */
	atomic_bool interrupted; /* in the last call: its wire is shut, whatever that call was answered */
	int interrupt_fd;        /* a second descriptor of the wire, for pool_interrupt; -1 without process */
	int64_t since;           /* when its process was started */
	unsigned generation;
	const char *const *launcher; /* of the lease, behind the pool's; NULL: none */
};

/* One device that was ever leased: its lock and its two processes. */
struct device {
	struct facts facts;
	int lock_fd;             /* device_lock's while leased; -1 */
	struct remote *remote;   /* whose device it is; NULL: of this machine */
	struct remote_hold hold; /* of the remote, while leased */
	bool leased;
	int64_t since;              /* when the lease began */
	_Atomic int64_t *leased_ns; /* of the lease's holder; NULL */
	struct waiter *waiters;     /* leases are granted in the order of asking: first in line first */
	struct pool_worker candidate, reference;
	struct device *next;
};

struct pool {
	struct lock lock;      /* guards who holds what; never held while a worker works */
	struct lock_bell bell; /* anything changed */
	char *lock_space;      /* of device locks; NULL: the machine's */
	struct pool_worker *compilers;
	unsigned width;
	struct device *devices;
	struct pool_known *known; /* which devices there are */
	unsigned compiling;       /* compile calls under way */
	unsigned quiet;           /* timings of devices that share this CPU: under way or waiting to begin */
	struct starter *starter;
	struct remotes *remotes;     /* borrowed; NULL */
	unsigned long started, lost; /* processes since the start; lost: during a call */
};

/* --- lives ---------------------------------------------------------------------------------------------------------------- */

static unsigned count_cpus(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

static void worker_init(struct pool_worker *w, struct pool *pool, enum role role, struct device *device)
{
	*w = (struct pool_worker){ .pool = pool, .role = role, .device = device, .process = PROCESS_INIT, .interrupt_fd = -1 };
}

struct pool *pool_new(const struct pool_config *config)
{
	struct pool *p = MEM_NEW(struct pool);
	const char *space = config->lock_space ? config->lock_space : getenv("PEAKD_LOCK_SPACE");
	lock_init(&p->lock, LOCK_POOL);
	lock_bell_init(&p->bell);
	p->lock_space = mem_str(space);
	p->width = config->compile_workers ? config->compile_workers : count_cpus();
	p->compilers = MEM_NEW_N(struct pool_worker, p->width);
	for (unsigned i = 0; i < p->width; i++)
		worker_init(&p->compilers[i], p, ROLE_COMPILE, NULL);
	p->known = pool_known_new();
	p->starter = process_starter_new(config->binary, config->launcher);
	p->remotes = config->remotes;
	return p;
}

/* Takes the interrupt descriptor out of pool_interrupt's reach. */
static void drop_interrupt(struct pool_worker *w)
{
	lock_take(&w->pool->lock);
	if (w->interrupt_fd >= 0)
		close(w->interrupt_fd);
	w->interrupt_fd = -1;
	lock_release(&w->pool->lock);
}

/* Ends its process; harmless without one. */
static void worker_stop(struct pool_worker *w)
{
	drop_interrupt(w);
	process_end(&w->process);
}

void pool_free(struct pool *p)
{
	if (p == NULL)
		return;
	for (unsigned i = 0; i < p->width; i++) {
		assert(!p->compilers[i].leased);
		worker_stop(&p->compilers[i]);
	}
	while (p->devices) {
		struct device *d = p->devices;
		p->devices = d->next;
		assert(!d->leased);
		worker_stop(&d->candidate);
		worker_stop(&d->reference);
		remote_release(&d->hold);
		free(d);
	}
	process_starter_free(p->starter);
	free(p->compilers);
	pool_known_free(p->known);
	free(p->lock_space);
	lock_bell_fini(&p->bell);
	lock_fini(&p->lock);
	free(p);
}

unsigned pool_compile_width(const struct pool *pool)
{
	return pool->width;
}

void pool_figures(struct pool *pool, struct pool_figures *ret_figures,
		  void (*each)(void *arg, const char *device, bool leased, unsigned waiting), void *arg)
{
	lock_take(&pool->lock);
	*ret_figures = (struct pool_figures){ .started = pool->started, .lost = pool->lost };
	for (unsigned i = 0; i < pool->width; i++)
		ret_figures->alive += pool->compilers[i].interrupt_fd >= 0;
	for (const struct device *d = pool->devices; d; d = d->next) {
		unsigned waiting = 0;
		for (const struct waiter *w = d->waiters; w; w = w->next)
			waiting++;
		ret_figures->alive += (d->candidate.interrupt_fd >= 0) + (d->reference.interrupt_fd >= 0);
		if (each)
			each(arg, d->facts.id, d->leased, waiting);
	}
	lock_release(&pool->lock);
}

/* --- calls ---------------------------------------------------------------------------------------------------------------- */

/* One step with a look at the flag: the canceller sets the flag first and then looks for busy workers, so no call begins unseen
 * between the two. */
static int begin_call(struct pool_worker *w, struct err *e)
{
	lock_take(&w->pool->lock);
	int rc = cancel_check(w->cancel, e);
	w->busy = rc == 0;
	atomic_store(&w->interrupted, false);
	lock_release(&w->pool->lock);
	return rc;
}

/* False when the call was interrupted, even after its answer had come: such a worker hears nothing more. */
static bool end_call(struct pool_worker *w)
{
	lock_take(&w->pool->lock);
	w->busy = false;
	bool whole = !atomic_load(&w->interrupted);
	lock_release(&w->pool->lock);
	if (!whole)
		process_end(&w->process);
	return whole;
}

/* One call on a process that exists; the worker is gone when the process is. */
static int call(struct pool_worker *w, const struct pool_request *q, uint8_t **ret_body, size_t *ret_len, struct err *e)
{
	struct process_request request = { .type = q->type,
					   .body = q->body,
					   .tail = q->tail,
					   .deadline = clock_now() + q->timeout_ns,
					   .interrupted = &w->interrupted };
	int rc = begin_call(w, e);
	if (rc < 0)
		return rc;
	rc = process_call(&w->process, &request, ret_body, ret_len, e);
	if (!end_call(w) && rc == 0) {
		free(*ret_body);
		*ret_body = NULL;
		rc = -ERR_CANCELLED;
	}
	if (w->process.pid == 0) {
		worker_stop(w);
		lock_take(&w->pool->lock);
		w->pool->lost++;
		lock_release(&w->pool->lock);
	}
	if (rc == -ERR_TIMEOUT && w->device && w->device->remote && !remote_answers(&w->device->hold)) {
		rc = err_set(e, ERR_IO, "%s does not answer any more", remote_name(w->device->remote));
	} else if (rc == -ERR_TIMEOUT) {
		char *words = mem_str(strchr(e->text, ';') ? strchr(e->text, ';') : ""); /* what it said last */
		err_set(e, ERR_TIMEOUT, "it did not answer within %.3g s, while %s%s", (double)q->timeout_ns / 1e9,
			pool_doing(q->type), words);
		free(words);
	}
	return rc < 0 && cancel_asked(w->cancel) ? err_set(e, ERR_CANCELLED, "cancelled") : rc;
}

/* Waiting for a hello can be interrupted as a call can. */
static int greet(struct pool_worker *w, struct err *e)
{
	int rc = begin_call(w, e);
	if (rc < 0)
		return rc;
	rc = process_greet(&w->process, &w->interrupted, e);
	if (!end_call(w) && rc == 0)
		rc = -ERR_CANCELLED;
	return rc < 0 && cancel_asked(w->cancel) ? err_set(e, ERR_CANCELLED, "cancelled") : rc;
}

static int open_device(struct pool_worker *w, struct err *e)
{
	struct buf body = BUF_INIT;
	struct pool_request open = { .type = WIRE_OPEN, .body = &body, .timeout_ns = OPEN_NS };
	uint8_t *answer = NULL;
	size_t len = 0;
	struct facts found;
	char local[FACTS_TEXT];
	wire_name_encode(&(struct wire_name){ .id = remote_local(w->device->facts.id, local) }, &body);
	int rc = call(w, &open, &answer, &len, e);
	buf_fini(&body);
	struct wire_in in = { .at = answer, .end = answer + len };
	if (rc == 0 && w->device->remote && (rc = wire_facts_decode(&in, &found, e)) == 0)
		rc = pool_is_same_kind(&w->device->facts, &found, remote_allocates(w->device->remote), e);
	free(answer);
	return rc < 0 && e->code != ERR_CANCELLED ? err_wrap(e, "opening %s", w->device->facts.id) : rc;
}

static int hold_remote(struct device *d, const struct pool_wish *wish, struct err *e);

/* Beside the hold of its machine, which is renewed where it is gone. Its launcher may outlive it: srun waits while a job ends. */
static int start_remote(struct pool_worker *w, struct err *e)
{
	struct device *d = w->device;
	int rc = remote_answers(&d->hold) ? 0 : hold_remote(d, &(struct pool_wish){ .cancel = w->cancel }, e);
	if (rc < 0)
		return rc;
	char **words = remote_worker_words(d->remote, &d->hold, w->launcher);
	rc = process_start(&w->process, w->pool->starter, NULL, words, e);
	w->process.remote = true;
	w->process.hold = &d->hold;
	remote_words_free(words);
	return rc;
}

/* Starts the worker's process and opens its device, unless both are there. A worker that cannot be started is this machine's
 * trouble: no configuration has run in it, so none may be judged by it. */
static int ensure_started(struct pool_worker *w, struct err *e)
{
	if (w->process.pid > 0)
		return 0;
	worker_stop(w);
	int rc = w->device && w->device->remote ? start_remote(w, e)
						: process_start(&w->process, w->pool->starter, w->launcher, NULL, e);
	if (rc < 0)
		return rc;
	w->process.patient = w->launcher != NULL;
	w->since = clock_now();
	w->generation++;
	lock_take(&w->pool->lock);
	w->interrupt_fd = fcntl(w->process.wire, F_DUPFD_CLOEXEC, 3);
	w->pool->started++;
	lock_release(&w->pool->lock);
	rc = greet(w, e);
	if (rc == 0 && w->device)
		rc = open_device(w, e);
	if (rc == 0 && w->process.clock[0])
		log_warning("%s: %s", w->device->facts.id, w->process.clock);
	if (rc < 0)
		worker_stop(w);
	if (rc < 0 && rc != -ERR_CANCELLED && rc != -ERR_UNSUPPORTED)
		rc = err_set(e, ERR_IO, "%s", e->text);
	return rc;
}

/* --- quiet ---------------------------------------------------------------------------------------------------------------- */

/* Compiling waits while a device that shares the CPU is timed, or is about to be. */
static int compile_begin(struct pool *pool, const struct cancel *cancel, struct err *e)
{
	int rc;
	lock_take(&pool->lock);
	while ((rc = cancel_check(cancel, e)) == 0 && pool->quiet > 0)
		lock_bell_wait(&pool->bell, &pool->lock, clock_now() + LOOK_NS);
	if (rc == 0)
		pool->compiling++;
	lock_release(&pool->lock);
	return rc;
}

static bool shares_cpu(const struct pool_worker *w)
{
	return w->device && w->device->facts.shares_cpu && w->device->remote == NULL;
}

int pool_quiet_begin(struct pool_worker *worker, struct err *e)
{
	struct pool *pool = worker->pool;
	int rc;
	if (!shares_cpu(worker))
		return 0;
	lock_take(&pool->lock);
	pool->quiet++;
	while ((rc = cancel_check(worker->cancel, e)) == 0 && pool->compiling > 0)
		lock_bell_wait(&pool->bell, &pool->lock, clock_now() + LOOK_NS);
	if (rc < 0) {
		pool->quiet--;
		lock_bell_ring(&pool->bell);
	}
	lock_release(&pool->lock);
	return rc;
}

void pool_quiet_end(struct pool_worker *worker)
{
	struct pool *pool = worker->pool;
	if (!shares_cpu(worker))
		return;
	lock_take(&pool->lock);
	pool->quiet--;
	lock_bell_ring(&pool->bell);
	lock_release(&pool->lock);
}

int pool_request(struct pool_worker *w, const struct pool_request *request, uint8_t **ret_body, size_t *ret_len, struct err *e)
{
	bool compiles = request->type == WIRE_COMPILE;
	int rc = compiles ? compile_begin(w->pool, w->cancel, e) : cancel_check(w->cancel, e);
	if (rc < 0)
		return rc;
	/* A job that is cancelled takes all its workers: nothing new begins in one from before a loss. */
	if (request->type == WIRE_PREPARE && w->device && w->since < w->device->hold.lost)
		worker_stop(w);
	rc = ensure_started(w, e);
	if (rc == 0)
		rc = call(w, request, ret_body, ret_len, e);
	if (compiles) {
		lock_take(&w->pool->lock);
		w->pool->compiling--;
		lock_bell_ring(&w->pool->bell);
		lock_release(&w->pool->lock);
	}
	return rc;
}

const struct span *pool_span(const struct pool_worker *worker)
{
	return cancel_span(worker->cancel);
}

bool pool_is_alive(const struct pool_worker *worker)
{
	return worker->process.pid > 0;
}

unsigned pool_generation(const struct pool_worker *worker)
{
	return worker->generation;
}

static void interrupt_locked(struct pool_worker *w, const struct cancel *cancel)
{
	if (w->busy && w->cancel == cancel && w->interrupt_fd >= 0) {
		shutdown(w->interrupt_fd, SHUT_RDWR);
		atomic_store(&w->interrupted, true);
	}
}

void pool_interrupt(struct pool *pool, const struct cancel *cancel)
{
	lock_take(&pool->lock);
	for (unsigned i = 0; i < pool->width; i++)
		interrupt_locked(&pool->compilers[i], cancel);
	for (struct device *d = pool->devices; d; d = d->next) {
		interrupt_locked(&d->candidate, cancel);
		interrupt_locked(&d->reference, cancel);
	}
	lock_bell_ring(&pool->bell);
	lock_release(&pool->lock);
}

/* --- leases --------------------------------------------------------------------------------------------------------------- */

int pool_take_compile(struct pool *pool, struct cancel *cancel, struct pool_worker **ret_worker, struct err *e)
{
	struct pool_worker *found = NULL;
	int rc = 0;
	lock_take(&pool->lock);
	while (found == NULL && (rc = cancel_check(cancel, e)) == 0) {
		/* A warm worker first: it has its libraries loaded. */
		for (unsigned i = 0; i < pool->width; i++) {
			struct pool_worker *w = &pool->compilers[i];
			if (!w->leased && (found == NULL || w->process.pid > 0))
				found = w;
		}
		if (found == NULL)
			lock_bell_wait(&pool->bell, &pool->lock, clock_now() + LOOK_NS);
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

/* The lock must be held. Who leases a device reads what it is without the lock, so that is set once. */
static struct device *device_locked(struct pool *pool, const struct facts *facts, struct remote *remote)
{
	for (struct device *d = pool->devices; d; d = d->next)
		if (strcmp(d->facts.id, facts->id) == 0)
			return d;
	struct device *d = MEM_NEW(struct device);
	d->facts = *facts;
	d->remote = remote;
	d->lock_fd = -1;
	d->hold.process = (struct process)PROCESS_INIT;
	worker_init(&d->candidate, pool, ROLE_DEVICE, d);
	worker_init(&d->reference, pool, ROLE_REFERENCE, d);
	d->next = pool->devices;
	pool->devices = d;
	return d;
}

static void say_waiting(const struct pool_wish *wish, const struct device *d, const char *who, const char *does)
{
	char *line = mem_fmt("waiting for %s: %s%s", d->facts.id, who, does);
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
		say_waiting(wish, d, "another job", " uses it");
		lock_take(&pool->lock);
	}
	while ((rc = check_wanted(wish, e)) == 0 && !is_free_locked(d, &me))
		lock_bell_wait(&pool->bell, &pool->lock, clock_now() + LOOK_NS);
	struct waiter **link = &d->waiters;
	while (*link != &me)
		link = &(*link)->next;
	*link = me.next;
	if (rc == 0) {
		d->leased = true;
		d->candidate.cancel = d->reference.cancel = wish->cancel;
	}
	lock_bell_ring(&pool->bell);
	lock_release(&pool->lock);
	return rc;
}

/* As device_lock.h asks. */
struct outside {
	const struct device *device;
	const struct pool_wish *wish;
};

static int check_outside(void *arg, struct err *e)
{
	return check_wanted(((struct outside *)arg)->wish, e);
}

static void say_outside(void *arg, const char *who)
{
	struct outside *o = arg;
	say_waiting(o->wish, o->device, who, " uses it");
}

static void say_remote(void *arg, const char *said)
{
	const struct outside *o = arg;
	say_waiting(o->wish, o->device, said, "");
}

/* The lock of the device is taken where the device is. A batch system lends devices out itself, and which one is known only then.
 * A network or a server that is away for seconds is no reason to give up. */
static int hold_remote(struct device *d, const struct pool_wish *wish, struct err *e)
{
	static const int pauses[] = { 1, 3, 6 };
	struct outside outside = { .device = d, .wish = wish };
	struct remote_wait wait = { .check = check_outside, .waiting = say_remote, .arg = &outside, .deadline = CLOCK_NEVER };
	char name[DEVICE_LOCK_NAME] = "";
	struct facts there = d->facts;
	there.uuid[strcspn(there.uuid, "@")] = '\0'; /* as that machine writes it */
	int rc = remote_allocates(d->remote) ? 0 : device_lock_name(&there, d->candidate.pool->lock_space, name, e);
	for (size_t i = 0; rc == 0; i++) {
		remote_release(&d->hold);
		rc = remote_hold(&d->hold, d->remote, d->candidate.pool->starter, name, &wait, e);
		if (rc != -ERR_IO || i == MEM_COUNT(pauses))
			break;
		log_warning("%s; trying again in %d s", e->text, pauses[i]);
		int64_t until = clock_now() + pauses[i] * CLOCK_S;
		while ((rc = check_wanted(wish, e)) == 0 && clock_now() < until)
			clock_sleep(LOOK_NS);
	}
	return rc;
}

/* Between the leases of a job an allocation rests: another one would stand in the batch system's queue again. */
static int take_remote(struct device *d, const struct pool_wish *wish, struct err *e)
{
	if (remote_allocates(d->remote)) {
		if (remote_answers(&d->hold))
			return 0;
		worker_stop(&d->candidate);
		worker_stop(&d->reference);
	}
	return hold_remote(d, wish, e);
}

static int lock_device(struct device *d, const struct pool_wish *wish, struct err *e)
{
	struct outside outside = { .device = d, .wish = wish };
	if (d->remote)
		return take_remote(d, wish, e);
	struct device_lock_waiter waiter = { .check = check_outside, .waiting = say_outside, .arg = &outside };
	char name[DEVICE_LOCK_NAME];
	int rc = device_lock_name(&d->facts, d->candidate.pool->lock_space, name, e);
	return rc < 0 ? rc : device_lock_take(name, &waiter, &d->lock_fd, e);
}

/* A lease cannot use a worker behind another launcher than its own. The old one may end by itself: a sanitizer writes its log then.
 */
static void set_launcher(struct pool_worker *w, const char *const *launcher)
{
	if (w->launcher != launcher) {
		drop_interrupt(w);
		process_retire(&w->process);
	}
	w->launcher = launcher;
}

int pool_take_device(struct pool *pool, const struct facts *facts, const struct pool_wish *wish, struct pool_worker **ret_worker,
		     struct err *e)
{
	static const struct pool_wish nothing = { .cancel = NULL };
	if (wish == NULL)
		wish = &nothing;
	if (!facts->runs)
		return err_set(e, ERR_UNSUPPORTED,
			       "%s can only be compiled for: nothing runs or is timed on it; name a device of this machine (see "
			       "`peakd devices`)",
			       facts->id);
	struct remote *remote;
	int rc = remotes_find(pool->remotes, facts->id, &remote, e);
	if (rc < 0)
		return rc;
	lock_take(&pool->lock);
	struct device *d = device_locked(pool, facts, remote);
	lock_release(&pool->lock);
	rc = wait_turn(pool, d, wish, e);
	if (rc < 0)
		return rc;
	rc = lock_device(d, wish, e);
	if (rc == 0) {
		d->since = clock_now();
		d->leased_ns = wish->leased_ns;
		set_launcher(&d->candidate, wish->launcher);
		rc = ensure_started(&d->candidate, e);
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

/* On a machine that is there anyway, workers stay warm as they do here, without the lock. */
static void give_remote(struct device *d)
{
	if (remote_allocates(d->remote))
		remote_rest(&d->hold);
	else
		remote_release(&d->hold);
}

void pool_give(struct pool_worker *w)
{
	if (w == NULL)
		return;
	struct pool *pool = w->pool;
	if (w->launcher)
		set_launcher(w, NULL);
	if (w->role == ROLE_DEVICE && w->device->remote)
		give_remote(w->device);
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
		struct device *d = w->device;
		d->leased = false;
		lock_bell_ring(&d->candidate.pool->bell);
	}
	lock_release(&pool->lock);
}

/* --- for pool_devices.c ----------------------------------------------------------------------------------------------------- */

struct pool_known *pool_known(const struct pool *pool)
{
	return pool->known;
}

struct remotes *pool_remotes(const struct pool *pool)
{
	return pool->remotes;
}

struct starter *pool_starter(const struct pool *pool)
{
	return pool->starter;
}

const char *pool_lacks(const struct pool_worker *worker)
{
	return worker->process.pid > 0 ? worker->process.lacks : "";
}

const char *pool_clock(const struct pool_worker *worker)
{
	return worker->process.clock;
}

pid_t pool_worker_pid(const struct pool_worker *worker)
{
	return worker->process.pid;
}
