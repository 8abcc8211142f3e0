/* schema: compiling: every subschema is visited once, its keywords' types are checked, its patterns compiled and its
 * references resolved; see schema.h. Called by mcp/tools.c at the server's start, so mistakes show before any
 * client. */
#include "mcp/schema.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "mcp/jsonrpc.h"
#include "mcp/schema_inner.h"

enum { DEPTH_MAX = 64, NODES_MAX = 10000 };

static const char DIALECT[] = "https://json-schema.org/draft/2020-12/schema";

/* A place that references can name. */
struct place {
	char *uri; /* absolute when the schema gave one; with "#anchor" for anchors */
	const json_t *schema;
};

/* A $ref that waits until all places are known. */
struct pending {
	const json_t *at;
	char *uri; /* resolved against the base of its place */
};

struct compiler {
	struct mcp_schema *s;
	const char *what;
	struct place *places;
	size_t place_count;
	struct pending *pending;
	size_t pending_count;
	int nodes;
	struct err *e;
};

/* How a keyword's value is to be read. */
enum shape {
	ANY,
	SCHEMA,
	SCHEMAS,
	SCHEMA_MAP,
	STRING,
	NUMBER,
	COUNT,
	BOOLEAN,
	STRINGS,
	STRINGS_MAP,
	PATTERN,
	TYPE,
	ARRAY,
	PATTERN_MAP
};

static const struct {
	const char *name;
	enum shape shape;
	unsigned says; /* of enum mcp_schema_says */
} KEYWORDS[] = {
	{ "$id", STRING, 0 },
	{ "$schema", STRING, 0 },
	{ "$ref", STRING, MCP_SAYS_MORE },
	{ "$dynamicRef", STRING, 0 },
	{ "$anchor", STRING, 0 },
	{ "$dynamicAnchor", STRING, 0 },
	{ "$defs", SCHEMA_MAP, 0 },
	{ "definitions", SCHEMA_MAP, 0 },
	{ "type", TYPE, MCP_SAYS_TYPE },
	{ "enum", ARRAY, MCP_SAYS_VALUE },
	{ "const", ANY, MCP_SAYS_VALUE },
	{ "multipleOf", NUMBER, MCP_SAYS_NUMBER },
	{ "maximum", NUMBER, MCP_SAYS_NUMBER },
	{ "exclusiveMaximum", NUMBER, MCP_SAYS_NUMBER },
	{ "minimum", NUMBER, MCP_SAYS_NUMBER },
	{ "exclusiveMinimum", NUMBER, MCP_SAYS_NUMBER },
	{ "maxLength", COUNT, MCP_SAYS_STRING },
	{ "minLength", COUNT, MCP_SAYS_STRING },
	{ "pattern", PATTERN, MCP_SAYS_STRING },
	{ "items", SCHEMA, MCP_SAYS_ARRAY },
	{ "prefixItems", SCHEMAS, MCP_SAYS_ARRAY },
	{ "contains", SCHEMA, MCP_SAYS_ARRAY },
	{ "maxContains", COUNT, MCP_SAYS_ARRAY },
	{ "minContains", COUNT, MCP_SAYS_ARRAY },
	{ "maxItems", COUNT, MCP_SAYS_ARRAY },
	{ "minItems", COUNT, MCP_SAYS_ARRAY },
	{ "uniqueItems", BOOLEAN, MCP_SAYS_ARRAY },
	{ "maxProperties", COUNT, MCP_SAYS_OBJECT },
	{ "minProperties", COUNT, MCP_SAYS_OBJECT },
	{ "required", STRINGS, MCP_SAYS_OBJECT },
	{ "dependentRequired", STRINGS_MAP, MCP_SAYS_OBJECT },
	{ "properties", SCHEMA_MAP, MCP_SAYS_MEMBERS },
	{ "patternProperties", PATTERN_MAP, MCP_SAYS_MEMBERS },
	{ "additionalProperties", SCHEMA, MCP_SAYS_MEMBERS },
	{ "propertyNames", SCHEMA, MCP_SAYS_MEMBERS },
	{ "dependentSchemas", SCHEMA_MAP, MCP_SAYS_MORE },
	{ "if", SCHEMA, MCP_SAYS_MORE },
	{ "then", SCHEMA, MCP_SAYS_MORE },
	{ "else", SCHEMA, MCP_SAYS_MORE },
	{ "allOf", SCHEMAS, MCP_SAYS_MORE },
	{ "anyOf", SCHEMAS, MCP_SAYS_MORE },
	{ "oneOf", SCHEMAS, MCP_SAYS_MORE },
	{ "not", SCHEMA, MCP_SAYS_MORE },
	{ "unevaluatedProperties", SCHEMA, 0 },
	{ "unevaluatedItems", SCHEMA, 0 },
};

