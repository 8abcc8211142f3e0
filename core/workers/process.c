/* process: one worker process, and the thread that starts them; see process.h. */
#include "core/workers/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/workers/child.h"
#include "core/workers/remote.h"

#define START_NS (30 * CLOCK_S)   /* a vendor's libraries may load slowly from a cold disk */
#define MACHINE_NS (5 * CLOCK_S)  /* without an answer, until a remote machine is asked whether it lives */
#define LAUNCHER_NS (2 * CLOCK_S) /* for a launcher that is asked to end */
#define FATE_NS (10 * CLOCK_S)    /* from the end of a worker's wire to the end of its process */

enum { SAID_MAX = 8192, CLOCKS_DIFFER_MS = 2000 };

const char *const process_counters[] = { "env", "PEAKD_COUNTERS_WORKER=1", NULL };

/* --- starting --------------------------------------------------------------------------------------------------------------- */

/* A process to be started; on the stack of the thread that waits for it. */
struct start {
	struct process *process;
	const char *const *launcher;
	char *const *instead;
	struct err *e;
	int rc;
	bool done;
};

struct starter {
	struct lock lock;
	struct lock_bell bell;
	char *binary;
	char **launcher; /* ends with NULL */
	pthread_t thread;
	struct start *start; /* the one to serve; NULL */
	bool ending;
};

/* How many processes the kernel has killed for lack of memory since it booted; 0 when it does not say. */
static uint64_t count_oom_kills(void)
{
	char line[128];
	unsigned long long kills = 0;
	FILE *f = fopen("/proc/vmstat", "re");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "oom_kill %llu", &kills) == 1)
			break;
	if (f)
		fclose(f);
	return kills;
}

/* The pool's launcher leads to the machine, and what the lease wants (a sanitizer) stands in front of the worker there. */
static int start(struct process *p, const struct starter *t, const struct start *s, struct err *e)
{
	int wire[2] = { -1, -1 }, complaints[2] = { -1, -1 }, rc;
	bool lends = s->launcher == process_counters;
	char **argv = NULL;
	size_t words = 0;
	for (char *const *word = s->instead ? s->instead : t->launcher; *word; word++)
		*MEM_PUSH(argv, words) = *word;
	for (const char *const *word = s->launcher; word && *word; word++)
		*MEM_PUSH(argv, words) = (char *)*word;
	if (s->instead == NULL) {
		*MEM_PUSH(argv, words) = t->binary;
		*MEM_PUSH(argv, words) = "worker";
	}
	*MEM_PUSH(argv, words) = NULL;
	*p = (struct process)PROCESS_INIT;
	p->oom_kills = count_oom_kills();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, wire) != 0 || pipe2(complaints, O_CLOEXEC) != 0) {
		rc = err_sys(e, errno, "cannot make the wire of a worker");
		goto out;
	}
	child_lend_perfmon(lends);
	rc = child_start(argv, wire[1], wire[1], complaints[1], &p->pid);
	child_lend_perfmon(false);
	if (rc != 0) {
		p->pid = 0;
		rc = err_sys(e, rc, "cannot start worker '%s'%s", argv[0],
			     rc == EAGAIN ? ", because this user has too many processes or the machine too little memory" : "");
		goto out;
	}
	fcntl(wire[0], F_SETFL, O_NONBLOCK);
	fcntl(complaints[0], F_SETFL, O_NONBLOCK);
	p->wire = wire[0];
	p->complaints = complaints[0];
	wire[0] = complaints[0] = -1;
out:
	/* Our copies of the child's ends must go, or its death would not read as end of file. */
	child_close(&wire[0]);
	child_close(&wire[1]);
	child_close(&complaints[0]);
	child_close(&complaints[1]);
	free(argv);
	return rc;
}

