/* parse: a recursive reader of RFC 8259; see parse.h. Called by mcp/jsonrpc.c. */
#include "mcp/parse.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

enum { MEMO_MAX = 1024 }; /* bytes of a value that is remembered */

struct parser {
	const char *text;
	size_t at, n;
	int depth;                           /* levels that may still be opened */
	struct buf scratch;                  /* of a string with escapes */
	const struct mcp_parse_shape *shape; /* of the object that is being read without making it */
	json_t *rest;                        /* names of its other members, an object; NULL: there are none */
	json_t **values;                     /* of the members that are looked for */
	struct mcp_parse_memory *memory;     /* NULL: none */
	struct err *e;
};

static json_t *value(struct parser *p);
static json_t *below(struct parser *p, const struct mcp_parse_shape *shape);

static json_t *wrong(struct parser *p, const char *what)
{
	err_set(p->e, ERR_INPUT, "%s at byte %zu of %zu", what, p->at, p->n);
	return NULL;
}

static int peek(const struct parser *p)
{
	return p->at < p->n ? (unsigned char)p->text[p->at] : -1;
}

static inline void skip_space(struct parser *p)
{
	for (; p->at < p->n; p->at++) {
		char c = p->text[p->at];
		if (c > ' ' || (c != ' ' && c != '\t' && c != '\r' && c != '\n'))
			return;
	}
}

/* --- strings ---------------------------------------------------------------------------------------------------- */

/* Moves over characters that stand for themselves: up to a quote, a backslash, or something that may not be there. */
static void skip_plain(struct parser *p)
{
	const unsigned char *s = (const unsigned char *)p->text;
	size_t i = p->at;
	while (i < p->n) {
		i += mcp_parse_plain(p->text + i, p->n - i);
		if (i >= p->n)
			break;
		if (s[i] >= 0x80) {
			size_t len = mcp_parse_sequence(s + i, p->n - i);
			if (len == 0)
				break;
			i += len;
		} else if (s[i] == '"' || s[i] == '\\' || s[i] < 0x20) {
			break;
		} else {
			i++;
		}
	}
	p->at = i;
}

/* Four hexadecimal digits; -1 when they are none. */
static long hex4(struct parser *p)
{
	char digits[5] = { 0 };
	if (p->n - p->at < 4)
		return -1;
	memcpy(digits, p->text + p->at, 4);
	if (strspn(digits, "0123456789abcdefABCDEF") != 4)
		return -1;
	p->at += 4;
	return strtol(digits, NULL, 16);
}

static void add_code_point(struct buf *b, unsigned long c)
{
	if (c < 0x80) {
		buf_addc(b, (char)c);
		return;
	}
	int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const unsigned char FIRST[] = { 0, 0xC0, 0xE0, 0xF0 };
	buf_addc(b, (char)(FIRST[more] | c >> 6 * more));
	while (more-- > 0)
		buf_addc(b, (char)(0x80 | (c >> 6 * more & 0x3F)));
}

/* What follows "\u"; false after saying what is wrong. */
static int unicode(struct parser *p)
{
	long c = hex4(p);
	if (c >= 0xD800 && c <= 0xDBFF) { /* the first half of a pair */
		long low = -1;
		if (p->n - p->at >= 2 && p->text[p->at] == '\\' && p->text[p->at + 1] == 'u') {
			p->at += 2;
			low = hex4(p);
		}
		c = low >= 0xDC00 && low <= 0xDFFF ? 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00) : -1;
	}
	if (c <= 0 || (c >= 0xDC00 && c <= 0xDFFF))
		return wrong(p, c == 0 ? "\\u0000 is not allowed" : "a \\u escape that is no character") != NULL;
	add_code_point(&p->scratch, (unsigned long)c);
	return 1;
}

/* What follows a backslash; false after saying what is wrong. */
static int escape(struct parser *p)
{
	static const char NAMES[] = "\"\\/bfnrt", MEANS[] = "\"\\/\b\f\n\r\t";
	int c = peek(p);
	const char *named = c > 0 ? strchr(NAMES, c) : NULL;
	p->at++;
	if (named) {
		buf_addc(&p->scratch, MEANS[named - NAMES]);
		return 1;
	}
	if (c == 'u')
		return unicode(p);
	p->at--;
	return wrong(p, "an unknown escape") != NULL;
}

/* The string at the opening quote; its characters, valid until the next one, or NULL after saying what is wrong. */
static const char *string(struct parser *p, size_t *ret_n)
{
	size_t from = ++p->at;
	int escaped = 0;
	for (;;) {
		skip_plain(p);
		int c = peek(p);
		if (c != '"' && c != '\\') {
			wrong(p, c < 0      ? "the text ends in a string"
				 : c < 0x20 ? "a control character in a string"
					    : "bytes that are not UTF-8");
			return NULL;
		}
		if (c == '"' && !escaped) {
			*ret_n = p->at++ - from;
			return p->text + from;
		}
		if (!escaped)
			buf_clear(&p->scratch);
		escaped = 1;
		buf_add(&p->scratch, p->text + from, p->at - from);
		p->at++;
		if (c == '"') {
			*ret_n = p->scratch.len;
			return buf_text(&p->scratch);
		}
		if (!escape(p))
			return NULL;
		from = p->at;
	}
}

