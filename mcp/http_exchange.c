/* http_exchange: the body and the response of one request: a whole answer when that comes first, else a stream of events;
 * see http_inner.h. Calls send from any thread; the network thread takes, and is suspended while there is nothing to
 * take. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mem.h"
#include "mcp/http_inner.h"

/* ENDLESS: a body of so many times the greatest message is cut off. OUT_MAX: bytes that may wait for one client that does
 * not read. HELD_MAX: what the bodies of all connections together may be, and all answers, in messages of the greatest
 * length. Each has its own share: who lets answers wait must not keep out those who ask. */
enum { BLOCK = 64 * 1024, ENDLESS = 8, OUT_MAX = 16 * 1024 * 1024, HELD_MAX = 8 };

static void stream_send(struct mcp_stream *stream, const struct mcp_outgoing *m)
{
	http_exchange_send((struct http_exchange *)stream, m);
}

static void stream_free(struct mcp_stream *stream)
{
	struct http_exchange *x = (struct http_exchange *)stream;
	buf_fini(&x->body);
	buf_fini(&x->out);
	lock_fini(&x->lock);
	free(x);
}

static const struct mcp_stream_ops STREAM = { .send = stream_send, .close = NULL, .free = stream_free };

struct http_exchange *http_exchange_new(struct mcp_http *http, struct MHD_Connection *mhd)
{
	struct http_exchange *x = MEM_NEW(struct http_exchange);
	mcp_stream_init(&x->stream, &STREAM);
	lock_init(&x->lock, LOCK_LEAF);
	x->http = http;
	x->mhd = mhd;
	x->connection = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
	atomic_fetch_add(&http->open, 1);
	return x;
}

int http_exchange_count_stream(struct http_exchange *x)
{
	if (!x->is_counted && x->http->streams >= x->http->config.max_streams)
		return 0;
	x->http->streams += !x->is_counted;
	x->is_counted = 1;
	return 1;
}

/* --- the body --------------------------------------------------------------------------------------------------- */

static void count_body(struct http_exchange *x)
{
	x->http->bodies += x->body.len - x->held_body;
	x->held_body = x->body.len;
}

void http_exchange_drop_body(struct http_exchange *x)
{
	buf_fini(&x->body);
	count_body(x);
}

/* What is too much is read on for a while, so that the sender sees the refusal, and not for ever. */
enum MHD_Result http_exchange_take_body(struct http_exchange *x, const char *data, size_t n)
{
	size_t most = x->http->server->config.max_message;
	x->received += n;
	x->is_too_large |= x->received > most;
	if (http_guard_welcome(x) && !x->is_too_large && !x->no_room) {
		buf_add(&x->body, data, n);
		count_body(x);
		x->no_room = x->http->bodies > HELD_MAX * most; /* the last that comes is the first that goes */
	}
	if (x->is_too_large || x->no_room)
		http_exchange_drop_body(x);
	return x->received > ENDLESS * most ? MHD_NO : MHD_YES;
}

/* --- sending, from any thread ----------------------------------------------------------------------------------- */

/* Lets libmicrohttpd look again. */
static void resume_locked(struct http_exchange *x)
{
	if (x->suspended) {
		x->suspended = 0;
		MHD_resume_connection(x->mhd);
	}
}

/* Counts what is in `out` among all answers that wait. */
static void count_out_locked(struct http_exchange *x)
{
	atomic_fetch_add(&x->http->answers, x->out.len - x->held_out);
	x->held_out = x->out.len;
}

static int is_over_locked(const struct http_exchange *x)
{
	return x->phase == HTTP_CLOSED || x->gone || x->final;
}

void http_exchange_add_events(struct http_exchange *x, const char *text, size_t n, int final)
{
	lock_take(&x->lock);
	int crowded = atomic_load(&x->http->answers) > HELD_MAX * x->http->server->config.max_message;
	int over = is_over_locked(x) || x->phase == HTTP_WHOLE;
	if (!over && x->out.len > (crowded ? BLOCK : OUT_MAX)) { /* the client does not read */
		x->gone = over = 1;
		resume_locked(x);
		/* Where libmicrohttpd waits for room in the socket, it must hear of it too. */
		shutdown(x->connection->fd, SHUT_RDWR);
	}
	if (!over) {
		x->phase = HTTP_EVENTS;
		buf_add(&x->out, text, n);
		count_out_locked(x);
		x->final = final;
		x->written = clock_now();
		resume_locked(x);
	}
	lock_release(&x->lock);
}

/* A final message that is the first is the whole answer, any other an event. */
void http_exchange_send(struct http_exchange *x, const struct mcp_outgoing *m)
{
	if (m->n == 0) {
		http_exchange_add_events(x, "", 0, 1);
		return;
	}
	lock_take(&x->lock);
	int over = is_over_locked(x), whole = !over && m->final && x->phase != HTTP_EVENTS;
	if (whole) {
		x->phase = HTTP_WHOLE;
		x->status = m->status ? m->status : 200;
		buf_add(&x->out, m->text, m->n);
		count_out_locked(x);
		x->final = 1;
		resume_locked(x);
	}
	lock_release(&x->lock);
	if (over || whole)
		return;
	struct buf b = BUF_INIT;
	if (m->event_id)
		buf_addf(&b, "id: %s\n", m->event_id);
	buf_adds(&b, "event: message\ndata: ");
	buf_add(&b, m->text, m->n);
	buf_adds(&b, "\n\n");
	http_exchange_add_events(x, buf_text(&b), b.len, m->final);
	buf_fini(&b);
}

