/* pieces: named pieces of text in a row, each `name length` on a line and then its bytes: how transform.c keeps its
 * state between two calls, in a form that people can still read. */
#ifndef PEAKD_CORE_TRANSFORM_PIECES_H
#define PEAKD_CORE_TRANSFORM_PIECES_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

void pieces_put(struct buf *out, const char *name, const char *text);
void pieces_put_number(struct buf *out, const char *name, unsigned value);

struct piece {
	char *name, *text;
};
struct pieces {
	struct piece *at;
	size_t count;
};
/* -ERR_INPUT for text that pieces_put did not write. */
int pieces_read(const char *text, size_t len, struct pieces *ret_pieces, struct err *e);
void pieces_fini(struct pieces *f);
/* The first of that name, or ""/0. Borrowed. */
const char *pieces_text(const struct pieces *f, const char *name);
unsigned pieces_number(const struct pieces *f, const char *name);

#endif
