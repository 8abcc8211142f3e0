/* pool: leases on worker processes; see pool.h. One lock guards who holds what; it is never held while a worker works. */
#include "core/eval/pool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "core/eval/process.h"

#define OPEN_NS (60 * CLOCK_S)     /* a first driver start on a cold machine */
#define DEVICES_NS (60 * CLOCK_S)
#define FLOCK_RETRY_NS (50 * CLOCK_MS)

enum role { ROLE_COMPILE, ROLE_DEVICE, ROLE_REFERENCE };

struct device;

/* Somebody in line for a device; lives on the stack of the thread that waits. */
struct waiter { struct waiter *next; };

struct pool_worker {
	struct pool *pool;
	enum role role;
	struct process process;
	struct device *device;         /* ROLE_DEVICE and ROLE_REFERENCE */
	struct cancel *cancel;         /* of the lease's holder; NULL */
	bool leased;
	bool busy;                     /* in a call now */
	int interrupt_fd;              /* a second descriptor of the wire, for pool_interrupt; -1 without process */
	unsigned generation;
};

/* One device that was ever leased: its lock and its two processes. */
struct device {
	struct facts facts;
	int lock_fd;                   /* flock while leased; -1 */
	bool leased;
	struct waiter *waiters;        /* leases are granted in the order of asking: first in line first */
	struct pool_worker candidate, reference;
	struct device *next;
};

/* A process to be started, handed to the thread that starts them all. */
struct start {
	struct process *process;
	struct err *e;
	int rc;
	bool done;
};

struct pool {
	struct lock lock;
	struct lock_bell bell;         /* anything changed */
	char *binary;
	char **launcher;
	char *lock_folder;
	struct pool_worker *compilers;
	unsigned width;
	struct device *devices;
	struct facts *known;           /* answer of pool_devices, kept */
	size_t known_count;
	char *known_notes;
	unsigned compiling;            /* compile calls under way */
	unsigned quiet;                /* timings of devices that share the CPU: under way or waiting to begin */
	/* Workers ask the kernel to be killed when the thread that started them dies, so that a hanging one does not outlive
	 * the daemon. Job threads come and go; this one stays. */
	pthread_t starter;
	struct start *start;           /* the one to be served; NULL */
	bool ending;
};

static const char *const backends[] = { "cuda", "hlsl" };

