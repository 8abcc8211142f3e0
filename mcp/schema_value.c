/* schema_value: single values against single keywords, and the words for what is wrong; see schema_value.h. */
#include "mcp/schema_value.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/suggest.h"
#include "mcp/jsonrpc.h"

enum { SHOWN = 60, LISTED = 20 }; /* bytes of a value, and values of a list, in a message */

/* --- words ------------------------------------------------------------------------------------------------------ */

/* A value for a message: compact, and short. */
void mcp_schema_value_show(struct buf *b, const json_t *value)
{
	struct buf text = BUF_INIT;
	mcp_jsonrpc_add_json(&text, value);
	size_t n = text.len;
	if (n > SHOWN) {
		n = SHOWN;
		while (n > 0 && ((unsigned char)text.data[n] & 0xC0) == 0x80)
			n--;
	}
	buf_add(b, buf_text(&text), n);
	if (n < text.len)
		buf_adds(b, "…");
	buf_fini(&text);
}

/* "arguments.a[3]" */
static void add_path(struct buf *b, const struct mcp_schema_check *c, const struct mcp_schema_step *at)
{
	if (at == NULL) {
		buf_adds(b, c->root);
		return;
	}
	add_path(b, c, at->up);
	if (at->name == NULL)
		buf_addf(b, "[%zu]", at->index);
	else if (at->name[0] && at->name[strcspn(at->name, ".[]\" ")] == '\0')
		buf_addf(b, ".%s", at->name);
	else
		buf_addf(b, "[\"%s\"]", at->name);
}

int mcp_schema_value_wrong(struct mcp_schema_check *c, const char *fmt, ...)
{
	if (c->e == NULL)
		return 0;
	struct buf b = BUF_INIT;
	add_path(&b, c, c->at);
	buf_adds(&b, ": ");
	va_list ap;
	va_start(ap, fmt);
	buf_addv(&b, fmt, ap);
	va_end(ap);
	err_set(c->e, ERR_INPUT, "%s", buf_text(&b));
	buf_fini(&b);
	return 0;
}

/* "given VALUE, expected …" */
int mcp_schema_value_given(struct mcp_schema_check *c, const json_t *value, const char *fmt, ...)
{
	if (c->e == NULL)
		return 0;
	struct buf b = BUF_INIT;
	buf_adds(&b, "given ");
	mcp_schema_value_show(&b, value);
	va_list ap;
	va_start(ap, fmt);
	buf_addv(&b, fmt, ap);
	va_end(ap);
	mcp_schema_value_wrong(c, "%s", buf_text(&b));
	buf_fini(&b);
	return 0;
}

/* --- values ----------------------------------------------------------------------------------------------------- */

/* Equality as JSON Schema wants it: 1 and 1.0 are the same. */
int mcp_schema_value_equal(const json_t *a, const json_t *b)
{
	const char *key;
	json_t *value;
	size_t i;
	if (json_is_number(a) && json_is_number(b))
		return json_is_integer(a) && json_is_integer(b) ? json_integer_value(a) == json_integer_value(b)
								: json_number_value(a) == json_number_value(b);
	if (json_typeof(a) != json_typeof(b) || json_object_size(a) != json_object_size(b) ||
	    json_array_size(a) != json_array_size(b))
		return 0;
	json_object_foreach(MCP_JSON(a), key, value)
	{
		const json_t *other = json_object_get(b, key);
		if (other == NULL || !mcp_schema_value_equal(value, other))
			return 0;
	}
	json_array_foreach(a, i, value)
	{
		if (!mcp_schema_value_equal(value, json_array_get(b, i)))
			return 0;
	}
	return json_is_object(a) || json_is_array(a) || json_equal(a, b);
}

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

static int is_type(const json_t *value, const char *type)
{
	if (strcmp(type, "number") == 0)
		return json_is_number(value);
	if (strcmp(type, "integer") == 0 && json_is_real(value))
		return floor(json_real_value(value)) == json_real_value(value);
	return strcmp(type, type_name(value)) == 0;
}

