/* utf8: well-formedness by the Unicode standard's table 3-7 (version 15); see utf8.h. */
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

static bool between(unsigned char c, unsigned char low, unsigned char high)
{
	return c >= low && c <= high;
}

/* Length of the well-formed sequence at s, 0 when it is none. The terminating NUL ends every sequence. */
static size_t sequence(const unsigned char *s)
{
	unsigned char a = s[0], low = 0x80, high = 0xBF;
	if (a < 0x80)
		return 1;
	size_t n = between(a, 0xC2, 0xDF) ? 2 : between(a, 0xE0, 0xEF) ? 3 : between(a, 0xF0, 0xF4) ? 4 : 0;
	if (a == 0xE0)
		low = 0xA0;
	else if (a == 0xED)
		high = 0x9F;
	else if (a == 0xF0)
		low = 0x90;
	else if (a == 0xF4)
		high = 0x8F;
	if (n == 0 || !between(s[1], low, high))
		return 0;
	for (size_t i = 2; i < n; i++)
		if (!between(s[i], 0x80, 0xBF))
			return 0;
	return n;
}

char *utf8_repair(char *text)
{
	for (char *at = text; *at;) {
		size_t n = sequence((const unsigned char *)at);
		if (n == 0)
			*at = '?';
		at += n ? n : 1;
	}
	return text;
}

size_t utf8_cut(const char *text, size_t max)
{
	size_t len = strlen(text);
	if (len <= max)
		return len;
	while (max > 0 && ((unsigned char)text[max] & 0xC0) == 0x80)
		max--;
	return max;
}
