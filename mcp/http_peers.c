/* http_peers: connections: how many there may be, in all and of one address, and which has to go when there are too many
 * or when it asks for nothing for too long. Everything here runs on the thread of mcp/http_loop.c.
 *
 * A connection is idle until a whole request of it has arrived; then it is busy until that is answered. Idle ones wait
 * in a queue, longest first. A connection beyond the limit takes the place of the longest idle one, so that somebody
 * who opens thousands, or sends a header byte a minute, keeps nobody out; when all are busy it gets 503, and one too
 * many of one address 429. Over TLS that can only be said after the handshake: a few of them at a time get so far. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "mcp/http_inner.h"

enum { ADDRESS = 16, REFUSING_MAX = 16 };

/* One address from which there are connections. */
struct http_client {
	struct http_client *next;
	unsigned char address[ADDRESS]; /* IPv6, or IPv4 mapped into it; zero for a Unix socket */
	int connections, streams;
};

struct http_peer {
	struct http_peer *prev, *next; /* in the queue of idle ones */
	struct http_client *client;    /* NULL when it is refused */
	int fd;
	int refused;      /* status of the answer to its request: there are too many connections; 0: it is served */
	int idle, doomed; /* in the queue; told to end, which takes until libmicrohttpd sees it */
	int64_t since;    /* monotonic time of becoming idle */
	struct mcp_parse_memory memory;
};

static void peer_free(struct http_peer *p)
{
	mcp_parse_memory_fini(&p->memory);
	free(p);
}

static void key_of(const struct sockaddr_storage *a, unsigned char key[ADDRESS])
{
	memset(key, 0, ADDRESS);
	if (a->ss_family == AF_INET) {
		key[10] = key[11] = 0xFF;
		memcpy(key + 12, &((const struct sockaddr_in *)a)->sin_addr, 4);
	} else if (a->ss_family == AF_INET6) {
		memcpy(key, &((const struct sockaddr_in6 *)a)->sin6_addr, ADDRESS);
	}
}

static struct http_client *client_of(struct mcp_http *http, const struct sockaddr_storage *a)
{
	unsigned char key[ADDRESS];
	key_of(a, key);
	for (struct http_client *c = http->clients; c; c = c->next)
		if (memcmp(c->address, key, ADDRESS) == 0)
			return c;
	struct http_client *c = MEM_NEW(struct http_client);
	memcpy(c->address, key, ADDRESS);
	c->next = http->clients;
	http->clients = c;
	return c;
}

static void client_drop(struct mcp_http *http, struct http_client *client)
{
	struct http_client **at = &http->clients;
	if (client->connections > 0 || client->streams > 0)
		return;
	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	free(client);
}

/* --- the queue -------------------------------------------------------------------------------------------------- */

static void enqueue(struct mcp_http *http, struct http_peer *p)
{
	p->idle = 1;
	p->since = http->now;
	p->prev = http->idle_last;
	p->next = NULL;
	if (p->prev)
		p->prev->next = p;
	else
		http->idle_first = p;
	http->idle_last = p;
}

static void dequeue(struct mcp_http *http, struct http_peer *p)
{
	if (!p->idle)
		return;
	if (p->prev)
		p->prev->next = p->next;
	else
		http->idle_first = p->next;
	if (p->next)
		p->next->prev = p->prev;
	else
		http->idle_last = p->prev;
	p->idle = 0;
}

/* libmicrohttpd has no call for this; it sees the end of the connection in its next run. */
static void doom(struct mcp_http *http, struct http_peer *p)
{
	dequeue(http, p);
	p->doomed = 1;
	http->doomed += !p->refused;
	shutdown(p->fd, SHUT_RDWR);
}

int http_peers_evict(struct mcp_http *http)
{
	struct http_peer *p = http->idle_first;
	while (p && p->refused) /* it takes nobody's place */
		p = p->next;
	if (p)
		doom(http, p);
	return p != NULL;
}

int64_t http_peers_next(const struct mcp_http *http)
{
	return http->idle_first ? http->idle_first->since + http->config.idle_ms * CLOCK_MS : CLOCK_NEVER;
}

void http_peers_expire(struct mcp_http *http)
{
	while (http->idle_first && http_peers_next(http) <= http->now)
		doom(http, http->idle_first);
}

/* --- coming and going ------------------------------------------------------------------------------------------- */

static const char *reason(int status)
{
	return status == MHD_HTTP_TOO_MANY_REQUESTS ? "too many connections of one client; close some"
						    : "the server is busy: too many connections at once";
}