static enum shape shape_of(const char *keyword)
{
	for (size_t i = 0; i < MEM_COUNT(KEYWORDS); i++)
		if (strcmp(KEYWORDS[i].name, keyword) == 0)
			return KEYWORDS[i].shape;
	return ANY;
}

static unsigned says_of(const json_t *schema)
{
	unsigned says = 0;
	for (size_t i = 0; i < MEM_COUNT(KEYWORDS); i++)
		if (KEYWORDS[i].says && json_object_get(schema, KEYWORDS[i].name))
			says |= KEYWORDS[i].says;
	return says;
}

static int bad(struct compiler *c, const char *where, const char *keyword, const char *expected)
{
	return err_set(c->e, ERR_INPUT, "%s%s: \"%s\" must be %s", c->what, where, keyword, expected);
}

static int add_pattern(struct compiler *c, const char *where, const char *text)
{
	char why[128];
	return mcp_schema_add_pattern(c->s, text, why, sizeof why) < 0
		       ? err_set(c->e, ERR_INPUT, "%s%s: the pattern \"%s\" cannot be compiled: %s", c->what, where, text, why)
		       : 0;
}

/* --- references ------------------------------------------------------------------------------------------------- */

static void add_place(struct compiler *c, char *take_uri, const json_t *schema)
{
	struct place *p = MEM_PUSH(c->places, c->place_count);
	p->uri = take_uri;
	p->schema = schema;
}

/* A reference against its base: RFC 3986 section 5.2 without dot segments, which no one writes in a tool's schema. */
static char *resolve(const char *base, const char *ref)
{
	size_t scheme = strcspn(ref, ":/?#");
	if (ref[scheme] == ':')
		return mem_str(ref);
	size_t no_fragment = strcspn(base, "#");
	if (ref[0] == '#' || ref[0] == '\0')
		return mem_fmt("%.*s%s", (int)no_fragment, base, ref);
	const char *authority = strstr(base, "://");
	size_t root = authority ? (size_t)(authority + 3 - base) + strcspn(authority + 3, "/#") : 0;
	if (ref[0] == '/')
		return mem_fmt("%.*s%s", (int)root, base, ref);
	size_t dir = no_fragment;
	while (dir > root && base[dir - 1] != '/')
		dir--;
	return mem_fmt("%.*s%s%s", (int)dir, base, dir == root && root > 0 ? "/" : "", ref);
}

static const json_t *find_place(const struct compiler *c, const char *uri, size_t n)
{
	for (size_t i = 0; i < c->place_count; i++)
		if (strlen(c->places[i].uri) == n && strncmp(c->places[i].uri, uri, n) == 0)
			return c->places[i].schema;
	return NULL;
}

/* One step of a JSON Pointer, RFC 6901, in a URI fragment: ~0 ~1 and %XX are undone. */
static const json_t *step(const json_t *at, const char *token, size_t n)
{
	struct buf b = BUF_INIT;
	for (size_t i = 0; i < n; i++) {
		char hex[3] = { 0 };
		if (token[i] == '%' && i + 2 < n) {
			memcpy(hex, token + i + 1, 2);
			buf_addc(&b, (char)strtol(hex, NULL, 16));
			i += 2;
		} else if (token[i] == '~' && i + 1 < n) {
			buf_addc(&b, token[++i] == '0' ? '~' : '/');
		} else {
			buf_addc(&b, token[i]);
		}
	}
	const json_t *next = json_is_array(at) ? json_array_get(at, strtoul(buf_text(&b), NULL, 10))
					       : json_object_get(at, buf_text(&b));
	buf_fini(&b);
	return next;
}

static const json_t *find_target(const struct compiler *c, const char *uri)
{
	size_t n = strcspn(uri, "#");
	const char *fragment = uri[n] ? uri + n + 1 : "";
	if (fragment[0] != '/')
		return find_place(c, uri, fragment[0] ? strlen(uri) : n);
	const json_t *at = find_place(c, uri, n);
	while (at && *fragment == '/') {
		size_t len = strcspn(fragment + 1, "/");
		at = step(at, fragment + 1, len);
		fragment += 1 + len;
	}
	return at;
}

