/* token: C, CUDA and HIP source as a list of tokens: what draft's reader looks at instead of text. Comments are left out, preprocessor
 * lines are one token each. Nothing is understood here. */
#ifndef PEAKD_CORE_PROBLEMS_TOKEN_H
#define PEAKD_CORE_PROBLEMS_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

enum token_kind {
	TOKEN_NAME,
	TOKEN_NUMBER,
	TOKEN_TEXT,      /* string or character literal, quotes included */
	TOKEN_SIGN,      /* punctuation: one character, or one of <<< >>> << >> <= >= == != && || += -= *= /= %= -> :: ++ -- */
	TOKEN_DIRECTIVE, /* a whole preprocessor line, continuation lines included */
};

struct token {
	enum token_kind kind;
	const char *at;  /* into the source; borrowed */
	size_t len;
};

struct tokens {
	struct token *at;
	size_t count;
};

/* `source` is borrowed for the list's life. Any text is accepted. */
void tokens_read(const char *source, struct tokens *ret_tokens);
void tokens_fini(struct tokens *t);
bool token_is(const struct token *t, const char *text);
/* The token's text; free(). */
char *token_text(const struct token *t);
/* The place behind the bracket that closes the one at `open` ((, [, { or <<<); `end` when none does. */
size_t tokens_close(const struct tokens *t, size_t open, size_t end);
/* The first `sign` in [from, to) outside of brackets; `to` when there is none. */
size_t tokens_find(const struct tokens *t, size_t from, size_t to, const char *sign);

#endif
