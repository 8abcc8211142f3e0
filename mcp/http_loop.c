/* http_loop: the network thread: waits, accepts, and lets libmicrohttpd read and write. Called by mcp/http.c.
 *
 * libmicrohttpd could do this itself, but 0.9.75 waits for another event before it serves what it has when exactly 128
 * connections become ready at once, and it leaves those beyond its limit without an answer. Here it never waits: its
 * epoll descriptor is polled together with the listening socket. */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "mcp/http_inner.h"

enum { ACCEPTS = 64, WAIT_MAX_MS = 60 * 1000, PAUSE_MS = 100, EVICTED = 8, MANY = 4, TURNS = 16 };

void http_loop_wake(struct mcp_http *http)
{
	uint64_t one = 1;
	while (write(http->loop_fd, &one, sizeof one) < 0 && errno == EINTR)
		;
}

/* Whether there may be more to accept. */
static int accept_one(struct mcp_http *http)
{
	struct sockaddr_storage a = { .ss_family = AF_UNSPEC };
	socklen_t n = sizeof a;
	int fd = accept4(http->listen_fd, (struct sockaddr *)&a, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0) {
		http_peers_add(http, fd, &a, n);
		return 1;
	}
	if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
		log_warning("http: no descriptors or memory for another connection; idle ones are closed");
		int evicted = 0;
		while (evicted < EVICTED && http_peers_evict(http))
			evicted++;
		if (evicted == 0) /* else there will be room after this turn */
			http->paused_until = clock_now() + PAUSE_MS * CLOCK_MS;
	}
	return errno == EINTR || errno == ECONNABORTED;
}

/* How long the thread may wait: libmicrohttpd's wish, the next connection that is to be closed, the end of a pause. */
static int patience(struct mcp_http *http, int64_t now)
{
	MHD_UNSIGNED_LONG_LONG ms;
	int64_t wait = -1, next = http_peers_next(http);
	if (MHD_get_timeout(http->daemon, &ms) == MHD_YES)
		wait = ms > WAIT_MAX_MS ? WAIT_MAX_MS : (int64_t)ms;
	if (http->paused_until > now && http->paused_until < next)
		next = http->paused_until;
	if (next != CLOCK_NEVER) {
		int64_t until = next > now ? (next - now) / CLOCK_MS + 1 : 0;
		wait = wait < 0 || until < wait ? until : wait;
	}
	return (int)wait;
}

/* Waits until there is something to do, and accepts. */
static void wait_for_work(struct mcp_http *http)
{
	uint64_t count;
	int listens = !atomic_load(&http->deaf) && http->paused_until <= http->now;
	struct pollfd p[] = {
		{ .fd = http->mhd_fd, .events = POLLIN },
		{ .fd = http->loop_fd, .events = POLLIN },
		{ .fd = listens ? http->listen_fd : -1, .events = POLLIN },
	};
	if (poll(p, sizeof p / sizeof p[0], patience(http, http->now)) < 0 && errno != EINTR)
		clock_sleep(CLOCK_MS);
	http->now = clock_now();
	if (p[1].revents && read(http->loop_fd, &count, sizeof count) < 0 && errno != EAGAIN)
		log_warning("http: the wake-up of the network thread cannot be read");
	for (int i = 0; p[2].revents && i < ACCEPTS && accept_one(http); i++)
		;
	http_peers_expire(http);
}

static void *run(void *arg)
{
	struct mcp_http *http = arg;
	int more = 0;
	http->now = clock_now();
	while (!atomic_load(&http->ended)) {
		if (more == 0)
			wait_for_work(http);
		else
			http->now = clock_now();
		http->served = 0;
		MHD_run(http->daemon);
		/* After several requests there are mostly more by now. */
		more = http->served < MANY ? 0 : more > 0 ? more - 1 : TURNS;
	}
	return NULL;
}

int http_loop_start(struct mcp_http *http, struct err *e)
{
	http->mhd_fd = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
	http->loop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (http->loop_fd < 0)
		return err_sys(e, errno, "waking the thread that serves HTTP");
	int rc = pthread_create(&http->loop, NULL, run, http);
	if (rc == 0)
		return 0;
	close(http->loop_fd);
	return err_sys(e, rc, "starting the thread that serves HTTP");
}

void http_loop_stop(struct mcp_http *http)
{
	atomic_store(&http->ended, 1);
	http_loop_wake(http);
	pthread_join(http->loop, NULL);
	close(http->loop_fd);
}
