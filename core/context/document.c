/* document: context files as parts; see document.h. Fences follow CommonMark 0.30 §4.5. Used by
 * core/context/context. */
#include "core/context/document.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

enum { FILE_MAX = 4 << 20, DEVICE_MAX = 1 << 20, HOST_MAX = 32 << 10 };

static const char *const part_names[DOCUMENT_PARTS] = { "device code", "macros", "host code", "reference" };

struct reader {
	const char *file, *at;
	int line; /* of `at` */
	struct document *doc;
	struct err *e;
};

static size_t line_length(const char *s)
{
	return strcspn(s, "\n");
}

static void next_line(struct reader *r)
{
	r->at += line_length(r->at);
	r->at += *r->at == '\n';
	r->line++;
}

static bool is_dashes(const char *s)
{
	size_t n = line_length(s);
	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	return n == 3 && memcmp(s, "---", 3) == 0;
}

/* Length of the fence that a line starts with, 0 for none; *ret_mark is its character, *ret_info points behind it. */
static size_t fence_length(const char *s, char *ret_mark, const char **ret_info)
{
	size_t indent = strspn(s, " "), n = 0;
	s += indent;
	if (indent > 3 || (*s != '`' && *s != '~'))
		return 0;
	while (s[n] == *s)
		n++;
	*ret_mark = *s;
	*ret_info = s + n;
	return n >= 3 ? n : 0;
}

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
	};
	for (size_t k = 0; k < MEM_COUNT(known); k++)
		if (strcmp(info, known[k].info) == 0)
			return known[k].part;
	return -1;
}

/* "" for a missing or unknown one, which core/context/reader complains about. */
static const char *backend_of(const struct front *f)
{
	int at = front_field(f, "backend");
	const char *value = at < 0 ? "" : f->lines[at].value;
	return part_of(value) == DOCUMENT_DEVICE ? value : "";
}

static int check_info(struct reader *r, const char *info, int *ret_part)
{
	const char *backend = backend_of(r->doc->front);
	*ret_part = part_of(info);
	if (*ret_part < 0)
		return err_set(r->e, ERR_INPUT,
			       "%s:%d: unknown fence ```%s; expected ```%s (device code), ```macros, ```lua host or "
			       "```%s reference",
			       r->file, r->line, info, *backend ? backend : "cuda", *backend ? backend : "cuda");
	size_t n = strcspn(info, " ");
	bool language = *ret_part == DOCUMENT_DEVICE || (*ret_part == DOCUMENT_REFERENCE && info[n]);
	if (language && *backend && (strlen(backend) != n || strncmp(info, backend, n) != 0))
		return err_set(r->e, ERR_INPUT, "%s:%d: a ```%.*s fence in a context for backend %s; expected ```%s",
			       r->file, r->line, (int)n, info, backend, backend);
	const struct document_block *had = document_find(r->doc, (enum document_part) * ret_part);
	if (had)
		return err_set(r->e, ERR_INPUT, "%s:%d: a second %s fence; the first begins on line %d", r->file,
			       r->line, part_names[*ret_part], had->line - 1);
	return 0;
}

/* From the opening fence, which r->at is on, to behind the closing one. */
static int read_block(struct reader *r, char mark, size_t fence, const char *info_at, char *take_prose)
{
	char *info = front_collapse(info_at, line_length(info_at)), close;
	const char *rest;
	int part, opened = r->line, rc = check_info(r, info, &part);
	free(info);
	if (rc < 0) {
		free(take_prose);
		return rc;
	}
	next_line(r);
	const char *start = r->at;
	struct document_block *b = &r->doc->blocks[r->doc->block_count++];
	*b = (struct document_block){ .part = (enum document_part)part, .prose = take_prose, .line = r->line };
	while (*r->at) {
		size_t n = fence_length(r->at, &close, &rest);
		if (n >= fence && close == mark && strspn(rest, " \t") == line_length(rest))
			break;
		next_line(r);
	}
	b->text = mem_strn(start, (size_t)(r->at - start));
	if (*r->at == '\0')
		return err_set(r->e, ERR_INPUT, "%s:%d: the %s fence is never closed", r->file, opened,
			       part_names[part]);
	next_line(r);
	rc = document_check(b->part, b->text, r->e);
	return rc < 0 ? err_wrap(r->e, "%s:%d", r->file, opened) : 0;
}

/* Text without blank lines before and behind it. */
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

static int read_blocks(struct reader *r)
{
	const char *prose = r->at, *info = NULL;
	char mark = 0;
	int rc = 0;
	while (rc == 0 && *r->at) {
		size_t fence = fence_length(r->at, &mark, &info);
		if (fence == 0) {
			next_line(r);
			continue;
		}
		rc = read_block(r, mark, fence, info, trim_prose(prose, (size_t)(r->at - prose)));
		prose = r->at;
	}
	r->doc->after = trim_prose(prose, strlen(prose));
	for (int p = 0; rc == 0 && p < DOCUMENT_PARTS; p++)
		if ((p == DOCUMENT_DEVICE || p == DOCUMENT_HOST) && !document_find(r->doc, (enum document_part)p))
			rc = err_set(r->e, ERR_INPUT, "%s:%d: the file has no %s fence; expected one ```%s block",
				     r->file, r->line, part_names[p],
				     p == DOCUMENT_HOST           ? "lua host"
				     : *backend_of(r->doc->front) ? backend_of(r->doc->front)
								  : "cuda");
	return rc;
}

