/* http: listening, and the way of a request: admitted, read, handed to the server, answered; see http.h and
 * http_inner.h. */
#include "mcp/http.h"
#include "mcp/inner.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "mcp/http_inner.h"

enum { IDLE_S = 60, HEADERS_MAX = 16 * 1024, BACKLOG = 1024, STOP_S = 3, GRACE_MS = 250 };

/* --- POST ------------------------------------------------------------------------------------------------------- */

static const char *get_header(void *arg, const char *name)
{
	struct http_exchange *x = arg;
	return MHD_lookup_connection_value(x->mhd, MHD_HEADER_KIND, name);
}

static int accepts(struct http_exchange *x, const char *type)
{
	const char *accept = x->headers[HTTP_ACCEPT];
	return accept == NULL || strcasestr(accept, type) || strstr(accept, "*/*");
}

/* The legacy session that the request names, held by the exchange; NULL: it names none. -1 after queueing the refusal of
 * a name that is no session's (any more). */
static int find_session(struct http_exchange *x, enum MHD_Result *ret_result)
{
	const char *id = x->headers[HTTP_MCP_SESSION_ID], *version = x->headers[HTTP_MCP_PROTOCOL_VERSION];
	if (id == NULL || (version && strcmp(version, MCP_MODERN) == 0)) /* 2026-07-28 ignores sessions */
		return 0;
	x->session = mcp_server_session(x->http->server, id);
	if (x->session) {
		atomic_fetch_add(&x->session->streams, 1);
		return 0;
	}
	*ret_result = http_exchange_refuse(x, MHD_HTTP_NOT_FOUND, NULL, NULL,
					   "this session has ended or never existed: send initialize again without "
					   "Mcp-Session-Id");
	return -1;
}

static enum MHD_Result refuse_stream(struct http_exchange *x)
{
	return http_exchange_refuse(x, MHD_HTTP_TOO_MANY_REQUESTS, "Retry-After", "1",
				    "%d streams are open, which is the limit; close one", x->http->config.max_streams);
}

static enum MHD_Result post(struct http_exchange *x)
{
	const char *version = x->headers[HTTP_MCP_PROTOCOL_VERSION], *method = x->headers[HTTP_MCP_METHOD];
	const char *type = x->headers[HTTP_CONTENT_TYPE];
	enum MHD_Result result;
	if (x->no_room)
		return http_exchange_refuse(x, MHD_HTTP_SERVICE_UNAVAILABLE, "Retry-After", "1",
					    "the server is busy: other messages fill the memory that it has for them");
	if (x->is_too_large)
		return http_exchange_refuse(x, MHD_HTTP_CONTENT_TOO_LARGE, NULL, NULL, "a message may have %zu bytes at most",
					    x->http->server->config.max_message);
	if (type == NULL || strncasecmp(type, "application/json", 16) != 0 || (type[16] && !strchr("; \t", type[16])))
		return http_exchange_refuse(x, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, NULL, NULL,
					    "send the message with \"Content-Type: application/json\"");
	if (!accepts(x, "application/json"))
		return http_exchange_refuse(x, MHD_HTTP_NOT_ACCEPTABLE, NULL, NULL,
					    "accept both answers: \"Accept: application/json, text/event-stream\"");
	/* The header must agree with the body, so it can be believed before that is parsed. */
	if (version && method && strcmp(method, "subscriptions/listen") == 0 && !http_exchange_count_stream(x))
		return refuse_stream(x);
	if (find_session(x, &result) < 0)
		return result;
	if (x->session && version && !mcp_legacy_speaks(version))
		return http_exchange_refuse(x, MHD_HTTP_BAD_REQUEST, NULL, NULL,
					    "this session does not speak MCP-Protocol-Version \"%s\"", version);
	/* Hands the message to the server; the answer may be there when this returns, or come later. */
	struct mcp_headers headers = { .version = x->headers[HTTP_MCP_PROTOCOL_VERSION],
				       .method = x->headers[HTTP_MCP_METHOD],
				       .name = x->headers[HTTP_MCP_NAME],
				       .get = get_header,
				       .ctx = x };
	struct mcp_stream *stream = x->session ? http_replay_begin(x->session, x) : mcp_stream_ref(&x->stream);
	struct mcp_arrival a = {
		.text = buf_text(&x->body), .n = x->body.len, .stream = stream, .session = x->session, .headers = &headers
	};
	struct mcp_receipt receipt;
	mcp_server_receive(x->http->server, &a, &receipt);
	mcp_stream_unref(stream);
	http_exchange_drop_body(x);
	x->opened = receipt.session;
	x->call = receipt.call;
	if (receipt.accepted && x->channel)
		http_replay_forget(x->channel);
	return receipt.accepted ? http_exchange_empty(x, MHD_HTTP_ACCEPTED) : http_exchange_respond(x);
}

