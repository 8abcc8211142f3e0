/* jsonrpc: JSON-RPC 2.0 as MCP narrows it: one object a message, ids are strings or integers, params are objects.
 * Used by the server for what arrives and by everything in mcp/ that writes a message. */
#ifndef PEAKD_MCP_JSONRPC_H
#define PEAKD_MCP_JSONRPC_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "mcp/parse.h"

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

/* What a message is read for; all else in it is dropped. */
enum mcp_jsonrpc_member {
	/* what most messages of one client have in common */
	MCP_JSONRPC,
	MCP_METHOD,
	MCP_PARAM_NAME,
	MCP_META_VERSION,
	MCP_META_CAPABILITIES,
	MCP_META_CLIENT,
	MCP_COMMON,
	/* of the message; MCP_PARAMS is true when there are params, which have to be an object */
	MCP_ID = MCP_COMMON,
	MCP_PARAMS,
	MCP_RESULT,
	MCP_ERROR,
	/* of its params */
	MCP_PARAM_ARGUMENTS,
	MCP_PARAM_META,
	MCP_PARAM_URI,
	MCP_PARAM_CURSOR,
	MCP_PARAM_INPUT_RESPONSES,
	MCP_PARAM_REQUEST_STATE,
	MCP_PARAM_TASK_ID,
	MCP_PARAM_NOTIFICATIONS,
	MCP_PARAM_PROTOCOL_VERSION,
	MCP_PARAM_CLIENT_INFO,
	MCP_PARAM_CAPABILITIES,
	MCP_PARAM_LEVEL,
	MCP_PARAM_REF,
	MCP_PARAM_ARGUMENT,
	MCP_PARAM_CONTEXT,
	MCP_PARAM_REQUEST_ID,
	/* of their _meta, when that is an object */
	MCP_META_TOKEN,
	MCP_META_LEVEL,
	MCP_MEMBERS
};

struct mcp_jsonrpc {
	enum mcp_jsonrpc_kind kind;
	json_t *members[MCP_MEMBERS]; /* by enum mcp_jsonrpc_member; they own everything below. The common ones may be
	                                 shared with other messages: mcp_parse_drop them */
	const json_t *id;     /* of a request or response; also of a broken request when it could be read; else NULL */
	const char *method;   /* of a request or notification */
	const json_t *result; /* of a response: exactly one of these two */
	const json_t *error;
	int given; /* the members have another owner */
};

/* Reads one message. max_depth bounds nested arrays and objects. memory, of MCP_COMMON members: what this sender's
 * messages have in common, or NULL. On failure *ret_code is the JSON-RPC code to answer with, and ret_m holds at most
 * the id; mcp_jsonrpc_fini it in any case. */
int mcp_jsonrpc_parse(const char *text, size_t n, int max_depth, struct mcp_parse_memory *memory,
		      struct mcp_jsonrpc *ret_m, int *ret_code, struct err *e);
void mcp_jsonrpc_fini(struct mcp_jsonrpc *m);
/* What a member is called. */
const char *mcp_jsonrpc_name(enum mcp_jsonrpc_member member);

/* Append one message, without a newline; json values are borrowed; id and params and data may be NULL (left out). */
void mcp_jsonrpc_add_result(struct buf *b, const json_t *id, const json_t *result);
void mcp_jsonrpc_add_error(struct buf *b, const json_t *id, int code, const char *message, const json_t *data);
void mcp_jsonrpc_add_notification(struct buf *b, const char *method, const json_t *params);
void mcp_jsonrpc_add_request(struct buf *b, const json_t *id, const char *method, const json_t *params);
/* The same in two parts, for a result that is written by hand: what comes before it, and then a brace closes. */
void mcp_jsonrpc_add_result_head(struct buf *b, const json_t *id);
/* Appends text as a JSON string; bytes that are no UTF-8 become question marks. */
void mcp_jsonrpc_add_text(struct buf *b, const char *text, size_t n);
/* Appends the members of an object without its braces. */
void mcp_jsonrpc_add_members(struct buf *b, const json_t *object);
/* Appends any value as compact JSON. */
void mcp_jsonrpc_add_json(struct buf *b, const json_t *value);

#endif
