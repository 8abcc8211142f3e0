/* base/err: error codes, wrapped messages, and truncation. */
#include "base/err.h"
#include "tap.h"

int main(void)
{
	struct err e = ERR_INIT;
	is_int(err_set(&e, ERR_INPUT, "n is %d, want more than %d", 1, 2), -ERR_INPUT, "err_set returns minus the code");
	is_str(e.text, "n is 1, want more than 2", "the message is formatted");
	is_int(err_wrap(&e, "file %s", "x"), -ERR_INPUT, "err_wrap keeps the code");
	is_str(e.text, "file x: n is 1, want more than 2", "err_wrap puts the place in front");
	err_set(&e, ERR_INPUT, "again: %s", e.text);
	is_str(e.text, "again: file x: n is 1, want more than 2", "a new message may quote the old one");

	char big[2 * ERR_TEXT_MAX];
	for (size_t i = 0; i + 2 < sizeof big; i += 2)
		memcpy(big + i, "ü", 2);
	big[sizeof big - 2] = '\0';
	err_set(&e, ERR_IO, "x%s", big);
	ok(strlen(e.text) < ERR_TEXT_MAX, "a long message is truncated");
	is_str(e.text + strlen(e.text) - 3, "…", "a truncated message ends with an ellipsis");
	ok(((unsigned char)e.text[strlen(e.text) - 5] == 0xC3), "truncation keeps characters whole");
	ok(err_set(NULL, ERR_IO, "nobody listens") < 0, "err_set accepts NULL for the struct");
	is_str(err_code_name(ERR_TIMEOUT), "timeout", "err_code_name names a code");
	bool all = err_code_of("no such code") == ERR_INTERNAL && err_code_of(NULL) == ERR_INTERNAL;
	for (enum err_code code = ERR_INPUT; code <= ERR_INTERNAL; code++)
		all = all && err_code_of(err_code_name(code)) == code;
	ok(all, "a code's name gives the code");
	return tap_done();
}
