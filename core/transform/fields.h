/* fields: named pieces of text in a row, each `name length` on a line and then its bytes: how transform.c keeps its state
 * between two calls, in a form that people can still read. */
#ifndef PEAKD_TRANSFORM_FIELDS_H
#define PEAKD_TRANSFORM_FIELDS_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

void fields_put(struct buf *out, const char *name, const char *text);
void fields_put_number(struct buf *out, const char *name, unsigned value);

struct field { char *name, *text; };
struct fields {
	struct field *at;
	size_t count;

};
/* -ERR_INPUT for text that fields_put did not write. */
int fields_read(const char *text, size_t len, struct fields *ret_fields, struct err *e);
void fields_fini(struct fields *f);
/* The first of that name, or ""/0. Borrowed. */
const char *fields_text(const struct fields *f, const char *name);
unsigned fields_number(const struct fields *f, const char *name);

#endif