/* --- GET and DELETE --------------------------------------------------------------------------------------------- */

static enum MHD_Result not_allowed(struct http_exchange *x)
{
	return http_exchange_refuse(x, MHD_HTTP_METHOD_NOT_ALLOWED, "Allow", "POST",
				    "this endpoint takes POST; GET and DELETE belong to sessions of revisions up to "
				    "2025-11-25");
}

static enum MHD_Result get_or_delete(struct http_exchange *x, int is_get)
{
	enum MHD_Result result;
	const char *version = x->headers[HTTP_MCP_PROTOCOL_VERSION];
	if (find_session(x, &result) < 0)
		return result;
	if (x->session == NULL && version && mcp_legacy_speaks(version))
		return http_exchange_refuse(x, MHD_HTTP_BAD_REQUEST, NULL, NULL, "the header Mcp-Session-Id is missing");
	if (x->session == NULL)
		return not_allowed(x);
	if (!is_get) {
		mcp_server_end_session(x->http->server, x->session);
		return http_exchange_empty(x, MHD_HTTP_NO_CONTENT);
	}
	if (!x->takes_events)
		return http_exchange_refuse(x, MHD_HTTP_NOT_ACCEPTABLE, NULL, NULL,
					    "GET opens a stream: \"Accept: text/event-stream\"");
	if (!http_exchange_count_stream(x))
		return refuse_stream(x);
	if (http_replay_attach(x->session, x, x->headers[HTTP_LAST_EVENT_ID]) < 0)
		return http_exchange_refuse(x, MHD_HTTP_BAD_REQUEST, NULL, NULL, "Last-Event-ID names nothing that is kept");
	return http_exchange_respond(x);
}

/* --- libmicrohttpd's callbacks ---------------------------------------------------------------------------------- */

static const struct mcp_http_plain *find_page(const struct mcp_http *http, const char *path)
{
	for (const struct mcp_http_plain *p = http->config.plain; p && p->path; p++)
		if (strcmp(p->path, path) == 0)
			return p;
	return NULL;
}

/* The request is complete. */
static enum MHD_Result serve(struct http_exchange *x, const char *path, const char *method)
{
	enum MHD_Result result;
	struct mcp_http *http = x->http;
	const struct mcp_http_plain *plain = find_page(http, path);
	int is_get = strcmp(method, "GET") == 0, is_head = strcmp(method, "HEAD") == 0;
	http_connections_set_idle(x, 0);
	x->is_served = 1;
	if (!http_guard_admit(x, &result))
		return result;
	if (strcmp(method, "OPTIONS") == 0)
		return http_guard_preflight(x);
	if (is_get && http_guard_is_metadata(http, path))
		return http_guard_metadata(x);
	if (plain && (is_get || is_head)) {
		struct mcp_http_page page = { .status = 200, .content_type = "text/plain; charset=utf-8" };
		plain->get(http->config.user, &page);
		size_t n = page.body.len;
		return http_exchange_text(x, page.status, page.content_type, buf_steal(&page.body), n,
					  page.policy ? "Content-Security-Policy" : NULL, page.policy);
	}
	if (strcmp(path, http->config.path) != 0)
		return http_exchange_refuse(x, MHD_HTTP_NOT_FOUND, NULL, NULL, "there is nothing here; the MCP endpoint is %s",
					    http->config.path);
	if (atomic_load(&http->stopping))
		return http_exchange_refuse(x, MHD_HTTP_SERVICE_UNAVAILABLE, "Retry-After", "5", "the server is stopping");
	x->takes_events = accepts(x, "text/event-stream");
	if (strcmp(method, "POST") == 0)
		return post(x);
	return is_get || strcmp(method, "DELETE") == 0 ? get_or_delete(x, is_get) : not_allowed(x);
}

