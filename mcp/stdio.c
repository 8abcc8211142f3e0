/* stdio: lines in, lines out; see stdio.h. The thread that reads also writes the answers that quick tools gave to what it
 * has just read, all of them at once, as far as that does not block. A thread of its own writes the rest, so that no handler
 * waits for a slow reader. */
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
#include <sys/uio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "mcp/listen.h"
#include "mcp/server_inner.h"
#include "mcp/session.h"
#include "mcp/stream.h"

enum { READ_CHUNK = 64 * 1024, BATCH_MAX = 64 * 1024, QUEUE_MAX = 16 * 1024 * 1024, GRACE_S = 2 };

/* A call whose answer is in the queue, and where in the bytes sent so far it ends. */
struct receipt {
	struct mcp_call *call; /* held */
	size_t at;
};

struct stdio {
	struct mcp_stream stream; /* first: streams are cast to this */
	int out_fd, is_socket;
	pthread_t reader, writer;
	int batching;                   /* of the reader: it will write what it queues now */
	struct mcp_parse_memory memory; /* of the reader */
	/* ---- of the thread that has `writing` ---- */
	struct buf out; /* what is being written, from `sent` on */
	size_t sent;
	int no_nowait; /* the descriptor does not take RWF_NOWAIT */
	/* ---- under the lock ---- */
	struct lock lock;         /* LOCK_OUTPUT */
	struct lock_bell bell;    /* for the writer: more to write, or the end */
	int writing;              /* a thread has `out`; only it writes */
	struct buf queue;         /* comes after what is in `out` */
	struct receipt *receipts; /* in the order of the queue, from the first that is not told on */
	size_t receipt_first, receipt_count;
	size_t queued, written; /* bytes ever put into the queue, and written (or dropped) of them */
	int broken;             /* the reader is gone or hopelessly behind: everything is dropped */
	int input_ended;        /* the client sends nothing any more */
	int ending;             /* nothing will be sent any more */
};

/* --- writing ---------------------------------------------------------------------------------------------------- */

/* One write that does not block for longer than it takes to copy; -1 with EAGAIN when there is no room. polled: the
 * descriptor has just said that there is. */
static ssize_t write_some(struct stdio *io, const char *bytes, size_t n, int polled)
{
	struct iovec v = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = n };
	if (io->is_socket)
		return send(io->out_fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	ssize_t w = io->no_nowait ? -1 : pwritev2(io->out_fd, &v, 1, -1, RWF_NOWAIT);
	if (io->no_nowait || (w < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || (errno == EAGAIN && polled)))) {
		io->no_nowait = 1;
		errno = EAGAIN;
		return polled ? write(io->out_fd, bytes, n < PIPE_BUF ? n : PIPE_BUF)
			      : -1; /* a pipe has room for that */
	}
	return w;
}

/* Whether the client has closed its end and took nothing for too long. */
static int hopeless(struct stdio *io, int64_t since)
{
	lock_take(&io->lock);
	int ended = io->input_ended;
	lock_release(&io->lock);
	return ended && clock_now() - since > GRACE_S * CLOCK_S;
}

/* Writes what is in `out`: all of it, or what can be had without waiting. -1 when the client is gone. */
static int push(struct stdio *io, int wait)
{
	int64_t since = wait ? clock_now() : 0;
	int polled = 0;
	while (io->sent < io->out.len) {
		ssize_t w = write_some(io, io->out.data + io->sent, io->out.len - io->sent, polled);
		int full = w < 0 && (errno == EAGAIN || errno == EINTR);
		polled = 0;
		if (w > 0) {
			io->sent += (size_t)w;
			since = wait ? clock_now() : 0;
		} else if (!full) {
			return -1;
		} else if (!wait) {
			return 0;
		} else {
			struct pollfd p = { .fd = io->out_fd, .events = POLLOUT };
			polled = poll(&p, 1, 500) > 0;
			if (!polled && hopeless(io, since))
				return -1;
		}
	}
	return 0;
}

/* Whether the calling thread is to write now: then it has `out`. */
static int begin_locked(struct stdio *io)
{
	if (io->writing)
		return 0;
	if (io->sent == io->out.len) { /* the two buffers change places, so that nothing is copied */
		struct buf empty = io->out;
		buf_clear(&empty);
		io->out = io->queue;
		io->queue = empty;
		io->sent = 0;
	}
	io->writing = io->out.len > 0;
	return io->writing;
}

/* The calls whose answers are written; *ret_count of them, to be told. free(). */
static struct receipt *due_locked(struct stdio *io, size_t *ret_count)
{
	size_t n = 0, first = io->receipt_first;
	while (first + n < io->receipt_count && io->receipts[first + n].at <= io->written)
		n++;
	struct receipt *due = n > 0 ? mem_copy(io->receipts + first, n * sizeof *due) : NULL;
	io->receipt_first += n;
	if (n > 0 && 2 * io->receipt_first >= io->receipt_count) { /* the array begins anew */
		io->receipt_count -= io->receipt_first;
		memmove(io->receipts, io->receipts + io->receipt_first, io->receipt_count * sizeof *io->receipts);
		io->receipt_first = 0;
	}
	*ret_count = n;
	return due;
}

