/* http: listening, and the way of a request: admitted, read, handed to the server, answered; see http.h.
 * libmicrohttpd runs everything here on its own thread; handlers of calls run on the server's pool. */
#include "mcp/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "mcp/http_inner.h"
#include "mcp/legacy.h"
#include "mcp/listen.h"
#include "mcp/modern.h"

enum { IDLE_S = 60, HEADERS_MAX = 64 * 1024, BACKLOG = 1024, STOP_S = 3, ENDLESS = 8 };

/* --- POST ------------------------------------------------------------------------------------------------------- */

static const char *header_of(void *x, const char *name)
{
	return http_guard_header(x, name);
}

static int accepts(struct http_exchange *x, const char *type)
{
	const char *accept = http_guard_header(x, "Accept");
	return accept == NULL || strcasestr(accept, type) || strstr(accept, "*/*");
}

static int is_json(struct http_exchange *x)
{
	const char *type = http_guard_header(x, "Content-Type");
	return type && strncasecmp(type, "application/json", 16) == 0 && (type[16] == '\0' || strchr("; \t", type[16]));
}

/* The legacy session that the request names, held. *ret_refused: the name is no session's (any more). */
static struct mcp_session *session_of(struct http_exchange *x, int *ret_refused)
{
	const char *id = http_guard_header(x, "Mcp-Session-Id"),
		   *version = http_guard_header(x, "MCP-Protocol-Version");
	*ret_refused = 0;
	if (id == NULL || (version && strcmp(version, MCP_MODERN_REVISION) == 0)) /* 2026-07-28 ignores sessions */
		return NULL;
	struct mcp_session *session = mcp_server_session(x->http->server, id);
	*ret_refused = session == NULL;
	return session;
}

static enum MHD_Result refuse_session(struct http_exchange *x)
{
	return http_exchange_refuse(x, MHD_HTTP_NOT_FOUND, NULL, NULL,
				    "this session has ended or never was: send initialize "
				    "again without Mcp-Session-Id");
}

/* Hands the message to the server; the answer may be there when this returns, or come later. */
static enum MHD_Result receive(struct http_exchange *x, struct mcp_session *session)
{
	struct mcp_headers headers = { .get = header_of, .ctx = x };
	struct mcp_stream *stream = session ? http_replay_begin(session, x) : mcp_stream_ref(&x->stream);
	struct mcp_arrival a = {
		.text = buf_text(&x->body), .n = x->body.len, .stream = stream, .session = session, .headers = &headers
	};
	struct mcp_receipt receipt;
	mcp_server_receive(x->http->server, &a, &receipt);
	mcp_stream_unref(stream);
	buf_fini(&x->body);
	if (receipt.session)
		memcpy(x->session_id, receipt.session->id, sizeof x->session_id);
	mcp_session_unref(receipt.session);
	x->call = receipt.call;
	if (receipt.status == 202 && x->channel)
		http_replay_forget(x->channel);
	if (receipt.status == 202)
		return http_exchange_empty(x, MHD_HTTP_ACCEPTED);
	if (http_exchange_phase(x) != HTTP_WHOLE)
		http_watch_add(x);
	return http_exchange_respond(x);
}

static enum MHD_Result post(struct http_exchange *x)
{
	const char *version = http_guard_header(x, "MCP-Protocol-Version");
	if (x->too_large)
		return http_exchange_refuse(x, MHD_HTTP_CONTENT_TOO_LARGE, NULL, NULL,
					    "a message may have %zu bytes at most",
					    x->http->server->config.max_message);
	if (!is_json(x))
		return http_exchange_refuse(x, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, NULL, NULL,
					    "send the message with \"Content-Type: application/json\"");
	if (!accepts(x, "application/json"))
		return http_exchange_refuse(x, MHD_HTTP_NOT_ACCEPTABLE, NULL, NULL,
					    "accept both answers: \"Accept: application/json, text/event-stream\"");
	int refused;
	struct mcp_session *session = session_of(x, &refused);
	if (refused)
		return refuse_session(x);
	enum MHD_Result result;
	if (session && version && !mcp_legacy_speaks(version))
		result = http_exchange_refuse(x, MHD_HTTP_BAD_REQUEST, NULL, NULL,
					      "MCP-Protocol-Version \"%s\" is none that this "
					      "session can speak",
					      version);
	else
		result = receive(x, session);
	mcp_session_unref(session);
	return result;
}

