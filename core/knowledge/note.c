/* note: reading notes; see note.h. */
#include "core/knowledge/note.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/folder.h"
#include "base/front_matter.h"
#include "base/mem.h"
#include "core/advise/advice.h"

enum { FILE_MAX = 16 << 10, TEXT_MAX = 600 };

const char *const note_kind_names[NOTE_KINDS + 1] = { "algebra", "locality", "instructions", "static", "precision", NULL };

static const struct front_matter_key keys[] = {
	{ "kind", FRONT_MATTER_TEXT },   { "symptom", FRONT_MATTER_TEXT }, { "class", FRONT_MATTER_LIST },
	{ "when", FRONT_MATTER_TEXT },   { "device", FRONT_MATTER_LIST },  { "words", FRONT_MATTER_LIST },
	{ "try", FRONT_MATTER_LIST },    { "gain", FRONT_MATTER_TEXT },    { "evidence", FRONT_MATTER_LIST },
	{ "source", FRONT_MATTER_LIST },
};

/* --- reading -------------------------------------------------------------------------------------------------------- */

static void one_fini(struct note *n)
{
	free(n->name);
	free(n->file);
	free(n->symptom);
	free(n->text);
	free(n->when);
	expr_free(n->condition);
	mem_free_texts(n->devices.at, n->devices.count);
	mem_free_texts(n->words.at, n->words.count);
	mem_free_texts(n->try.at, n->try.count);
	mem_free_texts(n->evidence.at, n->evidence.count);
	mem_free_texts(n->sources.at, n->sources.count);
}

void note_fini(struct notes *n)
{
	for (size_t i = 0; i < n->count; i++)
		one_fini(&n->at[i]);
	free(n->at);
	*n = (struct notes){ .count = 0 };
}

/* The place of a word in a table that ends with NULL; -1: it is not there. */
static int place(const char *const *names, const char *word)
{
	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], word) == 0)
			return i;
	return -1;
}

static int read_numbers(struct note *n, const struct front_matter *m, struct err *e)
{
	const char *gain = front_matter_value(m, "gain");
	char *end = NULL;
	int kind = place(note_kind_names, front_matter_value(m, "kind"));
	if (kind < 0)
		return err_set(e, ERR_INPUT,
			       "%s:%d: kind: expected algebra, locality, instructions, static or precision, not \"%s\"", n->file,
			       front_matter_line_of(m, "kind"), front_matter_value(m, "kind"));
	n->kind = (enum note_kind)kind;
	n->gain = *gain ? strtod(gain, &end) : 1.1;
	if (end && (*end || !(n->gain >= 1 && n->gain <= 100)))
		return err_set(e, ERR_INPUT, "%s:%d: gain: expected the speed-up to expect, a number from 1 to 100, not \"%s\"",
			       n->file, front_matter_line_of(m, "gain"), gain);
	n->when = mem_str(front_matter_value(m, "when"));
	int rc = *n->when ? figures_parse(n->when, &n->condition, e) : 0;
	if (rc < 0)
		err_wrap(e, "%s:%d: when", n->file, front_matter_line_of(m, "when"));
	return rc;
}

static int read_texts(struct note *n, const struct front_matter *m, struct err *e)
{
	n->symptom = mem_str(front_matter_value(m, "symptom"));
	n->text = front_matter_collapse(m->body, strlen(m->body));
	front_matter_list(m, "device", true, &n->devices.at, &n->devices.count);
	front_matter_list(m, "words", true, &n->words.at, &n->words.count);
	front_matter_list(m, "try", true, &n->try.at, &n->try.count);
	front_matter_list(m, "evidence", false, &n->evidence.at, &n->evidence.count);
	front_matter_list(m, "source", false, &n->sources.at, &n->sources.count);
	if (*n->symptom == '\0' || *n->text == '\0')
		return err_set(e, ERR_INPUT, "%s:1: expected a line symptom: and, behind the front matter, the technique", n->file);
	if (strlen(n->text) > TEXT_MAX)
		return err_set(e, ERR_INPUT,
			       "%s:%d: the technique has %zu bytes; a note holds %d at most, because models read several", n->file,
			       m->body_line, strlen(n->text), TEXT_MAX);
	return 0;
}