static int read_document(struct reader *r)
{
	while (*r->at && strspn(r->at, " \t") == line_length(r->at))
		next_line(r);
	if (!is_dashes(r->at))
		return err_set(r->e, ERR_INPUT, "%s:%d: expected `---` before the front matter, found `%.*s`", r->file,
			       r->line, (int)(line_length(r->at) > 40 ? 40 : line_length(r->at)), r->at);
	int opened = r->line;
	next_line(r);
	const char *start = r->at;
	int first = r->line;
	while (*r->at && !is_dashes(r->at))
		next_line(r);
	if (*r->at == '\0')
		return err_set(r->e, ERR_INPUT, "%s:%d: the front matter is never closed; expected a second `---`",
			       r->file, opened);
	int rc = front_parse(r->file, start, (size_t)(r->at - start), first, &r->doc->front, r->e);
	if (rc < 0)
		return rc;
	next_line(r);
	return read_blocks(r);
}

int document_parse(const char *file, const char *text, struct document **ret_doc, struct err *e)
{
	if (strlen(text) > FILE_MAX)
		return err_set(e, ERR_INPUT, "%s: larger than %d MiB", file, FILE_MAX >> 20);
	const char *bad = utf8_bad(text);
	if (bad)
		return err_set(e, ERR_INPUT, "%s:%d: this line is not UTF-8: save the file as UTF-8", file,
			       utf8_line(text, bad));
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
	struct reader r = { .file = file, .at = buf_text(&clean), .line = 1, .doc = MEM_NEW(struct document), .e = e };
	int rc = read_document(&r);
	buf_fini(&clean);
	if (rc < 0)
		document_free(r.doc);
	else
		*ret_doc = r.doc;
	return rc;
}

void document_free(struct document *doc)
{
	if (doc == NULL)
		return;
	front_free(doc->front);
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
	copy->front = front_copy(doc->front);
	copy->after = mem_str(doc->after);
	for (size_t k = 0; k < doc->block_count; k++) {
		copy->blocks[k].prose = mem_str(doc->blocks[k].prose);
		copy->blocks[k].text = mem_str(doc->blocks[k].text);
	}
	return copy;
}

const struct document_block *document_find(const struct document *doc, enum document_part part)
{
	for (size_t k = 0; k < doc->block_count; k++)
		if (doc->blocks[k].part == part)
			return &doc->blocks[k];
	return NULL;
}

void document_set(struct document *doc, enum document_part part, const char *text)
{
	size_t n = strlen(text), k = 0;
	char *copy = n && text[n - 1] != '\n' ? mem_fmt("%s\n", text) : mem_str(text);
	while (k < doc->block_count && doc->blocks[k].part != part)
		k++;
	if (k == doc->block_count) { /* only macros can be missing: they stand behind the device code */
		for (k = 0; k < doc->block_count && doc->blocks[k].part != DOCUMENT_DEVICE;)
			k++;
		k += k < doc->block_count;
		memmove(doc->blocks + k + 1, doc->blocks + k, (doc->block_count - k) * sizeof *doc->blocks);
		doc->block_count++;
		doc->blocks[k] = (struct document_block){ .part = part, .prose = mem_str("") };
	}
	free(doc->blocks[k].text);
	doc->blocks[k].text = copy;
}

/* A fence longer than any that begins a line of the text. */
static void write_block(const struct document_block *b, const char *backend, struct buf *out)
{
	size_t ticks = 3;
	char mark;
	const char *rest;
	for (const char *s = b->text; *s; s += line_length(s), s += *s == '\n') {
		size_t n = fence_length(s, &mark, &rest);
		if (n >= ticks && mark == '`')
			ticks = n + 1;
	}
	for (size_t k = 0; k < ticks; k++)
		buf_addc(out, '`');
	buf_adds(out, b->part == DOCUMENT_MACROS ? "macros" : b->part == DOCUMENT_HOST ? "lua host" : backend);
	buf_adds(out, b->part == DOCUMENT_REFERENCE ? " reference\n" : "\n");
	buf_adds(out, b->text);
	for (size_t k = 0; k < ticks; k++)
		buf_addc(out, '`');
	buf_addc(out, '\n');
}

void document_render(const struct document *doc, const char *backend, struct buf *out)
{
	buf_adds(out, "---\n");
	front_render(doc->front, out);
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
	buf_adds(out, "---\n");
	front_canonical(doc->front, out);
	buf_adds(out, "---\n");
	for (int p = 0; p < DOCUMENT_PARTS; p++) {
		const struct document_block *b = document_find(doc, (enum document_part)p);
		if (b && b->text[0])
			write_block(b, backend, out);
	}
}
