/* call_reply: what a handler can answer: results, refusals, contents, questions, tasks; see mcp/call.h.
 * Everything ends in mcp_call_answer or mcp_call_answer_error of mcp/call.c. */
#include "mcp/call_reply.h"

#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "mcp/call_inner.h"
#include "mcp/parse.h"
#include "mcp/schema.h"
#include "mcp/server_inner.h"
#include "mcp/tasks.h"

enum { ANSWER = 512 }; /* bytes that an answer has besides its text, mostly */

json_t *mcp_call_link(const char *uri, const char *name, const char *title, const char *description,
		      const char *mime_type)
{
	return json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:s*}", "type", "resource_link", "uri", uri, "name", name,
			 "title", title, "description", description, "mimeType", mime_type);
}

void mcp_call_add_content(struct mcp_call *call, json_t *take_block)
{
	lock_take(&call->lock);
	if (call->extra == NULL)
		call->extra = json_array();
	json_array_append_new(call->extra, take_block);
	lock_release(&call->lock);
}

void mcp_call_add_link(struct mcp_call *call, const char *uri, const char *name, const char *title,
		       const char *description, const char *mime_type)
{
	mcp_call_add_content(call, mcp_call_link(uri, name, title, description, mime_type));
}

json_t *mcp_call_result(json_t *take_structured, const char *text, int is_error)
{
	json_t *content = json_array();
	if (text) {
		json_array_append_new(content, json_pack("{s:s, s:o}", "type", "text", "text", mcp_parse_string(text)));
	} else if (take_structured) { /* tools.mdx: structured content SHOULD be repeated as text */
		struct buf b = BUF_INIT;
		mcp_jsonrpc_add_json(&b, take_structured);
		json_array_append_new(content, json_pack("{s:s, s:s}", "type", "text", "text", buf_text(&b)));
		buf_fini(&b);
	}
	json_t *result = json_pack("{s:o}", "content", content);
	if (take_structured)
		json_object_set_new(result, "structuredContent", take_structured);
	if (is_error)
		json_object_set_new(result, "isError", json_true());
	return result;
}

/* The compiled schemas of the call's tool, or NULL when it is no tool's. */
static const struct mcp_tool_schemas *schemas_of(const struct mcp_call *call)
{
	return call->tool ? &call->server->tools[call->tool - call->server->config.tools] : NULL;
}

static void add_text_block(struct buf *b, const char *text, size_t n)
{
	buf_adds(b, "{\"type\":\"text\",\"text\":");
	mcp_jsonrpc_add_text(b, text, n);
	buf_addc(b, '}');
}

/* What mcp_call_result makes, dressed, as text: nearly every answer is one of these. */
static void add_tool_result(struct buf *b, struct mcp_call *call, const json_t *structured, const char *text,
			    int is_error)
{
	int more = text || structured;
	buf_adds(b, "{\"content\":[");
	if (text) {
		add_text_block(b, text, strlen(text));
	} else if (structured) {
		struct buf again = BUF_INIT;
		mcp_jsonrpc_add_json(&again, structured);
		add_text_block(b, buf_text(&again), again.len);
		buf_fini(&again);
	}
	size_t i;
	json_t *block;
	lock_take(&call->lock);
	json_array_foreach(call->extra, i, block)
	{
		if (more++)
			buf_addc(b, ',');
		mcp_jsonrpc_add_json(b, block);
	}
	lock_release(&call->lock);
	buf_addc(b, ']');
	if (structured && (call->era->modern || json_is_object(structured))) { /* sessions take objects only */
		buf_adds(b, ",\"structuredContent\":");
		mcp_jsonrpc_add_json(b, structured);
	}
	if (is_error)
		buf_adds(b, ",\"isError\":true");
	buf_adds(b, call->era->manners(call));
	buf_addc(b, '}');
}

