/* tasks: the extension io.modelcontextprotocol/tasks (SEP-2663) over the owner's durable jobs (struct mcp_task_hooks):
 * tasks/get, tasks/update, tasks/cancel, tasks as answers, and notifications about them. */
#ifndef PEAKD_MCP_TASKS_H
#define PEAKD_MCP_TASKS_H

#include "mcp/methods.h"

mcp_method_run mcp_tasks_get, mcp_tasks_update, mcp_tasks_cancel;

/* Answers a tools/call with the task as it is now; fails the call when the task does not exist. */
const struct mcp_done *mcp_tasks_answer(struct mcp_call *call, const char *id);
/* The task as tasks/get shows it, with its taskId; new reference. */
int mcp_tasks_read(struct mcp_server *server, const char *id, json_t **ret_task, struct err *e);

#endif
