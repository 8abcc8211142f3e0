/* mcp/http over real sockets: who may come in, statuses, both eras, streams that are closed, resumed and kept alive. */
#include "mcp/http.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http_client.h"
#include "pace.h"
#include "peer.h"
#include "tap.h"

/* What the tool "hold" shares with the test. */
struct world {
	_Atomic(struct mcp_call *) held;
	_Atomic int cancels;
	_Atomic int why; /* enum mcp_cancel */
};

static void note_cancel(void *arg)
{
	struct world *w = arg;
	w->why = (int)mcp_call_cancelled(w->held);
	w->cancels++;
}

static const struct mcp_done *hold(struct mcp_call *call)
{
	struct world *w = mcp_call_user(call);
	w->held = mcp_call_ref(call);
	mcp_call_on_cancel(call, note_cancel, w);
	return mcp_call_pending(call);
}

static const struct mcp_done *echo(struct mcp_call *call)
{
	return mcp_call_reply(call, NULL, "%s", json_string_value(json_object_get(mcp_call_arguments(call), "text")));
}

static const struct mcp_done *leave(struct mcp_call *call)
{
	mcp_call_close_stream(call, 10);
	return mcp_call_reply(call, NULL, "after");
}

static const struct mcp_tool TOOLS[] = {
	{ .name = "hold", .description = "Waits.", .handler = hold },
	{ .name = "task", .description = "Is a task.", .handler = hold, .flags = MCP_TOOL_TASK_ONLY },
	{ .name = "leave", .description = "Closes its stream.", .handler = leave },
	{ .name = "echo",
	  .description = "Echoes.",
	  .handler = echo,
	  .input_schema = "{\"type\":\"object\",\"properties\":"
			  "{\"text\":{\"type\":\"string\",\"x-mcp-header\":\"Text\"}},\"required\":[\"text\"]}" },
	{ .name = NULL },
};

#define LEGACY_INIT                                                                                                                \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","                  \
	"\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"
#define MODERN(id, method, params)                                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params MODERN_META "}}"
#define MODERN_HEADERS(method) "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " method "\r\n"
#define CALL_HEADERS(tool) MODERN_HEADERS("tools/call") "Mcp-Name: " tool "\r\n"

/* "Mcp-Session-Id: …\r\n" of a new session. */
static char *new_session(int port)
{
	const char *answer = ask(port, "POST", "/mcp", "", LEGACY_INIT), *at = strstr(answer, "Mcp-Session-Id: ");
	return at ? mem_strn(at, (size_t)(strchr(at, '\n') + 1 - at)) : mem_str("Mcp-Session-Id: none\r\n");
}

/* Waits for the tool's call. */
static struct mcp_call *held(struct world *w)
{
	PACE_WAIT(w->held != NULL);
	return w->held;
}

static void let_go(struct world *w)
{
	mcp_call_was_pending(mcp_call_reply(w->held, NULL, "done"));
	mcp_call_unref(w->held);
	w->held = NULL;
}

static int soon(_Atomic int *value, int want)
{
	PACE_WAIT(*value == want);
	return *value;
}

/* --- who may come in -------------------------------------------------------------------------------------------- */