/* Structured content that breaks the tool's own outputSchema would be refused by the client without a word. */
static const struct mcp_done *answer_tool(struct mcp_call *call, json_t *take_structured, const char *text,
					  int is_error)
{
	const struct mcp_tool_schemas *schemas = schemas_of(call);
	if (!is_error && schemas && schemas->output) {
		struct err e = ERR_INIT;
		static const char none[] = "there is no structured content, but the tool has an outputSchema";
		if (take_structured == NULL ||
		    mcp_schema_check(schemas->output, take_structured, "structuredContent", &e) < 0) {
			const struct mcp_done *done =
				mcp_call_fail(call, MCP_INTERNAL_ERROR,
					      "tool \"%s\" gave an answer that its "
					      "outputSchema does not allow: %s",
					      mcp_call_name(call), take_structured ? e.text : none);
			json_decref(take_structured);
			return done;
		}
	}
	struct buf b = BUF_INIT;
	buf_reserve(&b, ANSWER + (text ? strlen(text) : 0));
	mcp_jsonrpc_add_result_head(&b, call->id);
	add_tool_result(&b, call, take_structured, text, is_error);
	buf_addc(&b, '}');
	json_decref(take_structured);
	return mcp_call_answer_text(call, &b);
}

const struct mcp_done *mcp_call_reply(struct mcp_call *call, json_t *take_structured, const char *fmt, ...)
{
	char *made = NULL;
	const char *text = NULL;
	va_list ap;
	va_start(ap, fmt);
	if (fmt && strcmp(fmt, "%s") == 0)
		text = va_arg(ap, const char *); /* a long one need not be copied */
	else if (fmt)
		text = made = mem_fmtv(fmt, ap);
	va_end(ap);
	const struct mcp_done *done = answer_tool(call, take_structured, text, 0);
	free(made);
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

/* resources/read with one entry {uri, mimeType, field: content}. */
static const struct mcp_done *answer_content(struct mcp_call *call, const char *mime_type, const char *field,
					     json_t *take_content)
{
	json_t *entry = json_pack("{s:s, s:s*, s:o}", "uri", mcp_call_name(call), "mimeType",
				  mime_type ? mime_type : call->mime_type, field, take_content);
	return mcp_call_answer(call, json_pack("{s:[o]}", "contents", entry));
}

const struct mcp_done *mcp_call_reply_text(struct mcp_call *call, const char *mime_type, const char *text)
{
	return answer_content(call, mime_type, "text", mcp_parse_string(text));
}

const struct mcp_done *mcp_call_reply_blob(struct mcp_call *call, const char *mime_type, const void *bytes, size_t n)
{
	char *text = mem_new(BASE64_ENCODE_RAW_LENGTH(n) + 1, 1);
	base64_encode_raw(text, n, bytes);
	const struct mcp_done *done = answer_content(call, mime_type, "blob", json_string(text));
	free(text);
	return done;
}

const struct mcp_done *mcp_call_reply_absent(struct mcp_call *call, const char *hint)
{
	json_t *data = json_pack("{s:s}", "uri", mcp_call_name(call));
	char *text =
		mem_fmt("there is no resource \"%s\"%s%s", mcp_call_name(call), hint ? ": " : "", hint ? hint : "");
	const struct mcp_done *done = mcp_call_answer_error(call, call->era->absent_code, data, text);
	free(text);
	return done;
}

const struct mcp_done *mcp_call_reply_messages(struct mcp_call *call, json_t *take_messages, const char *description)
{
	return mcp_call_answer(call, json_pack("{s:s*, s:o}", "description", description, "messages", take_messages));
}

const struct mcp_done *mcp_call_reply_object(struct mcp_call *call, json_t *take_result)
{
	return mcp_call_answer(call, take_result);
}

/* {"a": {"b": {}}} for "a.b", merged into `all`. */
static void add_capability(json_t *all, const char *path)
{
	for (const char *p = path; *p;) {
		size_t n = strcspn(p, ".");
		json_t *at = json_object_getn(all, p, n);
		if (at == NULL) {
			at = json_object();
			json_object_setn_new(all, p, n, at);
		}
		all = at;
		p += n + (p[n] == '.');
	}
}

static const struct mcp_done *need_all(struct mcp_call *call, json_t *take_required)
{
	struct buf b = BUF_INIT;
	buf_adds(&b, "this request needs a capability that the client did not declare: ");
	mcp_jsonrpc_add_json(&b, take_required);
	json_t *data = json_pack("{s:o}", "requiredCapabilities", take_required);
	int code = call->era->modern ? MCP_MISSING_CAPABILITY : MCP_INVALID_REQUEST;
	const struct mcp_done *done = mcp_call_answer_error(call, code, data, buf_text(&b));
	buf_fini(&b);
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
	json_t *missing = json_object();
	const char *key;
	json_t *request;
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
	return call->era->ask(call, take_requests, take_state);
}

const struct mcp_done *mcp_call_task(struct mcp_call *call, const char *id)
{
	return mcp_tasks_answer(call, id);
}
