/* http_watch: one thread that sleeps in epoll until a waiting client hangs up, or a stream was quiet for too long; see
 * http_watch.h. With nothing to watch it sleeps without a limit, so an idle server uses no CPU. */
#include "mcp/http_watch.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"

enum { TICKS = 3, EVENTS = 64, QUIET_TICKS = 3 }; /* TICKS: how often a stream is looked at while it is quiet */

static int fd_of(const struct http_exchange *x)
{
	return MHD_get_connection_info(x->conn, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

/* The number of the descriptor may be a later connection's by now, so it is asked again. */
static int hung_up(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };
	return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static void handle(struct mcp_http *http, int fd)
{
	struct mcp_call *call = NULL;
	lock_take(&http->lock);
	for (struct http_exchange *x = http->watched; x; x = x->next) {
		if (fd_of(x) != fd || !hung_up(fd))
			continue;
		call = x->call ? mcp_call_ref(x->call) : NULL;
		http_exchange_hang_up(x);
		break;
	}
	lock_release(&http->lock);
	if (call)
		mcp_call_gone(call);
	mcp_call_unref(call);
}

/* Comments for quiet streams. Returns whether anything is watched. */
static int tick(struct mcp_http *http)
{
	int64_t now = clock_now();
	lock_take(&http->lock);
	int any = http->watched != NULL;
	for (struct http_exchange *x = http->watched; x; x = x->next)
		http_exchange_keep_alive(x, now);
	lock_release(&http->lock);
	return any;
}

/* Whether the thread may sleep without a limit: nothing was there for a while. Decided under the lock, so that whoever
 * adds something knows whether to wake it. */
static int may_sleep(struct mcp_http *http, int quiet)
{
	lock_take(&http->lock);
	http->watcher_sleeps = quiet >= QUIET_TICKS && http->watched == NULL && !atomic_load(&http->stopping);
	int sleeps = http->watcher_sleeps;
	lock_release(&http->lock);
	return sleeps;
}

static void *watch(void *arg)
{
	struct mcp_http *http = arg;
	struct epoll_event events[EVENTS];
	int quiet = QUIET_TICKS;
	int64_t next = clock_now();
	while (atomic_load(&http->stopping) != 2) {
		int wait = may_sleep(http, quiet) ? -1 : clock_poll_ms(next);
		int n = epoll_wait(http->epoll_fd, events, EVENTS, wait);
		for (int i = 0; i < n; i++) {
			uint64_t count;
			if (events[i].data.fd != http->wake_fd)
				handle(http, events[i].data.fd);
			else if (read(http->wake_fd, &count, sizeof count) > 0)
				quiet = 0;
		}
		if (clock_now() >= next) {
			quiet = tick(http) ? 0 : quiet + 1;
			next = clock_now() + http->config.keep_alive_ms / TICKS * CLOCK_MS;
		}
	}
	return NULL;
}

int http_watch_start(struct mcp_http *http, struct err *e)
{
	http->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	http->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = http->wake_fd };
	if (http->epoll_fd < 0 || http->wake_fd < 0 || epoll_ctl(http->epoll_fd, EPOLL_CTL_ADD, http->wake_fd, &ev) < 0)
		return err_sys(e, errno, "watching HTTP connections");
	int rc = pthread_create(&http->watcher, NULL, watch, http);
	return rc == 0 ? 0 : err_sys(e, rc, "starting the thread that watches HTTP connections");
}

static void wake(struct mcp_http *http)
{
	uint64_t one = 1;
	while (write(http->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
		;
}

void http_watch_stop(struct mcp_http *http)
{
	atomic_store(&http->stopping, 2);
	wake(http);
	pthread_join(http->watcher, NULL);
	close(http->epoll_fd);
	close(http->wake_fd);
}

void http_watch_add(struct http_exchange *x)
{
	struct mcp_http *http = x->http;
	if (x->watched)
		return;
	struct epoll_event ev = { .events = EPOLLRDHUP | EPOLLONESHOT, .data.fd = fd_of(x) };
	x->watched = 1;
	lock_take(&http->lock);
	x->next = http->watched;
	if (x->next)
		x->next->prev = x;
	http->watched = x;
	epoll_ctl(http->epoll_fd, EPOLL_CTL_ADD, ev.data.fd, &ev);
	int asleep = http->watcher_sleeps;
	http->watcher_sleeps = 0;
	lock_release(&http->lock);
	if (asleep)
		wake(http);
}

void http_watch_remove(struct http_exchange *x)
{
	struct mcp_http *http = x->http;
	if (!x->watched)
		return;
	lock_take(&http->lock);
	if (x->prev)
		x->prev->next = x->next;
	else
		http->watched = x->next;
	if (x->next)
		x->next->prev = x->prev;
	x->prev = x->next = NULL;
	epoll_ctl(http->epoll_fd, EPOLL_CTL_DEL, fd_of(x), NULL);
	lock_release(&http->lock);
	x->watched = 0;
}
