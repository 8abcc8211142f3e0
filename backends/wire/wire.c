/* wire: numbers, texts and frames between daemon and workers; see wire.h. The daemon (core/workers/pool) and the worker
 * both call it, and neither believes what the other sends. The messages themselves are in wire_message.c. */
#include "backends/wire/wire.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

enum { ALSO_KEEP = 8192, FIRST_ROOM = 1 << 20, PIECES = 3 /* header, body, tail */ };

const char *wire_type_name(enum wire_type type)
{
	static const char *const names[] = {
		[WIRE_HELLO] = "hello", [WIRE_FAILED] = "failed", [WIRE_PING] = "ping", [WIRE_DEVICES] = "devices", [WIRE_COMPILE] = "compile",
		[WIRE_OPEN] = "open", [WIRE_PREPARE] = "prepare", [WIRE_EXECUTE] = "execute", [WIRE_OUTPUT] = "output", [WIRE_COMPARE] = "compare",
		[WIRE_MEASURE] = "measure", [WIRE_RELEASE] = "release", [WIRE_PAIR] = "pair", [WIRE_ENERGY] = "energy",
		[WIRE_CEILINGS] = "ceilings", [WIRE_RACES] = "races", [WIRE_PRODUCT] = "product",
	};
	return type >= WIRE_HELLO && type <= WIRE_LAST ? names[type] : "?";
}

/* --- reading and writing bytes ------------------------------------------------------------------------------------ */

static void store(uint8_t *to, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		to[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t load(const uint8_t *from, unsigned bytes)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)from[i] << (8 * i);
	return v;
}

void wire_put_u32(struct buf *out, uint32_t v)
{
	store(buf_room(out, 4), v, 4);
}

void wire_put_u64(struct buf *out, uint64_t v)
{
	store(buf_room(out, 8), v, 8);
}

void wire_put_f64(struct buf *out, double v)
{
	uint64_t bits;
	memcpy(&bits, &v, sizeof bits);
	wire_put_u64(out, bits);
}

void wire_put_bytes(struct buf *out, const void *bytes, size_t n)
{
	wire_put_u64(out, n);
	buf_add(out, bytes, n);
}

void wire_put_text(struct buf *out, const char *text)
{
	wire_put_bytes(out, text, strlen(text));
}

/* n bytes of the frame, or NULL (and a poisoned reader) when they are not there. */
static const uint8_t *take(struct wire_in *in, size_t n)
{
	if (in->bad || (size_t)(in->end - in->at) < n) {
		in->bad = true;
		return NULL;
	}
	const uint8_t *at = in->at;
	in->at += n;
	return at;
}

uint32_t wire_get_u32(struct wire_in *in)
{
	const uint8_t *at = take(in, 4);
	return at ? (uint32_t)load(at, 4) : 0;
}

uint64_t wire_get_u64(struct wire_in *in)
{
	const uint8_t *at = take(in, 8);
	return at ? load(at, 8) : 0;
}

double wire_get_f64(struct wire_in *in)
{
	uint64_t bits = wire_get_u64(in);
	double v;
	memcpy(&v, &bits, sizeof v);
	return v;
}

const void *wire_get_bytes(struct wire_in *in, size_t *ret_n)
{
	uint64_t n = wire_get_u64(in);
	const uint8_t *at = n <= SIZE_MAX ? take(in, (size_t)n) : NULL;
	*ret_n = at ? (size_t)n : 0;
	return at;
}

char *wire_get_text(struct wire_in *in)
{
	size_t n;
	const char *at = wire_get_bytes(in, &n);
	if (n && memchr(at, '\0', n)) {
		in->bad = true;
		n = 0;
	}
	return n ? mem_strn(at, n) : mem_str("");
}

size_t wire_get_count(struct wire_in *in, size_t element_min)
{
	assert(element_min > 0);
	uint64_t n = wire_get_u64(in);
	if (in->bad || n > (size_t)(in->end - in->at) / element_min) {
		in->bad = true;
		return 0;
	}
	return (size_t)n;
}

int wire_end(const struct wire_in *in, const char *what, struct err *e)
{
	if (in->bad)
		return err_set(e, ERR_NETWORK, "the %s message is cut short or holds a value that cannot be; "
		               "daemon and worker must be the same build of peakd", what);
	if (in->at != in->end)
		return err_set(e, ERR_NETWORK, "the %s message has %zu bytes too many; "
		               "daemon and worker must be the same build of peakd", what, (size_t)(in->end - in->at));
	return 0;
}

/* --- frames ------------------------------------------------------------------------------------------------------- */

static int peer_gone(struct err *e)
{
	return err_set(e, ERR_CRASH, "the other end of the wire is gone: its process ended or closed the connection");
}

/* Waits for room on the descriptor. */
static int await_room(int fd, int64_t deadline, struct err *e)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	for (;;) {
		int n = poll(&p, 1, clock_poll_ms(deadline));
		if (n > 0)
			return 0;
		if (n == 0)
			return err_set(e, ERR_TIMEOUT, "the other end of the wire did not take the message in time");
		if (errno != EINTR)
			return err_sys(e, errno, "poll on the wire");
	}
}

