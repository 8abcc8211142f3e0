/* nearest: edit distance of names; see nearest.h. */
#include "core/record/nearest.h"

#include <stdio.h>
#include <string.h>

enum { NEAREST_MAX = 127 };

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t nearest_distance(const char *a, const char *b)
{
	size_t na = min(strlen(a), NEAREST_MAX), nb = min(strlen(b), NEAREST_MAX);
	size_t row[NEAREST_MAX + 1];
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t above = row[j];
			row[j] = min(min(row[j - 1], above) + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[nb];
}

void nearest_init(struct nearest *n, const char *wanted)
{
	size_t most = strlen(wanted) / 3;
	*n = (struct nearest){ .wanted = wanted, .best = "", .distance = (most > 2 ? most : 2) + 1 };
}

void nearest_offer(struct nearest *n, const char *candidate)
{
	size_t distance = nearest_distance(n->wanted, candidate);
	if (distance >= n->distance || distance >= strlen(n->wanted))
		return;
	n->distance = distance;
	snprintf(n->best, sizeof n->best, "%s", candidate);
}
