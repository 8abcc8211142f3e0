/* schema_check: values against schemas, with words for what is wrong; see schema.h. Called by mcp/tools.c for arguments
 * and by mcp/call_reply.c for structured content. The first violation found is reported, at its place. */
#include "mcp/schema_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "mcp/jsonrpc.h"
#include "mcp/schema_inner.h"
#include "mcp/schema_value.h"

enum { DEPTH_MAX = 128, STEPS_MAX = 1000000, LISTED = 20, BRANCHES_TOLD = 3 };

/* What keywords have looked at, for unevaluatedProperties and unevaluatedItems: sets of names and of indices as
 * text. */
struct seen {
	json_t *names;
	json_t *items;
};

static int check(struct mcp_schema_check *c, const json_t *schema, const json_t *value, struct seen *seen);

/* --- arrays ----------------------------------------------------------------------------------------------------- */

static void saw_item(struct seen *seen, size_t i)
{
	char text[24];
	if (seen == NULL)
		return;
	snprintf(text, sizeof text, "%zu", i);
	json_object_set_new(seen->items, text, json_true());
}

static int check_item(struct mcp_schema_check *c, const json_t *schema, const json_t *value, size_t i,
		      struct seen *seen)
{
	struct mcp_schema_step step = { .up = c->at, .index = i };
	c->at = &step;
	int good = check(c, schema, json_array_get(value, i), NULL);
	c->at = step.up;
	saw_item(seen, i);
	return good;
}

/* Tries a schema on a value without leaving a message. */
static int fits(struct mcp_schema_check *c, const json_t *schema, const json_t *value, struct seen *seen,
		struct err *why)
{
	struct err *e = c->e;
	c->e = why;
	int good = check(c, schema, value, seen);
	c->e = e;
	return good;
}

static int check_contains(struct mcp_schema_check *c, const json_t *s, const json_t *value, struct seen *seen)
{
	const json_t *contains = json_object_get(s, "contains");
	const json_t *min = json_object_get(s, "minContains"), *max = json_object_get(s, "maxContains");
	size_t found = 0;
	if (contains == NULL)
		return 1;
	for (size_t i = 0; i < json_array_size(value); i++) {
		if (fits(c, contains, json_array_get(value, i), NULL, NULL)) {
			found++;
			saw_item(seen, i);
		}
	}
	if (found < (min ? (size_t)json_number_value(min) : 1))
		return mcp_schema_value_wrong(
			c, "%zu of its items are of the kind that it must contain, expected at least %.0f", found,
			min ? json_number_value(min) : 1.0);
	if (max && found > (size_t)json_number_value(max))
		return mcp_schema_value_wrong(
			c, "%zu of its items are of the kind that it may contain, expected at most %.0f", found,
			json_number_value(max));
	return 1;
}

static int check_unique(struct mcp_schema_check *c, const json_t *value)
{
	for (size_t i = 0; i < json_array_size(value); i++) {
		for (size_t j = 0; j < i; j++) {
			if (--*c->steps < 0)
				return mcp_schema_value_wrong(c, "too much to check");
			if (mcp_schema_value_equal(json_array_get(value, i), json_array_get(value, j)))
				return mcp_schema_value_wrong(c, "items %zu and %zu are the same, all must differ", j,
							      i);
		}
	}
	return 1;
}

static int check_array(struct mcp_schema_check *c, const json_t *s, const json_t *value, struct seen *seen)
{
	const json_t *k, *prefix = json_object_get(s, "prefixItems"), *items = json_object_get(s, "items");
	size_t n = json_array_size(value), heads = json_array_size(prefix);
	if ((k = json_object_get(s, "minItems")) && n < (size_t)json_number_value(k))
		return mcp_schema_value_wrong(c, "has %zu items, must have at least %.0f", n, json_number_value(k));
	if ((k = json_object_get(s, "maxItems")) && n > (size_t)json_number_value(k))
		return mcp_schema_value_wrong(c, "has %zu items, must have at most %.0f", n, json_number_value(k));
	for (size_t i = 0; i < n; i++) {
		const json_t *schema = i < heads ? json_array_get(prefix, i) : items;
		if (schema && !check_item(c, schema, value, i, seen))
			return 0;
	}
	if (json_is_true(json_object_get(s, "uniqueItems")) && !check_unique(c, value))
		return 0;
	return check_contains(c, s, value, seen);
}