/* Lets go of `out`, and tells the calls what became of their answers. */
static void settle(struct stdio *io, size_t before, int gone)
{
	size_t count;
	lock_take(&io->lock);
	/* Another thread may have given up meanwhile: then what is left of `out` goes nowhere. */
	size_t delivered = gone ? 0 : io->written + io->sent - before;
	io->broken |= gone;
	if (io->broken)
		io->sent = io->out.len;
	io->written += io->sent - before;
	io->writing = 0;
	struct receipt *due = due_locked(io, &count);
	if (io->sent < io->out.len || io->queue.len > 0 || io->ending)
		lock_bell_ring(&io->bell);
	lock_release(&io->lock);
	for (size_t i = 0; i < count; i++) {
		mcp_call_ended(due[i].call, due[i].at <= delivered ? MCP_END_DELIVERED : MCP_END_GONE);
		mcp_call_unref(due[i].call);
	}
	free(due);
}

/* The reader writes its answers. */
static void flush(struct stdio *io)
{
	lock_take(&io->lock);
	int go = begin_locked(io);
	int gone = io->broken;
	lock_release(&io->lock);
	if (!go)
		return;
	size_t before = io->sent;
	settle(io, before, gone || push(io, 0) < 0);
}

/* Waits until there is something for the writer to do; false at the end. */
static int take(struct stdio *io, int *ret_gone)
{
	lock_take(&io->lock);
	int go;
	while (!(go = begin_locked(io)) && (io->writing || !io->ending))
		lock_bell_wait(&io->bell, &io->lock, CLOCK_NEVER);
	*ret_gone = io->broken;
	lock_release(&io->lock);
	return go;
}

static void *run_writer(void *arg)
{
	struct stdio *io = arg;
	int gone;
	while (take(io, &gone)) {
		size_t before = io->sent;
		settle(io, before, gone || push(io, 1) < 0);
	}
	return NULL;
}

/* --- the stream ------------------------------------------------------------------------------------------------- */

static void stream_send(struct mcp_stream *stream, const struct mcp_outgoing *m)
{
	struct stdio *io = (struct stdio *)stream;
	int ours = pthread_equal(pthread_self(), io->reader) && io->batching;
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
	if (!ours || io->queue.len > BATCH_MAX)
		lock_bell_ring(&io->bell);
	lock_release(&io->lock);
	if (m->call && lost)
		mcp_call_ended(m->call, MCP_END_GONE);
}

static void stream_free(struct mcp_stream *stream)
{
	struct stdio *io = (struct stdio *)stream;
	buf_fini(&io->out);
	buf_fini(&io->queue);
	free(io->receipts);
	mcp_parse_memory_fini(&io->memory);
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
	struct mcp_arrival a = {
		.text = line, .n = n, .stream = &io->stream, .session = session, .memory = &io->memory
	};
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
	for (;;) {
		size_t before = in.len;
		char *room = buf_room(&in, READ_CHUNK);
		ssize_t n = read(in_fd, room, READ_CHUNK);
		int why = errno;
		in.len = before + (n > 0 ? (size_t)n : 0);
		in.data[in.len] = '\0';
		if (n < 0 && why == EINTR)
			continue;
		if (n < 0)
			rc = err_sys(e, why, "standard input of the MCP client");
		if (n <= 0)
			break;
		io->batching = 1;
		take_lines(server, session, io, &in, &scanned, &skipping);
		io->batching = 0;
		flush(io);
	}
	if (in.len > 0 && !skipping) /* a last line without its newline is a message all the same */
		receive(server, session, io, in.data, in.len);
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

/* A write to a closed pipe must be an error of the thread that writes, not the end of the process. */
static void hold_sigpipe(sigset_t *ret_before)
{
	sigset_t one;
	sigemptyset(&one);
	sigaddset(&one, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &one, ret_before);
}

/* Undoes that; a signal that came meanwhile is taken back. */
static void release_sigpipe(const sigset_t *before)
{
	sigset_t one;
	const struct timespec at_once = { 0, 0 };
	sigemptyset(&one);
	sigaddset(&one, SIGPIPE);
	if (sigismember(before, SIGPIPE))
		return;
	while (sigtimedwait(&one, NULL, &at_once) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Reads to the end, lets the calls finish, and has everything written. */
static int serve(struct mcp_server *server, struct stdio *io, int in_fd, struct err *e)
{
	struct mcp_session *session = mcp_session_new(server, &io->stream, 0);
	int rc = read_all(server, session, io, in_fd, e);
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
	return rc;
}

int mcp_stdio_run(struct mcp_server *server, int in_fd, int out_fd, struct err *e)
{
	struct stdio *io = MEM_NEW(struct stdio);
	sigset_t before;
	mcp_stream_init(&io->stream, &STREAM);
	struct stat st;
	io->out_fd = out_fd;
	io->is_socket = fstat(out_fd, &st) == 0 && S_ISSOCK(st.st_mode);
	io->reader = pthread_self();
	mcp_parse_memory_init(&io->memory, MCP_COMMON);
	lock_init(&io->lock, LOCK_OUTPUT);
	lock_bell_init(&io->bell);
	hold_sigpipe(&before);
	int rc = pthread_create(&io->writer, NULL, run_writer, io); /* inherits the mask */
	rc = rc == 0 ? serve(server, io, in_fd, e)
		     : err_sys(e, rc, "starting the thread that writes to the MCP client");
	release_sigpipe(&before);
	mcp_stream_unref(&io->stream);
	return rc;
}