/* --- GET and DELETE --------------------------------------------------------------------------------------------- */

static enum MHD_Result not_allowed(struct http_exchange *x)
{
	return http_exchange_refuse(x, MHD_HTTP_METHOD_NOT_ALLOWED, "Allow", "POST",
				    "this endpoint takes POST; GET and DELETE "
				    "belong to sessions of revisions up to 2025-11-25");
}

/* The session for GET or DELETE; else the refusal was queued. */
static struct mcp_session *need_session(struct http_exchange *x, enum MHD_Result *ret_result)
{
	int refused;
	struct mcp_session *session = session_of(x, &refused);
	const char *version = http_guard_header(x, "MCP-Protocol-Version");
	if (refused)
		*ret_result = refuse_session(x);
	else if (session == NULL && version && mcp_legacy_speaks(version))
		*ret_result = http_exchange_refuse(x, MHD_HTTP_BAD_REQUEST, NULL, NULL,
						   "the header Mcp-Session-Id is missing");
	else if (session == NULL)
		*ret_result = not_allowed(x);
	return session;
}

static enum MHD_Result get_stream(struct http_exchange *x)
{
	enum MHD_Result result;
	struct mcp_session *session = need_session(x, &result);
	if (session == NULL)
		return result;
	if (!x->takes_events)
		result = http_exchange_refuse(x, MHD_HTTP_NOT_ACCEPTABLE, NULL, NULL,
					      "GET opens a stream: \"Accept: "
					      "text/event-stream\"");
	else if (http_replay_attach(session, x, http_guard_header(x, "Last-Event-ID")) < 0)
		result = http_exchange_refuse(x, MHD_HTTP_BAD_REQUEST, NULL, NULL,
					      "Last-Event-ID names nothing that is kept");
	else {
		http_watch_add(x);
		result = http_exchange_respond(x);
	}
	mcp_session_unref(session);
	return result;
}

static enum MHD_Result delete_session(struct http_exchange *x)
{
	enum MHD_Result result;
	struct mcp_session *session = need_session(x, &result);
	if (session == NULL)
		return result;
	mcp_server_end_session(x->http->server, session);
	mcp_session_unref(session);
	return http_exchange_empty(x, MHD_HTTP_NO_CONTENT);
}

/* --- plain pages ------------------------------------------------------------------------------------------------ */

static const struct mcp_http_plain *plain_page(const struct mcp_http *http, const char *path)
{
	for (const struct mcp_http_plain *p = http->config.plain; p && p->path; p++)
		if (strcmp(p->path, path) == 0)
			return p;
	return NULL;
}

static enum MHD_Result get_page(struct http_exchange *x, const struct mcp_http_plain *plain)
{
	struct mcp_http_page page = { .status = 200, .content_type = "text/plain; charset=utf-8", .body = BUF_INIT };
	plain->get(x->http->config.user, &page);
	size_t n = page.body.len;
	struct MHD_Response *r = MHD_create_response_from_buffer(n, buf_steal(&page.body), MHD_RESPMEM_MUST_FREE);
	MHD_add_response_header(r, "Content-Type", page.content_type);
	enum MHD_Result result = MHD_queue_response(x->conn, (unsigned)page.status, r);
	MHD_destroy_response(r);
	return result;
}

/* --- libmicrohttpd's callbacks ---------------------------------------------------------------------------------- */

static int is(const char *method, const char *name)
{
	return strcmp(method, name) == 0;
}

static int is_stopping(struct mcp_http *http)
{
	lock_take(&http->lock);
	int stopping = http->stopping;
	lock_release(&http->lock);
	return stopping;
}

