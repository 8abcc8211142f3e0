/* modern: revision 2026-07-28, where every request says all that the server must know of its client. */
#ifndef PEAKD_MCP_MODERN_H
#define PEAKD_MCP_MODERN_H

#include "mcp/inner.h"

/* Whether this message belongs to the modern era. */
int mcp_modern_is(const struct mcp_jsonrpc *m, const struct mcp_headers *headers);
/* Handles a request; takes the message over. */
void mcp_modern_request(struct mcp_server *server, const struct mcp_arrival *a, struct mcp_jsonrpc *m, struct mcp_receipt *receipt);
/* Reads what a retry brings back: the client's answers and the sealed state. NULL when that is in order. */
const struct mcp_done *mcp_modern_retry(struct mcp_call *call);
/* mcp_call_ask: the questions are the result. */
const struct mcp_done *mcp_modern_ask(struct mcp_call *call, json_t *take_requests, json_t *take_state) MCP_MUST_RETURN;

#endif
