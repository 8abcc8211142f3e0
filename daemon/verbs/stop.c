/* stop: `peakd stop`: ends the daemon of a database. Unfinished jobs are interrupted, and can be resumed. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/record/store.h"
#include "daemon/socket.h"
#include "daemon/verbs/verbs.h"

enum { END_MS = 30000 }; /* the daemon itself gives its jobs 5 s */

/* The daemon's process; 0: none runs. --db may also name its socket. */
static int find_daemon(const char *db, int *ret_pid, struct err *e)
{
	struct stat st;
	struct ucred peer;
	socklen_t size = sizeof peer;
	char *note = NULL;
	int fd, rc;
	*ret_pid = 0;
	if (stat(db, &st) != 0 || !S_ISSOCK(st.st_mode)) {
		rc = stat(db, &st) == 0 ? store_lock_holder(db, ret_pid, &note, e)
					: err_sys(e, errno, "%s: there is no such database", db);
		free(note);
		return rc < 0 ? rc : 0;
	}
	rc = socket_connect(db, &fd, e);
	if (rc < 0)
		return rc;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
		*ret_pid = peer.pid;
	close(fd);
	return 0;
}

static int stop_run(const struct verb_line *line)
{
	struct err e = ERR_INIT;
	int pid;
	if (find_daemon(line->db, &pid, &e) < 0)
		return verb_fail(line, &e);
	if (pid == 0)
		return verbs_answer(line, json_pack("{s:s, s:n}", "database", line->db, "process"), "no daemon runs for %s\n",
				    line->db);
	/* A descriptor of the process stays that process's, also when its number is given to another one. */
	int process = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd ended = { .fd = process, .events = POLLIN };
	if (process < 0 || syscall(SYS_pidfd_send_signal, process, SIGTERM, NULL, 0) < 0)
		err_sys(&e, errno, "process %d, the daemon of %s, cannot be ended", pid, line->db);
	else if (poll(&ended, 1, END_MS) != 1)
		err_set(&e, ERR_TIMEOUT, "process %d, the daemon of %s, did not end within %d s: look at its log, or kill it", pid,
			line->db, END_MS / 1000);
	if (process >= 0)
		close(process);
	if (e.code != ERR_NONE)
		return verb_fail(line, &e);
	return verbs_answer(line, json_pack("{s:s, s:i}", "database", line->db, "process", pid),
			    "the daemon of %s (process %d) has ended; `peakd jobs` starts one and shows what can be resumed\n",
			    line->db, pid);
}

const struct verb stop_verb = { .name = "stop", .run = stop_run };
