/* http_exchange: one request and its response, whole or as events; see http_inner.h, where its functions are. */
#ifndef PEAKD_MCP_HTTP_EXCHANGE_H
#define PEAKD_MCP_HTTP_EXCHANGE_H

#include "mcp/http_inner.h"

#endif
