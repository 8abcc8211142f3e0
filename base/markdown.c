/* markdown: the reader of Markdown texts; see markdown.h. */
#include "base/markdown.h"

#include <string.h>

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return line + (*line == '\n');
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Sets the block's info to these bytes without the blanks around them. */
static void set_info(struct markdown_block *b, const char *start, const char *end)
{
	while (start < end && is_blank(*start))
		start++;
	while (end > start && is_blank(end[-1]))
		end--;
	b->info = start;
	b->info_len = (size_t)(end - start);
}

/* The length of the run of backticks or tildes that the line starts with, 0 for fewer than 3; *ret_run is where. */
static size_t fence_run(const char *line, bool lists, const char **ret_run)
{
	size_t indent = strspn(line, lists ? " \t" : " "), n = 0;
	line += indent;
	if ((!lists && indent > 3) || (*line != '`' && *line != '~'))
		return 0;
	while (line[n] == *line)
		n++;
	*ret_run = line;
	return n >= 3 ? n : 0;
}

static bool read_fence(const struct markdown *m, struct markdown_block *b)
{
	const char *run, *close, *line_end = m->at + strcspn(m->at, "\n");
	size_t n = fence_run(m->at, m->lists, &run);
	if (n == 0 || (*run == '`' && memchr(run + n, '`', (size_t)(line_end - run) - n)))
		return false;
	b->kind = MARKDOWN_FENCE;
	set_info(b, run + n, line_end);
	b->indent = (size_t)(run - m->at);
	b->body = b->end;
	const char *at = b->body;
	for (; *at && !b->closed; at = b->closed ? at : next_line(at)) {
		size_t length = fence_run(at, m->lists, &close);
		b->closed = length >= n && *close == *run && strspn(close + length, " \t\r") == strcspn(close + length, "\n");
	}
	b->body_len = (size_t)(at - b->body);
	b->end = next_line(at);
	return true;
}

static void read_heading(struct markdown_block *b)
{
	size_t level = strspn(b->start, "#");
	if (level == 0 || level > 6 || !is_blank(b->start[level]))
		return;
	b->kind = MARKDOWN_HEADING;
	b->level = (int)level;
	set_info(b, b->start + level, b->start + strcspn(b->start, "\n"));
}

bool markdown_next(struct markdown *m, struct markdown_block *ret_block)
{
	if (*m->at == '\0')
		return false;
	*ret_block = (struct markdown_block){ .line = m->line, .start = m->at, .end = next_line(m->at) };
	if (!read_fence(m, ret_block))
		read_heading(ret_block);
	for (; m->at < ret_block->end; m->at++)
		m->line += *m->at == '\n';
	return true;
}

bool markdown_next_fence(struct markdown *m, struct markdown_block *ret_block)
{
	while (markdown_next(m, ret_block))
		if (ret_block->kind == MARKDOWN_FENCE)
			return true;
	return false;
}

bool markdown_is_heading(const struct markdown_block *b, int level, const char *words)
{
	size_t n = strlen(words);
	return b->kind == MARKDOWN_HEADING && b->level == level && b->info_len >= n && memcmp(b->info, words, n) == 0;
}

char *markdown_body(const struct markdown_block *b)
{
	struct buf out = BUF_INIT;
	const char *end = b->body + b->body_len;
	for (const char *line = b->body; line < end;) {
		const char *stop = memchr(line, '\n', (size_t)(end - line)), *next = stop ? stop + 1 : end;
		if (!stop)
			stop = end;
		for (size_t i = 0; i < b->indent && line < stop && (*line == ' ' || *line == '\t'); i++)
			line++;
		if (stop > line && stop[-1] == '\r')
			stop--;
		buf_add(&out, line, (size_t)(stop - line));
		buf_addc(&out, '\n');
		line = next;
	}
	return buf_steal(&out);
}

size_t markdown_ticks(const char *text, bool lists)
{
	size_t ticks = 3;
	const char *run;
	for (const char *line = text; *line; line = next_line(line)) {
		size_t n = fence_run(line, lists, &run);
		if (n >= ticks && *run == '`')
			ticks = n + 1;
	}
	return ticks;
}
