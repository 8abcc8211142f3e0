/* schema_inner: a compiled schema as mcp/schema.c, schema_node.c and schema_pattern.c leave it and mcp/schema_check.c reads it. */
#ifndef PEAKD_MCP_SCHEMA_INNER_H
#define PEAKD_MCP_SCHEMA_INNER_H

#include <jansson.h>
#include <stddef.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

struct mcp_schema_ref {
	const json_t *at;     /* the schema object that has the $ref */
	const json_t *target; /* what it means */
};

struct mcp_schema_pattern {
	const char *text; /* borrowed from the schema */
	pcre2_code *code;
};

/* What kinds of keywords a schema object has. */
enum mcp_schema_says {
	MCP_SAYS_TYPE = 1 << 0,
	MCP_SAYS_VALUE = 1 << 1, /* enum, const */
	MCP_SAYS_NUMBER = 1 << 2,
	MCP_SAYS_STRING = 1 << 3,
	MCP_SAYS_ARRAY = 1 << 4,
	MCP_SAYS_MEMBERS = 1 << 5, /* of objects: what each has to be */
	MCP_SAYS_OBJECT = 1 << 6,  /* of objects: which and how many there have to be */
	MCP_SAYS_MORE = 1 << 7,    /* $ref, allOf, if and their like */
};

struct mcp_schema_node {
	const json_t *at; /* the schema object */
	unsigned says;    /* of enum mcp_schema_says */
	unsigned types;   /* a bit for each enum json_type that `type` certainly allows */
	const json_t *properties, *patterns, *additional, *names; /* the keywords' values, or NULL */
	const json_t *required, *dependent, *fewest, *most;       /* dependentRequired, minProperties, maxProperties */
};

struct mcp_schema {
	json_t *root; /* a deep copy of the schema, owns all that is pointed to */
	struct mcp_schema_ref *refs;
	size_t ref_count;
	struct mcp_schema_pattern *patterns;
	size_t pattern_count;
	struct mcp_schema_node *nodes; /* a hash table by `at` */
	size_t node_count, node_slots;
	int unevaluated; /* some unevaluatedProperties or unevaluatedItems: what was evaluated must be tracked */
};

/* --- schema_node.c --- */
void mcp_schema_add_node(struct mcp_schema *s, const json_t *at, unsigned says);
int mcp_schema_has_node(const struct mcp_schema *s, const json_t *at);
/* Of a schema object that was added, as all are that a check can come to. Borrowed. */
const struct mcp_schema_node *mcp_schema_node(const struct mcp_schema *s, const json_t *at);
/* A bit for each enum json_type that a type of JSON Schema certainly allows; 0 for a value that is no such type's name. */
unsigned mcp_schema_type_bits(const json_t *type);

/* --- schema.c --- */
const json_t *mcp_schema_ref_target(const struct mcp_schema *s, const json_t *at);

/* --- schema_pattern.c --- */
/* The text is borrowed for as long as the schema lives. -ERR_INPUT for one that cannot be compiled: ret_why says why. */
int mcp_schema_add_pattern(struct mcp_schema *s, const char *text, char *ret_why, size_t why_size);
/* Whether the text has a match; the pattern is one of the schema's. One that takes too long has none. */
int mcp_schema_matches(const struct mcp_schema *s, const char *pattern, const char *text);
void mcp_schema_free_patterns(struct mcp_schema *s);

#endif