const json_t *mcp_schema_ref_target(const struct mcp_schema *s, const json_t *at)
{
	for (size_t i = 0; i < s->ref_count; i++)
		if (s->refs[i].at == at)
			return s->refs[i].target;
	return NULL;
}

/* --- visiting --------------------------------------------------------------------------------------------------- */

static int visit(struct compiler *c, const json_t *schema, const char *base, const char *where, int depth);

static int visit_each(struct compiler *c, const json_t *values, const char *base, const char *where, int depth)
{
	size_t i;
	const char *key;
	json_t *value;
	int rc = 0;
	json_array_foreach(values, i, value)
	{
		rc = rc < 0 ? rc : visit(c, value, base, where, depth + 1);
	}
	json_object_foreach(MCP_JSON(values), key, value)
	{
		rc = rc < 0 ? rc : visit(c, value, base, where, depth + 1);
	}
	return rc;
}

static int all_strings(const json_t *values)
{
	size_t i;
	json_t *value;
	json_array_foreach(values, i, value)
	{
		if (!json_is_string(value))
			return 0;
	}
	return json_is_array(values);
}

static int check_type(struct compiler *c, const char *where, const json_t *value)
{
	size_t i;
	json_t *one;
	int good = json_is_array(value) ? json_array_size(value) > 0 : mcp_schema_type_bits(value) != 0;
	json_array_foreach(value, i, one)
	{
		good = good && mcp_schema_type_bits(one) != 0;
	}
	return good ? 0
		    : bad(c, where, "type",
			  "null, boolean, object, array, number, string or integer, or an array of these");
}

static int check_keyword(struct compiler *c, const char *keyword, const json_t *value, const char *base,
			 const char *where, int depth)
{
	const char *key;
	json_t *one;
	switch (shape_of(keyword)) {
	case ANY: return 0;
	case SCHEMA: return visit(c, value, base, where, depth + 1);
	case SCHEMAS:
		if (!json_is_array(value) || json_array_size(value) == 0)
			return bad(c, where, keyword, "a non-empty array of schemas");
		return visit_each(c, value, base, where, depth);
	case SCHEMA_MAP:
	case PATTERN_MAP:
		if (!json_is_object(value))
			return bad(c, where, keyword, "an object of schemas");
		json_object_foreach(MCP_JSON(value), key, one)
		{
			if (shape_of(keyword) == PATTERN_MAP && add_pattern(c, where, key) < 0)
				return -ERR_INPUT;
		}
		return visit_each(c, value, base, where, depth);
	case STRING: return json_is_string(value) ? 0 : bad(c, where, keyword, "a string");
	case NUMBER: return json_is_number(value) ? 0 : bad(c, where, keyword, "a number");
	case COUNT:
		return json_is_number(value) && json_number_value(value) >= 0
			       ? 0
			       : bad(c, where, keyword, "a count, 0 or more");
	case BOOLEAN: return json_is_boolean(value) ? 0 : bad(c, where, keyword, "true or false");
	case STRINGS: return all_strings(value) ? 0 : bad(c, where, keyword, "an array of strings");
	case STRINGS_MAP:
		json_object_foreach(MCP_JSON(value), key, one)
		{
			if (!all_strings(one))
				return bad(c, where, keyword, "an object of arrays of strings");
		}
		return json_is_object(value) ? 0 : bad(c, where, keyword, "an object of arrays of strings");
	case PATTERN:
		return json_is_string(value) ? add_pattern(c, where, json_string_value(value))
					     : bad(c, where, keyword, "a string");
	case TYPE: return check_type(c, where, value);
	case ARRAY: return json_is_array(value) ? 0 : bad(c, where, keyword, "an array");
	}
	return 0;
}