static unsigned cpu_count(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

static void worker_init(struct pool_worker *w, struct pool *pool, enum role role, struct device *device)
{
	*w = (struct pool_worker){ .pool = pool, .role = role, .device = device, .process = PROCESS_INIT, .interrupt_fd = -1 };
}

static char *own_binary(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	return n > 0 ? mem_strn(path, (size_t)n) : mem_str("peakd");
}

static char *default_lock_folder(void)
{
	const char *tmp = getenv("TMPDIR");
	return mem_str(tmp && *tmp ? tmp : "/tmp");
}

static void *starter_thread(void *arg)
{
	struct pool *p = arg;
	lock_take(&p->lock);
	while (!p->ending) {
		struct start *s = p->start;
		if (s == NULL || s->done) {
			lock_bell_wait(&p->bell, &p->lock, CLOCK_NEVER);
			continue;
		}
		lock_release(&p->lock);
		s->rc = process_start(s->process, p->binary, (const char *const *)p->launcher, s->e);
		lock_take(&p->lock);
		s->done = true;
		p->start = NULL;
		lock_bell_ring(&p->bell);
	}
	lock_release(&p->lock);
	return NULL;
}

/* process_start on the starter's thread. */
static int start_process(struct pool *p, struct process *process, struct err *e)
{
	struct start s = { .process = process, .e = e };
	lock_take(&p->lock);
	while (p->start)
		lock_bell_wait(&p->bell, &p->lock, CLOCK_NEVER);
	p->start = &s;
	lock_bell_ring(&p->bell);
	while (!s.done)
		lock_bell_wait(&p->bell, &p->lock, CLOCK_NEVER);
	lock_release(&p->lock);
	return s.rc;
}

struct pool *pool_new(const struct pool_config *config)
{
	struct pool *p = MEM_NEW(struct pool);
	lock_init(&p->lock, LOCK_POOL);
	lock_bell_init(&p->bell);
	p->binary = config->binary ? mem_str(config->binary) : own_binary();
	p->lock_folder = config->lock_folder ? mem_str(config->lock_folder) : default_lock_folder();
	size_t words = 0;
	while (config->launcher && config->launcher[words])
		words++;
	p->launcher = MEM_NEW_N(char *, words + 1);
	for (size_t i = 0; i < words; i++)
		p->launcher[i] = mem_str(config->launcher[i]);
	p->width = config->compile_workers ? config->compile_workers : cpu_count();
	p->compilers = MEM_NEW_N(struct pool_worker, p->width);
	for (unsigned i = 0; i < p->width; i++)
		worker_init(&p->compilers[i], p, ROLE_COMPILE, NULL);
	int rc = pthread_create(&p->starter, NULL, starter_thread, p);
	assert(rc == 0);
	(void)rc;
	return p;
}

/* Ends the process and takes its interrupt descriptor out of pool_interrupt's reach first. */
static void stop(struct pool_worker *w)
{
	lock_take(&w->pool->lock);
	if (w->interrupt_fd >= 0)
		close(w->interrupt_fd);
	w->interrupt_fd = -1;
	lock_release(&w->pool->lock);
	process_end(&w->process);
}

void pool_free(struct pool *p)
{
	if (p == NULL)
		return;
	for (unsigned i = 0; i < p->width; i++) {
		assert(!p->compilers[i].leased);
		stop(&p->compilers[i]);
	}
	while (p->devices) {
		struct device *d = p->devices;
		p->devices = d->next;
		assert(!d->leased);
		stop(&d->candidate);
		stop(&d->reference);
		free(d);
	}
	lock_take(&p->lock);
	p->ending = true;
	lock_bell_ring(&p->bell);
	lock_release(&p->lock);
	pthread_join(p->starter, NULL);
	for (char **word = p->launcher; *word; word++)
		free(*word);
	free(p->launcher);
	free(p->compilers);
	free(p->known);
	free(p->known_notes);
	free(p->binary);
	free(p->lock_folder);
	lock_bell_fini(&p->bell);
	lock_fini(&p->lock);
	free(p);
}

unsigned pool_compile_width(const struct pool *pool)
{
	return pool->width;
}

/* --- starting ----------------------------------------------------------------------------------------------------------- */

static int open_device(struct pool_worker *w, struct err *e)
{
	struct buf body = BUF_INIT;
	uint8_t *answer = NULL;
	size_t len = 0;
	wire_put_text(&body, w->device->facts.id);
	int rc = process_call(&w->process, WIRE_OPEN, &body, clock_now() + OPEN_NS, &answer, &len, e);
	buf_fini(&body);
	free(answer);
	return rc < 0 ? err_wrap(e, "opening %s", w->device->facts.id) : 0;
}

/* A process that is there, with its device open. */
static int ensure_started(struct pool_worker *w, struct err *e)
{
	if (w->process.pid > 0)
		return 0;
	stop(w);
	int rc = start_process(w->pool, &w->process, e);
	if (rc < 0)
		return rc;
	w->generation++;
	if (w->device && (rc = open_device(w, e)) < 0) {
		stop(w);
		return rc;
	}
	int second = fcntl(w->process.wire, F_DUPFD_CLOEXEC, 3);
	lock_take(&w->pool->lock);
	w->interrupt_fd = second;
	lock_release(&w->pool->lock);
	return 0;
}

/* --- leases ------------------------------------------------------------------------------------------------------------- */

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
			lock_bell_wait(&pool->bell, &pool->lock, clock_now() + 200 * CLOCK_MS);
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
	worker_init(&d->candidate, pool, ROLE_DEVICE, d);
	worker_init(&d->reference, pool, ROLE_REFERENCE, d);
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

/* Waits for this daemon's other leases on the device, in the order of asking. */
static int wait_turn(struct pool *pool, struct device *d, struct cancel *cancel, struct err *e)
{
	struct waiter me = { .next = NULL }, **last = &d->waiters;
	int rc;
	lock_take(&pool->lock);
	while (*last)
		last = &(*last)->next;
	*last = &me;
	while ((rc = cancel_check(cancel, e)) == 0 && (d->leased || d->waiters != &me))
		lock_bell_wait(&pool->bell, &pool->lock, clock_now() + 200 * CLOCK_MS);
	leave_line_locked(d, &me);
	if (rc == 0) {
		d->leased = true;
		d->candidate.cancel = d->reference.cancel = cancel;
	}
	lock_bell_ring(&pool->bell);
	lock_release(&pool->lock);
	return rc;
}

/* One process at a time on the whole machine: an flock per physical device. */
static int lock_device(struct pool *pool, struct device *d, struct cancel *cancel, struct err *e)
{
	char *path = mem_fmt("%s/peakd-device-%s.lock", pool->lock_folder, d->facts.uuid[0] ? d->facts.uuid : d->facts.id);
	int rc = 0, fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0) {
		rc = err_sys(e, errno, "cannot open the device lock %s", path);
		goto out;
	}
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR) {
			rc = err_sys(e, errno, "cannot lock %s", path);
			break;
		}
		if ((rc = cancel_check(cancel, e)) < 0)
			break;
		clock_sleep(FLOCK_RETRY_NS);
	}
