/* call_reply: the shapes of answers that handlers choose from; declared for them in mcp/call.h. */
#ifndef PEAKD_MCP_CALL_REPLY_H
#define PEAKD_MCP_CALL_REPLY_H

#include "mcp/call.h"

#endif
