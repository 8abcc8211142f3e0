/* patch: see patch.h. */
#include "core/transform/patch.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

struct block {
	struct buf search, replace;
};

static bool marks(const char *line, char c)
{
	line += strspn(line, " \t");
	return strspn(line, (char[]){ c, '\0' }) >= 5;
}

/* `<<<<<<< SEARCH` and `>>>>>>> REPLACE` are told from shifts in code by their length and the word. */
static bool opens(const char *line)
{
	return marks(line, '<') && strncmp(line + strcspn(line, "S\n"), "SEARCH", 6) == 0;
}

static bool ends(const char *line)
{
	return marks(line, '>') && strncmp(line + strcspn(line, "R\n"), "REPLACE", 7) == 0;
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return *line ? line + 1 : line;
}

static void add_line(struct buf *out, const char *line)
{
	size_t n = strcspn(line, "\n");
	if (n && line[n - 1] == '\r')
		n--;
	buf_add(out, line, n);
	buf_addc(out, '\n');
}

bool patch_present(const char *answer)
{
	for (const char *line = answer; *line; line = next_line(line)) {
		if (opens(line))
			return true;
	}
	return false;
}

/* Reads the block that opens at `line`; returns what follows it, NULL when it is not closed. */
static const char *read_block(const char *line, struct block *b)
{
	bool replacing = false;
	for (line = next_line(line); *line; line = next_line(line)) {
		if (ends(line))
			return replacing ? next_line(line) : NULL;
		if (!replacing && marks(line, '='))
			replacing = true;
		else
			add_line(replacing ? &b->replace : &b->search, line);
	}
	return NULL;
}

/* First place at or behind `from` where the search stands as whole lines. */
static const char *find_lines(const char *text, const char *from, const char *search)
{
	for (const char *at = from; (at = strstr(at, search)); at++) {
		if (at == text || at[-1] == '\n')
			return at;
	}
	return NULL;
}

static char *describe(const char *what, const char *search)
{
	size_t n = strcspn(search, "\n");
	return mem_fmt("the search block that begins with \"%.*s\" %s", (int)(n < 120 ? n : 120), search, what);
}

static enum patch_result apply_block(struct buf *text, const struct block *b, char **ret_detail)
{
	const char *search = buf_text(&b->search), *at = *search ? find_lines(text->data, text->data, search) : NULL;
	if (!at) {
		*ret_detail = describe("is not in the region; it must repeat whole lines exactly", search);
		return PATCH_MISSING;
	}
	if (find_lines(text->data, at + 1, search)) {
		*ret_detail = describe("is there more than once; it must hold enough lines to be unique", search);
		return PATCH_TWICE;
	}
	struct buf out = BUF_INIT;
	buf_add(&out, text->data, (size_t)(at - text->data));
	buf_adds(&out, buf_text(&b->replace));
	buf_adds(&out, at + b->search.len);
	buf_fini(text);
	*text = out;
	return PATCH_OK;
}

enum patch_result patch_apply(const char *region, const char *answer, char **ret_text, char **ret_detail)
{
	enum patch_result result = PATCH_NONE;
	struct buf text = BUF_INIT;
	buf_adds(&text, region);
	if (text.len && text.data[text.len - 1] != '\n')
		buf_addc(&text, '\n');
	for (const char *line = answer; *line;) {
		if (!opens(line)) {
			line = next_line(line);
			continue;
		}
		struct block b = { BUF_INIT, BUF_INIT };
		line = read_block(line, &b);
		if (!line) {
			*ret_detail = mem_str("a search/replace block is not closed by `>>>>>>> REPLACE`");
			result = PATCH_BROKEN;
		} else {
			result = apply_block(&text, &b, ret_detail);
		}
		buf_fini(&b.search);
		buf_fini(&b.replace);
		if (result != PATCH_OK)
			break;
	}
	if (result == PATCH_OK)
		*ret_text = buf_steal(&text);
	else if (result == PATCH_NONE)
		*ret_detail = mem_str("there is no search/replace block");
	buf_fini(&text);
	return result;
}
