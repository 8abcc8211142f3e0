/* mcp/stdio, legacy era: initialize, list, call, bad input, the end of the input. */
#include "mcp/stdio.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "base/mem.h"
#include "pace.h"
#include "peer.h"
#include "tap.h"

static const struct mcp_done *echo(struct mcp_call *call)
{
	const char *text = json_string_value(json_object_get(mcp_call_arguments(call), "text"));
	return mcp_call_reply(call, json_pack("{s:s}", "text", text), "%s", text);
}

/* Pending until cancelled, then answered by another thread: here by the test through *held. */
static const struct mcp_done *hold(struct mcp_call *call)
{
	_Atomic(struct mcp_call *) *held = mcp_call_user(call);
	*held = mcp_call_ref(call);
	return mcp_call_pending(call);
}

static const struct mcp_tool TOOLS[] = {
	{ .name = "echo",
	  .title = "Echo",
	  .description = "Says it again.",
	  .handler = echo,
	  .flags = MCP_TOOL_READ_ONLY,
	  .input_schema = "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"],"
			  "\"additionalProperties\":false}",
	  .output_schema = "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}}" },
	{ .name = "hold", .description = "Waits.", .handler = hold },
	{ .name = NULL },
};

#define INITIALIZE                                                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"                                 \
	"\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"

