/* front: front matter as lines; see front.h. Used by core/context/context. */
#include "core/context/front.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/suggest.h"

enum shape { SHAPE_TEXT, SHAPE_MAP, SHAPE_LIST };

/* Every field there is, in canonical order. */
static const struct field {
	const char *key;
	enum shape shape;
} fields[] = {
	{ "kernel", SHAPE_TEXT },    { "backend", SHAPE_TEXT }, { "constants", SHAPE_MAP }, { "inputs", SHAPE_MAP },
	{ "tune", SHAPE_MAP },       { "where", SHAPE_LIST },   { "requires", SHAPE_LIST }, { "check", SHAPE_LIST },
	{ "precision", SHAPE_TEXT }, { "flops", SHAPE_TEXT },   { "bytes", SHAPE_TEXT },    { "options", SHAPE_LIST },
	{ "library", SHAPE_TEXT },
};

static const struct field *field_named(const char *key)
{
	for (size_t k = 0; k < MEM_COUNT(fields); k++)
		if (strcmp(fields[k].key, key) == 0)
			return &fields[k];
	return NULL;
}

char *front_collapse(const char *text, size_t len)
{
	struct buf out = BUF_INIT;
	for (size_t k = 0; k < len; k++) {
		if (!isspace((unsigned char)text[k]))
			buf_addc(&out, text[k]);
		else if (out.len && out.data[out.len - 1] != ' ')
			buf_addc(&out, ' ');
	}
	if (out.len && out.data[out.len - 1] == ' ')
		out.data[--out.len] = '\0';
	return buf_steal(&out);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */
struct reader {
	const char *file;
	struct front *front;
	const struct field *field; /* the one that entries and items belong to */
	int line;
	struct err *e;
};

static int fail_unknown(struct reader *r, const char *key)
{
	const char *names[MEM_COUNT(fields)];
	char hint[96];
	struct buf all = BUF_INIT;
	for (size_t k = 0; k < MEM_COUNT(fields); k++) {
		names[k] = fields[k].key;
		buf_addf(&all, "%s%s", k ? ", " : "", fields[k].key);
	}
	int rc = err_set(r->e, ERR_INPUT, "%s:%d: unknown field %s%s; expected one of %s", r->file, r->line, key,
			 suggest_hint(key, names, MEM_COUNT(fields), hint), buf_text(&all));
	buf_fini(&all);
	return rc;
}

/* Where the comment begins: a '#' at the start or behind white space, as in YAML. */
static size_t comment_start(const char *s, size_t len)
{
	for (size_t k = 0; k < len; k++)
		if (s[k] == '#' && (k == 0 || isspace((unsigned char)s[k - 1])))
			return k;
	return len;
}

static struct front_line *add_line(struct reader *r, enum front_kind kind)
{
	struct front_line *l = MEM_PUSH(r->front->lines, r->front->count);
	*l = (struct front_line){ .kind = kind, .line = r->line };
	return l;
}

static int check_braces(struct reader *r, const char *value)
{
	int depth = 0;
	for (const char *c = value; *c && depth >= 0; c++)
		depth += (strchr("({[", *c) != NULL) - (strchr(")}]", *c) != NULL);
	if (depth == 0)
		return 0;
	return err_set(r->e, ERR_INPUT,
		       "%s:%d: %s: `%s`: brackets do not close; a value ends on the line that it starts on", r->file,
		       r->line, r->field ? r->field->key : "front matter", value);
}

static int read_item(struct reader *r, const char *s, size_t len, const char *comment, size_t comment_len)
{
	if (r->field == NULL || r->field->shape != SHAPE_LIST)
		return err_set(
			r->e, ERR_INPUT,
			"%s:%d: `%.*s`: a list item stands under where:, requires:, check: or options:, not under "
			"%s",
			r->file, r->line, (int)len, s, r->field ? r->field->key : "nothing");
	struct front_line *l = add_line(r, FRONT_ITEM);
	l->value = front_collapse(s + 1, len - 1);
	if (comment)
		l->comment = front_collapse(comment, comment_len);
	if (l->value[0] == '\0')
		return err_set(r->e, ERR_INPUT, "%s:%d: %s: expected a value behind the dash", r->file, r->line,
			       r->field->key);
	return check_braces(r, l->value);
}

static int read_field(struct reader *r, struct front_line *l)
{
	if (front_field(r->front, l->key) != (int)(r->front->count - 1))
		return err_set(r->e, ERR_INPUT, "%s:%d: field %s stands here a second time; first on line %d", r->file,
			       r->line, l->key, r->front->lines[front_field(r->front, l->key)].line);
	r->field = field_named(l->key);
	if (r->field == NULL)
		return fail_unknown(r, l->key);
	if (r->field->shape == SHAPE_MAP && l->value[0])
		return err_set(r->e, ERR_INPUT,
			       "%s:%d: %s: expected entries on the next lines (`  NAME: …`), found `%s`", r->file,
			       r->line, l->key, l->value);
	if (r->field->shape == SHAPE_TEXT && l->value[0] == '\0')
		return err_set(r->e, ERR_INPUT, "%s:%d: %s: expected a value on this line", r->file, r->line, l->key);
	return strcmp(l->key, "library") == 0 ? 0 : check_braces(r, l->value);
}

static int read_entry(struct reader *r, struct front_line *l)
{
	l->kind = FRONT_ENTRY;
	if (r->field == NULL || r->field->shape != SHAPE_MAP)
		return err_set(r->e, ERR_INPUT,
			       "%s:%d: `%s:` is indented but %s takes no entries; fields start at the left margin",
			       r->file, r->line, l->key, r->field ? r->field->key : "the front matter");
	if (l->value[0] == '\0')
		return err_set(r->e, ERR_INPUT, "%s:%d: %s: %s: expected a value on this line", r->file, r->line,
			       r->field->key, l->key);
	int field = front_field(r->front, r->field->key), here = (int)r->front->count - 1;
	for (int k = front_next(r->front, field, field); k >= 0 && k < here; k = front_next(r->front, field, k))
		if (strcmp(r->front->lines[k].key, l->key) == 0)
			return err_set(r->e, ERR_INPUT, "%s:%d: %s: %s is declared a second time; first on line %d",
				       r->file, r->line, r->field->key, l->key, r->front->lines[k].line);
	return check_braces(r, l->value);
}

static int read_line(struct reader *r, const char *s, size_t len)
{
	bool indented = len > 0 && isspace((unsigned char)*s);
	while (len && isspace((unsigned char)*s))
		s++, len--;
	size_t hash = comment_start(s, len);
	const char *comment = hash < len ? s + hash + 1 : NULL;
	size_t comment_len = hash < len ? len - hash - 1 : 0, n = 0;
	len = hash;
	while (len && isspace((unsigned char)s[len - 1]))
		len--;
	if (len == 0) {
		struct front_line *l = add_line(r, comment ? FRONT_COMMENT : FRONT_BLANK);
		l->indented = indented;
		if (comment)
			l->comment = front_collapse(comment, comment_len);
		return 0;
	}
	if (s[0] == '-' && (len == 1 || isspace((unsigned char)s[1])))
		return read_item(r, s, len, comment, comment_len);
	while (n < len && (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '.'))
		n++;
	if (n == 0 || n == len || s[n] != ':')
		return err_set(r->e, ERR_INPUT, "%s:%d: `%.*s`: expected `NAME: VALUE`%s", r->file, r->line, (int)len,
			       s, r->field && r->field->shape == SHAPE_LIST ? " or `- VALUE`" : "");
	struct front_line *l = add_line(r, FRONT_FIELD);
	l->key = mem_strn(s, n);
	l->value = front_collapse(s + n + 1, len - n - 1);
	if (comment)
		l->comment = front_collapse(comment, comment_len);
	return indented ? read_entry(r, l) : read_field(r, l);
}

int front_parse(const char *file, const char *text, size_t len, int first_line, struct front **ret_front, struct err *e)
{
	struct reader r = { .file = file, .front = MEM_NEW(struct front), .line = first_line, .e = e };
	int rc = 0;
	while (rc == 0 && len > 0) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;
		rc = read_line(&r, text, n);
		n += end != NULL;
		text += n;
		len -= n;
		r.line++;
	}
	if (rc < 0)
		front_free(r.front);
	else
		*ret_front = r.front;
	return rc;
}