/* --- numbers and words ------------------------------------------------------------------------------------------ */

static json_t *number(struct parser *p)
{
	const char *why;
	size_t length;
	json_t *v = mcp_parse_number(p->text + p->at, p->n - p->at, &length, &why);
	if (v == NULL)
		return wrong(p, why);
	p->at += length;
	return v;
}

static json_t *word(struct parser *p, const char *text, json_t *take_v)
{
	size_t n = strlen(text);
	if (p->n - p->at < n || memcmp(p->text + p->at, text, n) != 0) {
		json_decref(take_v);
		return wrong(p, "not JSON");
	}
	p->at += n;
	return take_v;
}

/* --- arrays and objects ----------------------------------------------------------------------------------------- */

/* A member's name, valid until the next string; NULL after saying what is wrong. */
static const char *name_of(struct parser *p, size_t *ret_n)
{
	skip_space(p);
	if (peek(p) == '"')
		return string(p, ret_n);
	wrong(p, "a member's name is missing");
	return NULL;
}

/* Moves from a member's name to its value; false after saying what is wrong. */
static int colon(struct parser *p)
{
	skip_space(p);
	if (peek(p) != ':')
		return wrong(p, "a colon is missing") != NULL;
	p->at++;
	skip_space(p);
	return 1;
}

/* A member's value, behind its name. */
static json_t *value_of(struct parser *p)
{
	return colon(p) ? value(p) : NULL;
}

static int twice(struct parser *p, size_t at)
{
	p->at = at;
	return wrong(p, "a name for the second time") != NULL;
}

/* One member; false after saying what is wrong. */
static int member(struct parser *p, json_t *object)
{
	size_t n, count = json_object_size(object);
	const char *name = name_of(p, &n);
	if (name == NULL)
		return 0;
	size_t at = p->at;
	char *copy = name == p->scratch.data ? mem_strn(name, n) : NULL; /* the value needs the scratch */
	json_t *v = value_of(p);
	int good = v && json_object_setn_new_nocheck(object, copy ? copy : name, n, v) == 0;
	free(copy);
	return good && json_object_size(object) == count ? twice(p, at) : good; /* a new name makes it larger */
}

/* One item; false after saying what is wrong. */
static int item(struct parser *p, json_t *array)
{
	json_t *v = value(p);
	return v && json_array_append_new(array, v) == 0;
}

/* The members of an object or the items of an array up to `close`; take_all is returned, or freed on failure. */
static json_t *list(struct parser *p, json_t *take_all, char close, int (*one)(struct parser *p, json_t *all))
{
	const char *missing = close == '}' ? "a comma or } is missing" : "a comma or ] is missing";
	if (p->depth-- <= 0) {
		err_set(p->e, ERR_UNSUPPORTED, "nested too deep at byte %zu", p->at);
		goto fail;
	}
	p->at++;
	skip_space(p);
	if (peek(p) == close) {
		p->at++;
		p->depth++;
		return take_all;
	}
	for (;;) {
		if (!one(p, take_all))
			goto fail;
		skip_space(p);
		int c = peek(p);
		if (c != ',' && c != close) {
			wrong(p, missing);
			goto fail;
		}
		p->at++;
		if (c == close) {
			p->depth++;
			return take_all;
		}
	}
fail:
	json_decref(take_all);
	return NULL;
}

/* --- objects of a known shape ----------------------------------------------------------------------------------- */

void mcp_parse_memory_init(struct mcp_parse_memory *memory, size_t count)
{
	memory->memos = MEM_NEW_N(struct mcp_parse_memo, count);
	memory->count = count;
}

void mcp_parse_memory_fini(struct mcp_parse_memory *memory)
{
	for (size_t i = 0; i < memory->count; i++) {
		free(memory->memos[i].text);
		mcp_parse_drop(memory->memos[i].value);
	}
	free(memory->memos);
}

/* The value of a member that is mostly the same as before. Only of a string or an object is it certain where it ends
 * whatever follows: a number could go on. */
static json_t *remembered(struct parser *p, struct mcp_parse_memo *memo)
{
	const char *from = p->text + p->at;
	size_t left = p->n - p->at;
	if (memo->value && left >= memo->n && memcmp(from, memo->text, memo->n) == 0) {
		p->at += memo->n;
		return json_incref(memo->value);
	}
	json_t *v = value(p);
	size_t n = left - (p->n - p->at);
	if (v && n <= MEMO_MAX && (*from == '"' || *from == '{')) {
		mcp_parse_drop(memo->value);
		memo->value = json_incref(v);
		memo->text = mem_resize(memo->text, n, 1);
		memo->n = n;
		memcpy(memo->text, from, n);
	}
	return v;
}

