/* schema_pattern: regular expressions of a schema, compiled once (mcp/schema.c) and matched while values are checked
 * (mcp/schema_check.c). */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "mcp/schema_inner.h"

#define COPIES_MAX 65536.0

/* ECMA-262's classes in POSIX's words; the rest of what tool schemas use is the same in both. */
static void translate(struct buf *b, const char *p)
{
	int in_class = 0;
	for (; *p; p++) {
		if (*p == '[')
			in_class = 1;
		else if (*p == ']')
			in_class = 0;
		if (*p != '\\' || p[1] == '\0') {
			buf_addc(b, *p);
			continue;
		}
		p++;
		const char *named = *p == 'd' ? "0-9" : *p == 'w' ? "A-Za-z0-9_" : *p == 's' ? " \t\r\n\f\v" : NULL;
		if (named)
			buf_addf(b, in_class ? "%s" : "[%s]", named);
		else if (*p == 'D' || *p == 'W' || *p == 'S')
			buf_addf(b, "[^%s]", *p == 'D' ? "0-9" : *p == 'W' ? "A-Za-z0-9_" : " \t\r\n\f\v");
		else if (in_class)
			buf_addc(b, *p);
		else
			buf_addf(b, "\\%c", *p);
	}
}

/* regcomp copies what a quantifier repeats: a+ becomes aa*, a{9} nine a's, and what is nested multiplies. Taking all of a
 * pattern's quantifiers for nested ones, an upper bound of the copies; enough to keep small schemas from eating memory. */
static int too_expensive(const char *text)
{
	double copies = 1;
	for (const char *at = text; *at; at++) {
		if (*at == '\\' && at[1]) {
			at++;
		} else if (*at == '+') {
			copies *= 2;
		} else if (*at == '{') {
			char *end;
			double least = strtod(at + 1, &end), most = *end == ',' ? strtod(end + 1, NULL) : least;
			copies *= 1 + (most > least ? most : least);
		}
		if (copies > COPIES_MAX)
			return 1;
	}
	return 0;
}

int mcp_schema_add_pattern(struct mcp_schema *s, const char *text, const char **ret_why)
{
	for (size_t i = 0; i < s->pattern_count; i++)
		if (strcmp(s->patterns[i].text, text) == 0)
			return 0;
	*ret_why = "repeats too much: use fewer or smaller quantifiers";
	if (too_expensive(text))
		return -ERR_INPUT;
	struct buf b = BUF_INIT;
	translate(&b, text);
	regex_t regex;
	int rc = regcomp(&regex, buf_text(&b), REG_EXTENDED | REG_NOSUB);
	buf_fini(&b);
	*ret_why = "cannot be compiled";
	if (rc != 0)
		return -ERR_INPUT;
	struct mcp_schema_pattern *p = MEM_PUSH(s->patterns, s->pattern_count);
	p->text = text;
	p->regex = regex;
	return 0;
}

int mcp_schema_matches(const struct mcp_schema *s, const char *pattern, const char *text)
{
	for (size_t i = 0; i < s->pattern_count; i++)
		if (strcmp(s->patterns[i].text, pattern) == 0)
			return regexec(&s->patterns[i].regex, text, 0, NULL, 0) == 0;
	return 0;
}

void mcp_schema_free_patterns(struct mcp_schema *s)
{
	for (size_t i = 0; i < s->pattern_count; i++)
		regfree(&s->patterns[i].regex);
	free(s->patterns);
}
