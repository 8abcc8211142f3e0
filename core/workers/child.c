/* child: see child.h. Uses posix_spawn, because the daemon has many threads. */
#include "core/workers/child.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/folder.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/utf8.h"

extern char **environ;

/* What a filter's output may grow to, and how often it is looked at. */
enum { OUTPUT_MAX = 64 << 20, LOOK_MS = 100 };

/* How long a killed process is waited for, and how often. */
#define END_NS (30 * CLOCK_S)
#define PAUSE_NS (CLOCK_MS / 4)
#define PAUSE_MOST_NS (16 * CLOCK_MS)

/* --- environment ---------------------------------------------------------------------------------------------------------- */

static bool is_named(const char *text, size_t len, const char *name, size_t name_len)
{
	return len == name_len && strncmp(text, name, len) == 0;
}

/* Where NAME begins in PEAKD_MODEL="…?model=m&key_env=NAME&…", and its length; NULL when no key is named. */
static const char *key_variable(char *const *from, size_t *ret_len)
{
	static const char model[] = "PEAKD_MODEL=", option[] = "key_env=";
	for (; *from; from++) {
		const char *at = strncmp(*from, model, sizeof model - 1) == 0 ? strstr(*from, option) : NULL;
		if (at == NULL)
			continue;
		at += sizeof option - 1;
		*ret_len = strcspn(at, "&");
		return at;
	}
	*ret_len = 0;
	return NULL;
}

/* A list of what to leave out, not of what to keep: launchers (srun, ssh) and drivers read variables that nobody can list. */
char **child_environment(char *const *from)
{
	size_t key_len, count = 0, kept = 0;
	const char *key = key_variable(from, &key_len);
	while (from[count])
		count++;
	char **list = MEM_NEW_N(char *, count + 1);
	for (size_t i = 0; i < count; i++) {
		size_t len = strcspn(from[i], "=");
		if (!scrub_names_secret(from[i], len) && !is_named(from[i], len, "PEAKD_MODEL", 11) &&
		    !(key && is_named(from[i], len, key, key_len)))
			list[kept++] = from[i];
	}
	return list;
}

/* --- capabilities ------------------------------------------------------------------------------------------------------------ */

/* capabilities(7): a program that is executed gets the ambient set of the thread that starts it. */
enum { PERFMON = 38 };

