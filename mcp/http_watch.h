/* http_watch: looks after connections that wait: libmicrohttpd does not see a client leave while its connection is
 * suspended, and quiet streams need a sign of life. Its functions are in http_inner.h. */
#ifndef PEAKD_MCP_HTTP_WATCH_H
#define PEAKD_MCP_HTTP_WATCH_H

#include "mcp/http_inner.h"

#endif
