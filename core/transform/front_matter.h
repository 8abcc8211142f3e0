/* matter: the front matter of the small Markdown files of this room (transformations, recordings): lines `key: value`
 * between two `---`, and below a key without a value indented lines, either `- item` or `name: value`. `#` behind a
 * blank starts a comment. Not YAML: nothing else is understood, and everything else is refused with its line. */
#ifndef PEAKD_CORE_TRANSFORM_FRONT_MATTER_H
#define PEAKD_CORE_TRANSFORM_FRONT_MATTER_H

#include <stddef.h>

#include "base/err.h"

struct front_matter_item {
	char *name; /* "" of a `- item` */
	char *value;
	unsigned line;
};

struct front_matter_entry {
	char *key;
	char *value; /* "" when items follow */
	unsigned line;
	struct front_matter_item *items;
	size_t item_count;
};

struct front_matter {
	struct front_matter_entry *entries;
	size_t count;
	const char *body;   /* borrowed from the text: what follows the closing line */
	unsigned body_line; /* its line number */
};

/* `where` names the file in errors. A text that does not start with `---` has no entries and is all body. */
int front_matter_parse(const char *text, const char *where, struct front_matter *ret_m, struct err *e);
void front_matter_fini(struct front_matter *m);
/* NULL when the key is not there. */
const struct front_matter_entry *front_matter_find(const struct front_matter *m, const char *key);
/* The value, or "". Borrowed. */
const char *front_matter_value(const struct front_matter *m, const char *key);

#endif
