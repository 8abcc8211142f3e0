/* core/workers/pool: whatever a worker does wrong is one failed call, and the next call finds a healthy worker. The worker is this
 * program; the launcher prefix sets FAULT, which says how its first process misbehaves. */
#include "core/workers/pool.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "core/sample.h"
#include "core/workers/device_lock.h"
#include "pace.h"

/* --- the worker's side ------------------------------------------------------------------------------------------------- */

static void hello(void)
{
	struct wire_hello h = { .version = WIRE_VERSION, .pid = (uint32_t)getpid() };
	struct buf body = BUF_INIT;
	struct err e = ERR_INIT;
	wire_hello_encode(&h, &body);
	wire_send(1, WIRE_HELLO, 0, body.data, body.len, CLOCK_NEVER, &e);
	buf_fini(&body);
}

/* A process in the worker's group that outlives it, and its number in a file beside the mark. */
static void leave_child(void)
{
	const char *mark = getenv("MARK");
	char *path = mem_fmt("%.*s/left", (int)(strrchr(mark, '/') - mark), mark);
	pid_t child = fork();
	if (child == 0) {
		close(0);
		close(1);
		sleep(1000);
		_exit(0);
	}
	FILE *f = fopen(path, "w");
	fprintf(f, "%ld\n", (long)child);
	fclose(f);
	abort();
}

static void misbehave(const char *fault)
{
	static char noise[1 << 16];
	struct wire_frame f;
	struct err e = ERR_INIT;
	if (strcmp(fault, "dumb") == 0)
		sleep(100);
	if (strcmp(fault, "mute") == 0)
		exit(3);
	hello();
	wire_receive(0, &f, CLOCK_NEVER, -1, NULL, &e);
	if (strcmp(fault, "crash") == 0)
		abort();
	if (strcmp(fault, "exit") == 0)
		_exit(7);
	if (strcmp(fault, "killed") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(fault, "parent") == 0)
		leave_child();
	if (strcmp(fault, "garbage") == 0) {
		memset(noise, 'x', sizeof noise);
		if (write(1, noise, sizeof noise) < 0)
			_exit(1);
		sleep(100);
	}
	if (strcmp(fault, "flood") == 0) {
		memset(noise, 'y', sizeof noise);
		for (int i = 0; i < 200; i++)
			if (write(2, noise, sizeof noise) < 0)
				_exit(1);
		wire_send(1, WIRE_PING, f.id, NULL, 0, CLOCK_NEVER, &e);
		sleep(100);
	}
	if (strcmp(fault, "forge") == 0) {
		wire_send(1, WIRE_PING, f.id + 1, NULL, 0, CLOCK_NEVER, &e);
		sleep(100);
	}
	sleep(100); /* hang */
}

/* Only the first process of a test misbehaves: it leaves a mark behind. */
static void maybe_misbehave(int argc, char **argv)
{
	const char *fault = getenv("FAULT"), *mark = getenv("MARK");
	if (argc > 1 && strcmp(argv[1], "worker") == 0 && fault && mark && access(mark, F_OK) != 0) {
		close(open(mark, O_CREAT | O_WRONLY, 0600));
		misbehave(fault);
	}
}

/* --- the pool's side ---------------------------------------------------------------------------------------------------- */

/* Neither gone nor a zombie that nobody reaps in a container without an init. */
static bool is_running(long pid)
{
	char path[64], state = 'Z';
	snprintf(path, sizeof path, "/proc/%ld/stat", pid);
	FILE *f = fopen(path, "r");
	if (f == NULL)
		return false;
	if (fscanf(f, "%*d %*s %c", &state) != 1)
		state = 'Z';
	fclose(f);
	return state != 'Z';
}

static int ping(struct pool_worker *w, int64_t timeout, struct err *e)
{
	uint8_t *body = NULL;
	size_t len;
	int rc = pool_call(w, WIRE_PING, NULL, timeout, &body, &len, e);
	free(body);
	return rc;
}

