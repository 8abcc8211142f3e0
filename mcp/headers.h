/* headers: the HTTP headers that repeat a modern request's body, and whether they agree with it. */
#ifndef PEAKD_MCP_HEADERS_H
#define PEAKD_MCP_HEADERS_H

#include <jansson.h>

#include "base/err.h"
#include "mcp/inner.h"

/* MCP-Protocol-Version must be there and equal the version of _meta. */
int mcp_headers_check_version(const struct mcp_headers *headers, const char *version, struct err *e);
/* Mcp-Method must equal the method; Mcp-Name the name, URI or task id of those methods that have one; and Mcp-Param-…
 * headers the arguments that the tool's input schema marks with x-mcp-header (schema NULL: none are marked). */
int mcp_headers_check(const struct mcp_headers *headers, const struct mcp_jsonrpc *m, const json_t *schema, struct err *e);
/* How many properties of a tool's input schema are marked, where "properties" alone lead from the root. */
int mcp_headers_count_marks(const json_t *schema);

#endif