/* --- the response, on the network thread ------------------------------------------------------------------------ */

enum MHD_Result http_exchange_queue(struct http_exchange *x, int status, struct MHD_Response *take_response)
{
	if (x->opened)
		MHD_add_response_header(take_response, "Mcp-Session-Id", x->opened->id);
	if (x->connection->is_surplus)
		MHD_add_response_header(take_response, "Connection", "close");
	MHD_add_response_header(take_response, "X-Content-Type-Options", "nosniff");
	http_guard_add_cors(x, take_response);
	enum MHD_Result result = MHD_queue_response(x->mhd, (unsigned)status, take_response);
	MHD_destroy_response(take_response);
	return result;
}

/* The answer to a POST, which nobody may keep and use for another request without being told that he may (RFC 9110
 * section 9.3.3): it needs no Cache-Control. */
enum MHD_Result http_exchange_text(struct http_exchange *x, int status, const char *type, char *take_text, size_t n,
				   const char *header, const char *value)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(n, take_text, MHD_RESPMEM_MUST_FREE);
	MHD_add_response_header(r, "Content-Type", type);
	if (header)
		MHD_add_response_header(r, header, value);
	return http_exchange_queue(x, status, r);
}

enum MHD_Result http_exchange_refuse(struct http_exchange *x, int status, const char *header, const char *value, const char *fmt,
				     ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *why = mem_fmtv(fmt, ap);
	va_end(ap);
	char *message = mcp_jsonrpc_error(NULL, MCP_INVALID_REQUEST, why, NULL);
	char *line = mem_fmt("%s\n", message);
	free(why);
	free(message);
	return http_exchange_text(x, status, "application/json", line, strlen(line), header, value);
}

enum MHD_Result http_exchange_empty(struct http_exchange *x, int status)
{
	return http_exchange_queue(x, status, MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT));
}

static ssize_t read_events(void *arg, uint64_t pos, char *out, size_t max)
{
	struct http_exchange *x = arg;
	ssize_t n = 0;
	(void)pos;
	lock_take(&x->lock);
	if (x->gone) {
		n = MHD_CONTENT_READER_END_WITH_ERROR;
	} else if (x->out.len > 0) {
		n = (ssize_t)(x->out.len < max ? x->out.len : max);
		memcpy(out, x->out.data, (size_t)n);
		buf_drop(&x->out, (size_t)n);
		count_out_locked(x);
	} else if (x->final) {
		n = MHD_CONTENT_READER_END_OF_STREAM;
	} else {
		x->suspended = 1;
		MHD_suspend_connection(x->mhd);
	}
	lock_release(&x->lock);
	return n;
}

enum MHD_Result http_exchange_respond(struct http_exchange *x)
{
	lock_take(&x->lock);
	int gone = x->gone, status = x->status;
	enum http_phase phase = x->phase;
	struct buf whole = BUF_INIT;
	if (!gone && phase == HTTP_WHOLE) {
		whole = x->out;
		x->out = (struct buf)BUF_INIT;
	} else if (!gone && phase != HTTP_EVENTS) {
		x->phase = HTTP_WAITING;
		x->suspended = 1;
		x->written = clock_now();
		MHD_suspend_connection(x->mhd);
	}
	lock_release(&x->lock);
	if (gone)
		return MHD_NO;
	if (phase == HTTP_WHOLE) {
		size_t n = whole.len;
		const char *retry = status == MHD_HTTP_SERVICE_UNAVAILABLE ? "Retry-After" : NULL;
		return http_exchange_text(x, status, "application/json", buf_steal(&whole), n, retry, "1");
	}
	http_connections_watch(x, 1);
	if (phase != HTTP_EVENTS)
		return MHD_YES;
	struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_events, x, NULL);
	MHD_add_response_header(r, "Content-Type", "text/event-stream");
	MHD_add_response_header(r, "Cache-Control", "no-cache, no-transform");
	MHD_add_response_header(r, "X-Accel-Buffering", "no");
	return http_exchange_queue(x, MHD_HTTP_OK, r);
}

/* --- the end ---------------------------------------------------------------------------------------------------- */

void http_exchange_closed(struct http_exchange *x, int delivered)
{
	http_connections_watch(x, 0);
	lock_take(&x->lock);
	int whole = delivered && x->final && x->out.len == 0;
	x->phase = HTTP_CLOSED;
	buf_fini(&x->out);
	count_out_locked(x);
	lock_release(&x->lock);
	http_exchange_drop_body(x);
	if (x->channel)
		http_replay_detach(x->channel, x, whole);
	if (x->call && x->call->modern && !whole)
		mcp_call_cancel(x->call, MCP_CANCEL_LEFT);
	mcp_call_unref(x->call);
	x->call = NULL;
	if (x->session)
		atomic_fetch_sub(&x->session->streams, 1);
	mcp_session_unref(x->session);
	mcp_session_unref(x->opened);
	x->session = x->opened = NULL;
	x->http->streams -= x->is_counted;
	http_connections_set_idle(x, 1);
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
	int due = x->suspended && !is_over_locked(x) && now - x->written >= x->http->config.keep_alive_ms * CLOCK_MS &&
		  (x->phase == HTTP_EVENTS || (x->phase == HTTP_WAITING && x->takes_events));
	lock_release(&x->lock);
	if (due)
		http_exchange_add_events(x, ": still here\n\n", 14, 0);
}