static struct pool *pool_with(const char *folder, const char *fault)
{
	static char words[2][128];
	static const char *launcher[] = { "env", words[0], words[1], NULL };
	snprintf(words[0], sizeof words[0], "FAULT=%s", fault);
	snprintf(words[1], sizeof words[1], "MARK=%.80s/%s", folder, fault);
	struct pool_config config = { .compile_workers = 1, .launcher = launcher };
	return pool_new(&config);
}

static void one_fault(const char *folder, const char *fault, enum err_code code, const char *words)
{
	struct pool *pool = pool_with(folder, fault);
	struct pool_worker *w;
	struct err e = ERR_INIT;
	struct pace pace = pace_begin();
	pool_take_compile(pool, NULL, &w, &e);
	int rc = ping(w, strcmp(fault, "hang") == 0 ? 500 * CLOCK_MS : 30 * CLOCK_S, &e);
	is_int(rc, -(int)code, "%s: the call fails as it should", fault);
	has_str(e.text, words, "%s: and says why", fault);
	ok(pace_within(&pace, 3 * CLOCK_S), "%s: in time (%s)", fault, pace_text(&pace));
	e = (struct err)ERR_INIT;
	pace = pace_begin();
	rc = ping(w, 30 * CLOCK_S, &e);
	bool soon = pace_within(&pace, CLOCK_S);
	ok(rc == 0, "%s: the next call finds a healthy worker %s", fault, e.text);
	ok(soon, "%s: within a second of the fault (%s)", fault, pace_text(&pace));
	pool_give(w);
	pool_free(pool);
}

/* Somebody else's SIGKILL says nothing about what the worker ran. */
static void killed_from_outside(const char *folder)
{
	struct pool *pool = pool_with(folder, "killed");
	struct pool_worker *w;
	struct err e = ERR_INIT;
	pool_take_compile(pool, NULL, &w, &e);
	is_int(ping(w, 30 * CLOCK_S, &e), -ERR_IO, "a worker that is killed from outside is this machine's trouble");
	has_str(e.text, "signal 9", "which names the signal");
	has_str(e.text, "from outside", "and says that it came from outside");
	is_int(ping(w, 30 * CLOCK_S, &e), 0, "the next call finds a healthy worker");
	pool_give(w);
	pool_free(pool);
}

/* What a dead worker leaves in its process group dies with it. */
static void left_behind(const char *folder)
{
	struct pool *pool = pool_with(folder, "parent");
	struct pool_worker *w;
	struct err e = ERR_INIT;
	char *path = mem_fmt("%s/left", folder);
	long pid = 0;
	pool_take_compile(pool, NULL, &w, &e);
	is_int(ping(w, 30 * CLOCK_S, &e), -ERR_CRASH, "a worker with a child of its own crashes");
	FILE *f = fopen(path, "r");
	ok(f && fscanf(f, "%ld", &pid) == 1, "the child was there");
	if (f)
		fclose(f);
	/* An orphan is reaped by init, a moment later. */
	for (int i = 0; i < 3000 && pid > 0 && is_running(pid); i++)
		clock_sleep(10 * CLOCK_MS);
	ok(pid > 0 && !is_running(pid), "the child is killed");
	free(path);
	pool_give(w);
	pool_free(pool);
}

struct canceller {
	struct pool *pool;
	struct cancel cancel;
};

static void *cancel_soon(void *arg)
{
	struct canceller *c = arg;
	clock_sleep(200 * CLOCK_MS);
	cancel_ask(&c->cancel);
	pool_interrupt(c->pool, &c->cancel);
	return NULL;
}

static void cancelling(const char *folder)
{
	struct canceller c = { .pool = pool_with(folder, "hang2") };
	struct pool_worker *w;
	struct err e = ERR_INIT;
	pthread_t thread;
	struct pace pace = pace_begin();
	pool_take_compile(c.pool, &c.cancel, &w, &e);
	pthread_create(&thread, NULL, cancel_soon, &c);
	int rc = ping(w, 60 * CLOCK_S, &e);
	is_int(rc, -ERR_CANCELLED, "a cancelled call ends as cancelled");
	ok(pace_within(&pace, CLOCK_S), "within a second (%s)", pace_text(&pace));
	pool_give(w);
	pthread_join(thread, NULL);
	pool_free(c.pool);
}

