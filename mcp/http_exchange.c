/* http_exchange: the response of one request: a whole answer when that comes first, else a stream of events. Calls send
 * from any thread; libmicrohttpd's thread takes, and is suspended while there is nothing to take. */
#include "mcp/http_exchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

/* HELD_MAX: bodies of all connections together, and answers, in messages of the greatest length. Each has its own share:
 * who lets answers wait must not keep out those who ask. */
enum { BLOCK = 64 * 1024, OUT_MAX = 16 * 1024 * 1024, HELD_MAX = 8 };

static void stream_send(struct mcp_stream *stream, const struct mcp_outgoing *m);
static void stream_free(struct mcp_stream *stream);
static const struct mcp_stream_ops STREAM = { .send = stream_send, .close = NULL, .free = stream_free };

struct http_exchange *http_exchange_new(struct mcp_http *http, struct MHD_Connection *conn)
{
	struct http_exchange *x = MEM_NEW(struct http_exchange);
	mcp_stream_init(&x->stream, &STREAM);
	lock_init(&x->lock, LOCK_LEAF);
	x->http = http;
	x->conn = conn;
	x->peer = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
	x->type = "application/json";
	atomic_fetch_add(&http->open, 1);
	return x;
}

static void stream_free(struct mcp_stream *stream)
{
	struct http_exchange *x = (struct http_exchange *)stream;
	buf_fini(&x->body);
	buf_fini(&x->out);
	lock_fini(&x->lock);
	free(x);
}

enum http_phase http_exchange_phase(struct http_exchange *x)
{
	lock_take(&x->lock);
	enum http_phase phase = x->phase;
	lock_release(&x->lock);
	return phase;
}

/* Lets libmicrohttpd look again. */
static void resume_locked(struct http_exchange *x)
{
	if (x->suspended) {
		x->suspended = 0;
		MHD_resume_connection(x->conn);
		http_loop_wake(x->http);
	}
}

static void hold(atomic_size_t *all, size_t *held, size_t n)
{
	if (n > *held)
		atomic_fetch_add(all, n - *held);
	else if (n < *held)
		atomic_fetch_sub(all, *held - n);
	*held = n;
}

static int is_crowded(const struct http_exchange *x, atomic_size_t *all)
{
	return atomic_load(all) > HELD_MAX * x->http->server->config.max_message;
}

int http_exchange_hold_body(struct http_exchange *x)
{
	hold(&x->http->bodies, &x->held_body, x->body.len);
	return !is_crowded(x, &x->http->bodies);
}

static int over_locked(const struct http_exchange *x)
{
	return x->phase == HTTP_CLOSED || x->gone || x->final;
}

/* --- sending, from any thread ----------------------------------------------------------------------------------- */

