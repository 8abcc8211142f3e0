/* prompts: MCP prompts for the usual ways of working; wired in tools.c. */
#ifndef PEAKD_DAEMON_TOOLS_PROMPTS_H
#define PEAKD_DAEMON_TOOLS_PROMPTS_H

#include "mcp/registry.h"

extern const struct mcp_prompt prompts_table[];

#endif
