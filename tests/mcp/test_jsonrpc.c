/* mcp/jsonrpc: what is a message and what is not; how messages are written. */
#include "mcp/jsonrpc.h"

#include "base/mem.h"
#include "mcp/parse.h"
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
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"x\":{\"b\":1,\"c\":2,\"b\":3}}}", -1,
	  MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":true}", -1, MCP_INVALID_PARAMS, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"name\":1,\"x\":2,\"n\\u0061me\":3}}", -1,
	  MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{},\"params\":{}}", -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"x\":1,\"y\":2,\"x\":3}}", -1, MCP_PARSE_ERROR,
	  NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":{\"x\":1,\"x\":2}}}", -1,
	  MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":{\"progressToken\":1,"
	  "\"progressToken\":1}}}",
	  -1, MCP_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":7,\"progressToken\":1,\"x\":{}}}",
	  MCP_REQUEST, 0, "1" },
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
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"x\":[[[[[[]]]]]]}}", MCP_REQUEST, 0, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"x\":[[[[[[[]]]]]]]}}", -1, MCP_INVALID_REQUEST,
	  NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"[[[[[[[[[\\\"[[[[\"}", MCP_REQUEST, 0, "1" },
};

static void test_parse(void)
{
	for (size_t i = 0; i < MEM_COUNT(MESSAGES); i++) {
		struct mcp_jsonrpc m;
		struct err e = ERR_INIT;
		int code = 0;
		int rc = mcp_jsonrpc_parse(MESSAGES[i].text, strlen(MESSAGES[i].text), DEPTH, NULL, &m, &code, &e);
		is_int(rc < 0 ? -1 : (int)m.kind, MESSAGES[i].kind, "%.70s", MESSAGES[i].text);
		is_int(code, MESSAGES[i].code, "its code %s", e.text);
		char *id = m.id ? json_dumps(m.id, JSON_ENCODE_ANY) : mem_str("none");
		is_str(id, MESSAGES[i].id ? MESSAGES[i].id : "none", "its id");
		free(id);
		mcp_jsonrpc_fini(&m);
	}
}

/* One message after another on the same connection: what their members are, and whether those are the same values. */
static void test_memory(void)
{
#define HEAD "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
#define CLIENT ",\"_meta\":{\"io.modelcontextprotocol/clientInfo\":"
	static const struct {
		const char *text;
		const char *name, *client; /* as JSON; NULL: there is none */
		int same_name, same_client;
	} STEPS[] = {
		{ HEAD "\"a\"" CLIENT "{\"name\":\"x\"}}}}", "\"a\"", "{\"name\":\"x\"}", 0, 0 },
		{ HEAD "\"a\"" CLIENT "{\"name\":\"x\"}}}}", "\"a\"", "{\"name\":\"x\"}", 1, 1 },
		{ HEAD " \"a\" " CLIENT " {\"name\":\"x\"} }}}", "\"a\"", "{\"name\":\"x\"}", 1, 1 },
		{ HEAD "\"ab\"" CLIENT "{\"name\":\"x\",\"v\":1}}}}", "\"ab\"", "{\"name\":\"x\",\"v\":1}", 0, 0 },
		{ HEAD "\"a\"" CLIENT "{\"name\": \"x\"}}}}", "\"a\"", "{\"name\":\"x\"}", 0, 0 },
		{ HEAD "1}}", "1", NULL, 0, 0 },
		{ HEAD "12}}", "12", NULL, 0, 0 },
		{ HEAD "1" CLIENT "{\"name\": \"x\"}}}}", "1", "{\"name\":\"x\"}", 0, 1 },
		{ HEAD "\"a\\\"\"}}", "\"a\\\"\"", NULL, 0, 0 },
		{ HEAD "\"a\"}}", "\"a\"", NULL, 0, 0 },
		{ HEAD "true" CLIENT "[]}}}", "true", "[]", 0, 0 },
	};
	struct mcp_parse_memory memory;
	const json_t *name = NULL, *client = NULL;
	struct mcp_jsonrpc all[MEM_COUNT(STEPS)]; /* kept, so that no address is used twice */
	mcp_parse_memory_init(&memory, MCP_COMMON);
	for (size_t i = 0; i < MEM_COUNT(STEPS); i++) {
		struct err e = ERR_INIT;
		int code;
		struct mcp_jsonrpc *m = &all[i];
		int rc = mcp_jsonrpc_parse(STEPS[i].text, strlen(STEPS[i].text), DEPTH, &memory, m, &code, &e);
		is_int(rc, 0, "%s %s", STEPS[i].text, e.text);
		json_t *got[] = { m->members[MCP_PARAM_NAME], m->members[MCP_META_CLIENT] };
		const char *want[] = { STEPS[i].name, STEPS[i].client };
		for (int k = 0; k < 2; k++) {
			char *text = got[k] ? json_dumps(got[k], JSON_ENCODE_ANY | JSON_COMPACT) : mem_str("none");
			is_str(text, want[k] ? want[k] : "none", "its %s", k ? "clientInfo" : "name");
			free(text);
		}
		is_int(got[0] == name, STEPS[i].same_name, "the name before is %s",
		       STEPS[i].same_name ? "used" : "not used");
		is_int(got[1] && got[1] == client, STEPS[i].same_client, "the clientInfo before is %s",
		       STEPS[i].same_client ? "used" : "not used");
		name = got[0];
		client = got[1] ? got[1] : client;
	}
	mcp_parse_memory_fini(&memory);
	for (size_t i = 0; i < MEM_COUNT(STEPS); i++)
		mcp_jsonrpc_fini(&all[i]);
#undef HEAD
#undef CLIENT
}

