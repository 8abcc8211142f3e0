/* pages: the plain pages beside /mcp, for people, probes and monitoring: /, /healthz and /metrics. daemon/serve.c gives the table to
 * the HTTP transport. */
#ifndef PEAKD_DAEMON_PAGES_H
#define PEAKD_DAEMON_PAGES_H

#include "mcp/http.h"

/* For mcp_http_config.plain, with the app as its user. /metrics needs the token, the others do not. */
extern const struct mcp_http_plain pages_table[];

#endif
