/* external_run: see external_run.h. Its input is a file in memory, so nobody can wait for anybody; spawning uses posix_spawn, since the
 * daemon has many threads. */
#include "core/eval/external_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/eval/environment.h"

extern char **environ;

enum { COMPLAINT_MAX = 400, SLICE_MS = 20 };

struct running {
	pid_t pid;
	int out, complaints;   /* our ends; -1 closed */
	struct buf said;       /* the end of its stderr */
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

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

static int spawn(struct running *r, const char *path, int in, int out, int complaints, struct err *e)
{
	char *argv[] = { (char *)path, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, usual;
	sigemptyset(&none);
	sigfillset(&usual);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
	/* Ours all close themselves; a library's need not. */
	posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
#endif
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &usual);
	char **environment = environment_new(environ);
	int rc = posix_spawn(&r->pid, path, &actions, &attr, argv, environment);
	free(environment);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	if (rc == 0)
		return 0;
	r->pid = 0;
	return err_set(e, ERR_NOT_FOUND, "%s cannot be started: %s", path, strerror(rc));
}

static int start(struct running *r, const char *path, const char *input, size_t len, struct err *e)
{
	int out[2] = { -1, -1 }, complaints[2] = { -1, -1 }, in = input_file(input, len), rc;
	if (in < 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(complaints, O_CLOEXEC) != 0) {
		rc = err_sys(e, errno, "cannot make the pipes of %s", path);
		goto out;
	}
	rc = spawn(r, path, in, out[1], complaints[1], e);
	if (rc < 0)
		goto out;
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fcntl(complaints[0], F_SETFL, O_NONBLOCK);
	r->out = out[0];
	r->complaints = complaints[0];
	out[0] = complaints[0] = -1;
out:
	close_fd(&in);
	close_fd(&out[0]);
	close_fd(&out[1]);
	close_fd(&complaints[0]);
	close_fd(&complaints[1]);
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
			close_fd(fd);
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
			close_fd(&r->complaints);
		if (n <= 0)
			return;
		buf_add(&r->said, chunk, (size_t)n);
		if (r->said.len > COMPLAINT_MAX)
			buf_drop(&r->said, r->said.len - COMPLAINT_MAX);
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

/* Its last words on one line, as a clause; "" without any. free() */
static char *last_words(const struct running *r)
{
	const char *said = buf_text(&r->said);
	size_t len = strlen(said);
	while (len > 0 && (unsigned char)said[len - 1] <= ' ')
		len--;
	if (len == 0)
		return mem_str("");
	char *text = mem_fmt("; it last said: %.*s", (int)len, said);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
	return utf8_clean(text);
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
		char *words = last_words(r);
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
	close_fd(&r.out);
	close_fd(&r.complaints);
	buf_fini(&r.said);
	return rc;
}
