/* seal: requestState: what a handler wants to remember while the client is asked, signed so that only this server can
 * have written it, for this very request, a short while ago. Used by mcp/modern.c. */
#ifndef PEAKD_MCP_SEAL_H
#define PEAKD_MCP_SEAL_H

#include <jansson.h>

#include "base/err.h"
#include "mcp/call_inner.h"

/* Text for the client; state is borrowed and may be NULL. The caller frees. */
char *mcp_seal_close(const struct mcp_call *call, const json_t *state);
/* Fails when the text was not sealed here for the same method, name and arguments, or is too old.
 * *ret_state is a new reference. */
int mcp_seal_open(const struct mcp_call *call, const char *text, json_t **ret_state, struct err *e);

#endif