/* A worker that never says hello keeps nobody longer than he wants to wait. */
static void cancelling_start(const char *folder)
{
	struct canceller c = { .pool = pool_with(folder, "dumb") };
	struct pool_worker *w;
	struct err e = ERR_INIT;
	pthread_t thread;
	struct pace pace = pace_begin();
	pool_take_compile(c.pool, &c.cancel, &w, &e);
	pthread_create(&thread, NULL, cancel_soon, &c);
	is_int(ping(w, 60 * CLOCK_S, &e), -ERR_CANCELLED, "waiting for a worker's hello can be cancelled");
	ok(pace_within(&pace, CLOCK_S), "within a second (%s)", pace_text(&pace));
	pool_give(w);
	pthread_join(thread, NULL);
	pool_free(c.pool);
}

/* Interrupts when it is told to. */
struct late {
	struct pool *pool;
	struct cancel *cancel;
	atomic_int turn;
};

static void *interrupt_late(void *arg)
{
	struct late *l = arg;
	int done = 0;
	for (int turn; (turn = l->turn) >= 0;) {
		if (turn == done) {
			sched_yield();
			continue;
		}
		for (volatile int spin = turn * 7919 % 20000; spin > 0; spin--)
			;
		cancel_ask(l->cancel);
		pool_interrupt(l->pool, l->cancel);
		l->turn = done = turn + 1;
	}
	return NULL;
}

/* An interruption that comes when the call has just been answered leaves a worker that hears nothing more: it must not be left to
 * the next one. */
static void interrupted_late(void)
{
	enum { TURNS = 400 };
	struct pool_config config = { .compile_workers = 1 };
	struct late l = { .pool = pool_new(&config) };
	struct err e = ERR_INIT, first = ERR_INIT;
	int bad = 0;
	pthread_t thread;
	pthread_create(&thread, NULL, interrupt_late, &l);
	for (int i = 0; i < TURNS; i++) {
		struct cancel cancel = { .asked = false };
		struct pool_worker *w;
		pool_take_compile(l.pool, NULL, &w, &e);
		if (ping(w, 30 * CLOCK_S, &e) < 0) {
			first = first.code == ERR_NONE ? e : first;
			bad++;
		}
		pool_give(w);
		pool_take_compile(l.pool, &cancel, &w, &e);
		l.cancel = &cancel;
		l.turn = 2 * i + 1;
		while (ping(w, 30 * CLOCK_S, &e) == 0)
			;
		while (l.turn == 2 * i + 1)
			sched_yield();
		pool_give(w);
	}
	l.turn = -1;
	pthread_join(thread, NULL);
	is_int(bad, 0, "after %d interruptions at any moment every next call finds a healthy worker %s", TURNS,
	       first.text);
	pool_free(l.pool);
}

/* --- many at once --------------------------------------------------------------------------------------------------------- */

enum { SLOW = 4 };

struct slow {
	struct pool *pool;
	int rc;
};

static void *start_slow(void *arg)
{
	struct slow *s = arg;
	struct pool_worker *w;
	struct err e = ERR_INIT;
	s->rc = pool_take_compile(s->pool, NULL, &w, &e);
	if (s->rc == 0)
		s->rc = ping(w, 60 * CLOCK_S, &e);
	pool_give(w);
	return NULL;
}

/* Launchers take their time (a queue, a network): four of half a second start side by side. */
static void parallel_starts(void)
{
	static const char *const launcher[] = { "sh", "-c", "sleep 0.5; exec \"$0\" \"$@\"", NULL };
	struct pool_config config = { .compile_workers = SLOW, .launcher = launcher };
	struct pool *pool = pool_new(&config);
	struct slow s[SLOW];
	pthread_t threads[SLOW];
	struct pace pace = pace_begin();
	int bad = 0;
	for (int i = 0; i < SLOW; i++) {
		s[i] = (struct slow){ .pool = pool };
		pthread_create(&threads[i], NULL, start_slow, &s[i]);
	}
	for (int i = 0; i < SLOW; i++) {
		pthread_join(threads[i], NULL);
		bad |= s[i].rc;
	}
	bool soon = pace_within(&pace, 1500 * CLOCK_MS);
	ok(bad == 0 && soon, "four slow workers start in the time of one (%s)", pace_text(&pace));
	pool_free(pool);
}

