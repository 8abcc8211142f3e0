/* server_notify: telling clients of changes; declared for a server's owner in mcp/server.h. */
#ifndef PEAKD_MCP_SERVER_NOTIFY_H
#define PEAKD_MCP_SERVER_NOTIFY_H

#include "mcp/server.h"

#endif
