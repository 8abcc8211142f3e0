/* headers: the HTTP headers that mirror a modern request's body, and whether they agree with it. */
#ifndef PEAKD_MCP_HEADERS_H
#define PEAKD_MCP_HEADERS_H

#include <jansson.h>

#include "base/err.h"
#include "mcp/server_inner.h"

/* MCP-Protocol-Version must be there and equal the version of _meta. */
int mcp_headers_check_version(const struct mcp_headers *headers, const char *version, struct err *e);
/* Mcp-Method must equal the method, Mcp-Name the name, URI or task id of those methods that have one; members: of the
 * message, by enum mcp_jsonrpc_member. */
int mcp_headers_check(const struct mcp_headers *headers, const char *method, json_t *const *members, struct err *e);
/* Mcp-Param-… headers must equal the arguments that the tool's schema marks with x-mcp-header. */
int mcp_headers_check_params(const struct mcp_headers *headers, const json_t *schema, const json_t *arguments,
			     struct err *e);
/* How many arguments a tool's schema marks with x-mcp-header; fails when a mark is not allowed where it is. */
int mcp_headers_count_marks(const json_t *schema, struct err *e);

#endif