int mcp_schema_value_type(struct mcp_schema_check *c, const json_t *type, const json_t *value)
{
	size_t i;
	json_t *one;
	struct buf b = BUF_INIT;
	if (json_is_string(type))
		return is_type(value, json_string_value(type)) ||
		       mcp_schema_value_given(c, value, " (%s), expected %s", type_name(value),
					      json_string_value(type));
	json_array_foreach(type, i, one)
	{
		if (is_type(value, json_string_value(one))) {
			buf_fini(&b);
			return 1;
		}
		buf_addf(&b, "%s%s", i ? " or " : "", json_string_value(one));
	}
	mcp_schema_value_given(c, value, " (%s), expected %s", type_name(value), buf_text(&b));
	buf_fini(&b);
	return 0;
}

int mcp_schema_value_enum(struct mcp_schema_check *c, const json_t *allowed, const json_t *value)
{
	size_t i;
	json_t *one;
	struct buf b = BUF_INIT;
	const char *text = json_string_value(value);
	struct suggest near;
	suggest_init(&near, text ? text : "");
	json_array_foreach(allowed, i, one)
	{
		if (mcp_schema_value_equal(one, value)) {
			buf_fini(&b);
			return 1;
		}
		if (text && json_is_string(one))
			suggest_offer(&near, json_string_value(one));
		if (i < LISTED) {
			buf_adds(&b, i ? ", " : "");
			mcp_schema_value_show(&b, one);
		} else if (i == LISTED) {
			buf_adds(&b, ", …");
		}
	}
	const char *best = text ? suggest_best(&near) : NULL;
	mcp_schema_value_given(c, value, ", allowed: %s%s%s%s", buf_text(&b), best ? "; did you mean \"" : "",
			       best ? best : "", best ? "\"?" : "");
	buf_fini(&b);
	return 0;
}

int mcp_schema_value_number(struct mcp_schema_check *c, const json_t *s, const json_t *value)
{
	double v = json_number_value(value);
	const json_t *k;
	if ((k = json_object_get(s, "minimum")) && v < json_number_value(k))
		return mcp_schema_value_given(c, value, ", must be at least %.15g", json_number_value(k));
	if ((k = json_object_get(s, "maximum")) && v > json_number_value(k))
		return mcp_schema_value_given(c, value, ", must be at most %.15g", json_number_value(k));
	if ((k = json_object_get(s, "exclusiveMinimum")) && v <= json_number_value(k))
		return mcp_schema_value_given(c, value, ", must be more than %.15g", json_number_value(k));
	if ((k = json_object_get(s, "exclusiveMaximum")) && v >= json_number_value(k))
		return mcp_schema_value_given(c, value, ", must be less than %.15g", json_number_value(k));
	if ((k = json_object_get(s, "multipleOf")) && json_number_value(k) > 0) {
		double q = v / json_number_value(k);
		if (!(fabs(q - round(q)) <= 1e-9 * fmax(1, fabs(q)))) /* also catches an infinite quotient */
			return mcp_schema_value_given(c, value, ", must be a multiple of %.15g", json_number_value(k));
	}
	return 1;
}

static size_t code_points(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += ((unsigned char)*text & 0xC0) != 0x80;
	return n;
}

int mcp_schema_value_string(struct mcp_schema_check *c, const json_t *s, const json_t *value)
{
	const json_t *k;
	const char *text = json_string_value(value);
	if ((k = json_object_get(s, "minLength")) && code_points(text) < (size_t)json_number_value(k))
		return mcp_schema_value_given(c, value, ", must have at least %.0f characters", json_number_value(k));
	if ((k = json_object_get(s, "maxLength")) && code_points(text) > (size_t)json_number_value(k))
		return mcp_schema_value_given(c, value, ", must have at most %.0f characters", json_number_value(k));
	if ((k = json_object_get(s, "pattern")) && !mcp_schema_matches(c->s, json_string_value(k), text))
		return mcp_schema_value_given(c, value, ", must match the pattern %s", json_string_value(k));
	return 1;
}