static void *starter_thread(void *arg)
{
	struct starter *t = arg;
	lock_take(&t->lock);
	while (!t->ending) {
		struct start *s = t->start;
		if (s == NULL) {
			lock_bell_wait(&t->bell, &t->lock, CLOCK_NEVER);
			continue;
		}
		lock_release(&t->lock);
		s->rc = start(s->process, t, s, s->e);
		lock_take(&t->lock);
		s->done = true;
		t->start = NULL;
		lock_bell_ring(&t->bell);
	}
	lock_release(&t->lock);
	return NULL;
}

struct starter *process_starter_new(const char *binary, const char *const *launcher)
{
	struct starter *t = MEM_NEW(struct starter);
	char own[4096];
	ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
	size_t words = 0;
	lock_init(&t->lock, LOCK_LEAF);
	lock_bell_init(&t->bell);
	t->binary = binary ? mem_str(binary) : n > 0 ? mem_strn(own, (size_t)n) : mem_str("peakd");
	while (launcher && launcher[words])
		words++;
	t->launcher = MEM_NEW_N(char *, words + 1);
	for (size_t i = 0; i < words; i++)
		t->launcher[i] = mem_str(launcher[i]);
	int rc = pthread_create(&t->thread, NULL, starter_thread, t);
	assert(rc == 0);
	(void)rc;
	return t;
}

void process_starter_free(struct starter *t)
{
	if (t == NULL)
		return;
	lock_take(&t->lock);
	t->ending = true;
	lock_bell_ring(&t->bell);
	lock_release(&t->lock);
	pthread_join(t->thread, NULL);
	for (char **word = t->launcher; *word; word++)
		free(*word);
	free(t->launcher);
	free(t->binary);
	lock_bell_fini(&t->bell);
	lock_fini(&t->lock);
	free(t);
}

int process_start(struct process *p, struct starter *t, const char *const *launcher, char *const *instead, struct err *e)
{
	struct start s = { .process = p, .launcher = launcher, .instead = instead, .e = e };
	lock_take(&t->lock);
	while (t->start)
		lock_bell_wait(&t->bell, &t->lock, CLOCK_NEVER);
	t->start = &s;
	lock_bell_ring(&t->bell);
	while (!s.done)
		lock_bell_wait(&t->bell, &t->lock, CLOCK_NEVER);
	lock_release(&t->lock);
	return s.rc;
}

/* --- how it ended ------------------------------------------------------------------------------------------------------------- */