/* --- objects ---------------------------------------------------------------------------------------------------- */

static int missing(struct mcp_schema_check *c, const json_t *s, const json_t *value, const char *name,
		   const char *because)
{
	const json_t *known = json_object_get(s, "properties");
	struct suggest near;
	suggest_init(&near, name);
	const char *key;
	json_t *one;
	json_object_foreach(MCP_JSON(value), key, one)
	{
		if (json_object_get(known, key) == NULL)
			suggest_offer(&near, key);
	}
	const char *best = suggest_best(&near);
	const char *about = json_string_value(json_object_get(json_object_get(known, name), "description"));
	return mcp_schema_value_wrong(c, "the field \"%s\" is missing%s%s%s%s%s%s", name, because, about ? ": " : "",
				      about ? about : "", best ? "; was it meant by \"" : "", best ? best : "",
				      best ? "\"?" : "");
}

static int check_required(struct mcp_schema_check *c, const struct mcp_schema_node *s, const json_t *value)
{
	size_t i;
	const char *key;
	json_t *name, *names;
	json_array_foreach(s->required, i, name)
	{
		if (json_object_get(value, json_string_value(name)) == NULL)
			return missing(c, s->at, value, json_string_value(name), "");
	}
	json_object_foreach(MCP_JSON(s->dependent), key, names)
	{
		if (json_object_get(value, key) == NULL)
			continue;
		json_array_foreach(names, i, name)
		{
			if (json_object_get(value, json_string_value(name)) == NULL) {
				char *because = mem_fmt(" (needed beside \"%s\")", key);
				missing(c, s->at, value, json_string_value(name), because);
				free(because);
				return 0;
			}
		}
	}
	return 1;
}

static int unknown_name(struct mcp_schema_check *c, const json_t *s, const char *name)
{
	const json_t *known = json_object_get(s, "properties");
	struct suggest near;
	suggest_init(&near, name);
	struct buf b = BUF_INIT;
	const char *key;
	json_t *one;
	size_t n = 0;
	json_object_foreach(MCP_JSON(known), key, one)
	{
		suggest_offer(&near, key);
		if (n++ < LISTED)
			buf_addf(&b, "%s%s", n > 1 ? ", " : "", key);
	}
	const char *best = suggest_best(&near);
	mcp_schema_value_wrong(c, "unknown field \"%s\"; allowed: %s%s%s%s%s", name, n ? buf_text(&b) : "none",
			       n > LISTED ? ", …" : "", best ? "; did you mean \"" : "", best ? best : "",
			       best ? "\"?" : "");
	buf_fini(&b);
	return 0;
}

static int check_member(struct mcp_schema_check *c, const json_t *schema, const char *name, const json_t *value)
{
	struct mcp_schema_step step = { .up = c->at, .name = name };
	c->at = &step;
	int good = check(c, schema, value, NULL);
	c->at = step.up;
	return good;
}

/* One property against properties, patternProperties and, when those know nothing of it, additionalProperties. */
static int check_property(struct mcp_schema_check *c, const struct mcp_schema_node *s, const char *name,
			  const json_t *value, struct seen *seen)
{
	const json_t *own = json_object_get(s->properties, name), *rest = s->additional;
	const char *pattern;
	json_t *schema;
	int known = own != NULL;
	if (own && !check_member(c, own, name, value))
		return 0;
	json_object_foreach(MCP_JSON(s->patterns), pattern, schema)
	{
		if (!mcp_schema_matches(c->s, pattern, name))
			continue;
		known = 1;
		if (!check_member(c, schema, name, value))
			return 0;
	}
	if (!known && json_is_false(rest))
		return unknown_name(c, s->at, name);
	if (!known && rest && !check_member(c, rest, name, value))
		return 0;
	if (seen && (known || rest))
		json_object_set_new(seen->names, name, json_true());
	return 1;
}

static int check_members(struct mcp_schema_check *c, const struct mcp_schema_node *s, const json_t *value,
			 struct seen *seen)
{
	const char *name;
	json_t *member;
	json_object_foreach(MCP_JSON(value), name, member)
	{
		if (!check_property(c, s, name, member, seen))
			return 0;
		json_t *text = s->names ? json_string(name) : NULL;
		int good = s->names == NULL || check_member(c, s->names, name, text);
		json_decref(text);
		if (!good)
			return 0;
	}
	return 1;
}

