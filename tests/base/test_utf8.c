/* base/utf8: what is well-formed stays as it is, everything else becomes question marks, and no cut splits a character. */
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

#include "tap.h"

static void repaired(const char *bytes, const char *want, const char *name)
{
	char text[64];
	snprintf(text, sizeof text, "%s", bytes);
	is_str(utf8_repair(text), want, "%s", name);
}

int main(void)
{
	repaired("plain", "plain", "ASCII");
	repaired("‖a−b‖ ≤ 4·u·√K 😀", "‖a−b‖ ≤ 4·u·√K 😀", "two, three and four bytes");
	repaired("a\x80" "b\xFF" "c", "a?b?c", "stray bytes");
	repaired("\xE2\x82", "??", "a sequence that the end cuts off");
	repaired("\xC0\xAF \xED\xA0\x80 \xF4\x90\x80\x80", "?? ??? ????", "overlong, surrogate, beyond the last");
	is_int((long long)utf8_cut("abc", 3), 3, "what fits is not cut");
	is_int((long long)utf8_cut("abcd", 3), 3, "between characters");
	is_int((long long)utf8_cut("a…b", 2), 1, "not inside one");
	is_int((long long)utf8_cut("a…b", 4), 4, "but behind it");
	is_int((long long)utf8_cut("…", 0), 0, "to nothing");
	return tap_done();
}
