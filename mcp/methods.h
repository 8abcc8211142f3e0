/* methods: what clients can ask for, one function for each method, shared by both eras. Each answers its call, at once or
 * by having a handler run on the pool. The tables of mcp/modern.c and mcp/legacy.c name them. methods.c has resources,
 * prompts and completion, methods_tools.c tools, methods_tasks.c the tasks extension. */
#ifndef PEAKD_MCP_METHODS_H
#define PEAKD_MCP_METHODS_H

#include "mcp/inner.h"

/* A method borrows the call and returns proof that it answered or will. */
typedef const struct mcp_done *mcp_method_run(struct mcp_call *call);

/* The feature that a server must have to offer a method. */
enum mcp_offer {
	MCP_OFFER_ALWAYS,
	MCP_OFFER_TOOLS,
	MCP_OFFER_RESOURCES,
	MCP_OFFER_PROMPTS,
	MCP_OFFER_COMPLETIONS,
	MCP_OFFER_TASKS,
	MCP_OFFER_LOGGING
};

struct mcp_method {
	const char *name;
	mcp_method_run *run;
	enum mcp_offer offer;
};

/* The method of that name, if the server offers its feature; the table ends with a NULL name. */
const struct mcp_method *mcp_methods_find(const struct mcp_server *server, const struct mcp_method *table, const char *name);

/* The part of a list of `count` entries that the request's cursor names. False when the cursor is not one of ours; then
 * the call was failed. */
int mcp_methods_page(struct mcp_call *call, size_t count, size_t *ret_from, size_t *ret_to, const struct mcp_done **ret_done);
/* Answers with {field: entries}; next: where the following page begins, 0 on the last. */
const struct mcp_done *mcp_methods_list(struct mcp_call *call, const char *field, json_t *take_entries, size_t next);

/* Fails a call that names an unknown tool or prompt (`what`); best: the nearest name, or NULL. */
const struct mcp_done *mcp_methods_unknown(struct mcp_call *call, const char *what, const char *name, const char *best);

mcp_method_run mcp_methods_resources_list, mcp_methods_resources_templates, mcp_methods_resources_read;
mcp_method_run mcp_methods_prompts_list, mcp_methods_prompts_get, mcp_methods_complete;
mcp_method_run mcp_methods_tools_list, mcp_methods_tools_call;
mcp_method_run mcp_methods_tasks; /* tasks/get, tasks/update, tasks/cancel */

/* Validates the server's tools and prepares their entries; ERR_INPUT names the wrong tool. */
int mcp_methods_tools_prepare(struct mcp_server *server, struct err *e);
void mcp_methods_tools_free(struct mcp_server *server);

/* Answers a tools/call with the task as it is now; fails the call when the task does not exist. */
const struct mcp_done *mcp_methods_tasks_answer(struct mcp_call *call, const char *id);
/* The task as tasks/get shows it, with its taskId; new reference. */
int mcp_methods_tasks_read(struct mcp_server *server, const char *id, json_t **ret_task, struct err *e);

#endif
