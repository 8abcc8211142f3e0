/* methods: what clients can ask for, one function per method, shared by both eras. Each answers its call, at once or by
 * sending it to the pool. Implemented by topic in mcp/tools.c, resources.c, prompts.c; the eras' tables name them. */
#ifndef PEAKD_MCP_METHODS_H
#define PEAKD_MCP_METHODS_H

#include "mcp/call_inner.h"

/* A method consumes nothing and returns proof that it answered, or that the call is on its way to the pool. */
typedef const struct mcp_done *mcp_method_run(struct mcp_call *call);

struct mcp_method {
	const char *name;
	mcp_method_run *run;
	int offered; /* MCP_OFFER_…: the feature that the server must have */
};

enum mcp_offer {
	MCP_OFFER_ALWAYS,
	MCP_OFFER_TOOLS,
	MCP_OFFER_RESOURCES,
	MCP_OFFER_PROMPTS,
	MCP_OFFER_COMPLETIONS,
	MCP_OFFER_TASKS,
	MCP_OFFER_LOGGING
};

/* The method of that name, if the server offers its feature; the table ends with a NULL name. */
const struct mcp_method *mcp_methods_find(const struct mcp_server *server, const struct mcp_method *table,
					  const char *name);
int mcp_methods_offered(const struct mcp_server *server, enum mcp_offer what);

/* The slice of a list that the request's cursor names: *ret_from and *ret_next (0: it is the last page). False when the
 * cursor is not one of ours; then the call was failed. */
int mcp_methods_page(struct mcp_call *call, size_t count, size_t *ret_from, size_t *ret_to,
		     const struct mcp_done **ret_done);
/* Answers with {field: entries} and the cursor of what follows. */
const struct mcp_done *mcp_methods_list(struct mcp_call *call, const char *field, json_t *take_entries, size_t next);
/* A member of params that must be a non-empty string; NULL after failing the call. */
const char *mcp_methods_string(struct mcp_call *call, enum mcp_jsonrpc_member field, const struct mcp_done **ret_done);
/* Has the call's handler run on the pool. */
const struct mcp_done *mcp_methods_run_later(struct mcp_call *call, mcp_handler *handler);

#endif
