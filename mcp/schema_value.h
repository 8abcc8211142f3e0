/* schema_value: what mcp/schema_check.c needs to know of single values: types, equality, enumerations, numbers,
 * strings, and how a violation is put into words. */
#ifndef PEAKD_MCP_SCHEMA_VALUE_H
#define PEAKD_MCP_SCHEMA_VALUE_H

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "mcp/schema_inner.h"

/* A step down to the value at hand, in the memory of who goes there: put into words only when something is wrong. */
struct mcp_schema_step {
	const struct mcp_schema_step *up;
	const char *name; /* of a member; NULL: an item */
	size_t index;
};

/* One check of a value against a schema, while it runs. */
struct mcp_schema_check {
	const struct mcp_schema *s;
	const char *root;                 /* what the whole value is called, "arguments" */
	const struct mcp_schema_step *at; /* the way to the value at hand; NULL: it is the whole */
	struct err *e;                    /* where the first violation goes; NULL: nowhere */
	int depth;
	long *steps; /* left; shared with checks of branches */
};

/* Write the violation, "PATH: …" or "PATH: given VALUE…", and return 0, so that `return wrong(…)` is the failing
 * path. */
int mcp_schema_value_wrong(struct mcp_schema_check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int mcp_schema_value_given(struct mcp_schema_check *c, const json_t *value, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Appends a value for a message: compact, and short. */
void mcp_schema_value_show(struct buf *b, const json_t *value);

/* Equality as JSON Schema wants it: 1 and 1.0 are the same. */
int mcp_schema_value_equal(const json_t *a, const json_t *b);
/* 1 when the value conforms to these keywords, else 0 and the violation is written. The number's and the string's take
 * the whole schema object, the others their keyword's value. */
int mcp_schema_value_type(struct mcp_schema_check *c, const json_t *type, const json_t *value);
int mcp_schema_value_enum(struct mcp_schema_check *c, const json_t *allowed, const json_t *value);
int mcp_schema_value_number(struct mcp_schema_check *c, const json_t *s, const json_t *value);
int mcp_schema_value_string(struct mcp_schema_check *c, const json_t *s, const json_t *value);

#endif
