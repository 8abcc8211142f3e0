/* token: see token.h. */
#include "core/problems/token.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char *const signs[] = { "<<<", ">>>", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "->",
                                     "::", "++", "--" };

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Behind a comment or white space at s; s itself when there is neither. */
static const char *skip(const char *s)
{
	for (;;) {
		const char *end;
		if (isspace((unsigned char)*s)) {
			s++;
		} else if (s[0] == '/' && s[1] == '/') {
			s += strcspn(s, "\n");
		} else if (s[0] == '/' && s[1] == '*') {
			end = strstr(s + 2, "*/");
			s = end ? end + 2 : s + strlen(s);
		} else {
			return s;
		}
	}
}

static size_t directive_len(const char *s)
{
	size_t n = 0;
	for (;;) {
		n += strcspn(s + n, "\n");
		if (s[n] == '\0' || n == 0 || s[n - 1] != '\\')
			return n;
		n++;
	}
}

static size_t literal_len(const char *s)
{
	size_t n = 1;
	while (s[n] && s[n] != s[0] && s[n] != '\n')
		n += s[n] == '\\' && s[n + 1] ? 2 : 1;
	return n + (s[n] == s[0]);
}

static struct token next(const char *s)
{
	struct token t = { TOKEN_SIGN, s, 1 };
	if (*s == '#') {
		t = (struct token){ TOKEN_DIRECTIVE, s, directive_len(s) };
	} else if (*s == '"' || *s == '\'') {
		t = (struct token){ TOKEN_TEXT, s, literal_len(s) };
	} else if (isdigit((unsigned char)*s) || (*s == '.' && isdigit((unsigned char)s[1]))) {
		t.kind = TOKEN_NUMBER;
		while (in_name(s[t.len]) || s[t.len] == '.' || s[t.len] == '\'' ||
		       ((s[t.len] == '+' || s[t.len] == '-') && (s[t.len - 1] == 'e' || s[t.len - 1] == 'E')))
			t.len++;
	} else if (in_name(*s)) {
		t.kind = TOKEN_NAME;
		while (in_name(s[t.len]))
			t.len++;
	} else {
		for (size_t i = 0; i < MEM_COUNT(signs) && t.len == 1; i++)
			if (strncmp(s, signs[i], strlen(signs[i])) == 0)
				t.len = strlen(signs[i]);
	}
	return t;
}

void tokens_read(const char *source, struct tokens *ret_tokens)
{
	*ret_tokens = (struct tokens){ 0 };
	for (const char *s = skip(source); *s;) {
		struct token t = next(s);
		*MEM_PUSH(ret_tokens->at, ret_tokens->count) = t;
		s = skip(s + t.len);
	}
}

void tokens_fini(struct tokens *t)
{
	free(t->at);
	*t = (struct tokens){ 0 };
}

bool token_is(const struct token *t, const char *text)
{
	return strlen(text) == t->len && memcmp(t->at, text, t->len) == 0;
}

char *token_text(const struct token *t)
{
	return mem_strn(t->at, t->len);
}

/* +1 for what opens a bracket, -1 for what closes one. `<<<` is counted apart: shifts look like its end. */
static int turn(const struct token *t)
{
	if (t->kind != TOKEN_SIGN || t->len != 1)
		return 0;
	return strchr("([{", *t->at) ? 1 : strchr(")]}", *t->at) ? -1 : 0;
}

size_t tokens_close(const struct tokens *t, size_t open, size_t end)
{
	bool launch = token_is(&t->at[open], "<<<");
	int depth = launch ? 0 : 1;
	for (size_t i = open + 1; i < end; i++) {
		if (launch && depth == 0 && token_is(&t->at[i], ">>>"))
			return i + 1;
		depth += turn(&t->at[i]);
		if (!launch && depth == 0)
			return i + 1;
	}
	return end;
}

size_t tokens_find(const struct tokens *t, size_t from, size_t to, const char *sign)
{
	int depth = 0;
	for (size_t i = from; i < to; i++) {
		if (depth == 0 && token_is(&t->at[i], sign))
			return i;
		depth += turn(&t->at[i]);
	}
	return to;
}
