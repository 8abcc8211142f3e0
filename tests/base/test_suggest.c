/* base/suggest: the nearest word for a misspelt one, or none if nothing is near. */
#include "base/suggest.h"
#include "tap.h"

int main(void)
{
	static const char *const verbs[] = { "serve", "stdio", "run", "tune", "compare", "workflow" };
	char text[96];
	is_int(suggest_distance("tune", "tune"), 0, "equal words have distance 0");
	is_int(suggest_distance("Tune", "tUNE"), 0, "case does not count");
	is_int(suggest_distance("tnue", "tune"), 1, "two letters swapped are one mistake");
	is_int(suggest_distance("kitten", "sitting"), 3, "kitten and sitting have distance 3");
	is_int(suggest_distance("", "abc"), 3, "the distance from an empty word is the length");
	is_str(suggest_word("tnue", verbs, 6), "tune", "swapped letters are corrected");
	is_str(suggest_word("tun", verbs, 6), "tune", "of two names that are as near the one that begins so is suggested");
	is_str(suggest_word("wokflow", verbs, 6), "workflow", "a missing letter is corrected");
	ok(suggest_word("banana", verbs, 6) == NULL, "no word is suggested if none is near");
	ok(suggest_word("x", verbs, 6) == NULL, "no word is suggested for a single letter");
	ok(suggest_word("", verbs, 6) == NULL, "no word is suggested for an empty one");
	is_str(suggest_hint("compre", verbs, 6, text), " (did you mean compare?)", "the suggestion is phrased as a hint");
	is_str(suggest_hint("banana", verbs, 6, text), "", "the hint is empty if no word is near");
	struct suggest n;
	suggest_init(&n, "matmull");
	suggest_offer(&n, "matadd");
	suggest_offer(&n, "matmul");
	suggest_offer(&n, "matmulXX");
	is_str(suggest_best(&n), "matmul", "the nearest of several names is suggested");
	char big[400];
	memset(big, 'a', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	is_int(suggest_distance(big, big), 0, "names are compared up to a maximum length");
	return tap_done();
}
