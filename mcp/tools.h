/* tools: tools/list and tools/call. */
#ifndef PEAKD_MCP_TOOLS_H
#define PEAKD_MCP_TOOLS_H

#include "mcp/methods.h"

mcp_method_run mcp_tools_list, mcp_tools_call;

/* Compiles the schemas of the server's tools and makes the entries of tools/list; ERR_INPUT names the wrong tool. */
int mcp_tools_compile(struct mcp_server *server, struct err *e);
void mcp_tools_free(struct mcp_server *server);

#endif
