/* modern: what 2026-07-28 asks of a request before its method runs, and of a result before it leaves; see modern.h.
 * Called by mcp/server.c. Rules from the specification's pages basic/index (_meta), basic/versioning,
 * basic/transports/streamable-http (Server Validation) and basic/patterns/mrtr. */
#include "mcp/modern.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/headers.h"
#include "mcp/listen.h"
#include "mcp/methods.h"
#include "mcp/prompts.h"
#include "mcp/resources.h"
#include "mcp/seal.h"
#include "mcp/tasks.h"
#include "mcp/tools.h"

#define META "io.modelcontextprotocol/"

static const struct mcp_done *discover(struct mcp_call *call)
{
	const struct mcp_server_config *config = &call->server->config;
	call->ttl_scope = "public";
	return mcp_call_answer(call, json_pack("{s:[s], s:o, s:s*}", "supportedVersions", MCP_MODERN_REVISION,
					       "capabilities", mcp_server_capabilities(call->server, 1), "instructions",
					       config->instructions));
}

static const struct mcp_method METHODS[] = {
	{ "tools/call", mcp_tools_call, MCP_OFFER_TOOLS },
	{ "server/discover", discover, MCP_OFFER_ALWAYS },
	{ "tools/list", mcp_tools_list, MCP_OFFER_TOOLS },
	{ "resources/list", mcp_resources_list, MCP_OFFER_RESOURCES },
	{ "resources/templates/list", mcp_resources_templates, MCP_OFFER_RESOURCES },
	{ "resources/read", mcp_resources_read, MCP_OFFER_RESOURCES },
	{ "prompts/list", mcp_prompts_list, MCP_OFFER_PROMPTS },
	{ "prompts/get", mcp_prompts_get, MCP_OFFER_PROMPTS },
	{ "completion/complete", mcp_prompts_complete, MCP_OFFER_COMPLETIONS },
	{ "subscriptions/listen", mcp_listen_start, MCP_OFFER_ALWAYS },
	{ "tasks/get", mcp_tasks_get, MCP_OFFER_TASKS },
	{ "tasks/update", mcp_tasks_update, MCP_OFFER_TASKS },
	{ "tasks/cancel", mcp_tasks_cancel, MCP_OFFER_TASKS },
	{ NULL, NULL, 0 },
};

/* --- the era ---------------------------------------------------------------------------------------------------- */

static void dress(struct mcp_call *call, json_t *result)
{
	if (json_object_get(result, "resultType") == NULL)
		json_object_set_new(result, "resultType", json_string("complete"));
	int complete = strcmp(json_string_value(json_object_get(result, "resultType")), "complete") == 0;
	if (call->ttl_scope && complete && json_object_get(result, "ttlMs") == NULL) {
		json_object_set_new(result, "ttlMs", json_integer(call->server->config.list_ttl_ms));
		json_object_set_new(result, "cacheScope", json_string(call->ttl_scope));
	}
	json_t *meta = json_object_get(result, "_meta");
	if (meta == NULL) {
		meta = json_object();
		json_object_set_new(result, "_meta", meta);
	}
	json_object_set(meta, META "serverInfo", call->server->info);
}

char *mcp_modern_manners(const struct mcp_server *server)
{
	struct buf b = BUF_INIT;
	json_t *all = json_pack("{s:s, s:{s:O}}", "resultType", "complete", "_meta", META "serverInfo", server->info);
	buf_addc(&b, ',');
	mcp_jsonrpc_add_members(&b, all);
	json_decref(all);
	return buf_steal(&b);
}

static const char *manners(const struct mcp_call *call)
{
	return call->server->manners;
}

/* The question goes back as the result; what the handler must remember travels sealed through the client. */
static const struct mcp_done *ask(struct mcp_call *call, json_t *take_requests, json_t *take_state)
{
	json_t *result = json_pack("{s:s}", "resultType", "input_required");
	if (json_object_size(take_requests) > 0)
		json_object_set(result, "inputRequests", take_requests);
	if (take_state || json_object_size(take_requests) == 0) {
		char *sealed = mcp_seal_close(call, take_state);
		json_object_set_new(result, "requestState", json_string(sealed));
		free(sealed);
	}
	json_decref(take_requests);
	json_decref(take_state);
	return mcp_call_answer(call, result);
}

/* HTTP status of an error: streamable-http, "Protocol Version Header" and "Server Validation". */
static int status(int code)
{
	switch (code) {
	case MCP_METHOD_NOT_FOUND: return 404;
	case MCP_PARSE_ERROR:
	case MCP_INVALID_REQUEST:
	case MCP_HEADER_MISMATCH:
	case MCP_MISSING_CAPABILITY:
	case MCP_UNSUPPORTED_VERSION: return 400;
	}
	return 200;
}

/* The same while the request itself is being checked: a malformed one is 400 whatever its code. */
static int early_status(int code)
{
	return code == MCP_METHOD_NOT_FOUND ? 404 : 400;
}

static const struct mcp_era ERA = {
	.modern = 1, .dress = dress, .manners = manners, .ask = ask, .status = status, .absent_code = MCP_INVALID_PARAMS
};
static const struct mcp_era EARLY = { .modern = 1,
				      .dress = dress,
				      .manners = manners,
				      .ask = ask,
				      .status = early_status,
				      .absent_code = MCP_INVALID_PARAMS };

/* --- the request ------------------------------------------------------------------------------------------------ */

