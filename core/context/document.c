/* document: context files as parts; see document.h. The format is docs/context-format.md. */
#include "core/context/document.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/markdown.h"
#include "base/mem.h"
#include "base/utf8.h"

enum { FILE_MAX = 4 << 20, DEVICE_MAX = 1 << 20, HOST_MAX = 32 << 10 };

#define PYTHON_REFERENCE "python reference"

static const char *const part_names[DOCUMENT_PARTS] = { "device code", "macros", "host code", "reference" };

/* Every field of a context, in canonical order. */
static const struct front_matter_key keys[] = {
	{ "kernel", FRONT_MATTER_TEXT },   { "backend", FRONT_MATTER_TEXT }, { "constants", FRONT_MATTER_MAP },
	{ "inputs", FRONT_MATTER_MAP },    { "tune", FRONT_MATTER_MAP },     { "where", FRONT_MATTER_LIST },
	{ "requires", FRONT_MATTER_LIST }, { "check", FRONT_MATTER_LIST },   { "precision", FRONT_MATTER_TEXT },
	{ "flops", FRONT_MATTER_TEXT },    { "bytes", FRONT_MATTER_TEXT },   { "options", FRONT_MATTER_LIST },
	{ "library", FRONT_MATTER_TEXT },
};

/* --- reading ------------------------------------------------------------------------------------------------------ */
struct reader {
	const char *file;
	struct document *doc;
	const struct document *whole; /* what the text is a part of; NULL: a whole file */
	struct err *e;
};

int document_check(enum document_part part, const char *text, struct err *e)
{
	size_t max = part == DOCUMENT_HOST ? HOST_MAX : DEVICE_MAX, n = strlen(text);
	if (n > max)
		return err_set(e, ERR_INPUT, "%s: %zu bytes; at most %zu are accepted", part_names[part], n, max);
	const char *bad = utf8_bad(text);
	if (bad)
		return err_set(e, ERR_INPUT, "%s: line %d of the region is not UTF-8: write it in UTF-8", part_names[part],
			       utf8_line(text, bad));
	if (part != DOCUMENT_MACROS && strspn(text, " \t\n") == n)
		return err_set(e, ERR_INPUT, "%s: the region is empty", part_names[part]);
	return 0;
}

/* What the words behind the fence stand for; -1 for anything else. The first word of a device fence is its language. */
static int part_of(const char *info)
{
	static const struct {
		const char *info;
		enum document_part part;
	} known[] = {
		{ "cuda", DOCUMENT_DEVICE },
		{ "hip", DOCUMENT_DEVICE },
		{ "hlsl", DOCUMENT_DEVICE },
		{ "macros", DOCUMENT_MACROS },
		{ "lua host", DOCUMENT_HOST },
		{ "lua", DOCUMENT_HOST },
		{ "reference", DOCUMENT_REFERENCE },
		{ "cuda reference", DOCUMENT_REFERENCE },
		{ "hip reference", DOCUMENT_REFERENCE },
		{ "hlsl reference", DOCUMENT_REFERENCE },
		{ PYTHON_REFERENCE, DOCUMENT_REFERENCE },
	};
	for (size_t k = 0; k < MEM_COUNT(known); k++)
		if (strcmp(info, known[k].info) == 0)
			return known[k].part;
	return -1;
}

/* "" for a missing or unknown one, which core/context/spec complains about. */
static const char *backend_of(const struct document *doc)
{
	const char *value = front_matter_value(&doc->front, "backend");
	return part_of(value) == DOCUMENT_DEVICE ? value : "";
}

static int check_info(struct reader *r, const char *info, int line, int *ret_part)
{
	const char *backend = backend_of(r->whole ? r->whole : r->doc);
	*ret_part = part_of(info);
	if (*ret_part < 0)
		return err_set(
			r->e, ERR_INPUT,
			"%s:%d: unknown fence ```%s; expected ```%s (device code), ```macros, ```lua host, ```%s reference or "
			"```" PYTHON_REFERENCE,
			r->file, line, info, *backend ? backend : "cuda", *backend ? backend : "cuda");
	size_t n = strcspn(info, " ");
	bool language =
		*ret_part == DOCUMENT_DEVICE || (*ret_part == DOCUMENT_REFERENCE && info[n] && strcmp(info, PYTHON_REFERENCE) != 0);
	if (language && *backend && (strlen(backend) != n || strncmp(info, backend, n) != 0))
		return err_set(r->e, ERR_INPUT, "%s:%d: a ```%.*s fence in a context for backend %s; expected ```%s", r->file, line,
			       (int)n, info, backend, backend);
	const struct document_block *had = document_find(r->doc, (enum document_part) * ret_part);
	if (had)
		return err_set(r->e, ERR_INPUT, "%s:%d: a second %s fence; the first begins on line %d", r->file, line,
			       part_names[*ret_part], had->line - 1);
	return 0;
}

