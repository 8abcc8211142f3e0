/* delays: see delays.h. The text of both regions is scanned for words, outside of comments and strings; no line moves. */
#include "core/judge/delays.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/embedded.h"
#include "base/lex.h"
#include "base/mem.h"

/* A statement around the assembly that follows, which may be the only statement of an `if`. */
static const char around[] = "for (int peakd_once = peakd_delay(3); peakd_once; peakd_once = 0 * peakd_delay(4)) ";
static const char at_start[] = " peakd_delay(5);";

/* Behind the bracket that closes the one at p. */
static const char *skip_brackets(const char *p)
{
	enum lex_kind kind;
	int depth = 0;
	for (size_t n; *p; p += n) {
		n = lex_c(p, &kind);
		depth += kind == LEX_OTHER ? (*p == '(') - (*p == ')') : 0;
		if (depth == 0)
			return p + n;
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
	enum lex_kind kind;
	while (*p && *p != '{' && *p != ';')
		p = *p == '(' ? skip_brackets(p) : p + lex_c(p, &kind);
	return *p == '{' ? p : NULL;
}

/* One region with delays; adds the places to *io_count. */
static char *insert(const char *text, size_t *io_count)
{
	struct buf out = BUF_INIT;
	const char *brace = NULL;
	enum lex_kind kind;
	for (size_t n; *text; text += n) {
		n = lex_c(text, &kind);
		bool word = kind == LEX_WORD;
		if (word && lex_is(text, n, "__global__"))
			brace = body_of(text + n);
		bool assembly = word && (lex_is(text, n, "asm") || lex_is(text, n, "__asm") || lex_is(text, n, "__asm__"));
		if (assembly && waits(text + n)) {
			buf_adds(&out, around);
			++*io_count;
		}
		*io_count += word && n > 6 && (strncmp(text, "__sync", 6) == 0 || strncmp(text, "__barr", 6) == 0);
		buf_add(&out, text, n);
		if (text == brace) {
			buf_adds(&out, at_start);
			++*io_count;
		}
	}
	return buf_steal(&out);
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
	/* Its length is drawn from the clock; a macro does not expand itself, so each calls the function that it hides. The last
	 * line gives the region its own line numbers back. */
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