/* Names and references of one schema object; *base becomes its own $id's. */
static void note_places(struct compiler *c, const json_t *schema, const char *base)
{
	static const char *const ANCHORS[] = { "$anchor", "$dynamicAnchor" };
	for (size_t i = 0; i < MEM_COUNT(ANCHORS); i++) {
		const char *anchor = json_string_value(json_object_get(schema, ANCHORS[i]));
		if (anchor)
			add_place(c, mem_fmt("%.*s#%s", (int)strcspn(base, "#"), base, anchor), schema);
	}
	const char *ref = json_string_value(json_object_get(schema, "$ref"));
	if (ref) {
		struct pending *p = MEM_PUSH(c->pending, c->pending_count);
		p->at = schema;
		p->uri = resolve(base, ref);
	}
}

static int visit(struct compiler *c, const json_t *schema, const char *base, const char *where, int depth)
{
	if (json_is_boolean(schema))
		return 0;
	if (!json_is_object(schema))
		return err_set(c->e, ERR_INPUT, "%s%s: a schema must be an object, true or false", c->what, where);
	if (depth > DEPTH_MAX || ++c->nodes > NODES_MAX)
		return err_set(c->e, ERR_INPUT, "%s%s: too deep or too large (limits: %d levels, %d subschemas)",
			       c->what, where, DEPTH_MAX, NODES_MAX);
	mcp_schema_add_node(c->s, schema, says_of(schema));
	const char *dialect = json_string_value(json_object_get(schema, "$schema"));
	if (dialect && strncmp(dialect, DIALECT, sizeof DIALECT - 1) != 0)
		return err_set(c->e, ERR_INPUT, "%s%s: the dialect \"%s\" is not supported, only %s", c->what, where,
			       dialect, DIALECT);
	if (json_object_get(schema, "$dynamicRef"))
		return err_set(c->e, ERR_INPUT, "%s%s: $dynamicRef is not supported, use $ref", c->what, where);
	const char *id = json_string_value(json_object_get(schema, "$id"));
	char *own = id ? resolve(base, id) : NULL;
	if (own)
		add_place(c, mem_strn(own, strcspn(own, "#")), schema);
	note_places(c, schema, own ? own : base);
	const char *keyword;
	json_t *value;
	int rc = 0;
	json_object_foreach(MCP_JSON(schema), keyword, value)
	{
		char *deeper = mem_fmt("%s/%s", where, keyword);
		if (strncmp(keyword, "unevaluated", 11) == 0)
			c->s->unevaluated = 1;
		rc = check_keyword(c, keyword, value, own ? own : base, deeper, depth);
		free(deeper);
		if (rc < 0)
			break;
	}
	free(own);
	return rc;
}

/* A reference may name a place that no keyword leads to: that is a schema only now, and may have references of its own. */
static int resolve_pending(struct compiler *c)
{
	for (size_t i = 0; i < c->pending_count; i++) {
		const char *uri = c->pending[i].uri;
		const json_t *at = c->pending[i].at, *target = find_target(c, uri);
		if (!json_is_object(target) && !json_is_boolean(target))
			return err_set(
				c->e, ERR_INPUT,
				"%s: the reference \"%s\" names nothing in this schema; references elsewhere are "
				"never fetched",
				c->what, uri);
		struct mcp_schema_ref *r = MEM_PUSH(c->s->refs, c->s->ref_count);
		*r = (struct mcp_schema_ref){ .at = at, .target = target };
		if (json_is_boolean(target) || mcp_schema_has_node(c->s, target))
			continue;
		char *base = mem_strn(uri, strcspn(uri, "#"));
		int rc = visit(c, target, base, uri + strlen(base), 0);
		free(base);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int mcp_schema_new(const json_t *schema, const char *what, struct mcp_schema **ret_schema, struct err *e)
{
	struct mcp_schema *s = MEM_NEW(struct mcp_schema);
	s->root = json_deep_copy(schema);
	struct compiler c = { .s = s, .what = what, .e = e };
	add_place(&c, mem_str(""), s->root);
	int rc = visit(&c, s->root, "", "", 0);
	if (rc == 0)
		rc = resolve_pending(&c);
	for (size_t i = 0; i < c.place_count; i++)
		free(c.places[i].uri);
	for (size_t i = 0; i < c.pending_count; i++)
		free(c.pending[i].uri);
	free(c.places);
	free(c.pending);
	if (rc < 0)
		mcp_schema_free(s);
	else
		*ret_schema = s;
	return rc;
}

void mcp_schema_free(struct mcp_schema *s)
{
	if (s == NULL)
		return;
	mcp_schema_free_patterns(s);
	free(s->refs);
	free(s->nodes);
	json_decref(s->root);
	free(s);
}
