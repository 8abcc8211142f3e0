/* buf: a growable byte buffer; see buf.h. Used by every room. */
#include "base/buf.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/mem.h"

enum { PACKED_CHUNK = 1 << 16, PACKED_MAX = 1 << 30 };

void buf_fini(struct buf *b)
{
	free(b->data);
	*b = (struct buf)BUF_INIT;
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = '\0';
}

void buf_add_uri(struct buf *b, const char *part)
{
	for (const char *c = part; *c; c++)
		buf_addf(b, isalnum((unsigned char)*c) || strchr("-._~", *c) ? "%c" : "%%%02X", (unsigned char)*c);
}

void *buf_room(struct buf *b, size_t n)
{
	size_t need;
	if (__builtin_add_overflow(b->len, n, &need) || need == SIZE_MAX)
		abort();
	if (need + 1 > b->cap) {
		size_t cap = b->cap ? b->cap : 64;
		while (cap < need + 1)
			cap = cap > SIZE_MAX / 2 ? need + 1 : cap * 2;
		b->data = mem_resize(b->data, cap, 1);
		b->cap = cap;
	}
	void *room = b->data + b->len;
	b->len = need;
	b->data[need] = '\0';
	return room;
}

void buf_add(struct buf *b, const void *bytes, size_t n)
{
	void *room = buf_room(b, n);
	if (n)
		memcpy(room, bytes, n);
}

void buf_addv(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	size_t left = b->cap - b->len;
	int n = vsnprintf(left ? b->data + b->len : NULL, left, fmt, again);
	va_end(again);
	assert(n >= 0);
	char *room = buf_room(b, (size_t)n);
	if ((size_t)n >= left) /* it was cut off */
		vsnprintf(room, (size_t)n + 1, fmt, ap);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	buf_addv(b, fmt, ap);
	va_end(ap);
}

void buf_drop(struct buf *b, size_t n)
{
	assert(n <= b->len);
	if (n == 0)
		return;
	memmove(b->data, b->data + n, b->len - n + 1);
	b->len -= n;
}

const char *buf_text(const struct buf *b)
{
	return b->data ? b->data : "";
}

char *buf_steal(struct buf *b)
{
	char *text = b->data ? b->data : mem_str("");
	*b = (struct buf)BUF_INIT;
	return text;
}

int buf_add_file(struct buf *b, const char *path, size_t max, struct err *e)
{
	size_t before = b->len, n = 1;
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return errno == ENOENT ? err_set(e, ERR_NOT_FOUND, "%s: there is no such file", path)
				       : err_sys(e, errno, "%s cannot be read", path);
	for (char chunk[8192]; n > 0 && b->len - before <= max;) {
		n = fread(chunk, 1, sizeof chunk, f);
		buf_add(b, chunk, n);
	}
	int rc = ferror(f) ? err_sys(e, errno, "%s cannot be read", path) : 0;
	fclose(f);
	if (rc == 0 && b->len - before > max)
		return err_set(e, ERR_INPUT, "%s is larger than %zu KiB", path, max >> 10);
	if (rc == 0 && memchr(buf_text(b) + before, 0, b->len - before))
		return err_set(e, ERR_INPUT, "%s: the file has a NUL byte; expected text", path);
	return rc;
}

int buf_add_packed_file(struct buf *b, const char *path, struct err *e)
{
	gzFile f = gzopen(path, "rbe");
	int got, problem;
	if (f == NULL)
		return err_sys(e, errno ? errno : ENOMEM, "%s: cannot be opened", path);
	do {
		char *room = buf_room(b, PACKED_CHUNK);
		got = gzread(f, room, PACKED_CHUNK);
		b->len -= (size_t)(PACKED_CHUNK - (got > 0 ? got : 0));
		b->data[b->len] = '\0';
	} while (got > 0 && b->len < PACKED_MAX);
	gzerror(f, &problem);
	gzclose(f);
	if (got > 0)
		return err_set(e, ERR_INPUT, "%s: more than %d bytes of text", path, PACKED_MAX);
	if (got < 0)
		return err_set(e, ERR_IO, "%s: cannot be read or unpacked (zlib error %d): is the file complete?", path, problem);
	return 0;
}