static void test_talk(struct mcp_server *server)
{
	struct peer p;
	peer_open(&p, server);
	json_t *m = peer_ask(&p, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"tools/list\"}");
	is_str(at(m, "error.code"), "-32600", "a request before initialize is refused");
	json_decref(m);
	m = peer_ask(&p, INITIALIZE);
	is_str(at(m, "result.protocolVersion"), "2025-06-18", "initialize agrees to the revision");
	is_str(at(m, "result.serverInfo.name"), "test", "initialize names the server");
	json_decref(m);
	peer_send(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
	m = peer_ask(&p, "{\"jsonrpc\":\"2.0\",\"id\":\"two\",\"method\":\"tools/list\"}");
	is_str(at(m, "id"), "two", "string ids come back as strings");
	is_str(at(m, "result.tools.0.name"), "echo", "tools are listed in order");
	is_str(at(m, "result.tools.0.annotations.readOnlyHint"), "true", "tools are listed with annotations");
	is_str(at(m, "result.resultType"), "(none)", "a session's results have no resultType");
	json_decref(m);
	m = peer_ask(&p, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
			 "\"arguments\":{\"text\":\"h\\u00fc\"}}}");
	is_str(at(m, "result.content.0.text"), "hü", "a call answers with text");
	is_str(at(m, "result.structuredContent.text"), "hü", "a call answers with structured content");
	json_decref(m);
	m = peer_ask(&p, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
			 "\"arguments\":{\"txt\":\"a\"}}}");
	is_str(at(m, "result.isError"), "true", "wrong arguments are a tool error");
	has_str(at(m, "result.content.0.text"), "did you mean \"text\"?", "a tool error suggests the nearest field");
	json_decref(m);
	m = peer_ask(&p, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"ecko\"}}");
	is_str(at(m, "error.code"), "-32602", "an unknown tool is a protocol error");
	has_str(at(m, "error.message"), "\"echo\"", "the error suggests the nearest tool");
	json_decref(m);
	m = peer_ask(&p, "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\"}");
	is_str(at(m, "result"), "{}", "ping is answered");
	json_decref(m);
	peer_close(&p);
	is_int(p.rc, 0, "the end of the input is no error");
}

static void test_bad_input(struct mcp_server *server)
{
	static const struct {
		const char *text, *code, *id;
	} BAD[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1", "-32700", "(none)" },
		{ "[]", "-32600", "(none)" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", "-32600", "(none)" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", "-32600", "(none)" },
		{ "{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"ping\"}", "-32600", "7" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\",\"params\":[]}", "-32602", "8" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"nothing\"}", "-32601", "9" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"tools/call\"}", "-32602", "10" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":11,\"method\":\"tools/list\",\"params\":{\"cursor\":\"x\"}}", "-32602", "11" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":12,\"method\":\"ping\",\"params\":{\"a\":[[[[[[[[[[1]]]]]]]]]]}}", "-32600",
		  "(none)" },
	};
	struct peer p;
	peer_open(&p, server);
	json_decref(peer_ask(&p, INITIALIZE));
	for (size_t i = 0; i < MEM_COUNT(BAD); i++) {
		json_t *m = peer_ask(&p, BAD[i].text);
		is_str(at(m, "error.code"), BAD[i].code, "code for %s", BAD[i].text);
		is_str(at(m, "id"), BAD[i].id, "its id");
		json_decref(m);
	}
	char *big = mem_new(70000, 1);
	memset(big, 'x', 69999);
	json_t *m = peer_ask(&p, big);
	has_str(at(m, "error.message"), "longer than", "a line that is too long is refused");
	json_decref(m);
	free(big);
	m = peer_ask(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
	is_str(at(m, "id"), "1", "the line after a refused one is served");
	json_decref(m);
	peer_close(&p);
}

static void note_cancel(void *arg)
{
	++*(_Atomic int *)arg;
}

static void test_pending(struct mcp_server *server, _Atomic(struct mcp_call *) *held)
{
	struct peer p;
	_Atomic int cancels = 0;
	peer_open(&p, server);
	json_decref(peer_ask(&p, INITIALIZE));
	peer_send(&p, "{\"jsonrpc\":\"2.0\",\"id\":\"h\",\"method\":\"tools/call\",\"params\":{\"name\":\"hold\","
		      "\"_meta\":{\"progressToken\":7}}}");
	while (*held == NULL)
		clock_sleep(CLOCK_MS);
	mcp_call_progress(*held, 1, 3, "one");
	mcp_call_progress(*held, 1, 3, "again");
	mcp_call_progress(*held, 2, 0, NULL);
	json_t *m = peer_read(&p, 60000);
	is_str(at(m, "params.progressToken"), "7", "progress carries the client's token");
	is_str(at(m, "params.total"), "3", "progress carries the total");
	json_decref(m);
	m = peer_read(&p, 60000);
	is_str(at(m, "params.progress"), "2", "progress that does not increase is dropped");
	json_decref(m);
	mcp_call_was_pending(mcp_call_reply(*held, NULL, "done"));
	mcp_call_progress(*held, 3, 3, NULL);
	m = peer_read(&p, 60000);
	is_str(at(m, "result.content.0.text"), "done", "a pending call is answered later");
	json_decref(m);
	mcp_call_unref(*held);
	*held = NULL;
	ok(peer_read(&p, 50) == NULL, "no progress follows an answer");

	peer_send(&p, "{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":\"tools/call\",\"params\":{\"name\":\"hold\"}}");
	while (*held == NULL)
		clock_sleep(CLOCK_MS);
	mcp_call_on_cancel(*held, note_cancel, &cancels);
	peer_send(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"c\"}}");
	PACE_WAIT(cancels > 0);
	is_int(mcp_call_cancelled(*held), MCP_CANCEL_ASKED, "a cancelled call hears of it, and that the client asked");
	mcp_call_was_pending(mcp_call_reply(*held, NULL, "late"));
	is_int(cancels, 1, "the cancel callback runs once");
	mcp_call_unref(*held);
	*held = NULL;
	ok(peer_read(&p, 50) == NULL, "a cancelled call sends nothing");

	peer_send(&p, "{\"jsonrpc\":\"2.0\",\"id\":\"d\",\"method\":\"tools/call\",\"params\":{\"name\":\"hold\"}}");
	while (*held == NULL)
		clock_sleep(CLOCK_MS);
	mcp_call_unref(*held);
	*held = NULL;
	m = peer_read(&p, 60000);
	is_str(at(m, "error.code"), "-32603", "a call whose owner dropped it answers with an error");
	json_decref(m);
	peer_close(&p);
}

/* A reader that never reads: the end comes all the same, and nobody else is held up. */
static void test_deaf(struct mcp_server *server)
{
	struct peer p, other;
	struct buf b = BUF_INIT;
	peer_open(&p, server);
	peer_open(&other, server);
	buf_adds(&b, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/"
		     "call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"");
	for (int i = 0; i < 60000; i++)
		buf_addc(&b, 'x');
	buf_adds(&b, "\"}}}");
	peer_send(&p, INITIALIZE);
	for (int i = 0; i < 50; i++)
		peer_send(&p, buf_text(&b));
	json_t *m = peer_ask(&other, INITIALIZE);
	is_str(at(m, "id"), "1", "a client that never reads does not hold up another");
	json_decref(m);
	peer_close(&other);
	struct pace pace = pace_begin();
	peer_close(&p);
	ok(pace_within(&pace, 6 * CLOCK_S), "a client that never reads does not hold up the end (%s)", pace_text(&pace));
	buf_fini(&b);
}

int main(void)
{
	_Atomic(struct mcp_call *) held = NULL;
	struct mcp_server_config config = {
		.name = "test", .version = "1", .tools = TOOLS, .user = (void *)&held, .max_message = 65536, .max_depth = 10
	};
	struct mcp_server *server;
	struct err e = ERR_INIT;
	is_int(mcp_server_new(&config, &server, &e), 0, "the server starts %s", e.text);
	test_talk(server);
	test_bad_input(server);
	test_pending(server, &held);
	test_deaf(server);
	mcp_server_free(server);
	return tap_done();
}
