/* methods: finding methods, the pages of lists, resources, prompts and completion; see inner.h. */

#include "mcp/inner.h"

#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"

/* URI_MAX: bytes; templates are matched by trying, so their input is bounded. COMPLETIONS_MAX: what one answer may hold,
 * server/utilities/completion, "Response". */
enum { URI_MAX = 8192, COMPLETIONS_MAX = 100 };

const struct mcp_method *mcp_methods_find(const struct mcp_server *server, const struct mcp_method *table, const char *name)
{
	const struct mcp_server_config *c = &server->config;
	const struct mcp_method *m = table;
	while (m->name && strcmp(m->name, name) != 0)
		m++;
	if (m->name == NULL)
		return NULL;
	switch (m->offer) {
	case MCP_OFFER_ALWAYS: return m;
	case MCP_OFFER_TOOLS: return c->tools ? m : NULL;
	case MCP_OFFER_RESOURCES: return mcp_server_has_resources(server) ? m : NULL;
	case MCP_OFFER_PROMPTS: return c->prompts ? m : NULL;
	case MCP_OFFER_COMPLETIONS: return c->complete ? m : NULL;
	case MCP_OFFER_TASKS: return c->tasks ? m : NULL;
	case MCP_OFFER_LOGGING: return c->logging ? m : NULL;
	}
	return NULL;
}

/* Cursors are "at-N". They are opaque to clients, and stable since tables do not change and dynamic lists only grow. */
int mcp_methods_page(struct mcp_call *call, size_t count, size_t *ret_from, size_t *ret_to, const struct mcp_done **ret_done)
{
	const json_t *cursor = json_object_get(call->message.params, "cursor");
	size_t from = 0, page = call->server->config.page;
	if (cursor) {
		char *end = NULL;
		const char *text = json_string_value(cursor);
		if (text && strncmp(text, "at-", 3) == 0 && text[3] >= '0' && text[3] <= '9')
			from = strtoul(text + 3, &end, 10);
		if (end == NULL || *end != '\0' || from > count) {
			*ret_done = mcp_call_fail(call, MCP_INVALID_PARAMS,
						  "params.cursor does not come from this server; list again without it");
			return 0;
		}
	}
	*ret_from = from;
	*ret_to = count - from > page ? from + page : count;
	return 1;
}

const struct mcp_done *mcp_methods_list(struct mcp_call *call, const char *field, json_t *take_entries, size_t next)
{
	json_t *result = json_pack("{s:o}", field, take_entries);
	if (next > 0)
		json_object_set_new(result, "nextCursor", json_sprintf("at-%zu", next));
	if (call->ttl_ms < 0) { /* a table, which is the same for everybody */
		call->ttl_ms = MCP_LIST_TTL_MS;
		call->shared = 1;
	}
	return mcp_call_answer(call, result);
}

const struct mcp_done *mcp_methods_unknown(struct mcp_call *call, const char *what, const char *name, const char *best)
{
	const char *why = call->server->config.missing_tools;
	if (why && strcmp(what, "tool") == 0)
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "there is no tool \"%s\" here: %s", name, why);
	if (best)
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "there is no %s \"%s\"; did you mean \"%s\"?", what, name, best);
	return mcp_call_fail(call, MCP_INVALID_PARAMS, "there is no %s \"%s\"; %ss/list names them all", what, name, what);
}

/* --- resources -------------------------------------------------------------------------------------------------- */

static json_t *resource_entry(const char *field, const char *uri, const char *name, const char *title, const char *description,
			      const char *mime_type)
{
	return json_pack("{s:s, s:s, s:s*, s:s*, s:s*}", field, uri, "name", name, "title", title, "description", description,
			 "mimeType", mime_type);
}

