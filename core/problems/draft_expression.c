/* draft_expression: C expressions of the file as Lua, and their values. See drafting.h. */
#include <stdlib.h>
#include <string.h>

#include "backends/wire/dtype.h"
#include "base/mem.h"
#include "core/context/expr.h"
#include "core/problems/drafting.h"

enum { DEEP = 8 };

void draft_expression_names_fini(struct expression_names *n)
{
	for (size_t i = 0; i < n->count; i++) {
		free(n->at[i].host);
		free(n->at[i].context);
	}
	free(n->at);
	*n = (struct expression_names){ 0 };
}

const char *draft_expression_named(const struct expression_names *n, const char *host)
{
	for (size_t i = 0; i < n->count; i++)
		if (strcmp(n->at[i].host, host) == 0)
			return n->at[i].context;
	return NULL;
}

void draft_expression_name(struct expression_names *n, const char *host, const char *context)
{
	if (draft_expression_named(n, host))
		return;
	*MEM_PUSH(n->at, n->count) = (struct expression_meaning){ mem_str(host), mem_str(context) };
}

/* Of an element; 0 for a word that is no type. */
static int bytes_of(const struct token *t)
{
	char *text = draft_token_text(t);
	int type = draft_source_type(text);
	free(text);
	return type < 0 ? 0 : (int)dtype_size((enum dtype)type);
}

static const struct {
	const char *c, *lua;
} signs[] = {
	{ "+", " + " }, { "-", " - " }, { "*", "*" },   { "/", " // " },   { "%", " % " },   { "(", "(" },  { ")", ")" },
	{ "<<", "<<" }, { ">>", ">>" }, { "&", "&" },   { "|", "|" },      { "<", "<" },     { ">", ">" },  { "<=", "<=" },
	{ ">=", ">=" }, { "==", "==" }, { "!=", "~=" }, { "&&", " and " }, { "||", " or " }, { ",", ", " },
};

struct writing {
	const struct source *s;
	const struct expression_names *names;
	struct buf *out;
	char *unknown;
	unsigned depth;
};

static bool write_range(struct writing *w, const struct tokens *t, struct source_range range);

static bool give_up(struct writing *w, const struct token *t)
{
	if (w->unknown == NULL)
		w->unknown = draft_token_text(t);
	return false;
}

/* Reports an unexplained name together with its member or call: "shape.rows", "blocks_for(…)". */
static bool give_up_name(struct writing *w, const struct tokens *t, size_t i, size_t to)
{
	const struct token *x = &t->at[i];
	if (w->unknown == NULL && i + 2 < to && (draft_token_is(x + 1, ".") || draft_token_is(x + 1, "->")))
		w->unknown = mem_fmt("%.*s%.*s%.*s", (int)x->len, x->at, (int)x[1].len, x[1].at, (int)x[2].len, x[2].at);
	else if (w->unknown == NULL && i + 1 < to && draft_token_is(x + 1, "("))
		w->unknown = mem_fmt("%.*s(…)", (int)x->len, x->at);
	return give_up(w, x);
}

static bool write_name(struct writing *w, const struct tokens *t, size_t i, size_t to)
{
	const struct token *token = &t->at[i];
	char *name = draft_token_text(token);
	const char *known = w->names ? draft_expression_named(w->names, name) : NULL;
	const struct source_variable *v = known ? NULL : draft_source_variable(w->s, name);
	bool min_max = strcmp(name, "min") == 0 || strcmp(name, "max") == 0, good = true;
	free(name);
	if (known || min_max) {
		buf_addf(w->out, "%.*s", known ? (int)strlen(known) : (int)token->len, known ? known : token->at);
	} else if (v && !v->dim3 && w->depth < DEEP) {
		bool single = v->value.to == v->value.from + 1;
		w->depth++;
		buf_adds(w->out, single ? "" : "(");
		good = write_range(w, draft_source_tokens(w->s, v), v->value);
		buf_adds(w->out, single ? "" : ")");
		w->depth--;
	} else {
		return give_up_name(w, t, i, to);
	}
	return good;
}