int mcp_modern_is(const struct mcp_jsonrpc *m, const struct mcp_headers *headers)
{
	if (m->members[MCP_META_VERSION] || m->members[MCP_META_CAPABILITIES])
		return 1;
	if (m->method && (strcmp(m->method, "server/discover") == 0 || strcmp(m->method, "subscriptions/listen") == 0))
		return 1;
	return headers && headers->version && strcmp(headers->version, MCP_MODERN_REVISION) == 0;
}

static const struct mcp_done *unsupported(struct mcp_call *call, const char *requested)
{
	json_t *data = json_pack("{s:[s], s:s}", "supported", MCP_MODERN_REVISION, "requested", requested);
	return mcp_call_answer_error(call, MCP_UNSUPPORTED_VERSION, data,
				     "this protocol version is not supported with "
				     "per-request metadata; earlier ones begin with initialize");
}

/* Arguments of tools/call that the tool wants to see in headers too. */
static int check_mirrored(const struct mcp_call *call, const struct mcp_headers *headers, struct err *e)
{
	const char *name = json_string_value(call->members[MCP_PARAM_NAME]);
	const struct mcp_tool *tools = call->server->config.tools;
	const struct mcp_tool *tool =
		strcmp(call->method, "tools/call") == 0 && name ? mcp_registry_tool(tools, name) : NULL;
	const struct mcp_tool_schemas *s = tool ? &call->server->tools[tool - tools] : NULL;
	if (s == NULL || s->header_marks == 0)
		return 0;
	return mcp_headers_check_params(headers, json_object_get(s->entry, "inputSchema"),
					call->members[MCP_PARAM_ARGUMENTS], e);
}

/* _meta as basic/index wants it. NULL when it is in order. */
static const struct mcp_done *check_meta(struct mcp_call *call, const struct mcp_headers *headers)
{
	const char *version = json_string_value(call->members[MCP_META_VERSION]);
	json_t *capabilities = call->members[MCP_META_CAPABILITIES];
	if (version == NULL)
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "params._meta needs \"%s\", a string",
				     mcp_jsonrpc_name(MCP_META_VERSION));
	struct err e;
	err_init(&e);
	if (headers && mcp_headers_check_version(headers, version, &e) < 0)
		return mcp_call_fail(call, MCP_HEADER_MISMATCH, "%s", e.text);
	if (strcmp(version, MCP_MODERN_REVISION) != 0)
		return unsupported(call, version);
	if (!json_is_object(capabilities))
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "params._meta needs \"%s\", an object",
				     mcp_jsonrpc_name(MCP_META_CAPABILITIES));
	if (headers && mcp_headers_check(headers, call->method, call->members, &e) < 0)
		return mcp_call_fail(call, MCP_HEADER_MISMATCH, "%s", e.text);
	if (headers && call->server->header_marks > 0 && check_mirrored(call, headers, &e) < 0)
		return mcp_call_fail(call, MCP_HEADER_MISMATCH, "%s", e.text);
	const json_t *level = call->members[MCP_META_LEVEL];
	call->log_level = json_is_string(level) ? mcp_server_level_parse(json_string_value(level)) : -1;
	if (level && call->log_level < 0)
		return mcp_call_fail(call, MCP_INVALID_PARAMS,
				     "params._meta.%s must be one of debug, info, notice, warning, "
				     "error, critical, alert, emergency",
				     mcp_jsonrpc_name(MCP_META_LEVEL));
	json_decref(call->capabilities);
	call->capabilities = json_incref(capabilities);
	return NULL;
}

/* What a retry brings back: answers and state (its seal binds it to the request). Empty when it is the first try. */
const struct mcp_done *mcp_modern_retry(struct mcp_call *call)
{
	json_t *answers = call->members[MCP_PARAM_INPUT_RESPONSES];
	const json_t *state = call->members[MCP_PARAM_REQUEST_STATE];
	if (answers && !json_is_object(answers))
		return mcp_call_fail(call, MCP_INVALID_PARAMS,
				     "params.inputResponses must be an object of answers by key");
	if (answers) {
		json_decref(call->inputs);
		call->inputs = json_incref(answers);
	}
	struct err e;
	err_init(&e);
	if (state &&
	    (!json_is_string(state) || mcp_seal_open(call, json_string_value(state), &call->input_state, &e) < 0))
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "params.requestState is not acceptable: %s",
				     json_is_string(state) ? e.text : "it must be the string that was given");
	return NULL;
}

static const struct mcp_done *serve(struct mcp_call *call, const struct mcp_headers *headers)
{
	const struct mcp_done *failed = check_meta(call, headers);
	if (failed)
		return failed;
	const struct mcp_method *method = mcp_methods_find(call->server, METHODS, call->method);
	if (method == NULL)
		return mcp_call_fail(call, MCP_METHOD_NOT_FOUND,
				     "there is no method \"%s\" in " MCP_MODERN_REVISION
				     ", or this server does not offer it",
				     call->method);
	call->era = &ERA;
	if (mcp_server_is_full(call->server))
		return mcp_server_refuse_full(call);
	return method->run(call);
}

void mcp_modern_request(struct mcp_server *server, const struct mcp_arrival *a, struct mcp_jsonrpc *m,
			struct mcp_receipt *receipt)
{
	struct mcp_call *call = mcp_call_new(server, &EARLY, m, a->stream, a->headers ? NULL : a->session);
	call->revision = MCP_MODERN_REVISION;
	mcp_call_was_pending(serve(call, a->headers));
	receipt->call = call;
}
