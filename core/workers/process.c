/* process: one worker process; see process.h. */
#include "core/workers/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/workers/child.h"

#define START_NS (30 * CLOCK_S) /* libraries of a vendor may be slow to load from a cold disk */

static char **make_argv(const char *binary, const char *const *launcher)
{
	size_t n = 0;
	while (launcher && launcher[n])
		n++;
	char **argv = MEM_NEW_N(char *, n + 3);
	for (size_t i = 0; i < n; i++)
		argv[i] = (char *)launcher[i];
	argv[n] = (char *)binary;
	argv[n + 1] = "worker";
	return argv;
}

static int expect_hello(struct process *p, struct err *e)
{
	struct wire_frame frame;
	struct wire_hello hello;
	int rc = wire_receive(p->wire, &frame, clock_now() + START_NS, p->complaints, &p->said, e);
	if (rc < 0)
		return err_wrap(e, "worker did not start");
	struct wire_in in = { .at = frame.body, .end = frame.body + frame.len };
	rc = frame.type == WIRE_HELLO ? wire_hello_decode(&in, &hello, e)
	                              : err_set(e, ERR_NETWORK, "worker began with frame type %d, not hello", (int)frame.type);
	free(frame.body);
	if (rc == 0 && hello.version != WIRE_VERSION)
		rc = err_set(e, ERR_NETWORK, "worker speaks wire version %u, this daemon %d: install the same peakd on both ends",
		             hello.version, WIRE_VERSION);
	if (rc == 0)
		memcpy(p->lacks, hello.lacks, sizeof p->lacks);
	return rc;
}

int process_start(struct process *p, const char *binary, const char *const *launcher, struct err *e)
{
	int wire[2] = { -1, -1 }, complaints[2] = { -1, -1 }, rc;
	char **argv = make_argv(binary, launcher);
	*p = (struct process)PROCESS_INIT;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, wire) != 0 || pipe2(complaints, O_CLOEXEC) != 0) {
		rc = err_sys(e, errno, "cannot make the wire of a worker");
		goto out;
	}
	rc = child_start(argv, wire[1], wire[1], complaints[1], &p->pid);
	if (rc != 0) {
		p->pid = 0;
		rc = err_sys(e, rc, "cannot start worker '%s'", argv[0]);
		goto out;
	}
	fcntl(wire[0], F_SETFL, O_NONBLOCK);
	fcntl(complaints[0], F_SETFL, O_NONBLOCK);
	p->wire = wire[0];
	p->complaints = complaints[0];
	wire[0] = complaints[0] = -1;
	/* Our copies of the child's ends must go, or its death would not read as end of file. */
	child_close(&wire[1]);
	child_close(&complaints[1]);
out:
	child_close(&wire[0]);
	child_close(&wire[1]);
	child_close(&complaints[0]);
	child_close(&complaints[1]);
	free(argv);
	return rc;
}

int process_greet(struct process *p, struct err *e)
{
	int rc = expect_hello(p, e);
	if (rc < 0)
		process_end(p);
	return rc;
}

/* What a dead worker had to say. */
static void add_last_words(struct process *p, struct err *e)
{
	char *words = child_last_words(&p->said);
	if (*words)
		err_set(e, e->code, "%s%s", e->text, words);
	free(words);
}

static void add_fate(struct process *p, struct err *e)
{
	int status = 0;
	if (p->pid <= 0 || e->code != ERR_CRASH)
		return;
	/* End of file arrives a moment before the exit can be reaped. */
	for (int i = 0; i < 50; i++) {
		pid_t got = waitpid(p->pid, &status, WNOHANG);
		if (got == p->pid) {
			kill(-p->pid, SIGKILL); /* whatever a launcher left behind in its group */
			p->pid = 0;
			if (WIFSIGNALED(status))
				err_set(e, ERR_CRASH, "the worker was ended by signal %d (%s)", WTERMSIG(status),
				        strsignal(WTERMSIG(status)));
			else
				err_set(e, ERR_CRASH, "the worker exited with status %d in the middle of a request",
				        WEXITSTATUS(status));
			return;
		}
		clock_sleep(2 * CLOCK_MS);
	}
}

/* The worker's own error, with a code that is one. */
static int own_error(const struct wire_frame *frame, struct err *e)
{
	struct wire_in in = { .at = frame->body, .end = frame->body + frame->len };
	uint32_t code = wire_get_u32(&in);
	char *text = wire_get_text(&in);
	int rc = in.bad || code == ERR_NONE || code > ERR_INTERNAL
	         ? err_set(e, ERR_NETWORK, "the worker's error message is garbled")
	         : err_set(e, (enum err_code)code, "%s", utf8_clean(text));
	free(text);
	return rc;
}

int process_call(struct process *p, enum wire_type type, const struct buf *body, const struct wire_tail *tail, int64_t deadline,
                 uint8_t **ret_body, size_t *ret_len, struct err *e)
{
	struct wire_frame frame = { 0 };
	uint32_t id = ++p->last_id;
	int64_t start = clock_now();
	buf_clear(&p->said);
	int rc = wire_send_tail(p->wire, type, id, body ? body->data : NULL, body ? body->len : 0, tail, deadline, e);
	if (rc == 0)
		rc = wire_receive(p->wire, &frame, deadline, p->complaints, &p->said, e);
	if (rc == 0 && (frame.id != id || (frame.type != type && frame.type != WIRE_FAILED)))
		rc = err_set(e, ERR_NETWORK, "the worker answered request %u of type %d with frame %u of type %d", id, (int)type,
		             frame.id, (int)frame.type);
	if (rc < 0) {
		add_fate(p, e);
		add_last_words(p, e);
		process_end(p);
		free(frame.body);
		return rc;
	}
	log_debug("worker %d: %s took %.3f ms; %zu bytes there, %zu back", (int)p->pid, wire_type_name(type), (double)(clock_now() - start) / 1e6,
	          (body ? body->len : 0) + (tail ? tail->len : 0), frame.len);
	if (frame.type == WIRE_FAILED) {
		rc = own_error(&frame, e);
		/* Such a worker ends by itself. */
		if (e->code == ERR_CRASH && p->patient)
			process_retire(p, clock_now() + PROCESS_RETIRE_NS);
		else if (e->code == ERR_CRASH || e->code == ERR_NETWORK)
			process_end(p);
		free(frame.body);
		return rc;
	}
	*ret_body = frame.body;
	*ret_len = frame.len;
	return 0;
}

void process_retire(struct process *p, int64_t deadline)
{
	child_close(&p->wire);
	while (p->pid > 0 && clock_now() < deadline) {
		char rest[256];
		while (read(p->complaints, rest, sizeof rest) > 0)
			; /* a full pipe would keep it from ending */
		if (waitpid(p->pid, NULL, WNOHANG) == p->pid) {
			kill(-p->pid, SIGKILL);
			p->pid = 0;
		} else {
			clock_sleep(5 * CLOCK_MS);
		}
	}
	process_end(p);
}

void process_end(struct process *p)
{
	if (p->pid > 0) {
		kill(-p->pid, SIGKILL);
		kill(p->pid, SIGKILL);
		while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	child_close(&p->wire);
	child_close(&p->complaints);
	buf_fini(&p->said);
	*p = (struct process)PROCESS_INIT;
}