static void line_fini(struct front_line *l)
{
	free(l->key);
	free(l->value);
	free(l->comment);
}

void front_free(struct front *f)
{
	if (f == NULL)
		return;
	for (size_t k = 0; k < f->count; k++)
		line_fini(&f->lines[k]);
	free(f->lines);
	free(f);
}

struct front *front_copy(const struct front *f)
{
	struct front *copy = MEM_NEW(struct front);
	for (size_t k = 0; k < f->count; k++) {
		struct front_line *l = MEM_PUSH(copy->lines, copy->count);
		*l = f->lines[k];
		l->key = mem_str(l->key);
		l->value = mem_str(l->value);
		l->comment = mem_str(l->comment);
	}
	return copy;
}

/* --- looking and writing ------------------------------------------------------------------------------------------ */
int front_field(const struct front *f, const char *key)
{
	for (size_t k = 0; k < f->count; k++)
		if (f->lines[k].kind == FRONT_FIELD && strcmp(f->lines[k].key, key) == 0)
			return (int)k;
	return -1;
}

int front_next(const struct front *f, int field, int after)
{
	if (field < 0)
		return -1;
	for (size_t k = (size_t)after + 1; k < f->count && f->lines[k].kind != FRONT_FIELD; k++)
		if (f->lines[k].kind == FRONT_ENTRY || f->lines[k].kind == FRONT_ITEM)
			return (int)k;
	return -1;
}

