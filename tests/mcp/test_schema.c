/* mcp/schema: what conforms, what does not, and the words for it; schemas that do not compile. */
#include "mcp/schema.h"

#include "base/mem.h"
#include "tap.h"

/* Words: a part of the message for a value that does not conform; NULL: it does. */
static const struct {
	const char *schema, *value, *words;
} CASES[] = {
	{ "{\"type\":\"integer\"}", "3", NULL },
	{ "{\"type\":\"integer\"}", "3.0", NULL },
	{ "{\"type\":\"integer\"}", "\"many\"", "v: given \"many\" (string), expected integer" },
	{ "{\"type\":[\"string\",\"null\"]}", "1", "given 1 (integer), expected string or null" },
	{ "{\"enum\":[\"cuda\",\"hip\",\"hlsl\"]}", "\"cudaa\"",
	  "allowed: \"cuda\", \"hip\", \"hlsl\"; did you mean \"cuda\"?" },
	{ "{\"enum\":[1,{\"a\":[1]}]}", "{\"a\":[1.0]}", NULL },
	{ "{\"const\":5}", "6", "given 6, must be 5" },
	{ "{\"minimum\":1,\"maximum\":8}", "9", "must be at most 8" },
	{ "{\"exclusiveMinimum\":1}", "1", "must be more than 1" },
	{ "{\"multipleOf\":0.1}", "0.3", NULL },
	{ "{\"multipleOf\":8}", "12", "must be a multiple of 8" },
	{ "{\"minLength\":2,\"maxLength\":3}", "\"\\u00fc\\u00fc\\u00fc\"", NULL },
	{ "{\"maxLength\":3}", "\"abcd\"", "at most 3 characters" },
	{ "{\"pattern\":\"^\\\\d+$\"}", "\"12a\"", "must match the pattern" },
	{ "{\"pattern\":\"^\\\\d+$\"}", "\"12\\n\"", "must match the pattern" },
	{ "{\"pattern\":\"^(?:a|b)+?\\\\tc(?!d)\"}", "\"ab\\tc\"", NULL },
	{ "{\"pattern\":\"^(?:a|b)+?\\\\tc(?!d)\"}", "\"\\tc\"", "must match the pattern" },
	{ "{\"pattern\":\"^.\\\\u00fc$\"}", "\"\\u00fc\\u00fc\"", NULL },
	{ "{\"pattern\":\"^(((((((((((((a*)+)+)+)+)+)+)+)+)+)+)+)+)+$\"}", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"",
	  "must match the pattern" }, /* hours, for some */
	{ "{\"items\":{\"type\":\"integer\"},\"minItems\":1}", "[1,\"x\"]",
	  "v[1]: given \"x\" (string), expected integer" },
	{ "{\"prefixItems\":[{\"type\":\"string\"}],\"items\":false}", "[\"a\",1]",
	  "v[1]: given 1, nothing is allowed here" },
	{ "{\"uniqueItems\":true}", "[1,2,1.0]", "items 0 and 2 are the same" },
	{ "{\"contains\":{\"const\":1},\"maxContains\":1}", "[1,1]", "expected at most 1" },
	{ "{\"properties\":{\"n\":{\"type\":\"integer\"}},\"additionalProperties\":false}", "{\"m\":1}",
	  "v: unknown field \"m\"; allowed: n" },
	{ "{\"properties\":{\"kernel\":{},\"other\":{}},\"additionalProperties\":false}", "{\"kernl\":1}",
	  "unknown field \"kernl\"; allowed: kernel, other; did you mean \"kernel\"?" },
	{ "{\"properties\":{\"kernel\":{\"description\":\"its name\"}},\"required\":[\"kernel\"]}", "{\"kernal\":1}",
	  "the field \"kernel\" is missing: its name; was it meant by \"kernal\"?" },
	{ "{\"properties\":{\"a\":{\"properties\":{\"b c\":{\"type\":\"string\"}}}}}", "{\"a\":{\"b c\":1}}",
	  "v.a[\"b c\"]: given 1" },
	{ "{\"patternProperties\":{\"^x\":{\"type\":\"integer\"}},\"additionalProperties\":{\"type\":\"string\"}}",
	  "{\"x1\":1,\"y\":2}", "v.y: given 2" },
	{ "{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}", "needed beside \"a\"" },
	{ "{\"propertyNames\":{\"maxLength\":2}}", "{\"abc\":1}", "at most 2 characters" },
	{ "{\"minProperties\":1}", "{}", "has 0 fields" },
	{ "{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":5}]}", "3", "none of the 2 allowed forms: (1) v: given 3" },
	{ "{\"oneOf\":[{\"minimum\":1},{\"minimum\":2}]}", "3", "2 of the 2 allowed forms at once" },
	{ "{\"not\":{\"type\":\"string\"}}", "\"a\"", "not allowed here" },
	{ "{\"if\":{\"required\":[\"a\"]},\"then\":{\"required\":[\"b\"]},\"else\":{\"required\":[\"c\"]}}",
	  "{\"a\":1}", "\"b\" is missing" },
	{ "{\"$defs\":{\"t\":{\"properties\":{\"l\":{\"$ref\":\"#/$defs/"
	  "t\"},\"v\":{\"type\":\"integer\"}}}},\"$ref\":\"#/$defs/t\"}",
	  "{\"l\":{\"l\":{\"v\":\"x\"}}}", "v.l.l.v: given \"x\"" },
	{ "{\"$defs\":{\"a\":{\"$anchor\":\"here\",\"type\":\"null\"}},\"items\":{\"$ref\":\"#here\"}}", "[1]",
	  "expected null" },
	{ "{\"x-places\":{\"t\":{\"type\":\"object\",\"required\":[\"b\"]}},\"$ref\":\"#/x-places/t\"}", "{}",
	  "v: the field \"b\" is missing" }, /* no keyword leads there */
	{ "{\"x-places\":{\"t\":{\"type\":\"integer\"}},\"$ref\":\"#/x-places/t\"}", "3", NULL },
	{ "{\"x-places\":{\"t\":{\"pattern\":\"^a+$\"}},\"$ref\":\"#/x-places/t\"}", "\"aa\"", NULL },
	{ "{\"x-places\":{\"t\":{\"items\":{\"$ref\":\"#/x-places/u\"}},\"u\":{\"type\":\"null\"}},\"$ref\":\"#/x-places/t\"}", "[null, 1]",
	  "v[1]: given 1 (integer), expected null" },
	{ "{\"allOf\":[{\"properties\":{\"a\":{}}}],\"unevaluatedProperties\":false}", "{\"a\":1,\"b\":2}",
	  "unknown field \"b\"" },
	{ "{\"anyOf\":[{\"prefixItems\":[true]}],\"unevaluatedItems\":false}", "[1,2]", "v[1]: given 2" },
	{ "{\"format\":\"email\"}", "\"not one\"", NULL },
	{ "{\"$ref\":\"#\"}", "1", "too deep" },
	{ "false", "1", "nothing is allowed" },
};

