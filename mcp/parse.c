/* parse: a recursive reader of RFC 8259; see parse.h. Called by mcp/jsonrpc.c and, for text that leaves, by
 * mcp/call_reply.c. */
#include "mcp/parse.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

enum { NUMBER_MAX = 64 }; /* characters of a number */

struct parser {
	const char *text;
	size_t at, n;
	int depth;                    /* levels that may still be opened */
	struct buf scratch;           /* of a string with escapes */
	struct mcp_parse_slot *slots; /* of the outermost object's members, slot_count of them; or NULL */
	size_t slot_count;
	json_t *rest; /* names of its other members, an object; NULL: there are none */
	struct err *e;
};

static json_t *value(struct parser *p);

static json_t *wrong(struct parser *p, const char *what)
{
	err_set(p->e, ERR_INPUT, "%s at byte %zu of %zu", what, p->at, p->n);
	return NULL;
}

static int peek(const struct parser *p)
{
	return p->at < p->n ? (unsigned char)p->text[p->at] : -1;
}

static void skip_space(struct parser *p)
{
	for (; p->at < p->n; p->at++) {
		char c = p->text[p->at];
		if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
			return;
	}
}

/* --- strings ---------------------------------------------------------------------------------------------------- */

/* Length of the well-formed UTF-8 sequence at s (Unicode 15, table 3-7); 0 when it is none. */
static size_t sequence(const unsigned char *s, size_t n)
{
	if (n >= 2 && s[0] >= 0xC2 && s[0] <= 0xDF)
		return (s[1] & 0xC0) == 0x80 ? 2 : 0;
	if (n >= 3 && (s[0] & 0xF0) == 0xE0) {
		int low = s[0] == 0xE0 ? 0xA0 : 0x80, high = s[0] == 0xED ? 0x9F : 0xBF;
		return s[1] >= low && s[1] <= high && (s[2] & 0xC0) == 0x80 ? 3 : 0;
	}
	if (n >= 4 && s[0] >= 0xF0 && s[0] <= 0xF4) {
		int low = s[0] == 0xF0 ? 0x90 : 0x80, high = s[0] == 0xF4 ? 0x8F : 0xBF;
		return s[1] >= low && s[1] <= high && (s[2] & 0xC0) == 0x80 && (s[3] & 0xC0) == 0x80 ? 4 : 0;
	}
	return 0;
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Eight at a time. A byte x below 0x80 sets its highest bit in (x - 1) when it is zero and in (x - 0x20) when it is a
 * control character; a borrow can only come from a byte that is found itself, so the first that is found is one. */
size_t mcp_parse_plain(const char *text, size_t n)
{
	size_t i = 0;
	for (uint64_t v; n - i >= sizeof v; i += sizeof v) {
		memcpy(&v, text + i, sizeof v);
		v = le64toh(v);
		uint64_t quote = v ^ EACH('"'), backslash = v ^ EACH('\\');
		uint64_t found = (v | (v - EACH(0x20)) | (quote - EACH(1)) | (backslash - EACH(1))) & EACH(0x80);
		if (found)
			return i + (size_t)__builtin_ctzll(found) / 8;
	}
	while (i < n && (unsigned char)text[i] < 0x80 && (unsigned char)text[i] >= 0x20 && text[i] != '"' &&
	       text[i] != '\\')
		i++;
	return i;
}

size_t mcp_parse_utf8(const char *text, size_t n)
{
	size_t i = 0;
	while (i < n) {
		uint64_t v = 0;
		size_t step = n - i < sizeof v ? n - i : sizeof v;
		memcpy(&v, text + i, step);
		if ((v & EACH(0x80)) == 0) {
			i += step;
			continue;
		}
		while ((unsigned char)text[i] < 0x80)
			i++;
		size_t len = sequence((const unsigned char *)text + i, n - i);
		if (len == 0)
			break;
		i += len;
	}
	return i;
}

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
			size_t len = sequence(s + i, p->n - i);
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

json_t *mcp_parse_string(const char *text)
{
	size_t n = strlen(text), from = 0;
	const unsigned char *s = (const unsigned char *)text;
	struct buf b = BUF_INIT;
	for (size_t i = 0; i < n;) {
		if ((i += mcp_parse_plain(text + i, n - i)) >= n)
			break;
		size_t len = s[i] < 0x80 ? 1 : sequence(s + i, n - i);
		if (len == 0) {
			buf_add(&b, text + from, i - from);
			buf_addc(&b, '?');
			from = i + 1;
		}
		i += len ? len : 1;
	}
	if (from == 0)
		return json_stringn_nocheck(text, n);
	buf_add(&b, text + from, n - from);
	json_t *string = json_stringn_nocheck(buf_text(&b), b.len);
	buf_fini(&b);
	return string;
}

/* --- numbers and words ------------------------------------------------------------------------------------------ */

static size_t digits(const char *s)
{
	return strspn(s, "0123456789");
}

/* Length of the number at s by RFC 8259's grammar; 0 when there is none. *ret_real: it has a fraction or exponent. */
static size_t number_length(const char *s, int *ret_real)
{
	size_t i = s[0] == '-', whole = digits(s + i);
	if (whole == 0 || (whole > 1 && s[i] == '0'))
		return 0;
	i += whole;
	*ret_real = 0;
	if (s[i] == '.') {
		size_t more = digits(s + i + 1);
		if (more == 0)
			return 0;
		i += 1 + more;
		*ret_real = 1;
	}
	if (s[i] == 'e' || s[i] == 'E') {
		size_t sign = s[i + 1] == '+' || s[i + 1] == '-', more = digits(s + i + 1 + sign);
		if (more == 0)
			return 0;
		i += 1 + sign + more;
		*ret_real = 1;
	}
	return i;
}

static json_t *number(struct parser *p)
{
	char text[NUMBER_MAX + 1];
	size_t n = p->n - p->at < NUMBER_MAX ? p->n - p->at : NUMBER_MAX;
	int real = 0;
	memcpy(text, p->text + p->at, n);
	text[n] = '\0';
	if (strspn(text, "+-.eE0123456789") == NUMBER_MAX)
		return wrong(p, "a number with too many digits");
	size_t length = number_length(text, &real);
	if (length == 0)
		return wrong(p, "not a number");
	text[length] = '\0';
	errno = 0;
	json_t *v = NULL;
	if (real)
		v = json_real(strtod(text, NULL)); /* NULL for infinity */
	else {
		long long whole = strtoll(text, NULL, 10);
		v = errno == ERANGE ? NULL : json_integer(whole);
	}
	if (v == NULL)
		return wrong(p, "a number that is too large");
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

/* A member's value, behind its colon. */
static json_t *value_of(struct parser *p)
{
	skip_space(p);
	if (peek(p) != ':')
		return wrong(p, "a colon is missing");
	p->at++;
	return value(p);
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

/* One member of the outermost object, into its slot; false after saying what is wrong. */
static int slot(struct parser *p, json_t *unused)
{
	size_t n, i = 0;
	(void)unused;
	const char *name = name_of(p, &n);
	if (name == NULL)
		return 0;
	while (i < p->slot_count && (strlen(p->slots[i].name) != n || memcmp(p->slots[i].name, name, n) != 0))
		i++;
	if (i < p->slot_count)
		return p->slots[i].value ? twice(p, p->at) : (p->slots[i].value = value_of(p)) != NULL;
	if (json_object_getn(p->rest, name, n))
		return twice(p, p->at);
	p->rest = p->rest ? p->rest : json_object();
	json_object_setn_new_nocheck(p->rest, name, n, json_null());
	json_t *v = value_of(p);
	json_decref(v);
	return v != NULL;
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
	json_decref(p->rest);
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

int mcp_parse_object(const char *text, size_t n, int max_depth, struct mcp_parse_slot *slots, size_t count,
		     json_t **ret_other, struct err *e)
{
	struct err own;
	err_init(&own);
	struct parser p = { .text = text,
			    .n = n,
			    .depth = max_depth,
			    .scratch = BUF_INIT,
			    .slots = slots,
			    .slot_count = count,
			    .e = e ? e : &own };
	*ret_other = NULL;
	skip_space(&p);
	if (peek(&p) != '{')
		return finish(&p, value(&p), ret_other);
	json_t *done; /* a stand-in for the object that is not made */
	return finish(&p, list(&p, json_true(), '}', slot), &done);
}