int http_exchange_add_events(struct http_exchange *x, const char *text, size_t n, int final)
{
	lock_take(&x->lock);
	int over = over_locked(x) || x->phase == HTTP_WHOLE;
	if (!over && x->out.len > (is_crowded(x, &x->http->answers) ? BLOCK : OUT_MAX)) { /* the client does not read */
		x->gone = over = 1;
		resume_locked(x);
		/* Where libmicrohttpd waits for room in the socket, it must hear of it too. */
		shutdown(MHD_get_connection_info(x->conn, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd, SHUT_RDWR);
	}
	if (!over) {
		x->phase = HTTP_EVENTS;
		buf_add(&x->out, text, n);
		hold(&x->http->answers, &x->held_out, x->out.len);
		x->final = final;
		x->written = clock_now();
		resume_locked(x);
	}
	lock_release(&x->lock);
	return over ? -1 : 0;
}

/* A final message that is the first is the whole answer. Returns -1 when the exchange is over. */
static int send_whole(struct http_exchange *x, const struct mcp_outgoing *m)
{
	lock_take(&x->lock);
	int over = over_locked(x), events = x->phase == HTTP_EVENTS;
	if (!over && !events) {
		x->phase = HTTP_WHOLE;
		x->status = m->status ? m->status : 200;
		if (m->own && x->out.data == NULL) {
			x->out = *m->own;
			*m->own = (struct buf)BUF_INIT;
		} else {
			buf_add(&x->out, m->text, m->n);
		}
		hold(&x->http->answers, &x->held_out, x->out.len);
		x->final = 1;
		if (m->call)
			x->answered = mcp_call_ref(m->call);
		resume_locked(x);
	}
	lock_release(&x->lock);
	return over ? -1 : events;
}

static int send_event(struct http_exchange *x, const struct mcp_outgoing *m)
{
	struct buf b = BUF_INIT;
	if (m->event_id)
		buf_addf(&b, "id: %s\n", m->event_id);
	if (m->retry_ms > 0)
		buf_addf(&b, "retry: %d\n", m->retry_ms);
	buf_adds(&b, m->n > 0 ? "event: message\ndata: " : "data: ");
	buf_add(&b, m->text, m->n);
	buf_adds(&b, "\n\n");
	if (m->final && m->call) {
		lock_take(&x->lock);
		if (!over_locked(x))
			x->answered = mcp_call_ref(m->call);
		lock_release(&x->lock);
	}
	int rc = http_exchange_add_events(x, buf_text(&b), b.len, m->final);
	buf_fini(&b);
	return rc;
}

int http_exchange_send(struct http_exchange *x, const struct mcp_outgoing *m)
{
	int rc = m->final ? send_whole(x, m) : 1;
	return rc == 1 ? send_event(x, m) : rc;
}

static void stream_send(struct mcp_stream *stream, const struct mcp_outgoing *m)
{
	if (http_exchange_send((struct http_exchange *)stream, m) < 0 && m->call)
		mcp_call_ended(m->call, MCP_END_GONE);
}

/* --- the response, on libmicrohttpd's thread -------------------------------------------------------------------- */

static ssize_t read_events(void *arg, uint64_t pos, char *out, size_t max)
{
	struct http_exchange *x = arg;
	(void)pos;
	ssize_t n;
	lock_take(&x->lock);
	if (x->gone) {
		n = MHD_CONTENT_READER_END_WITH_ERROR;
	} else if (x->out.len > 0) {
		n = (ssize_t)(x->out.len < max ? x->out.len : max);
		memcpy(out, x->out.data, (size_t)n);
		buf_drop(&x->out, (size_t)n);
		hold(&x->http->answers, &x->held_out, x->out.len);
	} else if (x->final) {
		n = MHD_CONTENT_READER_END_OF_STREAM;
	} else {
		n = 0;
		x->suspended = 1;
		MHD_suspend_connection(x->conn);
	}
	lock_release(&x->lock);
	return n;
}

static void add_session(const struct http_exchange *x, struct MHD_Response *r)
{
	if (x->session_id[0])
		MHD_add_response_header(r, "Mcp-Session-Id", x->session_id);
}

static struct MHD_Response *event_response(struct http_exchange *x)
{
	struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_events, x, NULL);
	MHD_add_response_header(r, "Content-Type", "text/event-stream");
	MHD_add_response_header(r, "Cache-Control", "no-cache, no-transform");
	MHD_add_response_header(r, "X-Accel-Buffering", "no");
	add_session(x, r);
	return r;
}

/* The answer to a POST, which nobody may keep and use for another request without being told that he may (RFC 9110
 * section 9.3.3): it needs no Cache-Control. */
static struct MHD_Response *whole_response(struct http_exchange *x)
{
	size_t n = x->out.len;
	struct MHD_Response *r = MHD_create_response_from_buffer(n, buf_steal(&x->out), MHD_RESPMEM_MUST_FREE);
	MHD_add_response_header(r, "Content-Type", x->type);
	if (x->status == 503)
		MHD_add_response_header(r, "Retry-After", "1");
	add_session(x, r);
	return r;
}

