/* base/utf8: valid UTF-8, replacement of other bytes, and truncation between characters. */
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "tap.h"

static const struct {
	const char *text, *clean;
} cases[] = {
	{ "", "" },
	{ "plain", "plain" },
	{ "é€😀", "é€😀" },
	{ "a\xff"
	  "b",
	  "a?b" },
	{ "\x80", "?" },
	{ "\xc3", "?" },
	{ "\xc3(", "?(" },
	{ "\xe2\x82", "??" },
	{ "\xc0\xaf", "??" },
	{ "\xe0\x80\xaf", "???" },
	{ "\xed\xa0\x80", "???" },
	{ "\xf0\x80\x80\x80", "????" },
	{ "\xf4\x90\x80\x80", "????" },
	{ "\xf5\x80\x80\x80", "????" },
	{ "é\xe9é", "é?é" },
	{ "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf" },
};

int main(void)
{
	char text[64];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		strcpy(text, cases[i].text);
		bool good = strcmp(cases[i].text, cases[i].clean) == 0;
		ok((utf8_bad(text) == NULL) == good, "case %zu: %s", i, good ? "UTF-8" : "not UTF-8");
		utf8_clean(text);
		is_str(text, cases[i].clean, "case %zu: bad bytes are replaced", i);
	}
	strcpy(text, "ab€€");
	utf8_cut(text, 8);
	is_str(text, "ab€€", "a text that fits is not truncated");
	utf8_cut(text, 7);
	is_str(text, "ab…", "a longer text is truncated between characters");
	const char *lines = "one\ntwo\nthr\xff";
	is_int(utf8_line(lines, utf8_bad(lines)), 3, "the line of a bad byte is found");

	struct err e = ERR_INIT;
	err_set(&e, ERR_INPUT, "host code said \xff\xfe");
	is_str(e.text, "host code said ??", "an error's message is UTF-8 even if its arguments are not");
	return tap_done();
}