/* --- two daemons, one device ------------------------------------------------------------------------------------------------ */

struct waits {
	char line[200];
	int count;
	struct pool_worker *holder;
};

static void note_waiting(void *arg, const char *line)
{
	struct waits *w = arg;
	snprintf(w->line, sizeof w->line, "%s", line);
	w->count++;
	pool_give(w->holder); /* whoever holds it is done now */
}

static void one_device(const char *folder)
{
	struct pool_config config = { .compile_workers = 1, .lock_space = folder };
	struct pool *one = pool_new(&config), *two = pool_new(&config);
	struct facts facts;
	struct waits waits = { .line = "" };
	struct pool_wish wish = { .waiting = note_waiting, .arg = &waits };
	struct pool_worker *w;
	struct err e = ERR_INIT;
	if (pool_device(one, "hlsl:0", &facts, &e) < 0) {
		SKIP(3, "no device");
	} else {
		char who[64];
		snprintf(who, sizeof who, "waiting for hlsl:0: process %d uses it", (int)getpid());
		pool_take_device(one, &facts, NULL, &waits.holder, &e);
		is_int(pool_take_device(two, &facts, &wish, &w, &e), 0,
		       "a device that another peakd holds is waited for %s", e.text);
		is_str(waits.line, who, "and the wait is reported");
		is_int(waits.count, 1, "the wait is reported once");
		pool_give(w);
	}
	pool_free(one);
	pool_free(two);
}

/* Whether the process was started with this variable. */
static bool has_variable(pid_t pid, const char *variable)
{
	char path[64], text[1 << 16];
	snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	for (size_t i = 0; i < n; i += strlen(text + i) + 1)
		if (strcmp(text + i, variable) == 0)
			return true;
	return false;
}

/* The pool's words may lead to another machine: what a lease wants, such as hardware counters, is wanted there. */
static void two_launchers(const char *folder)
{
	static const char *const outer[] = { "env", "OF_THE_POOL=1", NULL }, *const inner[] = { "env", "OF_THE_LEASE=1", NULL };
	struct pool_config config = { .compile_workers = 1, .lock_space = folder, .launcher = outer };
	struct pool *pool = pool_new(&config);
	struct pool_wish wish = { .launcher = inner };
	struct pool_worker *w;
	struct facts facts;
	struct err e = ERR_INIT;
	if (pool_device(pool, "hlsl:0", &facts, &e) < 0) {
		SKIP(2, "no device");
	} else {
		is_int(pool_take_device(pool, &facts, &wish, &w, &e), 0, "a lease has a launcher of its own %s", e.text);
		ok(has_variable(pool_worker_pid(w), "OF_THE_POOL=1") && has_variable(pool_worker_pid(w), "OF_THE_LEASE=1"),
		   "its worker is started behind the pool's launcher as well");
		pool_give(w);
	}
	pool_free(pool);
}

/* The name of the lock, bound by this process without listening: nobody can ask who holds it. */
static int bind_silently(const struct facts *facts, const char *space)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char name[DEVICE_LOCK_NAME];
	struct err e = ERR_INIT;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (device_lock_name(facts, space, name, &e) < 0)
		return -1;
	memcpy(address.sun_path + 1, name, strlen(name));
	return bind(fd, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))) == 0
		       ? fd
		       : -1;
}

struct silent {
	int fd;
	char line[200];
};

static void silent_leaves(void *arg, const char *line)
{
	struct silent *s = arg;
	snprintf(s->line, sizeof s->line, "%s", line);
	close(s->fd);
}

