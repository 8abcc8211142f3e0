/* tasks: jobs as tasks of MCP's tasks extension. */
#ifndef PEAKD_DAEMON_TOOLS_TASKS_H
#define PEAKD_DAEMON_TOOLS_TASKS_H

#include "mcp/registry.h"

extern const struct mcp_task_hooks tasks_hooks;

#endif