static void test_cases(void)
{
	for (size_t i = 0; i < MEM_COUNT(CASES); i++) {
		struct err e = ERR_INIT;
		struct mcp_schema *s = NULL;
		json_t *schema = json_loads(CASES[i].schema, JSON_DECODE_ANY, NULL);
		json_t *value = json_loads(CASES[i].value, JSON_DECODE_ANY, NULL);
		ok(schema && value && mcp_schema_new(schema, "schema", &s, &e) == 0, "%s compiles %s", CASES[i].schema,
		   e.text);
		json_decref(schema); /* the compiled one does not need it */
		int rc = s ? mcp_schema_check(s, value, "v", &e) : 0;
		if (CASES[i].words == NULL)
			is_int(rc, 0, "%s conforms %s", CASES[i].value, e.text);
		else
			has_str(rc < 0 ? e.text : "it conforms", CASES[i].words, "%s does not conform", CASES[i].value);
		mcp_schema_free(s);
		json_decref(value);
	}
}

static const struct {
	const char *schema, *words;
} BROKEN[] = {
	{ "{\"type\":\"int\"}", "schema/type: \"type\" must be" },
	{ "{\"type\":[\"string\",7]}", "schema/type: \"type\" must be" },
	{ "{\"x-places\":{\"t\":{\"type\":[7]}},\"$ref\":\"#/x-places/t\"}", "schema#/x-places/t/type: \"type\" must be" },
	{ "{\"x-places\":{\"t\":{\"properties\":{\"a\":{\"required\":3}}}},\"$ref\":\"#/x-places/t\"}",
	  "must be an array of strings" },
	{ "{\"properties\":[]}", "must be an object of schemas" },
	{ "{\"properties\":{\"a\":1}}", "a schema must be an object, true or false" },
	{ "{\"required\":[1]}", "must be an array of strings" },
	{ "{\"pattern\":\"(\"}", "cannot be compiled" },
	{ "{\"pattern\":\"a++++++++++++++++++++\"}", "cannot be compiled" },
	{ "{\"pattern\":\"((a{99}){99}){99}\"}", "too large" },
	{ "{\"minLength\":-1}", "must be a count" },
	{ "{\"$ref\":\"http://example.com/other.json\"}", "never fetched" },
	{ "{\"$ref\":\"#/$defs/none\"}", "names nothing" },
	{ "{\"$schema\":\"http://json-schema.org/draft-07/schema#\"}", "is not supported" },
	{ "{\"$dynamicRef\":\"#a\"}", "use $ref" },
	{ "{\"anyOf\":[]}", "a non-empty array" },
	{ "[]", "a schema must be" },
};

