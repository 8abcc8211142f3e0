/* http: listening, and the way of a request: admitted, read, handed to the server, answered; see http.h.
 * Everything here runs on one thread, that of mcp/http_loop.c; handlers of calls run on the server's pool. */
#include "mcp/http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "mcp/http_inner.h"
#include "mcp/legacy.h"
#include "mcp/listen.h"
#include "mcp/modern.h"

enum { IDLE_S = 60, HEADERS_MAX = 16 * 1024, STOP_S = 3, ENDLESS = 8 };

/* --- POST ------------------------------------------------------------------------------------------------------- */

static const char *header_of(void *arg, const char *name)
{
	struct http_exchange *x = arg;
	return MHD_lookup_connection_value(x->conn, MHD_HEADER_KIND, name);
}

static int accepts(struct http_exchange *x, const char *type)
{
	const char *accept = x->headers[HTTP_ACCEPT];
	if (accept && strcmp(accept, "application/json, text/event-stream") == 0) /* as the specification writes it */
		return 1;
	return accept == NULL || strcasestr(accept, type) || strstr(accept, "*/*");
}

static int is_json(struct http_exchange *x)
{
	const char *type = x->headers[HTTP_CONTENT_TYPE];
	return type && strncasecmp(type, "application/json", 16) == 0 && (type[16] == '\0' || strchr("; \t", type[16]));
}

/* The legacy session that the request names, held. *ret_refused: the name is no session's (any more). */
static struct mcp_session *session_of(struct http_exchange *x, int *ret_refused)
{
	const char *id = x->headers[HTTP_MCP_SESSION_ID], *version = x->headers[HTTP_MCP_PROTOCOL_VERSION];
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
	struct mcp_headers headers = { .version = x->headers[HTTP_MCP_PROTOCOL_VERSION],
				       .method = x->headers[HTTP_MCP_METHOD],
				       .name = x->headers[HTTP_MCP_NAME],
				       .get = header_of,
				       .ctx = x };
	struct mcp_stream *stream = session ? http_replay_begin(session, x) : mcp_stream_ref(&x->stream);
	struct mcp_arrival a = { .text = buf_text(&x->body),
				 .n = x->body.len,
				 .stream = stream,
				 .session = session,
				 .headers = &headers,
				 .memory = http_peers_memory(x) };
	struct mcp_receipt receipt;
	mcp_server_receive(x->http->server, &a, &receipt);
	mcp_stream_unref(stream);
	buf_fini(&x->body);
	http_exchange_hold_body(x);
	if (receipt.session)
		memcpy(x->session_id, receipt.session->id, sizeof x->session_id);
	mcp_session_unref(receipt.session);
	x->call = receipt.call;
	if (receipt.status == 202 && x->channel)
		http_replay_forget(x->channel);
	if (receipt.status == 202)
		return http_exchange_empty(x, MHD_HTTP_ACCEPTED);
	return http_exchange_respond(x);
}

static enum MHD_Result refuse_stream(struct http_exchange *x)
{
	return http_exchange_refuse(x, MHD_HTTP_TOO_MANY_REQUESTS, "Retry-After", "1",
				    "%d streams of one client are open, which is the limit; close one",
				    x->http->config.max_streams);
}

/* The header must say what the body says, so it can be believed before that is read. */
static int opens_stream(struct http_exchange *x)
{
	const char *method = x->headers[HTTP_MCP_METHOD];
	return method && strcmp(method, "subscriptions/listen") == 0;
}

