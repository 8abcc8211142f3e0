/* front_matter: the reader of front matter; see front_matter.h. */
#include "base/front_matter.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/suggest.h"

/* What a person may write; more is a mistake or an attack on those who search it. */
enum { LINES_MAX = 4096, BYTES_MAX = 256 << 10 };

struct reader {
	const char *file;
	const struct front_matter_key *keys;
	size_t key_count;
	struct front_matter *m;
	const struct front_matter_key *key; /* the field that entries and items belong to; NULL before the first */
	int line;
	struct err *e;
};

char *front_matter_collapse(const char *text, size_t len)
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

static struct front_matter_line *add_line(struct reader *r, enum front_matter_kind kind)
{
	struct front_matter_line *l = MEM_PUSH(r->m->lines, r->m->count);
	*l = (struct front_matter_line){ .kind = kind, .line = r->line };
	return l;
}

static int check_field(struct reader *r, const struct front_matter_line *l)
{
	int first = front_matter_find(r->m, l->key);
	if (first != (int)r->m->count - 1)
		return err_set(r->e, ERR_INPUT, "%s:%d: field %s is given twice; first on line %d", r->file, r->line, l->key,
			       r->m->lines[first].line);
	r->key = NULL;
	for (size_t k = 0; k < r->key_count; k++)
		if (strcmp(r->keys[k].name, l->key) == 0)
			r->key = &r->keys[k];
	if (r->key == NULL) {
		struct suggest near;
		struct buf all = BUF_INIT;
		suggest_init(&near, l->key);
		for (size_t k = 0; k < r->key_count; k++) {
			suggest_offer(&near, r->keys[k].name);
			buf_addf(&all, "%s%s", k ? ", " : "", r->keys[k].name);
		}
		const char *best = suggest_best(&near);
		int rc = err_set(r->e, ERR_INPUT, "%s:%d: unknown field %s%s%s%s; expected one of %s", r->file, r->line, l->key,
				 best ? " (did you mean " : "", best ? best : "", best ? "?)" : "", buf_text(&all));
		buf_fini(&all);
		return rc;
	}
	if (r->key->shape == FRONT_MATTER_MAP && l->value[0])
		return err_set(r->e, ERR_INPUT, "%s:%d: %s: expected entries on the next lines (`  NAME: VALUE`), found `%s`",
			       r->file, r->line, l->key, l->value);
	if (r->key->shape == FRONT_MATTER_TEXT && l->value[0] == '\0')
		return err_set(r->e, ERR_INPUT, "%s:%d: %s: expected a value on this line", r->file, r->line, l->key);
	return 0;
}

static int check_entry(struct reader *r, const struct front_matter_line *l)
{
	if (r->key == NULL || r->key->shape != FRONT_MATTER_MAP)
		return err_set(r->e, ERR_INPUT, "%s:%d: `%s:` is indented but %s takes no entries; fields start at the left margin",
			       r->file, r->line, l->key, r->key ? r->key->name : "the front matter");
	if (l->value[0] == '\0')
		return err_set(r->e, ERR_INPUT, "%s:%d: %s: %s: expected a value on this line", r->file, r->line, r->key->name,
			       l->key);
	int field = front_matter_find(r->m, r->key->name), here = (int)r->m->count - 1;
	for (int k = front_matter_next(r->m, field, field); k < here; k = front_matter_next(r->m, field, k))
		if (strcmp(r->m->lines[k].key, l->key) == 0)
			return err_set(r->e, ERR_INPUT, "%s:%d: %s: %s is declared twice; first on line %d", r->file, r->line,
				       r->key->name, l->key, r->m->lines[k].line);
	return 0;
}

/* Where the comment begins: a '#' at the start or behind white space, as in YAML. */
static size_t comment_start(const char *s, size_t len)
{
	for (size_t k = 0; k < len; k++)
		if (s[k] == '#' && (k == 0 || isspace((unsigned char)s[k - 1])))
			return k;
	return len;
}

