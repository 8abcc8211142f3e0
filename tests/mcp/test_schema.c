/* mcp/schema: what conforms, what does not, and the words for it; schemas that are refused. */
#include "mcp/schema.h"

#include "base/mem.h"
#include "tap.h"

/* Words: a part of the message for a value that does not conform; NULL: it does. */
static const struct {
	const char *schema, *value, *words;
} CASES[] = {
	{ "{\"type\":\"integer\"}", "3", NULL },
	{ "{\"type\":\"integer\"}", "3.0", NULL },
	{ "{\"type\":\"integer\"}", "3.5", "v: given 3.5 (number), expected integer" },
	{ "{\"type\":\"integer\"}", "\"many\"", "v: given \"many\" (string), expected integer" },
	{ "{\"type\":\"number\"}", "3", NULL },
	{ "{\"type\":[\"string\",\"null\"]}", "1", "given 1 (integer), expected string or null" },
	{ "{\"type\":[\"string\",\"null\"]}", "null", NULL },
	{ "{\"enum\":[\"cuda\",\"hip\",\"hlsl\"]}", "\"cudaa\"", "allowed: \"cuda\", \"hip\", \"hlsl\"; did you mean \"cuda\"?" },
	{ "{\"enum\":[1,{\"a\":[1]}]}", "{\"a\":[1]}", NULL },
	{ "{\"minimum\":1,\"maximum\":8}", "9", "must be at most 8" },
	{ "{\"minimum\":1,\"maximum\":8}", "8", NULL },
	{ "{\"maximum\":9007199254740992}", "9007199254740993", "must be at most 9007199254740992" },
	{ "{\"maximum\":9007199254740993}", "9007199254740993", NULL },
	{ "{\"exclusiveMinimum\":1}", "1", "must be more than 1" },
	{ "{\"exclusiveMaximum\":1}", "1.5", "must be less than 1" },
	{ "{\"minLength\":2,\"maxLength\":3}", "\"\\u00fc\\u00fc\\u00fc\"", NULL },
	{ "{\"maxLength\":3}", "\"abcd\"", "given \"abcd\", must have at most 3 characters, has 4" },
	{ "{\"items\":{\"type\":\"integer\"},\"minItems\":1}", "[1,\"x\"]", "v[1]: given \"x\" (string), expected integer" },
	{ "{\"minItems\":1}", "[]", "v: it must have at least 1 items, has 0" },
	{ "{\"items\":false}", "[1]", "v[0]: given 1, nothing is allowed here" },
	{ "{\"properties\":{\"n\":{\"type\":\"integer\"}},\"additionalProperties\":false}", "{\"m\":1}",
	  "v: unknown field \"m\"; allowed: n" },
	{ "{\"properties\":{\"kernel\":{},\"other\":{}},\"additionalProperties\":false}", "{\"kernl\":1}",
	  "unknown field \"kernl\"; allowed: kernel, other; did you mean \"kernel\"?" },
	{ "{\"additionalProperties\":false}", "{\"a\":1}", "allowed: none" },
	{ "{\"properties\":{\"a\":{}},\"additionalProperties\":{\"type\":\"string\"}}", "{\"a\":1,\"b\":2}",
	  "v.b: given 2 (integer), expected string" },
	{ "{\"properties\":{\"kernel\":{\"description\":\"its name\"}},\"required\":[\"kernel\"]}", "{\"kernal\":1}",
	  "the field \"kernel\" is missing: its name; did you misspell it as \"kernal\"?" },
	{ "{\"properties\":{\"a\":{\"properties\":{\"b c\":{\"type\":\"string\"}}}}}", "{\"a\":{\"b c\":1}}",
	  "v.a[\"b c\"]: given 1" },
	{ "{\"format\":\"email\",\"x-mcp-header\":\"A\"}", "\"not one\"", NULL },
	{ "true", "1", NULL },
	{ "false", "1", "nothing is allowed" },
};

static void test_cases(void)
{
	for (size_t i = 0; i < MEM_COUNT(CASES); i++) {
		struct err e = ERR_INIT;
		json_t *schema = json_loads(CASES[i].schema, JSON_DECODE_ANY, NULL);
		json_t *value = json_loads(CASES[i].value, JSON_DECODE_ANY, NULL);
		ok(schema && value && mcp_schema_validate(schema, "schema", &e) == 0, "%s is a schema %s", CASES[i].schema, e.text);
		int rc = mcp_schema_check(schema, value, "v", &e);
		if (CASES[i].words == NULL)
			is_int(rc, 0, "%s conforms %s", CASES[i].value, e.text);
		else
			has_str(rc < 0 ? e.text : "it conforms", CASES[i].words, "%s does not conform", CASES[i].value);
		json_decref(schema);
		json_decref(value);
	}
}

static const struct {
	const char *schema, *words;
} BROKEN[] = {
	{ "{\"type\":\"int\"}", "schema/type: must be a type's name" },
	{ "{\"type\":[\"string\",7]}", "schema/type: must be a type's name" },
	{ "{\"type\":[]}", "schema/type: must be a type's name" },
	{ "{\"properties\":[]}", "must be an object of schemas" },
	{ "{\"properties\":{\"a\":1}}", "schema/properties/a: a schema must be an object, true or false" },
	{ "{\"items\":{\"required\":[1]}}", "schema/items/required: must be an array of strings" },
	{ "{\"minLength\":-1}", "must be a count" },
	{ "{\"maximum\":\"1\"}", "must be a number" },
	{ "{\"enum\":[]}", "a non-empty array" },
	{ "{\"properties\":{\"a\":{\"pattern\":\"a\"}}}", "schema/properties/a/pattern: this keyword of JSON Schema is not" },
	{ "{\"$ref\":\"http://example.com/other.json\"}", "is not supported" },
	{ "{\"anyOf\":[true]}", "is not supported" },
	{ "[]", "a schema must be" },
};

static void test_broken(void)
{
	for (size_t i = 0; i < MEM_COUNT(BROKEN); i++) {
		struct err e = ERR_INIT;
		json_t *schema = json_loads(BROKEN[i].schema, JSON_DECODE_ANY, NULL);
		int rc = mcp_schema_validate(schema, "schema", &e);
		has_str(rc < 0 ? e.text : "it is accepted", BROKEN[i].words, "%s is refused", BROKEN[i].schema);
		json_decref(schema);
	}
	json_t *deep = json_object();
	for (int i = 0; i < 100; i++)
		deep = json_pack("{s:o}", "items", deep);
	struct err e = ERR_INIT;
	has_str(mcp_schema_validate(deep, "schema", &e) < 0 ? e.text : "", "64 levels", "a schema's depth is bounded");
	json_decref(deep);
}

int main(void)
{
	test_cases();
	test_broken();
	return tap_done();
}
