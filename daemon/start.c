/* start: see start.h. The database's lock names the daemon and its socket; the log says why a daemon failed to start. */
#include "daemon/start.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/record/store.h"
#include "daemon/socket.h"

/* Migrating a large database takes time, and so does everything on a busy machine. */
#define WAIT_NS (60 * CLOCK_S)
#define SAY_NS (10 * CLOCK_S)
#define LOOK_NS (20 * CLOCK_MS)

enum { LOG_MAX = 1 << 20, TAIL = 4096, ENVIRONMENT_MAX = 4 << 20 };

struct start {
	const char *db;
	char *socket; /* where a daemon with this environment listens */
	char *log;
	pid_t child; /* the daemon that was started; 0: none */
};

/* Truncates a log that has grown large. */
static int open_log(const struct start *s, struct err *e)
{
	struct stat st;
	int fd = open(s->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(e, errno, "%s: the log of the daemon to start cannot be written: name another database with --db",
			       s->log);
	if (fstat(fd, &st) == 0 && st.st_size > LOG_MAX && ftruncate(fd, 0) != 0)
		st.st_size = 0; /* a long log does no harm */
	return fd;
}

/* In the child: only calls that are safe after fork. */
static void become_daemon(int log_fd, const char *const *argv) __attribute__((noreturn));
static void become_daemon(int log_fd, const char *const *argv)
{
	sigset_t none;
	sigemptyset(&none);
	int null_fd = open("/dev/null", O_RDWR);
	setsid();
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_DFL);
	dup2(null_fd, 0);
	dup2(null_fd, 1);
	dup2(log_fd, 2);
	closefrom(3);
	execv("/proc/self/exe", (char *const *)argv);
	_exit(127);
}

/* A daemon of ours would leave files that the owner's daemon cannot open. Root is refused too. */
static int check_owner(const char *db, struct err *e)
{
	struct stat st;
	if (stat(db, &st) != 0 || st.st_uid == geteuid())
		return 0;
	const struct passwd *owner = getpwuid(st.st_uid);
	return err_set(
		e, ERR_UNSUPPORTED,
		"%s belongs to user %u%s%s%s, whose daemon does not run. Start that daemon (a service: systemctl start peakd). If "
		"it should be yours, run `peakd serve --db %s`",
		db, (unsigned)st.st_uid, owner ? " (" : "", owner ? owner->pw_name : "", owner ? ")" : "", db);
}

static int spawn(struct start *s, struct err *e)
{
	const char *argv[] = { "peakd", "serve", "--listen", "none", "--idle-exit", "20", "--db", s->db, NULL };
	if (check_owner(s->db, e) < 0)
		return -(int)e->code;
	int log_fd = open_log(s, e);
	if (log_fd < 0)
		return log_fd;
	s->child = fork();
	if (s->child == 0)
		become_daemon(log_fd, argv);
	int rc = s->child < 0 ? err_sys(e, errno, "a daemon cannot be started: fork") : 0;
	close(log_fd);
	return rc;
}

/* The log's last line without time and level; "" without one. free(). */
static char *last_line(const char *log)
{
	char text[TAIL + 1];
	struct stat st;
	int fd = open(log, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;
	if (fd >= 0 && fstat(fd, &st) == 0)
		n = pread(fd, text, TAIL, st.st_size > TAIL ? st.st_size - TAIL : 0);
	if (fd >= 0)
		close(fd);
	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n > 0 ? n : 0] = '\0';
	const char *line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	const char *said = strstr(line, "error: ");
	return mem_str(said ? said + strlen("error: ") : line);
}

/* True when the daemon that was started has ended with an error. */
static bool child_failed(struct start *s, struct err *e)
{
	int status;
	if (s->child == 0 || waitpid(s->child, &status, WNOHANG) != s->child)
		return false;
	s->child = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return false; /* nobody needed it for a while: another one is started */
	char *line = last_line(s->log);
	err_set(e, ERR_IO, "the daemon for %s could not start: %s (log: %s)", s->db,
		*line ? line : "its log is empty, so the disk may be full", s->log);
	free(line);
	return true;
}

/* Connects to the socket of the process that holds the database. A service's private /tmp is reached through the process's own
 * root. */
static int connect_to(int pid, const char *path, int *ret_fd, struct err *e)
{
	int rc = socket_connect(path, ret_fd, e);
	if (rc != -ERR_NOT_FOUND || pid == 0)
		return rc;
	char *theirs = mem_fmt("/proc/%d/root%s", pid, path);
	struct err ignored = ERR_INIT;
	rc = socket_connect(theirs, ret_fd, &ignored) == 0 ? 0 : rc;
	free(theirs);
	return rc;
}

/* 1 connected, 0 not yet. */
static int try_once(struct start *s, int *ret_fd, struct err *e)
{
	int pid = 0;
	char *note = NULL;
	struct err why = ERR_INIT;
	int held = store_lock_holder(s->db, &pid, &note, e);
	if (held < 0)
		return held;
	/* The lock's note has the socket's path, since the daemon's environment may differ from ours. A full disk, or a lock file
	 * that somebody deleted, leaves no note. */
	int rc = held ? connect_to(pid, *note == '/' ? note : s->socket, ret_fd, &why) : -ERR_NOT_FOUND;
	free(note);
	if (rc == 0)
		return 1;
	if (rc != -ERR_NOT_FOUND)
		return err_set(e, why.code, "%s", why.text);
	if (held)
		return 0;
	if (child_failed(s, e))
		return -(int)e->code;
	return s->child ? 0 : spawn(s, e);
}