void child_drop_capabilities(void)
{
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

void child_lend_perfmon(bool lend)
{
	prctl(PR_CAP_AMBIENT, lend ? PR_CAP_AMBIENT_RAISE : PR_CAP_AMBIENT_LOWER, PERFMON, 0, 0);
}

/* --- start and end -------------------------------------------------------------------------------------------------------- */

int child_start(char *const *argv, int in, int out, int complaints, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
	/* Our descriptors close themselves; a library's may not. */
	posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
#endif
	posix_spawnattr_init(&attr);
	/* A group of its own, so that a launcher and what it started die together. */
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	char **environment = child_environment(environ);
	int rc = posix_spawnp(ret_pid, argv[0], &actions, &attr, argv, environment);
	free(environment);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

/* --- other tools ---------------------------------------------------------------------------------------------------------- */

char *child_find_tool(const char *variable, const char *name)
{
	static const char *const variables[] = { "PEAKD_CUDA_TOOLKIT", "CUDA_HOME", "CUDA_PATH" };
	const char *named = getenv(variable);
	char *tail = mem_fmt("bin/%s", name), *path = NULL;
	if (named && *named) {
		path = access(named, X_OK) == 0 ? mem_str(named) : NULL;
	} else {
		for (size_t i = 0; path == NULL && i < MEM_COUNT(variables); i++)
			path = folder_find_program(getenv(variables[i]), tail);
		path = path ? path : folder_find_program("/usr/local/cuda:/opt/cuda", tail);
		path = path ? path : folder_find_program(getenv("PATH"), name);
	}
	free(tail);
	return path;
}

/* A file in memory with these bytes, at its beginning; -1. */
static int memory_file(const void *bytes, size_t len)
{
	int fd = memfd_create("peakd-child", MFD_CLOEXEC);
	const char *at = bytes;
	while (fd >= 0 && len) {
		ssize_t n = write(fd, at, len);
		if (n < 0 && errno != EINTR)
			child_close(&fd);
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

static void read_back(int fd, struct buf *out)
{
	char piece[16384];
	lseek(fd, 0, SEEK_SET);
	for (ssize_t n; (n = read(fd, piece, sizeof piece)) > 0;)
		buf_add(out, piece, (size_t)n);
}

/* Output is a file in memory, so a limit on files bounds it. */
static void limit(pid_t pid, size_t memory)
{
	const struct rlimit output = { OUTPUT_MAX, OUTPUT_MAX }, space = { memory, memory };
	prlimit(pid, RLIMIT_FSIZE, &output, NULL);
	if (memory)
		prlimit(pid, RLIMIT_AS, &space, NULL);
}

/* Waits until the process has ended. */
static int await_end(pid_t pid, const char *name, const struct child_bounds *bounds, struct err *e)
{
	/* Its end makes this readable (pidfd_open(2)). Where a kernel lacks it, poll only sleeps. */
	struct pollfd ended = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int64_t until = clock_now() + bounds->timeout_ns;
	int rc = 0;
	while (rc == 0 && !child_has_ended(pid)) {
		rc = cancel_check(bounds->cancel, e);
		if (rc == 0 && clock_now() >= until)
			rc = err_set(e, ERR_TIMEOUT, "%s did not end in time", name);
		else if (rc == 0)
			poll(&ended, 1, LOOK_MS);
	}
	child_close(&ended.fd);
	return rc;
}

/* Neither side waits for the other: input and output are files in memory. */
int child_filter(char *const *argv, const struct child_input *input, const struct child_bounds *bounds, struct buf *out,
		 struct err *e)
{
	int in = memory_file(input->bytes, input->len), to = memory_file("", 0), complaints = memory_file("", 0), rc = 0;
	struct buf said = BUF_INIT;
	pid_t pid = 0;
	if (in < 0 || to < 0 || complaints < 0)
		rc = err_set(e, ERR_IO, "cannot make the files of %s: %s", argv[0], strerror(errno));
	else if ((rc = child_start(argv, in, to, complaints, &pid)) != 0)
		rc = err_set(e, ERR_UNSUPPORTED, "cannot start %s: %s", argv[0], strerror(rc));
	if (rc == 0) {
		limit(pid, bounds->memory);
		rc = await_end(pid, argv[0], bounds, e);
		int status = child_end(pid);
		read_back(complaints, &said);
		char *last = child_last_words(&said);
		if (rc == 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ)
			rc = err_set(e, ERR_UNSUPPORTED, "%s writes more than %d MiB", argv[0], OUTPUT_MAX >> 20);
		else if (rc == 0 && (!WIFEXITED(status) || WEXITSTATUS(status)))
			rc = err_set(e, ERR_UNSUPPORTED, "%s fails%s", argv[0], last);
		else if (rc == 0)
			read_back(to, out);
		free(last);
	}
	buf_fini(&said);
	child_close(&in);
	child_close(&to);
	child_close(&complaints);
	return rc;
}

bool child_has_ended(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };
	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

static void *reap(void *arg)
{
	while (waitpid((pid_t)(intptr_t)arg, NULL, 0) < 0 && errno == EINTR)
		;
	return NULL;
}

/* A broken driver can hold a process in the kernel; a thread waits for it. */
static void leave(pid_t pid)
{
	pthread_attr_t detached;
	pthread_t thread;
	log_error("process %d was killed and does not end: a driver or a file system holds it", (int)pid);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	pthread_create(&thread, &detached, reap, (void *)(intptr_t)pid);
	pthread_attr_destroy(&detached);
}

int child_end(pid_t pid)
{
	int status = 0;
	pid_t ended;
	int64_t begun = clock_now(), pause = PAUSE_NS;
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	while ((ended = waitpid(pid, &status, WNOHANG)) == 0 && clock_now() - begun < END_NS) {
		clock_sleep(pause);
		pause = pause < PAUSE_MOST_NS ? 2 * pause : pause;
	}
	if (ended == 0) {
		leave(pid);
		status = SIGKILL; /* as wait would say */
	}
	return status;
}

void child_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

char *child_last_words(const struct buf *said)
{
	const char *words = buf_text(said);
	size_t len = strlen(words);
	while (len > 0 && (unsigned char)words[len - 1] <= ' ')
		len--;
	if (len == 0)
		return mem_str("");
	size_t skipped = len > CHILD_WORDS_MAX ? len - CHILD_WORDS_MAX : 0;
	char *text = mem_fmt("; it last said: %.*s", (int)(len - skipped), words + skipped);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
	return utf8_clean(text);
}