static void write_line(const struct front_line *l, bool comments, struct buf *out)
{
	switch (l->kind) {
	case FRONT_BLANK: break;
	case FRONT_COMMENT:
		buf_addf(out, "%s#%s%s", l->indented ? "  " : "", l->comment[0] ? " " : "", l->comment);
		break;
	case FRONT_FIELD: buf_addf(out, "%s:%s%s", l->key, l->value[0] ? " " : "", l->value); break;
	case FRONT_ENTRY: buf_addf(out, "  %s: %s", l->key, l->value); break;
	case FRONT_ITEM: buf_addf(out, "  - %s", l->value); break;
	}
	if (comments && l->comment && l->kind != FRONT_COMMENT)
		buf_addf(out, "  #%s%s", l->comment[0] ? " " : "", l->comment);
	buf_addc(out, '\n');
}

void front_render(const struct front *f, struct buf *out)
{
	for (size_t k = 0; k < f->count; k++)
		write_line(&f->lines[k], true, out);
}

void front_canonical(const struct front *f, struct buf *out)
{
	for (size_t k = 0; k < MEM_COUNT(fields); k++) {
		int at = front_field(f, fields[k].key);
		if (at < 0)
			continue;
		const struct front_line *l = &f->lines[at];
		if (fields[k].shape == SHAPE_TEXT) {
			write_line(l, false, out);
			continue;
		}
		if (l->value[0] || front_next(f, at, at) >= 0)
			buf_addf(out, "%s:\n", l->key);
		if (l->value[0])
			buf_addf(out, "  - %s\n", l->value);
		for (int j = front_next(f, at, at); j >= 0; j = front_next(f, at, j))
			write_line(&f->lines[j], false, out);
	}
}

/* --- edits -------------------------------------------------------------------------------------------------------- */
static void insert(struct front *f, size_t index, struct front_line line)
{
	(void)MEM_PUSH(f->lines, f->count);
	memmove(f->lines + index + 1, f->lines + index, (f->count - 1 - index) * sizeof *f->lines);
	f->lines[index] = line;
}

/* The field's line, made when it is not there: behind the field that comes before it in canonical order. */
static size_t need_field(struct front *f, const char *key)
{
	int at = front_field(f, key);
	if (at >= 0)
		return (size_t)at;
	size_t index = f->count;
	for (size_t k = (size_t)(field_named(key) - fields); k-- > 0;) {
		int before = front_field(f, fields[k].key);
		if (before < 0)
			continue;
		for (index = (size_t)before + 1; index < f->count && f->lines[index].kind != FRONT_FIELD;)
			index++;
		/* Comments and blank lines in front of the next field belong to that one. */
		while (index > (size_t)before + 1 && f->lines[index - 1].kind <= FRONT_COMMENT)
			index--;
		break;
	}
	insert(f, index, (struct front_line){ .kind = FRONT_FIELD, .key = mem_str(key), .value = mem_str("") });
	return index;
}

/* Behind the last entry or item of the field. */
static size_t end_of(const struct front *f, size_t field)
{
	int last = (int)field;
	for (int k = front_next(f, (int)field, (int)field); k >= 0; k = front_next(f, (int)field, k))
		last = k;
	return (size_t)last + 1;
}

void front_set_entry(struct front *f, const char *field, const char *name, const char *value)
{
	size_t at = need_field(f, field);
	char *text = front_collapse(value, strlen(value));
	for (int k = front_next(f, (int)at, (int)at); k >= 0; k = front_next(f, (int)at, k)) {
		if (strcmp(f->lines[k].key, name) != 0)
			continue;
		free(f->lines[k].value);
		f->lines[k].value = text;
		return;
	}
	insert(f, end_of(f, at), (struct front_line){ .kind = FRONT_ENTRY, .key = mem_str(name), .value = text });
}

void front_add_item(struct front *f, const char *field, const char *value)
{
	size_t at = need_field(f, field);
	if (f->lines[at].value[0]) { /* a list written on one line becomes items */
		struct front_line item = { .kind = FRONT_ITEM,
					   .value = f->lines[at].value,
					   .comment = f->lines[at].comment,
					   .line = f->lines[at].line };
		f->lines[at].value = mem_str("");
		f->lines[at].comment = NULL;
		insert(f, at + 1, item);
	}
	struct front_line item = { .kind = FRONT_ITEM, .value = front_collapse(value, strlen(value)) };
	insert(f, end_of(f, at), item);
}

void front_drop(struct front *f, int index)
{
	int field = index;
	while (field > 0 && f->lines[field].kind != FRONT_FIELD)
		field--;
	line_fini(&f->lines[index]);
	memmove(f->lines + index, f->lines + index + 1, (f->count - 1 - (size_t)index) * sizeof *f->lines);
	f->count--;
	if (field != index && f->lines[field].value[0] == '\0' && front_next(f, field, field) < 0)
		front_drop(f, field);
}
