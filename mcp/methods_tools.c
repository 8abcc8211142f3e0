/* methods_tools: preparing the owner's tools, tools/list and tools/call; see inner.h. */
#include "mcp/inner.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "mcp/schema.h"

/* What is not said has the specification's default: destructive, not idempotent, open world. The first two mean nothing
 * for a tool that only reads. */
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

/* Parses and validates one schema; the text is the server owner's, so mistakes are named precisely. */
static int read_schema(const struct mcp_tool *tool, const char *which, const char *text, json_t **ret_schema, struct err *e)
{
	json_error_t why;
	json_t *schema = json_loads(text, JSON_REJECT_DUPLICATES, &why);
	*ret_schema = schema;
	if (schema == NULL)
		return err_set(e, ERR_INPUT, "%s is not JSON: %s (line %d, column %d)", which, why.text, why.line, why.column);
	return tool->flags & MCP_TOOL_UNCHECKED ? 0 : mcp_schema_validate(schema, which, e);
}

static int is_object_schema(const json_t *schema)
{
	const char *type = json_string_value(json_object_get(schema, "type"));
	return type && strcmp(type, "object") == 0;
}

static int prepare(struct mcp_tool_entry *t, const struct mcp_tool *tool, struct err *e)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	static const char nothing[] = "{\"type\":\"object\",\"additionalProperties\":false}";
	size_t n = strlen(tool->name);
	if (n < 1 || n > 64 || strspn(tool->name, allowed) != n)
		return err_set(e, ERR_INPUT, "a name has 1 to 64 characters of A-Z a-z 0-9 _ . -");
	int rc = read_schema(tool, "inputSchema", tool->input_schema ? tool->input_schema : nothing, &t->input, e);
	if (rc == 0 && !is_object_schema(t->input))
		rc = err_set(e, ERR_INPUT, "the root of inputSchema must say \"type\": \"object\"");
	if (rc == 0 && tool->output_schema)
		rc = read_schema(tool, "outputSchema", tool->output_schema, &t->output, e);
	if (rc < 0)
		return rc;
	t->header_marks = mcp_modern_count_marks(t->input);
	t->shown = json_pack("{s:s, s:s*, s:s*, s:O, s:O*, s:o}", "name", tool->name, "title", tool->title, "description",
			     tool->description, "inputSchema", t->input, "outputSchema", t->output, "annotations",
			     annotations(tool->flags));
	if (tool->ui) /* extension io.modelcontextprotocol/ui, 2026-01-26 */
		json_object_set_new(t->shown, "_meta", json_pack("{s:{s:s}}", "ui", "resourceUri", tool->ui));
	t->legacy_shown = json_copy(t->shown);
	if (t->output && !is_object_schema(t->output)) /* before 2026-07-28 the root had to be an object */
		json_object_del(t->legacy_shown, "outputSchema");
	return 0;
}

int mcp_methods_tools_prepare(struct mcp_server *server, struct err *e)
{
	const struct mcp_tool *tools = server->config.tools;
	for (size_t i = 0; tools && tools[i].name; i++) {
		if (mcp_registry_find(tools, sizeof(struct mcp_tool), tools[i].name) != &tools[i])
			return err_set(e, ERR_INPUT, "tool \"%s\" is in the table twice", tools[i].name);
		struct mcp_tool_entry *t = MEM_PUSH(server->tools, server->tool_count);
		memset(t, 0, sizeof *t);
		if (prepare(t, &tools[i], e) < 0)
			return err_wrap(e, "tool \"%s\"", tools[i].name);
	}
	return 0;
}

void mcp_methods_tools_free(struct mcp_server *server)
{
	for (size_t i = 0; i < server->tool_count; i++) {
		json_decref(server->tools[i].input);
		json_decref(server->tools[i].output);
		json_decref(server->tools[i].shown);
		json_decref(server->tools[i].legacy_shown);
	}
	free(server->tools);
}

const struct mcp_done *mcp_methods_tools_list(struct mcp_call *call)
{
	const struct mcp_done *done;
	size_t from, to, count = call->server->tool_count;
	if (!mcp_methods_page(call, count, &from, &to, &done))
		return done;
	json_t *entries = json_array();
	for (const struct mcp_tool_entry *t = call->server->tools + from; t < call->server->tools + to; t++)
		json_array_append(entries, call->modern ? t->shown : t->legacy_shown);
	return mcp_methods_list(call, "tools", entries, to < count ? to : 0);
}

/* The values that a tool allows for an argument; NULL: any. */
static const json_t *values_of(const struct mcp_tool_entry *t, const char *key)
{
	return json_object_get(json_object_get(json_object_get(t->input, "properties"), key), "enum");
}

static bool has(const json_t *list, const json_t *value)
{
	size_t i;
	const json_t *one;
	json_array_foreach(list, i, one) if (json_equal(one, value)) return true;
	return false;
}

/* The tool of the same family, such as find and find_more, that takes an argument's value which this one refuses; NULL: none. */
static const char *relative(const struct mcp_call *call)
{
	const struct mcp_tool *tools = call->server->config.tools;
	const char *key;
	json_t *value;
	json_object_foreach(call->arguments, key, value)
	{
		const json_t *mine = values_of(&call->server->tools[call->tool - tools], key);
		for (size_t i = 0; mine && !has(mine, value) && i < call->server->tool_count; i++) {
			size_t n = strcspn(tools[i].name, "_");
			if (n == strcspn(call->name, "_") && strncmp(tools[i].name, call->name, n) == 0 &&
			    has(values_of(&call->server->tools[i], key), value))
				return tools[i].name;
		}
	}
	return NULL;
}

const struct mcp_done *mcp_methods_tools_call(struct mcp_call *call)
{
	const struct mcp_tool *tools = call->server->config.tools;
	const struct mcp_done *done;
	const char *name = mcp_call_param(call, "name", &done);
	json_t *arguments = json_object_get(call->message.params, "arguments");
	struct err e;
	err_init(&e);
	if (name == NULL)
		return done;
	call->name = name;
	call->tool = mcp_registry_find(tools, sizeof(struct mcp_tool), name);
	if (call->tool == NULL) {
		struct suggest near;
		suggest_init(&near, name);
		for (const struct mcp_tool *t = tools; t && t->name; t++)
			suggest_offer(&near, t->name);
		return mcp_methods_unknown(call, "tool", name, suggest_best(&near));
	}
	if (arguments && !json_is_object(arguments))
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "params.arguments must be an object");
	if (arguments) {
		json_decref(call->arguments);
		call->arguments = json_incref(arguments);
	}
	if ((call->tool->flags & MCP_TOOL_TASK_ONLY) && !mcp_call_client_has_tasks(call))
		return mcp_call_need_tasks(call);
	const json_t *schema = call->server->tools[call->tool - tools].input;
	if (!(call->tool->flags & MCP_TOOL_UNCHECKED) && mcp_schema_check(schema, call->arguments, "arguments", &e) < 0) {
		const char *other = relative(call);
		/* The model that wrote them can correct them. */
		return mcp_call_refuse(call, "%s%s%s%s", e.text, other ? "; the tool " : "", other ? other : "",
				       other ? " takes it" : "");
	}
	return mcp_call_run_later(call, call->tool->handler);
}
