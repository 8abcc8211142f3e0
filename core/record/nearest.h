/* nearest: "did you mean": the name of a list that is closest to one that does not exist. */
#ifndef PEAKD_CORE_RECORD_NEAREST_H
#define PEAKD_CORE_RECORD_NEAREST_H

#include <stddef.h>

/* How many letters must be put in, taken out or changed to make b of a (Levenshtein, "Binary codes capable of
 * correcting deletions, insertions, and reversals", 1966). Of longer names the first 127 bytes are compared. */
size_t nearest_distance(const char *a, const char *b);

/* Keeps the best of several candidates. */
struct nearest {
	const char *wanted; /* borrowed */
	char best[128];     /* "" when nothing is close: more than a third of the letters, and more than two, differ */
	size_t distance;    /* of best */
};

void nearest_init(struct nearest *n, const char *wanted);
void nearest_offer(struct nearest *n, const char *candidate);

#endif
