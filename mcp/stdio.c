/* stdio: lines in, lines out; see stdio.h. A thread of its own writes, so that no handler waits for a slow reader. */
#include "mcp/stdio.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "mcp/listen.h"
#include "mcp/server_inner.h"
#include "mcp/session.h"
#include "mcp/stream.h"

enum { READ_CHUNK = 64 * 1024, QUEUE_MAX = 16 * 1024 * 1024, GRACE_S = 2 };

/* A call whose answer is in the queue, and where in the bytes sent so far it ends. */
struct receipt {
	struct mcp_call *call; /* held */
	size_t at;
};

struct stdio {
	struct mcp_stream stream; /* first: streams are cast to this */
	int out_fd, is_socket;
	pthread_t writer;
	struct lock lock;      /* LOCK_OUTPUT, of all below */
	struct lock_bell bell; /* for the writer: more to write, or the end */
	struct buf queue;
	struct receipt *receipts; /* in the order of the queue */
	size_t receipt_count;
	size_t queued; /* bytes ever put into the queue */
	int broken;    /* the reader is gone or hopelessly behind: everything is dropped */
	int input_ended;           /* the client sends nothing any more */
	int ending;                /* nothing will be sent any more */
};

/* --- the writer ------------------------------------------------------------------------------------------------- */

/* One write that does not block for longer than it takes to copy; -1 with EAGAIN when there is no room. */
static ssize_t write_some(const struct stdio *io, const char *bytes, size_t n)
{
	if (io->is_socket)
		return send(io->out_fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	return write(io->out_fd, bytes, n < PIPE_BUF ? n : PIPE_BUF); /* a pipe that polls writable has room for that */
}

/* Whether the client has closed its end and took nothing for too long. */
static int hopeless(struct stdio *io, int64_t since)
{
	lock_take(&io->lock);
	int ended = io->input_ended;
	lock_release(&io->lock);
	return ended && clock_now() - since > GRACE_S * CLOCK_S;
}

static int write_all(struct stdio *io, const char *bytes, size_t n)
{
	int64_t since = clock_now();
	while (n > 0) {
		struct pollfd p = { .fd = io->out_fd, .events = POLLOUT };
		int ready = poll(&p, 1, 500);
		ssize_t w = ready > 0 ? write_some(io, bytes, n) : -1;
		if (w > 0) {
			bytes += w;
			n -= (size_t)w;
			since = clock_now();
		} else if (ready < 0 ? errno != EINTR : ready > 0 && errno != EINTR && errno != EAGAIN) {
			return -1;
		} else if (hopeless(io, since)) {
			return -1;
		}
	}
	return 0;
}

/* Tells the calls of answers before the byte `written` what became of them. */
static void tell(struct stdio *io, size_t written, enum mcp_end end)
{
	for (;;) {
		struct mcp_call *call = NULL;
		lock_take(&io->lock);
		if (io->receipt_count > 0 && io->receipts[0].at <= written) {
			call = io->receipts[0].call;
			io->receipt_count--;
			memmove(io->receipts, io->receipts + 1, io->receipt_count * sizeof *io->receipts);
		}
		lock_release(&io->lock);
		if (call == NULL)
			return;
		mcp_call_ended(call, end);
		mcp_call_unref(call);
	}
}

/* What is to be written next; false at the end. */
static int take(struct stdio *io, struct buf *ret_bytes, size_t *ret_written)
{
	lock_take(&io->lock);
	while (io->queue.len == 0 && !io->ending)
		lock_bell_wait(&io->bell, &io->lock, CLOCK_NEVER);
	int more = io->queue.len > 0;
	struct buf empty = *ret_bytes;
	*ret_bytes = io->queue;
	buf_clear(&empty);
	io->queue = empty; /* the two buffers change places, so that nothing is copied */
	*ret_written = io->queued;
	lock_release(&io->lock);
	return more;
}

static void *run_writer(void *arg)
{
	struct stdio *io = arg;
	struct buf bytes = BUF_INIT;
	size_t written;
	sigset_t pipe_signal; /* a write to a closed pipe must be an error of this thread, not the end of the process */
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_signal, NULL);
	while (take(io, &bytes, &written)) {
		lock_take(&io->lock);
		int gone = io->broken;
		lock_release(&io->lock);
		if (!gone)
			gone = write_all(io, buf_text(&bytes), bytes.len) < 0;
		lock_take(&io->lock);
		io->broken |= gone;
		lock_release(&io->lock);
		tell(io, written, gone ? MCP_END_GONE : MCP_END_DELIVERED);
	}
	buf_fini(&bytes);
	return NULL;
}

/* --- the stream ------------------------------------------------------------------------------------------------- */

static void stream_send(struct mcp_stream *stream, const struct mcp_outgoing *m)
{
	struct stdio *io = (struct stdio *)stream;
	lock_take(&io->lock);
	if (io->queue.len > QUEUE_MAX)
		io->broken = 1; /* the reader does not read: memory is worth more than its answers */
	if (!io->broken) {
		buf_add(&io->queue, m->text, m->n);
		buf_addc(&io->queue, '\n');
		io->queued += m->n + 1;
	}
	int lost = io->broken;
	if (m->call && !lost) {
		struct receipt *r = MEM_PUSH(io->receipts, io->receipt_count);
		r->call = mcp_call_ref(m->call);
		r->at = io->queued;
	}
	lock_bell_ring(&io->bell);
	lock_release(&io->lock);
	if (m->call && lost)
		mcp_call_ended(m->call, MCP_END_GONE);
}

