/* legacy: the methods of the revisions with sessions; see inner.h. Called by mcp/server.c. */

#include "mcp/inner.h"

#include <string.h>

#include "base/mem.h"

/* Newest first: a client with an unknown revision is offered the first. */
static const char *const REVISIONS[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" };

/* The same in static storage; NULL when this server does not speak it. */
static const char *known_revision(const char *wanted)
{
	for (size_t i = 0; i < MEM_COUNT(REVISIONS); i++)
		if (strcmp(wanted, REVISIONS[i]) == 0)
			return REVISIONS[i];
	return NULL;
}

int mcp_legacy_speaks(const char *revision)
{
	return known_revision(revision) != NULL;
}

static const struct mcp_done *initialize(struct mcp_call *call)
{
	const struct mcp_server *s = call->server;
	struct mcp_session *session = call->session;
	const json_t *params = call->message.params;
	const char *wanted = json_string_value(json_object_get(params, "protocolVersion"));
	if (wanted == NULL)
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "initialize needs params.protocolVersion, e.g. \"%s\"",
				     REVISIONS[0]);
	const char *revision = known_revision(wanted);
	call->revision = revision ? revision : REVISIONS[0];
	const json_t *capabilities = json_object_get(params, "capabilities");
	lock_take(&session->lock);
	session->revision = call->revision;
	json_decref(session->capabilities);
	session->capabilities = json_is_object(capabilities) ? json_deep_copy(capabilities) : json_object();
	lock_release(&session->lock);
	return mcp_call_answer(call, json_pack("{s:s, s:o, s:O, s:s*}", "protocolVersion", call->revision, "capabilities",
					       mcp_server_capabilities(s, 0), "serverInfo", s->info, "instructions",
					       s->config.instructions));
}

static const struct mcp_done *ping(struct mcp_call *call)
{
	return mcp_call_answer(call, json_object());
}

static const struct mcp_done *set_level(struct mcp_call *call)
{
	const char *name = json_string_value(json_object_get(call->message.params, "level"));
	int level = name ? mcp_server_level_parse(name) : -1;
	if (level < 0)
		return mcp_call_fail(call, MCP_INVALID_PARAMS,
				     "params.level must be one of debug, info, notice, warning, error, "
				     "critical, alert, emergency");
	lock_take(&call->session->lock);
	call->session->log_level = level;
	lock_release(&call->session->lock);
	return mcp_call_answer(call, json_object());
}

static const struct mcp_done *subscribe(struct mcp_call *call)
{
	const struct mcp_server_config *config = &call->server->config;
	const struct mcp_done *done;
	const char *uri = mcp_call_param(call, "uri", &done);
	int on = strcmp(call->message.method, "resources/subscribe") == 0;
	if (uri == NULL)
		return done;
	lock_take(&call->session->lock);
	if (on)
		json_object_set_new(call->session->watched, uri, json_true());
	else
		json_object_del(call->session->watched, uri);
	lock_release(&call->session->lock);
	if (on && config->listened)
		config->listened(config->user);
	return mcp_call_answer(call, json_object());
}

static const struct mcp_method METHODS[] = {
	{ "tools/call", mcp_methods_tools_call, MCP_OFFER_TOOLS },
	{ "initialize", initialize, MCP_OFFER_ALWAYS },
	{ "ping", ping, MCP_OFFER_ALWAYS },
	{ "logging/setLevel", set_level, MCP_OFFER_LOGGING },
	{ "tools/list", mcp_methods_tools_list, MCP_OFFER_TOOLS },
	{ "resources/list", mcp_methods_resources_list, MCP_OFFER_RESOURCES },
	{ "resources/templates/list", mcp_methods_resources_templates, MCP_OFFER_RESOURCES },
	{ "resources/read", mcp_methods_resources_read, MCP_OFFER_RESOURCES },
	{ "resources/subscribe", subscribe, MCP_OFFER_RESOURCES },
	{ "resources/unsubscribe", subscribe, MCP_OFFER_RESOURCES },
	{ "prompts/list", mcp_methods_prompts_list, MCP_OFFER_PROMPTS },
	{ "prompts/get", mcp_methods_prompts_get, MCP_OFFER_PROMPTS },
	{ "completion/complete", mcp_methods_complete, MCP_OFFER_COMPLETIONS },
	{ NULL, NULL, 0 },
};

static const struct mcp_done *serve(struct mcp_call *call)
{
	const char *name = call->message.method;
	const struct mcp_method *method = mcp_methods_find(call->server, METHODS, name);
	int opening = strcmp(name, "initialize") == 0 || strcmp(name, "ping") == 0;
	if (!opening && mcp_session_revision(call->session) == NULL)
		return mcp_call_fail(call, MCP_INVALID_REQUEST,
				     "the first request must be initialize; or send "
				     "_meta[\"" MCP_META "protocolVersion\"] with every request (" MCP_MODERN ")");
	if (method == NULL)
		return mcp_call_fail(call, MCP_METHOD_NOT_FOUND, "there is no method \"%s\", or this server does not offer it",
				     name);
	if (mcp_server_is_full(call->server))
		return mcp_call_answer_full(call, "the server is busy: too many requests at once; try again in a second");
	return method->run(call);
}

void mcp_legacy_request(struct mcp_server *server, const struct mcp_arrival *a, struct mcp_jsonrpc *m, struct mcp_receipt *receipt)
{
	struct mcp_session *session = a->session;
	int opens = session == NULL && strcmp(m->method, "initialize") == 0;
	if (opens)
		session = receipt->session = mcp_session_new(server, NULL, 1);
	if (opens && session == NULL) {
		mcp_server_refuse(server, a->stream, m->id, 503, MCP_INTERNAL_ERROR,
				  "too many sessions are open, and all of them are busy; end one (DELETE), or try again "
				  "when a call has ended");
		return;
	}
	if (session == NULL) {
		mcp_server_refuse(server, a->stream, m->id, 400, MCP_INVALID_REQUEST,
				  "the header Mcp-Session-Id is missing: send initialize first (revisions to 2025-11-25), "
				  "or MCP-Protocol-Version: " MCP_MODERN " with its _meta");
		return;
	}
	struct mcp_call *call = mcp_call_new(server, 0, m, a->stream, session);
	mcp_session_describe(session, call);
	mcp_call_was_pending(serve(call));
	receipt->call = call;
}
