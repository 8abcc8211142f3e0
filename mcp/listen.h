/* listen: subscriptions/listen of 2026-07-28, and the fan-out of notifications to both eras. */
#ifndef PEAKD_MCP_LISTEN_H
#define PEAKD_MCP_LISTEN_H

#include "mcp/methods.h"

/* Acknowledges and stays open: the call is over when the client or the server ends it. */
mcp_method_run mcp_listen_start;

/* Ends every subscription with its result, e.g. before a transport stops. */
void mcp_listen_end_all(struct mcp_server *server);

/* Ends those of one stdio connection, whose client cannot be told any more of it. */
void mcp_listen_end_session(struct mcp_server *server, const struct mcp_session *session);

#endif
