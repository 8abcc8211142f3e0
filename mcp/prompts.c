/* prompts: listing, filling in, and completing names; see prompts.h. Called through the tables of the eras. */
#include "mcp/prompts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "mcp/server_inner.h"

enum { COMPLETIONS_MAX = 100 }; /* what one answer may hold: server/utilities/completion, "Response" */

static json_t *entry(const struct mcp_prompt *p)
{
	json_t *arguments = json_array();
	for (const struct mcp_prompt_argument *a = p->arguments; a && a->name; a++)
		json_array_append_new(arguments, json_pack("{s:s, s:s*, s:b}", "name", a->name, "description",
							   a->description, "required", a->required));
	return json_pack("{s:s, s:s*, s:s*, s:o}", "name", p->name, "title", p->title, "description", p->description,
			 "arguments", arguments);
}

const struct mcp_done *mcp_prompts_list(struct mcp_call *call)
{
	const struct mcp_prompt *table = call->server->config.prompts;
	size_t count = 0, from, to;
	while (table[count].name)
		count++;
	const struct mcp_done *done;
	if (!mcp_methods_page(call, count, &from, &to, &done))
		return done;
	json_t *entries = json_array();
	for (size_t i = from; i < to; i++)
		json_array_append_new(entries, entry(&table[i]));
	return mcp_methods_list(call, "prompts", entries, to < count ? to : 0);
}

static const struct mcp_done *no_such_prompt(struct mcp_call *call, const char *name)
{
	struct suggest near;
	suggest_init(&near, name);
	for (const struct mcp_prompt *p = call->server->config.prompts; p->name; p++)
		suggest_offer(&near, p->name);
	const char *best = suggest_best(&near);
	if (best)
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "there is no prompt \"%s\"; did you mean \"%s\"?", name,
				     best);
	return mcp_call_fail(call, MCP_INVALID_PARAMS, "there is no prompt \"%s\"; prompts/list names them all", name);
}

/* Prompt arguments are strings, and the required ones must be there. */
static int arguments_are_valid(struct mcp_call *call, const json_t *arguments, const struct mcp_done **ret_done)
{
	const char *key;
	json_t *value;
	if (arguments && !json_is_object(arguments)) {
		*ret_done = mcp_call_fail(call, MCP_INVALID_PARAMS, "params.arguments must be an object of strings");
		return 0;
	}
	json_object_foreach(MCP_JSON(arguments), key, value)
	{
		if (!json_is_string(value)) {
			*ret_done =
				mcp_call_fail(call, MCP_INVALID_PARAMS, "params.arguments.%s must be a string", key);
			return 0;
		}
	}
	for (const struct mcp_prompt_argument *a = call->prompt->arguments; a && a->name; a++) {
		if (a->required && json_object_get(arguments, a->name) == NULL) {
			*ret_done =
				mcp_call_fail(call, MCP_INVALID_PARAMS, "prompt \"%s\" needs the argument \"%s\"%s%s",
					      call->prompt->name, a->name, a->description ? ": " : "",
					      a->description ? a->description : "");
			return 0;
		}
	}
	return 1;
}

const struct mcp_done *mcp_prompts_get(struct mcp_call *call)
{
	const struct mcp_done *done;
	const char *name = mcp_methods_string(call, MCP_PARAM_NAME, &done);
	if (name == NULL)
		return done;
	call->name = name;
	call->prompt = mcp_registry_prompt(call->server->config.prompts, name);
	if (call->prompt == NULL)
		return no_such_prompt(call, name);
	json_t *arguments = call->members[MCP_PARAM_ARGUMENTS];
	if (!arguments_are_valid(call, arguments, &done))
		return done;
	if (arguments) {
		json_decref(call->arguments);
		call->arguments = json_incref(arguments);
	}
	return mcp_methods_run_later(call, call->prompt->get);
}

/* --- completion ------------------------------------------------------------------------------------------------- */

/* Keeps candidates that contain the value: those that begin with it first, each group in the owner's order. */
static json_t *best_first(const json_t *candidates, const char *value)
{
	json_t *kept = json_array();
	size_t i;
	json_t *c;
	for (int inside = 0; inside <= 1; inside++) {
		json_array_foreach(candidates, i, c)
		{
			const char *text = json_string_value(c);
			const char *at = text ? strcasestr(text, value) : NULL;
			if (at && (at != text) == inside)
				json_array_append(kept, c);
		}
	}
	return kept;
}

static const struct mcp_done *complete(struct mcp_call *call)
{
	const json_t *ref = call->members[MCP_PARAM_REF], *argument = call->members[MCP_PARAM_ARGUMENT];
	json_t *none = json_object();
	json_t *context = json_object_get(call->members[MCP_PARAM_CONTEXT], "arguments");
	struct mcp_completion what = {
		.prompt = json_string_value(json_object_get(ref, "name")),
		.uri_template = json_string_value(json_object_get(ref, "uri")),
		.argument = json_string_value(json_object_get(argument, "name")),
		.value = json_string_value(json_object_get(argument, "value")),
		.context = json_is_object(context) ? context : none,
	};
	json_t *candidates = json_array();
	call->server->config.complete(call->server->config.user, &what, candidates);
	json_t *values = best_first(candidates, what.value);
	json_decref(candidates);
	json_decref(none);
	size_t total = json_array_size(values);
	while (json_array_size(values) > COMPLETIONS_MAX)
		json_array_remove(values, json_array_size(values) - 1);
	return mcp_call_answer(call, json_pack("{s:{s:o, s:I, s:b}}", "completion", "values", values, "total",
					       (json_int_t)total, "hasMore", total > COMPLETIONS_MAX));
}

/* Whether ref names a prompt, template or resource of this server. */
static int ref_is_known(const struct mcp_server_config *config, const json_t *ref)
{
	const char *type = json_string_value(json_object_get(ref, "type"));
	const char *name = json_string_value(json_object_get(ref, "name"));
	const char *uri = json_string_value(json_object_get(ref, "uri"));
	if (type && strcmp(type, "ref/prompt") == 0)
		return name && mcp_registry_prompt(config->prompts, name);
	if (type == NULL || strcmp(type, "ref/resource") != 0 || uri == NULL)
		return 0;
	for (const struct mcp_template *t = config->templates; t && t->uri_template; t++)
		if (strcmp(t->uri_template, uri) == 0)
			return 1;
	return mcp_registry_resource(config->resources, uri) != NULL;
}

const struct mcp_done *mcp_prompts_complete(struct mcp_call *call)
{
	const json_t *argument = call->members[MCP_PARAM_ARGUMENT];
	if (!json_is_string(json_object_get(argument, "name")) || !json_is_string(json_object_get(argument, "value")))
		return mcp_call_fail(
			call, MCP_INVALID_PARAMS,
			"completion/complete needs params.argument with the strings \"name\" and \"value\"");
	if (!ref_is_known(&call->server->config, call->members[MCP_PARAM_REF]))
		return mcp_call_fail(call, MCP_INVALID_PARAMS,
				     "params.ref must be {\"type\": \"ref/prompt\", \"name\": …} or "
				     "{\"type\": \"ref/resource\", \"uri\": …} of something that this server lists");
	return mcp_methods_run_later(call, complete);
}
