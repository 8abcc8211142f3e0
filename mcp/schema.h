/* schema: JSON Schema 2020-12 for arguments and answers of tools, with messages for people and models: which field,
 * what was given, what is allowed, and the nearest name. Remote references are never fetched: a schema with one does
 * not compile, nor does one with $dynamicRef. `format` is an annotation; `pattern` is POSIX extended with \d \w \s.
 * Source: https://json-schema.org/draft/2020-12 (core and validation). */
#ifndef PEAKD_MCP_SCHEMA_H
#define PEAKD_MCP_SCHEMA_H

#include <jansson.h>

#include "base/err.h"

struct mcp_schema;

/* Compiles a schema (an object, true or false; borrowed, copied). `what` names it in errors. */
int mcp_schema_new(const json_t *schema, const char *what, struct mcp_schema **ret_schema, struct err *e);
void mcp_schema_free(struct mcp_schema *schema); /* NULL is allowed */

/* 0 when the value conforms. Else ERR_INPUT with a message that begins with the place, `root` for the value itself:
 * "arguments.n: given \"many\" (string), expected integer". Safe on several threads at once. Bounded in depth and
 * steps: what exceeds them does not conform. */
int mcp_schema_check(const struct mcp_schema *schema, const json_t *value, const char *root, struct err *e);

#endif
