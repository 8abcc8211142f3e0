/* nearest: edit distance with transpositions over short names; see nearest.h. Used for tool and argument names. */
#include "mcp/nearest.h"

#include <string.h>
#include <strings.h>

enum { LONGEST = 64 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment distance (Damerau 1964), rows of one string over the other; case counts half a mistake less
 * than it seems, so "Tile" is near "tile". */
static size_t distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	if (strcasecmp(a, b) == 0)
		return 0;
	if (n > LONGEST || m > LONGEST)
		return n + m;
	size_t row[3][LONGEST + 1];
	for (size_t j = 0; j <= m; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *now = row[i % 3], *up = row[(i - 1) % 3], *up2 = row[(i + 1) % 3];
		now[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t same = up[j - 1] + (a[i - 1] != b[j - 1]);
			now[j] = least(same, least(up[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], up2[j - 2] + 1);
		}
	}
	return row[n % 3][m];
}

struct mcp_nearest mcp_nearest_init(const char *given)
{
	return (struct mcp_nearest){ .given = given, .best = NULL, .distance = (size_t)-1 };
}

void mcp_nearest_offer(struct mcp_nearest *near, const char *candidate)
{
	size_t d = distance(near->given, candidate);
	if (d < near->distance) {
		near->distance = d;
		near->best = candidate;
	}
}

const char *mcp_nearest_best(const struct mcp_nearest *near)
{
	size_t allowed = strlen(near->given) / 3;
	return near->best && near->distance <= (allowed ? allowed : 1) ? near->best : NULL;
}
