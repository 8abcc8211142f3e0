/* schema: validating schemas and checking values against them; see schema.h. mcp/methods_tools.c validates every schema when the
 * server starts, so that mistakes show before any client connects, and checks arguments; mcp/call_reply.c checks structured
 * content. A check reports the first violation that it finds. */
#include "mcp/schema.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "mcp/jsonrpc.h"

enum { DEPTH_MAX = 64, SHOWN = 60, LISTED = 20 }; /* SHOWN: bytes of a value in a message; LISTED: values of a list */

/* --- validating a schema ---------------------------------------------------------------------------------------- */

/* What a keyword's value must be. */
enum shape { ANNOTATION, SCHEMA, SCHEMA_MAP, NUMBER, COUNT, STRINGS, TYPE, VALUES };

static const struct {
	const char *name;
	enum shape shape;
	const char *expected; /* for messages */
} KEYWORDS[] = {
	{ "type", TYPE, "a type's name, or an array of names" },
	{ "enum", VALUES, "a non-empty array" },
	{ "properties", SCHEMA_MAP, "an object of schemas" },
	{ "required", STRINGS, "an array of strings" },
	{ "additionalProperties", SCHEMA, "a schema" },
	{ "items", SCHEMA, "a schema" },
	{ "minItems", COUNT, "a count, 0 or more" },
	{ "maxItems", COUNT, "a count, 0 or more" },
	{ "minLength", COUNT, "a count, 0 or more" },
	{ "maxLength", COUNT, "a count, 0 or more" },
	{ "minimum", NUMBER, "a number" },
	{ "maximum", NUMBER, "a number" },
	{ "exclusiveMinimum", NUMBER, "a number" },
	{ "exclusiveMaximum", NUMBER, "a number" },
	{ "title", ANNOTATION, "" },
	{ "description", ANNOTATION, "" },
	{ "default", ANNOTATION, "" },
	{ "examples", ANNOTATION, "" },
	{ "format", ANNOTATION, "" },
	{ "$schema", ANNOTATION, "" },
};

static const char *const TYPES[] = { "null", "boolean", "object", "array", "number", "string", "integer" };

static int is_type_name(const json_t *value)
{
	const char *name = json_string_value(value);
	for (size_t i = 0; name && i < MEM_COUNT(TYPES); i++)
		if (strcmp(TYPES[i], name) == 0)
			return 1;
	return 0;
}

static int all(const json_t *values, int (*good)(const json_t *value))
{
	size_t i;
	json_t *value;
	json_array_foreach(values, i, value)
	{
		if (!good(value))
			return 0;
	}
	return json_is_array(values);
}

static int is_string(const json_t *value)
{
	return json_is_string(value);
}

static int validate(const json_t *schema, const char *what, const char *where, int depth, struct err *e);

static int validate_keyword(const char *name, const json_t *value, const char *what, const char *where, int depth, struct err *e)
{
	size_t k = 0;
	while (k < MEM_COUNT(KEYWORDS) && strcmp(KEYWORDS[k].name, name) != 0)
		k++;
	if (k == MEM_COUNT(KEYWORDS))
		return strncmp(name, "x-", 2) == 0 ? 0
						   : err_set(e, ERR_INPUT,
							     "%s%s: this keyword of JSON Schema is not supported; "
							     "mcp/schema.h lists those that are",
							     what, where);
	const char *key;
	json_t *below;
	int good = 1, rc = 0;
	switch (KEYWORDS[k].shape) {
	case ANNOTATION: return 0;
	case SCHEMA: return validate(value, what, where, depth + 1, e);
	case SCHEMA_MAP:
		good = json_is_object(value);
		json_object_foreach(MCP_JSON(value), key, below)
		{
			char *deeper = mem_fmt("%s/%s", where, key);
			rc = rc < 0 ? rc : validate(below, what, deeper, depth + 1, e);
			free(deeper);
		}
		break;
	case NUMBER: good = json_is_number(value); break;
	case COUNT: good = json_is_integer(value) && json_integer_value(value) >= 0; break;
	case STRINGS: good = all(value, is_string); break;
	case TYPE: good = is_type_name(value) || (json_array_size(value) > 0 && all(value, is_type_name)); break;
	case VALUES: good = json_array_size(value) > 0; break;
	}
	return good ? rc : err_set(e, ERR_INPUT, "%s%s: must be %s", what, where, KEYWORDS[k].expected);
}