/* The table comes first, then what the owner lists. */
static const struct mcp_done *list_resources(struct mcp_call *call)
{
	const struct mcp_server_config *config = &call->server->config;
	const struct mcp_resource *table = config->resources;
	const struct mcp_done *done;
	size_t fixed = 0, from, to;
	while (table && table[fixed].uri)
		fixed++;
	if (!mcp_methods_page(call, config->list_resources ? (size_t)-1 / 2 : fixed, &from, &to, &done))
		return done;
	json_t *entries = json_array();
	for (size_t i = from; i < to && i < fixed; i++)
		json_array_append_new(entries, resource_entry("uri", table[i].uri, table[i].name, table[i].title,
							      table[i].description, table[i].mime_type));
	if (config->list_resources) {
		size_t offset = from > fixed ? from - fixed : 0;
		call->ttl_ms = 0; /* it changes */
		if (to > fixed)
			config->list_resources(config->user, offset, to - fixed - offset, entries);
	}
	int full = json_array_size(entries) >= config->page && (config->list_resources || to < fixed);
	return mcp_methods_list(call, "resources", entries, full ? to : 0);
}

const struct mcp_done *mcp_methods_resources_list(struct mcp_call *call)
{
	if (call->server->config.list_resources)
		return mcp_call_run_later(call, list_resources); /* it may ask a database */
	return list_resources(call);
}

const struct mcp_done *mcp_methods_resources_templates(struct mcp_call *call)
{
	const struct mcp_template *table = call->server->config.templates;
	const struct mcp_done *done;
	size_t count = 0, from, to;
	while (table && table[count].uri_template)
		count++;
	if (!mcp_methods_page(call, count, &from, &to, &done))
		return done;
	json_t *entries = json_array();
	for (size_t i = from; i < to; i++)
		json_array_append_new(entries, resource_entry("uriTemplate", table[i].uri_template, table[i].name, table[i].title,
							      table[i].description, table[i].mime_type));
	return mcp_methods_list(call, "resourceTemplates", entries, to < count ? to : 0);
}

const struct mcp_done *mcp_methods_resources_read(struct mcp_call *call)
{
	const struct mcp_server_config *config = &call->server->config;
	const struct mcp_done *done;
	const char *uri = mcp_call_param(call, "uri", &done);
	if (uri == NULL)
		return done;
	if (strlen(uri) > URI_MAX)
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "params.uri is longer than %d bytes", URI_MAX);
	call->name = uri;
	const struct mcp_resource *r = mcp_registry_find(config->resources, sizeof(struct mcp_resource), uri);
	const struct mcp_template *t = r ? NULL : mcp_registry_template(config->templates, uri, &call->variables);
	if (r == NULL && t == NULL)
		return mcp_call_reply_absent(call, "resources/list and resources/templates/list name what there is");
	call->mime_type = r ? r->mime_type : t->mime_type;
	call->ttl_ms = r ? r->ttl_ms : t->ttl_ms;
	return mcp_call_run_later(call, r ? r->read : t->read);
}

/* --- prompts ---------------------------------------------------------------------------------------------------- */

const struct mcp_done *mcp_methods_prompts_list(struct mcp_call *call)
{
	const struct mcp_prompt *table = call->server->config.prompts;
	const struct mcp_done *done;
	size_t count = 0, from, to;
	while (table[count].name)
		count++;
	if (!mcp_methods_page(call, count, &from, &to, &done))
		return done;
	json_t *entries = json_array();
	for (const struct mcp_prompt *p = table + from; p < table + to; p++) {
		json_t *arguments = json_array();
		for (const struct mcp_prompt_argument *a = p->arguments; a && a->name; a++)
			json_array_append_new(arguments, json_pack("{s:s, s:s*, s:b}", "name", a->name, "description",
								   a->description, "required", a->required));
		json_array_append_new(entries, json_pack("{s:s, s:s*, s:s*, s:o}", "name", p->name, "title", p->title,
							 "description", p->description, "arguments", arguments));
	}
	return mcp_methods_list(call, "prompts", entries, to < count ? to : 0);
}