static int timed_out(const struct start *s, struct err *e)
{
	char *line = last_line(s->log);
	int pid = 0;
	char *note = NULL;
	struct err ignored = ERR_INIT;
	if (store_lock_holder(s->db, &pid, &note, &ignored) > 0 && pid == 0)
		err_set(e, ERR_TIMEOUT,
			"another peakd serves %s, somebody deleted its lock file %s.lock, and it does not answer on %s; end it, or "
			"name "
			"another database with --db",
			s->db, s->db, s->socket);
	else if (pid)
		err_set(e, ERR_TIMEOUT,
			"process %d holds %s but did not answer on its socket %s within %d s; end it, or name another "
			"database with --db",
			pid, s->db, note, (int)(WAIT_NS / CLOCK_S));
	else
		err_set(e, ERR_TIMEOUT, "the daemon for %s did not start within %d s; its log %s ends: %s", s->db,
			(int)(WAIT_NS / CLOCK_S), s->log, line);
	free(note);
	free(line);
	return -ERR_TIMEOUT;
}

static void say_waiting(const struct start *s)
{
	struct err ignored = ERR_INIT;
	char *note = NULL;
	int pid = s->child;
	store_lock_holder(s->db, &pid, &note, &ignored);
	if (pid)
		log_warning("waiting for process %d, the daemon of %s, to be ready", pid, s->db);
	free(note);
}

int start_connect(const char *db, int *ret_fd, struct err *e)
{
	struct stat st;
	if (stat(db, &st) == 0 && S_ISSOCK(st.st_mode))
		return socket_connect(db, ret_fd, e);
	struct start s = { .db = db, .log = mem_fmt("%s.log", db) };
	int64_t began = clock_now();
	bool said = false;
	int rc = socket_path(db, &s.socket, e);
	while (rc == 0) {
		int64_t waited = clock_now() - began;
		rc = try_once(&s, ret_fd, e);
		if (rc == 0 && !said && waited > SAY_NS) {
			said = true;
			say_waiting(&s);
		}
		if (rc == 0 && waited > WAIT_NS)
			rc = timed_out(&s, e);
		if (rc == 0)
			clock_sleep(LOOK_NS);
	}
	free(s.socket);
	free(s.log);
	return rc > 0 ? 0 : rc;
}

extern char **environ;

/* --- variables that only the daemon reads ------------------------------------------------------------------------------------ */

/* Reads /proc/PID/environ: entries that end in NUL. False when it cannot be read, as with another user's process. */
static bool read_entries(int pid, struct buf *out)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/environ", pid);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return false;
	char *room = buf_room(out, ENVIRONMENT_MAX);
	out->len = fread(room, 1, ENVIRONMENT_MAX, f);
	fclose(f);
	return out->len > 0;
}

/* The value of a variable that the daemon was started with; NULL: it is not set there. */
static const char *value_there(const struct buf *entries, const char *name, size_t n)
{
	for (size_t at = 0; at < entries->len; at += strnlen(entries->data + at, entries->len - at) + 1)
		if (strncmp(entries->data + at, name, n) == 0 && entries->data[at + n] == '=')
			return entries->data + at + n + 1;
	return NULL;
}

/* The environment of the process at the other end. False when it cannot be read. */
static bool read_peer(int fd, struct ucred *ret_peer, struct buf *out)
{
	socklen_t size = sizeof *ret_peer;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret_peer, &size) < 0 || !read_entries(ret_peer->pid, out))
		return false;
	buf_addc(out, '\0');
	return true;
}

bool start_shares(int fd, const char *name)
{
	struct ucred peer;
	struct buf entries = BUF_INIT;
	const char *here = getenv(name);
	const char *there = read_peer(fd, &peer, &entries) ? value_there(&entries, name, strlen(name)) : NULL;
	bool same = here && there && strcmp(here, there) == 0;
	buf_fini(&entries);
	return same;
}

void start_warn_environment(int fd)
{
	struct ucred peer;
	struct buf entries = BUF_INIT, names = BUF_INIT;
	if (read_peer(fd, &peer, &entries)) {
		for (char **entry = environ; *entry; entry++) {
			size_t n = strcspn(*entry, "=");
			const char *here = (*entry)[n] ? *entry + n + 1 : "", *there = value_there(&entries, *entry, n);
			/* PEAKD_DB chose this daemon, so both agree on it. */
			bool ours = strncmp(*entry, "PEAKD_", 6) == 0 && strncmp(*entry, "PEAKD_DB=", 9) != 0;
			if (ours && *here && (there == NULL || strcmp(here, there) != 0))
				buf_addf(&names, "%s%.*s %s", names.len ? ", " : "", (int)n, *entry,
					 there && *there ? "has another value there" : "is not set there");
		}
	}
	if (names.len)
		fprintf(stderr,
			"peakd: the daemon of this database (process %d) was started with another environment, which it keeps: %s. "
			"`peakd stop` ends it, and the next command starts one with yours\n",
			peer.pid, buf_text(&names));
	buf_fini(&entries);
	buf_fini(&names);
}
