/* http_metadata: RFC 9728's description of a resource that needs a token; see http_inner.h, where its functions are. */
#ifndef PEAKD_MCP_HTTP_METADATA_H
#define PEAKD_MCP_HTTP_METADATA_H

#include "mcp/http_inner.h"

#endif
