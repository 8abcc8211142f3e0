/* jsonrpc: JSON-RPC 2.0 as MCP narrows it: one object per message, ids are strings or integers, params are objects.
 * jansson reads and writes the JSON. The server reads what arrives with it; everything in mcp/ writes messages with it. */
#ifndef PEAKD_MCP_JSONRPC_H
#define PEAKD_MCP_JSONRPC_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Error codes: JSON-RPC 2.0 section 5.1, and those that MCP 2026-07-28 (basic/index, "Error Codes") defines. */
enum mcp_jsonrpc_code {
	MCP_PARSE_ERROR = -32700,
	MCP_INVALID_REQUEST = -32600,
	MCP_METHOD_NOT_FOUND = -32601,
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL_ERROR = -32603,
	MCP_HEADER_MISMATCH = -32020,
	MCP_MISSING_CAPABILITY = -32021,
	MCP_UNSUPPORTED_VERSION = -32022,
	MCP_LEGACY_RESOURCE_NOT_FOUND = -32002, /* 2025-11-25 and earlier only */
};

/* jansson counts references and iterates through non-const pointers only; the value itself is not changed. */
#define MCP_JSON(value) ((json_t *)(uintptr_t)(value))

enum mcp_jsonrpc_kind { MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

struct mcp_jsonrpc {
	enum mcp_jsonrpc_kind kind;
	json_t *whole;      /* the message; owns everything below */
	json_t *id;         /* of a request or response; also of a refused message if it could be read; else NULL */
	const char *method; /* of a request or notification */
	json_t *params;     /* an object, or NULL */
	json_t *result;     /* of a response: exactly one of these two */
	json_t *error;
};

/* Reads one message. max_depth bounds nested arrays and objects and is checked before anything is parsed. On failure
 * *ret_code is the JSON-RPC code to answer with and ret_m holds at most the id; call mcp_jsonrpc_fini in any case. */
int mcp_jsonrpc_parse(const char *text, size_t n, int max_depth, struct mcp_jsonrpc *ret_m, int *ret_code, struct err *e);
void mcp_jsonrpc_fini(struct mcp_jsonrpc *m);

/* Each writes one message on one line, without a newline; free() it. id, params and data may be NULL (left out). */
char *mcp_jsonrpc_result(const json_t *id, const json_t *result);
char *mcp_jsonrpc_error(const json_t *id, int code, const char *message, const json_t *data);
char *mcp_jsonrpc_request(const json_t *id, const char *method, const json_t *params);
char *mcp_jsonrpc_notification(const char *method, const json_t *params);

/* Any value as compact JSON, reals with 15 digits, so that 0.27 is not written as 0.27000000000000002; free(). */
char *mcp_jsonrpc_text(const json_t *value);
/* Text as a JSON string; bytes that are not UTF-8 become '?'. New reference. */
json_t *mcp_jsonrpc_string(const char *text);

#endif