/* Text without blank lines before it and without white space behind it. */
static char *trim_prose(const char *s, size_t n)
{
	for (size_t k = 0; k < n && isspace((unsigned char)s[k]);) {
		if (s[k++] != '\n')
			continue;
		s += k;
		n -= k;
		k = 0;
	}
	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	return mem_strn(s, n);
}

static int read_block(struct reader *r, const struct markdown_block *fence, const char *prose)
{
	char *info = front_matter_collapse(fence->info, fence->info_len);
	int part, rc = check_info(r, info, fence->line, &part);
	bool python = strcmp(info, PYTHON_REFERENCE) == 0;
	free(info);
	if (rc < 0)
		return rc;
	if (!fence->closed)
		return err_set(r->e, ERR_INPUT, "%s:%d: the %s fence is never closed", r->file, fence->line, part_names[part]);
	struct document_block *b = &r->doc->blocks[r->doc->block_count++];
	*b = (struct document_block){
		.part = (enum document_part)part,
		.prose = trim_prose(prose, (size_t)(fence->start - prose)),
		.text = mem_strn(fence->body, fence->body_len),
		.line = fence->line + 1,
		.python = python,
	};
	rc = document_check(b->part, b->text, r->e);
	return rc < 0 ? err_wrap(r->e, "%s:%d", r->file, fence->line) : 0;
}

/* A value may not go on on the next line: brackets must close. */
static int check_braces(struct reader *r)
{
	const char *field = "";
	for (size_t k = 0; k < r->doc->front.count; k++) {
		const struct front_matter_line *l = &r->doc->front.lines[k];
		int depth = 0;
		if (l->kind == FRONT_MATTER_FIELD)
			field = l->key;
		if (l->value == NULL || strcmp(field, "library") == 0)
			continue;
		for (const char *c = l->value; *c && depth >= 0; c++)
			depth += (strchr("({[", *c) != NULL) - (strchr(")}]", *c) != NULL);
		if (depth != 0)
			return err_set(r->e, ERR_INPUT,
				       "%s:%d: %s: `%s`: brackets do not close; a value ends on the line that it starts on",
				       r->file, l->line, field, l->value);
	}
	return 0;
}

static int read_document(struct reader *r, const char *text)
{
	struct document *doc = r->doc;
	int rc = front_matter_parse(r->file, text, keys, MEM_COUNT(keys), &doc->front, r->e);
	if (rc < 0)
		return rc;
	struct markdown m = { .at = doc->front.body, .line = doc->front.body_line };
	doc->front.body = "";
	if (!doc->front.found && r->whole == NULL) {
		size_t blank = strspn(text, " \t\n"), n = strcspn(text + blank, "\n");
		return err_set(r->e, ERR_INPUT, "%s:%d: expected `---` before the front matter, found `%.*s`", r->file,
			       utf8_line(text, text + blank), (int)(n > 40 ? utf8_fit(text + blank, 40) : n), text + blank);
	}
	rc = check_braces(r);
	const char *prose = m.at;
	struct markdown_block fence;
	while (rc == 0 && markdown_next_fence(&m, &fence)) {
		rc = read_block(r, &fence, prose);
		prose = fence.end;
	}
	doc->after = trim_prose(prose, strlen(prose));
	for (int p = 0; rc == 0 && r->whole == NULL && p < DOCUMENT_PARTS; p++)
		if ((p == DOCUMENT_DEVICE || p == DOCUMENT_HOST) && !document_find(doc, (enum document_part)p))
			rc = err_set(r->e, ERR_INPUT, "%s:%d: the file has no %s fence; expected one ```%s block", r->file, m.line,
				     part_names[p],
				     p == DOCUMENT_HOST ? "lua host"
				     : *backend_of(doc) ? backend_of(doc)
							: "cuda");
	return rc;
}

