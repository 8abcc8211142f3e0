/* transformation: front matter, checks and small questions; the passes are read by passes.c. See transformation.h. */
#include "core/transform/transformation.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "core/transform/fence.h"
#include "core/transform/front_matter.h"
#include "core/transform/passes.h"

enum { TEXT_MAX = 16 << 10 };

static const char *const keys[] = { "name", "summary", "backends", "after", "requires", "adds", "where", "drops" };

static bool is_backend(const char *s)
{
	return strcmp(s, "cuda") == 0 || strcmp(s, "hip") == 0 || strcmp(s, "hlsl") == 0;
}

static bool is_name(const char *s)
{
	return *s && strlen(s) < 64 && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(s);
}

static bool is_identifier(const char *s)
{
	if (!isalpha((unsigned char)*s) && *s != '_')
		return false;
	while (isalnum((unsigned char)*s) || *s == '_')
		s++;
	return *s == '\0';
}

/* "a, b" on the key's own line, or one `- item` a line. */
static void read_list(const struct front_matter *m, const char *key, char ***ret_list, size_t *ret_count)
{
	const struct front_matter_entry *entry = front_matter_find(m, key);
	if (!entry)
		return;
	for (const char *s = entry->value; *s;) {
		s += strspn(s, ", ");
		size_t n = strcspn(s, ", ");
		if (n)
			*MEM_PUSH(*ret_list, *ret_count) = mem_strn(s, n);
		s += n;
	}
	for (size_t i = 0; i < entry->item_count; i++)
		*MEM_PUSH(*ret_list, *ret_count) = mem_str(entry->items[i].value);
}

/* One condition a line, never split at commas. */
static void read_conditions(const struct front_matter *m, const char *key, char ***ret_list, size_t *ret_count)
{
	const struct front_matter_entry *entry = front_matter_find(m, key);
	if (!entry)
		return;
	if (*entry->value)
		*MEM_PUSH(*ret_list, *ret_count) = mem_str(entry->value);
	for (size_t i = 0; i < entry->item_count; i++)
		*MEM_PUSH(*ret_list, *ret_count) = mem_str(entry->items[i].value);
}

static int check_keys(const struct front_matter *m, const char *where, struct err *e)
{
	for (size_t i = 0; i < m->count; i++) {
		size_t k = 0;
		while (k < MEM_COUNT(keys) && strcmp(keys[k], m->entries[i].key) != 0)
			k++;
		if (k == MEM_COUNT(keys))
			return err_set(
				e, ERR_INPUT,
				"%s:%u: unknown field `%s:`; a transformation has name, summary, backends, after, "
				"requires, adds, where, drops",
				where, m->entries[i].line, m->entries[i].key);
	}
	return 0;
}

static int read_params(struct transformation *t, const struct front_matter *m, const char *where, struct err *e)
{
	const struct front_matter_entry *adds = front_matter_find(m, "adds");
	if (adds && *adds->value)
		return err_set(e, ERR_INPUT, "%s:%u: adds: one `NAME: values` a line is expected below it", where,
			       adds->line);
	for (size_t i = 0; adds && i < adds->item_count; i++) {
		const struct front_matter_item *item = &adds->items[i];
		if (!is_identifier(item->name) || !*item->value)
			return err_set(e, ERR_INPUT,
				       "%s:%u: adds: expected `NAME: values`, such as `TILE_K_SIZE: {8, 16}`", where,
				       item->line);
		*MEM_PUSH(t->params, t->param_count) =
			(struct transformation_param){ .name = mem_str(item->name), .values = mem_str(item->value) };
	}
	return 0;
}

static int read_matter(struct transformation *t, const struct front_matter *m, const char *where, struct err *e)
{
	int rc = check_keys(m, where, e);
	if (rc < 0)
		return rc;
	t->name = mem_str(front_matter_value(m, "name"));
	t->summary = mem_str(front_matter_value(m, "summary"));
	if (!is_name(t->name))
		return err_set(e, ERR_INPUT,
			       "%s:1: name: expected lower-case letters, digits and '-' (at most 63), got \"%s\"",
			       where, t->name);
	if (!*t->summary)
		return err_set(e, ERR_INPUT, "%s:1: summary: one line about what the transformation does is expected",
			       where);
	read_list(m, "backends", &t->backends, &t->backend_count);
	for (size_t i = 0; i < t->backend_count; i++) {
		if (!is_backend(t->backends[i]))
			return err_set(e, ERR_INPUT, "%s:%u: backends: \"%s\" is none of cuda, hip, hlsl", where,
				       front_matter_find(m, "backends")->line, t->backends[i]);
	}
	read_list(m, "after", &t->after, &t->after_count);
	read_list(m, "drops", &t->drops, &t->drop_count);
	read_conditions(m, "requires", &t->requires, &t->requires_count);
	read_conditions(m, "where", &t->where, &t->where_count);
	return read_params(t, m, where, e);
}

int transformation_parse(const char *text, const char *where, struct transformation **ret_t, struct err *e)
{
	struct front_matter m = { .body = "" };
	struct transformation *t = MEM_NEW(struct transformation);
	t->source = mem_str(text);
	t->hash = hash_text(text);
	int rc = front_matter_parse(text, where, &m, e);
	if (rc == 0)
		rc = read_matter(t, &m, where, e);
	if (rc == 0)
		rc = passes_parse(t, m.body, m.body_line, where, e);
	front_matter_fini(&m);
	if (rc < 0) {
		transformation_free(t);
		return rc;
	}
	*ret_t = t;
	return 0;
}