/* The request is complete. */
static enum MHD_Result serve(struct http_exchange *x, const char *path, const char *method)
{
	enum MHD_Result result;
	struct mcp_http *http = x->http;
	const struct mcp_http_plain *plain = plain_page(http, path);
	int is_get = is(method, MHD_HTTP_METHOD_GET), ours = strcmp(path, http->config.path) == 0;
	int about = is_get && http_metadata_is(http, path);
	if (!http_guard_admit(x, about || (plain && plain->open), &result))
		return result;
	if (about)
		return http_metadata_get(x);
	if (plain && (is_get || is(method, MHD_HTTP_METHOD_HEAD)))
		return get_page(x, plain);
	if (!ours)
		return http_exchange_refuse(x, MHD_HTTP_NOT_FOUND, NULL, NULL,
					    "there is nothing here; the MCP endpoint is %s", http->config.path);
	if (is_stopping(http))
		return http_exchange_refuse(x, MHD_HTTP_SERVICE_UNAVAILABLE, "Retry-After", "5",
					    "the server is stopping");
	x->takes_events = accepts(x, "text/event-stream");
	if (is(method, MHD_HTTP_METHOD_POST))
		return post(x);
	if (is_get)
		return get_stream(x);
	if (is(method, MHD_HTTP_METHOD_DELETE))
		return delete_session(x);
	return not_allowed(x);
}

/* A piece of the body. What is too much is read on for a while, so that the sender sees the refusal, and not for ever. */
static enum MHD_Result take_body(struct http_exchange *x, const char *data, size_t *size)
{
	size_t most = x->http->server->config.max_message;
	x->received += *size;
	x->too_large |= x->received > most;
	if (x->welcome && !x->too_large)
		buf_add(&x->body, data, *size);
	else
		buf_fini(&x->body);
	*size = 0;
	return x->received > ENDLESS * most ? MHD_NO : MHD_YES;
}

static enum MHD_Result on_access(void *arg, struct MHD_Connection *conn, const char *path, const char *method,
				 const char *version, const char *data, size_t *size, void **state)
{
	struct mcp_http *http = arg;
	struct http_exchange *x = *state;
	(void)version;
	if (x == NULL) { /* the headers are there */
		const struct mcp_http_plain *plain = plain_page(http, path);
		*state = x = http_exchange_new(http, conn);
		x->welcome = http_guard_welcome(x, plain && plain->open);
		return MHD_YES;
	}
	if (*size > 0)
		return take_body(x, data, size);
	if (http_exchange_phase(x) != HTTP_READING) /* resumed */
		return http_exchange_respond(x);
	return serve(x, path, method);
}

static void on_completed(void *arg, struct MHD_Connection *conn, void **state, enum MHD_RequestTerminationCode how)
{
	(void)arg;
	(void)conn;
	struct http_exchange *x = *state;
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

/* --- listening -------------------------------------------------------------------------------------------------- */

static int listen_unix(const struct mcp_http_config *c, struct err *e)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	if (strlen(c->unix_path) >= sizeof a.sun_path)
		return err_set(e, ERR_INPUT, "%s: the path of a Unix socket may have %zu bytes at most", c->unix_path,
			       sizeof a.sun_path - 1);
	strcpy(a.sun_path, c->unix_path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(e, errno, "%s", c->unix_path);
	unlink(c->unix_path);
	mode_t before = umask(0777 & ~(c->unix_mode ? c->unix_mode : 0600));
	int rc = bind(fd, (struct sockaddr *)&a, sizeof a);
	int why = errno;
	umask(before);
	if (rc < 0 || listen(fd, BACKLOG) < 0) {
		err_sys(e, rc < 0 ? why : errno, "listening on %s", c->unix_path);
		close(fd);
		return -ERR_NETWORK;
	}
	return fd;
}

/* The address as the kernel wants it; returns its length, or 0 for one that is not numeric. */
static socklen_t read_address(const struct mcp_http_config *c, struct sockaddr_storage *ret_a)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret_a;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_a;
	const char *address = c->address ? c->address : "127.0.0.1";
	memset(ret_a, 0, sizeof *ret_a);
	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)c->port);
		return sizeof *v4;
	}
	if (inet_pton(AF_INET6, address, &v6->sin6_addr) != 1)
		return 0;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)c->port);
	return sizeof *v6;
}

