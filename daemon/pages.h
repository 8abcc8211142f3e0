/* pages: the plain pages beside /mcp, for people, probes and monitoring: / with its style and script, /healthz and /metrics.
 * daemon/serve.c gives the table to the HTTP transport. */
#ifndef PEAKD_DAEMON_PAGES_H
#define PEAKD_DAEMON_PAGES_H

#include "mcp/http.h"

/* For mcp_http_config.plain, with the app as its user. /metrics needs the token, the others do not: the page holds no data of its
 * own. */
extern const struct mcp_http_plain pages_table[];

/* Appends the page as one HTML file, for hosts of MCP Apps and for reading offline. data: the JSON that it shows; NULL: it asks the
 * host. */
void pages_whole(const char *data, struct buf *out);

#endif
