/* external_run: see external_run.h. Its input is a file in memory, so nobody can wait for anybody. */
#include "core/judge/external_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/workers/child.h"

enum { SLICE_MS = 20 };

struct running {
	pid_t pid;
	int out, complaints;   /* our ends; -1 closed */
	struct buf said;       /* the end of its stderr */
};

/* A file of its own in memory, at its beginning; -1 with errno. */
static int input_file(const char *input, size_t len)
{
	int fd = memfd_create("peakd-input", MFD_CLOEXEC);
	for (size_t at = 0; fd >= 0 && at < len;) {
		ssize_t n = write(fd, input + at, len - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			close(fd);
			return -1;
		}
		at += (size_t)n;
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

static int start(struct running *r, const char *path, const char *input, size_t len, struct err *e)
{
	int out[2] = { -1, -1 }, complaints[2] = { -1, -1 }, in = input_file(input, len), rc;
	/* It is named by its path; $PATH is not asked. */
	char *file = mem_fmt("%s%s", strchr(path, '/') ? "" : "./", path);
	if (in < 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(complaints, O_CLOEXEC) != 0) {
		rc = err_sys(e, errno, "cannot make the pipes of %s", path);
		goto out;
	}
	rc = child_start((char *const[]){ file, NULL }, in, out[1], complaints[1], &r->pid);
	if (rc != 0) {
		r->pid = 0;
		rc = err_set(e, ERR_NOT_FOUND, "%s cannot be started: %s", path, strerror(rc));
		goto out;
	}
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fcntl(complaints[0], F_SETFL, O_NONBLOCK);
	r->out = out[0];
	r->complaints = complaints[0];
	out[0] = complaints[0] = -1;
out:
	child_close(&in);
	child_close(&out[0]);
	child_close(&out[1]);
	child_close(&complaints[0]);
	child_close(&complaints[1]);
	free(file);
	return rc;
}

/* What is there now, up to `max` bytes in *to; false when more came. Closes at the end of the file. */
static bool drain(int *fd, struct buf *to, size_t max)
{
	char chunk[4096];
	while (*fd >= 0) {
		ssize_t n = read(*fd, chunk, sizeof chunk);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0 || (n < 0 && errno != EAGAIN))
			child_close(fd);
		if (n <= 0)
			return true;
		if (to->len + (size_t)n > max)
			return false;
		buf_add(to, chunk, (size_t)n);
	}
	return true;
}

/* Complaints may be as long as they like: their end is kept, and one call looks at a bounded part of them. */
static void drain_complaints(struct running *r)
{
	char chunk[4096];
	for (int i = 0; r->complaints >= 0 && i < 16; i++) {
		ssize_t n = read(r->complaints, chunk, sizeof chunk);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			child_close(&r->complaints);
		if (n <= 0)
			return;
		buf_add(&r->said, chunk, (size_t)n);
		if (r->said.len > CHILD_WORDS_MAX)
			buf_drop(&r->said, r->said.len - CHILD_WORDS_MAX);
	}
}

static bool has_ended(const struct running *r)
{
	siginfo_t info = { .si_pid = 0 };
	return waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == r->pid;
}

static int follow(struct running *r, int64_t deadline, const struct cancel *cancel, struct buf *out, struct err *e)
{
	for (;;) {
		struct pollfd fds[2] = { { .fd = r->out, .events = POLLIN }, { .fd = r->complaints, .events = POLLIN } };
		bool ended = has_ended(r);
		if (!drain(&r->out, out, EXTERNAL_RUN_MAX))
			return err_set(e, ERR_CRASH, "it wrote more than %d bytes", EXTERNAL_RUN_MAX);
		drain_complaints(r);
		if (ended)
			return 0;
		if (cancel_check(cancel, e) < 0)
			return -ERR_CANCELLED;
		if (clock_now() >= deadline)
			return err_set(e, ERR_TIMEOUT, "it did not end in time");
		if (r->out < 0 && r->complaints < 0)
			clock_sleep(SLICE_MS * CLOCK_MS / 4);
		else
			poll(fds, 2, SLICE_MS);
	}
}

/* Everything in its group ends with it: it is not reaped before, so that the group's number is still its own. */
static int end(struct running *r, int rc, struct err *e)
{
	int status = 0;
	kill(-r->pid, SIGKILL);
	kill(r->pid, SIGKILL);
	while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (rc == 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
		char *words = child_last_words(&r->said);
		if (WIFSIGNALED(status))
			rc = err_set(e, ERR_CRASH, "it was ended by signal %d (%s)%s", WTERMSIG(status), strsignal(WTERMSIG(status)), words);
		else
			rc = err_set(e, ERR_CRASH, "it exited with status %d%s", WEXITSTATUS(status), words);
		free(words);
	}
	return rc;
}

int external_run(const char *path, const char *input, size_t len, int64_t deadline, const struct cancel *cancel, struct buf *out,
                 struct err *e)
{
	struct running r = { .pid = 0, .out = -1, .complaints = -1, .said = BUF_INIT };
	int rc = start(&r, path, input, len, e);
	if (rc == 0) {
		rc = follow(&r, deadline, cancel, out, e);
		rc = end(&r, rc, e);
	}
	child_close(&r.out);
	child_close(&r.complaints);
	buf_fini(&r.said);
	return rc;
}
