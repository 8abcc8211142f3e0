/* buf: a growable byte buffer, always NUL-terminated behind its length, so that text and bytes share it. */
#ifndef PEAKD_BASE_BUF_H
#define PEAKD_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"

struct buf {
	char *data; /* NULL while nothing was added; else data[len] is NUL */
	size_t len; /* bytes used */
	size_t cap; /* bytes allocated */
};

#define BUF_INIT                                                                                                                   \
	{                                                                                                                          \
		.data = NULL, .len = 0, .cap = 0                                                                                   \
	}

void buf_fini(struct buf *b);
/* Forgets the content, keeps the memory. */
void buf_clear(struct buf *b);
void buf_add(struct buf *b, const void *bytes, size_t n);
/* Here, so that the length of a literal is known and a byte is stored without a call. */
static inline void buf_adds(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}
static inline void buf_addc(struct buf *b, char c)
{
	if (b->len + 1 < b->cap) {
		b->data[b->len++] = c;
		b->data[b->len] = '\0';
	} else {
		buf_add(b, &c, 1);
	}
}
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_addv(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* One part of a URI: what RFC 3986, section 2.3, does not call unreserved is percent-encoded. */
void buf_add_uri(struct buf *b, const char *part);
/* n bytes of room at the end, to be written by the caller; they count as used. Valid until the next call. */
void *buf_room(struct buf *b, size_t n);
/* Appends a text file of at most `max` bytes. -ERR_NOT_FOUND when there is no such file, -ERR_INPUT when it is larger or holds a
 * NUL byte, -ERR_IO. */
int buf_add_file(struct buf *b, const char *path, size_t max, struct err *e);
/* Appends a file that is plain or gzipped. -ERR_INPUT beyond a gibibyte, -ERR_IO. */
int buf_add_packed_file(struct buf *b, const char *path, struct err *e);
/* Drops the first n bytes. */
void buf_drop(struct buf *b, size_t n);
/* The text (never NULL), owned by the buffer. */
const char *buf_text(const struct buf *b);
/* The text, owned by the caller (free()); the buffer is empty afterwards. Never NULL. */
char *buf_steal(struct buf *b);

#endif
