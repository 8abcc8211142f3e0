/* pool: the workers' lives and their calls; see pool.h. One lock guards who holds what; it is never held while a worker works. */
#include "core/workers/pool_inside.h"

#include <assert.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"

#define OPEN_NS (60 * CLOCK_S) /* a first driver start on a cold machine */

static unsigned cpu_count(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

void pool_worker_init(struct pool_worker *w, struct pool *pool, enum role role, struct device *device)
{
	*w = (struct pool_worker){ .pool = pool, .role = role, .device = device, .process = PROCESS_INIT, .interrupt_fd = -1 };
}

static char *default_lock_folder(void)
{
	const char *tmp = getenv("TMPDIR");
	return mem_str(tmp && *tmp ? tmp : "/tmp");
}

struct pool *pool_new(const struct pool_config *config)
{
	struct pool *p = MEM_NEW(struct pool);
	lock_init(&p->lock, LOCK_POOL);
	lock_bell_init(&p->bell);
	p->lock_folder = config->lock_folder ? mem_str(config->lock_folder) : default_lock_folder();
	p->width = config->compile_workers ? config->compile_workers : cpu_count();
	p->compilers = MEM_NEW_N(struct pool_worker, p->width);
	for (unsigned i = 0; i < p->width; i++)
		pool_worker_init(&p->compilers[i], p, ROLE_COMPILE, NULL);
	p->starter = starter_new(config->binary, config->launcher);
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

void pool_worker_stop(struct pool_worker *w)
{
	drop_interrupt(w);
	process_end(&w->process);
}

void pool_worker_retire(struct pool_worker *w)
{
	drop_interrupt(w);
	process_retire(&w->process, clock_now() + PROCESS_RETIRE_NS);
}

void pool_free(struct pool *p)
{
	if (p == NULL)
		return;
	for (unsigned i = 0; i < p->width; i++) {
		assert(!p->compilers[i].leased);
		pool_worker_stop(&p->compilers[i]);
	}
	while (p->devices) {
		struct device *d = p->devices;
		p->devices = d->next;
		assert(!d->leased);
		pool_worker_stop(&d->candidate);
		pool_worker_stop(&d->reference);
		free(d);
	}
	starter_free(p->starter);
	free(p->compilers);
	free(p->known);
	free(p->known_notes);
	free(p->lock_folder);
	lock_bell_fini(&p->bell);
	lock_fini(&p->lock);
	free(p);
}

unsigned pool_compile_width(const struct pool *pool)
{
	return pool->width;
}

/* --- calls ---------------------------------------------------------------------------------------------------------------- */

/* In one step with a look at the flag: whoever cancels sets the flag first and then looks for busy workers, so that no call
 * begins unseen between the two. */
static int begin_call(struct pool_worker *w, struct err *e)
{
	lock_take(&w->pool->lock);
	int rc = cancel_check(w->cancel, e);
	w->busy = rc == 0;
	w->interrupted = false;
	lock_release(&w->pool->lock);
	return rc;
}

/* False when the call was interrupted, be it as late as when its answer was there: such a worker hears nothing more. */
static bool end_call(struct pool_worker *w)
{
	lock_take(&w->pool->lock);
	w->busy = false;
	bool whole = !w->interrupted;
	lock_release(&w->pool->lock);
	if (!whole)
		process_end(&w->process);
	return whole;
}

/* One call on a process that is there; the worker is gone when the process is. */
static int call(struct pool_worker *w, enum wire_type type, const struct buf *body, const struct wire_tail *tail, int64_t timeout_ns,
                uint8_t **ret_body, size_t *ret_len, struct err *e)
{
	int rc = begin_call(w, e);
	if (rc < 0)
		return rc;
	rc = process_call(&w->process, type, body, tail, clock_now() + timeout_ns, ret_body, ret_len, e);
	if (!end_call(w) && rc == 0) {
		free(*ret_body);
		*ret_body = NULL;
		rc = -ERR_CANCELLED;
	}
	if (w->process.pid == 0)
		pool_worker_stop(w);
	return rc < 0 && cancel_asked(w->cancel) ? err_set(e, ERR_CANCELLED, "cancelled") : rc;
}

/* As a call that was made by starting it: it can be interrupted. */
static int greet(struct pool_worker *w, struct err *e)
{
	int rc = begin_call(w, e);
	if (rc < 0)
		return rc;
	rc = process_greet(&w->process, e);
	if (!end_call(w) && rc == 0)
		rc = -ERR_CANCELLED;
	return rc < 0 && cancel_asked(w->cancel) ? err_set(e, ERR_CANCELLED, "cancelled") : rc;
}

static int open_device(struct pool_worker *w, struct err *e)
{
	struct buf body = BUF_INIT;
	uint8_t *answer = NULL;
	size_t len = 0;
	wire_put_text(&body, w->device->facts.id);
	int rc = call(w, WIRE_OPEN, &body, NULL, OPEN_NS, &answer, &len, e);
	buf_fini(&body);
	free(answer);
	return rc < 0 && e->code != ERR_CANCELLED ? err_wrap(e, "opening %s", w->device->facts.id) : rc;
}

int pool_ensure_started(struct pool_worker *w, struct err *e)
{
	if (w->process.pid > 0)
		return 0;
	pool_worker_stop(w);
	int rc = starter_start(w->pool->starter, w->launcher, &w->process, e);
	if (rc < 0)
		return rc;
	w->process.patient = w->launcher != NULL;
	w->generation++;
	int second = fcntl(w->process.wire, F_DUPFD_CLOEXEC, 3);
	lock_take(&w->pool->lock);
	w->interrupt_fd = second;
	lock_release(&w->pool->lock);
	rc = greet(w, e);
	if (rc == 0 && w->device)
		rc = open_device(w, e);
	if (rc < 0)
		pool_worker_stop(w);
	return rc;
}

/* Compiling waits while a device that shares the CPU is timed, or is about to be. */
static int compile_begin(struct pool *pool, const struct cancel *cancel, struct err *e)
{
	int rc;
	lock_take(&pool->lock);
	while ((rc = cancel_check(cancel, e)) == 0 && pool->quiet > 0)
		lock_bell_wait(&pool->bell, &pool->lock, clock_now() + POOL_LOOK_NS);
	if (rc == 0)
		pool->compiling++;
	lock_release(&pool->lock);
	return rc;
}

static void compile_end(struct pool *pool)
{
	lock_take(&pool->lock);
	pool->compiling--;
	lock_bell_ring(&pool->bell);
	lock_release(&pool->lock);
}

static bool shares_cpu(const struct pool_worker *w)
{
	return w->device && w->device->facts.shares_cpu;
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
		lock_bell_wait(&pool->bell, &pool->lock, clock_now() + POOL_LOOK_NS);
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

int pool_call(struct pool_worker *w, enum wire_type type, const struct buf *body, int64_t timeout_ns, uint8_t **ret_body,
              size_t *ret_len, struct err *e)
{
	return pool_call_tail(w, type, body, NULL, timeout_ns, ret_body, ret_len, e);
}

int pool_call_tail(struct pool_worker *w, enum wire_type type, const struct buf *body, const struct wire_tail *tail, int64_t timeout_ns,
                   uint8_t **ret_body, size_t *ret_len, struct err *e)
{
	int rc = type == WIRE_COMPILE ? compile_begin(w->pool, w->cancel, e) : cancel_check(w->cancel, e);
	if (rc < 0)
		return rc;
	rc = pool_ensure_started(w, e);
	if (rc == 0)
		rc = call(w, type, body, tail, timeout_ns, ret_body, ret_len, e);
	if (type == WIRE_COMPILE)
		compile_end(w->pool);
	return rc;
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
		w->interrupted = true;
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