/* Nothing that runs in a worker can send these to it: seccomp denies kill(2), and faults of its own raise others. */
static bool is_from_outside(int signal)
{
	return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

/* A process that may not have more memory ends by faults like these. Returns the limit in MiB; 0: there is none. */
static unsigned long long memory_limit(int signal)
{
	struct rlimit limit;
	bool fault = signal == SIGSEGV || signal == SIGABRT || signal == SIGBUS;
	return fault && getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur >> 20 : 0;
}

/* A launcher's stderr may arrive behind the end of the wire. */
static void drain_last_words(struct process *p)
{
	char text[4096];
	ssize_t n;
	while (p->remote && (n = read(p->complaints, text, sizeof text)) > 0)
		buf_add(&p->said, text, (size_t)n);
	if (p->said.len > SAID_MAX)
		buf_drop(&p->said, p->said.len - SAID_MAX);
}

/* The wire's end says only that it is gone; how it ended is the cause. */
static void add_fate(struct process *p, const atomic_bool *interrupted, struct err *e)
{
	int64_t deadline = clock_now() + FATE_NS;
	if (p->pid <= 0 || e->code != ERR_CRASH)
		return;
	/* The end of file arrives a moment before the exit. */
	while (!child_has_ended(p->pid)) {
		if (clock_now() >= deadline || (interrupted && atomic_load(interrupted))) {
			if (p->remote)
				err_set(e, ERR_IO, "the connection to the worker ended");
			return;
		}
		clock_sleep(2 * CLOCK_MS);
	}
	drain_last_words(p);
	int status = child_end(p->pid), code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	/* Shells and launchers pass a signal on as 128 and its number. */
	bool passed_on = code > 128 && (is_from_outside(code - 128) || (p->remote && code < 128 + 64));
	int signal = WIFSIGNALED(status) ? WTERMSIG(status) : passed_on ? code - 128 : 0;
	bool no_memory = signal == SIGKILL && count_oom_kills() > p->oom_kills;
	p->pid = 0;
	/* Only the guard of the other machine knows of an end that was the worker's own. */
	if (p->remote && !passed_on && code != REMOTE_ENDED)
		err_set(e, ERR_IO, "the connection to the worker was lost: its launcher %s %d",
			signal ? "was ended by signal" : "exited with status", signal ? signal : code);
	else if (is_from_outside(signal))
		err_set(e, ERR_IO, "the worker was killed from outside by signal %d (%s)%s", signal, strsignal(signal),
			no_memory ? ": the kernel has killed processes meanwhile because this machine ran out of memory"
				  : ": by an administrator, a batch system or a launcher, not by what it ran");
	else if (memory_limit(signal))
		err_set(e, ERR_IO,
			"the worker was ended by signal %d (%s), probably because a process may have only %llu MiB of memory here "
			"(ulimit -v). Raise this limit and start the daemon again",
			signal, strsignal(signal), memory_limit(signal));
	else if (signal)
		err_set(e, ERR_CRASH, "the worker was ended by signal %d (%s)", signal, strsignal(signal));
	else
		err_set(e, ERR_CRASH, "the worker exited with status %d in the middle of a request", code);
	if (p->hold && p->hold->job[0] && e->code == ERR_IO)
		p->hold->lost = clock_now();
}

static void add_last_words(struct process *p, struct err *e)
{
	char *words = child_last_words(&p->said);
	if (*words)
		err_set(e, e->code, "%s%s", e->text, words);
	free(words);
}

/* Each time is measured by one clock alone, so a wrong one spoils no figure; but it misleads whoever reads two machines' logs. */
static void compare_clocks(struct process *p, const struct wire_hello *hello)
{
	double ahead = (double)hello->wall_ms - (double)clock_wall_ms();
	p->clock[0] = '\0';
	if (p->remote && fabs(ahead) > CLOCKS_DIFFER_MS)
		snprintf(p->clock, sizeof p->clock, "the clock of the other machine is %.0f s %s this one's", fabs(ahead) / 1e3,
			 ahead > 0 ? "ahead of" : "behind");
}

/* --- talking ------------------------------------------------------------------------------------------------------------------ */

static int expect_hello(struct process *p, const atomic_bool *interrupted, struct err *e)
{
	struct wire_frame frame;
	struct wire_hello hello;
	int rc = wire_receive(p->wire, &frame, clock_now() + START_NS, p->complaints, &p->said, e);
	if (rc < 0) {
		add_fate(p, interrupted, e);
		add_last_words(p, e);
		return err_wrap(e, "worker did not start");
	}
	struct wire_in in = { .at = frame.body, .end = frame.body + frame.len };
	rc = frame.type == WIRE_HELLO ? wire_hello_decode(&in, &hello, e)
				      : err_set(e, ERR_NETWORK, "worker began with frame type %d, not hello", (int)frame.type);
	free(frame.body);
	if (rc == 0) {
		memcpy(p->lacks, hello.lacks, sizeof p->lacks);
		compare_clocks(p, &hello);
	}
	return rc;
}

int process_greet(struct process *p, const atomic_bool *interrupted, struct err *e)
{
	int rc = expect_hello(p, interrupted, e);
	if (rc < 0)
		process_end(p);
	return rc;
}

/* The error that a worker answered with. */
static int own_error(const struct wire_frame *frame, struct err *e)
{
	struct wire_in in = { .at = frame->body, .end = frame->body + frame->len };
	int rc = wire_failed_decode(&in, e);
	utf8_clean(e->text);
	return rc;
}

/* A machine that dies says nothing, and a launcher may not notice for minutes. */
static int await_machine(struct process *p, const struct process_request *r, struct err *e)
{
	struct pollfd fds[] = { { .fd = p->wire, .events = POLLIN }, { .fd = p->complaints, .events = POLLIN } };
	while (p->hold && clock_now() < r->deadline && !(r->interrupted && atomic_load(r->interrupted))) {
		int64_t look = clock_now() + MACHINE_NS;
		int ready = poll(fds, 2, clock_poll_ms(look < r->deadline ? look : r->deadline));
		if (fds[0].revents)
			break;
		/* At its end, stderr is left to wire_receive. */
		size_t before = p->said.len;
		if (ready > 0)
			drain_last_words(p);
		if (ready > 0 && p->said.len == before)
			break;
		if (ready == 0 && !remote_answers(p->hold))
			return err_set(e, ERR_IO, "the other machine does not answer any more");
	}
	return 0;
}

int process_call(struct process *p, const struct process_request *r, uint8_t **ret_body, size_t *ret_len, struct err *e)
{
	struct wire_frame frame = { 0 };
	uint32_t id = ++p->last_id;
	int64_t begun = clock_now();
	size_t sent = r->body ? r->body->len : 0;
	buf_clear(&p->said);
	int rc = wire_send_tail(p->wire, r->type, id, r->body, r->tail, r->deadline, e);
	if (rc == 0)
		rc = await_machine(p, r, e);
	if (rc == 0)
		rc = wire_receive(p->wire, &frame, r->deadline, p->complaints, &p->said, e);
	if (rc == 0 && (frame.id != id || (frame.type != r->type && frame.type != WIRE_FAILED)))
		rc = err_set(e, ERR_NETWORK, "the worker answered request %u of type %d with frame %u of type %d", id, (int)r->type,
			     frame.id, (int)frame.type);
	if (rc < 0) {
		add_fate(p, r->interrupted, e);
		add_last_words(p, e);
		process_end(p);
		free(frame.body);
		return -(int)e->code;
	}
	log_debug("worker %d: %s took %.3f ms; sent %zu bytes, received %zu", (int)p->pid, wire_type_name(r->type),
		  (double)(clock_now() - begun) / 1e6, sent + (r->tail ? r->tail->len : 0), frame.len);
	if (frame.type == WIRE_FAILED) {
		rc = own_error(&frame, e);
		/* A worker that reports a crash or a device in trouble ends by itself. */
		if (e->code == ERR_CRASH && p->patient)
			process_retire(p);
		else if (e->code == ERR_CRASH || e->code == ERR_IO || e->code == ERR_NETWORK)
			process_end(p);
		free(frame.body);
		return rc;
	}
	*ret_body = frame.body;
	*ret_len = frame.len;
	return 0;
}

/* --- the end -------------------------------------------------------------------------------------------------------------------
 */

/* A launcher ends what it started when it is asked to; killed, some leave it running (srun, with a kernel that hangs). */
static void kill_process(struct process *p)
{
	int64_t until = clock_now() + LAUNCHER_NS;
	if (p->remote && kill(p->pid, SIGTERM) == 0)
		while (!child_has_ended(p->pid) && clock_now() < until)
			clock_sleep(5 * CLOCK_MS);
	child_end(p->pid);
}

void process_retire(struct process *p)
{
	int64_t deadline = clock_now() + PROCESS_RETIRE_NS;
	child_close(&p->wire);
	while (p->pid > 0 && !child_has_ended(p->pid) && clock_now() < deadline) {
		char rest[256];
		while (read(p->complaints, rest, sizeof rest) > 0)
			; /* a full pipe would keep it from ending */
		clock_sleep(5 * CLOCK_MS);
	}
	process_end(p);
}

void process_end(struct process *p)
{
	if (p->pid > 0)
		kill_process(p);
	child_close(&p->wire);
	child_close(&p->complaints);
	buf_fini(&p->said);
	*p = (struct process)PROCESS_INIT;
}
