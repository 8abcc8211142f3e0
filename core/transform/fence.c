/* fence: see fence.h; rules from the CommonMark specification 0.31, section 4.5. */
#include "core/transform/fence.h"

#include <string.h>

#include "base/buf.h"

static const char *line_end(const char *line)
{
	const char *nl = strchr(line, '\n');
	return nl ? nl : line + strlen(line);
}

static const char *line_next(const char *line)
{
	const char *end = line_end(line);
	return *end ? end + 1 : end;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static size_t run_of(const char *s, char c)
{
	size_t n = 0;
	while (s[n] == c)
		n++;
	return n;
}

/* True for a line of `c` only, at least `length` long. */
static bool closes(const char *line, char c, size_t length)
{
	while (*line == ' ' || *line == '\t')
		line++;
	size_t n = run_of(line, c);
	if (n < length)
		return false;
	for (line += n; *line && *line != '\n'; line++) {
		if (!blank(*line))
			return false;
	}
	return true;
}

bool fence_at(const char *line, struct fence *ret_fence)
{
	const char *s = line + strspn(line, " \t");
	char c = *s;
	if (c != '`' && c != '~')
		return false;
	size_t length = run_of(s, c);
	const char *info = s + length, *end = line_end(line);
	if (length < 3 || (c == '`' && memchr(info, '`', (size_t)(end - info))))
		return false;
	while (info < end && blank(*info))
		info++;
	const char *info_end = end;
	while (info_end > info && blank(info_end[-1]))
		info_end--;
	*ret_fence = (struct fence){ .info = info,
				     .info_len = (size_t)(info_end - info),
				     .start = line,
				     .indent = (size_t)(s - line),
				     .body = line_next(line) };
	const char *at = ret_fence->body;
	while (*at && !closes(at, c, length))
		at = line_next(at);
	ret_fence->closed = *at != '\0';
	ret_fence->body_len = (size_t)(at - ret_fence->body);
	ret_fence->end = ret_fence->closed ? line_next(at) : at;
	return true;
}

bool fence_next(const char **at, struct fence *ret_fence)
{
	for (const char *line = *at; *line; line = line_next(line)) {
		if (fence_at(line, ret_fence)) {
			*at = ret_fence->end;
			return true;
		}
	}
	*at += strlen(*at);
	return false;
}

char *fence_text(const struct fence *f)
{
	struct buf out = BUF_INIT;
	const char *end = f->body + f->body_len;
	for (const char *line = f->body; line < end;) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		const char *next = stop ? stop + 1 : end;
		if (!stop)
			stop = end;
		for (size_t i = 0; i < f->indent && line < stop && (*line == ' ' || *line == '\t'); i++)
			line++;
		if (stop > line && stop[-1] == '\r')
			stop--;
		buf_add(&out, line, (size_t)(stop - line));
		buf_addc(&out, '\n');
		line = next;
	}
	return buf_steal(&out);
}
