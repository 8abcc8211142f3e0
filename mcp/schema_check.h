/* schema_check: holding a value against a compiled schema; declared for users in mcp/schema.h. */
#ifndef PEAKD_MCP_SCHEMA_CHECK_H
#define PEAKD_MCP_SCHEMA_CHECK_H

#include "mcp/schema.h"

#endif