/* The value of a member that is looked for, behind its name. */
static json_t *wanted(struct parser *p, const struct mcp_parse_member *m)
{
	if (m->below)
		return below(p, m->below);
	if (p->memory == NULL || (size_t)m->index >= p->memory->count)
		return value_of(p);
	return colon(p) ? remembered(p, &p->memory->memos[m->index]) : NULL;
}

/* The member whose name stands here as it is, without escapes; the parser moves behind it. NULL: none, or another. */
static const struct mcp_parse_member *plain_member(struct parser *p)
{
	const char *quote = p->text + p->at;
	size_t left = p->n - p->at;
	for (size_t i = 0; i < p->shape->count; i++) {
		const struct mcp_parse_member *m = &p->shape->members[i];
		if (m->n + 2 <= left && quote[m->n + 1] == '"' && quote[0] == '"' &&
		    memcmp(quote + 1, m->name, m->n) == 0) {
			p->at += m->n + 2;
			return m;
		}
	}
	return NULL;
}

static const struct mcp_parse_member *find_member(const struct mcp_parse_shape *shape, const char *name, size_t n)
{
	for (size_t i = 0; i < shape->count; i++)
		if (shape->members[i].n == n && memcmp(shape->members[i].name, name, n) == 0)
			return &shape->members[i];
	return NULL;
}

/* One member of an object of the shape p->shape; false after saying what is wrong. */
static int shaped(struct parser *p, json_t *unused)
{
	size_t n;
	(void)unused;
	skip_space(p);
	const struct mcp_parse_member *m = plain_member(p);
	const char *name = m ? m->name : name_of(p, &n);
	if (name == NULL)
		return 0;
	m = m ? m : find_member(p->shape, name, n);
	if (m) {
		json_t **v = &p->values[m->index];
		return *v ? twice(p, p->at) : (*v = wanted(p, m)) != NULL;
	}
	if (json_object_getn(p->rest, name, n))
		return twice(p, p->at);
	p->rest = p->rest ? p->rest : json_object();
	json_object_setn_new_nocheck(p->rest, name, n, json_null());
	json_t *v = value_of(p);
	json_decref(v);
	return v != NULL;
}

/* The members of the object at the brace; true stands for it, as it is not made. */
static json_t *members(struct parser *p, const struct mcp_parse_shape *shape)
{
	const struct mcp_parse_shape *outer = p->shape;
	json_t *rest = p->rest;
	p->shape = shape;
	p->rest = NULL;
	json_t *done = list(p, json_true(), '}', shaped);
	json_decref(p->rest);
	p->rest = rest;
	p->shape = outer;
	return done;
}

/* The same for a member's value, behind its colon; false stands for anything else. */
static json_t *below(struct parser *p, const struct mcp_parse_shape *shape)
{
	if (!colon(p))
		return NULL;
	if (peek(p) == '{')
		return members(p, shape);
	json_t *v = value(p);
	json_decref(v);
	return v ? json_false() : NULL;
}

static json_t *value(struct parser *p)
{
	size_t n;
	const char *text;
	skip_space(p);
	switch (peek(p)) {
	case '{': return list(p, json_object(), '}', member);
	case '[': return list(p, json_array(), ']', item);
	case '"': text = string(p, &n); return text ? json_stringn_nocheck(text, n) : NULL;
	case 't': return word(p, "true", json_true());
	case 'f': return word(p, "false", json_false());
	case 'n': return word(p, "null", json_null());
	case -1: return wrong(p, "the text ends too early");
	default: return number(p); /* not an enum: what begins a value is told by its character */
	}
}

/* What was read, unless something follows it. */
static int finish(struct parser *p, json_t *take_value, json_t **ret_value)
{
	json_t *v = take_value;
	skip_space(p);
	if (v && p->at < p->n) {
		json_decref(v);
		v = wrong(p, "something follows the value");
	}
	buf_fini(&p->scratch);
	if (v == NULL)
		return -(int)p->e->code;
	*ret_value = v;
	return 0;
}

int mcp_parse(const char *text, size_t n, int max_depth, json_t **ret_value, struct err *e)
{
	struct err own;
	err_init(&own);
	struct parser p = { .text = text, .n = n, .depth = max_depth, .scratch = BUF_INIT, .e = e ? e : &own };
	return finish(&p, value(&p), ret_value);
}

int mcp_parse_object(const char *text, size_t n, int max_depth, const struct mcp_parse_shape *shape,
		     struct mcp_parse_memory *memory, json_t **values, json_t **ret_other, struct err *e)
{
	struct err own;
	err_init(&own);
	struct parser p = { .text = text,
			    .n = n,
			    .depth = max_depth,
			    .scratch = BUF_INIT,
			    .values = values,
			    .memory = memory,
			    .e = e ? e : &own };
	*ret_other = NULL;
	skip_space(&p);
	if (peek(&p) != '{')
		return finish(&p, value(&p), ret_other);
	json_t *done;
	return finish(&p, members(&p, shape), &done);
}
