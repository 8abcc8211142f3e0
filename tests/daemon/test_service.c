/* test_service: a daemon that computes while it starts asks for more time, one that hangs does not; sockets of a service
 * manager. */
#include "daemon/service.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/tap.h"

enum { LOOK_MS = 50 };

static int manager; /* the socket that hears what is said */

/* The next message within the time; "" when there is none. */
static const char *heard(int ms)
{
	static char text[256];
	struct pollfd p = { .fd = manager, .events = POLLIN };
	ssize_t n = poll(&p, 1, ms) > 0 ? read(manager, text, sizeof text - 1) : 0;
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void test_patience(void)
{
	struct service_patience *p = service_patience_new(LOOK_MS);
	int64_t until = clock_now() + 60 * CLOCK_S;
	volatile unsigned work = 0;
	const char *said = "";
	while (*said == '\0' && clock_now() < until) {
		for (unsigned i = 0; i < 1000000; i++)
			work += i;
		said = heard(0);
	}
	(void)work;
	is_str(said, "EXTEND_TIMEOUT_USEC=150000", "a process that computes asks for more time");
	/* A system that samples CPU time may charge a whole tick to a process that waits: silence for ten looks is enough. */
	until = clock_now() + 60 * CLOCK_S;
	while (*(said = heard(10 * LOOK_MS)) && clock_now() < until)
		;
	is_str(said, "", "a process that waits does not ask for more time");
	service_patience_free(p);
	unsetenv("WATCHDOG_USEC");
	is_int(service_watchdog_ns(), 0, "without a watchdog there is nothing to say");
	setenv("WATCHDOG_USEC", "3000000", 1);
	is_int(service_watchdog_ns(), 1500 * CLOCK_MS, "the watchdog is told twice as often as it asks");
	service_alive();
	is_str(heard(60000), "WATCHDOG=1", "a sign of life arrives");
	unsetenv("NOTIFY_SOCKET");
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		sigset_t set;
		sigemptyset(&set);
		sigaddset(&set, SIGTERM);
		pthread_sigmask(SIG_BLOCK, &set, NULL);
		service_patience_new(LOOK_MS);
		kill(getpid(), SIGTERM);
		for (;;)
			pause();
	}
	int status = 0;
	waitpid(child, &status, 0);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM,
	   "SIGTERM ends a process that starts, although its threads block the signal");
}

/* A socket whose number is none of those. */
static int make_socket(int family)
{
	return fcntl(socket(family, SOCK_STREAM, 0), F_DUPFD, 20);
}

/* The service manager's sockets are descriptors from 3 on. Returns both numbers as one in decimal, or the error. */
static int passed(int first, int second)
{
	struct service_sockets sockets;
	struct err e = ERR_INIT;
	char pid[32];
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", second >= 0 ? "2" : "1", 1);
	dup2(first, 3);
	if (second >= 0)
		dup2(second, 4);
	int rc = service_sockets(&sockets, &e);
	if (rc < 0)
		return -(int)e.code;
	return getenv("LISTEN_FDS") ? -1 : sockets.local * 10 + sockets.inet;
}

int main(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	snprintf(address.sun_path, sizeof address.sun_path, "/tmp/peakd-manager.%d", (int)getpid());
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ok(bind(manager, (struct sockaddr *)&address, sizeof address) == 0, "a service manager listens");
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	test_patience();
	unlink(address.sun_path);
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	int inet = make_socket(AF_INET), unix_fd = make_socket(AF_UNIX), silent = make_socket(AF_INET);
	ok(listen(inet, 1) == 0 && bind(unix_fd, (struct sockaddr *)&local, sizeof(sa_family_t)) == 0 && listen(unix_fd, 1) == 0,
	   "two sockets listen");
	is_int(passed(unix_fd, inet), 34, "a Unix socket and a TCP socket are told apart");
	is_int(passed(inet, unix_fd), 43, "their order does not matter");
	is_int(passed(inet, -1), 3, "one socket will do");
	is_int(passed(silent, -1), -ERR_INPUT, "a socket that does not listen is refused");
	is_int(passed(inet, inet), -ERR_INPUT, "two TCP sockets are refused");
	unsetenv("LISTEN_FDS");
	struct service_sockets sockets;
	struct err e = ERR_INIT;
	ok(service_sockets(&sockets, &e) == 0 && sockets.local == 0 && sockets.inet == 0,
	   "without a service manager there are no sockets");
	return tap_done();
}
