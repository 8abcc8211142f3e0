/* resources: resources/list, resources/templates/list, resources/read. */
#ifndef PEAKD_MCP_RESOURCES_H
#define PEAKD_MCP_RESOURCES_H

#include "mcp/methods.h"

mcp_method_run mcp_resources_list, mcp_resources_templates, mcp_resources_read;

#endif
