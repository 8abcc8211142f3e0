/* http_guard: who may come in; see http_inner.h, where its functions are. */
#ifndef PEAKD_MCP_HTTP_GUARD_H
#define PEAKD_MCP_HTTP_GUARD_H

#include "mcp/http_inner.h"

#endif