/* libmicrohttpd decides the parameters. */
static enum MHD_Result on_access(void *arg, struct MHD_Connection *mhd, const char *path, const char *method, const char *version,
				 const char *data, size_t *size, void **state)
{
	struct mcp_http *http = arg;
	struct http_exchange *x = *state;
	(void)version;
	atomic_fetch_add(&http->turns, 1);
	if (x == NULL) { /* the headers are there */
		const struct mcp_http_plain *plain = find_page(http, path);
		*state = x = http_exchange_new(http, mhd);
		http_connections_set_idle(x, 1); /* the rest of the request gets as long again */
		http_guard_judge(x, strcmp(method, "OPTIONS") == 0 || http_guard_is_metadata(http, path) || (plain && plain->open));
		return MHD_YES;
	}
	if (*size > 0) {
		size_t n = *size;
		*size = 0;
		return http_exchange_take_body(x, data, n);
	}
	return x->is_served ? http_exchange_respond(x) /* resumed */ : serve(x, path, method);
}

static void on_completed(void *arg, struct MHD_Connection *mhd, void **state, enum MHD_RequestTerminationCode how)
{
	struct http_exchange *x = *state;
	(void)arg, (void)mhd;
	*state = NULL;
	if (x)
		http_exchange_closed(x, how == MHD_REQUEST_TERMINATED_COMPLETED_OK);
}

static void on_log(void *arg, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
static void on_log(void *arg, const char *fmt, va_list ap)
{
	(void)arg;
	char *text = mem_fmtv(fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	log_debug("http: %s", text);
	free(text);
}

/* --- starting and stopping -------------------------------------------------------------------------------------- */

static void set_defaults(struct mcp_http_config *c)
{
	struct rlimit files = { RLIM_INFINITY, RLIM_INFINITY };
	c->address = c->address ? c->address : "127.0.0.1";
	c->path = c->path ? c->path : "/mcp";
	c->max_connections = c->max_connections ? c->max_connections : 512;
	/* Half of the process's descriptors are for what else it does. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur / 2 < (rlim_t)c->max_connections)
		c->max_connections = files.rlim_cur < 4 ? 1 : (int)(files.rlim_cur / 2);
	c->max_streams = c->max_streams ? c->max_streams : 128;
	c->keep_alive_ms = c->keep_alive_ms ? c->keep_alive_ms : 10000;
	c->idle_ms = c->idle_ms ? c->idle_ms : IDLE_S * 1000;
}

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* A copy of the caller's socket, with the address that it really listens on: that is the one to guard. */
static int copy_socket(struct mcp_http *http, int *ret_fd, struct err *e)
{
	union address a;
	socklen_t n = sizeof a;
	int fd = fcntl(http->config.listener, F_DUPFD_CLOEXEC, 3);
	if (fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || getsockname(fd, &a.any, &n) < 0) {
		int rc = err_sys(e, errno, "the HTTP socket that the service manager opened");
		if (fd >= 0)
			close(fd);
		return rc;
	}
	int is_v4 = a.any.sa_family == AF_INET;
	inet_ntop(a.any.sa_family, is_v4 ? (void *)&a.v4.sin_addr : (void *)&a.v6.sin6_addr, http->address, sizeof http->address);
	http->config.address = http->address;
	http->port = ntohs(is_v4 ? a.v4.sin_port : a.v6.sin6_port);
	*ret_fd = fd;
	return 0;
}

/* A socket that listens, and its port. libmicrohttpd could open it, but would not say why it cannot. */
static int open_socket(const struct mcp_http_config *c, int *ret_fd, int *ret_port, struct err *e)
{
	union address a = { .v6 = { .sin6_port = htons((uint16_t)c->port) } };
	int on = 1, is_v4 = inet_pton(AF_INET, c->address, &a.v4.sin_addr) == 1;
	socklen_t n = is_v4 ? sizeof a.v4 : sizeof a.v6;
	a.any.sa_family = is_v4 ? AF_INET : AF_INET6;
	if ((!is_v4 && inet_pton(AF_INET6, c->address, &a.v6.sin6_addr) != 1) || c->port < 0 || c->port > 65535)
		return err_set(e, ERR_INPUT, "%s:%d is not an address; write it in numbers, e.g. 127.0.0.1 and 7325", c->address,
			       c->port);
	int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (fd < 0 || bind(fd, &a.any, n) < 0 || listen(fd, BACKLOG) < 0 || getsockname(fd, &a.any, &n) < 0) {
		int why = errno;
		if (fd >= 0)
			close(fd);
		err_sys(e, why, "listening on %s port %d", c->address, c->port);
		if (e)
			e->code = ERR_NETWORK;
		return -ERR_NETWORK;
	}
	*ret_fd = fd;
	*ret_port = ntohs(is_v4 ? a.v4.sin_port : a.v6.sin6_port);
	return 0;
}

/* Whether this works or not, the socket is libmicrohttpd's. */
static int start_daemon(struct mcp_http *http, int take_fd, struct err *e)
{
	const struct mcp_http_config *c = &http->config;
	unsigned flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
	struct MHD_OptionItem options[] = {
		{ MHD_OPTION_LISTEN_SOCKET, take_fd, NULL },
		/* http_connections.c's limit is lower: those beyond it get an answer or an idle one's place */
		{ MHD_OPTION_CONNECTION_LIMIT, 2 * c->max_connections + 64, NULL },
		{ MHD_OPTION_PER_IP_CONNECTION_LIMIT, c->max_per_client, NULL },
		{ MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, NULL }, /* also of a client that does not read */
		{ MHD_OPTION_CONNECTION_MEMORY_LIMIT, HEADERS_MAX, NULL },
		{ MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL },
		{ MHD_OPTION_END, 0, NULL }, /* room for two more */
		{ MHD_OPTION_END, 0, NULL },
		{ MHD_OPTION_END, 0, NULL },
	};
	if (c->tls_cert && c->tls_key) {
		flags |= MHD_USE_TLS;
		options[6] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)c->tls_cert };
		options[7] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)c->tls_key };
	}
	http->daemon = MHD_start_daemon(flags, 0, NULL, NULL, on_access, http, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
					MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_NOTIFY_CONNECTION,
					http_connections_notify, http, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	if (http->daemon == NULL && (flags & MHD_USE_TLS))
		return err_set(e, ERR_INPUT,
			       "the HTTPS server could not start: are certificate and key PEM files, and "
			       "do they belong together?");
	return http->daemon ? 0 : err_set(e, ERR_NETWORK, "the HTTP server could not start: %s", strerror(errno));
}

