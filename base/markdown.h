/* markdown: reads a Markdown text as headings, fenced blocks and other lines, with line numbers. The rules are those of
 * CommonMark 0.31, sections 4.2 and 4.5. The one reader of contexts, transformations, recordings and models' answers. */
#ifndef PEAKD_BASE_MARKDOWN_H
#define PEAKD_BASE_MARKDOWN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Where the reader stands; callers fill it in. */
struct markdown {
	const char *at; /* the rest of the text, borrowed */
	int line;       /* the line number of `at`, from 1 */
	bool lists;     /* fences count at any indentation, because models put them into lists; else at most 3 spaces deep */
};

enum markdown_kind {
	MARKDOWN_LINE,    /* any other line, blank ones too */
	MARKDOWN_HEADING, /* `# title` to `###### title` */
	MARKDOWN_FENCE,   /* a fenced block, from the opening line to the closing line or the end of the text */
};

/* One piece of the text. All pointers are borrowed from it. */
struct markdown_block {
	enum markdown_kind kind;
	int line;          /* of the first line */
	int level;         /* HEADING: how many '#' */
	const char *start; /* the first line's first byte */
	const char *end;   /* behind the last line */
	const char *info;  /* HEADING: the title; FENCE: the words behind the opening fence; without blanks around it */
	size_t info_len;
	const char *body; /* FENCE: the lines between the fences */
	size_t body_len;
	size_t indent; /* FENCE: blanks before the opening fence */
	bool closed;   /* FENCE: it has a closing line */
};

/* Reads the next block and moves behind it. False at the end of the text. */
bool markdown_next(struct markdown *m, struct markdown_block *ret_block);
/* The same, but skips everything that is not a fence. */
bool markdown_next_fence(struct markdown *m, struct markdown_block *ret_block);
/* Whether a heading of this level starts with the words. */
bool markdown_is_heading(const struct markdown_block *b, int level, const char *words);
/* A fence's body without the fence's indentation and without carriage returns; ends in a newline unless it is empty.
 * Owned by the caller. */
char *markdown_body(const struct markdown_block *b);
/* How many backticks a fence around this text needs, so that no line of the text closes it; at least 3. */
size_t markdown_ticks(const char *text, bool lists);

#endif
