/* utf8: texts of compilers, scripts, files and servers before they meet JSON, which knows UTF-8 only. Used by base/err for
 * every message, by the readers of people's files to refuse what is no text, and by daemon/tools where JSON ends. */
#ifndef PEAKD_BASE_UTF8_H
#define PEAKD_BASE_UTF8_H

#include <stddef.h>

/* The first byte that belongs to no valid sequence (RFC 3629: no overlong forms, no surrogates, up to U+10FFFF); NULL when
 * the whole text is UTF-8. */
const char *utf8_bad(const char *text);
/* Every such byte becomes '?', in place; the length stays what it was. Returns the text. */
char *utf8_clean(char *text);
/* How much of a text fits into `max` bytes without splitting a character. */
size_t utf8_fit(const char *text, size_t max);
/* Shortens the text to at most `max` bytes, between characters; a text that was cut ends in "…". max is at least 3. */
void utf8_cut(char *text, size_t max);
/* The line, from 1, on which a place in the text is. */
int utf8_line(const char *text, const char *place);

#endif
