/* mcp/modern and mcp/legacy over stdio: what each era demands of a request and adds to an answer; questions to the
 * client, subscriptions, tasks, cancellation. */
#include <stdatomic.h>

#include "base/clock.h"
#include "base/mem.h"
#include "mcp/jsonrpc.h"
#include "pace.h"
#include "peer.h"
#include "tap.h"

static const struct mcp_done *whoami(struct mcp_call *call)
{
	mcp_call_log(call, MCP_LOG_INFO, NULL, json_string("told"));
	return mcp_call_reply(call, json_pack("[s]", mcp_call_revision(call)), NULL);
}

static const struct mcp_done *ask(struct mcp_call *call)
{
	const char *name = json_string_value(json_object_get(json_object_get(mcp_call_input(call, "name"), "content"), "name"));
	const char *kept = json_string_value(json_object_get(mcp_call_state(call), "kept"));
	if (name && kept)
		return mcp_call_reply(call, NULL, "%s %s", name, kept);
	json_t *requests = json_pack("{s:{s:s, s:{s:s}}}", "name", "method", "elicitation/create", "params", "message", "Who?");
	return mcp_call_ask(call, requests, json_pack("{s:s}", "kept", "state"));
}

static const struct mcp_done *lie(struct mcp_call *call)
{
	return mcp_call_reply(call, json_pack("{s:s}", "n", "not a number"), NULL);
}

static const struct mcp_done *job(struct mcp_call *call)
{
	return mcp_call_task(call, json_is_true(json_object_get(mcp_call_arguments(call), "lose")) ? "none" : "t1");
}

static const struct mcp_tool TOOLS[] = {
	{ .name = "whoami", .description = "Says the revision.", .handler = whoami, .output_schema = "{\"type\":\"array\"}" },
	{ .name = "ask", .description = "Asks.", .handler = ask, .input_schema = "{\"type\":\"object\"}" },
	{ .name = "lie",
	  .description = "Breaks its word.",
	  .handler = lie,
	  .output_schema = "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}" },
	{ .name = "job",
	  .description = "A task.",
	  .handler = job,
	  .flags = MCP_TOOL_TASK_ONLY,
	  .input_schema = "{\"type\":\"object\"}" },
	{ .name = NULL },
};

static const struct mcp_done *read_any(struct mcp_call *call)
{
	const char *rest = mcp_call_variable(call, "rest");
	if (strcmp(mcp_call_variable(call, "id"), "gone") == 0)
		return mcp_call_reply_absent(call, "it was deleted");
	return mcp_call_reply_text(call, NULL, rest ? rest : "all");
}

static const struct mcp_template TEMPLATES[] = {
	{ "test://{id}", "blob", NULL, NULL, "application/octet-stream", read_any, 0 },
	{ "test://{id}/files/{+rest}", "file", NULL, NULL, "text/plain", read_any, 5000 },
	{ .uri_template = NULL },
};

static void complete(void *user, const struct mcp_completion *what, json_t *candidates)
{
	(void)user;
	for (int i = 0; i < 250; i++)
		json_array_append_new(candidates, json_sprintf("%s-%d", what->argument, i));
}

static int get_task(void *user, const char *id, json_t **ret_task, struct err *e)
{
	(void)user;
	if (strcmp(id, "t1") != 0)
		return err_set(e, ERR_NOT_FOUND, "there is no task \"%s\"", id);
	*ret_task = json_pack("{s:s, s:s, s:s, s:n, s:{s:[]}}", "status", "completed", "createdAt", "2026-11-20T00:00:00Z",
			      "lastUpdatedAt", "2026-11-20T00:00:00Z", "ttlMs", "result", "content");
	return 0;
}

static int cancel_task(void *user, const char *id, struct err *e)
{
	json_t *task;
	int rc = get_task(user, id, &task, e);
	if (rc == 0)
		json_decref(task);
	return rc;
}

static const struct mcp_task_hooks HOOKS = { .get = get_task, .cancel = cancel_task };

