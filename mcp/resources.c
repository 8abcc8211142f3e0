/* resources: listing and reading; see resources.h. Called through the tables of mcp/modern.c and mcp/legacy.c. */
#include "mcp/resources.h"

#include <string.h>

#include "base/mem.h"
#include "mcp/server_inner.h"

enum { URI_MAX = 8192 }; /* bytes; templates are matched by trying, so their input is bounded */

static json_t *entry(const char *field, const char *uri, const struct mcp_resource *r)
{
	return json_pack("{s:s, s:s, s:s*, s:s*, s:s*}", field, uri, "name", r->name, "title", r->title, "description",
			 r->description, "mimeType", r->mime_type);
}

/* The table comes first, then what the owner lists; both are numbered through. */
static const struct mcp_done *list(struct mcp_call *call)
{
	const struct mcp_server_config *config = &call->server->config;
	size_t fixed = 0, from, to;
	while (config->resources && config->resources[fixed].uri)
		fixed++;
	const struct mcp_done *done;
	if (!mcp_methods_page(call, config->list_resources ? (size_t)-1 / 2 : fixed, &from, &to, &done))
		return done;
	json_t *entries = json_array();
	for (size_t i = from; i < to && i < fixed; i++)
		json_array_append_new(entries, entry("uri", config->resources[i].uri, &config->resources[i]));
	if (config->list_resources && to > fixed) {
		size_t offset = from > fixed ? from - fixed : 0;
		config->list_resources(config->user, offset, to - fixed - offset, entries);
	}
	int full = json_array_size(entries) >= config->page && (config->list_resources || to < fixed);
	return mcp_methods_list(call, "resources", entries, full ? to : 0);
}

const struct mcp_done *mcp_resources_list(struct mcp_call *call)
{
	if (call->server->config.list_resources)
		return mcp_methods_run_later(call, list); /* it may ask a database */
	return list(call);
}

const struct mcp_done *mcp_resources_templates(struct mcp_call *call)
{
	const struct mcp_template *table = call->server->config.templates;
	size_t count = 0, from, to;
	while (table && table[count].uri_template)
		count++;
	const struct mcp_done *done;
	if (!mcp_methods_page(call, count, &from, &to, &done))
		return done;
	json_t *entries = json_array();
	for (size_t i = from; i < to; i++) {
		const struct mcp_template *t = &table[i];
		const struct mcp_resource r = {
			.name = t->name, .title = t->title, .description = t->description, .mime_type = t->mime_type
		};
		json_array_append_new(entries, entry("uriTemplate", t->uri_template, &r));
	}
	return mcp_methods_list(call, "resourceTemplates", entries, to < count ? to : 0);
}

const struct mcp_done *mcp_resources_read(struct mcp_call *call)
{
	const struct mcp_done *done;
	const char *uri = mcp_methods_string(call, MCP_PARAM_URI, &done);
	if (uri == NULL)
		return done;
	if (strlen(uri) > URI_MAX)
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "params.uri is longer than %d bytes", URI_MAX);
	call->name = uri;
	call->ttl_scope = "private";
	const struct mcp_resource *r = mcp_registry_resource(call->server->config.resources, uri);
	if (r) {
		call->mime_type = r->mime_type;
		return mcp_methods_run_later(call, r->read);
	}
	const struct mcp_template *t = mcp_registry_template(call->server->config.templates, uri, &call->variables);
	if (t == NULL)
		return mcp_call_reply_absent(call, "resources/list and resources/templates/list name what there is");
	call->mime_type = t->mime_type;
	return mcp_methods_run_later(call, t->read);
}
