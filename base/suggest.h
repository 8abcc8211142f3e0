/* suggest: "did you mean": the known name that is closest to an unknown one. For every message about an unknown name. */
#ifndef PEAKD_BASE_SUGGEST_H
#define PEAKD_BASE_SUGGEST_H

#include <stddef.h>

enum { SUGGEST_MAX = 127 }; /* longer names are compared by their first bytes */

/* Keeps the best of several candidates. */
struct suggest {
	const char *given;          /* borrowed */
	char best[SUGGEST_MAX + 1]; /* "" while nothing is near enough to be meant */
	size_t distance;            /* of best, or the first that would be too far */
};

/* How many letters must be put in, taken out, changed or swapped with a neighbour to make b of a, whatever their case: the optimal
 * string alignment distance (Damerau, "A technique for computer detection and correction of spelling errors", 1964). */
size_t suggest_distance(const char *a, const char *b);

/* Near enough is within a third of the name's letters; one mistake is always, two are from four letters on. */
void suggest_init(struct suggest *n, const char *given);
void suggest_offer(struct suggest *n, const char *candidate);
/* The best candidate, borrowed from n; NULL when there is none. */
const char *suggest_best(const struct suggest *n);
/* Out of a whole list; borrowed from it, NULL when there is none. */
const char *suggest_word(const char *given, const char *const *known, size_t count);
/* " (did you mean tune?)" out of a list, "" for none; into text, which is returned. */
const char *suggest_hint(const char *given, const char *const *known, size_t count, char text[96]);

#endif
