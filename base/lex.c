/* lex: see lex.h. */
#include "base/lex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

bool lex_in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

bool lex_is_whole(const char *text, const char *at, size_t n)
{
	return (at == text || !lex_in_word(at[-1])) && !lex_in_word(at[n]);
}

size_t lex_word(const char *s)
{
	size_t n = 0;
	while (lex_in_word(s[n]))
		n++;
	return n;
}

bool lex_is(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(s, word, n) == 0;
}

bool lex_take(const char **at, const char *word)
{
	const char *next = *at + strspn(*at, " ");
	size_t n = lex_word(next);
	if (!lex_is(next, n, word))
		return false;
	*at = next + n;
	return true;
}

bool lex_has(const char *text, const char *word)
{
	size_t n = strlen(word);
	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
		if (lex_is_whole(text, at, n))
			return true;
	return false;
}

bool lex_is_name(const char *s)
{
	size_t n = lex_word(s);
	return n > 0 && s[n] == '\0' && !isdigit((unsigned char)*s);
}

size_t lex_until(const char *s, const char *ends)
{
	int depth = 0;
	size_t n = 0;
	for (; s[n] && (depth > 0 || !strchr(ends, s[n])); n++)
		depth += (strchr("([{", s[n]) != NULL) - (strchr(")]}", s[n]) != NULL);
	return n;
}

/* In HLSL a point may also be followed by the letters of a swizzle; C++ has ' between digits. */
static size_t number_length(const char *s)
{
	bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	size_t n = 0;
	while (lex_in_word(s[n]) || (s[n] == '\'' && lex_in_word(s[n + 1])) ||
	       (s[n] == '.' && (hex || !isalpha((unsigned char)s[n + 1]) || strchr("eEfFhHlL", s[n + 1])))) {
		bool exponent = hex ? s[n] == 'p' || s[n] == 'P' : s[n] == 'e' || s[n] == 'E';
		n += exponent && (s[n + 1] == '+' || s[n + 1] == '-') ? 2 : 1;
	}
	return n;
}

/* Of the piece that begins at s and ends with `end`; up to the end of the text when it is never closed. */
static size_t closed_by(const char *s, const char *end)
{
	const char *at = strstr(s + 2, end);
	return at ? (size_t)(at - s) + strlen(end) : strlen(s);
}

size_t lex_quoted(const char *s)
{
	size_t n = 1;
	while (s[n] && s[n] != s[0] && s[n] != '\n')
		n += s[n] == '\\' && s[n + 1] ? 2 : 1;
	return n + (s[n] == s[0]);
}

/* A raw string's delimiter has at most 16 characters (C++20, 5.13.5). */
static bool raw_opens(const char *s)
{
	size_t n = 0;
	while (n < 17 && s[n] && s[n] != '(')
		n++;
	return s[n] == '(';
}

size_t lex_c(const char *s, enum lex_kind *ret_kind)
{
	*ret_kind = LEX_OTHER;
	if (isdigit((unsigned char)s[0]) || (s[0] == '.' && isdigit((unsigned char)s[1]))) {
		*ret_kind = LEX_NUMBER;
		return number_length(s);
	}
	if (s[0] == 'R' && s[1] == '"' && raw_opens(s + 2)) {
		char *end = mem_fmt(")%.*s\"", (int)strcspn(s + 2, "("), s + 2);
		size_t n = closed_by(s, end);
		free(end);
		*ret_kind = LEX_TEXT;
		return n;
	}
	if (lex_in_word(s[0])) {
		*ret_kind = LEX_WORD;
		return lex_word(s);
	}
	if (s[0] == '/' && (s[1] == '/' || s[1] == '*')) {
		*ret_kind = LEX_COMMENT;
		return s[1] == '/' ? strcspn(s, "\n") : closed_by(s, "*/");
	}
	if (s[0] == '"' || s[0] == '\'') {
		*ret_kind = LEX_TEXT;
		return lex_quoted(s);
	}
	return 1;
}

size_t lex_directive(const char *s)
{
	size_t n = strcspn(s, "\n");
	while (s[n] && s[n - 1] == '\\')
		n += 1 + strcspn(s + n + 1, "\n");
	return n;
}

bool lex_c_has(const char *code, const char *word, size_t n)
{
	enum lex_kind kind;
	for (size_t len; *code; code += len) {
		len = lex_c(code, &kind);
		if (kind == LEX_WORD && len == n && memcmp(code, word, n) == 0)
			return true;
	}
	return false;
}