/* True when a line of the text, outside of fences, starts with the words. */
static bool has_line(const char *text, const char *start)
{
	for (const char *line = text; *line;) {
		struct fence f;
		if (strncmp(line, start, strlen(start)) == 0)
			return true;
		if (fence_at(line, &f)) {
			line = f.end;
			continue;
		}
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return false;
}

/* The first line as a summary: at most 72 bytes, cut between characters. */
static char *first_line(const char *text)
{
	text += strspn(text, " \t\r\n#");
	size_t n = strcspn(text, "\r\n");
	if (n > 72) {
		n = 72;
		while (n && ((unsigned char)text[n] & 0xC0) == 0x80)
			n--;
	}
	char *line = mem_strn(text, n);
	for (char *s = line; *s; s++) {
		if (*s == '#')
			*s = ' ';
	}
	return line;
}

int transformation_of_text(const char *text, struct transformation **ret_t, struct err *e)
{
	if (text[strspn(text, " \t\r\n")] == '\0')
		return err_set(e, ERR_INPUT,
			       "the text of the transformation is empty: say what is to be done, such as "
			       "\"unroll the inner loop by 4\"");
	if (strlen(text) > TEXT_MAX)
		return err_set(e, ERR_INPUT, "the text of the transformation has %zu bytes, at most %d are accepted",
			       strlen(text), TEXT_MAX);
	if (strncmp(text, "---\n", 4) == 0 || strncmp(text, "---\r\n", 5) == 0)
		return transformation_parse(text, "transformation text", ret_t, e);
	struct hash h = hash_text(text);
	char *summary = first_line(text);
	struct buf file = BUF_INIT;
	buf_addf(&file, "---\nname: text-%.12s\nsummary: %s\n---\n", h.hex, *summary ? summary : "free text");
	bool passes = has_line(text, "## Pass "), steps = has_line(text, "### ");
	if (!passes)
		buf_adds(&file, "## Pass 1: As written\nexpect: valid\n\n");
	if (!passes && !steps)
		buf_adds(&file, "### device\n");
	buf_adds(&file, text);
	buf_adds(&file, "\n");
	int rc = transformation_parse(buf_text(&file), "transformation text", ret_t, e);
	buf_fini(&file);
	free(summary);
	return rc;
}

static void free_list(char **list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i]);
	free(list);
}

void transformation_free(struct transformation *t)
{
	if (!t)
		return;
	free(t->name);
	free(t->summary);
	free_list(t->backends, t->backend_count);
	free_list(t->after, t->after_count);
	free_list(t->requires, t->requires_count);
	free_list(t->where, t->where_count);
	free_list(t->drops, t->drop_count);
	for (size_t i = 0; i < t->param_count; i++) {
		free(t->params[i].name);
		free(t->params[i].values);
	}
	free(t->params);
	passes_fini(t);
	free(t->intro);
	free(t->source);
	free(t);
}

size_t transformation_calls(const struct transformation *t, const char *backend)
{
	size_t calls = 0;
	for (size_t p = 0; p < t->pass_count; p++) {
		for (size_t s = 0; s < t->passes[p].step_count; s++) {
			char *text = transformation_text_for(t->passes[p].steps[s].text, backend);
			calls += text[strspn(text, " \t\r\n")] != '\0';
			free(text);
		}
	}
	return calls;
}

const char *transformation_insert_for(const struct transformation_step *step, const char *backend)
{
	for (size_t i = 0; i < step->insert_count; i++) {
		if (!*step->inserts[i].backend || strcmp(step->inserts[i].backend, backend) == 0)
			return step->inserts[i].code;
	}
	return NULL;
}

char *transformation_text_for(const char *text, const char *backend)
{
	struct buf out = BUF_INIT;
	bool ours = true;
	for (const char *line = text; *line;) {
		struct fence f;
		const char *end = line + strcspn(line, "\n");
		end += *end == '\n';
		if (fence_at(line, &f)) {
			end = f.end;
		} else if (strncmp(line, "#### ", 5) == 0) {
			char *title = mem_strn(line + 5, strcspn(line + 5, " \t\r\n"));
			bool section = is_backend(title);
			ours = !section || strcmp(title, backend) == 0;
			free(title);
			if (section) { /* the heading itself is for peakd */
				line = end;
				continue;
			}
		}
		if (ours)
			buf_add(&out, line, (size_t)(end - line));
		line = end;
	}
	return buf_steal(&out);
}

const char *transformation_expect_name(enum transformation_expect x)
{
	switch (x) {
	case TRANSFORMATION_NONE: return "none";
	case TRANSFORMATION_COMPILES: return "compiles";
	case TRANSFORMATION_VALID: return "valid";
	}
	return "?";
}

int transformation_check(const struct transformation *t, const char *backend, const char *const *applied,
			 size_t applied_count, struct err *e)
{
	bool ours = t->backend_count == 0;
	for (size_t i = 0; i < t->backend_count; i++)
		ours |= strcmp(t->backends[i], backend) == 0;
	if (!ours) {
		struct buf list = BUF_INIT;
		for (size_t i = 0; i < t->backend_count; i++)
			buf_addf(&list, "%s%s", i ? ", " : "", t->backends[i]);
		int rc = err_set(e, ERR_INPUT, "transformation %s is for %s, and the context's backend is %s", t->name,
				 buf_text(&list), backend);
		buf_fini(&list);
		return rc;
	}
	for (size_t i = 0; i < t->after_count; i++) {
		bool done = false;
		for (size_t j = 0; j < applied_count; j++)
			done |= strcmp(t->after[i], applied[j]) == 0;
		if (!done)
			return err_set(
				e, ERR_INPUT,
				"transformation %s builds on %s, which this context has not behind it: apply %s first",
				t->name, t->after[i], t->after[i]);
	}
	return 0;
}