static int listen_tcp(const struct mcp_http_config *c, struct err *e)
{
	struct sockaddr_storage a;
	socklen_t n = read_address(c, &a);
	if (n == 0 || c->port < 0 || c->port > 65535)
		return err_set(e, ERR_INPUT, "%s:%d is not an address; write it in numbers, e.g. 127.0.0.1 and 7325",
			       c->address, c->port);
	int on = 1, fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(e, errno, "listening on %s", c->address ? c->address : "127.0.0.1");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, (struct sockaddr *)&a, n) < 0 || listen(fd, BACKLOG) < 0) {
		char why[128];
		const char *text = strerror_r(errno, why, sizeof why);
		close(fd);
		return err_set(e, ERR_NETWORK, "listening on %s port %d: %s", c->address ? c->address : "127.0.0.1",
			       c->port, text);
	}
	return fd;
}

static int port_of(int fd)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof a;
	if (getsockname(fd, (struct sockaddr *)&a, &n) < 0)
		return 0;
	if (a.ss_family == AF_INET)
		return ntohs(((struct sockaddr_in *)&a)->sin_port);
	return a.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&a)->sin6_port) : 0;
}

static int start_daemon(struct mcp_http *http, struct err *e)
{
	const struct mcp_http_config *c = &http->config;
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_ERROR_LOG;
	struct MHD_OptionItem options[] = {
		{ MHD_OPTION_LISTEN_SOCKET, http->listen_fd, NULL },
		{ MHD_OPTION_CONNECTION_LIMIT, c->max_connections, NULL },
		{ MHD_OPTION_PER_IP_CONNECTION_LIMIT, c->unix_path ? 0 : c->max_per_client, NULL },
		{ MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, NULL },
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
					MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_ARRAY, options,
					MHD_OPTION_END);
	if (http->daemon == NULL)
		return err_set(e, ERR_NETWORK, "the HTTP server could not start: %s", strerror(errno));
	return 0;
}

int mcp_http_start(struct mcp_server *server, const struct mcp_http_config *config, struct mcp_http **ret_http,
		   struct err *e)
{
	int rc = http_guard_check(config, e);
	if (rc < 0)
		return rc;
	int fd = config->unix_path ? listen_unix(config, e) : listen_tcp(config, e);
	if (fd < 0)
		return fd;
	struct mcp_http *http = MEM_NEW(struct mcp_http);
	http->server = server;
	http->config = *config;
	http->config.path = config->path ? config->path : "/mcp";
	http->config.max_connections = config->max_connections ? config->max_connections : 512;
	http->config.max_per_client = config->max_per_client ? config->max_per_client : 512;
	http->config.keep_alive_ms = config->keep_alive_ms ? config->keep_alive_ms : 10000;
	http->listen_fd = fd;
	http->port = config->unix_path ? 0 : port_of(fd);
	lock_init(&http->lock, LOCK_SESSION);
	rc = http_watch_start(http, e);
	if (rc == 0 && (rc = start_daemon(http, e)) < 0)
		http_watch_stop(http);
	if (rc < 0) {
		close(fd);
		lock_fini(&http->lock);
		free(http);
		return rc;
	}
	*ret_http = http;
	return 0;
}

int mcp_http_port(const struct mcp_http *http)
{
	return http->port;
}

/* Streams are ended, the rest is let go; returns how many exchanges are still open. */
static size_t end_streams(struct mcp_http *http)
{
	lock_take(&http->lock);
	http->stopping = 1;
	for (struct http_exchange *x = http->watched; x; x = x->next) {
		if (http_exchange_phase(x) == HTTP_EVENTS)
			http_exchange_add_events(x, "", 0, 1);
		else
			http_exchange_hang_up(x);
	}
	size_t open = http->open;
	lock_release(&http->lock);
	return open;
}

void mcp_http_stop(struct mcp_http *http)
{
	if (http == NULL)
		return;
	MHD_socket fd = MHD_quiesce_daemon(http->daemon);
	mcp_listen_end_all(http->server);
	int64_t deadline = clock_now() + STOP_S * CLOCK_S;
	while (end_streams(http) > 0 && clock_now() < deadline)
		clock_sleep(5 * CLOCK_MS);
	MHD_stop_daemon(http->daemon);
	http_watch_stop(http);
	if (fd != MHD_INVALID_SOCKET)
		close(fd);
	if (http->config.unix_path)
		unlink(http->config.unix_path);
	lock_fini(&http->lock);
	free(http);
}
