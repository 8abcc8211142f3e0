/* document: a context file as its parts: front matter, fenced blocks, and the prose around them. It knows which fields
 * and fences a context has, not what is in them (core/context/spec does). Used by core/context/context and spec. */
#ifndef PEAKD_CORE_CONTEXT_DOCUMENT_H
#define PEAKD_CORE_CONTEXT_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/front_matter.h"

enum document_part { DOCUMENT_DEVICE, DOCUMENT_MACROS, DOCUMENT_HOST, DOCUMENT_REFERENCE, DOCUMENT_PARTS };

struct document_block {
	enum document_part part;
	char *prose; /* in front of the fence, without blank lines around it; "" when there is none */
	char *text;  /* between the fences, byte for byte, ending in a newline unless empty */
	int line;    /* of the first line of text, in the file; 0 when an edit made it */
	bool python; /* a reference in Python, which an oracle runs (core/judge/oracle.c) */
};

struct document {
	struct front_matter front;
	struct document_block blocks[DOCUMENT_PARTS];
	size_t block_count;
	char *after; /* prose behind the last fence */
};

/* -ERR_INPUT names file, line, what was found and what was expected. */
int document_parse(const char *file, const char *text, struct document **ret_doc, struct err *e);
/* The same for a part of a file: front matter, fields and fences that the text leaves out are those of `whole`; a field with
 * nothing in it is removed. *ret_entire says that the text names a kernel and is therefore a whole file, which has to be read as
 * one. */
int document_parse_part(const char *file, const char *text, const struct document *whole, struct document **ret_doc,
			bool *ret_entire, struct err *e);
void document_free(struct document *doc);
struct document *document_copy(const struct document *doc);

/* NULL when the document has no such block. */
const struct document_block *document_find(const struct document *doc, enum document_part part);
/* Replaces or adds a block and returns it; the text is copied, and gets a newline at its end. */
struct document_block *document_set(struct document *doc, enum document_part part, const char *text);
/* -ERR_INPUT, without a place, for a text that is too large, empty or not UTF-8. */
int document_check(enum document_part part, const char *text, struct err *e);

/* Edits of the front matter; texts and names are copied. A field that is missing is added in its canonical place. */
void document_set_entry(struct document *doc, const char *field, const char *name, const char *value);
void document_add_item(struct document *doc, const char *field, const char *value);
/* Removes front matter line `index` (an entry, an item, or a field with its one value), and its field once that is empty. */
void document_drop_line(struct document *doc, int index);

/* The whole file. `backend` is the language of the device fences. */
void document_render(const struct document *doc, const char *backend, struct buf *out);
/* Fields and fences in a fixed order, without comments, blank lines and prose; one-line lists become items. The hash of
 * a context is taken of this text: it must never change. */
void document_canonical(const struct document *doc, const char *backend, struct buf *out);

#endif