static int parse(const char *file, const char *text, const struct document *whole, struct document **ret_doc, struct err *e)
{
	if (strlen(text) > FILE_MAX)
		return err_set(e, ERR_INPUT, "%s: larger than %d MiB", file, FILE_MAX >> 20);
	const char *bad = utf8_bad(text);
	if (bad)
		return err_set(e, ERR_INPUT, "%s:%d: this line is not UTF-8: save the file as UTF-8", file, utf8_line(text, bad));
	struct buf clean = BUF_INIT; /* without carriage returns at line ends */
	if (strncmp(text, "\xEF\xBB\xBF", 3) == 0)
		text += 3;
	for (const char *c = text; *c; c++) {
		size_t run = strspn(c, "\r"); /* all of them: what is rendered must read the same again */
		if (run && c[run] != '\n') {
			buf_add(&clean, c, run);
			c += run - 1;
			continue;
		}
		c += run;
		buf_addc(&clean, *c);
	}
	struct reader r = { .file = file, .doc = MEM_NEW(struct document), .whole = whole, .e = e };
	int rc = read_document(&r, buf_text(&clean));
	buf_fini(&clean);
	if (rc < 0)
		document_free(r.doc);
	else
		*ret_doc = r.doc;
	return rc;
}

int document_parse(const char *file, const char *text, struct document **ret_doc, struct err *e)
{
	return parse(file, text, NULL, ret_doc, e);
}

/* --- lifetime ----------------------------------------------------------------------------------------------------- */
void document_free(struct document *doc)
{
	if (doc == NULL)
		return;
	front_matter_fini(&doc->front);
	for (size_t k = 0; k < doc->block_count; k++) {
		free(doc->blocks[k].prose);
		free(doc->blocks[k].text);
	}
	free(doc->after);
	free(doc);
}

struct document *document_copy(const struct document *doc)
{
	struct document *copy = MEM_NEW(struct document);
	*copy = *doc;
	copy->front.lines = NULL;
	copy->front.count = 0;
	for (size_t k = 0; k < doc->front.count; k++) {
		struct front_matter_line *l = MEM_PUSH(copy->front.lines, copy->front.count);
		*l = doc->front.lines[k];
		l->key = mem_str(l->key);
		l->value = mem_str(l->value);
		l->comment = mem_str(l->comment);
	}
	copy->after = mem_str(doc->after);
	for (size_t k = 0; k < doc->block_count; k++) {
		copy->blocks[k].prose = mem_str(doc->blocks[k].prose);
		copy->blocks[k].text = mem_str(doc->blocks[k].text);
	}
	return copy;
}

/* --- fenced blocks ------------------------------------------------------------------------------------------------ */
const struct document_block *document_find(const struct document *doc, enum document_part part)
{
	for (size_t k = 0; k < doc->block_count; k++)
		if (doc->blocks[k].part == part)
			return &doc->blocks[k];
	return NULL;
}

struct document_block *document_set(struct document *doc, enum document_part part, const char *text)
{
	size_t n = strlen(text), k = 0;
	char *copy = n && text[n - 1] != '\n' ? mem_fmt("%s\n", text) : mem_str(text);
	while (k < doc->block_count && doc->blocks[k].part != part)
		k++;
	if (k == doc->block_count) { /* only macros can be missing: they go behind the device code */
		for (k = 0; k < doc->block_count && doc->blocks[k].part != DOCUMENT_DEVICE;)
			k++;
		k += k < doc->block_count;
		memmove(doc->blocks + k + 1, doc->blocks + k, (doc->block_count - k) * sizeof *doc->blocks);
		doc->block_count++;
		doc->blocks[k] = (struct document_block){ .part = part, .prose = mem_str("") };
	}
	free(doc->blocks[k].text);
	doc->blocks[k].text = copy;
	return &doc->blocks[k];
}

/* --- edits of the front matter ------------------------------------------------------------------------------------ */
static void insert_line(struct front_matter *f, size_t index, struct front_matter_line line)
{
	(void)MEM_PUSH(f->lines, f->count);
	memmove(f->lines + index + 1, f->lines + index, (f->count - 1 - index) * sizeof *f->lines);
	f->lines[index] = line;
}