static bool write_number(struct writing *w, const struct token *t)
{
	size_t n = t->len;
	bool hex = n > 1 && (t->at[1] == 'x' || t->at[1] == 'X');
	bool fraction = !hex && (memchr(t->at, '.', n) || memchr(t->at, 'e', n) || memchr(t->at, 'E', n));
	while (n > 1 && strchr(fraction ? "fFlL" : "uUlL", t->at[n - 1]))
		n--;
	buf_addf(w->out, "%.*s", (int)n, t->at);
	return true;
}

static bool write_sign(struct writing *w, const struct token *t)
{
	for (size_t i = 0; i < MEM_COUNT(signs); i++)
		if (draft_token_is(t, signs[i].c)) {
			buf_adds(w->out, signs[i].lua);
			return true;
		}
	return give_up(w, t);
}

/* Writes a cast, a sizeof or a member access at i; returns its number of tokens, 0 when there is none. */
static size_t write_form(struct writing *w, const struct tokens *t, size_t i, size_t to)
{
	if (i + 3 < to && draft_token_is(&t->at[i], "sizeof") && draft_token_is(&t->at[i + 1], "(") &&
	    draft_token_is(&t->at[i + 3], ")") && bytes_of(&t->at[i + 2])) {
		buf_addf(w->out, "%d", bytes_of(&t->at[i + 2]));
		return 4;
	}
	if (i + 3 < to && draft_token_is(&t->at[i], "(") && bytes_of(&t->at[i + 1]) && draft_token_is(&t->at[i + 2], ")"))
		return 3;
	if (i + 2 < to && t->at[i].kind == TOKEN_NAME && draft_token_is(&t->at[i + 1], ".")) {
		char *member = mem_fmt("%.*s.%.*s", (int)t->at[i].len, t->at[i].at, (int)t->at[i + 2].len, t->at[i + 2].at);
		const char *known = w->names ? draft_expression_named(w->names, member) : NULL;
		buf_adds(w->out, known ? known : "");
		free(member);
		return known ? 3 : 0;
	}
	return 0;
}

static bool write_range(struct writing *w, const struct tokens *t, struct source_range range)
{
	for (size_t i = range.from; i < range.to;) {
		const struct token *x = &t->at[i];
		size_t form = write_form(w, t, i, range.to);
		bool good = true;
		if (form) {
			i += form;
			continue;
		}
		switch (x->kind) {
		case TOKEN_NAME: good = write_name(w, t, i, range.to); break;
		case TOKEN_NUMBER: good = write_number(w, x); break;
		case TOKEN_SIGN: good = write_sign(w, x); break;
		case TOKEN_TEXT:
		case TOKEN_DIRECTIVE: good = give_up(w, x); break;
		}
		if (!good)
			return false;
		i++;
	}
	return range.to > range.from;
}

bool draft_expression_lua(const struct source *s, const struct tokens *t, struct source_range range,
			  const struct expression_names *names, struct buf *out, char **ret_unknown)
{
	struct writing w = { .s = s, .names = names, .out = out };
	bool good = write_range(&w, t, range);
	if (ret_unknown)
		*ret_unknown = w.unknown;
	else
		free(w.unknown);
	return good;
}

bool draft_expression_value(const struct source *s, const struct tokens *t, struct source_range range,
			    const struct expression_names *numbers, struct value *ret_value)
{
	struct expr_scope *scope = expr_scope_new();
	struct buf text = BUF_INIT;
	struct expr *x = NULL;
	struct err ignored = ERR_INIT;
	bool good = draft_expression_lua(s, t, range, numbers, &text, NULL) &&
		    expr_parse(scope, buf_text(&text), text.len, &x, &ignored) == 0 && expr_eval(x, NULL, ret_value) == VALUE_OK;
	expr_free(x);
	buf_fini(&text);
	expr_scope_free(scope);
	return good;
}