out:
	if (rc < 0 && fd >= 0)
		close(fd);
	else
		d->lock_fd = fd;
	free(path);
	return rc;
}

int pool_take_device(struct pool *pool, const struct facts *facts, struct cancel *cancel,
                     struct pool_worker **ret_worker, struct err *e)
{
	if (!facts->runs)
		return err_set(e, ERR_UNSUPPORTED, "%s can only be compiled for: nothing runs or is timed on it; name a device "
		               "of this machine (see `peakd devices`)", facts->id);
	lock_take(&pool->lock);
	struct device *d = device_locked(pool, facts);
	lock_release(&pool->lock);
	int rc = wait_turn(pool, d, cancel, e);
	if (rc < 0)
		return rc;
	rc = lock_device(pool, d, cancel, e);
	if (rc == 0)
		rc = ensure_started(&d->candidate, e);
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
		release_device_locked(w->device);
	}
	lock_release(&pool->lock);
}

/* --- calls -------------------------------------------------------------------------------------------------------------- */

/* Compiling waits while a device that shares the CPU is timed, or is about to be. */
static void compile_begin(struct pool *pool)
{
	lock_take(&pool->lock);
	while (pool->quiet > 0)
		lock_bell_wait(&pool->bell, &pool->lock, CLOCK_NEVER);
	pool->compiling++;
	lock_release(&pool->lock);
}

static void compile_end(struct pool *pool)
{
	lock_take(&pool->lock);
	pool->compiling--;
	lock_bell_ring(&pool->bell);
	lock_release(&pool->lock);
}

void pool_quiet_begin(struct pool_worker *worker)
{
	struct pool *pool = worker->pool;
	if (!worker->device || !worker->device->facts.shares_cpu)
		return;
	lock_take(&pool->lock);
	pool->quiet++;
	while (pool->compiling > 0)
		lock_bell_wait(&pool->bell, &pool->lock, CLOCK_NEVER);
	lock_release(&pool->lock);
}

void pool_quiet_end(struct pool_worker *worker)
{
	struct pool *pool = worker->pool;
	if (!worker->device || !worker->device->facts.shares_cpu)
		return;
	lock_take(&pool->lock);
	pool->quiet--;
	lock_bell_ring(&pool->bell);
	lock_release(&pool->lock);
}

static void set_busy(struct pool_worker *w, bool busy)
{
	lock_take(&w->pool->lock);
	w->busy = busy;
	lock_release(&w->pool->lock);
}

int pool_call(struct pool_worker *w, enum wire_type type, const struct buf *body, int64_t timeout_ns, uint8_t **ret_body,
              size_t *ret_len, struct err *e)
{
	int rc = cancel_check(w->cancel, e);
	if (rc < 0)
		return rc;
	if (type == WIRE_COMPILE)
		compile_begin(w->pool);
	rc = ensure_started(w, e);
	if (rc == 0) {
		set_busy(w, true);
		rc = process_call(&w->process, type, body, clock_now() + timeout_ns, ret_body, ret_len, e);
		set_busy(w, false);
	}
	if (w->process.pid == 0)
		stop(w);
	if (type == WIRE_COMPILE)
		compile_end(w->pool);
	if (rc < 0 && cancel_asked(w->cancel))
		return err_set(e, ERR_CANCELLED, "cancelled");
	return rc;
}

unsigned pool_generation(const struct pool_worker *worker)
{
	return worker->generation;
}

