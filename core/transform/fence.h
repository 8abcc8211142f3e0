/* fence: the fenced code blocks of a Markdown text, as CommonMark reads them (backticks or tildes of any length ≥ 3),
 * but at any indentation, since models put them into lists. Used by transformation.c and reply.c. */
#ifndef PEAKD_CORE_TRANSFORM_FENCE_H
#define PEAKD_CORE_TRANSFORM_FENCE_H

#include <stdbool.h>
#include <stddef.h>

/* All pointers are borrowed from the text. */
struct fence {
	const char *info; /* what stands behind the opening fence, blanks trimmed */
	size_t info_len;
	const char *start; /* of the opening line */
	const char *body;
	size_t body_len; /* up to the closing line, or the end of the text */
	size_t indent;   /* blanks before the opening fence; dropped from the body's lines as far as they are there */
	bool closed;
	const char *end; /* behind the closing line */
};

/* The next block at or behind *at; moves *at behind it. False when there is none. */
bool fence_next(const char **at, struct fence *ret_fence);
/* True when a line starts a block at this very place: for readers that go line by line. */
bool fence_at(const char *line, struct fence *ret_fence);
/* The body with its indentation and carriage returns removed, ending in a newline unless empty. Owned by the caller. */
char *fence_text(const struct fence *f);

#endif
