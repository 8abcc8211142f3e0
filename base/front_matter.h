/* front_matter: the front matter of a Markdown file, as lines that keep comments, order and line numbers:
 *
 *     ---
 *     key: value          # a comment: '#' at the start or behind a blank
 *     key:
 *       name: value       # an entry of a map
 *       - value           # an item of a list
 *     ---
 *
 * It is not YAML: nothing else is understood, and everything else is an error with file and line. A table says which
 * keys a kind of file has. Used for contexts, transformations and recordings. */
#ifndef PEAKD_BASE_FRONT_MATTER_H
#define PEAKD_BASE_FRONT_MATTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum front_matter_shape {
	FRONT_MATTER_TEXT,     /* a value on the key's own line */
	FRONT_MATTER_OPTIONAL, /* the same, but it may be empty */
	FRONT_MATTER_MAP,      /* entries below the key */
	FRONT_MATTER_LIST,     /* items below the key, a value on its own line, or both */
};

/* One key that a kind of file may have. */
struct front_matter_key {
	const char *name;
	enum front_matter_shape shape;
};

enum front_matter_kind {
	FRONT_MATTER_BLANK,
	FRONT_MATTER_COMMENT,
	FRONT_MATTER_FIELD, /* `key: value` or `key:` at the left margin */
	FRONT_MATTER_ENTRY, /* `  name: value` below a field */
	FRONT_MATTER_ITEM,  /* `- value` below a field */
};

struct front_matter_line {
	enum front_matter_kind kind;
	bool indented; /* COMMENT: it was not at the left margin */
	char *key;     /* FIELD, ENTRY; else NULL */
	char *value;   /* FIELD, ENTRY, ITEM: runs of white space are one blank; "" when there is none */
	char *comment; /* without the '#'; NULL when there is none */
	int line;      /* in the file, from 1; 0 for a line that an edit added */
};

struct front_matter {
	struct front_matter_line *lines;
	size_t count;
	bool found;       /* false: the text does not start with `---` and is all body */
	const char *body; /* borrowed from the text: what follows the closing line */
	int body_line;    /* its line number */
};

/* Reads the front matter of a text, which may follow blank lines. `file` is the name that errors give. -ERR_INPUT says
 * file, line, what was found and what was expected. */
int front_matter_parse(const char *file, const char *text, const struct front_matter_key *keys, size_t key_count,
		       struct front_matter *ret_m, struct err *e);
void front_matter_fini(struct front_matter *m);
void front_matter_line_fini(struct front_matter_line *l);
/* The index of the field's line; -1 when the field is not there. */
int front_matter_find(const struct front_matter *m, const char *key);
/* The value on the field's own line, borrowed; "" when the field is not there. */
const char *front_matter_value(const struct front_matter *m, const char *key);
/* The field's line number in the file; 1, where the front matter begins, when it is not there. */
int front_matter_line_of(const struct front_matter *m, const char *key);
/* The next entry or item of the field at `field`, after line index `after` (start with `field`); -1 at the end, and when
 * `field` is -1. A value on the field's own line is not among them. */
int front_matter_next(const struct front_matter *m, int field, int after);
/* Appends to a list the value on the key's own line, which `split` takes apart at commas and blanks, and the items below it; all
 * owned by the caller. */
void front_matter_list(const struct front_matter *m, const char *key, bool split, char ***io_list, size_t *io_count);
/* The text as values hold it: runs of white space are one blank, none at the ends. Owned by the caller. */
char *front_matter_collapse(const char *text, size_t len);

#endif