static int read_line(struct reader *r, const char *s, size_t len)
{
	bool indented = len > 0 && isspace((unsigned char)*s);
	while (len && isspace((unsigned char)*s))
		s++, len--;
	size_t hash = comment_start(s, len), n = 0;
	char *comment = hash < len ? front_matter_collapse(s + hash + 1, len - hash - 1) : NULL;
	len = hash;
	while (len && isspace((unsigned char)s[len - 1]))
		len--;
	if (len == 0) {
		struct front_matter_line *l = add_line(r, comment ? FRONT_MATTER_COMMENT : FRONT_MATTER_BLANK);
		l->indented = indented;
		l->comment = comment;
		return 0;
	}
	if (s[0] == '-' && (len == 1 || isspace((unsigned char)s[1]))) {
		struct front_matter_line *l = add_line(r, FRONT_MATTER_ITEM);
		l->value = front_matter_collapse(s + 1, len - 1);
		l->comment = comment;
		if (r->key == NULL || r->key->shape != FRONT_MATTER_LIST) {
			struct buf lists = BUF_INIT;
			for (size_t k = 0; k < r->key_count; k++)
				if (r->keys[k].shape == FRONT_MATTER_LIST)
					buf_addf(&lists, "%s%s:", lists.len ? ", " : "", r->keys[k].name);
			int rc = err_set(r->e, ERR_INPUT, "%s:%d: `%.*s`: a list item must be below one of %s, not below %s",
					 r->file, r->line, (int)len, s, buf_text(&lists), r->key ? r->key->name : "nothing");
			buf_fini(&lists);
			return rc;
		}
		if (l->value[0] == '\0')
			return err_set(r->e, ERR_INPUT, "%s:%d: %s: expected a value after the dash", r->file, r->line,
				       r->key->name);
		return 0;
	}
	while (n < len && (isalnum((unsigned char)s[n]) || strchr("_.-", s[n])))
		n++;
	if (n == 0 || n == len || s[n] != ':') {
		free(comment);
		return err_set(r->e, ERR_INPUT, "%s:%d: `%.*s`: expected `NAME: VALUE`%s", r->file, r->line, (int)len, s,
			       r->key && r->key->shape == FRONT_MATTER_LIST ? " or `- VALUE`" : "");
	}
	struct front_matter_line *l = add_line(r, indented ? FRONT_MATTER_ENTRY : FRONT_MATTER_FIELD);
	l->key = mem_strn(s, n);
	l->value = front_matter_collapse(s + n + 1, len - n - 1);
	l->comment = comment;
	return indented ? check_entry(r, l) : check_field(r, l);
}

static bool is_rule(const char *line)
{
	return strncmp(line, "---", 3) == 0 && strspn(line + 3, " \t\r") == strcspn(line + 3, "\n");
}

int front_matter_parse(const char *file, const char *text, const struct front_matter_key *keys, size_t key_count,
		       struct front_matter *ret_m, struct err *e)
{
	struct front_matter m = { .body = text, .body_line = 1 };
	struct reader r = { .file = file, .keys = keys, .key_count = key_count, .m = &m, .line = 1, .e = e };
	const char *at = text;
	while (*at && strspn(at, " \t\r") == strcspn(at, "\n")) {
		at += strcspn(at, "\n");
		at += *at == '\n';
		r.line++;
	}
	if (!is_rule(at)) {
		*ret_m = m;
		return 0;
	}
	m.found = true;
	int opened = r.line, rc = 0;
	at += strcspn(at, "\n");
	while (*at == '\n' && rc == 0) {
		at++;
		r.line++;
		size_t n = strcspn(at, "\n");
		if (is_rule(at)) {
			m.body = at + n + (at[n] == '\n');
			m.body_line = r.line + 1;
			*ret_m = m;
			return 0;
		}
		if (m.count == LINES_MAX || at + n - text > BYTES_MAX)
			rc = err_set(e, ERR_INPUT, "%s:%d: the front matter has more than %d lines or %d KiB", file, r.line,
				     LINES_MAX, BYTES_MAX >> 10);
		else
			rc = read_line(&r, at, n);
		at += n;
	}
	front_matter_fini(&m);
	return rc < 0 ? rc
		      : err_set(e, ERR_INPUT, "%s:%d: the front matter is never closed; expected a second `---`", file, opened);
}

void front_matter_line_fini(struct front_matter_line *l)
{
	free(l->key);
	free(l->value);
	free(l->comment);
}

void front_matter_fini(struct front_matter *m)
{
	for (size_t k = 0; k < m->count; k++)
		front_matter_line_fini(&m->lines[k]);
	free(m->lines);
	*m = (struct front_matter){ .body = "" };
}

int front_matter_find(const struct front_matter *m, const char *key)
{
	for (size_t k = 0; k < m->count; k++)
		if (m->lines[k].kind == FRONT_MATTER_FIELD && strcmp(m->lines[k].key, key) == 0)
			return (int)k;
	return -1;
}

const char *front_matter_value(const struct front_matter *m, const char *key)
{
	int at = front_matter_find(m, key);
	return at < 0 ? "" : m->lines[at].value;
}

int front_matter_line_of(const struct front_matter *m, const char *key)
{
	int at = front_matter_find(m, key);
	return at < 0 ? 1 : m->lines[at].line;
}

int front_matter_next(const struct front_matter *m, int field, int after)
{
	if (field < 0)
		return -1;
	for (size_t k = (size_t)after + 1; k < m->count && m->lines[k].kind != FRONT_MATTER_FIELD; k++)
		if (m->lines[k].kind == FRONT_MATTER_ENTRY || m->lines[k].kind == FRONT_MATTER_ITEM)
			return (int)k;
	return -1;
}

void front_matter_list(const struct front_matter *m, const char *key, bool split, char ***io_list, size_t *io_count)
{
	int field = front_matter_find(m, key);
	const char *apart = split ? ", " : "";
	for (const char *s = front_matter_value(m, key); *(s += strspn(s, apart)) != '\0';) {
		size_t n = strcspn(s, apart);
		*MEM_PUSH(*io_list, *io_count) = mem_strn(s, n);
		s += n;
	}
	for (int k = front_matter_next(m, field, field); k >= 0; k = front_matter_next(m, field, k))
		*MEM_PUSH(*io_list, *io_count) = mem_str(m->lines[k].value);
}