static int validate(const json_t *schema, const char *what, const char *where, int depth, struct err *e)
{
	const char *name;
	json_t *value;
	if (json_is_boolean(schema))
		return 0;
	if (!json_is_object(schema))
		return err_set(e, ERR_INPUT, "%s%s: a schema must be an object, true or false", what, where);
	if (depth > DEPTH_MAX)
		return err_set(e, ERR_INPUT, "%s%s: a schema may have at most %d levels", what, where, DEPTH_MAX);
	json_object_foreach(MCP_JSON(schema), name, value)
	{
		char *deeper = mem_fmt("%s/%s", where, name);
		int rc = validate_keyword(name, value, what, deeper, depth, e);
		free(deeper);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int mcp_schema_validate(const json_t *schema, const char *what, struct err *e)
{
	return validate(schema, what, "", 0, e);
}

/* --- messages --------------------------------------------------------------------------------------------------- */

/* The way down to a value, on the stack of the check; written out only when something is wrong. */
struct place {
	const struct place *up; /* NULL: the whole value, called `name` */
	const char *name;       /* of a member; NULL: an item */
	size_t index;
	struct err *e; /* where the violation goes */
};

static void add_place(struct buf *b, const struct place *at)
{
	if (at->up)
		add_place(b, at->up);
	if (at->up == NULL)
		buf_adds(b, at->name);
	else if (at->name == NULL)
		buf_addf(b, "[%zu]", at->index);
	else if (at->name[0] && at->name[strcspn(at->name, ".[]\" ")] == '\0')
		buf_addf(b, ".%s", at->name);
	else
		buf_addf(b, "[\"%s\"]", at->name);
}

/* A value for a message: compact and short. */
static void add_value(struct buf *b, const json_t *value)
{
	char *text = mcp_jsonrpc_text(value);
	size_t n = strlen(text), shown = n > SHOWN ? utf8_fit(text, SHOWN) : n;
	buf_add(b, text, shown);
	if (shown < n)
		buf_adds(b, "…");
	free(text);
}

/* Writes "PLACE: …", or with a value "PLACE: given VALUE…", and returns -ERR_INPUT. */
static int wrong(const struct place *at, const json_t *value, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int wrong(const struct place *at, const json_t *value, const char *fmt, ...)
{
	struct buf b = BUF_INIT;
	va_list ap;
	add_place(&b, at);
	buf_adds(&b, ": ");
	if (value) {
		buf_adds(&b, "given ");
		add_value(&b, value);
	}
	va_start(ap, fmt);
	buf_addv(&b, fmt, ap);
	va_end(ap);
	int rc = err_set(at->e, ERR_INPUT, "%s", buf_text(&b));
	buf_fini(&b);
	return rc;
}

/* --- checking a value ------------------------------------------------------------------------------------------- */

static int check(const json_t *schema, const json_t *value, const struct place *at);

static const char *type_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT: return "object";
	case JSON_ARRAY: return "array";
	case JSON_STRING: return "string";
	case JSON_INTEGER: return "integer";
	case JSON_REAL: return "number";
	case JSON_TRUE:
	case JSON_FALSE: return "boolean";
	case JSON_NULL: return "null";
	}
	return "null";
}

static int is_of_type(const json_t *value, const char *type)
{
	if (strcmp(type, "number") == 0)
		return json_is_number(value);
	if (strcmp(type, "integer") == 0 && json_is_real(value)) /* 1.0 is an integer to JSON Schema */
		return floor(json_real_value(value)) == json_real_value(value);
	return strcmp(type, type_name(value)) == 0;
}

static int check_type(const json_t *type, const json_t *value, const struct place *at)
{
	size_t i;
	json_t *one;
	struct buf b = BUF_INIT;
	int good = json_is_string(type) && is_of_type(value, json_string_value(type));
	if (json_is_string(type))
		buf_adds(&b, json_string_value(type));
	json_array_foreach(type, i, one)
	{
		good |= is_of_type(value, json_string_value(one));
		buf_addf(&b, "%s%s", i ? " or " : "", json_string_value(one));
	}
	int rc = good ? 0 : wrong(at, value, " (%s), expected %s", type_name(value), buf_text(&b));
	buf_fini(&b);
	return rc;
}

static int check_enum(const json_t *allowed, const json_t *value, const struct place *at)
{
	size_t i;
	json_t *one;
	struct buf b = BUF_INIT;
	struct suggest near;
	const char *text = json_string_value(value);
	int good = 0;
	suggest_init(&near, text ? text : "");
	json_array_foreach(allowed, i, one)
	{
		good |= json_equal(one, value);
		if (text && json_is_string(one))
			suggest_offer(&near, json_string_value(one));
		if (i < LISTED) {
			buf_adds(&b, i ? ", " : "");
			add_value(&b, one);
		} else if (i == LISTED) {
			buf_adds(&b, ", …");
		}
	}
	const char *best = text ? suggest_best(&near) : NULL;
	int rc = good ? 0
		      : wrong(at, value, ", allowed: %s%s%s%s", buf_text(&b), best ? "; did you mean \"" : "", best ? best : "",
			      best ? "\"?" : "");
	buf_fini(&b);
	return rc;
}

/* Below, equal or above: -1, 0, 1. Two integers are compared as such, since a double has 53 bits only. */
static int compare(const json_t *a, const json_t *b)
{
	if (json_is_integer(a) && json_is_integer(b))
		return (json_integer_value(a) > json_integer_value(b)) - (json_integer_value(a) < json_integer_value(b));
	return (json_number_value(a) > json_number_value(b)) - (json_number_value(a) < json_number_value(b));
}

static int check_number(const json_t *schema, const json_t *value, const struct place *at)
{
	static const struct {
		const char *name, *words;
		int side, or_equal; /* which side is wrong: -1 below, 1 above; whether the limit itself is allowed */
	} LIMITS[] = {
		{ "minimum", "at least", -1, 1 },
		{ "maximum", "at most", 1, 1 },
		{ "exclusiveMinimum", "more than", -1, 0 },
		{ "exclusiveMaximum", "less than", 1, 0 },
	};
	for (size_t i = 0; i < MEM_COUNT(LIMITS); i++) {
		const json_t *limit = json_object_get(schema, LIMITS[i].name);
		int order = limit ? compare(value, limit) : 0;
		if (limit && (order == LIMITS[i].side || (order == 0 && !LIMITS[i].or_equal))) {
			char *shown = mcp_jsonrpc_text(limit);
			int rc = wrong(at, value, ", must be %s %s", LIMITS[i].words, shown);
			free(shown);
			return rc;
		}
	}
	return 0;
}

/* minLength and maxLength, minItems and maxItems. value: of the string, whose text a message shows; NULL: an array. */
static int check_size(const json_t *schema, size_t n, const char *min, const char *max, const json_t *value, const struct place *at)
{
	const json_t *least = json_object_get(schema, min), *most = json_object_get(schema, max);
	const char *what = value ? "characters" : "items";
	if (least && n < (size_t)json_integer_value(least))
		return wrong(at, value, "%s must have at least %lld %s, has %zu", value ? "," : "it",
			     (long long)json_integer_value(least), what, n);
	if (most && n > (size_t)json_integer_value(most))
		return wrong(at, value, "%s must have at most %lld %s, has %zu", value ? "," : "it",
			     (long long)json_integer_value(most), what, n);
	return 0;
}

static int check_array(const json_t *schema, const json_t *value, const struct place *at)
{
	size_t i;
	json_t *item;
	const json_t *items = json_object_get(schema, "items");
	int rc = check_size(schema, json_array_size(value), "minItems", "maxItems", NULL, at);
	json_array_foreach(value, i, item)
	{
		struct place below = { .up = at, .index = i, .e = at->e };
		if (rc == 0 && items)
			rc = check(items, item, &below);
	}
	return rc;
}

static int unknown_member(const json_t *properties, const char *name, const struct place *at)
{
	struct buf b = BUF_INIT;
	struct suggest near;
	const char *known;
	json_t *schema;
	size_t listed = 0;
	suggest_init(&near, name);
	json_object_foreach(MCP_JSON(properties), known, schema)
	{
		suggest_offer(&near, known);
		if (listed++ < LISTED)
			buf_addf(&b, "%s%s", b.len ? ", " : "", known);
	}
	const char *best = suggest_best(&near);
	int rc = wrong(at, NULL, "unknown field \"%s\"; allowed: %s%s%s%s%s", name, b.len ? buf_text(&b) : "none",
		       listed > LISTED ? ", …" : "", best ? "; did you mean \"" : "", best ? best : "", best ? "\"?" : "");
	buf_fini(&b);
	return rc;
}

static int missing_member(const json_t *properties, const json_t *value, const char *name, const struct place *at)
{
	struct suggest near;
	const char *key;
	json_t *one;
	suggest_init(&near, name);
	json_object_foreach(MCP_JSON(value), key, one)
	{
		if (json_object_get(properties, key) == NULL)
			suggest_offer(&near, key);
	}
	const char *best = suggest_best(&near);
	const char *about = json_string_value(json_object_get(json_object_get(properties, name), "description"));
	return wrong(at, NULL, "the field \"%s\" is missing%s%s%s%s%s", name, about ? ": " : "", about ? about : "",
		     best ? "; did you misspell it as \"" : "", best ? best : "", best ? "\"?" : "");
}

static int check(const json_t *schema, const json_t *value, const struct place *at)
{
	const json_t *type = json_object_get(schema, "type"), *allowed = json_object_get(schema, "enum");
	if (json_is_false(schema))
		return wrong(at, value, ", nothing is allowed here");
	int rc = type ? check_type(type, value, at) : 0;
	if (rc == 0 && allowed)
		rc = check_enum(allowed, value, at);
	if (rc < 0)
		return rc;
	switch (json_typeof(value)) {
	case JSON_OBJECT: {
		const json_t *properties = json_object_get(schema, "properties");
		const json_t *others = json_object_get(schema, "additionalProperties");
		size_t i;
		const char *name;
		json_t *one;
		json_object_foreach(MCP_JSON(value), name, one)
		{
			struct place below = { .up = at, .name = name, .e = at->e };
			const json_t *own = json_object_get(properties, name);
			if (own == NULL && json_is_false(others))
				return unknown_member(properties, name, at);
			if ((own || others) && check(own ? own : others, one, &below) < 0)
				return -ERR_INPUT;
		}
		json_array_foreach(json_object_get(schema, "required"), i, one)
		{
			if (json_object_get(value, json_string_value(one)) == NULL)
				return missing_member(properties, value, json_string_value(one), at);
		}
		return 0;
	}
	case JSON_ARRAY: return check_array(schema, value, at);
	case JSON_STRING: return check_size(schema, utf8_count(json_string_value(value)), "minLength", "maxLength", value, at);
	case JSON_INTEGER:
	case JSON_REAL: return check_number(schema, value, at);
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL: return 0;
	}
	return 0;
}

int mcp_schema_check(const json_t *schema, const json_t *value, const char *root, struct err *e)
{
	struct place whole = { .name = root, .e = e };
	return check(schema, value, &whole);
}