static int check_object(struct mcp_schema_check *c, const struct mcp_schema_node *s, const json_t *value)
{
	size_t n = json_object_size(value);
	if (!check_required(c, s, value))
		return 0;
	if (s->fewest && n < (size_t)json_number_value(s->fewest))
		return mcp_schema_value_wrong(c, "has %zu fields, must have at least %.0f", n,
					      json_number_value(s->fewest));
	if (s->most && n > (size_t)json_number_value(s->most))
		return mcp_schema_value_wrong(c, "has %zu fields, must have at most %.0f", n,
					      json_number_value(s->most));
	return 1;
}

/* --- combinations ----------------------------------------------------------------------------------------------- */

/* Runs a branch with its own record of what it looked at, which counts only when the branch holds. */
static int branch(struct mcp_schema_check *c, const json_t *schema, const json_t *value, struct seen *seen,
		  struct err *why, int quiet)
{
	if (seen == NULL)
		return quiet ? fits(c, schema, value, NULL, why) : check(c, schema, value, NULL);
	struct seen own = { .names = json_object(), .items = json_object() };
	int good = quiet ? fits(c, schema, value, &own, why) : check(c, schema, value, &own);
	if (good) {
		json_object_update(seen->names, own.names);
		json_object_update(seen->items, own.items);
	}
	json_decref(own.names);
	json_decref(own.items);
	return good;
}

/* anyOf and oneOf: how many branches hold, and why the first few do not. */
static int check_some(struct mcp_schema_check *c, const json_t *branches, const json_t *value, struct seen *seen,
		      int just_one)
{
	size_t i, holds = 0;
	json_t *schema;
	struct buf b = BUF_INIT;
	struct err *why = MEM_NEW(struct err);
	json_array_foreach(branches, i, schema)
	{
		int good = branch(c, schema, value, seen, why, 1);
		holds += (size_t)good;
		if (!good && i < BRANCHES_TOLD)
			buf_addf(&b, "%s(%zu) %s", i ? "; " : "", i + 1, why->text);
	}
	if (holds == 0)
		mcp_schema_value_given(c, value, " is none of the %zu allowed forms: %s", json_array_size(branches),
				       buf_text(&b));
	else if (just_one && holds > 1)
		mcp_schema_value_given(c, value, " is %zu of the %zu allowed forms at once, expected exactly one",
				       holds, json_array_size(branches));
	buf_fini(&b);
	free(why);
	return just_one ? holds == 1 : holds > 0;
}

static int check_conditions(struct mcp_schema_check *c, const json_t *s, const json_t *value, struct seen *seen)
{
	const json_t *k = json_object_get(s, "if");
	if (k) {
		const json_t *next = json_object_get(s, branch(c, k, value, seen, NULL, 1) ? "then" : "else");
		if (next && !branch(c, next, value, seen, NULL, 0))
			return 0;
	}
	const char *name;
	json_t *schema;
	json_object_foreach(json_object_get(s, "dependentSchemas"), name, schema)
	{
		if (json_object_get(value, name) && !branch(c, schema, value, seen, NULL, 0))
			return 0;
	}
	if ((k = json_object_get(s, "not")) && branch(c, k, value, NULL, NULL, 1))
		return mcp_schema_value_given(c, value, " is just what is not allowed here");
	return 1;
}

static int check_combinations(struct mcp_schema_check *c, const json_t *s, const json_t *value, struct seen *seen)
{
	size_t i;
	json_t *schema;
	const json_t *k;
	if (json_object_get(s, "$ref") && !branch(c, mcp_schema_ref_target(c->s, s), value, seen, NULL, 0))
		return 0;
	json_array_foreach(json_object_get(s, "allOf"), i, schema)
	{
		if (!branch(c, schema, value, seen, NULL, 0))
			return 0;
	}
	if ((k = json_object_get(s, "anyOf")) && !check_some(c, k, value, seen, 0))
		return 0;
	if ((k = json_object_get(s, "oneOf")) && !check_some(c, k, value, seen, 1))
		return 0;
	return check_conditions(c, s, value, seen);
}