/* A modern request; capabilities and params are JSON members. */
static json_t *modern(struct peer *p, const char *method, const char *capabilities, const char *params)
{
	char *text = mem_fmt("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s%s\"_meta\":{"
			     "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
			     "\"io.modelcontextprotocol/clientCapabilities\":{%s}}}}",
			     method, params, *params ? "," : "", capabilities);
	json_t *m = peer_ask(p, text);
	free(text);
	return m;
}

#define ERRORS(m, want, ...)                                                                                                       \
	do {                                                                                                                       \
		json_t *err_m = (m);                                                                                               \
		is_str(at(err_m, "error.code"), want, __VA_ARGS__);                                                                \
		json_decref(err_m);                                                                                                \
	} while (0)
#define GIVES(m, path, want, ...)                                                                                                  \
	do {                                                                                                                       \
		json_t *ok_m = (m);                                                                                                \
		is_str(at(ok_m, path), want, __VA_ARGS__);                                                                         \
		json_decref(ok_m);                                                                                                 \
	} while (0)

static void test_modern(struct mcp_server *server)
{
	struct peer p;
	peer_open(&p, server);
	json_t *m = modern(&p, "server/discover", "", "");
	is_str(at(m, "result.supportedVersions.0"), "2026-07-28", "discover: versions");
	is_str(at(m, "result.resultType"), "complete", "discover: resultType");
	is_str(at(m, "result.ttlMs"), "60000", "discover: ttlMs");
	is_str(at(m, "result.cacheScope"), "public", "discover: cacheScope");
	is_str(at(m, "result._meta.<io.modelcontextprotocol/serverInfo>.name"), "eras", "discover: serverInfo");
	is_str(at(m, "result.capabilities.extensions.<io.modelcontextprotocol/tasks>"), "{}", "discover: tasks");
	json_decref(m);
	ERRORS(peer_ask(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}"), "-32602",
	       "a request without _meta is refused");
	ERRORS(peer_ask(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
			    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}"),
	       "-32602", "_meta without capabilities is refused");
	m = peer_ask(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
			 "\"io.modelcontextprotocol/protocolVersion\":\"2030-01-01\",\"io.modelcontextprotocol/"
			 "clientCapabilities\":{}}}}");
	is_str(at(m, "error.code"), "-32022", "another version is refused");
	is_str(at(m, "error.data.requested"), "2030-01-01", "the refusal names the requested version");
	is_str(at(m, "error.data.supported.0"), "2026-07-28", "the refusal names the supported versions");
	json_decref(m);
	static const char *const GONE[] = { "initialize", "ping", "logging/setLevel", "resources/subscribe", "tasks/list" };
	for (size_t i = 0; i < MEM_COUNT(GONE); i++)
		ERRORS(modern(&p, GONE[i], "", ""), "-32601", "%s is gone", GONE[i]);
	m = modern(&p, "tools/call", "", "\"name\":\"whoami\",\"arguments\":{}");
	is_str(at(m, "result.structuredContent.0"), "2026-07-28", "structured content may be an array");
	is_str(at(m, "result.content.0.text"), "[\"2026-07-28\"]", "structured content is repeated as text");
	json_decref(m);
	ERRORS(modern(&p, "tools/call", "", "\"name\":\"lie\""), "-32603",
	       "an answer that breaks the outputSchema is an internal error");
	ERRORS(modern(&p, "resources/read", "", "\"uri\":\"test://gone\""), "-32602", "an absent resource is -32602");
	ERRORS(modern(&p, "resources/read", "", "\"uri\":\"other://x\""), "-32602", "an unknown URI is -32602");
	m = modern(&p, "resources/read", "", "\"uri\":\"test://x\"");
	is_str(at(m, "result.contents.0.text"), "all", "a template's resource is read");
	is_str(at(m, "result.ttlMs"), "0", "a resource that may change has ttlMs 0");
	is_str(at(m, "result.cacheScope"), "private", "a resource that may change is private");
	json_decref(m);
	GIVES(modern(&p, "resources/read", "", "\"uri\":\"test://x/files/a/b%20c\""), "result.contents.0.text", "a/b c",
	      "variables are decoded");
	GIVES(modern(&p, "resources/read", "", "\"uri\":\"test://x/files/a\""), "result.ttlMs", "5000",
	      "the table says how long a resource may be kept");
	m = modern(&p, "completion/complete", "",
		   "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"test://{id}\"},\"argument\":"
		   "{\"name\":\"id\",\"value\":\"D-1\"}");
	is_str(at(m, "result.completion.total"), "111", "completion counts what contains the value");
	is_str(at(m, "result.completion.hasMore"), "true", "completion says that there are more values");
	is_int(json_array_size(json_object_get(json_object_get(json_object_get(m, "result"), "completion"), "values")), 100,
	       "completion lists at most 100 values");
	json_decref(m);
	m = modern(&p, "tools/list", "", "");
	is_str(at(m, "result.nextCursor"), "at-3", "a page has a cursor");
	json_decref(m);
	GIVES(modern(&p, "tools/list", "", "\"cursor\":\"at-3\""), "result.tools.0.name", "job",
	      "the cursor leads to the next page");
	peer_close(&p);
}

