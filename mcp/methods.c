/* methods: what all methods need: lookup, pages, the way to the pool; see methods.h. */
#include "mcp/methods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/modern.h"
#include "mcp/server_inner.h"

int mcp_methods_offered(const struct mcp_server *server, enum mcp_offer what)
{
	const struct mcp_server_config *c = &server->config;
	switch (what) {
	case MCP_OFFER_ALWAYS: return 1;
	case MCP_OFFER_TOOLS: return c->tools != NULL;
	case MCP_OFFER_RESOURCES: return c->resources || c->templates || c->list_resources;
	case MCP_OFFER_PROMPTS: return c->prompts != NULL;
	case MCP_OFFER_COMPLETIONS: return c->complete != NULL;
	case MCP_OFFER_TASKS: return c->tasks != NULL;
	case MCP_OFFER_LOGGING: return c->logging;
	}
	return 0;
}

const struct mcp_method *mcp_methods_find(const struct mcp_server *server, const struct mcp_method *table,
					  const char *name)
{
	for (const struct mcp_method *m = table; m->name; m++)
		if (strcmp(m->name, name) == 0)
			return mcp_methods_offered(server, (enum mcp_offer)m->offered) ? m : NULL;
	return NULL;
}

/* Cursors are "at-N": opaque to clients, stable since tables do not change and dynamic lists only grow. */
int mcp_methods_page(struct mcp_call *call, size_t count, size_t *ret_from, size_t *ret_to,
		     const struct mcp_done **ret_done)
{
	size_t from = 0;
	const json_t *cursor = call->members[MCP_PARAM_CURSOR];
	if (cursor) {
		char *end = NULL;
		const char *text = json_string_value(cursor);
		if (text && strncmp(text, "at-", 3) == 0 && text[3] >= '0' && text[3] <= '9')
			from = strtoul(text + 3, &end, 10);
		if (end == NULL || *end != '\0' || from > count) {
			*ret_done = mcp_call_fail(
				call, MCP_INVALID_PARAMS,
				"params.cursor is not one that this server gave; list again without a cursor");
			return 0;
		}
	}
	size_t page = call->server->config.page;
	*ret_from = from;
	*ret_to = count - from > page ? from + page : count;
	return 1;
}

const struct mcp_done *mcp_methods_list(struct mcp_call *call, const char *field, json_t *take_entries, size_t next)
{
	json_t *result = json_pack("{s:o}", field, take_entries);
	if (next > 0) {
		char cursor[32];
		snprintf(cursor, sizeof cursor, "at-%zu", next);
		json_object_set_new(result, "nextCursor", json_string(cursor));
	}
	call->ttl_scope = "public";
	return mcp_call_answer(call, result);
}

const char *mcp_methods_string(struct mcp_call *call, enum mcp_jsonrpc_member field, const struct mcp_done **ret_done)
{
	const char *value = json_string_value(call->members[field]);
	if (value && *value)
		return value;
	*ret_done = mcp_call_fail(call, MCP_INVALID_PARAMS, "%s needs params.%s, a string", call->method,
				  mcp_jsonrpc_name(field));
	return NULL;
}

const struct mcp_done *mcp_methods_run_later(struct mcp_call *call, mcp_handler *handler)
{
	if (call->era->modern) {
		const struct mcp_done *failed = mcp_modern_retry(call);
		if (failed)
			return failed;
	}
	call->handler = handler;
	if (call->tool && (call->tool->flags & MCP_TOOL_QUICK))
		return handler(call);
	mcp_server_dispatch(call->server, mcp_call_ref(call));
	return mcp_call_pending(call);
}
