/* matter: see matter.h. */
#include "core/transform/front_matter.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct reading {
	const char *where;
	unsigned line;
	struct front_matter *m;
};

static void trim(const char **start, const char **end)
{
	while (*start < *end && strchr(" \t\r", **start))
		(*start)++;
	while (*end > *start && strchr(" \t\r", (*end)[-1]))
		(*end)--;
}

/* Ends the line before a comment: a '#' at the start or behind a blank. */
static const char *without_comment(const char *start, const char *end)
{
	for (const char *s = start; s < end; s++) {
		if (*s == '#' && (s == start || s[-1] == ' ' || s[-1] == '\t'))
			return s;
	}
	return end;
}

static char *piece(const char *start, const char *end)
{
	trim(&start, &end);
	return mem_strn(start, (size_t)(end - start));
}

static int add_item(struct reading *r, const char *start, const char *end, struct err *e)
{
	if (!r->m->count || *r->m->entries[r->m->count - 1].value)
		return err_set(e, ERR_INPUT, "%s:%u: an indented line must follow a `key:` without a value", r->where,
			       r->line);
	struct front_matter_entry *entry = &r->m->entries[r->m->count - 1];
	struct front_matter_item item = { .line = r->line };
	const char *colon = memchr(start, ':', (size_t)(end - start));
	if (start[0] == '-' && (end == start + 1 || start[1] == ' ')) {
		item.name = mem_str("");
		item.value = piece(start + 1, end);
	} else if (colon) {
		item.name = piece(start, colon);
		item.value = piece(colon + 1, end);
	} else {
		return err_set(e, ERR_INPUT, "%s:%u: expected `- item` or `name: value` below `%s:`", r->where, r->line,
			       entry->key);
	}
	*MEM_PUSH(entry->items, entry->item_count) = item;
	return 0;
}

static int add_line(struct reading *r, const char *line, const char *end, struct err *e)
{
	bool indented = line < end && strchr(" \t", *line);
	const char *start = line;
	end = without_comment(start, end);
	trim(&start, &end);
	if (start == end)
		return 0;
	if (indented || *start == '-')
		return add_item(r, start, end, e);
	const char *colon = memchr(start, ':', (size_t)(end - start));
	if (!colon)
		return err_set(e, ERR_INPUT, "%s:%u: expected `key: value` in the front matter", r->where, r->line);
	struct front_matter_entry entry = { .key = piece(start, colon), .value = piece(colon + 1, end), .line = r->line };
	if (front_matter_find(r->m, entry.key)) {
		int rc = err_set(e, ERR_INPUT, "%s:%u: `%s:` is given twice", r->where, r->line, entry.key);
		free(entry.key);
		free(entry.value);
		return rc;
	}
	*MEM_PUSH(r->m->entries, r->m->count) = entry;
	return 0;
}

/* True when the line is `---`. */
static bool is_rule(const char *line, const char *end)
{
	trim(&line, &end);
	return end - line == 3 && memcmp(line, "---", 3) == 0;
}

int front_matter_parse(const char *text, const char *where, struct front_matter *ret_m, struct err *e)
{
	struct front_matter m = { .body = text, .body_line = 1 };
	struct reading r = { .where = where, .line = 1, .m = &m };
	const char *end = text + strcspn(text, "\n");
	if (!is_rule(text, end)) {
		*ret_m = m;
		return 0;
	}
	for (const char *line = end; *line;) {
		line++;
		r.line++;
		end = line + strcspn(line, "\n");
		if (is_rule(line, end)) {
			m.body = *end ? end + 1 : end;
			m.body_line = r.line + 1;
			*ret_m = m;
			return 0;
		}
		int rc = add_line(&r, line, end, e);
		if (rc < 0) {
			front_matter_fini(&m);
			return rc;
		}
		line = end;
	}
	front_matter_fini(&m);
	return err_set(e, ERR_INPUT, "%s:1: the front matter is not closed: a line `---` must end it", where);
}

void front_matter_fini(struct front_matter *m)
{
	for (size_t i = 0; i < m->count; i++) {
		struct front_matter_entry *entry = &m->entries[i];
		for (size_t j = 0; j < entry->item_count; j++) {
			free(entry->items[j].name);
			free(entry->items[j].value);
		}
		free(entry->items);
		free(entry->key);
		free(entry->value);
	}
	free(m->entries);
	*m = (struct front_matter){ .body = "" };
}

const struct front_matter_entry *front_matter_find(const struct front_matter *m, const char *key)
{
	for (size_t i = 0; i < m->count; i++) {
		if (strcmp(m->entries[i].key, key) == 0)
			return &m->entries[i];
	}
	return NULL;
}

const char *front_matter_value(const struct front_matter *m, const char *key)
{
	const struct front_matter_entry *entry = front_matter_find(m, key);
	return entry ? entry->value : "";
}
