/* modern: revision 2026-07-28: stateless requests that carry their version and capabilities in _meta. */
#ifndef PEAKD_MCP_MODERN_H
#define PEAKD_MCP_MODERN_H

#include "mcp/call_inner.h"
#include "mcp/server_inner.h"

#define MCP_MODERN_REVISION "2026-07-28"

/* Whether a message is of the modern era: by its _meta, its method, or its MCP-Protocol-Version header. */
int mcp_modern_is(const struct mcp_jsonrpc *m, const struct mcp_headers *headers);
/* Handles a modern request: checks, then the method. Answers on the arrival's stream. */
void mcp_modern_request(struct mcp_server *server, const struct mcp_arrival *a, struct mcp_jsonrpc *m,
			struct mcp_receipt *receipt);

/* The members that every complete result of this era has besides its own, as text that begins with a comma; free(). */
char *mcp_modern_manners(const struct mcp_server *server);

/* Reads what a retried request brings back: the client's answers and the sealed state. Returns NULL when that is in
 * order, else proof that the call was failed. Called when call->name and ->arguments are known, since the seal
 * binds. */
const struct mcp_done *mcp_modern_retry(struct mcp_call *call);

#endif
