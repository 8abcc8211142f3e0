/* base/suggest: what was meant is found, and nothing is made up. */
#include "tap.h"
#include "base/suggest.h"

int main(void)
{
	static const char *const verbs[] = { "serve", "stdio", "run", "tune", "compare", "workflow" };
	char text[96];
	is_int(suggest_distance("tune", "tune"), 0, "the same word");
	is_int(suggest_distance("Tune", "tUNE"), 0, "whatever the case");
	is_int(suggest_distance("tnue", "tune"), 1, "two letters swapped are one mistake");
	is_int(suggest_distance("kitten", "sitting"), 3, "kitten and sitting");
	is_int(suggest_distance("", "abc"), 3, "from nothing");
	is_str(suggest_word("tnue", verbs, 6), "tune", "a swap");
	is_str(suggest_word("wokflow", verbs, 6), "workflow", "a letter missing");
	ok(suggest_word("banana", verbs, 6) == NULL, "nothing like it");
	ok(suggest_word("x", verbs, 6) == NULL, "one letter that none of them is");
	ok(suggest_word("", verbs, 6) == NULL, "nothing given");
	is_str(suggest_hint("compre", verbs, 6, text), " (did you mean compare?)", "as a hint");
	is_str(suggest_hint("banana", verbs, 6, text), "", "no hint");
	struct suggest n;
	suggest_init(&n, "matmull");
	suggest_offer(&n, "matadd");
	suggest_offer(&n, "matmul");
	suggest_offer(&n, "matmulXX");
	is_str(suggest_best(&n), "matmul", "the best of several");
	char big[400];
	memset(big, 'a', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	is_int(suggest_distance(big, big), 0, "long names are compared as far as they are looked at");
	return tap_done();
}