const struct mcp_done *mcp_methods_prompts_get(struct mcp_call *call)
{
	const struct mcp_prompt *prompts = call->server->config.prompts;
	const struct mcp_done *done;
	const char *key, *name = mcp_call_param(call, "name", &done);
	json_t *value, *arguments = json_object_get(call->message.params, "arguments");
	if (name == NULL)
		return done;
	call->name = name;
	const struct mcp_prompt *prompt = mcp_registry_find(prompts, sizeof(struct mcp_prompt), name);
	if (prompt == NULL) {
		struct suggest near;
		suggest_init(&near, name);
		for (const struct mcp_prompt *p = prompts; p->name; p++)
			suggest_offer(&near, p->name);
		return mcp_methods_unknown(call, "prompt", name, suggest_best(&near));
	}
	if (arguments && !json_is_object(arguments))
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "params.arguments must be an object of strings");
	json_object_foreach(arguments, key, value)
	{
		if (!json_is_string(value))
			return mcp_call_fail(call, MCP_INVALID_PARAMS, "params.arguments.%s must be a string", key);
	}
	for (const struct mcp_prompt_argument *a = prompt->arguments; a && a->name; a++)
		if (a->required && json_object_get(arguments, a->name) == NULL)
			return mcp_call_fail(call, MCP_INVALID_PARAMS, "prompt \"%s\" needs the argument \"%s\"%s%s", name, a->name,
					     a->description ? ": " : "", a->description ? a->description : "");
	json_object_update(call->arguments, arguments);
	return mcp_call_run_later(call, prompt->get);
}

/* --- completion ------------------------------------------------------------------------------------------------- */

static const struct mcp_done *complete(struct mcp_call *call)
{
	const json_t *params = call->message.params, *ref = json_object_get(params, "ref");
	const json_t *argument = json_object_get(params, "argument");
	json_t *none = json_object(), *candidates = json_array(), *values = json_array(), *one;
	json_t *context = json_object_get(json_object_get(params, "context"), "arguments");
	struct mcp_completion what = {
		.prompt = json_string_value(json_object_get(ref, "name")),
		.uri_template = json_string_value(json_object_get(ref, "uri")),
		.argument = json_string_value(json_object_get(argument, "name")),
		.value = json_string_value(json_object_get(argument, "value")),
		.context = json_is_object(context) ? context : none,
	};
	call->server->config.complete(call->server->config.user, &what, candidates);
	/* Those that begin with the value come before those that only contain it; both keep the owner's order. */
	size_t i, total = 0;
	for (int inside = 0; inside <= 1; inside++) {
		json_array_foreach(candidates, i, one)
		{
			const char *text = json_string_value(one), *at = text ? strcasestr(text, what.value) : NULL;
			if (at == NULL || (at != text) != inside)
				continue;
			if (total++ < COMPLETIONS_MAX)
				json_array_append(values, one);
		}
	}
	json_decref(candidates);
	json_decref(none);
	return mcp_call_answer(call, json_pack("{s:{s:o, s:I, s:b}}", "completion", "values", values, "total", (json_int_t)total,
					       "hasMore", total > COMPLETIONS_MAX));
}

/* Whether ref names a prompt, template or resource of this server. */
static int ref_is_known(const struct mcp_server_config *config, const json_t *ref)
{
	const char *type = json_string_value(json_object_get(ref, "type"));
	const char *name = json_string_value(json_object_get(ref, "name"));
	const char *uri = json_string_value(json_object_get(ref, "uri"));
	if (type && strcmp(type, "ref/prompt") == 0)
		return name && mcp_registry_find(config->prompts, sizeof(struct mcp_prompt), name);
	if (type == NULL || strcmp(type, "ref/resource") != 0 || uri == NULL)
		return 0;
	for (const struct mcp_template *t = config->templates; t && t->uri_template; t++)
		if (strcmp(t->uri_template, uri) == 0)
			return 1;
	return mcp_registry_find(config->resources, sizeof(struct mcp_resource), uri) != NULL;
}

const struct mcp_done *mcp_methods_complete(struct mcp_call *call)
{
	const json_t *argument = json_object_get(call->message.params, "argument");
	if (!json_is_string(json_object_get(argument, "name")) || !json_is_string(json_object_get(argument, "value")))
		return mcp_call_fail(call, MCP_INVALID_PARAMS,
				     "completion/complete needs params.argument with the strings \"name\" and \"value\"");
	if (!ref_is_known(&call->server->config, json_object_get(call->message.params, "ref")))
		return mcp_call_fail(call, MCP_INVALID_PARAMS,
				     "params.ref must be {\"type\": \"ref/prompt\", \"name\": …} or "
				     "{\"type\": \"ref/resource\", \"uri\": …} of something that this server lists");
	return mcp_call_run_later(call, complete);
}
