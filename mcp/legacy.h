/* legacy: revisions 2024-11-05 to 2025-11-25, where `initialize` opens a session that remembers the client. */
#ifndef PEAKD_MCP_LEGACY_H
#define PEAKD_MCP_LEGACY_H

#include "mcp/inner.h"

/* Whether this server speaks that revision. */
int mcp_legacy_speaks(const char *revision);
/* Handles a request; takes the message over. `initialize` over HTTP puts the new session into the receipt. */
void mcp_legacy_request(struct mcp_server *server, const struct mcp_arrival *a, struct mcp_jsonrpc *m, struct mcp_receipt *receipt);

#endif
