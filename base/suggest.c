/* suggest: edit distance of names; see suggest.h. */
#include "base/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int letter(const char *text, size_t i)
{
	return tolower((unsigned char)text[i]);
}

size_t suggest_distance(const char *a, const char *b)
{
	size_t n = least(strlen(a), SUGGEST_MAX), m = least(strlen(b), SUGGEST_MAX);
	size_t rows[3][SUGGEST_MAX + 1]; /* the present row of the table and the two above it */
	for (size_t j = 0; j <= m; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *now = rows[i % 3], *up = rows[(i - 1) % 3], *up2 = rows[(i + 1) % 3];
		now[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t same = up[j - 1] + (letter(a, i - 1) != letter(b, j - 1));
			now[j] = least(same, least(up[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && letter(a, i - 1) == letter(b, j - 2) && letter(a, i - 2) == letter(b, j - 1))
				now[j] = least(now[j], up2[j - 2] + 1);
		}
	}
	return rows[n % 3][m];
}

void suggest_init(struct suggest *n, const char *given)
{
	size_t len = strlen(given), allowed = len / 3 > 2 ? len / 3 : len > 3 ? 2 : 1;
	*n = (struct suggest){ .given = given, .best = "", .distance = allowed + 1 };
}

/* Of two names that are as near, one that was only not typed to its end is meant. */
void suggest_offer(struct suggest *n, const char *candidate)
{
	size_t distance = suggest_distance(n->given, candidate), len = strlen(n->given);
	bool begun = strncmp(candidate, n->given, len) == 0 && strncmp(n->best, n->given, len) != 0;
	bool nearer = distance < n->distance || (distance == n->distance && n->best[0] && begun);
	/* A name that shares no letter is not meant, however short it is. */
	if (!nearer || distance >= len)
		return;
	n->distance = distance;
	snprintf(n->best, sizeof n->best, "%s", candidate);
}

const char *suggest_best(const struct suggest *n)
{
	return n->best[0] ? n->best : NULL;
}

const char *suggest_word(const char *given, const char *const *known, size_t count)
{
	struct suggest n;
	const char *found = NULL;
	suggest_init(&n, given);
	for (size_t k = 0; k < count; k++) {
		suggest_offer(&n, known[k]);
		if (n.best[0] && strncmp(n.best, known[k], SUGGEST_MAX) == 0)
			found = known[k];
	}
	return found;
}

const char *suggest_hint(const char *given, const char *const *known, size_t count, char text[96])
{
	const char *found = suggest_word(given, known, count);
	text[0] = '\0';
	if (found)
		snprintf(text, 96, " (did you mean %s?)", found);
	return text;
}
