/* http_replay: legacy streams that outlive their connection (revision 2025-11-25, "Resumability and Redelivery"); its
 * functions are in http_inner.h. */
#ifndef PEAKD_MCP_HTTP_REPLAY_H
#define PEAKD_MCP_HTTP_REPLAY_H

#include "mcp/http_inner.h"

#endif
