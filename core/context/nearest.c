/* nearest: edit distance over short words; see nearest.h. Used by core/context. */
#include "core/context/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 40 };

/* Levenshtein's distance, ignoring case, by Wagner and Fischer's table with one row kept. */
static size_t distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), row[WORD_MAX + 1];
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t above = row[j];
			size_t best = diagonal + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
			diagonal = above;
		}
	}
	return row[m];
}

const char *nearest_word(const char *word, const char *const *known, size_t count)
{
	size_t len = strlen(word), limit = len / 3 ? len / 3 : 1, best = limit + 1;
	const char *found = NULL;
	if (len == 0 || len > WORD_MAX)
		return NULL;
	for (size_t k = 0; k < count; k++) {
		if (strlen(known[k]) > WORD_MAX)
			continue;
		size_t d = distance(word, known[k]);
		if (d < best && d < len) {
			best = d;
			found = known[k];
		}
	}
	return found;
}

const char *nearest_hint(const char *word, const char *const *known, size_t count, char text[96])
{
	const char *found = nearest_word(word, known, count);
	text[0] = '\0';
	if (found)
		snprintf(text, 96, " (did you mean %s?)", found);
	return text;
}