static void test_write(void)
{
	struct buf b = BUF_INIT;
	json_t *id = json_string("a\"b"), *value = json_pack("{s:f, s:[i, n]}", "x", 0.27, "y", 1);
	mcp_jsonrpc_add_result(&b, id, value);
	is_str(buf_text(&b), "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"b\",\"result\":{\"x\":0.27,\"y\":[1,null]}}",
	       "a result, on one line, with numbers as people write them");
	buf_clear(&b);
	mcp_jsonrpc_add_error(&b, NULL, MCP_PARSE_ERROR, "two\nlines", value);
	is_str(buf_text(&b),
	       "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"two\\nlines\",\"data\":{\"x\":0.27,\"y\":"
	       "[1,null]}}}",
	       "an error without an id");
	buf_clear(&b);
	mcp_jsonrpc_add_error(&b, id, 1, "\xff", NULL);
	has_str(buf_text(&b), "not UTF-8", "a message that is not text does not break the answer");
	buf_clear(&b);
	mcp_jsonrpc_add_notification(&b, "n", NULL);
	is_str(buf_text(&b), "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}", "a notification");
	json_decref(id);
	json_decref(value);
	buf_fini(&b);
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
		"1e+100",
		"-9223372036854775808",
		"[]",
		"[[],{}]",
	};
	for (size_t i = 0; i < MEM_COUNT(VALUES); i++) {
		struct buf b = BUF_INIT;
		json_t *value = json_loads(VALUES[i], JSON_DECODE_ANY, NULL);
		mcp_jsonrpc_add_json(&b, value);
		is_str(buf_text(&b), VALUES[i], "%s", VALUES[i]);
		json_decref(value);
		buf_fini(&b);
	}
}

/* Every byte at every place of a text: what a plain character is, said the slow way. */
static void test_plain(void)
{
	int wrong = 0;
	for (int c = 0; c < 256; c++) {
		for (size_t at = 0; at < 20; at++) {
			char text[21] = "abcdefghijklmnopqrst";
			text[at] = (char)c;
			size_t want = c < 0x20 || c >= 0x80 || c == '"' || c == '\\' ? at : 20;
			wrong += mcp_parse_plain(text, 20) != want;
		}
	}
	is_int(wrong, 0, "plain characters are told from others, at every place");
}

int main(void)
{
	test_plain();
	test_values();
	test_parse();
	test_memory();
	test_write();
	return tap_done();
}
