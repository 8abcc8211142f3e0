/* lex: words and tokens of source code and declarations, by their form alone. Used by the readers of front matter, and by what
 * rewrites device code. */
#ifndef PEAKD_BASE_LEX_H
#define PEAKD_BASE_LEX_H

#include <stdbool.h>
#include <stddef.h>

/* A letter, digit or underscore. */
bool lex_in_word(char c);
/* The n characters at `at`, inside of `text`, are no part of a longer word. */
bool lex_is_whole(const char *text, const char *at, size_t n);
/* Length of the word (letters, digits, underscores) that begins at s; 0: none. */
size_t lex_word(const char *s);
/* The n characters at s are this word. */
bool lex_is(const char *s, size_t n, const char *word);
/* Moves *at behind blanks and the word, if that word is the next one. */
bool lex_take(const char **at, const char *word);
/* The text has the word, not as a part of a longer one. */
bool lex_has(const char *text, const char *word);
/* A name of C and Lua: a word that begins with no digit. */
bool lex_is_name(const char *s);
/* Length of the text up to one of `ends` that is outside of brackets, or its end. */
size_t lex_until(const char *s, const char *ends);

/* Length of the text that begins at s with a quote, up to the same quote or the end of the line; \ escapes a character. */
size_t lex_quoted(const char *s);

/* Tokens of C, CUDA, HIP and HLSL. */
enum lex_kind {
	LEX_WORD,
	LEX_NUMBER,
	LEX_TEXT, /* string or character, quotes included; raw strings too */
	LEX_COMMENT,
	LEX_OTHER, /* one character: white space or punctuation */
};
/* Length of the preprocessor's line that begins at s with a #, with the lines that it goes on in, without the last one's end. */
size_t lex_directive(const char *s);
/* Length of the token at s, which is not the end. */
size_t lex_c(const char *s, enum lex_kind *ret_kind);
/* Code has the word of n characters outside of comments and texts. */
bool lex_c_has(const char *code, const char *word, size_t n);

#endif
