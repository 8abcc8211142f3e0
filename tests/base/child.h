/* child: runs a function that must abort in a forked process, for tests of assertions. */
#ifndef PEAKD_TESTS_BASE_CHILD_H
#define PEAKD_TESTS_BASE_CHILD_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* True when doomed() ends its process by abort(). said (size bytes) gets its stderr. */
static int child_aborts(void (*doomed)(void), char *said, size_t size)
{
	int fds[2];
	if (pipe(fds) != 0)
		return 0;
	pid_t pid = fork();
	if (pid == 0) {
		struct rlimit none = { 0, 0 };
		setrlimit(RLIMIT_CORE, &none);
		dup2(fds[1], STDERR_FILENO);
		doomed();
		_exit(0);
	}
	close(fds[1]);
	size_t len = 0;
	for (ssize_t n; len + 1 < size && (n = read(fds[0], said + len, size - 1 - len)) > 0;)
		len += (size_t)n;
	said[len] = '\0';
	close(fds[0]);
	int status = 0;
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

#endif
