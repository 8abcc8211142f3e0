/* schema: the part of JSON Schema 2020-12 that tools use for their arguments and answers. Messages are for people and
 * models: which field, what was given, what is allowed, and the nearest name.
 *
 * The keywords are type, enum, properties, required, additionalProperties, items, minItems, maxItems, minLength,
 * maxLength, minimum, maximum, exclusiveMinimum and exclusiveMaximum. Annotations (title, description, default,
 * examples, format, $schema, x-…) are allowed. Any other keyword is refused, since to ignore it would accept wrong
 * arguments. Source: https://json-schema.org/draft/2020-12 (core and validation). */
#ifndef PEAKD_MCP_SCHEMA_H
#define PEAKD_MCP_SCHEMA_H

#include <jansson.h>

#include "base/err.h"

/* Whether a schema uses known keywords only, each as it should be. `what` names the schema in errors. */
int mcp_schema_validate(const json_t *schema, const char *what, struct err *e);

/* 0 when the value conforms to a validated schema. Else ERR_INPUT with a message that begins with the place, `root` for
 * the value itself: "arguments.n: given \"many\" (string), expected integer". */
int mcp_schema_check(const json_t *schema, const json_t *value, const char *root, struct err *e);

#endif
