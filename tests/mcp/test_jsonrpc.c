/* mcp/jsonrpc: what is a message and what is not; how messages are written. */
#include "mcp/jsonrpc.h"

#include "base/mem.h"
#include "tap.h"

enum { DEPTH = 8 };

static const struct {
	const char *text;
	int kind, code; /* enum mcp_jsonrpc_kind, or -1 and the code */
	const char *id; /* as JSON; NULL: none */
} MESSAGES[] = {
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}", MCP_REQUEST, 0, "1" },
	{ " {\"method\":\"a\",\"id\":\"x\",\"jsonrpc\":\"2.0\",\"params\":{}} ", MCP_REQUEST, 0, "\"x\"" },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}", MCP_NOTIFICATION, 0, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", MCP_RESPONSE, 0, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"\"}}", MCP_RESPONSE, 0, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}", -1, MCP_INVALID_REQUEST, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1}", -1, MCP_INVALID_REQUEST, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"result\":{}}", -1, MCP_INVALID_REQUEST, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"a\"}", -1, MCP_INVALID_REQUEST, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"a\"}", -1, MCP_INVALID_REQUEST, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"a\"}", -1, MCP_INVALID_REQUEST, NULL },
	{ "{\"id\":1,\"method\":\"a\"}", -1, MCP_INVALID_REQUEST, "1" },
	{ "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"a\"}", -1, MCP_INVALID_REQUEST, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", -1, MCP_INVALID_REQUEST, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\",\"params\":{\"seed\":9223372036854775808}}", -1, MCP_INVALID_PARAMS,
	  "7" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":[1]}", -1, MCP_INVALID_PARAMS, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":null}", -1, MCP_INVALID_PARAMS, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"a\"}", -1, MCP_PARSE_ERROR, NULL },
	{ "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}]", -1, MCP_INVALID_REQUEST, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999,\"method\":\"a\"}", -1, MCP_PARSE_ERROR, NULL },
	{ "\"text\"", -1, MCP_INVALID_REQUEST, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"} x", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":01,\"method\":\"a\"}", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0041\\ud83d\\ude00\\n\",\"method\":\"a\"}", MCP_REQUEST, 0,
	  "\"A\xf0\x9f\x98\x80\\n\"" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":\"\\ud83d\",\"method\":\"a\"}", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0000\",\"method\":\"a\"}", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":\"\n\",\"method\":\"a\"}", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":\"\xed\xa0\x80\",\"method\":\"a\"}", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",}", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"\\u0069d\":2,\"method\":\"a\"}", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"x\":1,\"id\":1,\"method\":\"a\",\"y\":{}}", MCP_REQUEST, 0, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"x\":1,\"id\":1,\"method\":\"a\",\"x\":1}", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"x\":{\"b\":1,\"c\":2,\"b\":3}}}", -1, MCP_PARSE_ERROR,
	  NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":true}", -1, MCP_INVALID_PARAMS, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"name\":1,\"x\":2,\"n\\u0061me\":3}}", -1, MCP_PARSE_ERROR,
	  NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{},\"params\":{}}", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"x\":1,\"y\":2,\"x\":3}}", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":{\"x\":1,\"x\":2}}}", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":{\"progressToken\":1,"
	  "\"progressToken\":1}}}",
	  -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":7,\"progressToken\":1,\"x\":{}}}", MCP_REQUEST, 0,
	  "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":{\"x\":1}", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\" {}}", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":123456789012345678,\"method\":\"a\"}", MCP_REQUEST, 0, "123456789012345678" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1234567890123456789,\"method\":\"a\"}", MCP_REQUEST, 0, "1234567890123456789" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"a\"}", MCP_REQUEST, 0, "0" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":-1 ,\"method\":\"a\"}", MCP_REQUEST, 0, "-1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1a,\"method\":\"a\"}", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"id\":1", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"metho\":\"a\",\"methods\":\"a\"}", -1, MCP_INVALID_REQUEST, "1" },
	{ "", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1152921504606846976,\"method\":\"a\"}", MCP_REQUEST, 0, "1152921504606846976" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"x\":[[[[[[]]]]]]}}", MCP_REQUEST, 0, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"x\":[[[[[[[]]]]]]]}}", -1, MCP_INVALID_REQUEST, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"[[[[[[[[[\\\"[[[[\"}", MCP_REQUEST, 0, "1" },
};

static void test_parse(void)
{
	for (size_t i = 0; i < MEM_COUNT(MESSAGES); i++) {
		struct mcp_jsonrpc m;
		struct err e = ERR_INIT;
		int code = 0;
		int rc = mcp_jsonrpc_parse(MESSAGES[i].text, strlen(MESSAGES[i].text), DEPTH, &m, &code, &e);
		is_int(rc < 0 ? -1 : (int)m.kind, MESSAGES[i].kind, "%.70s", MESSAGES[i].text);
		is_int(code, MESSAGES[i].code, "its code %s", e.text);
		char *id = m.id ? json_dumps(m.id, JSON_ENCODE_ANY) : mem_str("none");
		is_str(id, MESSAGES[i].id ? MESSAGES[i].id : "none", "its id");
		free(id);
		mcp_jsonrpc_fini(&m);
	}
}

/* The text of a message, as a test's name wants it; frees it. */
static void says(char *take_text, const char *want, const char *what)
{
	is_str(take_text, want, "%s", what);
	free(take_text);
}

static void test_write(void)
{
	json_t *id = json_string("a\"b"), *value = json_pack("{s:f, s:[i, n]}", "x", 0.27, "y", 1);
	says(mcp_jsonrpc_result(id, value), "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"b\",\"result\":{\"x\":0.27,\"y\":[1,null]}}",
	     "a result is one line, with numbers as people write them");
	says(mcp_jsonrpc_error(NULL, MCP_PARSE_ERROR, "two\nlines", value),
	     "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"two\\nlines\",\"data\":{\"x\":0.27,\"y\":[1,null]}}}",
	     "an error may have no id");
	says(mcp_jsonrpc_error(id, 1,
			       "a\xff"
			       "b",
			       NULL),
	     "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"b\",\"error\":{\"code\":1,\"message\":\"a?b\"}}",
	     "a message that is not UTF-8 does not break the answer");
	says(mcp_jsonrpc_notification("n", NULL), "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}", "a notification has no id");
	says(mcp_jsonrpc_request(id, "m", value),
	     "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"b\",\"method\":\"m\",\"params\":{\"x\":0.27,\"y\":[1,null]}}",
	     "a request has all");
	json_decref(id);
	json_decref(value);
}

/* What is written reads back the same. */
static void test_values(void)
{
	static const char *const VALUES[] = {
		"{\"a\":[1,-2,true,false,null,\"\"],\"b\":{}}",
		"\"q\\\"b\\\\n\\nt\\tu\\u0001\"",
		"\"h\xc3\xbc\xe2\x80\xa6\"",
		"1.0",
		"0.5",
		"1e100",
		"1152921504606846976",
		"9007199254740993",
		"-9223372036854775808",
		"[]",
		"[[],{}]",
	};
	for (size_t i = 0; i < MEM_COUNT(VALUES); i++) {
		json_t *value = json_loads(VALUES[i], JSON_DECODE_ANY, NULL);
		says(mcp_jsonrpc_text(value), VALUES[i], VALUES[i]);
		json_decref(value);
	}
}

int main(void)
{
	test_values();
	test_parse();
	test_write();
	return tap_done();
}
