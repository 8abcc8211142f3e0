/* schema_pattern: regular expressions of a schema, compiled once (mcp/schema.c) and matched while values are checked
 * (mcp/schema_check.c). PCRE2 reads them as ECMA-262 has them, which JSON Schema asks for, but for rarities, and bounds what both cost:
 * glibc's regcomp takes hours for (((m*)+)+)+ a dozen deep. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "mcp/schema_inner.h"

/* Code points, not bytes; $ is the end alone; \u0041; a group that took no part matches as an empty one. */
#define AS_ECMA_262 (PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX | PCRE2_MATCH_UNSET_BACKREF)

/* Steps of one match, milliseconds at most; a pattern of a schema takes some dozens. */
#define STEPS_MAX 100000

int mcp_schema_add_pattern(struct mcp_schema *s, const char *text, char *ret_why, size_t why_size)
{
	for (size_t i = 0; i < s->pattern_count; i++)
		if (strcmp(s->patterns[i].text, text) == 0)
			return 0;
	int code;
	size_t at;
	pcre2_code *compiled = pcre2_compile((PCRE2_SPTR)text, strlen(text), AS_ECMA_262, &code, &at, NULL);
	if (compiled == NULL) {
		if (pcre2_get_error_message(code, (PCRE2_UCHAR *)ret_why, why_size) < 0)
			ret_why[0] = '\0';
		return -ERR_INPUT;
	}
	struct mcp_schema_pattern *p = MEM_PUSH(s->patterns, s->pattern_count);
	p->text = text;
	p->code = compiled;
	return 0;
}

static int matches(const pcre2_code *code, const char *text)
{
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	pcre2_match_context *limits = pcre2_match_context_create(NULL);
	int rc = PCRE2_ERROR_NOMEMORY;
	if (data && limits) {
		pcre2_set_match_limit(limits, STEPS_MAX);
		rc = pcre2_match(code, (PCRE2_SPTR)text, strlen(text), 0, 0, data, limits);
	}
	pcre2_match_context_free(limits);
	pcre2_match_data_free(data);
	return rc >= 0;
}

int mcp_schema_matches(const struct mcp_schema *s, const char *pattern, const char *text)
{
	for (size_t i = 0; i < s->pattern_count; i++)
		if (strcmp(s->patterns[i].text, pattern) == 0)
			return matches(s->patterns[i].code, text);
	return 0;
}

void mcp_schema_free_patterns(struct mcp_schema *s)
{
	for (size_t i = 0; i < s->pattern_count; i++)
		pcre2_code_free(s->patterns[i].code);
	free(s->patterns);
}
