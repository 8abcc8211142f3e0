/* delays: see delays.h. The text of both regions is scanned for words, outside of comments and strings; no line moves. */
#include "core/judge/delays.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/embedded.h"
#include "base/mem.h"

/* A statement around the assembly that follows, which may be the only statement of an `if`. */
static const char around[] = "for (int peakd_once = peakd_delay(3); peakd_once; peakd_once = 0 * peakd_delay(4)) ";
static const char at_start[] = " peakd_delay(5);";

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Behind the comment, string or character that begins at p; p when none does. */
static const char *skip_quoted(const char *p)
{
	const char *end = NULL;
	if (strncmp(p, "//", 2) == 0) {
		end = p + strcspn(p, "\n");
	} else if (strncmp(p, "/*", 2) == 0) {
		end = strstr(p + 2, "*/");
		end = end ? end + 2 : p + strlen(p);
	} else if (strncmp(p, "R\"", 2) == 0 && strchr(p, '(')) {
		char *close = mem_fmt(")%.*s\"", (int)strcspn(p + 2, "("), p + 2);
		end = strstr(p, close);
		end = end ? end + strlen(close) : p + strlen(p);
		free(close);
	} else if (*p == '"' || *p == '\'') {
		for (end = p + 1; *end && *end != *p; end++)
			end += *end == '\\' && end[1];
		end += *end != 0;
	}
	return end ? end : p;
}

/* Behind the bracket that closes the one at p. */
static const char *skip_brackets(const char *p)
{
	int depth = 0;
	for (const char *next; *p; p = next) {
		next = skip_quoted(p);
		if (next != p)
			continue;
		next = p + 1;
		depth += (*p == '(') - (*p == ')');
		if (depth == 0)
			return next;
	}
	return p;
}

/* Does the assembly whose keyword ends at p wait for other threads? Too many delays do no harm but to time. */
static bool waits(const char *p)
{
	const char *open = p + strcspn(p, "(;{}");
	if (*open != '(')
		return false;
	char *text = mem_strn(open, (size_t)(skip_brackets(open) - open));
	bool found = strstr(text, "bar") || strstr(text, "wait");
	free(text);
	return found;
}

/* The opening brace of the kernel whose __global__ ends at p; NULL: it is only declared. */
static const char *body_of(const char *p)
{
	while (*p && *p != '{' && *p != ';') {
		const char *next = *p == '(' ? skip_brackets(p) : skip_quoted(p);
		p = next == p ? p + 1 : next;
	}
	return *p == '{' ? p : NULL;
}

static bool is_assembly(const char *word, size_t n)
{
	return (n == 3 && strncmp(word, "asm", n) == 0) || (n == 5 && strncmp(word, "__asm", n) == 0) ||
	       (n == 7 && strncmp(word, "__asm__", n) == 0);
}

/* One region with delays; adds the places to *io_count. */
static char *insert(const char *text, size_t *io_count)
{
	struct buf out = BUF_INIT;
	const char *brace = NULL;
	for (const char *p = text; *p;) {
		const char *end = skip_quoted(p);
		if (end == p && is_word(*p))
			while (is_word(*end) || (*end == '\'' && isdigit((unsigned char)*p) && is_word(end[1])))
				end++;
		size_t n = (size_t)(end - p);
		if (n == 10 && strncmp(p, "__global__", n) == 0)
			brace = body_of(end);
		if (n && is_assembly(p, n) && waits(end)) {
			buf_adds(&out, around);
			++*io_count;
		}
		*io_count += n > 6 && (strncmp(p, "__sync", 6) == 0 || strncmp(p, "__barr", 6) == 0);
		buf_add(&out, p, n ? n : 1);
		if (p == brace) {
			buf_adds(&out, at_start);
			++*io_count;
		}
		p += n ? n : 1;
	}
	char *made = mem_str(buf_text(&out));
	buf_fini(&out);
	return made;
}

int delays_insert(const struct context *ctx, struct context **ret_ctx, char **ret_unfit, struct err *e)
{
	if (strcmp(context_backend(ctx), "cuda") != 0) {
		*ret_unfit = mem_fmt("%s has no delays", context_backend(ctx));
		return 0;
	}
	size_t count = 0;
	struct context *half = NULL;
	char *inserted = insert(context_region(ctx, REGION_MACROS), &count);
	/* Its length is drawn from the clock; a macro does not expand itself, so each calls the function that it hides. The last line gives
	 * the region its own line numbers back. */
	char *macros = mem_fmt("%s%s", embedded_file("core/judge/delays.cu"), inserted),
	     *device = insert(context_region(ctx, REGION_DEVICE), &count);
	int rc = 0;
	if (count == 0)
		*ret_unfit = mem_str("there is no barrier, and no kernel whose start could be delayed");
	else if ((rc = context_with_region(ctx, REGION_MACROS, macros, &half, e)) == 0)
		rc = context_with_region(half, REGION_DEVICE, device, ret_ctx, e);
	context_free(half);
	free(inserted);
	free(macros);
	free(device);
	return rc;
}