static void test_broken(void)
{
	for (size_t i = 0; i < MEM_COUNT(BROKEN); i++) {
		struct err e = ERR_INIT;
		struct mcp_schema *s = NULL;
		json_t *schema = json_loads(BROKEN[i].schema, JSON_DECODE_ANY, NULL);
		int rc = mcp_schema_new(schema, "schema", &s, &e);
		has_str(rc < 0 ? e.text : "it compiles", BROKEN[i].words, "%s does not compile", BROKEN[i].schema);
		json_decref(schema);
	}
}

/* A schema that doubles its work at each level must not take for ever. */
static void test_bounded(void)
{
	json_t *schema = json_pack("{s:s}", "type", "string");
	for (int i = 0; i < 40; i++) {
		json_t *copy = json_deep_copy(schema);
		schema = i < 10 ? json_pack("{s:[o, o]}", "allOf", schema, copy) : (json_decref(copy), schema);
	}
	struct err e = ERR_INIT;
	struct mcp_schema *s = NULL;
	is_int(mcp_schema_new(schema, "schema", &s, &e), 0, "a wide schema compiles %s", e.text);
	mcp_schema_free(s);
	json_decref(schema);
	s = NULL;
	schema = json_loads("{\"$defs\":{\"a\":{\"allOf\":[{\"items\":{\"$ref\":\"#/$defs/"
			    "a\"}},{\"items\":{\"$ref\":\"#/$defs/a\"}}]}},"
			    "\"$ref\":\"#/$defs/a\"}",
			    0, NULL);
	is_int(mcp_schema_new(schema, "schema", &s, &e), 0, "a doubling schema compiles %s", e.text);
	json_t *value = json_integer(1);
	for (int i = 0; i < 40; i++)
		value = json_pack("[o]", value);
	has_str(mcp_schema_check(s, value, "v", &e) < 0 ? e.text : "", "too", "its work is bounded");
	mcp_schema_free(s);
	json_decref(schema);
	json_decref(value);
}

int main(void)
{
	test_cases();
	test_broken();
	test_bounded();
	return tap_done();
}
