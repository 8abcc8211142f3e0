/* transformation: front matter, checks and small questions; the passes are read by passes.c. See transformation.h. */
#include "core/transform/transformation.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/front_matter.h"
#include "base/markdown.h"
#include "base/mem.h"
#include "core/transform/passes.h"

enum { TEXT_MAX = 16 << 10 };

static const struct front_matter_key keys[] = {
	{ "name", FRONT_MATTER_TEXT },     { "summary", FRONT_MATTER_TEXT }, { "backends", FRONT_MATTER_LIST },
	{ "after", FRONT_MATTER_LIST },    { "requires", FRONT_MATTER_LIST }, { "adds", FRONT_MATTER_MAP },
	{ "where", FRONT_MATTER_LIST },    { "drops", FRONT_MATTER_LIST },
};

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

/* Names: "a, b" on the key's own line, or one `- item` a line. */
static void read_list(const struct front_matter *m, const char *key, char ***ret_list, size_t *ret_count)
{
	int field = front_matter_find(m, key);
	for (const char *s = front_matter_value(m, key); *s;) {
		s += strspn(s, ", ");
		size_t n = strcspn(s, ", ");
		if (n)
			*MEM_PUSH(*ret_list, *ret_count) = mem_strn(s, n);
		s += n;
	}
	for (int k = front_matter_next(m, field, field); k >= 0; k = front_matter_next(m, field, k))
		*MEM_PUSH(*ret_list, *ret_count) = mem_str(m->lines[k].value);
}

/* One condition a line, never split at commas. */
static void read_conditions(const struct front_matter *m, const char *key, char ***ret_list, size_t *ret_count)
{
	int field = front_matter_find(m, key);
	if (*front_matter_value(m, key))
		*MEM_PUSH(*ret_list, *ret_count) = mem_str(front_matter_value(m, key));
	for (int k = front_matter_next(m, field, field); k >= 0; k = front_matter_next(m, field, k))
		*MEM_PUSH(*ret_list, *ret_count) = mem_str(m->lines[k].value);
}

static int read_params(struct transformation *t, const struct front_matter *m, const char *where, struct err *e)
{
	int adds = front_matter_find(m, "adds");
	for (int k = front_matter_next(m, adds, adds); k >= 0; k = front_matter_next(m, adds, k)) {
		if (!is_identifier(m->lines[k].key))
			return err_set(e, ERR_INPUT,
				       "%s:%d: adds: expected `NAME: values`, such as `TILE_K_SIZE: {8, 16}`", where,
				       m->lines[k].line);
		*MEM_PUSH(t->params, t->param_count) = (struct transformation_param){
			.name = mem_str(m->lines[k].key), .values = mem_str(m->lines[k].value)
		};
	}
	return 0;
}

static int read_front_matter(struct transformation *t, const struct front_matter *m, const char *where, struct err *e)
{
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
			return err_set(e, ERR_INPUT, "%s:%d: backends: \"%s\" is none of cuda, hip, hlsl", where,
				       m->lines[front_matter_find(m, "backends")].line, t->backends[i]);
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
	int rc = front_matter_parse(where, text, keys, MEM_COUNT(keys), &m, e);
	if (rc == 0)
		rc = read_front_matter(t, &m, where, e);
	if (rc == 0)
		rc = passes_parse(t, m.body, m.body_line, where, e);
	front_matter_fini(&m);
	if (rc < 0) {
		err_show_line(e, where, text);
		transformation_free(t);
		return rc;
	}
	*ret_t = t;
	return 0;
}

/* Whether the text has a heading of this level that starts with the words. */
static bool has_heading(const char *text, int level, const char *words)
{
	struct markdown m = { .at = text, .line = 1, .lists = true };
	struct markdown_block b;
	while (markdown_next(&m, &b))
		if (markdown_is_heading(&b, level, words))
			return true;
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
	bool passes = has_heading(text, 2, "Pass "), steps = has_heading(text, 3, "");
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
	struct markdown m = { .at = text, .line = 1, .lists = true };
	struct markdown_block b;
	bool ours = true;
	while (markdown_next(&m, &b)) {
		bool section = false;
		if (markdown_is_heading(&b, 4, "")) {
			char *title = mem_strn(b.info, strcspn(b.info, " \t\r\n"));
			section = is_backend(title);
			ours = !section || strcmp(title, backend) == 0;
			free(title);
		}
		if (ours && !section) /* the heading itself is for peakd */
			buf_add(&out, b.start, (size_t)(b.end - b.start));
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