int mcp_http_start(struct mcp_server *server, const struct mcp_http_config *config, struct mcp_http **ret_http, struct err *e)
{
	struct mcp_http *http = MEM_NEW(struct mcp_http);
	int fd = -1;
	http->server = server;
	http->config = *config;
	http->seen_turns = UINT_MAX;
	set_defaults(&http->config);
	lock_init(&http->lock, LOCK_SESSION);
	int rc = config->listener ? copy_socket(http, &fd, e) : 0;
	if (rc == 0)
		rc = http_guard_check(&http->config, e);
	if (rc == 0 && fd < 0)
		rc = open_socket(&http->config, &fd, &http->port, e);
	if (rc == 0 && (rc = http_connections_start(http, e)) == 0) {
		rc = start_daemon(http, fd, e);
		fd = -1;
		if (rc < 0)
			http_connections_stop(http);
	}
	if (rc < 0) {
		if (fd >= 0)
			close(fd);
		lock_fini(&http->lock);
		free(http);
		return rc;
	}
	*ret_http = http;
	return 0;
}

const char *mcp_http_address(const struct mcp_http *http)
{
	return http->config.address;
}

int mcp_http_port(const struct mcp_http *http)
{
	return http->port;
}

bool mcp_http_alive(struct mcp_http *http)
{
	unsigned turns = atomic_load(&http->turns);
	bool alive = turns != http->seen_turns;
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_LISTEN_FD);
	union address a;
	socklen_t n = sizeof a;
	http->seen_turns = turns;
	if (info == NULL || getsockname(info->listen_fd, &a.any, &n) < 0)
		return alive;
	/* Accepting it is a turn, even when it is closed by then. */
	int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, &a.any, n) < 0)
		log_debug("http: connecting to itself: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return alive;
}

int mcp_http_pause(struct mcp_http *http)
{
	if (http == NULL)
		return -1;
	int fd = MHD_quiesce_daemon(http->daemon); /* from now on nothing is accepted, and the socket is ours */
	int64_t deadline = clock_now() + GRACE_MS * CLOCK_MS;
	do /* at least once: the network thread may be accepting right now */
		clock_sleep(5 * CLOCK_MS);
	while (http_connections_silent(http) > 0 && clock_now() < deadline);
	atomic_store(&http->stopping, 1);
	mcp_server_end_subscriptions(http->server, NULL);
	deadline = clock_now() + STOP_S * CLOCK_S;
	while (http_connections_end_streams(http) > 0 && clock_now() < deadline)
		clock_sleep(5 * CLOCK_MS);
	MHD_stop_daemon(http->daemon);
	http_connections_stop(http);
	lock_fini(&http->lock);
	free(http);
	return fd;
}

void mcp_http_stop(struct mcp_http *http)
{
	int fd = mcp_http_pause(http);
	if (fd >= 0)
		close(fd);
}