/* Takes what was written off the front of the pieces. */
static void advance(struct iovec piece[PIECES], size_t n)
{
	for (int i = 0; i < PIECES; i++) {
		size_t part = n < piece[i].iov_len ? n : piece[i].iov_len;
		piece[i].iov_base = (char *)piece[i].iov_base + part;
		piece[i].iov_len -= part;
		n -= part;
	}
}

/* One write(2). A blocking descriptor gets no more than it takes at once after POLLOUT, so that the deadline holds. */
static ssize_t write_some(int fd, const struct iovec piece[PIECES], bool careful)
{
	const struct iovec *first = piece;
	while (first->iov_len == 0)
		first++;
	if (!careful) {
		/* A peer that is gone is an error of this call, not a signal for the whole process. */
		struct msghdr m = { .msg_iov = (struct iovec *)piece, .msg_iovlen = PIECES };
		ssize_t n = sendmsg(fd, &m, MSG_NOSIGNAL);
		return n < 0 && errno == ENOTSOCK ? writev(fd, piece, PIECES) : n;
	}
	return write(fd, first->iov_base, first->iov_len < PIPE_BUF ? first->iov_len : PIPE_BUF);
}

int wire_send(int fd, enum wire_type type, uint32_t id, const void *body, size_t len, int64_t deadline, struct err *e)
{
	return wire_send_tail(fd, type, id, body, len, NULL, deadline, e);
}

int wire_send_tail(int fd, enum wire_type type, uint32_t id, const void *body, size_t len, const struct wire_tail *tail, int64_t deadline,
                   struct err *e)
{
	size_t more = tail ? tail->len : 0;
	if (len > WIRE_BODY_MAX || more > WIRE_BODY_MAX - len)
		return err_set(e, ERR_INPUT, "a message of %zu bytes does not fit the wire (at most %llu); use smaller buffers",
		               len + more, (unsigned long long)WIRE_BODY_MAX);
	uint8_t header[WIRE_HEADER];
	store(header, WIRE_MAGIC, 4);
	store(header + 4, type, 4);
	store(header + 8, id, 4);
	store(header + 12, 0, 4);
	store(header + 16, len + more, 8);
	struct iovec piece[PIECES] = { { header, sizeof header }, { (void *)(uintptr_t)body, len },
	                               { (void *)(uintptr_t)(tail ? tail->bytes : NULL), more } };
	int flags = fcntl(fd, F_GETFL);
	bool careful = deadline != CLOCK_NEVER && flags >= 0 && !(flags & O_NONBLOCK);
	while (piece[0].iov_len + piece[1].iov_len + piece[2].iov_len > 0) {
		if (await_room(fd, deadline, e) < 0)
			return -(int)e->code;
		ssize_t n = write_some(fd, piece, careful);
		if (n >= 0)
			advance(piece, (size_t)n);
		else if (errno == EPIPE || errno == ECONNRESET)
			return peer_gone(e);
		else if (errno != EINTR && errno != EAGAIN)
			return err_sys(e, errno, "write to the wire");
	}
	return 0;
}

/* Reads what the second descriptor has to say; false at its end. */
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

/* The last words of a peer that is gone lie in its stderr; a live grandchild may hold that open, hence no waiting. */
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
			if (clock_poll_ms(deadline) == 0) /* a chatty stderr must not hold the deadline off */
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

static int check_header(const uint8_t header[WIRE_HEADER], struct err *e)
{
	uint32_t magic = (uint32_t)load(header, 4), type = (uint32_t)load(header + 4, 4);
	uint32_t zero = (uint32_t)load(header + 12, 4);
	uint64_t len = load(header + 16, 8);
	if (magic == WIRE_MAGIC && type >= WIRE_HELLO && type <= WIRE_LAST && zero == 0 && len <= WIRE_BODY_MAX)
		return 0;
	return err_set(e, ERR_NETWORK,
	               "garbage on the wire (magic %08x, type %u, %llu bytes): something else writes to the "
	               "worker's standard output, or it is not a peakd worker; check the launcher prefix",
	               magic, type, (unsigned long long)len);
}

int wire_receive_again(int fd, struct wire_frame *io_frame, int64_t deadline, int also_fd, struct buf *also, struct err *e)
{
	struct wire_frame *f = io_frame;
	uint8_t header[WIRE_HEADER];
	ssize_t n;
	for (size_t got = 0; got < sizeof header; got += (size_t)n)
		if ((n = read_some(fd, header + got, sizeof header - got, deadline, &also_fd, also, e)) < 0)
			return (int)n;
	if (check_header(header, e) < 0)
		return -(int)e->code;
	size_t len = (size_t)load(header + 16, 8);
	/* The room grows with what arrives: a length alone must not make us allocate. */
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
	f->type = (enum wire_type)load(header + 4, 4);
	f->id = (uint32_t)load(header + 8, 4);
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
