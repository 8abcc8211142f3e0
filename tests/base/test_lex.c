/* base/lex: words and tokens by their form. */
#include "base/lex.h"

#include <string.h>

#include "tap.h"

static void test_words(void)
{
	const char *at = "  indices of logits";
	ok(lex_take(&at, "indices") && lex_take(&at, "of"), "words are taken one after the other");
	ok(!lex_take(&at, "logit") && strcmp(at, " logits") == 0, "a part of a word is no word, and nothing is taken");
	ok(lex_has("a*BX+b", "BX") && !lex_has("a*BX2+b", "BX"), "a name is found as a whole word");
	ok(lex_is_name("_a1") && !lex_is_name("1a") && !lex_is_name("a b") && !lex_is_name(""), "names begin with no digit");
	is_int((long long)lex_until("min(a, b), c", ","), 9, "a comma inside of brackets ends nothing");
}

static void kinds(const char *code, const char *want, const char *what)
{
	static const char letters[] = { [LEX_WORD] = 'w', [LEX_NUMBER] = 'n', [LEX_TEXT] = 't', [LEX_COMMENT] = 'c',
					[LEX_OTHER] = '.' };
	char got[64] = "";
	enum lex_kind kind;
	for (size_t i = 0; *code && i < sizeof got - 1; i++) {
		code += lex_c(code, &kind);
		got[i] = letters[kind];
	}
	is_str(got, want, "%s", what);
}

static void test_code(void)
{
	kinds("x=1.5e-3f+.5;", "w.n.n.", "numbers with exponents and suffixes");
	kinds("v.x*2.xy", "w.w.n.w", "a swizzle is not part of a number");
	kinds("0x1p-3 1'000", "n.n", "hexadecimal exponents and digit separators");
	kinds("a/*b*/c//d", "wcwc", "comments");
	kinds("\"a\\\"b\"'c'R\"x(\")x\"z", "tttw", "texts, characters and raw strings");
	is_int((long)lex_directive("#if A \\\n && B\nint c;"), 13, "a directive ends with the line that it goes on in");
	is_int((long)lex_directive("#endif"), 6, "or with the text");
	ok(lex_c_has("asm(\"bar\")", "asm", 3) && !lex_c_has("asm(\"bar\") // bar", "bar", 3),
	   "words in texts and comments are not code");
}

int main(void)
{
	test_words();
	test_code();
	return tap_done();
}