static void test_log(struct mcp_server *server)
{
	struct peer p;
	peer_open(&p, server);
	json_t *m =
		peer_ask(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"whoami\",\"_meta\":{"
			     "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"
			     "logLevel\":\"info\","
			     "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
	is_str(at(m, "params.data"), "told", "a log message when its level is asked for");
	json_decref(m);
	GIVES(peer_read(&p, 60000), "id", "1", "the answer follows the log message");
	ERRORS(peer_ask(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
			    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"
			    "logLevel\":\"loud\","
			    "\"io.modelcontextprotocol/clientCapabilities\":{}}}}"),
	       "-32602", "an unknown level is refused");
	peer_close(&p);
}

static void test_ask(struct mcp_server *server)
{
	struct peer p;
	peer_open(&p, server);
	json_t *m = modern(&p, "tools/call", "", "\"name\":\"ask\"");
	is_str(at(m, "error.code"), "-32021", "a question that the client cannot answer is not asked");
	is_str(at(m, "error.data.requiredCapabilities"), "{\"elicitation\":{}}", "the refusal names the missing capability");
	json_decref(m);
	m = modern(&p, "tools/call", "\"elicitation\":{}", "\"name\":\"ask\"");
	is_str(at(m, "result.resultType"), "input_required", "the question is a result");
	is_str(at(m, "result.inputRequests.name.method"), "elicitation/create", "the result holds the request");
	char *state = mem_str(at(m, "result.requestState"));
	json_decref(m);
	char *good =
		mem_fmt("\"name\":\"ask\",\"inputResponses\":{\"name\":{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}},"
			"\"requestState\":\"%s\"",
			state);
	GIVES(modern(&p, "tools/call", "\"elicitation\":{}", good), "result.content.0.text", "Ada state",
	      "the retry brings back answer and state");
	char *other = mem_fmt("\"name\":\"ask\",\"arguments\":{\"x\":1},\"requestState\":\"%s\"", state);
	ERRORS(modern(&p, "tools/call", "\"elicitation\":{}", other), "-32602", "a state of another request is refused");
	state[5] = state[5] == 'A' ? 'B' : 'A';
	char *bad = mem_fmt("\"name\":\"ask\",\"requestState\":\"%s\"", state);
	ERRORS(modern(&p, "tools/call", "\"elicitation\":{}", bad), "-32602", "a changed state is refused");
	ERRORS(modern(&p, "tools/call", "\"elicitation\":{}", "\"name\":\"ask\",\"requestState\":\"x\""), "-32602",
	       "an invented state is refused");
	ERRORS(modern(&p, "tools/call", "\"elicitation\":{}", "\"name\":\"ask\",\"inputResponses\":[]"), "-32602",
	       "inputResponses must be an object");
	free(state), free(good), free(other), free(bad);
	peer_close(&p);
}

static void test_listen(struct mcp_server *server)
{
	struct peer p;
	peer_open(&p, server);
	ERRORS(modern(&p, "subscriptions/listen", "", ""), "-32602", "listen without a filter is refused");
	ERRORS(modern(&p, "subscriptions/listen", "", "\"notifications\":{\"taskIds\":[\"t1\"]}"), "-32021",
	       "listening to tasks needs the extension");
	json_t *m = modern(&p, "subscriptions/listen", "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}",
			   "\"notifications\":{\"toolsListChanged\":true,\"promptsListChanged\":true,"
			   "\"resourceSubscriptions\":[\"test://x\"],\"taskIds\":[\"t1\",\"t2\"]}");
	is_str(at(m, "method"), "notifications/subscriptions/acknowledged", "listen is acknowledged");
	is_str(at(m, "params.notifications"),
	       "{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"test://x\"],\"taskIds\":"
	       "[\"t1\"]}",
	       "the acknowledgement names what the server honours");
	is_str(at(m, "params._meta.<io.modelcontextprotocol/subscriptionId>"), "1",
	       "the acknowledgement carries the subscription's id");
	json_decref(m);
	mcp_server_list_changed(server, "prompts");
	mcp_server_resource_updated(server, "test://y");
	mcp_server_list_changed(server, "tools");
	m = peer_read(&p, 60000);
	is_str(at(m, "method"), "notifications/tools/list_changed", "a subscriber hears only what it asked for");
	is_str(at(m, "params._meta.<io.modelcontextprotocol/subscriptionId>"), "1", "a notification carries the subscription's id");
	json_decref(m);
	mcp_server_resource_updated(server, "test://x");
	GIVES(peer_read(&p, 60000), "params.uri", "test://x", "a watched resource is announced");
	mcp_server_task_updated(server, "t1");
	GIVES(peer_read(&p, 60000), "params.status", "completed", "a task is announced with its state");
	peer_send(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}");
	GIVES(modern(&p, "tools/list", "", ""), "id", "1", "after cancelling, the id is free again");
	mcp_server_list_changed(server, "tools");
	ok(peer_read(&p, 50) == NULL, "a cancelled subscription is told nothing");
	json_decref(modern(&p, "subscriptions/listen", "", "\"notifications\":{\"toolsListChanged\":true}"));
	struct pace pace = pace_begin();
	peer_close(&p);
	ok(pace_within(&pace, CLOCK_S), "an open subscription does not hold up the end (%s)", pace_text(&pace));
}

static void test_tasks(struct mcp_server *server)
{
	static const char EXT[] = "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}";
	struct peer p;
	peer_open(&p, server);
	ERRORS(modern(&p, "tools/call", "", "\"name\":\"job\""), "-32021", "a tool that is a task needs the extension");
	ERRORS(modern(&p, "tasks/get", "", "\"taskId\":\"t1\""), "-32021", "tasks/get needs the extension");
	json_t *m = modern(&p, "tools/call", EXT, "\"name\":\"job\"");
	is_str(at(m, "result.resultType"), "task", "a call is answered with a task");
	is_str(at(m, "result.taskId"), "t1", "the task has its id");
	is_str(at(m, "result.result"), "(none)", "the task comes without its result");
	json_decref(m);
	ERRORS(modern(&p, "tools/call", EXT, "\"name\":\"job\",\"arguments\":{\"lose\":true}"), "-32602",
	       "a call cannot answer with a task that does not exist");
	m = modern(&p, "tasks/get", EXT, "\"taskId\":\"t1\"");
	is_str(at(m, "result.resultType"), "complete", "tasks/get answers with resultType complete");
	is_str(at(m, "result.result.content"), "[]", "tasks/get has the task's result");
	is_str(at(m, "result.result.resultType"), "complete", "the task's result has resultType complete");
	json_decref(m);
	ERRORS(modern(&p, "tasks/get", EXT, "\"taskId\":\"t2\""), "-32602", "an unknown task is -32602");
	ERRORS(modern(&p, "tasks/update", EXT, "\"taskId\":\"t1\""), "-32602", "tasks/update without answers is refused");
	m = modern(&p, "tasks/cancel", EXT, "\"taskId\":\"t1\"");
	is_str(at(m, "result.resultType"), "complete", "tasks/cancel is acknowledged");
	is_str(at(m, "result.taskId"), "(none)", "the acknowledgement holds nothing else");
	json_decref(m);
	peer_close(&p);
}

#define INITIALIZE(capabilities)                                                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"                                 \
	"\"1999-01-01\",\"capabilities\":{" capabilities "},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"
#define CALL(name) "{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\"}}"

static void test_legacy(struct mcp_server *server)
{
	struct peer p;
	peer_open(&p, server);
	GIVES(peer_ask(&p, INITIALIZE("\"elicitation\":{}")), "result.protocolVersion", "2025-11-25",
	      "an unknown revision is answered with the newest");
	json_t *m = peer_ask(&p, CALL("ask"));
	is_str(at(m, "method"), "elicitation/create", "the question is a request");
	is_str(at(m, "params.message"), "Who?", "the request has its parameters");
	char *answer = mem_fmt("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}}",
			       at(m, "id"));
	json_decref(m);
	GIVES(peer_ask(&p, answer), "result.content.0.text", "Ada state", "the handler runs again with the client's answer");
	peer_send(&p, answer); /* again: nobody waits for it */
	free(answer);
	m = peer_ask(&p, CALL("whoami"));
	is_str(at(m, "method"), "notifications/message", "log messages come by default from info on");
	json_decref(m);
	m = peer_read(&p, 60000);
	is_str(at(m, "result.structuredContent"), "(none)", "structured content that is no object is left out");
	is_str(at(m, "result.content.0.text"), "[\"2025-11-25\"]", "its text is kept");
	json_decref(m);
	GIVES(peer_ask(&p, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"logging/"
			   "setLevel\",\"params\":{\"level\":\"error\"}}"),
	      "result", "{}", "the level can be set");
	GIVES(peer_ask(&p, CALL("whoami")), "id", "c", "messages below the level are not sent");
	ERRORS(peer_ask(&p, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/read\",\"params\":{\"uri\":\"test://"
			    "gone\"}}"),
	       "-32002", "an absent resource is -32002 for sessions");
	ERRORS(peer_ask(&p, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tasks/get\",\"params\":{\"taskId\":\"t1\"}}"), "-32601",
	       "sessions have no tasks");
	GIVES(peer_ask(&p, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/"
			   "subscribe\",\"params\":{\"uri\":\"test://x\"}}"),
	      "result", "{}", "a resource can be watched");
	mcp_server_resource_updated(server, "test://y");
	mcp_server_resource_updated(server, "test://x");
	GIVES(peer_read(&p, 60000), "params.uri", "test://x", "a watched resource's changes arrive");
	mcp_server_list_changed(server, "tools");
	GIVES(peer_read(&p, 60000), "method", "notifications/tools/list_changed", "changes of lists arrive");
	json_decref(peer_ask(&p, CALL("ask")));
	peer_send(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"c\"}}");
	GIVES(peer_ask(&p, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}"), "id", "9", "a question can be cancelled");
	json_decref(peer_ask(&p, CALL("ask")));
	peer_close(&p); /* and an open one does not hold up the end for ever */
	ok(1, "an open question does not hold up the end");
}

/* Subscriptions are requests too: there is an end to them. */
static void test_full(struct mcp_server *server)
{
	struct peer p;
	peer_open(&p, server);
	for (int i = 0; i < 20; i++)
		json_decref(modern(&p, "subscriptions/listen", "", "\"notifications\":{}"));
	json_t *m = modern(&p, "subscriptions/listen", "", "\"notifications\":{}");
	has_str(at(m, "error.message"), "too many requests", "too many subscriptions are refused");
	json_decref(m);
	peer_close(&p);
}

int main(void)
{
	struct mcp_server_config config = { .name = "eras",
					    .version = "1",
					    .tools = TOOLS,
					    .templates = TEMPLATES,
					    .complete = complete,
					    .tasks = &HOOKS,
					    .logging = 1,
					    .list_changed = 1,
					    .page = 3,
					    .max_calls = 20 };
	struct mcp_server *server;
	struct err e = ERR_INIT;
	is_int(mcp_server_new(&config, &server, &e), 0, "the server starts %s", e.text);
	test_modern(server);
	test_log(server);
	test_ask(server);
	test_listen(server);
	test_tasks(server);
	test_legacy(server);
	test_full(server);
	struct mcp_server_stats stats = mcp_server_stats(server);
	ok(stats.running == 0 && stats.requests > 40 && stats.errors > 10 && stats.cancelled >= 2,
	   "the figures add up: "
	   "%lu %lu %lu %lu",
	   stats.running, stats.requests, stats.errors, stats.cancelled);
	mcp_server_free(server);
	return tap_done();
}
