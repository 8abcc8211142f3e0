/* library: reads the folders anew at every question, so that an edited file counts at once; see library.h. */
#include "core/transform/library.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/folder.h"
#include "base/markdown.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "core/transform/fits.h"

enum { FILE_MAX = 1 << 20, NEAREST = 3 };

struct library {
	char **folders;
	size_t count;
};

struct library *library_new(const char *const *folders, size_t count)
{
	struct library *lib = MEM_NEW(struct library);
	for (size_t i = 0; i < count; i++) {
		if (folders[i])
			*MEM_PUSH(lib->folders, lib->count) = mem_str(folders[i]);
	}
	return lib;
}

void library_free(struct library *lib)
{
	if (!lib)
		return;
	mem_free_texts(lib->folders, lib->count);
	free(lib);
}

static bool plain_name(const char *name)
{
	return *name && *name != '-' && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(name);
}

/* 1 when read, 0 when there is no such file, negative on errors. */
static int read_file(const char *path, struct buf *out, struct err *e)
{
	if (access(path, F_OK) < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : err_sys(e, errno, "%s cannot be read", path);
	int rc = buf_add_packed_file(out, path, e);
	if (rc < 0)
		return rc;
	if (out->len > FILE_MAX)
		return err_set(e, ERR_INPUT, "%s is larger than 1 MiB, the limit for a transformation", path);
	if (strlen(buf_text(out)) != out->len)
		return err_set(e, ERR_INPUT, "%s holds a NUL byte: it is not text", path);
	const char *odd = utf8_bad(buf_text(out));
	if (odd)
		return err_set(e, ERR_INPUT, "%s:%d: this line is not UTF-8: save the file as UTF-8", path,
			       utf8_line(buf_text(out), odd));
	return 1;
}

/* The folders' subfolder of that name, in search order; mem_free_texts. */
static char **subfolders(const struct library *lib, const char *name)
{
	char **folders = MEM_NEW_N(char *, lib->count + 1);
	for (size_t i = 0; i < lib->count; i++)
		folders[i] = mem_fmt("%s/%s", lib->folders[i], name);
	return folders;
}

static void list_names(const struct library *lib, const char *subfolder, const char *const *endings, char ***ret_names,
		       size_t *ret_count)
{
	size_t files;
	char **folders = subfolders(lib, subfolder), **names = NULL;
	struct folder_file *list = folder_list((const char *const *)folders, lib->count, endings, &files);
	*ret_count = 0;
	for (size_t i = 0; i < files; i++)
		if (plain_name(list[i].name))
			*MEM_PUSH(names, *ret_count) = mem_str(list[i].name);
	*ret_names = names;
	folder_free(list, files);
	mem_free_texts(folders, lib->count);
}

static const char *const transformation_endings[] = { ".md", NULL };
static const char *const sequence_endings[] = { ".md", ".txt", NULL }; /* prose, or a bare list */

void library_names(const struct library *lib, char ***ret_names, size_t *ret_count)
{
	list_names(lib, ".", transformation_endings, ret_names, ret_count);
}

void library_sequence_names(const struct library *lib, char ***ret_names, size_t *ret_count)
{
	list_names(lib, "sequences", sequence_endings, ret_names, ret_count);
}

/* "; nearest: a, b" out of the names, or a hint about where files are looked for. */
static int not_found(const struct library *lib, const char *what, const char *name, char **names, size_t count, struct err *e)
{
	struct buf text = BUF_INIT;
	for (unsigned shown = 0; shown < NEAREST; shown++) {
		size_t best = count;
		for (size_t i = 0; i < count; i++) {
			if (names[i] && (best == count || suggest_distance(name, names[i]) < suggest_distance(name, names[best])))
				best = i;
		}
		if (best == count)
			break;
		buf_addf(&text, "%s%s", shown ? ", " : "nearest names: ", names[best]);
		free(names[best]);
		names[best] = NULL;
	}
	if (!text.len) {
		buf_adds(&text, "no files were found in");
		for (size_t i = 0; i < lib->count; i++)
			buf_addf(&text, " %s", lib->folders[i]);
	}
	int rc = err_set(e, ERR_NOT_FOUND, "there is no %s \"%s\"; %s", what, name, buf_text(&text));
	buf_fini(&text);
	mem_free_texts(names, count);
	return rc;
}

static bool plain_file(const char *name)
{
	return *name && *name != '-' && *name != '.' && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == strlen(name);
}

/* The code of an imported file: the first of that name in the folders' library/. */
static int import_file(const struct library *lib, const char *name, const char *path, struct buf *out, struct err *e)
{
	if (!plain_file(name))
		return err_set(e, ERR_INPUT,
			       "%s: import: expected the name of one file of library/, such as hopper.cuh, not \"%s\"", path, name);
	for (size_t i = 0; i < lib->count; i++) {
		char *at = mem_fmt("%s/library/%s", lib->folders[i], name);
		int rc = read_file(at, out, e);
		free(at);
		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	return err_set(e, ERR_NOT_FOUND, "%s: import: there is no file library/%s beside it, nor in your own folder", path, name);
}

/* A fence ```BACKEND import holds a file's name; it becomes the fence ```BACKEND insert with that file's text. */
static int expand_imports(const struct library *lib, const char *text, const char *path, struct buf *out, struct err *e)
{
	static const char word[] = " import", rule[] = "````````````````";
	struct markdown m = { .at = text, .line = 1, .lists = true };
	struct markdown_block f;
	while (markdown_next(&m, &f)) {
		size_t n = f.info_len, w = sizeof word - 1;
		if (f.kind != MARKDOWN_FENCE || n <= w || strncmp(f.info + n - w, word, w) != 0) {
			buf_add(out, f.start, (size_t)(f.end - f.start));
			continue;
		}
		struct buf code = BUF_INIT;
		char *name = markdown_body(&f), *newline = strchr(name, '\n');
		if (newline && !newline[1])
			*newline = '\0';
		int rc = import_file(lib, name, path, &code, e);
		if (rc == 0)
			buf_addf(out, "%s%.*s insert\n%s%s%s\n", rule, (int)(n - w), f.info, buf_text(&code),
				 code.len && buf_text(&code)[code.len - 1] == '\n' ? "" : "\n", rule);
		free(name);
		buf_fini(&code);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The file as it stands is parsed first, so that errors name its own lines; what counts is the text with its imports. */
static int parse_file(const struct library *lib, const char *text, const char *path, struct transformation **ret_t, struct err *e)
{
	struct transformation *plain = NULL;
	struct buf whole = BUF_INIT;
	int rc = transformation_parse(text, path, &plain, e);
	if (rc == 0)
		rc = expand_imports(lib, text, path, &whole, e);
	if (rc == 0 && whole.len && strcmp(text, buf_text(&whole)) != 0) {
		transformation_free(plain);
		plain = NULL;
		rc = transformation_parse(buf_text(&whole), path, &plain, e);
	}
	buf_fini(&whole);
	if (rc < 0)
		transformation_free(plain);
	else
		*ret_t = plain;
	return rc;
}

/* A note's technique as a transformation: 1 when there is such a note, 0 when not. */
static int find_note(const struct library *lib, const char *name, struct transformation **ret_t, struct err *e)
{
	struct notes notes;
	if (strncmp(name, NOTE_PREFIX, strlen(NOTE_PREFIX)) != 0)
		return 0;
	int rc = library_notes(lib, &notes, e);
	const struct note *n = rc == 0 ? note_find(&notes, name) : NULL;
	struct buf text = BUF_INIT;
	if (n) {
		note_transformation(n, &text);
		rc = transformation_parse(buf_text(&text), n->file, ret_t, e) < 0 ? -ERR_INPUT : 1;
	}
	buf_fini(&text);
	note_fini(&notes);
	return rc;
}

int library_find(const struct library *lib, const char *name, struct transformation **ret_t, struct err *e)
{
	for (size_t i = 0; i < lib->count && plain_name(name); i++) {
		char *path = mem_fmt("%s/%s.md", lib->folders[i], name);
		struct buf text = BUF_INIT;
		int rc = read_file(path, &text, e);
		if (rc > 0)
			rc = parse_file(lib, buf_text(&text), path, ret_t, e) < 0 ? -ERR_INPUT : 1;
		if (rc > 0 && strcmp((*ret_t)->name, name) != 0) {
			rc = err_set(e, ERR_INPUT, "%s: name: must be the file's own name, \"%s\"", path, name);
			transformation_free(*ret_t);
			*ret_t = NULL;
		}
		buf_fini(&text);
		free(path);
		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	int rc = find_note(lib, name, ret_t, e);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	char **names;
	size_t count;
	library_names(lib, &names, &count);
	return not_found(lib, "transformation", name, names, count, e);
}

/* A misspelt name must not become a sentence that a model is asked to apply. */
bool library_is_name(const char *name_or_text)
{
	for (const char *c = name_or_text; *c; c++)
		if (*c <= ' ' || *c > '~')
			return false; /* in other scripts a sentence needs no blank */
	return true;
}

/* The text of a whole file, which stands in no folder. */
static int find_file_text(const struct library *lib, const char *text, struct transformation **ret_t, struct err *e)
{
	struct transformation *t = NULL, *own = NULL;
	struct err ignored = ERR_INIT;
	int rc = parse_file(lib, text, "transformation", &t, e);
	for (size_t i = 0; rc == 0 && i < t->requires_count; i++)
		if (fits_condition_check(t->requires[i], &ignored) < 0)
			rc = err_set(
				e, ERR_INPUT,
				"transformation: requires: %s: only a file in a folder of transformations may exclude input sizes",
				t->requires[i]);
	if (rc == 0 && library_find(lib, t->name, &own, &ignored) == 0 && strcmp(own->source, t->source) != 0)
		rc = err_set(e, ERR_CONFLICT, "there is another transformation called %s: give this one another name", t->name);
	transformation_free(own);
	if (rc < 0)
		transformation_free(t);
	else
		*ret_t = t;
	return rc;
}

int library_find_or_text(const struct library *lib, const char *name_or_text, struct transformation **ret_t, struct err *e)
{
	if (strncmp(name_or_text, "---\n", 4) == 0)
		return find_file_text(lib, name_or_text, ret_t, e);
	return library_is_name(name_or_text) ? library_find(lib, name_or_text, ret_t, e)
					     : transformation_of_text(name_or_text, ret_t, e);
}

/* Names out of the text: one a line, or `1. name` / `- name`; prose, headings and `#` comments are passed over. */
static void read_sequence(const char *text, char ***names, size_t *count)
{
	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n");
		char *copy = mem_strn(line, n), *s = copy + strspn(copy, " \t");
		char *comment = strchr(s, '#');
		if (comment)
			*comment = '\0';
		char *after = s + strspn(s, "0123456789");
		if (after > s && *after == '.')
			s = after + 1;
		else if (*s == '-')
			s++;
		s += strspn(s, " \t`");
		s[strcspn(s, "`\r")] = '\0';
		size_t len = strlen(s);
		while (len && strchr(" \t", s[len - 1]))
			s[--len] = '\0';
		if (plain_name(s))
			*MEM_PUSH(*names, *count) = mem_str(s);
		free(copy);
		line += n + (line[n] == '\n');
	}
}

int library_sequence(const struct library *lib, const char *name, char ***ret_names, size_t *ret_count, struct err *e)
{
	const size_t endings = MEM_COUNT(sequence_endings) - 1;
	for (size_t i = 0; i < lib->count * endings && plain_name(name); i++) {
		char *path = mem_fmt("%s/sequences/%s%s", lib->folders[i / endings], name, sequence_endings[i % endings]);
		struct buf text = BUF_INIT;
		char **names = NULL;
		size_t count = 0;
		int rc = read_file(path, &text, e);
		if (rc > 0)
			read_sequence(buf_text(&text), &names, &count);
		if (rc > 0 && !count)
			rc = err_set(e, ERR_INPUT, "%s: no transformation is named; expected one name a line", path);
		buf_fini(&text);
		free(path);
		if (rc < 0)
			return rc;
		if (rc > 0) {
			*ret_names = names;
			*ret_count = count;
			return 0;
		}
	}
	char **names;
	size_t count;
	library_sequence_names(lib, &names, &count);
	return not_found(lib, "sequence", name, names, count, e);
}

void library_offers_screen(const struct library_offers *o, struct advisors *a)
{
	for (size_t i = 0; i < a->count; i++) {
		struct advisor *tool = &a->at[i];
		size_t kept = 0;
		for (size_t k = 0; k < tool->try_count; k++) {
			bool offered = false;
			for (size_t j = 0; j < o->offered; j++)
				offered |= strcmp(o->at[j].t->name, tool->try[k]) == 0;
			if (offered)
				tool->try[kept++] = tool->try[k];
			else
				free(tool->try[k]);
		}
		tool->try_count = kept;
	}
}

static int by_offer(const void *a, const void *b)
{
	const struct library_offer *x = a, *y = b;
	if (!x->why_not != !y->why_not)
		return x->why_not ? 1 : -1;
	return strcmp(x->t->name, y->t->name);
}

void library_offers(const struct library *lib, const struct context *ctx, const struct facts *facts, const char *const *applied,
		    size_t applied_count, struct library_offers *ret_offers)
{
	struct library_offers o = { .at = NULL };
	struct fits *fits = fits_new(ctx, facts);
	char **names;
	size_t count;
	library_names(lib, &names, &count);
	for (size_t i = 0; i < count; i++) {
		struct library_offer offer = { .t = NULL };
		struct err e = ERR_INIT;
		if (library_find(lib, names[i], &offer.t, &e) < 0)
			continue;
		if (mem_has_text(applied, applied_count, names[i]))
			offer.why_not = mem_fmt("transformation %s was applied already", names[i]);
		else if (fits_check(fits, offer.t, applied, applied_count, &e) < 0)
			offer.why_not = mem_str(e.text);
		o.offered += !offer.why_not;
		*MEM_PUSH(o.at, o.count) = offer;
	}
	if (o.count)
		qsort(o.at, o.count, sizeof *o.at, by_offer);
	mem_free_texts(names, count);
	fits_free(fits);
	*ret_offers = o;
}

void library_offers_fini(struct library_offers *o)
{
	for (size_t i = 0; i < o->count; i++) {
		transformation_free(o->at[i].t);
		free(o->at[i].why_not);
	}
	free(o->at);
	*o = (struct library_offers){ .at = NULL };
}

int library_advisors(const struct library *lib, struct advisors *ret_advisors, struct err *e)
{
	*ret_advisors = (struct advisors){ .count = 0 };
	if (!lib)
		return 0;
	char **folders = subfolders(lib, "tools");
	int rc = advice_read((const char *const *)folders, lib->count, ret_advisors, e);
	mem_free_texts(folders, lib->count);
	return rc;
}

int library_notes(const struct library *lib, struct notes *ret_notes, struct err *e)
{
	*ret_notes = (struct notes){ .count = 0 };
	if (!lib)
		return 0;
	char **folders = subfolders(lib, "knowledge");
	int rc = note_read((const char *const *)folders, lib->count, ret_notes, e);
	mem_free_texts(folders, lib->count);
	return rc;
}