static void stream_free(struct mcp_stream *stream)
{
	struct stdio *io = (struct stdio *)stream;
	buf_fini(&io->queue);
	free(io->receipts);
	lock_bell_fini(&io->bell);
	lock_fini(&io->lock);
	free(io);
}

static const struct mcp_stream_ops STREAM = { .send = stream_send, .close = NULL, .free = stream_free };

/* --- the reader ------------------------------------------------------------------------------------------------- */

static void receive(struct mcp_server *server, struct mcp_session *session, struct stdio *io, const char *line,
		    size_t n)
{
	if (n > 0 && line[n - 1] == '\r')
		n--;
	if (n == 0)
		return;
	struct mcp_arrival a = { .text = line, .n = n, .stream = &io->stream, .session = session };
	struct mcp_receipt receipt;
	mcp_server_receive(server, &a, &receipt);
	mcp_call_unref(receipt.call);
}

static void refuse_long(struct mcp_server *server, struct stdio *io)
{
	struct buf b = BUF_INIT;
	char *text = mem_fmt("a message is longer than %zu bytes and was skipped", server->config.max_message);
	mcp_jsonrpc_add_error(&b, NULL, MCP_INVALID_REQUEST, text, NULL);
	struct mcp_outgoing o = { .text = buf_text(&b), .n = b.len };
	mcp_stream_send(&io->stream, &o);
	free(text);
	buf_fini(&b);
}

/* Cuts what was read into lines. A line that is too long is skipped up to its end, and said so once. */
static void take_lines(struct mcp_server *server, struct mcp_session *session, struct stdio *io, struct buf *in,
		       size_t *scanned, int *skipping)
{
	size_t start = 0;
	for (;;) {
		const char *nl = memchr(in->data + *scanned, '\n', in->len - *scanned);
		if (nl == NULL)
			break;
		size_t end = (size_t)(nl - in->data);
		if (!*skipping && end - start > server->config.max_message)
			refuse_long(server, io);
		else if (!*skipping)
			receive(server, session, io, in->data + start, end - start);
		*skipping = 0;
		start = *scanned = end + 1;
	}
	buf_drop(in, start);
	*scanned = in->len;
	if (in->len > server->config.max_message) {
		if (!*skipping)
			refuse_long(server, io);
		*skipping = 1;
		buf_clear(in);
		*scanned = 0;
	}
}

static int read_all(struct mcp_server *server, struct mcp_session *session, struct stdio *io, int in_fd, struct err *e)
{
	struct buf in = BUF_INIT;
	size_t scanned = 0;
	int skipping = 0, rc = 0;
	char *chunk = mem_new(READ_CHUNK, 1);
	for (;;) {
		ssize_t n = read(in_fd, chunk, READ_CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = err_sys(e, errno, "standard input of the MCP client");
		if (n <= 0)
			break;
		buf_add(&in, chunk, (size_t)n);
		take_lines(server, session, io, &in, &scanned, &skipping);
	}
	if (in.len > 0 && !skipping) /* a last line without its newline is a message all the same */
		receive(server, session, io, in.data, in.len);
	free(chunk);
	buf_fini(&in);
	return rc;
}

/* Calls get GRACE_S to finish by themselves, then they are cancelled and waited for. */
static void wait_for_calls(struct mcp_server *server, struct mcp_session *session)
{
	int64_t deadline = clock_now() + GRACE_S * CLOCK_S;
	while (mcp_server_running(server, session) > 0 && clock_now() < deadline) {
		mcp_listen_end_session(server, session); /* what waits for the client itself waits in vain */
		mcp_session_cancel_asks(session);
		clock_sleep(5 * CLOCK_MS);
	}
	mcp_server_end_session(server, session);
	while (mcp_server_running(server, session) > 0)
		clock_sleep(5 * CLOCK_MS);
}

int mcp_stdio_run(struct mcp_server *server, int in_fd, int out_fd, struct err *e)
{
	struct stdio *io = MEM_NEW(struct stdio);
	mcp_stream_init(&io->stream, &STREAM);
	struct stat st;
	io->out_fd = out_fd;
	io->is_socket = fstat(out_fd, &st) == 0 && S_ISSOCK(st.st_mode);
	lock_init(&io->lock, LOCK_OUTPUT);
	lock_bell_init(&io->bell);
	int rc = pthread_create(&io->writer, NULL, run_writer, io);
	if (rc != 0) {
		mcp_stream_unref(&io->stream);
		return err_sys(e, rc, "starting the thread that writes to the MCP client");
	}
	struct mcp_session *session = mcp_session_new(server, &io->stream, 0);
	rc = read_all(server, session, io, in_fd, e);
	lock_take(&io->lock);
	io->input_ended = 1;
	lock_release(&io->lock);
	wait_for_calls(server, session);
	mcp_session_unref(session);
	lock_take(&io->lock);
	io->ending = 1;
	lock_bell_ring(&io->bell);
	lock_release(&io->lock);
	pthread_join(io->writer, NULL);
	mcp_stream_unref(&io->stream);
	return rc;
}
