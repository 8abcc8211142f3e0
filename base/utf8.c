/* utf8: checking, cleaning and cutting of UTF-8 text; see utf8.h. */
#include "base/utf8.h"

#include <string.h>

/* Bytes of the valid sequence that begins here; 0: there is none. */
static size_t sequence(const unsigned char *s)
{
	/* Table 3-7 of the Unicode standard: the second byte's bounds depend on the first. */
	unsigned char low = 0x80, high = 0xBF;
	size_t n = s[0] < 0x80                    ? 1
		   : s[0] >= 0xC2 && s[0] <= 0xDF ? 2
		   : (s[0] & 0xF0) == 0xE0        ? 3
		   : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4
						  : 0;
	if (s[0] == 0xE0)
		low = 0xA0;
	else if (s[0] == 0xED)
		high = 0x9F;
	else if (s[0] == 0xF0)
		low = 0x90;
	else if (s[0] == 0xF4)
		high = 0x8F;
	for (size_t i = 1; i < n; i++, low = 0x80, high = 0xBF)
		if (s[i] < low || s[i] > high)
			return 0;
	return n;
}

const char *utf8_bad(const char *text)
{
	while (*text) {
		size_t n = sequence((const unsigned char *)text);
		if (n == 0)
			return text;
		text += n;
	}
	return NULL;
}

char *utf8_clean(char *text)
{
	for (char *bad = (char *)utf8_bad(text); bad; bad = (char *)utf8_bad(bad))
		*bad++ = '?';
	return text;
}

size_t utf8_fit(const char *text, size_t max)
{
	size_t len = strlen(text);
	if (len <= max)
		return len;
	while (max > 0 && ((unsigned char)text[max] & 0xC0) == 0x80)
		max--;
	return max;
}

size_t utf8_count(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80; /* bytes that continue a character do not count */
	return n;
}

void utf8_cut(char *text, size_t max)
{
	static const char dots[] = "…";
	if (strlen(text) > max)
		memcpy(text + utf8_fit(text, max - (sizeof dots - 1)), dots, sizeof dots);
}

int utf8_line(const char *text, const char *place)
{
	int line = 1;
	for (; text < place; text++)
		line += *text == '\n';
	return line;
}
