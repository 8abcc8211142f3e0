/* remote: what runs on the other machine besides the worker; see remote.h. daemon/main.c calls both for `peakd worker`. */
#include "core/workers/remote.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/workers/child.h"
#include "core/workers/device_lock.h"

#define REST_NS (60 * CLOCK_S) /* an allocation that nobody uses costs others time; another one may have to wait in a queue */

/* --- the hold --------------------------------------------------------------------------------------------------------------- */

/* False when the connection is gone; whatever comes over it is taken in. */
static bool is_connected(void)
{
	char text[256];
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	return poll(&in, 1, 0) <= 0 || read(STDIN_FILENO, text, sizeof text) > 0;
}

static int check_connected(void *arg, struct err *e)
{
	(void)arg;
	return is_connected() ? 0 : err_set(e, ERR_CANCELLED, "the connection is gone");
}

static void say_waiting(void *arg, const char *who)
{
	(void)arg;
	fprintf(stderr, "%s uses it\n", who);
}

int remote_end_hold(const char *lock)
{
	struct device_lock_waiter waiter = { .check = check_connected, .waiting = say_waiting };
	struct err e = ERR_INIT;
	char text[256];
	int fd = -1;
	signal(SIGPIPE, SIG_IGN);
	if (*lock && device_lock_take(lock, &waiter, &fd, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	printf("peakd held\n");
	fflush(stdout);
	/* Asked, it answers; told that it rests, it ends after a while unless it is asked again. */
	for (int64_t until = CLOCK_NEVER;;) {
		struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
		if (poll(&in, 1, clock_poll_ms(until)) == 0)
			break;
		ssize_t n = read(STDIN_FILENO, text, sizeof text);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		until = text[n - 1] == REMOTE_REST ? clock_now() + REST_NS : CLOCK_NEVER;
		if (text[n - 1] != REMOTE_REST && write(STDOUT_FILENO, "!", 1) != 1)
			break;
	}
	return 0;
}

/* --- the guard -------------------------------------------------------------------------------------------------------------- */

/* Waits until the worker ends, or the connection does. The guard never reads: what comes is the worker's. */
static void watch(pid_t worker)
{
	struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLRDHUP },
				{ .fd = (int)syscall(SYS_pidfd_open, worker, 0), .events = POLLIN } };
	int64_t until = CLOCK_NEVER;
	while (!child_has_ended(worker) && clock_now() < until) {
		/* Where a kernel lacks pidfds, it looks now and then. */
		int64_t look = fds[1].fd < 0 ? clock_now() + CLOCK_S / 5 : CLOCK_NEVER;
		poll(fds, 2, clock_poll_ms(look < until ? look : until));
		/* An idle worker ends by itself now, and a tool around it writes what it found. */
		if (fds[0].revents && until == CLOCK_NEVER) {
			until = clock_now() + PROCESS_RETIRE_NS;
			fds[0].fd = -1;
		}
	}
	child_close(&fds[1].fd);
}

int remote_end_guard(int (*worker)(void))
{
	signal(SIGINT, SIG_IGN);
	pid_t pid = fork();
	if (pid < 0) {
		fprintf(stderr, "peakd cannot start a worker: %s\n", strerror(errno));
		return 1;
	}
	if (pid == 0) {
		setpgid(0, 0);
		exit(worker());
	}
	setpgid(pid, pid);
	watch(pid);
	int status = child_end(pid);
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status) ? REMOTE_ENDED : 0;
}
