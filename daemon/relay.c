/* relay: see relay.h. One poll loop copies both directions. */
#include "daemon/relay.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/start.h"

/* BITE: what a writable pipe or socket takes without blocking, PIPE_BUF of pipe(7). */
enum { CHUNK = 64 * 1024, BITE = 4096 };

/* One direction. It reads only after everything is written, so a slow reader slows the writer down. */
struct way {
	int from, to;
	bool ended;     /* the source has ended and everything is written */
	size_t at, len; /* unwritten: bytes[at…len) */
	char bytes[CHUNK];
};

static bool pump_in(struct way *w)
{
	ssize_t n = read(w->from, w->bytes, CHUNK);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	w->at = 0;
	w->len = (size_t)n;
	return n > 0;
}

static bool pump_out(struct way *w)
{
	/* A blocking write would stop the other direction too, and an IDE may write a lot before it reads. */
	size_t left = w->len - w->at;
	ssize_t n = write(w->to, w->bytes + w->at, left < BITE ? left : BITE);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	w->at += (size_t)n;
	return true;
}

int relay_run(int in_fd, int out_fd, int peer_fd, struct err *e)
{
	struct way *up = MEM_NEW(struct way), *down = MEM_NEW(struct way);
	int rc = 0;
	up->from = in_fd;
	up->to = down->from = peer_fd;
	down->to = out_fd;
	while (!down->ended) {
		struct pollfd fds[2];
		struct way *ways[] = { up, down };
		for (size_t i = 0; i < 2; i++) {
			struct way *w = ways[i];
			bool full = w->at < w->len;
			fds[i] = (struct pollfd){ .fd = w->ended ? -1 : full ? w->to : w->from, .events = full ? POLLOUT : POLLIN };
		}
		if (poll(fds, 2, -1) < 0)
			continue;
		for (size_t i = 0; i < 2; i++) {
			struct way *w = ways[i];
			if (fds[i].revents)
				w->ended = w->at < w->len ? !pump_out(w) : !pump_in(w);
		}
		/* The daemon answers the calls in flight and then closes. */
		if (fds[0].revents && up->ended)
			shutdown(peer_fd, SHUT_WR);
	}
	if (!up->ended)
		rc = err_set(e, ERR_NETWORK,
			     "the daemon ended the connection, or standard output was closed; committed results are "
			     "kept: connect again, which starts a daemon when none runs");
	free(up);
	free(down);
	return rc;
}

static int stdio_verb_run(const struct verb_line *line)
{
	struct err e = ERR_INIT;
	int fd, rc;
	signal(SIGPIPE, SIG_IGN);
	rc = start_connect(line->db, &fd, &e);
	if (rc < 0)
		return verb_fail(line, &e);
	rc = relay_run(0, 1, fd, &e);
	close(fd);
	return rc < 0 ? verb_fail(line, &e) : VERB_OK;
}

const struct verb relay_verb = { .name = "stdio", .run = stdio_verb_run };
