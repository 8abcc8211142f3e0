/* wire: frames between the daemon and its workers; see wire.h. Both ends call it, and neither trusts what the other
 * sends. The messages in the frames are in wire_message.c. */
#include "backends/wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

enum { ALSO_KEEP = 8192, FIRST_ROOM = 1 << 20, PIECES = 3 /* header, body, tail */ };

struct header {
	uint32_t magic, type, id, zero;
	uint64_t len;
};
_Static_assert(sizeof(struct header) == WIRE_HEADER, "the header travels as it is in memory, little-endian (wire_table.c)");

static int peer_gone(struct err *e)
{
	return err_set(e, ERR_CRASH, "the other end of the wire is gone: its process ended or closed the connection");
}

int wire_send(int fd, enum wire_type type, uint32_t id, const void *body, size_t len, int64_t deadline, struct err *e)
{
	struct buf borrowed = { .data = (char *)(uintptr_t)body, .len = len };
	return wire_send_tail(fd, type, id, &borrowed, NULL, deadline, e);
}

int wire_send_tail(int fd, enum wire_type type, uint32_t id, const struct buf *body, const struct wire_tail *tail, int64_t deadline,
		   struct err *e)
{
	size_t len = body ? body->len : 0, more = tail ? tail->len : 0;
	if (len > WIRE_BODY_MAX || more > WIRE_BODY_MAX - len)
		return err_set(e, ERR_INPUT, "a message of %zu bytes is too large for the wire (at most %llu); use smaller buffers",
			       len + more, (unsigned long long)WIRE_BODY_MAX);
	struct header header = { .magic = WIRE_MAGIC, .type = type, .id = id, .len = len + more };
	struct iovec piece[PIECES] = { { &header, sizeof header },
				       { body ? body->data : NULL, len },
				       { (void *)(uintptr_t)(tail ? tail->bytes : NULL), more } };
	int flags = fcntl(fd, F_GETFL);
	bool careful = deadline != CLOCK_NEVER && flags >= 0 && !(flags & O_NONBLOCK);
	while (piece[0].iov_len + piece[1].iov_len + piece[2].iov_len > 0) {
		struct pollfd room = { .fd = fd, .events = POLLOUT };
		const struct iovec *first = piece;
		int ready = poll(&room, 1, clock_poll_ms(deadline));
		if (ready == 0)
			return err_set(e, ERR_TIMEOUT, "the other end of the wire did not accept the message in time");
		if (ready < 0 && errno != EINTR)
			return err_sys(e, errno, "poll on the wire");
		if (ready < 0)
			continue;
		while (first->iov_len == 0)
			first++;
		/* A dead peer is an error of this call, not a signal for the whole process. A blocking descriptor (careful) gets no
		 * more than it accepts at once after POLLOUT, so that the deadline holds. */
		struct msghdr all = { .msg_iov = piece, .msg_iovlen = PIECES };
		ssize_t n = careful ? write(fd, first->iov_base, first->iov_len < PIPE_BUF ? first->iov_len : PIPE_BUF)
				    : sendmsg(fd, &all, MSG_NOSIGNAL);
		if (n < 0 && !careful && errno == ENOTSOCK)
			n = writev(fd, piece, PIECES);
		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			return peer_gone(e);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return err_sys(e, errno, "write to the wire");
		for (int i = 0; i < PIECES && n > 0; i++) { /* what was written goes from the front */
			size_t part = (size_t)n < piece[i].iov_len ? (size_t)n : piece[i].iov_len;
			piece[i].iov_base = (char *)piece[i].iov_base + part;
			piece[i].iov_len -= part;
			n -= (ssize_t)part;
		}
	}
	return 0;
}