static int read_one(const struct folder_file *file, struct notes *to, struct err *e)
{
	struct buf text = BUF_INIT;
	struct front_matter m = { .body = "" };
	struct note n = { .name = mem_str(file->name), .file = mem_str(file->path) };
	int rc = buf_add_file(&text, n.file, FILE_MAX, e);
	if (rc >= 0)
		rc = front_matter_parse(n.file, buf_text(&text), keys, MEM_COUNT(keys), &m, e);
	if (rc == 0)
		rc = advice_classes_read(&m, n.file, &n.classes, e);
	if (n.classes == 0)
		n.classes = (1u << ADVICE_CLASSES) - 1;
	if (rc == 0)
		rc = read_numbers(&n, &m, e);
	if (rc == 0)
		rc = read_texts(&n, &m, e);
	front_matter_fini(&m);
	buf_fini(&text);
	if (rc < 0)
		one_fini(&n);
	else
		*MEM_PUSH(to->at, to->count) = n;
	return rc < 0 ? rc : 0;
}

/* A note's name becomes part of a transformation's: files with other names are passed over. */
int note_read(const char *const *folders, size_t folder_count, struct notes *ret_notes, struct err *e)
{
	static const char *const endings[] = { ".md", NULL };
	struct notes all = { .count = 0 };
	size_t count;
	struct folder_file *files = folder_list(folders, folder_count, endings, &count);
	int rc = 0;
	for (size_t i = 0; i < count && rc == 0; i++)
		if (files[i].name[strspn(files[i].name, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0')
			rc = read_one(&files[i], &all, e);
	folder_free(files, count);
	if (rc < 0)
		note_fini(&all);
	else
		*ret_notes = all;
	return rc;
}

const struct note *note_find(const struct notes *n, const char *name)
{
	size_t prefix = strncmp(name, NOTE_PREFIX, strlen(NOTE_PREFIX)) == 0 ? strlen(NOTE_PREFIX) : 0;
	for (size_t i = 0; i < n->count; i++)
		if (strcmp(n->at[i].name, name) == 0 || strcmp(n->at[i].name, name + prefix) == 0)
			return &n->at[i];
	return NULL;
}

/* --- devices -------------------------------------------------------------------------------------------------------- */

const char *note_device_class(const struct facts *facts, char text[NOTE_CLASS])
{
	bool named = facts->arch[0] && strcmp(facts->backend, "hlsl") != 0;
	snprintf(text, NOTE_CLASS, "%s", facts->shares_cpu ? "cpu" : named ? facts->arch : facts->name);
	size_t n = strlen(text);
	if (strncmp(text, "sm_", 3) == 0 && text[n - 1] == 'a')
		text[n - 1] = '\0'; /* sm_90a is how code for sm_90 is compiled */
	return text;
}

static bool is_later(const char *word, const char *class)
{
	unsigned from, is;
	char plus;
	return sscanf(word, "sm_%u%c", &from, &plus) == 2 && plus == '+' && sscanf(class, "sm_%u", &is) == 1 && is >= from;
}

bool note_fits_device(const struct note *n, const struct facts *facts)
{
	char class[NOTE_CLASS];
	note_device_class(facts, class);
	for (size_t i = 0; i < n->devices.count; i++) {
		const char *word = n->devices.at[i];
		if (strcmp(word, "any") == 0 || strcmp(word, facts->shares_cpu ? "cpu" : "gpu") == 0 ||
		    strcmp(word, facts->backend) == 0 || strcmp(word, class) == 0 || is_later(word, class))
			return true;
	}
	return n->devices.count == 0;
}

/* --- as texts ------------------------------------------------------------------------------------------------------- */

void note_transformation(const struct note *n, struct buf *out)
{
	buf_addf(out, "---\nname: " NOTE_PREFIX "%s\nsummary: %s\n---\n## Pass 1: %s\nexpect: valid\n\n### device\n%s\n", n->name,
		 n->symptom, n->name, n->text);
}

static void add_list(struct buf *out, const char *what, const struct note_texts *t, const char *between)
{
	for (size_t i = 0; i < t->count; i++)
		buf_addf(out, "%s%s", i ? between : what, t->at[i]);
	if (t->count)
		buf_addc(out, '\n');
}

void note_render(const struct note *n, struct buf *out)
{
	buf_addf(out, "# %s (%s)\n\nSymptom: %s\n", n->name, note_kind_names[n->kind], n->symptom);
	if (*n->when)
		buf_addf(out, "When: %s\n", n->when);
	add_list(out, "Devices: ", &n->devices, ", ");
	add_list(out, "Try: ", &n->try, ", ");
	buf_addf(out, "\n%s\n\nExpected before anything was measured: %.3gx\n", n->text, n->gain);
	add_list(out, "Evidence elsewhere:\n- ", &n->evidence, "\n- ");
	add_list(out, "Source: ", &n->sources, "; ");
}
