/* utf8: texts that come from outside (compilers, dying processes) or are cut somewhere are made well-formed, since JSON and the
 * database take nothing else. */
#ifndef PEAKD_BASE_UTF8_H
#define PEAKD_BASE_UTF8_H

#include <stddef.h>

/* Replaces every byte that is no part of well-formed UTF-8 by '?'. Returns the text. */
char *utf8_repair(char *text);
/* Where to cut a text so that at most `max` bytes stay and no character is split: the length that stays. */
size_t utf8_cut(const char *text, size_t max);

#endif
