/* stdio: lines in, lines out; see stdio.h. The caller's thread reads and hands each line to the server. A thread of its
 * own writes, so that neither the reader nor any handler waits for a slow client. */
#include "mcp/stdio.h"

#include <errno.h>
#include <fcntl.h>
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
#include "mcp/inner.h"

/* PIECE: what a pipe that poll calls writable takes without blocking, PIPE_BUF of pipe(7). QUEUE_MAX: bytes that may wait
 * for a client that does not read. GRACE_S: how long calls go on after the end of the input. */
enum { READ_CHUNK = 64 * 1024, PIECE = 4096, QUEUE_MAX = 16 * 1024 * 1024, GRACE_S = 2 };

struct stdio {
	struct mcp_stream stream; /* first: streams are cast to this */
	int out_fd, is_socket;
	pthread_t writer;
	struct lock lock;      /* LOCK_OUTPUT, of all below */
	struct lock_bell bell; /* for the writer: more to write, or the end */
	struct buf queue;      /* what waits to be written */
	int broken;            /* the client is gone or hopelessly behind: everything is dropped */
	int input_ended, ending;
};

/* --- writing ---------------------------------------------------------------------------------------------------- */

/* Whether the client has closed its end and has taken nothing for too long. */
static int is_hopeless(struct stdio *io, int64_t since)
{
	lock_take(&io->lock);
	int ended = io->input_ended;
	lock_release(&io->lock);
	return ended && clock_now() - since > GRACE_S * CLOCK_S;
}

/* Writes all of it; -1 when the client is gone. Waits in poll, so that it notices a client that went without reading. */
static int write_all(struct stdio *io, const char *bytes, size_t n)
{
	int64_t since = clock_now();
	for (size_t at = 0; at < n;) {
		struct pollfd p = { .fd = io->out_fd, .events = POLLOUT };
		if (poll(&p, 1, 500) <= 0) {
			if (is_hopeless(io, since))
				return -1;
			continue;
		}
		size_t left = n - at, piece = left < PIECE ? left : PIECE;
		ssize_t w = io->is_socket ? send(io->out_fd, bytes + at, left, MSG_DONTWAIT | MSG_NOSIGNAL)
					  : write(io->out_fd, bytes + at, piece);
		if (w < 0 && errno != EAGAIN && errno != EINTR)
			return -1;
		if (w > 0) {
			at += (size_t)w;
			since = clock_now();
		}
	}
	return 0;
}

/* Writes what is queued, batch after batch. */
static void *run_writer(void *arg)
{
	struct stdio *io = arg;
	for (;;) {
		lock_take(&io->lock);
		while (io->queue.len == 0 && !io->ending)
			lock_bell_wait(&io->bell, &io->lock, CLOCK_NEVER);
		struct buf batch = io->queue;
		int gone = io->broken, end = batch.len == 0;
		io->queue = (struct buf)BUF_INIT;
		lock_release(&io->lock);
		if (!gone && write_all(io, batch.data, batch.len) < 0) {
			lock_take(&io->lock);
			io->broken = 1;
			lock_release(&io->lock);
		}
		buf_fini(&batch);
		if (end)
			return NULL;
	}
}

static void stream_send(struct mcp_stream *stream, const struct mcp_outgoing *m)
{
	struct stdio *io = (struct stdio *)stream;
	lock_take(&io->lock);
	io->broken |= io->queue.len > QUEUE_MAX; /* memory is worth more than the answers of who does not read */
	if (!io->broken && m->n > 0) {
		buf_add(&io->queue, m->text, m->n);
		buf_addc(&io->queue, '\n');
		lock_bell_ring(&io->bell);
	}
	lock_release(&io->lock);
}

static void stream_free(struct mcp_stream *stream)
{
	struct stdio *io = (struct stdio *)stream;
	buf_fini(&io->queue);
	lock_bell_fini(&io->bell);
	lock_fini(&io->lock);
	free(io);
}

static const struct mcp_stream_ops STREAM = { .send = stream_send, .close = NULL, .free = stream_free };

/* --- reading ---------------------------------------------------------------------------------------------------- */

static void receive(struct mcp_server *server, struct mcp_session *session, struct stdio *io, const char *line, size_t n)
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
	char *why = mem_fmt("a message is longer than %zu bytes and was skipped", server->config.max_message);
	mcp_server_refuse(server, &io->stream, NULL, 400, MCP_INVALID_REQUEST, why);
	free(why);
}

/* Reads lines until the end. A line that is too long is skipped up to its end and refused once. */
static int read_all(struct mcp_server *server, struct mcp_session *session, struct stdio *io, int in_fd, struct err *e)
{
	struct buf in = BUF_INIT;
	size_t scanned = 0, most = server->config.max_message;
	int skipping = 0, rc = 0;
	for (;;) {
		size_t before = in.len, start = 0;
		char *nl, *room = buf_room(&in, READ_CHUNK);
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
		while ((nl = memchr(in.data + scanned, '\n', in.len - scanned)) != NULL) {
			size_t end = (size_t)(nl - in.data);
			if (!skipping && end - start > most)
				refuse_long(server, io);
			else if (!skipping)
				receive(server, session, io, in.data + start, end - start);
			skipping = 0;
			start = scanned = end + 1;
		}
		buf_drop(&in, start);
		if (in.len > most) {
			if (!skipping)
				refuse_long(server, io);
			skipping = 1;
			buf_clear(&in);
		}
		scanned = in.len;
	}
	if (in.len > 0 && !skipping) /* a last line without its newline is a message all the same */
		receive(server, session, io, in.data, in.len);
	buf_fini(&in);
	return rc;
}

/* --- one client ------------------------------------------------------------------------------------------------- */

int mcp_stdio_run(struct mcp_server *server, int in_fd, int out_fd, struct err *e)
{
	struct stdio *io = MEM_NEW(struct stdio);
	struct stat st;
	sigset_t before, one;
	mcp_stream_init(&io->stream, &STREAM);
	io->out_fd = out_fd;
	io->is_socket = fstat(out_fd, &st) == 0 && S_ISSOCK(st.st_mode);
	lock_init(&io->lock, LOCK_OUTPUT);
	lock_bell_init(&io->bell);
	sigemptyset(&one);
	sigaddset(&one, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &one, &before); /* a write to a closed pipe is an error of the writer, no more */
	int rc = pthread_create(&io->writer, NULL, run_writer, io); /* inherits the mask */
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0) {
		/* Reads to the end, gives the calls GRACE_S to finish by themselves, cancels the rest and waits for them. */
		struct mcp_session *session = mcp_session_new(server, &io->stream, 0);
		rc = read_all(server, session, io, in_fd, e);
		lock_take(&io->lock);
		io->input_ended = 1;
		lock_release(&io->lock);
		int64_t deadline = clock_now() + GRACE_S * CLOCK_S;
		while (mcp_server_running(server, session) > 0 && clock_now() < deadline) {
			mcp_server_end_subscriptions(server, session);
			mcp_session_cancel_asks(session); /* those wait for a client that says nothing any more */
			clock_sleep(5 * CLOCK_MS);
		}
		mcp_server_end_session(server, session);
		while (mcp_server_running(server, session) > 0)
			clock_sleep(5 * CLOCK_MS);
		mcp_session_unref(session);
		lock_take(&io->lock);
		io->ending = 1;
		lock_bell_ring(&io->bell);
		lock_release(&io->lock);
		pthread_join(io->writer, NULL);
	} else {
		rc = err_sys(e, rc, "starting the thread that writes to the MCP client");
	}
	mcp_stream_unref(&io->stream);
	return rc;
}