static void test_door(int port)
{
	static const struct {
		const char *method, *path, *headers, *body;
		int status;
	} DOOR[] = {
		{ "GET", "/", "", "", 404 },
		{ "GET", "/healthz", "", "", 200 },
		{ "HEAD", "/healthz", "", "", 200 },
		{ "POST", "/healthz", "", "{}", 404 },
		{ "PUT", "/mcp", "", "{}", 405 },
		{ "GET", "/mcp", "", "", 405 },
		{ "DELETE", "/mcp", "", "", 405 },
		{ "GET", "/mcp", "MCP-Protocol-Version: 2025-06-18\r\n", "", 400 },
		{ "GET", "/mcp", "MCP-Protocol-Version: 2026-07-28\r\nMcp-Session-Id: x\r\n", "", 405 },
		{ "POST", "/mcp", "Host: evil.example\r\n", LEGACY_INIT, 421 },
		{ "POST", "/mcp", "Host: 127.0.0.1:99\r\nOrigin: http://localhost:3000\r\n", LEGACY_INIT, 200 },
		{ "POST", "/mcp", "Host: [::1]\r\n", LEGACY_INIT, 200 },
		{ "POST", "/mcp", "Origin: http://evil.example\r\n", LEGACY_INIT, 403 },
		{ "POST", "/mcp", "Origin: null\r\n", LEGACY_INIT, 403 },
		{ "POST", "/mcp", "Origin: http://localhost.evil.example\r\n", LEGACY_INIT, 403 },
		{ "POST", "/mcp", "Content-Type: text/plain\r\n", LEGACY_INIT, 415 },
		{ "POST", "/mcp", "Content-Type: application/json; charset=utf-8\r\n", LEGACY_INIT, 200 },
		{ "POST", "/mcp", "Accept: text/html\r\n", LEGACY_INIT, 406 },
		{ "POST", "/mcp", "", "{", 400 },
		{ "POST", "/mcp", "", "[]", 400 },
		{ "POST", "/mcp", "", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", 400 },
		{ "POST", "/mcp", "Mcp-Session-Id: 123\r\n", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", 404 },
		{ "POST", "/mcp", "", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", 202 },
		{ "POST", "/mcp", "Mcp-Session-Id: 1\r\nMcp-Session-Id: 2\r\n", LEGACY_INIT, 400 },
		{ "POST", "/mcp", "Origin: http://localhost\r\nOrigin: http://localhost\r\n", LEGACY_INIT, 400 },
		{ "POST", "/mcp", "Host: localhost\r\nHost: localhost\r\n", LEGACY_INIT, 400 },
		{ "POST", "/mcp", "Accept: application/json\r\nAccept: text/event-stream\r\n", LEGACY_INIT, 200 },
		{ "OPTIONS", "/mcp", "", "", 204 },
		{ "OPTIONS", "/mcp", "Origin: http://evil.example\r\n", "", 403 },
	};
	for (size_t i = 0; i < MEM_COUNT(DOOR); i++)
		is_int(status_of(ask(port, DOOR[i].method, DOOR[i].path, DOOR[i].headers, DOOR[i].body)), DOOR[i].status,
		       "%s %s %s %.40s", DOOR[i].method, DOOR[i].path, one_line(DOOR[i].headers), DOOR[i].body);
	char *big = mem_new(70001, 1);
	memset(big, ' ', 70000);
	is_int(status_of(ask(port, "POST", "/mcp", "", big)), 413, "a message over the limit is 413");
	free(big);
	has_str(ask(port, "GET", "/healthz", "", ""), "\r\n\r\nfine", "a plain page is served with its text");
}

/* --- 2026-07-28 ------------------------------------------------------------------------------------------------- */

static void test_modern(int port)
{
	static const struct {
		const char *headers, *body;
		int status;
		const char *part;
	} MODERN_CASES[] = {
		{ MODERN_HEADERS("tools/list"), MODERN("1", "tools/list", ""), 200, "\"echo\"" },
		{ MODERN_HEADERS("tools/list") "Mcp-Session-Id: ignored\r\n", MODERN("1", "tools/list", ""), 200, "\"echo\"" },
		{ MODERN_HEADERS("tools/list"), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", 400, "-32602" },
		{ "Mcp-Method: tools/list\r\n", MODERN("1", "tools/list", ""), 400, "-32020" },
		{ "MCP-Protocol-Version: 2025-11-25\r\nMcp-Method: tools/list\r\n", MODERN("1", "tools/list", ""), 400, "-32020" },
		{ MODERN_HEADERS("tools/call"), MODERN("1", "tools/list", ""), 400, "-32020" },
		{ "MCP-Protocol-Version: 2026-07-28\r\n", MODERN("1", "tools/list", ""), 400, "-32020" },
		{ "MCP-Protocol-Version: 2030-01-01\r\nMcp-Method: tools/list\r\n",
		  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
		  "\"io.modelcontextprotocol/protocolVersion\":\"2030-01-01\","
		  "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
		  400, "-32022" },
		{ CALL_HEADERS("task"), MODERN("1", "tools/call", "\"name\":\"task\","), 400,
		  "\"requiredCapabilities\":{\"extensions\"" },
		{ MODERN_HEADERS("ping"), MODERN("1", "ping", ""), 404, "-32601" },
		{ MODERN_HEADERS("nothing"), MODERN("1", "nothing", ""), 404, "-32601" },
		{ MODERN_HEADERS("initialize"), MODERN("1", "initialize", ""), 404, "-32601" },
		{ MODERN_HEADERS("tools/call"), MODERN("\"a\"", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"x\"},"),
		  400, "\"id\":\"a\"" },
		{ CALL_HEADERS("echo") "Mcp-Param-Text: hi\r\n",
		  MODERN("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"},"), 200, "\"text\":\"hi\"" },
		{ CALL_HEADERS("  echo  ") "mcp-param-text: =?base64?aGk=?=\r\n",
		  MODERN("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"},"), 200,
		  "\"resultType\":\"complete\"" },
		{ CALL_HEADERS("=?base64?ZWNobw==?=") "Mcp-Param-Text: hi\r\n",
		  MODERN("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"},"), 200, "application/json" },
		{ CALL_HEADERS("echo"), MODERN("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"},"), 400,
		  "-32020" },
		{ CALL_HEADERS("echo") "Mcp-Param-Text: ho\r\n",
		  MODERN("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"},"), 400, "-32020" },
		{ MODERN_HEADERS("tools/call") "Mcp-Param-Text: hi\r\n",
		  MODERN("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"},"), 400,
		  "header mismatch: the header Mcp-Name is missing" },
		{ CALL_HEADERS("hold") "Mcp-Param-Text: hi\r\n",
		  MODERN("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"},"), 400,
		  "header mismatch: Mcp-Name says" },
		{ MODERN_HEADERS("resources/read") "Mcp-Name: test://b\r\n", MODERN("1", "resources/read", "\"uri\":\"test://a\","),
		  400, "header mismatch: Mcp-Name says" },
		{ MODERN_HEADERS("prompts/get") "Mcp-Name: b\r\n", MODERN("1", "prompts/get", "\"name\":\"a\","), 400,
		  "header mismatch: Mcp-Name says" },
		{ MODERN_HEADERS("tasks/get") "Mcp-Name: b\r\n", MODERN("1", "tasks/get", "\"taskId\":\"a\","), 400,
		  "header mismatch: Mcp-Name says" },
		{ MODERN_HEADERS("tasks/cancel") "Mcp-Name: b\r\n", MODERN("1", "tasks/cancel", "\"taskId\":\"a\","), 400,
		  "header mismatch: Mcp-Name says" },
		{ CALL_HEADERS("ecko"), MODERN("1", "tools/call", "\"name\":\"ecko\","), 200, "-32602" },
	};
	for (size_t i = 0; i < MEM_COUNT(MODERN_CASES); i++) {
		const char *answer = ask(port, "POST", "/mcp", MODERN_CASES[i].headers, MODERN_CASES[i].body);
		is_int(status_of(answer), MODERN_CASES[i].status, "%s", one_line(MODERN_CASES[i].headers));
		has_str(answer, MODERN_CASES[i].part, "the answer of this request says why");
	}
	ok(strstr(ask(port, "POST", "/mcp", MODERN_HEADERS("tools/list"), MODERN("1", "tools/list", "")), "Mcp-Session-Id") == NULL,
	   "a 2026-07-28 request makes no session");
}

static void test_modern_stream(int port, struct world *w)
{
	struct buf b = BUF_INIT;
	int fd = dial(port);
	request(fd, "POST", "/mcp", CALL_HEADERS("hold"),
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
		"\"name\":\"hold\",\"_meta\":{\"progressToken\":\"p\",\"io.modelcontextprotocol/"
		"protocolVersion\":\"2026-07-28\","
		"\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
	mcp_call_progress(held(w), 1, 2, "half");
	is_int(read_until(fd, &b, "\"half\"}}\n\n", 60000), 0, "progress opens a stream of events");
	has_str(buf_text(&b), "Content-Type: text/event-stream", "a stream has the type text/event-stream");
	has_str(buf_text(&b), "X-Accel-Buffering: no", "a stream tells proxies not to buffer");
	ok(strstr(buf_text(&b), "\nid:") == NULL, "a 2026-07-28 stream has no event ids");
	is_int(read_until(fd, &b, "\n: ", 60000), 0, "a quiet stream gets a comment");
	let_go(w);
	is_int(read_until(fd, &b, "\"done\"", 60000), 0, "the answer is the last event");
	is_int(read_until(fd, &b, "\r\n0\r\n", 60000), 0, "the stream ends after the answer");
	close(fd);
	buf_fini(&b);

	w->cancels = 0;
	fd = dial(port);
	request(fd, "POST", "/mcp", CALL_HEADERS("hold"), MODERN("1", "tools/call", "\"name\":\"hold\","));
	held(w);
	close(fd);
	is_int(soon(&w->cancels, 1), 1, "a client that goes away cancels its call");
	is_int(w->why, MCP_CANCEL_LEFT, "the call hears that its client closed the stream");
	let_go(w);
}

static void test_listen(int port, struct mcp_server *server)
{
	struct buf b = BUF_INIT;
	int fd = dial(port);
	request(fd, "POST", "/mcp", MODERN_HEADERS("subscriptions/listen"),
		MODERN("7", "subscriptions/listen", "\"notifications\":{\"toolsListChanged\":true},"));
	is_int(read_until(fd, &b, "acknowledged", 60000), 0, "a subscription is acknowledged");
	mcp_server_list_changed(server, "tools");
	is_int(read_until(fd, &b, "notifications/tools/list_changed", 60000), 0, "a subscriber is told that the tools changed");
	close(fd);
	PACE_WAIT(mcp_server_stats(server).running == 0);
	is_int(mcp_server_stats(server).running, 0, "a subscription ends with its connection");
	buf_fini(&b);
}

/* --- earlier revisions ------------------------------------------------------------------------------------------ */

static void test_session(int port, struct mcp_server *server)
{
	struct buf b = BUF_INIT;
	char *session = new_session(port);
	has_str(ask(port, "POST", "/mcp", session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"), "\"echo\"",
		"a session lists tools");
	char *odd = mem_fmt("%sMCP-Protocol-Version: 1.0\r\n", session);
	is_int(status_of(ask(port, "POST", "/mcp", odd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}")), 400,
	       "an unknown version is refused");
	free(odd);
	int fd = dial(port);
	char *accept = mem_fmt("%sAccept: text/event-stream\r\n", session);
	request(fd, "GET", "/mcp", accept, "");
	is_int(read_until(fd, &b, "text/event-stream", 60000), 0, "GET opens the session's stream");
	mcp_server_list_changed(server, "tools");
	is_int(read_until(fd, &b, "list_changed", 60000), 0, "the session's stream carries notifications");
	is_int(status_of(ask(port, "DELETE", "/mcp", session, "")), 204, "DELETE ends the session");
	is_int(read_until(fd, &b, "\r\n0\r\n", 60000), 0, "DELETE ends the session's stream");
	is_int(status_of(ask(port, "POST", "/mcp", session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}")), 404,
	       "an ended session is 404");
	close(fd);
	free(accept);
	free(session);
	buf_fini(&b);
}

static void test_resume(int port, struct world *w)
{
	struct buf b = BUF_INIT;
	char *session = new_session(port);
	int fd = dial(port);
	request(fd, "POST", "/mcp", session,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"leave\"}}");
	is_int(read_until(fd, &b, "\r\n0\r\n", 60000), 0, "a tool can close its stream before it answers");
	has_str(buf_text(&b), "retry: 10", "a closed stream says when to come back");
	close(fd);
	const char *id = strstr(buf_text(&b), "id: ");
	char *headers = mem_fmt("%sAccept: text/event-stream\r\nLast-Event-ID: %.*s\r\n", session,
				id ? (int)strcspn(id + 4, "\n") : 0, id ? id + 4 : "");
	buf_clear(&b);
	fd = dial(port);
	request(fd, "GET", "/mcp", headers, "");
	is_int(read_until(fd, &b, "\"after\"", 60000), 0, "Last-Event-ID brings the rest of a stream");
	is_int(read_until(fd, &b, "\r\n0\r\n", 60000), 0, "a resumed stream ends after the answer");
	close(fd);
	free(headers);
	buf_clear(&b);

	w->cancels = 0;
	fd = dial(port);
	request(fd, "POST", "/mcp", session,
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"hold\","
		"\"_meta\":{\"progressToken\":1}}}");
	mcp_call_progress(held(w), 1, 0, "seen");
	is_int(read_until(fd, &b, "\"seen\"", 60000), 0, "a legacy call reports progress");
	close(fd);
	clock_sleep(20 * CLOCK_MS);
	is_int(w->cancels, 0, "a legacy client that goes away cancels nothing");
	let_go(w);
	id = strstr(buf_text(&b), "id: ");
	for (const char *next = id; next; next = strstr(id + 1, "\nid: "))
		id = next[0] == '\n' ? next + 1 : next, next = id;
	headers = mem_fmt("%sAccept: text/event-stream\r\nLast-Event-ID: %.*s\r\n", session, id ? (int)strcspn(id + 4, "\n") : 0,
			  id ? id + 4 : "");
	buf_clear(&b);
	fd = dial(port);
	request(fd, "GET", "/mcp", headers, "");
	is_int(read_until(fd, &b, "\"done\"", 60000), 0,
	       "the answer to a lost legacy connection is kept until the client comes back");
	ok(strstr(buf_text(&b), "seen") == NULL, "a resumed stream repeats no event that was seen");
	close(fd);
	free(headers);
	free(session);
	buf_fini(&b);
}

static void test_cancel(int port, struct world *w)
{
	char *session = new_session(port);
	int fd = dial(port);
	w->cancels = 0;
	request(fd, "POST", "/mcp", session,
		"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/call\",\"params\":{\"name\":\"hold\"}}");
	held(w);
	is_int(status_of(ask(port, "POST", "/mcp", session,
			     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
			     "\"requestId\":\"x\"}}")),
	       202, "a legacy client cancels by a notification");
	is_int(soon(&w->cancels, 1), 1, "the cancelled call hears of it");
	is_int(w->why, MCP_CANCEL_ASKED, "the call hears that the client asked");
	struct buf b = BUF_INIT;
	let_go(w);
	is_int(read_until(fd, &b, "\r\n0\r\n", 60000), 0, "the stream of a cancelled call ends");
	ok(strstr(buf_text(&b), "\"id\"") == NULL, "a cancelled call gets no answer");
	buf_fini(&b);
	close(fd);
	free(session);
}

/* Clients that leave at the very moment of the answer, in both eras: every call ends exactly once. */
static void test_races(int port, struct mcp_server *server, struct world *w)
{
	char *session = new_session(port);
	int odd = 0;
	for (int i = 0; i < 300; i++) {
		int fd = dial(port);
		if (i % 2)
			request(fd, "POST", "/mcp", CALL_HEADERS("hold"), MODERN("1", "tools/call", "\"name\":\"hold\","));
		else
			request(fd, "POST", "/mcp", session,
				"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/"
				"call\",\"params\":{\"name\":\"hold\"}}");
		held(w);
		close(fd);
		for (volatile int spin = 0; spin < i * 200; spin++)
			;
		let_go(w);
		PACE_WAIT(mcp_server_stats(server).running == 0);
		odd += mcp_server_stats(server).running != 0;
	}
	is_int(odd, 0, "calls end when their clients leave at the moment of the answer");
	is_int(status_of(ask(port, "DELETE", "/mcp", session, "")), 204, "a session of lost connections can be ended");
	free(session);
}

/* A session with a running call or an open stream is never evicted; when all are busy, a new one is refused. */
static void test_sessions(const struct mcp_server_config *like, struct world *w)
{
	struct mcp_server_config config = *like;
	struct mcp_http_config listen = { .port = 0 };
	struct mcp_server *server;
	struct mcp_http *http;
	struct buf b = BUF_INIT;
	struct err e = ERR_INIT;
	config.max_sessions = 3;
	is_int(mcp_server_new(&config, &server, &e), 0, "a server of three sessions starts %s", e.text);
	is_int(mcp_http_start(server, &listen, &http, &e), 0, "HTTP listens on a free port %s", e.text);
	int port = mcp_http_port(http);
	static const char PING[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
	static const char HOLD[] = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"hold\"}}";
	char *calls = new_session(port), *streams = new_session(port), *idle = new_session(port);
	int call_fd = dial(port), stream_fd = dial(port);
	w->cancels = 0;
	request(call_fd, "POST", "/mcp", calls, HOLD);
	held(w);
	char *accept = mem_fmt("%sAccept: text/event-stream\r\n", streams);
	request(stream_fd, "GET", "/mcp", accept, "");
	read_until(stream_fd, &b, "text/event-stream", 60000);
	for (int i = 0; i < 300; i++)
		free(new_session(port));
	is_int(status_of(ask(port, "POST", "/mcp", idle, PING)), 404, "300 others evict an idle session");
	is_int(status_of(ask(port, "POST", "/mcp", streams, PING)), 200, "a session with an open stream is not evicted");
	is_int(status_of(ask(port, "POST", "/mcp", calls, PING)), 200, "a session with a running call is not evicted");
	is_int(w->cancels, 0, "its call goes on");
	is_int((long)mcp_server_stats(server).sessions, 3, "the limit on sessions is kept");

	struct mcp_call *first = w->held; /* now the third is busy too */
	char *third = new_session(port);
	int third_fd = dial(port);
	w->held = NULL;
	request(third_fd, "POST", "/mcp", third, HOLD);
	held(w);
	const char *answer = ask(port, "POST", "/mcp", "", LEGACY_INIT);
	is_int(status_of(answer), 503, "when all sessions are busy, initialize is refused");
	has_str(answer, "all of them are busy", "the refusal says why");
	let_go(w);
	w->held = first;
	close(call_fd);
	clock_sleep(20 * CLOCK_MS);
	is_int(w->cancels, 0, "a lost legacy connection cancels no call");
	is_int(status_of(ask(port, "DELETE", "/mcp", calls, "")), 204, "a client ends its session");
	is_int(soon(&w->cancels, 1), 1, "DELETE cancels the session's calls");
	is_int(w->why, MCP_CANCEL_ENDED, "such a call hears that its session ended");
	let_go(w);
	close(third_fd);
	close(stream_fd);
	free(calls), free(streams), free(idle), free(third), free(accept);
	buf_fini(&b);
	mcp_http_stop(http);
	mcp_server_free(server);
}

/* What a browser asks before a page's request, and what it needs in the answer. */
static void test_cors(struct mcp_server *server)
{
	static const char *const ORIGINS[] = { "https://ide.example", NULL };
	struct mcp_http_config config = { .token = "secret", .allowed_origins = ORIGINS };
	struct mcp_http *http;
	struct err e = ERR_INIT;
	is_int(mcp_http_start(server, &config, &http, &e), 0, "HTTP listens with an allowed origin %s", e.text);
	int port = mcp_http_port(http);
	const char *answer = ask(port, "OPTIONS", "/mcp",
				 "Origin: https://ide.example\r\nAccess-Control-Request-Method: POST\r\n"
				 "Access-Control-Request-Headers: authorization, mcp-param-text\r\n",
				 "");
	is_int(status_of(answer), 204, "a preflight needs no token");
	has_str(answer, "Access-Control-Allow-Origin: https://ide.example\r\n", "a preflight allows the origin");
	has_str(answer, "Access-Control-Allow-Headers: authorization, mcp-param-text\r\n", "a preflight allows the headers");
	answer = ask(port, "POST", "/mcp", "Origin: https://ide.example\r\nAuthorization: Bearer secret\r\n", LEGACY_INIT);
	is_int(status_of(answer), 200, "a page's request is served");
	has_str(answer, "Access-Control-Allow-Origin: https://ide.example\r\n", "the page may read the answer");
	has_str(answer, "Access-Control-Expose-Headers: Mcp-Session-Id", "the page may read the session id");
	answer = ask(port, "OPTIONS", "/mcp", "Origin: https://other.example\r\n", "");
	is_int(status_of(answer), 403, "a preflight from another origin is refused");
	ok(strstr(answer, "Access-Control-Allow") == NULL, "a refused origin gets no CORS headers");
	mcp_http_stop(http);
}

/* --- the rest --------------------------------------------------------------------------------------------------- */

static void test_token(struct mcp_server *server, const struct mcp_http_plain *plain)
{
	struct mcp_http_config config = { .token = "secret", .plain = plain };
	struct mcp_http *http;
	struct err e = ERR_INIT;
	is_int(mcp_http_start(server, &config, &http, &e), 0, "HTTP listens with a token %s", e.text);
	int port = mcp_http_port(http);
	const char *answer = ask(port, "POST", "/mcp", "", LEGACY_INIT);
	is_int(status_of(answer), 401, "a request without the token is 401");
	has_str(answer, "WWW-Authenticate: Bearer realm=\"mcp\", resource_metadata=\"http://", "the 401 names the metadata");
	answer = ask(port, "GET", "/.well-known/oauth-protected-resource/mcp", "", "");
	is_int(status_of(answer), 200, "the metadata need no token");
	has_str(answer, "\"bearer_methods_supported\":[\"header\"]", "the metadata say where the token goes (RFC 9728)");
	is_int(status_of(ask(port, "GET", "/.well-known/oauth-protected-resource/other", "", "")), 401,
	       "metadata exist for the endpoint's path only");
	is_int(status_of(ask(port, "POST", "/mcp", "Authorization: Bearer secreT\r\n", LEGACY_INIT)), 401, "a wrong token is 401");
	is_int(status_of(ask(port, "POST", "/mcp", "Authorization: Bearer secret\r\n", LEGACY_INIT)), 200,
	       "the right token is let in");
	is_int(status_of(ask(port, "GET", "/healthz", "", "")), 200, "an open page needs no token");
	mcp_http_stop(http);
	config = (struct mcp_http_config){ .address = "0.0.0.0" };
	ok(mcp_http_start(server, &config, &http, &e) < 0, "an address that others can reach needs a token");
	has_str(e.text, "token", "the message names what is missing");
	config.token = "secret";
	ok(mcp_http_start(server, &config, &http, &e) < 0, "an address that others can reach needs TLS");
	has_str(e.text, "TLS", "the message names what is missing");
}

/* Streams that are open when the server stops are ended, not cut. */
static void test_stop(struct mcp_server *server)
{
	struct mcp_http_config config = { .port = 0 };
	struct mcp_http *http;
	struct buf b = BUF_INIT;
	struct err e = ERR_INIT;
	is_int(mcp_http_start(server, &config, &http, &e), 0, "another listener starts %s", e.text);
	int fd = dial(mcp_http_port(http));
	request(fd, "POST", "/mcp", MODERN_HEADERS("subscriptions/listen"),
		MODERN("7", "subscriptions/listen", "\"notifications\":{},"));
	read_until(fd, &b, "acknowledged", 60000);
	struct pace pace = pace_begin();
	mcp_http_stop(http);
	ok(pace_within(&pace, CLOCK_S), "stopping takes less than a second (%s)", pace_text(&pace));
	is_int(read_until(fd, &b, "\"id\":7,\"result\"", 60000), 0, "stopping ends a subscription with its result");
	is_int(read_until(fd, &b, "\r\n0\r\n", 60000), 0, "stopping ends the stream, not the connection alone");
	close(fd);
	buf_fini(&b);
}

/* A socket that listens already, as a service manager passes it. */
static int listening(const char *address)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	inet_pton(AF_INET, address, &a.sin_addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	return bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 16) == 0 ? fd : -1;
}

static void test_listener(struct mcp_server *server, const struct mcp_http_plain *plain)
{
	int fd = listening("127.0.0.1");
	struct mcp_http_config config = { .address = "0.0.0.0", .listener = fd, .plain = plain };
	struct mcp_http *http;
	struct err e = ERR_INIT;
	is_int(mcp_http_start(server, &config, &http, &e), 0, "HTTP is served on a socket of the caller's %s", e.text);
	is_str(mcp_http_address(http), "127.0.0.1", "the address is the socket's");
	int port = mcp_http_port(http);
	is_int(status_of(ask(port, "GET", "/healthz", "", "")), 200, "the socket is served");
	int kept = mcp_http_pause(http);
	ok(kept >= 0, "a pause returns the socket");
	close(fd);
	int client = dial(port);
	struct buf b = BUF_INIT;
	request(client, "GET", "/healthz", "", "");
	config.listener = kept;
	is_int(mcp_http_start(server, &config, &http, &e), 0, "the socket is served again %s", e.text);
	is_int(read_until(client, &b, "200 OK", 60000), 0, "a client that came during the pause is served");
	buf_fini(&b);
	close(client);
	close(kept);
	mcp_http_stop(http);
	fd = config.listener = listening("0.0.0.0");
	config.address = "127.0.0.1";
	ok(mcp_http_start(server, &config, &http, &e) < 0, "a passed socket that others can reach needs a token");
	has_str(e.text, "0.0.0.0", "the message names the socket's own address");
	close(fd);
}

static void healthz(void *user, struct mcp_http_page *page)
{
	(void)user;
	buf_adds(&page->body, "fine\n");
}

/* A page whose handler, against the rules, waits: it holds up the network thread. */
static atomic_int stuck;
static void wait_page(void *user, struct mcp_http_page *page)
{
	(void)user, (void)page;
	for (stuck = 1; stuck != 2;)
		clock_sleep(CLOCK_MS);
}

static void test_alive(struct mcp_server *server)
{
	static const struct mcp_http_plain PLAIN[] = { { "/wait", wait_page, 1 }, { .path = NULL } };
	struct mcp_http_config config = { .plain = PLAIN };
	struct mcp_http *http;
	struct err e = ERR_INIT;
	is_int(mcp_http_start(server, &config, &http, &e), 0, "a server for the watchdog %s", e.text);
	ok(mcp_http_alive(http), "a new server is alive");
	bool alive = false;
	PACE_WAIT((alive = mcp_http_alive(http)));
	ok(alive, "a server without clients is alive");
	int client = dial(mcp_http_port(http));
	request(client, "GET", "/wait", "", "");
	PACE_WAIT(stuck == 1);
	mcp_http_alive(http);
	clock_sleep(50 * CLOCK_MS);
	ok(!mcp_http_alive(http) && !mcp_http_alive(http), "a server whose network thread hangs is not alive");
	stuck = 2;
	PACE_WAIT((alive = mcp_http_alive(http)));
	ok(alive, "it is alive when the thread goes on");
	close(client);
	mcp_http_stop(http);
}

int main(void)
{
	static const struct mcp_http_plain PLAIN[] = { { "/healthz", healthz, 1 }, { .path = NULL } };
	struct world w = { .cancels = 0 };
	struct mcp_server_config config = {
		.name = "test", .version = "1", .tools = TOOLS, .user = &w, .max_message = 65536, .list_changed = 1
	};
	struct mcp_http_config listen = { .plain = PLAIN, .keep_alive_ms = 60 };
	struct mcp_server *server;
	struct mcp_http *http;
	struct err e = ERR_INIT;
	is_int(mcp_server_new(&config, &server, &e), 0, "the server starts %s", e.text);
	is_int(mcp_http_start(server, &listen, &http, &e), 0, "HTTP listens on a free port %s", e.text);
	int port = mcp_http_port(http);
	test_door(port);
	test_modern(port);
	test_modern_stream(port, &w);
	test_listen(port, server);
	test_session(port, server);
	test_resume(port, &w);
	test_cancel(port, &w);
	test_races(port, server, &w);
	mcp_http_stop(http);
	test_sessions(&config, &w);
	test_cors(server);
	test_token(server, PLAIN);
	test_stop(server);
	test_listener(server, PLAIN);
	test_alive(server);
	mcp_server_free(server);
	return tap_done();
}