static void interrupt_locked(struct pool_worker *w, const struct cancel *cancel)
{
	if (w->busy && w->cancel == cancel && w->interrupt_fd >= 0)
		shutdown(w->interrupt_fd, SHUT_RDWR);
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

/* --- devices ------------------------------------------------------------------------------------------------------------ */

/* Asks one worker for the devices of a backend ("hlsl") or for one named architecture ("cuda:sm_90a"). */
static int ask_devices(struct pool *pool, const char *what, struct facts **io_facts, size_t *io_count, struct err *e)
{
	struct pool_worker *w;
	struct buf body = BUF_INIT;
	uint8_t *answer = NULL;
	size_t len = 0;
	int rc = pool_take_compile(pool, NULL, &w, e);
	if (rc < 0)
		return rc;
	wire_put_text(&body, what);
	rc = pool_call(w, WIRE_DEVICES, &body, DEVICES_NS, &answer, &len, e);
	pool_give(w);
	buf_fini(&body);
	if (rc < 0)
		return rc;
	struct wire_in in = { .at = answer, .end = answer + len };
	size_t n = wire_get_count(&in, 8);
	for (size_t i = 0; i < n && !in.bad; i++) {
		struct facts f;
		wire_facts_decode(&in, &f);
		if (!in.bad)
			*MEM_PUSH(*io_facts, *io_count) = f;
	}
	rc = wire_end(&in, "devices", e);
	free(answer);
	return rc;
}

static void learn_devices(struct pool *pool)
{
	struct facts *facts = NULL;
	size_t count = 0;
	struct buf notes = BUF_INIT;
	for (size_t i = 0; i < MEM_COUNT(backends); i++) {
		struct err e = ERR_INIT;
		if (ask_devices(pool, backends[i], &facts, &count, &e) < 0)
			buf_addf(&notes, "%s: %s\n", backends[i], e.text);
	}
	lock_take(&pool->lock);
	if (pool->known_notes == NULL) {
		pool->known = facts;
		pool->known_count = count;
		pool->known_notes = buf_steal(&notes);
		facts = NULL;
	}
	lock_release(&pool->lock);
	free(facts);
	buf_fini(&notes);
}

int pool_devices(struct pool *pool, struct facts **ret_facts, size_t *ret_count, char **ret_notes, struct err *e)
{
	(void)e;
	lock_take(&pool->lock);
	bool known = pool->known_notes != NULL;
	lock_release(&pool->lock);
	if (!known)
		learn_devices(pool);
	lock_take(&pool->lock);
	*ret_facts = mem_copy(pool->known, pool->known_count * sizeof *pool->known);
	*ret_count = pool->known_count;
	*ret_notes = mem_str(pool->known_notes ? pool->known_notes : "");
	lock_release(&pool->lock);
	return 0;
}

void pool_forget_devices(struct pool *pool)
{
	lock_take(&pool->lock);
	free(pool->known);
	free(pool->known_notes);
	pool->known = NULL;
	pool->known_count = 0;
	pool->known_notes = NULL;
	lock_release(&pool->lock);
}

/* The note of one backend ("cuda: …"), a line; NULL when there is none. free() */
static char *note_of(const char *notes, const char *backend)
{
	size_t n = strlen(backend);
	for (const char *line = notes; *line;) {
		size_t len = strcspn(line, "\n");
		if (len > n && strncmp(line, backend, n) == 0 && line[n] == ':')
			return mem_strn(line, len);
		line += len + (line[len] == '\n');
	}
	return NULL;
}

static int unknown_device(const char *id, const struct facts *all, size_t count, const char *notes, struct err *e)
{
	struct buf text = BUF_INIT;
	buf_addf(&text, "no device '%s'; this machine has", id);
	for (size_t i = 0; i < count; i++)
		buf_addf(&text, "%s %s (%s)", i ? "," : "", all[i].id, all[i].name);
	if (count == 0)
		buf_adds(&text, " none");
	buf_adds(&text, "; for compiling alone, name an architecture as in cuda:sm_90a");
	char *backend = mem_strn(id, strcspn(id, ":")), *note = note_of(notes, backend);
	if (note)
		buf_addf(&text, "; not available: %s", note);
	int rc = err_set(e, ERR_NOT_FOUND, "%s", buf_text(&text));
	free(backend);
	free(note);
	buf_fini(&text);
	return rc;
}

/* "cuda:sm_90a": something after the colon that is not a number. */
static bool names_architecture(const char *id)
{
	const char *colon = strchr(id, ':');
	return colon && colon[1] && strspn(colon + 1, "0123456789") != strlen(colon + 1);
}

int pool_device(struct pool *pool, const char *id, struct facts *ret_facts, struct err *e)
{
	struct facts *all = NULL;
	size_t count = 0;
	char *notes = NULL;
	int rc;
	if (names_architecture(id)) {
		rc = ask_devices(pool, id, &all, &count, e);
		if (rc == 0 && count != 1)
			rc = err_set(e, ERR_NOT_FOUND, "no architecture '%s'", id);
		if (rc == 0)
			*ret_facts = all[0];
		free(all);
		return rc;
	}
	rc = pool_devices(pool, &all, &count, &notes, e);
	if (rc < 0)
		return rc;
	char *full = strchr(id, ':') ? mem_str(id) : mem_fmt("%s:0", id);
	rc = -1;
	for (size_t i = 0; i < count && rc < 0; i++)
		if (strcmp(all[i].id, full) == 0) {
			*ret_facts = all[i];
			rc = 0;
		}
	if (rc < 0)
		rc = unknown_device(id, all, count, notes, e);
	free(full);
	free(all);
	free(notes);
	return rc;
}