/* Reads from the worker's stderr; false at its end. */
static bool drain(int fd, struct buf *also)
{
	char text[4096];
	ssize_t n = read(fd, text, sizeof text);
	if (n > 0) {
		buf_add(also, text, (size_t)n);
		if (also->len > ALSO_KEEP)
			buf_drop(also, also->len - ALSO_KEEP);
	}
	return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

/* A dead worker's last words are in its stderr. A live grandchild may hold that open, so this never waits. */
static void drain_rest(int fd, struct buf *also)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	for (int i = 0; fd >= 0 && i < 64 && poll(&p, 1, 0) > 0 && (p.revents & POLLIN); i++)
		if (!drain(fd, also))
			return;
}

/* Up to n bytes from fd before the deadline: >0, or an error (-ERR_CRASH at the end of file). */
static ssize_t read_some(int fd, void *to, size_t n, int64_t deadline, int *also_fd, struct buf *also, struct err *e)
{
	for (;;) {
		struct pollfd p[2] = { { .fd = fd, .events = POLLIN }, { .fd = *also_fd, .events = POLLIN } };
		int ready = poll(p, 2, clock_poll_ms(deadline));
		if (ready < 0 && errno != EINTR)
			return err_sys(e, errno, "poll on the wire");
		if (ready == 0)
			return err_set(e, ERR_TIMEOUT, "no answer on the wire in time");
		if (ready < 0)
			continue;
		if (p[1].revents && !drain(*also_fd, also))
			*also_fd = -1;
		if (!p[0].revents) {
			if (clock_poll_ms(deadline) == 0) /* a chatty stderr must not defer the deadline */
				return err_set(e, ERR_TIMEOUT, "no answer on the wire in time");
			continue;
		}
		ssize_t got = read(fd, to, n);
		if (got > 0)
			return got;
		if (got == 0 || errno == ECONNRESET) {
			drain_rest(*also_fd, also);
			return peer_gone(e);
		}
		if (errno != EINTR && errno != EAGAIN)
			return err_sys(e, errno, "read from the wire");
	}
}

int wire_receive_again(int fd, struct wire_frame *io_frame, int64_t deadline, int also_fd, struct buf *also, struct err *e)
{
	struct wire_frame *f = io_frame;
	struct header header;
	ssize_t n;
	for (size_t got = 0; got < sizeof header; got += (size_t)n)
		if ((n = read_some(fd, (uint8_t *)&header + got, sizeof header - got, deadline, &also_fd, also, e)) < 0)
			return (int)n;
	if (header.magic != WIRE_MAGIC || header.type < WIRE_HELLO || header.type > WIRE_LAST || header.zero ||
	    header.len > WIRE_BODY_MAX)
		return err_set(e, ERR_NETWORK,
			       "garbage on the wire (magic %08x, type %u, %llu bytes): something else writes to the worker's "
			       "standard output, or it is not a peakd worker. Check the launcher prefix",
			       header.magic, header.type, (unsigned long long)header.len);
	size_t len = header.len;
	/* The memory grows with what arrives: a length alone must not make us allocate. */
	for (size_t got = 0; got < len || f->room == 0; got += (size_t)n) {
		if (got == f->room) {
			f->room = f->room ? 2 * f->room : FIRST_ROOM;
			f->room = f->room < len ? f->room : len ? len : 1;
			f->body = mem_resize(f->body, f->room, 1);
		}
		size_t want = (f->room < len ? f->room : len) - got;
		if ((n = want ? read_some(fd, f->body + got, want, deadline, &also_fd, also, e) : 0) < 0)
			return (int)n;
	}
	f->type = (enum wire_type)header.type;
	f->id = header.id;
	f->len = len;
	return 0;
}

int wire_receive(int fd, struct wire_frame *ret_frame, int64_t deadline, int also_fd, struct buf *also, struct err *e)
{
	struct wire_frame f = { .body = NULL };
	int rc = wire_receive_again(fd, &f, deadline, also_fd, also, e);
	if (rc < 0)
		free(f.body);
	else
		*ret_frame = f;
	return rc;
}
