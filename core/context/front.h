/* front: the front matter of a context file as lines: fields, entries and items with raw values, and the comments
 * among them. It knows which fields exist and their shape, not what values mean (core/context/spec does). Used by
 * core/context/context. */
#ifndef PEAKD_CORE_CONTEXT_FRONT_H
#define PEAKD_CORE_CONTEXT_FRONT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

enum front_kind {
	FRONT_BLANK,
	FRONT_COMMENT,
	FRONT_FIELD, /* `key: value` or `key:` at the left margin */
	FRONT_ENTRY, /* `  name: value` below a field */
	FRONT_ITEM,  /* `  - value` below a field */
};

struct front_line {
	enum front_kind kind;
	bool indented; /* FRONT_COMMENT: was not at the left margin */
	char *key;     /* FIELD, ENTRY; else NULL */
	char *value;   /* FIELD, ENTRY, ITEM: white space collapsed, "" when there is none */
	char *comment; /* without the '#'; NULL when there is none */
	int line;      /* in the file, from 1; 0 for a line that an edit added */
};

struct front {
	struct front_line *lines;
	size_t count;
};

/* Reads the lines between the two `---`; `first_line` is the number of the first of them. -ERR_INPUT names file,
 * line, what was found and what was expected. */
int front_parse(const char *file, const char *text, size_t len, int first_line, struct front **ret_front,
		struct err *e);
void front_free(struct front *f);
struct front *front_copy(const struct front *f);
/* The lines as text, without the `---`. */
void front_render(const struct front *f, struct buf *out);
/* Fields in a fixed order, no comments or blank lines, one-line lists written as items. */
void front_canonical(const struct front *f, struct buf *out);

/* Index of the field's line; -1 when the field is not there. */
int front_field(const struct front *f, const char *key);
/* The next entry or item of the field at `field`, after line index `after` (start with `field`); -1 at the end. A
 * value on the field's own line is not among them. */
int front_next(const struct front *f, int field, int after);

/* Edits; `text` and names are copied. */
void front_set_entry(struct front *f, const char *field, const char *name, const char *value);
void front_add_item(struct front *f, const char *field, const char *value);
/* Removes line `index` (an entry, an item, or a field with its one value), and the field once nothing is below it. */
void front_drop(struct front *f, int index);
/* The value with white space collapsed, as lines hold it; owned by the caller. */
char *front_collapse(const char *text, size_t len);

#endif