/* An answer before anything was asked; over TLS nobody could read it. */
static void turn_away(const struct mcp_http *http, int fd, int status)
{
	char text[512], ignored[4096];
	if (http->config.tls_cert == NULL) {
		char body[256];
		int n = snprintf(body, sizeof body,
				 "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"%s\"}}\n",
				 reason(status));
		int all = snprintf(text, sizeof text,
				   "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
				   "Retry-After: 1\r\nConnection: close\r\n\r\n%s",
				   status, MHD_get_reason_phrase_for((unsigned)status), n, body);
		/* What was sent already is read, or closing would discard the answer. */
		while (recv(fd, ignored, sizeof ignored, MSG_DONTWAIT) > 0)
			;
		if (send(fd, text, (size_t)all, MSG_DONTWAIT | MSG_NOSIGNAL) == all)
			shutdown(fd, SHUT_WR);
	}
	close(fd);
}

/* Why a new connection is not served; 0: it is, maybe in the place of an idle one. */
static int status_for(struct mcp_http *http, const struct http_client *client)
{
	const struct mcp_http_config *c = &http->config;
	if (c->unix_path == NULL && client->connections >= c->max_per_client && c->max_per_client < c->max_connections)
		return MHD_HTTP_TOO_MANY_REQUESTS;
	if (http->connections - http->doomed >= c->max_connections && !http_peers_evict(http))
		return MHD_HTTP_SERVICE_UNAVAILABLE;
	return 0;
}

void http_peers_add(struct mcp_http *http, int take_fd, const struct sockaddr_storage *a, socklen_t n)
{
	struct http_client *client = client_of(http, a);
	int refused = status_for(http, client);
	if (refused && (http->config.tls_cert == NULL || http->refusing >= REFUSING_MAX)) {
		turn_away(http, take_fd, refused);
	} else {
		struct http_peer *p = MEM_NEW(struct http_peer);
		p->fd = take_fd;
		p->client = refused ? NULL : client;
		p->refused = refused;
		mcp_parse_memory_init(&p->memory, MCP_COMMON);
		http->arriving = p;
		enum MHD_Result added = MHD_add_connection(http->daemon, take_fd, (const struct sockaddr *)a, n);
		if (added != MHD_YES && http->arriving)
			log_debug("http: a connection could not be taken: %s", strerror(errno));
		if (http->arriving) /* it was not begun */
			peer_free(http->arriving);
		http->arriving = NULL;
	}
	client_drop(http, client);
}

/* Counts a connection, or that it has ended. */
static void count(struct mcp_http *http, const struct http_peer *p, int n)
{
	if (p->refused) {
		http->refusing += n;
	} else {
		http->connections += n;
		p->client->connections += n;
	}
}

void http_peers_notify(void *arg, struct MHD_Connection *conn, void **context, enum MHD_ConnectionNotificationCode code)
{
	struct mcp_http *http = arg;
	struct http_peer *p;
	(void)conn;
	switch (code) {
	case MHD_CONNECTION_NOTIFY_STARTED:
		*context = p = http->arriving;
		http->arriving = NULL;
		count(http, p, 1);
		enqueue(http, p);
		break;
	case MHD_CONNECTION_NOTIFY_CLOSED:
		p = *context;
		*context = NULL;
		dequeue(http, p);
		count(http, p, -1);
		http->doomed -= p->doomed && !p->refused;
		if (p->client)
			client_drop(http, p->client);
		peer_free(p);
		break;
	}
}

void http_peers_fini(struct mcp_http *http)
{
	while (http->clients) {
		struct http_client *c = http->clients;
		http->clients = c->next;
		free(c);
	}
}

/* --- requests --------------------------------------------------------------------------------------------------- */

int http_peers_refused(struct http_exchange *x, const char **ret_why)
{
	int status = x->peer->refused;
	*ret_why = reason(status);
	return status;
}

void http_peers_begin(struct http_exchange *x)
{
	struct http_peer *p = x->peer;
	if (p->idle) { /* the headers are complete: the rest of the request gets as long again */
		dequeue(x->http, p);
		enqueue(x->http, p);
	}
}

void http_peers_busy(struct http_exchange *x)
{
	dequeue(x->http, x->peer);
}

void http_peers_done(struct http_exchange *x)
{
	struct http_peer *p = x->peer;
	if (x->counted)
		p->client->streams--;
	x->counted = 0;
	if (!p->idle && !p->doomed)
		enqueue(x->http, p);
}

struct mcp_parse_memory *http_peers_memory(struct http_exchange *x)
{
	return &x->peer->memory;
}

int http_peers_stream(struct http_exchange *x, int may_refuse)
{
	struct http_client *client = x->peer->client;
	if (x->counted)
		return 1;
	if (may_refuse && client->streams >= x->http->config.max_streams)
		return 0;
	client->streams++;
	x->counted = 1;
	return 1;
}