static enum MHD_Result post(struct http_exchange *x)
{
	const char *version = x->headers[HTTP_MCP_PROTOCOL_VERSION];
	if (x->no_room)
		return http_exchange_refuse(x, MHD_HTTP_SERVICE_UNAVAILABLE, "Retry-After", "1",
					    "the server is busy: others hold all of its memory for messages");
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
	if (version && opens_stream(x) && !http_peers_stream(x, 1))
		return refuse_stream(x);
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
	const char *version = x->headers[HTTP_MCP_PROTOCOL_VERSION];
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
	else if (!http_peers_stream(x, 1))
		result = refuse_stream(x);
	else if (http_replay_attach(session, x, x->headers[HTTP_LAST_EVENT_ID]) < 0)
		result = http_exchange_refuse(x, MHD_HTTP_BAD_REQUEST, NULL, NULL,
					      "Last-Event-ID names nothing that is kept");
	else
		result = http_exchange_respond(x);
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

/* The request is complete. */
static enum MHD_Result serve(struct http_exchange *x, const char *path, const char *method)
{
	enum MHD_Result result;
	struct mcp_http *http = x->http;
	const struct mcp_http_plain *plain = plain_page(http, path);
	http_peers_busy(x);
	http->served++;
	x->served = 1;
	int is_get = is(method, MHD_HTTP_METHOD_GET), ours = strcmp(path, http->config.path) == 0;
	int about = is_get && http_metadata_is(http, path);
	if (!http_guard_admit(x, &result))
		return result;
	if (about)
		return http_metadata_get(x);
	if (plain && (is_get || is(method, MHD_HTTP_METHOD_HEAD)))
		return get_page(x, plain);
	if (!ours)
		return http_exchange_refuse(x, MHD_HTTP_NOT_FOUND, NULL, NULL,
					    "there is nothing here; the MCP endpoint is %s", http->config.path);
	if (atomic_load(&http->stopping))
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

/* Room for the body at once, as long as it is said to be. */
static void expect_body(struct http_exchange *x)
{
	const char *said = x->headers[HTTP_CONTENT_LENGTH];
	size_t n = said ? strtoul(said, NULL, 10) : 0;
	if (http_guard_welcome(x) && n > 0 && n <= x->http->server->config.max_message)
		buf_reserve(&x->body, n);
}

/* A piece of the body. What is too much is read on for a while, so that the sender sees the refusal, and not for ever. */
static enum MHD_Result take_body(struct http_exchange *x, const char *data, size_t *size)
{
	size_t most = x->http->server->config.max_message;
	x->received += *size;
	x->too_large |= x->received > most;
	if (http_guard_welcome(x) && !x->too_large && !x->no_room)
		buf_add(&x->body, data, *size);
	else
		buf_fini(&x->body);
	if (!http_exchange_hold_body(x)) { /* who comes last goes first */
		x->no_room = 1;
		buf_fini(&x->body);
		http_exchange_hold_body(x);
	}
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
		http_guard_note_headers(x);
		http_peers_begin(x);
		int about = is(method, MHD_HTTP_METHOD_GET) && http_metadata_is(http, path);
		http_guard_judge(x, about || (plain && plain->open));
		expect_body(x);
		return MHD_YES;
	}
	if (*size > 0)
		return take_body(x, data, size);
	if (x->served) /* resumed */
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

/* --- the daemon ------------------------------------------------------------------------------------------------- */

/* libmicrohttpd accepts nothing and has no thread of its own: mcp/http_loop.c does both. Its limit on connections is
 * never met, because http_peers.c's is lower. */
static int start_daemon(struct mcp_http *http, struct err *e)
{
	const struct mcp_http_config *c = &http->config;
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_NO_LISTEN_SOCKET;
	struct MHD_OptionItem options[] = {
		{ MHD_OPTION_CONNECTION_LIMIT, 2 * c->max_connections + 64, NULL },
		{ MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, NULL },
		{ MHD_OPTION_CONNECTION_MEMORY_LIMIT, HEADERS_MAX, NULL },
		{ MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL },
		{ MHD_OPTION_END, 0, NULL }, /* room for two more */
		{ MHD_OPTION_END, 0, NULL },
		{ MHD_OPTION_END, 0, NULL },
	};
	if (c->tls_cert && c->tls_key) {
		flags |= MHD_USE_TLS;
		options[4] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)c->tls_cert };
		options[5] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)c->tls_key };
	}
	http->daemon = MHD_start_daemon(flags, 0, NULL, NULL, on_access, http, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
					MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_NOTIFY_CONNECTION,
					http_peers_notify, http, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	if (http->daemon == NULL && (flags & MHD_USE_TLS))
		return err_set(e, ERR_INPUT, "the HTTPS server could not start: are certificate and key PEM files, and do they belong together?");
	if (http->daemon == NULL)
		return err_set(e, ERR_NETWORK, "the HTTP server could not start: %s", strerror(errno));
	return 0;
}

static void set_defaults(struct mcp_http_config *c)
{
	struct rlimit files = { RLIM_INFINITY, RLIM_INFINITY };
	c->path = c->path ? c->path : "/mcp";
	c->max_connections = c->max_connections ? c->max_connections : 512;
	/* Half of the process's descriptors are for what else it does. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur / 2 < (rlim_t)c->max_connections)
		c->max_connections = files.rlim_cur < 4 ? 1 : (int)(files.rlim_cur / 2);
	c->max_per_client = c->max_per_client ? c->max_per_client : c->max_connections;
	c->max_streams = c->max_streams ? c->max_streams : 128;
	c->keep_alive_ms = c->keep_alive_ms ? c->keep_alive_ms : 10000;
	c->idle_ms = c->idle_ms ? c->idle_ms : IDLE_S * 1000;
}

static void close_all(struct mcp_http *http)
{
	if (http->daemon)
		MHD_stop_daemon(http->daemon);
	http_peers_fini(http);
	close(http->listen_fd);
	lock_fini(&http->lock);
	free(http);
}

int mcp_http_start(struct mcp_server *server, const struct mcp_http_config *config, struct mcp_http **ret_http,
		   struct err *e)
{
	int rc = http_guard_check(config, e);
	if (rc < 0)
		return rc;
	int fd = http_listen_open(config, e);
	if (fd < 0)
		return fd;
	struct mcp_http *http = MEM_NEW(struct mcp_http);
	http->server = server;
	http->config = *config;
	set_defaults(&http->config);
	http->listen_fd = fd;
	http->port = config->unix_path ? 0 : http_listen_port(fd);
	lock_init(&http->lock, LOCK_SESSION);
	rc = start_daemon(http, e);
	if (rc == 0)
		rc = http_watch_start(http, e);
	if (rc == 0 && (rc = http_loop_start(http, e)) < 0)
		http_watch_stop(http);
	if (rc < 0) {
		close_all(http);
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
	atomic_store(&http->stopping, 1);
	lock_take(&http->lock);
	for (struct http_exchange *x = http->watched; x; x = x->next) {
		if (http_exchange_phase(x) == HTTP_EVENTS)
			http_exchange_add_events(x, "", 0, 1);
		else
			http_exchange_hang_up(x);
	}
	lock_release(&http->lock);
	return atomic_load(&http->open);
}

void mcp_http_stop(struct mcp_http *http)
{
	if (http == NULL)
		return;
	atomic_store(&http->deaf, 1);
	http_loop_wake(http);
	mcp_listen_end_all(http->server);
	int64_t deadline = clock_now() + STOP_S * CLOCK_S;
	while (end_streams(http) > 0 && clock_now() < deadline)
		clock_sleep(5 * CLOCK_MS);
	http_loop_stop(http);
	http_watch_stop(http);
	if (http->config.unix_path)
		unlink(http->config.unix_path);
	close_all(http);
}
