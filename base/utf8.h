/* utf8: makes texts of compilers, scripts, files and servers fit for JSON, which is UTF-8 only. Used by base/err for every
 * message, by the readers of people's files to refuse other encodings, and by daemon/tools. */
#ifndef PEAKD_BASE_UTF8_H
#define PEAKD_BASE_UTF8_H

#include <stddef.h>

/* The first byte that belongs to no valid sequence (RFC 3629: no overlong forms, no surrogates, up to U+10FFFF); NULL when
 * the whole text is UTF-8. */
const char *utf8_bad(const char *text);
/* Replaces every such byte by '?', in place. Returns the text. */
char *utf8_clean(char *text);
/* How much of a text fits into `max` bytes without splitting a character. */
size_t utf8_fit(const char *text, size_t max);
/* How many characters the text has. */
size_t utf8_count(const char *text);
/* Shortens the text to at most `max` bytes, between characters; a text that was cut ends in "…". max is at least 3. */
void utf8_cut(char *text, size_t max);
/* The line, from 1, of a place in the text. */
int utf8_line(const char *text, const char *place);

#endif
