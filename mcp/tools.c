/* tools: listing and calling; see tools.h. Called through the tables of mcp/modern.c and mcp/legacy.c. */
#include "mcp/tools.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "mcp/headers.h"
#include "mcp/schema.h"
#include "mcp/server_inner.h"

static int name_is_valid(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	size_t n = strlen(name);
	return n >= 1 && n <= 64 && strspn(name, allowed) == n;
}

/* What is not said has the specification's default: destructive, not idempotent, open world. The first two mean
 * nothing for a tool that only reads. */
static json_t *annotations(unsigned flags)
{
	json_t *said = json_pack("{s:b}", "readOnlyHint", !!(flags & MCP_TOOL_READ_ONLY));
	if (!(flags & (MCP_TOOL_READ_ONLY | MCP_TOOL_DESTRUCTIVE)))
		json_object_set_new(said, "destructiveHint", json_false());
	if ((flags & MCP_TOOL_IDEMPOTENT) && !(flags & MCP_TOOL_READ_ONLY))
		json_object_set_new(said, "idempotentHint", json_true());
	if (!(flags & MCP_TOOL_OPEN_WORLD))
		json_object_set_new(said, "openWorldHint", json_false());
	return said;
}

/* Parses one schema of a tool and compiles it; the text is the server owner's, so mistakes are named precisely. */
static int compile(const struct mcp_tool *tool, const char *which, const char *text, json_t **ret_json,
		   struct mcp_schema **ret_schema, struct err *e)
{
	json_error_t why;
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &why);
	if (json == NULL)
		return err_set(e, ERR_INPUT, "tool \"%s\": its %s is not JSON: %s (line %d, column %d)", tool->name,
			       which, why.text, why.line, why.column);
	int rc = mcp_schema_new(json, which, ret_schema, e);
	if (rc < 0) {
		json_decref(json);
		return err_wrap(e, "tool \"%s\"", tool->name);
	}
	*ret_json = json;
	return 0;
}

static int is_object_schema(const json_t *schema)
{
	const char *type = json_string_value(json_object_get(schema, "type"));
	return type && strcmp(type, "object") == 0;
}

static int compile_tool(struct mcp_tool_schemas *s, const struct mcp_tool *tool, struct err *e)
{
	json_t *input = NULL, *output = NULL;
	if (!name_is_valid(tool->name))
		return err_set(e, ERR_INPUT, "tool \"%s\": a name is 1 to 64 of A-Z a-z 0-9 _ . -", tool->name);
	static const char nothing[] = "{\"type\":\"object\",\"additionalProperties\":false}";
	int rc = compile(tool, "inputSchema", tool->input_schema ? tool->input_schema : nothing, &input, &s->input, e);
	if (rc == 0 && !is_object_schema(input))
		rc = err_set(e, ERR_INPUT, "tool \"%s\": the root of its inputSchema must say \"type\": \"object\"",
			     tool->name);
	if (rc == 0 && (rc = s->header_marks = mcp_headers_count_marks(input, e)) < 0)
		err_wrap(e, "tool \"%s\": its inputSchema", tool->name);
	if (rc > 0)
		rc = 0;
	if (rc == 0 && tool->output_schema)
		rc = compile(tool, "outputSchema", tool->output_schema, &output, &s->output, e);
	if (rc == 0) {
		s->entry = json_pack("{s:s, s:s*, s:s*, s:O, s:O*, s:o}", "name", tool->name, "title", tool->title,
				     "description", tool->description, "inputSchema", input, "outputSchema", output,
				     "annotations", annotations(tool->flags));
		s->legacy_entry = json_incref(s->entry);
		if (output && !is_object_schema(output)) { /* before 2026-07-28 the root had to be an object */
			json_decref(s->legacy_entry);
			s->legacy_entry = json_copy(s->entry);
			json_object_del(s->legacy_entry, "outputSchema");
		}
	}
	json_decref(input);
	json_decref(output);
	return rc;
}

int mcp_tools_compile(struct mcp_server *server, struct err *e)
{
	const struct mcp_tool *tools = server->config.tools;
	for (size_t i = 0; tools && tools[i].name; i++) {
		if (mcp_registry_tool(tools, tools[i].name) != &tools[i])
			return err_set(e, ERR_INPUT, "tool \"%s\" is in the table twice", tools[i].name);
		struct mcp_tool_schemas *s = MEM_PUSH(server->tools, server->tool_count);
		memset(s, 0, sizeof *s);
		int rc = compile_tool(s, &tools[i], e);
		if (rc < 0)
			return rc;
		server->header_marks += s->header_marks;
	}
	return 0;
}

void mcp_tools_free(struct mcp_server *server)
{
	for (size_t i = 0; i < server->tool_count; i++) {
		mcp_schema_free(server->tools[i].input);
		mcp_schema_free(server->tools[i].output);
		json_decref(server->tools[i].entry);
		json_decref(server->tools[i].legacy_entry);
	}
	free(server->tools);
}

const struct mcp_done *mcp_tools_list(struct mcp_call *call)
{
	const struct mcp_done *done;
	size_t from, to, count = call->server->tool_count;
	if (!mcp_methods_page(call, count, &from, &to, &done))
		return done;
	json_t *entries = json_array();
	for (size_t i = from; i < to; i++) {
		const struct mcp_tool_schemas *s = &call->server->tools[i];
		json_array_append(entries, call->era->modern ? s->entry : s->legacy_entry);
	}
	return mcp_methods_list(call, "tools", entries, to < count ? to : 0);
}

static const struct mcp_done *no_such_tool(struct mcp_call *call, const char *name)
{
	const char *best = NULL;
	struct suggest near;
	suggest_init(&near, name);
	for (const struct mcp_tool *t = call->server->config.tools; t && t->name; t++)
		suggest_offer(&near, t->name);
	best = suggest_best(&near);
	if (best)
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "there is no tool \"%s\"; did you mean \"%s\"?", name,
				     best);
	return mcp_call_fail(call, MCP_INVALID_PARAMS, "there is no tool \"%s\"; tools/list names them all", name);
}

const struct mcp_done *mcp_tools_call(struct mcp_call *call)
{
	const struct mcp_done *done;
	const char *name = mcp_methods_string(call, MCP_PARAM_NAME, &done);
	if (name == NULL)
		return done;
	call->name = name;
	call->tool = mcp_registry_tool(call->server->config.tools, name);
	if (call->tool == NULL)
		return no_such_tool(call, name);
	json_t *arguments = call->members[MCP_PARAM_ARGUMENTS];
	if (arguments && !json_is_object(arguments))
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "params.arguments must be an object");
	if (arguments) {
		json_decref(call->arguments);
		call->arguments = json_incref(arguments);
	}
	if ((call->tool->flags & MCP_TOOL_TASK_ONLY) && !mcp_call_client_has_tasks(call))
		return mcp_call_need_tasks(call);
	struct err e;
	err_init(&e);
	const struct mcp_schema *schema = call->server->tools[call->tool - call->server->config.tools].input;
	if (mcp_schema_check(schema, call->arguments, "arguments", &e) < 0)
		return mcp_call_refuse(call, "%s", e.text); /* the model that wrote them can correct them */
	return mcp_methods_run_later(call, call->tool->handler);
}
