/* prompts: prompts/list, prompts/get, completion/complete. */
#ifndef PEAKD_MCP_PROMPTS_H
#define PEAKD_MCP_PROMPTS_H

#include "mcp/methods.h"

mcp_method_run mcp_prompts_list, mcp_prompts_get, mcp_prompts_complete;

#endif