/* The field's line, made when it is not there: behind the field that comes before it in canonical order. */
static size_t need_field(struct front_matter *f, const char *name)
{
	int at = front_matter_find(f, name);
	if (at >= 0)
		return (size_t)at;
	size_t key = 0, index = f->count;
	while (strcmp(keys[key].name, name) != 0)
		key++;
	while (key-- > 0) {
		int before = front_matter_find(f, keys[key].name);
		if (before < 0)
			continue;
		for (index = (size_t)before + 1; index < f->count && f->lines[index].kind != FRONT_MATTER_FIELD;)
			index++;
		/* Comments and blank lines in front of the next field belong to that field. */
		while (index > (size_t)before + 1 && f->lines[index - 1].kind <= FRONT_MATTER_COMMENT)
			index--;
		break;
	}
	insert_line(f, index, (struct front_matter_line){ .kind = FRONT_MATTER_FIELD, .key = mem_str(name), .value = mem_str("") });
	return index;
}

/* Behind the last entry or item of the field. */
static size_t end_of(const struct front_matter *f, size_t field)
{
	int last = (int)field;
	for (int k = front_matter_next(f, last, last); k >= 0; k = front_matter_next(f, (int)field, k))
		last = k;
	return (size_t)last + 1;
}

void document_set_entry(struct document *doc, const char *field, const char *name, const char *value)
{
	struct front_matter *f = &doc->front;
	size_t at = need_field(f, field);
	char *text = front_matter_collapse(value, strlen(value));
	for (int k = front_matter_next(f, (int)at, (int)at); k >= 0; k = front_matter_next(f, (int)at, k)) {
		if (strcmp(f->lines[k].key, name) != 0)
			continue;
		free(f->lines[k].value);
		f->lines[k].value = text;
		return;
	}
	insert_line(f, end_of(f, at),
		    (struct front_matter_line){ .kind = FRONT_MATTER_ENTRY, .key = mem_str(name), .value = text });
}

void document_add_item(struct document *doc, const char *field, const char *value)
{
	struct front_matter *f = &doc->front;
	size_t at = need_field(f, field);
	if (f->lines[at].value[0]) { /* a list written on one line becomes items */
		struct front_matter_line first = { .kind = FRONT_MATTER_ITEM,
						   .value = f->lines[at].value,
						   .comment = f->lines[at].comment,
						   .line = f->lines[at].line };
		f->lines[at].value = mem_str("");
		f->lines[at].comment = NULL;
		insert_line(f, at + 1, first);
	}
	insert_line(f, end_of(f, at),
		    (struct front_matter_line){ .kind = FRONT_MATTER_ITEM, .value = front_matter_collapse(value, strlen(value)) });
}

void document_drop_line(struct document *doc, int index)
{
	struct front_matter *f = &doc->front;
	int field = index;
	while (field > 0 && f->lines[field].kind != FRONT_MATTER_FIELD)
		field--;
	front_matter_line_fini(&f->lines[index]);
	memmove(f->lines + index, f->lines + index + 1, (f->count - 1 - (size_t)index) * sizeof *f->lines);
	f->count--;
	if (field != index && f->lines[field].value[0] == '\0' && front_matter_next(f, field, field) < 0)
		document_drop_line(doc, field);
}

/* --- a part over the whole ---------------------------------------------------------------------------------------- */
/* The lines of a field: the field's own, and the entries or items below it. */
static size_t field_length(const struct front_matter *f, size_t field)
{
	size_t n = 1;
	while (field + n < f->count && f->lines[field + n].kind != FRONT_MATTER_FIELD)
		n++;
	return n;
}

/* Puts the field at `from` of the part in place of the whole's; one with nothing in it only removes. */
static void take_field(struct document *doc, struct front_matter *part, size_t from)
{
	struct front_matter *f = &doc->front;
	size_t at = need_field(f, part->lines[from].key), n = field_length(f, at), count = field_length(part, from);
	bool empty = part->lines[from].value[0] == '\0' && front_matter_next(part, (int)from, (int)from) < 0;
	for (size_t k = 0; k < n; k++)
		front_matter_line_fini(&f->lines[at + k]);
	memmove(f->lines + at, f->lines + at + n, (f->count - at - n) * sizeof *f->lines);
	f->count -= n;
	for (size_t k = 0; !empty && k < count; k++) {
		insert_line(f, at + k, part->lines[from + k]);
		part->lines[from + k] = (struct front_matter_line){ .kind = FRONT_MATTER_BLANK };
	}
}

