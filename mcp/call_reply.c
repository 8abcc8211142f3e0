/* call_reply: what a handler can answer with: results, refusals, contents, questions, tasks; see mcp/call.h. Everything
 * ends in mcp_call_answer or mcp_call_answer_error of mcp/call.c. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/call.h"
#include "mcp/inner.h"
#include "mcp/schema.h"

json_t *mcp_call_result(json_t *take_structured, const char *text, int is_error)
{
	json_t *content = json_array();
	char *again = NULL;
	if (text == NULL && take_structured) /* tools.mdx: structured content SHOULD be repeated as text */
		text = again = mcp_jsonrpc_text(take_structured);
	if (text)
		json_array_append_new(content, json_pack("{s:s, s:o}", "type", "text", "text", mcp_jsonrpc_string(text)));
	free(again);
	json_t *result = json_pack("{s:o}", "content", content);
	if (take_structured)
		json_object_set_new(result, "structuredContent", take_structured);
	if (is_error)
		json_object_set_new(result, "isError", json_true());
	return result;
}

/* A client would refuse structured content that breaks the tool's own outputSchema without a word. */
static const struct mcp_done *answer_tool(struct mcp_call *call, json_t *take_structured, const char *text, int is_error)
{
	struct err e = ERR_INIT;
	const struct mcp_tool *tool = call->tool;
	const json_t *schema = tool ? call->server->tools[tool - call->server->config.tools].output : NULL;
	if (schema && !is_error) {
		if (take_structured == NULL)
			err_set(&e, ERR_INTERNAL, "it has no structured content");
		else
			mcp_schema_check(schema, take_structured, "structuredContent", &e);
	}
	if (e.code != ERR_NONE) {
		json_decref(take_structured);
		return mcp_call_fail(call, MCP_INTERNAL_ERROR,
				     "tool \"%s\" gave an answer that its outputSchema does not allow: %s", mcp_call_name(call),
				     e.text);
	}
	return mcp_call_answer(call, mcp_call_result(take_structured, text, is_error));
}

const struct mcp_done *mcp_call_reply(struct mcp_call *call, json_t *take_structured, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *text = fmt ? mem_fmtv(fmt, ap) : NULL;
	va_end(ap);
	const struct mcp_done *done = answer_tool(call, take_structured, text, 0);
	free(text);
	return done;
}

const struct mcp_done *mcp_call_refuse(struct mcp_call *call, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *text = mem_fmtv(fmt, ap);
	va_end(ap);
	const struct mcp_done *done = answer_tool(call, NULL, text, 1);
	free(text);
	return done;
}

const struct mcp_done *mcp_call_refuse_with(struct mcp_call *call, json_t *take_structured, const char *text)
{
	return answer_tool(call, take_structured, text, 1);
}

const struct mcp_done *mcp_call_reply_text(struct mcp_call *call, const char *mime_type, const char *text)
{
	json_t *entry = json_pack("{s:s, s:s*, s:o}", "uri", mcp_call_name(call), "mimeType",
				  mime_type ? mime_type : call->mime_type, "text", mcp_jsonrpc_string(text));
	return mcp_call_answer(call, json_pack("{s:[o]}", "contents", entry));
}

const struct mcp_done *mcp_call_reply_absent(struct mcp_call *call, const char *hint)
{
	json_t *data = json_pack("{s:s}", "uri", mcp_call_name(call));
	char *text = mem_fmt("there is no resource \"%s\"%s%s", mcp_call_name(call), hint ? ": " : "", hint ? hint : "");
	int code = call->modern ? MCP_INVALID_PARAMS : MCP_LEGACY_RESOURCE_NOT_FOUND;
	const struct mcp_done *done = mcp_call_answer_error(call, code, data, text);
	free(text);
	return done;
}

const struct mcp_done *mcp_call_reply_messages(struct mcp_call *call, json_t *take_messages, const char *description)
{
	return mcp_call_answer(call, json_pack("{s:s*, s:o}", "description", description, "messages", take_messages));
}

const struct mcp_done *mcp_call_fail(struct mcp_call *call, int code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *text = mem_fmtv(fmt, ap);
	va_end(ap);
	const struct mcp_done *done = mcp_call_answer_error(call, code, NULL, text);
	free(text);
	return done;
}

/* --- what the client must be able to do ------------------------------------------------------------------------- */

/* Merges {"a": {"b": {}}} into `all` for the path "a.b". */
static void add_capability(json_t *all, const char *path)
{
	for (const char *p = path; *p;) {
		size_t n = strcspn(p, ".");
		json_t *below = json_object_getn(all, p, n);
		if (below == NULL) {
			below = json_object();
			json_object_setn_new(all, p, n, below);
		}
		all = below;
		p += n + (p[n] == '.');
	}
}

static const struct mcp_done *need_all(struct mcp_call *call, json_t *take_required)
{
	char *required = mcp_jsonrpc_text(take_required);
	char *text = mem_fmt("this request needs a capability that the client did not declare: %s", required);
	json_t *data = json_pack("{s:o}", "requiredCapabilities", take_required);
	int code = call->modern ? MCP_MISSING_CAPABILITY : MCP_INVALID_REQUEST;
	const struct mcp_done *done = mcp_call_answer_error(call, code, data, text);
	free(required);
	free(text);
	return done;
}

const struct mcp_done *mcp_call_need(struct mcp_call *call, const char *path)
{
	json_t *required = json_object();
	add_capability(required, path);
	return need_all(call, required);
}

const struct mcp_done *mcp_call_need_tasks(struct mcp_call *call)
{
	return need_all(call, json_pack("{s:{s:{}}}", "extensions", MCP_TASKS_EXTENSION));
}

/* Which capability a request to the client needs; NULL for a request that no client serves. */
static const char *needed_by(const json_t *request)
{
	const char *method = json_string_value(json_object_get(request, "method"));
	const json_t *params = json_object_get(request, "params");
	if (method == NULL)
		return NULL;
	if (strcmp(method, "roots/list") == 0)
		return "roots";
	if (strcmp(method, "sampling/createMessage") == 0)
		return json_object_get(params, "tools") ? "sampling.tools" : "sampling";
	if (strcmp(method, "elicitation/create") != 0)
		return NULL;
	const char *mode = json_string_value(json_object_get(params, "mode"));
	return mode && strcmp(mode, "url") == 0 ? "elicitation.url" : "elicitation";
}

const struct mcp_done *mcp_call_ask(struct mcp_call *call, json_t *take_requests, json_t *take_state)
{
	json_t *missing = json_object(), *request;
	const char *key;
	json_object_foreach(take_requests, key, request)
	{
		const char *path = needed_by(request);
		if (path && !mcp_call_client_has(call, path))
			add_capability(missing, path);
	}
	if (json_object_size(missing) > 0) {
		json_decref(take_requests);
		json_decref(take_state);
		return need_all(call, missing);
	}
	json_decref(missing);
	return call->modern ? mcp_modern_ask(call, take_requests, take_state) : mcp_session_ask(call, take_requests, take_state);
}

const struct mcp_done *mcp_call_task(struct mcp_call *call, const char *id)
{
	return mcp_methods_tasks_answer(call, id);
}
