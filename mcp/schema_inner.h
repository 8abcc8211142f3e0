/* schema_inner: a compiled schema as mcp/schema.c leaves it and mcp/schema_check.c reads it. */
#ifndef PEAKD_MCP_SCHEMA_INNER_H
#define PEAKD_MCP_SCHEMA_INNER_H

#include <jansson.h>
#include <regex.h>
#include <stddef.h>

struct mcp_schema_ref {
	const json_t *at;     /* the schema object that has the $ref */
	const json_t *target; /* what it means */
};

struct mcp_schema_pattern {
	const char *text; /* borrowed from the schema */
	regex_t regex;
};

struct mcp_schema {
	json_t *root; /* a deep copy of the schema, owns all that is pointed to */
	struct mcp_schema_ref *refs;
	size_t ref_count;
	struct mcp_schema_pattern *patterns;
	size_t pattern_count;
	int unevaluated; /* some unevaluatedProperties or unevaluatedItems: what was evaluated must be tracked */
};

const json_t *mcp_schema_ref_target(const struct mcp_schema *s, const json_t *at);
/* Whether the text has a match; the pattern is one of the schema's. */
int mcp_schema_matches(const struct mcp_schema *s, const char *pattern, const char *text);

#endif