static struct document *overlay(const struct document *whole, struct document *part)
{
	struct document *doc = document_copy(whole);
	for (size_t k = 0, n; k < part->front.count; k += n) {
		n = field_length(&part->front, k);
		if (part->front.lines[k].kind == FRONT_MATTER_FIELD)
			take_field(doc, &part->front, k);
	}
	for (size_t k = 0; k < part->block_count; k++)
		document_set(doc, part->blocks[k].part, part->blocks[k].text)->python = part->blocks[k].python;
	return doc;
}

int document_parse_part(const char *file, const char *text, const struct document *whole, struct document **ret_doc,
			bool *ret_entire, struct err *e)
{
	struct document *part;
	int rc = parse(file, text, whole, &part, e);
	if (rc < 0)
		return rc;
	*ret_entire = front_matter_find(&part->front, "kernel") >= 0;
	if (!*ret_entire && part->front.count == 0 && part->block_count == 0)
		rc = err_set(e, ERR_INPUT,
			     "%s: the text holds neither a fenced region nor front matter; write the new region in a fence, such "
			     "as ```%s",
			     file, backend_of(whole));
	if (rc == 0 && !*ret_entire)
		*ret_doc = overlay(whole, part);
	document_free(part);
	return rc;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */
static void write_line(const struct front_matter_line *l, bool comments, struct buf *out)
{
	switch (l->kind) {
	case FRONT_MATTER_BLANK: break;
	case FRONT_MATTER_COMMENT: buf_addf(out, "%s#%s%s", l->indented ? "  " : "", l->comment[0] ? " " : "", l->comment); break;
	case FRONT_MATTER_FIELD: buf_addf(out, "%s:%s%s", l->key, l->value[0] ? " " : "", l->value); break;
	case FRONT_MATTER_ENTRY: buf_addf(out, "  %s: %s", l->key, l->value); break;
	case FRONT_MATTER_ITEM: buf_addf(out, "  - %s", l->value); break;
	}
	if (comments && l->comment && l->kind != FRONT_MATTER_COMMENT)
		buf_addf(out, "  #%s%s", l->comment[0] ? " " : "", l->comment);
	buf_addc(out, '\n');
}

static void write_block(const struct document_block *b, const char *backend, struct buf *out)
{
	char *fence = mem_new(markdown_ticks(b->text, false) + 1, 1);
	memset(fence, '`', markdown_ticks(b->text, false));
	buf_addf(out, "%s%s", fence,
		 b->part == DOCUMENT_MACROS ? "macros"
		 : b->part == DOCUMENT_HOST ? "lua host"
		 : b->python                ? "python"
					    : backend);
	buf_adds(out, b->part == DOCUMENT_REFERENCE ? " reference\n" : "\n");
	buf_addf(out, "%s%s\n", b->text, fence);
	free(fence);
}

void document_render(const struct document *doc, const char *backend, struct buf *out)
{
	buf_adds(out, "---\n");
	for (size_t k = 0; k < doc->front.count; k++)
		write_line(&doc->front.lines[k], true, out);
	buf_adds(out, "---\n");
	for (size_t k = 0; k < doc->block_count; k++) {
		if (doc->blocks[k].prose[0])
			buf_addf(out, "\n%s\n\n", doc->blocks[k].prose);
		write_block(&doc->blocks[k], backend, out);
	}
	if (doc->after[0])
		buf_addf(out, "\n%s\n", doc->after);
}

void document_canonical(const struct document *doc, const char *backend, struct buf *out)
{
	const struct front_matter *f = &doc->front;
	buf_adds(out, "---\n");
	for (size_t k = 0; k < MEM_COUNT(keys); k++) {
		int at = front_matter_find(f, keys[k].name);
		if (at < 0)
			continue;
		const struct front_matter_line *l = &f->lines[at];
		if (keys[k].shape == FRONT_MATTER_TEXT) {
			write_line(l, false, out);
			continue;
		}
		if (l->value[0] || front_matter_next(f, at, at) >= 0)
			buf_addf(out, "%s:\n", l->key);
		if (l->value[0])
			buf_addf(out, "  - %s\n", l->value);
		for (int j = front_matter_next(f, at, at); j >= 0; j = front_matter_next(f, at, j))
			write_line(&f->lines[j], false, out);
	}
	buf_adds(out, "---\n");
	for (int p = 0; p < DOCUMENT_PARTS; p++) {
		const struct document_block *b = document_find(doc, (enum document_part)p);
		if (b && b->text[0])
			write_block(b, backend, out);
	}
}
