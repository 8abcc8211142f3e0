/* nearest: "did you mean …": the known word closest to a mistyped one. Used by the messages of core/context. */
#ifndef PEAKD_CORE_CONTEXT_NEAREST_H
#define PEAKD_CORE_CONTEXT_NEAREST_H

#include <stddef.h>

/* The nearest of `count` words by edit distance, when it is at most a third of the word's length away (at least 1);
 * else NULL. */
const char *nearest_word(const char *word, const char *const *known, size_t count);
/* " (did you mean tune?)" for the nearest, "" for none; into text, which is returned. */
const char *nearest_hint(const char *word, const char *const *known, size_t count, char text[96]);

#endif
