/* fields: named texts in order, and one line of text for each: how a job's request and result are kept in the database
 * and how recordings keep their front matter. Values may hold any text; line breaks and backslashes are escaped. */
#ifndef PEAKD_BASE_FIELDS_H
#define PEAKD_BASE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct fields {
	struct { char *name, *value; } *at; /* owned */
	size_t count;
};

#define FIELDS_INIT { .at = NULL, .count = 0 }

void fields_fini(struct fields *f);
/* Adds or replaces. Names are letters, digits, '_' and '-'. A NULL value removes the field. */
void fields_set(struct fields *f, const char *name, const char *value);
void fields_setf(struct fields *f, const char *name, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* NULL when there is none; borrowed. */
const char *fields_get(const struct fields *f, const char *name);
/* As fields_get, with a default. */
const char *fields_text(const struct fields *f, const char *name, const char *or_else);
int64_t fields_int(const struct fields *f, const char *name, int64_t or_else);
double fields_number(const struct fields *f, const char *name, double or_else);
bool fields_flag(const struct fields *f, const char *name); /* "1" or "true" */
/* "name: value\n" for each, owned by the caller; and back. -ERR_INPUT for text that fields_render cannot have made. */
char *fields_render(const struct fields *f);
int fields_parse(const char *text, struct fields *ret_f, struct err *e);

#endif