/* What nothing else looked at; runs last. */
static int check_rest(struct mcp_schema_check *c, const json_t *s, const json_t *value, struct seen *seen)
{
	const json_t *k = json_object_get(s, "unevaluatedProperties");
	const char *name;
	json_t *member;
	if (k && json_is_object(value)) {
		json_object_foreach(MCP_JSON(value), name, member)
		{
			if (json_object_get(seen->names, name))
				continue;
			if (json_is_false(k) ? !unknown_name(c, s, name) : !check_member(c, k, name, member))
				return 0;
			json_object_set_new(seen->names, name, json_true());
		}
	}
	k = json_object_get(s, "unevaluatedItems");
	for (size_t i = 0; k && i < json_array_size(value); i++) {
		char text[24];
		snprintf(text, sizeof text, "%zu", i);
		if (!json_object_get(seen->items, text) && !check_item(c, k, value, i, seen))
			return 0;
	}
	return 1;
}

static int check_const(struct mcp_schema_check *c, const json_t *only, const json_t *value)
{
	if (mcp_schema_value_equal(only, value))
		return 1;
	struct buf b = BUF_INIT;
	mcp_schema_value_show(&b, only);
	mcp_schema_value_given(c, value, ", must be %s", buf_text(&b));
	buf_fini(&b);
	return 0;
}

static int check_keywords(struct mcp_schema_check *c, const json_t *schema, const json_t *value, struct seen *seen)
{
	const json_t *k;
	const struct mcp_schema_node *s = mcp_schema_node(c->s, schema);
	if ((s->says & MCP_SAYS_TYPE) && !(s->types >> json_typeof(value) & 1) && (k = json_object_get(schema, "type")) &&
	    !mcp_schema_value_type(c, k, value))
		return 0;
	if ((s->says & MCP_SAYS_VALUE) && (k = json_object_get(schema, "enum")) && !mcp_schema_value_enum(c, k, value))
		return 0;
	if ((s->says & MCP_SAYS_VALUE) && (k = json_object_get(schema, "const")) && !check_const(c, k, value))
		return 0;
	if ((s->says & MCP_SAYS_NUMBER) && json_is_number(value) && !mcp_schema_value_number(c, schema, value))
		return 0;
	if ((s->says & MCP_SAYS_STRING) && json_is_string(value) && !mcp_schema_value_string(c, schema, value))
		return 0;
	if ((s->says & MCP_SAYS_ARRAY) && json_is_array(value) && !check_array(c, schema, value, seen))
		return 0;
	if ((s->says & MCP_SAYS_MEMBERS) && json_is_object(value) && !check_members(c, s, value, seen))
		return 0;
	if ((s->says & MCP_SAYS_OBJECT) && json_is_object(value) && !check_object(c, s, value))
		return 0;
	return !(s->says & MCP_SAYS_MORE) || check_combinations(c, schema, value, seen);
}

static int check(struct mcp_schema_check *c, const json_t *schema, const json_t *value, struct seen *seen)
{
	if (json_is_true(schema))
		return 1;
	if (json_is_false(schema))
		return mcp_schema_value_given(c, value, ", nothing is allowed here");
	if (c->depth >= DEPTH_MAX || --*c->steps < 0)
		return mcp_schema_value_wrong(c, "too deep or too much to check");
	c->depth++;
	struct seen own = { NULL, NULL };
	struct seen *use = seen;
	if (use == NULL && c->s->unevaluated) {
		own = (struct seen){ .names = json_object(), .items = json_object() };
		use = &own;
	}
	int good = check_keywords(c, schema, value, use) && (!c->s->unevaluated || check_rest(c, schema, value, use));
	json_decref(own.names);
	json_decref(own.items);
	c->depth--;
	return good;
}

int mcp_schema_check(const struct mcp_schema *schema, const json_t *value, const char *root, struct err *e)
{
	long steps = STEPS_MAX;
	struct err why;
	err_init(&why);
	struct mcp_schema_check c = { .s = schema, .root = root, .e = &why, .steps = &steps };
	int good = check(&c, schema->root, value, NULL);
	if (!good)
		err_set(e, ERR_INPUT, "%s", why.text);
	return good ? 0 : -ERR_INPUT;
}