enum MHD_Result http_exchange_respond(struct http_exchange *x)
{
	struct MHD_Response *r = NULL;
	enum MHD_Result result = MHD_YES;
	int status = 200, open = 0;
	lock_take(&x->lock);
	if (x->gone) {
		result = MHD_NO;
	} else if (x->phase == HTTP_WHOLE) {
		status = x->status;
		r = whole_response(x);
	} else if (x->phase == HTTP_EVENTS) {
		http_peers_stream(x, 0);
		r = event_response(x);
		open = 1;
	} else {
		x->phase = HTTP_WAITING;
		x->suspended = 1;
		x->written = clock_now();
		MHD_suspend_connection(x->conn);
		open = 1;
	}
	lock_release(&x->lock);
	if (open)
		http_watch_add(x);
	if (r) {
		result = MHD_queue_response(x->conn, (unsigned)status, r);
		MHD_destroy_response(r);
	}
	return result;
}

enum MHD_Result http_exchange_refuse(struct http_exchange *x, int status, const char *header, const char *value,
				     const char *fmt, ...)
{
	const char *why;
	va_list ap;
	va_start(ap, fmt);
	char *text = mem_fmtv(fmt, ap);
	va_end(ap);
	struct buf b = BUF_INIT;
	mcp_jsonrpc_add_error(&b, NULL, MCP_INVALID_REQUEST, text, NULL);
	buf_addc(&b, '\n');
	free(text);
	size_t n = b.len;
	struct MHD_Response *r = MHD_create_response_from_buffer(n, buf_steal(&b), MHD_RESPMEM_MUST_FREE);
	MHD_add_response_header(r, "Content-Type", "application/json");
	if (header)
		MHD_add_response_header(r, header, value);
	if (http_peers_refused(x, &why))
		MHD_add_response_header(r, "Connection", "close");
	enum MHD_Result result = MHD_queue_response(x->conn, (unsigned)status, r);
	MHD_destroy_response(r);
	return result;
}

enum MHD_Result http_exchange_empty(struct http_exchange *x, int status)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result = MHD_queue_response(x->conn, (unsigned)status, r);
	MHD_destroy_response(r);
	return result;
}

/* --- the end ---------------------------------------------------------------------------------------------------- */

void http_exchange_closed(struct http_exchange *x, int delivered)
{
	http_watch_remove(x);
	lock_take(&x->lock);
	int whole = delivered && x->final && x->out.len == 0;
	x->phase = HTTP_CLOSED;
	struct mcp_call *answered = x->answered;
	x->answered = NULL;
	hold(&x->http->answers, &x->held_out, 0);
	lock_release(&x->lock);
	hold(&x->http->bodies, &x->held_body, 0);
	if (x->channel)
		http_replay_detach(x->channel, x, whole);
	if (answered)
		mcp_call_ended(answered, whole ? MCP_END_DELIVERED : x->channel ? MCP_END_KEPT : MCP_END_GONE);
	if (x->call && !whole)
		mcp_call_gone(x->call);
	mcp_call_unref(answered);
	mcp_call_unref(x->call);
	x->call = NULL;
	http_peers_done(x);
	atomic_fetch_sub(&x->http->open, 1);
	mcp_stream_unref(&x->stream);
}

void http_exchange_hang_up(struct http_exchange *x)
{
	lock_take(&x->lock);
	x->gone = 1;
	resume_locked(x);
	lock_release(&x->lock);
}

void http_exchange_keep_alive(struct http_exchange *x, int64_t now)
{
	lock_take(&x->lock);
	int due = x->suspended && !over_locked(x) && now - x->written >= x->http->config.keep_alive_ms * CLOCK_MS &&
		  (x->phase == HTTP_EVENTS || (x->phase == HTTP_WAITING && x->takes_events));
	lock_release(&x->lock);
	if (due)
		http_exchange_add_events(x, ": still here\n\n", 14, 0);
}
