/* names: a small lexer for Lua (reference manual §3.1) and the rewriting of launches' argument lists; see names.h. */
#include "core/context/names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

struct token {
	const char *at;
	size_t len;
	bool name; /* an identifier or a keyword */
	bool wrap; /* to be rewritten */
};

struct tokens {
	struct token *at;
	size_t count;
	size_t steps; /* taken so far by mark_*: launches nested in launches must not cost their square */
};

enum { STEPS_MAX = 200000 };

/* Length of `[==[ … ]==]` at s, 0 when there is none; up to the end of the text when it is never closed. */
static size_t long_bracket(const char *s)
{
	size_t level = 0;
	if (s[0] != '[')
		return 0;
	while (s[1 + level] == '=')
		level++;
	if (s[1 + level] != '[')
		return 0;
	for (const char *c = s + 2 + level; *c; c++)
		if (*c == ']' && strspn(c + 1, "=") >= level && c[1 + level] == ']')
			return (size_t)(c - s) + 2 + level;
	return strlen(s);
}

static size_t quoted(const char *s)
{
	size_t n = 1;
	while (s[n] && s[n] != s[0] && s[n] != '\n')
		n += s[n] == '\\' && s[n + 1] ? 2 : 1;
	return n + (s[n] == s[0]);
}

/* Length of white space or a comment at s, 0 when there is none. */
static size_t skipped(const char *s)
{
	if (isspace((unsigned char)*s))
		return 1;
	if (s[0] != '-' || s[1] != '-')
		return 0;
	size_t n = long_bracket(s + 2);
	return 2 + (n ? n : strcspn(s + 2, "\n"));
}

static bool name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static struct tokens scan(const char *s)
{
	struct tokens t = { NULL, 0, 0 };
	while (*s) {
		size_t n = skipped(s);
		if (n) {
			s += n;
			continue;
		}
		bool word = name_char(*s);
		n = *s == '"' || *s == '\'' ? quoted(s) : long_bracket(s);
		while (word && name_char(s[n]))
			n++;
		if (n == 0)
			n = 1;
		*MEM_PUSH(t.at, t.count) =
			(struct token){ .at = s, .len = n, .name = word && !isdigit((unsigned char)*s) };
		s += n;
	}
	return t;
}

static bool is(const struct tokens *t, size_t k, const char *text)
{
	return k < t->count && t->at[k].len == strlen(text) && memcmp(t->at[k].at, text, t->at[k].len) == 0;
}

static int nesting(const struct tokens *t, size_t k)
{
	if (t->at[k].len != 1)
		return 0;
	char c = *t->at[k].at;
	return (c == '(' || c == '{' || c == '[') - (c == ')' || c == '}' || c == ']');
}

static bool plain_name(const struct tokens *t, size_t k)
{
	return t->at[k].name && !is(t, k, "nil") && !is(t, k, "true") && !is(t, k, "false");
}

static void mark_element(struct tokens *t, size_t from, size_t to)
{
	if (to - from == 1 && plain_name(t, from))
		t->at[from].wrap = true;
	else if (to - from == 3 && t->at[from].name && is(t, from + 1, "=") && plain_name(t, from + 2))
		t->at[from + 2].wrap = true;
}

/* The elements of the table whose opening brace is token `open`. */
static void mark_table(struct tokens *t, size_t open)
{
	int depth = 0;
	size_t from = open + 1;
	for (size_t k = open; k < t->count && t->steps++ < STEPS_MAX; k++) {
		depth += nesting(t, k);
		if (depth == 0 || (depth == 1 && (is(t, k, ",") || is(t, k, ";")))) {
			if (k > from)
				mark_element(t, from, k);
			from = k + 1;
		}
		if (depth == 0)
			return;
	}
}

/* `open` is the parenthesis behind `launch`: the argument list is the fourth argument. */
static void mark_launch(struct tokens *t, size_t open)
{
	int depth = 0, commas = 0;
	for (size_t k = open; k < t->count && t->steps++ < STEPS_MAX; k++) {
		depth += nesting(t, k);
		if (depth == 0)
			return;
		if (depth != 1 || !is(t, k, ","))
			continue;
		if (++commas == 3) {
			if (is(t, k + 1, "{"))
				mark_table(t, k + 1);
			return;
		}
	}
}

char *names_rewrite(const char *script)
{
	struct tokens t = scan(script);
	struct buf out = BUF_INIT;
	for (size_t k = 0; k + 1 < t.count; k++)
		if (is(&t, k, "launch") && is(&t, k + 1, "(") &&
		    (k == 0 || !(is(&t, k - 1, ".") || is(&t, k - 1, ":") || is(&t, k - 1, "function"))))
			mark_launch(&t, k + 1);
	const char *at = script;
	for (size_t k = 0; k < t.count; k++) {
		if (!t.at[k].wrap)
			continue;
		buf_add(&out, at, (size_t)(t.at[k].at - at));
		buf_addf(&out, "__arg(\"%.*s\",%.*s)", (int)t.at[k].len, t.at[k].at, (int)t.at[k].len, t.at[k].at);
		at = t.at[k].at + t.at[k].len;
	}
	buf_adds(&out, at);
	free(t.at);
	return buf_steal(&out);
}
