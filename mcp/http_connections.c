/* http_connections: how many connections there may be, and which has to go when there are too many. A thread sees what
 * libmicrohttpd does not; see http_inner.h.
 *
 * libmicrohttpd ends a connection on which nothing happens, but a byte now and then keeps it, and beyond its limit it
 * answers nobody. So a connection that has sent no whole request for too long is ended here. One beyond the limit takes
 * the place of the longest idle: who opens thousands, or sends a header byte a minute, keeps nobody out. When all are busy
 * it gets 503.
 *
 * libmicrohttpd does not look at suspended connections either. The watching thread sleeps in epoll until a client that waits for
 * its answer hangs up. Now and then it sends comments on quiet streams and ends what was idle for too long. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "mcp/http_inner.h"

enum { TICKS = 3, EVENTS = 64 }; /* TICKS: how often a stream is looked at while it may be quiet */

/* --- connections ------------------------------------------------------------------------------------------------ */

/* libmicrohttpd has no call for this; it notices the end of the connection in its next turn. */
static void doom_locked(struct mcp_http *http, struct http_connection *c)
{
	c->is_idle = 0;
	c->is_doomed = 1;
	http->doomed += !c->is_surplus;
	shutdown(c->fd, SHUT_RDWR);
}

void http_connections_notify(void *arg, struct MHD_Connection *mhd, void **context, enum MHD_ConnectionNotificationCode code)
{
	struct mcp_http *http = arg;
	/* For a connection that gives up its place, since its request may have come and was not read yet. */
	static const char busy[] =
		"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
	struct http_connection *c = *context, *idlest = NULL;
	atomic_fetch_add(&http->turns, 1);
	lock_take(&http->lock);
	switch (code) {
	case MHD_CONNECTION_NOTIFY_STARTED:
		*context = c = MEM_NEW(struct http_connection);
		c->fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
		if (http->connections - http->doomed >= http->config.max_connections) {
			for (struct http_connection *o = http->all; o; o = o->next)
				if (o->is_idle && !o->is_surplus && (idlest == NULL || o->since <= idlest->since))
					idlest = o;
			c->is_surplus = idlest == NULL;
		}
		if (idlest) {
			if (!idlest->has_asked && http->config.tls_cert == NULL)
				send(idlest->fd, busy, sizeof busy - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
			doom_locked(http, idlest);
		}
		http->connections += !c->is_surplus;
		c->is_idle = 1;
		c->since = clock_now();
		c->next = http->all;
		if (c->next)
			c->next->prev = c;
		http->all = c;
		break;
	case MHD_CONNECTION_NOTIFY_CLOSED:
		*context = NULL;
		http->connections -= !c->is_surplus;
		http->doomed -= c->is_doomed && !c->is_surplus;
		if (c->prev)
			c->prev->next = c->next;
		else
			http->all = c->next;
		if (c->next)
			c->next->prev = c->prev;
		free(c);
		break;
	}
	lock_release(&http->lock);
}

void http_connections_set_idle(struct http_exchange *x, int idle)
{
	lock_take(&x->http->lock);
	x->connection->is_idle = idle && !x->connection->is_doomed;
	x->connection->has_asked = 1;
	x->connection->since = clock_now();
	lock_release(&x->http->lock);
}

/* --- watched exchanges ------------------------------------------------------------------------------------------ */

void http_connections_watch(struct http_exchange *x, int on)
{
	struct http_connection *c = x->connection;
	struct epoll_event ev = { .events = EPOLLRDHUP | EPOLLONESHOT, .data.fd = c->fd };
	lock_take(&x->http->lock);
	if (on != (c->watched != NULL))
		epoll_ctl(x->http->epoll_fd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, c->fd, &ev);
	c->watched = on ? x : NULL;
	lock_release(&x->http->lock);
}

size_t http_connections_silent(struct mcp_http *http)
{
	size_t n = 0;
	lock_take(&http->lock);
	for (const struct http_connection *c = http->all; c; c = c->next)
		n += !c->has_asked && !c->is_doomed;
	lock_release(&http->lock);
	return n;
}

size_t http_connections_end_streams(struct mcp_http *http)
{
	lock_take(&http->lock);
	for (struct http_connection *c = http->all; c; c = c->next) {
		struct http_exchange *x = c->watched;
		if (x == NULL)
			continue;
		lock_take(&x->lock);
		int events = x->phase == HTTP_EVENTS;
		lock_release(&x->lock);
		if (events)
			http_exchange_add_events(x, "", 0, 1);
		else
			http_exchange_hang_up(x);
	}
	lock_release(&http->lock);
	return atomic_load(&http->open);
}

/* --- the watching thread ---------------------------------------------------------------------------------------- */

/* Something happened on a descriptor. Its number may be a later connection's by now, so the socket is asked again. */
static void look_at(struct mcp_http *http, int fd)
{
	struct mcp_call *call = NULL;
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };
	lock_take(&http->lock);
	struct http_connection *c = http->all;
	while (c && c->fd != fd)
		c = c->next;
	struct http_exchange *x = c ? c->watched : NULL;
	if (x && poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR))) {
		call = x->call && x->call->modern ? mcp_call_ref(x->call) : NULL;
		http_exchange_hang_up(x);
	}
	lock_release(&http->lock);
	if (call)
		mcp_call_cancel(call, MCP_CANCEL_LEFT);
	mcp_call_unref(call);
}

static void *watch(void *arg)
{
	struct mcp_http *http = arg;
	struct epoll_event events[EVENTS];
	int64_t next = clock_now();
	while (atomic_load(&http->stopping) != 2) {
		int n = epoll_wait(http->epoll_fd, events, EVENTS, clock_poll_ms(next));
		for (int i = 0; i < n; i++)
			if (events[i].data.fd != http->wake_fd)
				look_at(http, events[i].data.fd);
		int64_t now = clock_now();
		if (now < next)
			continue;
		lock_take(&http->lock);
		for (struct http_connection *c = http->all; c; c = c->next) {
			if (c->watched)
				http_exchange_keep_alive(c->watched, now);
			if (c->is_idle && now - c->since >= http->config.idle_ms * CLOCK_MS)
				doom_locked(http, c);
		}
		lock_release(&http->lock);
		next = now + http->config.keep_alive_ms * CLOCK_MS / TICKS;
	}
	return NULL;
}

int http_connections_start(struct mcp_http *http, struct err *e)
{
	http->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	http->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = http->wake_fd };
	if (http->epoll_fd < 0 || http->wake_fd < 0 || epoll_ctl(http->epoll_fd, EPOLL_CTL_ADD, http->wake_fd, &ev) < 0)
		return err_sys(e, errno, "watching HTTP connections");
	int rc = pthread_create(&http->watcher, NULL, watch, http);
	return rc == 0 ? 0 : err_sys(e, rc, "starting the thread that watches HTTP connections");
}

void http_connections_stop(struct mcp_http *http)
{
	uint64_t one = 1;
	atomic_store(&http->stopping, 2);
	while (write(http->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
		;
	pthread_join(http->watcher, NULL);
	close(http->epoll_fd);
	close(http->wake_fd);
}
