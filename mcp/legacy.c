/* legacy: methods and manners of the revisions with sessions; see legacy.h. Called by mcp/server.c. */
#include "mcp/legacy.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "mcp/methods.h"
#include "mcp/prompts.h"
#include "mcp/resources.h"
#include "mcp/session.h"
#include "mcp/tools.h"

/* Newest first: what a client with an unknown revision is offered. */
static const char *const REVISIONS[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" };

static const char *revision_of(const char *wanted)
{
	for (size_t i = 0; wanted && i < MEM_COUNT(REVISIONS); i++)
		if (strcmp(wanted, REVISIONS[i]) == 0)
			return REVISIONS[i];
	return NULL;
}

int mcp_legacy_speaks(const char *revision)
{
	return revision_of(revision) != NULL;
}

static const struct mcp_done *initialize(struct mcp_call *call)
{
	const char *wanted = json_string_value(call->members[MCP_PARAM_PROTOCOL_VERSION]);
	if (wanted == NULL)
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "initialize needs params.protocolVersion, e.g. \"%s\"",
				     REVISIONS[0]);
	const char *revision = revision_of(wanted);
	call->revision = revision ? revision : REVISIONS[0];
	const json_t *info = call->members[MCP_PARAM_CLIENT_INFO];
	const char *name = json_string_value(json_object_get(info, "name"));
	const char *version = json_string_value(json_object_get(info, "version"));
	char *client = mem_fmt("%s%s%s", name ? name : "", version ? " " : "", version ? version : "");
	mcp_session_open(call->session, call->revision, call->members[MCP_PARAM_CAPABILITIES], client);
	free(client);
	const struct mcp_server *s = call->server;
	return mcp_call_answer(call, json_pack("{s:s, s:o, s:O, s:s*}", "protocolVersion", call->revision,
					       "capabilities", mcp_server_capabilities(s, 0), "serverInfo", s->info,
					       "instructions", s->config.instructions));
}

static const struct mcp_done *ping(struct mcp_call *call)
{
	return mcp_call_answer(call, json_object());
}

static const struct mcp_done *set_level(struct mcp_call *call)
{
	const char *name = json_string_value(call->members[MCP_PARAM_LEVEL]);
	int level = name ? mcp_server_level_parse(name) : -1;
	if (level < 0)
		return mcp_call_fail(call, MCP_INVALID_PARAMS,
				     "params.level must be one of debug, info, notice, warning, error, "
				     "critical, alert, emergency");
	mcp_session_set_level(call->session, level);
	return mcp_call_answer(call, json_object());
}

static const struct mcp_done *watch(struct mcp_call *call, int on)
{
	const struct mcp_done *done;
	const char *uri = mcp_methods_string(call, MCP_PARAM_URI, &done);
	if (uri == NULL)
		return done;
	mcp_session_watch(call->session, uri, on);
	if (on && call->server->config.listened)
		call->server->config.listened(call->server->config.user);
	return mcp_call_answer(call, json_object());
}

static const struct mcp_done *subscribe(struct mcp_call *call)
{
	return watch(call, 1);
}

static const struct mcp_done *unsubscribe(struct mcp_call *call)
{
	return watch(call, 0);
}

static const struct mcp_method METHODS[] = {
	{ "tools/call", mcp_tools_call, MCP_OFFER_TOOLS },
	{ "initialize", initialize, MCP_OFFER_ALWAYS },
	{ "ping", ping, MCP_OFFER_ALWAYS },
	{ "logging/setLevel", set_level, MCP_OFFER_LOGGING },
	{ "tools/list", mcp_tools_list, MCP_OFFER_TOOLS },
	{ "resources/list", mcp_resources_list, MCP_OFFER_RESOURCES },
	{ "resources/templates/list", mcp_resources_templates, MCP_OFFER_RESOURCES },
	{ "resources/read", mcp_resources_read, MCP_OFFER_RESOURCES },
	{ "resources/subscribe", subscribe, MCP_OFFER_RESOURCES },
	{ "resources/unsubscribe", unsubscribe, MCP_OFFER_RESOURCES },
	{ "prompts/list", mcp_prompts_list, MCP_OFFER_PROMPTS },
	{ "prompts/get", mcp_prompts_get, MCP_OFFER_PROMPTS },
	{ "completion/complete", mcp_prompts_complete, MCP_OFFER_COMPLETIONS },
	{ NULL, NULL, 0 },
};

/* structuredContent had to be an object before 2026-07-28; its text is there all the same. */
static void dress(struct mcp_call *call, json_t *result)
{
	(void)call;
	const json_t *structured = json_object_get(result, "structuredContent");
	if (structured && !json_is_object(structured))
		json_object_del(result, "structuredContent");
}

/* Questions go to the client as requests of their own, on the stream of the call. */
static const struct mcp_done *ask(struct mcp_call *call, json_t *take_requests, json_t *take_state)
{
	json_decref(call->input_state);
	call->input_state = take_state;
	if (json_object_size(take_requests) == 0) {
		json_decref(take_requests);
		return mcp_call_fail(call, MCP_INTERNAL_ERROR, "this needs a client of revision 2026-07-28");
	}
	return mcp_session_ask(call->session, call, take_requests);
}

/* Answers are 200 whatever they say; what is refused before it is a request has its own status. */
static int status(int code)
{
	(void)code;
	return 200;
}

static const char *manners(const struct mcp_call *call)
{
	(void)call;
	return "";
}

static const struct mcp_era ERA = { .modern = 0,
				    .dress = dress,
				    .manners = manners,
				    .ask = ask,
				    .status = status,
				    .absent_code = MCP_LEGACY_RESOURCE_NOT_FOUND };

static const struct mcp_done *serve(struct mcp_call *call)
{
	const struct mcp_method *method = mcp_methods_find(call->server, METHODS, call->method);
	int opening = strcmp(call->method, "initialize") == 0 || strcmp(call->method, "ping") == 0;
	if (!opening && mcp_session_revision(call->session) == NULL)
		return mcp_call_fail(
			call, MCP_INVALID_REQUEST,
			"the first request must be initialize; or send "
			"_meta[\"io.modelcontextprotocol/protocolVersion\"] with every request (2026-07-28)");
	if (method == NULL)
		return mcp_call_fail(call, MCP_METHOD_NOT_FOUND,
				     "there is no method \"%s\", or this server does not offer it", call->method);
	if (mcp_server_is_full(call->server))
		return mcp_server_refuse_full(call);
	return method->run(call);
}

void mcp_legacy_request(struct mcp_server *server, const struct mcp_arrival *a, struct mcp_jsonrpc *m,
			struct mcp_receipt *receipt)
{
	struct mcp_session *session = a->session;
	if (session == NULL && strcmp(m->method, "initialize") == 0)
		session = receipt->session = mcp_session_new(server, NULL, 1);
	if (session == NULL) {
		struct buf b = BUF_INIT;
		mcp_jsonrpc_add_error(&b, m->id, MCP_INVALID_REQUEST,
				      "the header Mcp-Session-Id is missing: send initialize first "
				      "(revisions to 2025-11-25), or MCP-Protocol-Version: 2026-07-28 with its _meta",
				      NULL);
		struct mcp_outgoing o = { .text = buf_text(&b), .n = b.len, .final = 1, .status = 400 };
		mcp_stream_send(a->stream, &o);
		buf_fini(&b);
		return;
	}
	struct mcp_call *call = mcp_call_new(server, &ERA, m, a->stream, session);
	mcp_session_describe(session, call);
	mcp_call_was_pending(serve(call));
	receipt->call = call;
}