static void silent_holder(const char *folder)
{
	struct pool_config config = { .compile_workers = 1, .lock_space = folder };
	struct pool *pool = pool_new(&config);
	struct facts facts;
	struct silent silent = { .line = "" };
	struct pool_wish wish = { .waiting = silent_leaves, .arg = &silent };
	struct pool_worker *w = NULL;
	struct err e = ERR_INIT;
	if (pool_device(pool, "hlsl:0", &facts, &e) < 0) {
		SKIP(3, "no device");
		pool_free(pool);
		return;
	}
	silent.fd = bind_silently(&facts, folder);
	ok(silent.fd >= 0, "the lock is a name that any process can bind");
	is_int(pool_take_device(pool, &facts, &wish, &w, &e), 0,
	       "a device whose holder cannot be asked is waited for %s", e.text);
	is_str(silent.line, "waiting for hlsl:0: another process uses it", "and the holder is not named");
	pool_give(w);
	pool_free(pool);
}

/* A holder that was killed has given the device up. */
static void killed_holder(const char *folder)
{
	struct pool_config config = { .compile_workers = 1, .lock_space = folder };
	struct pool *pool = pool_new(&config);
	struct facts facts;
	struct pool_worker *w = NULL;
	struct err e = ERR_INIT;
	int ready[2];
	if (pool_device(pool, "hlsl:0", &facts, &e) < 0 || pipe(ready) != 0) {
		SKIP(2, "no device");
		pool_free(pool);
		return;
	}
	pid_t holder = fork();
	if (holder == 0) {
		if (bind_silently(&facts, folder) >= 0 && write(ready[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	char byte;
	ok(read(ready[0], &byte, 1) == 1 && bind_silently(&facts, folder) < 0,
	   "a lock that another process has cannot be had");
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	is_int(pool_take_device(pool, &facts, NULL, &w, &e), 0, "once its holder is killed it can %s", e.text);
	close(ready[0]);
	close(ready[1]);
	pool_give(w);
	pool_free(pool);
}

static void lock_names(void)
{
	struct facts cuda = { .id = "cuda:0", .uuid = "GPU-0A1B2C3D-1111-2222-3333-444455556666" };
	struct facts vulkan = { .id = "hlsl:0", .uuid = "vulkan-0a1b2c3d111122223333444455556666-0" };
	struct facts software = { .id = "hlsl:1",
				  .uuid = "vulkan-0a1b2c3d111122223333444455556666-1",
				  .shares_cpu = true };
	char a[DEVICE_LOCK_NAME], b[DEVICE_LOCK_NAME], spaces[DEVICE_LOCK_NAME];
	struct err e = ERR_INIT;
	device_lock_name(&cuda, NULL, a, &e);
	device_lock_name(&vulkan, NULL, b, &e);
	is_str(a, b, "one GPU has one lock through CUDA and through Vulkan");
	device_lock_name(&software, NULL, b, &e);
	is_str(b, "peakd-device-vulkan-0a1b2c3d111122223333444455556666-1",
	       "software devices that share a UUID have a lock each");
	memset(spaces, 'x', sizeof spaces - 1);
	spaces[sizeof spaces - 1] = '\0';
	is_int(device_lock_name(&cuda, spaces, b, &e), -ERR_INPUT, "a name that is too long is refused");
}

/* Takes the device again as soon as it has given it back, as a tune of many short leases does. */
struct greedy {
	struct pool *pool;
	struct facts facts;
	atomic_bool begun, asked, stop;
	atomic_int turns;
};

static void *take_and_give(void *arg)
{
	struct greedy *g = arg;
	while (!g->stop && g->turns < 30) {
		struct pool_worker *w;
		struct err e = ERR_INIT;
		if (pool_take_device(g->pool, &g->facts, NULL, &w, &e) < 0)
			break;
		g->begun = true;
		clock_sleep(70 * CLOCK_MS);
		if (g->asked)
			g->turns++;
		pool_give(w);
	}
	return NULL;
}

/* From here on somebody else stands in line. */
static void note_asked(void *greedy, const char *line)
{
	(void)line;
	((struct greedy *)greedy)->asked = true;
}

static void fair(const char *folder)
{
	struct pool_config config = { .compile_workers = 1, .lock_space = folder };
	struct greedy g = { .pool = pool_new(&config) };
	struct pool_wish wish = { .waiting = note_asked, .arg = &g };
	struct pool *other = pool_new(&config);
	struct err e = ERR_INIT;
	if (pool_device(g.pool, "hlsl:0", &g.facts, &e) < 0) {
		SKIP(4, "no device");
	} else {
		struct pool_worker *w = NULL;
		pthread_t thread;
		pthread_create(&thread, NULL, take_and_give, &g);
		for (int i = 0; i < 6000 && !g.begun; i++)
			clock_sleep(10 * CLOCK_MS);
		for (int i = 0; i < 3; i++) {
			is_int(pool_take_device(other, &g.facts, &wish, &w, &e), 0, "the device is had %s", e.text);
			g.asked = false;
			pool_give(w);
		}
		ok(g.turns <= 9,
		   "a peakd that takes the device again and again lets another in (after %d turns of its own)",
		   (int)g.turns);
		g.stop = true;
		pthread_join(thread, NULL);
	}
	pool_free(g.pool);
	pool_free(other);
}

/* While a device that shares the CPU is timed nothing compiles; who waits for that can be cancelled, and so can who waits for the
 * compilers to be done. */
static void quiet(const char *folder)
{
	struct pool_config config = { .compile_workers = 1, .lock_space = folder };
	struct canceller c = { .pool = pool_new(&config) };
	struct facts facts;
	struct pool_worker *device, *compiler;
	struct err e = ERR_INIT;
	pthread_t thread;
	uint8_t *body = NULL;
	size_t len;
	if (pool_device(c.pool, "hlsl:0", &facts, &e) < 0 || !facts.shares_cpu) {
		SKIP(4, "no device that shares the CPU");
		pool_free(c.pool);
		return;
	}
	is_int(pool_take_device(c.pool, &facts, NULL, &device, &e), 0, "a device is leased %s", e.text);
	is_int(pool_quiet_begin(device, &e), 0, "it is quiet");
	pool_take_compile(c.pool, &c.cancel, &compiler, &e);
	pthread_create(&thread, NULL, cancel_soon, &c);
	struct pace pace = pace_begin();
	is_int(pool_call(compiler, WIRE_COMPILE, NULL, 60 * CLOCK_S, &body, &len, &e), -ERR_CANCELLED,
	       "a compilation that waits for the end of it is cancelled");
	ok(pace_within(&pace, CLOCK_S), "within a second (%s)", pace_text(&pace));
	pthread_join(thread, NULL);
	pool_quiet_end(device);
	is_int(ping(device, 30 * CLOCK_S, &e), 0, "the device's worker lives on");
	pool_give(compiler);
	pool_give(device);
	pool_free(c.pool);
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/peakd-pool-XXXXXX";
	maybe_misbehave(argc, argv);
	sample_worker(argc, argv);
	if (mkdtemp(folder) == NULL)
		return 1;
	one_fault(folder, "crash", ERR_CRASH, "signal 6");
	one_fault(folder, "exit", ERR_CRASH, "status 7");
	one_fault(folder, "hang", ERR_TIMEOUT, "did not answer within 0.5 s, while a worker was asked");
	one_fault(folder, "garbage", ERR_NETWORK, "");
	one_fault(folder, "forge", ERR_NETWORK, "answered request");
	one_fault(folder, "mute", ERR_IO, "did not start");
	cancelling(folder);
	cancelling_start(folder);
	interrupted_late();
	parallel_starts();
	one_device(folder);
	two_launchers(folder);
	lock_names();
	silent_holder(folder);
	killed_holder(folder);
	killed_from_outside(folder);
	left_behind(folder);
	fair(folder);
	quiet(folder);

	struct pool *pool = pool_with(folder, "flood");
	struct pool_worker *w;
	struct err e = ERR_INIT;
	pool_take_compile(pool, NULL, &w, &e);
	ok(ping(w, 30 * CLOCK_S, &e) == 0, "a flood on stderr neither blocks nor hurts %s", e.text);
	pool_give(w);
	pool_free(pool);

	char *command = mem_fmt("rm -rf '%s'", folder);
	int left = system(command);
	free(command);
	return tap_done() | left;
}
