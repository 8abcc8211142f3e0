/* jsonrpc: reading and writing messages; see jsonrpc.h. Called by mcp/server.c for what arrives and by calls,
 * subscriptions and sessions for what leaves. */
#include "mcp/jsonrpc.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

/* How deep the arrays and objects of a JSON text nest, strings left out. jansson recurses, so this is known before it
 * starts; its own limit is far higher. */
static int depth_of(const char *text, size_t n)
{
	int depth = 0, deepest = 0, in_string = 0;
	for (size_t i = 0; i < n; i++) {
		char c = text[i];
		if (in_string) {
			i += c == '\\';
			in_string = c != '"';
		} else if (c == '"') {
			in_string = 1;
		} else if (c == '[' || c == '{') {
			deepest = ++depth > deepest ? depth : deepest;
		} else if (c == ']' || c == '}') {
			depth--;
		}
	}
	return deepest;
}

static int fail(struct mcp_jsonrpc *m, int *ret_code, int code, struct err *e, const char *why)
{
	m->method = NULL;
	*ret_code = code;
	return err_set(e, ERR_INPUT, "%s", why);
}

int mcp_jsonrpc_parse(const char *text, size_t n, int max_depth, struct mcp_jsonrpc *m, int *ret_code, struct err *e)
{
	json_error_t why;
	memset(m, 0, sizeof *m);
	*ret_code = 0;
	if (depth_of(text, n) > max_depth) {
		*ret_code = MCP_INVALID_REQUEST;
		return err_set(e, ERR_INPUT, "the message is nested deeper than %d levels", max_depth);
	}
	m->whole = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
	/* A number beyond 64 bits is a mistake in one request: it is read roughly, so that the answer can name the request's id. */
	bool overflow = m->whole == NULL && json_error_code(&why) == json_error_numeric_overflow;
	if (overflow)
		m->whole = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, &why);
	if (m->whole == NULL) {
		*ret_code = MCP_PARSE_ERROR;
		return err_set(e, ERR_INPUT, "the message is not JSON: %s at byte %d of %zu", why.text, why.position, n);
	}
	if (json_is_array(m->whole))
		return fail(m, ret_code, MCP_INVALID_REQUEST, e, "batches are not accepted: send one message at a time");
	if (!json_is_object(m->whole))
		return fail(m, ret_code, MCP_INVALID_REQUEST, e, "the message must be an object");

	json_t *id = json_object_get(m->whole, "id"), *method = json_object_get(m->whole, "method");
	const char *version = json_string_value(json_object_get(m->whole, "jsonrpc"));
	if (overflow && json_is_real(id) && fabs(json_real_value(id)) < 0x1p53) {
		json_object_set_new(m->whole, "id", json_integer((json_int_t)json_real_value(id)));
		id = json_object_get(m->whole, "id");
	}
	if (json_is_string(id) || json_is_integer(id))
		m->id = id;
	if (overflow)
		return fail(m, ret_code, m->id ? MCP_INVALID_PARAMS : MCP_PARSE_ERROR, e,
			    "a number in the message does not fit into 64 bits");
	if (version == NULL || strcmp(version, "2.0") != 0)
		return fail(m, ret_code, MCP_INVALID_REQUEST, e, "the message needs \"jsonrpc\": \"2.0\"");
	if (id != NULL && m->id == NULL)
		return fail(m, ret_code, MCP_INVALID_REQUEST, e, "\"id\" must be a string or an integer, and not null");
	if (method == NULL) {
		m->kind = MCP_RESPONSE;
		m->result = json_object_get(m->whole, "result");
		m->error = json_object_get(m->whole, "error");
		if ((m->result == NULL) == (m->error == NULL))
			return fail(m, ret_code, MCP_INVALID_REQUEST, e,
				    "the message has neither a \"method\" nor exactly one of \"result\" and \"error\"");
		return m->id ? 0 : fail(m, ret_code, MCP_INVALID_REQUEST, e, "a response needs the \"id\" of its request");
	}
	if (!json_is_string(method))
		return fail(m, ret_code, MCP_INVALID_REQUEST, e, "\"method\" must be a string");
	m->params = json_object_get(m->whole, "params");
	if (m->params != NULL && !json_is_object(m->params))
		return fail(m, ret_code, MCP_INVALID_PARAMS, e, "\"params\" must be an object");
	m->kind = m->id ? MCP_REQUEST : MCP_NOTIFICATION;
	m->method = json_string_value(method);
	return 0;
}

void mcp_jsonrpc_fini(struct mcp_jsonrpc *m)
{
	json_decref(m->whole);
	memset(m, 0, sizeof *m);
}

/* --- writing ---------------------------------------------------------------------------------------------------- */

char *mcp_jsonrpc_text(const json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
	assert(text);
	return text;
}

json_t *mcp_jsonrpc_string(const char *text)
{
	json_t *value = json_string(text);
	if (value == NULL) {
		char *copy = mem_str(text);
		value = json_string(utf8_clean(copy));
		free(copy);
	}
	return value;
}

static char *write_message(json_t *take_message)
{
	assert(take_message); /* a bug in the format string of json_pack */
	char *text = mcp_jsonrpc_text(take_message);
	json_decref(take_message);
	return text;
}

char *mcp_jsonrpc_result(const json_t *id, const json_t *result)
{
	return write_message(json_pack("{s:s, s:O*, s:O}", "jsonrpc", "2.0", "id", MCP_JSON(id), "result", MCP_JSON(result)));
}

char *mcp_jsonrpc_error(const json_t *id, int code, const char *message, const json_t *data)
{
	return write_message(json_pack("{s:s, s:O*, s:{s:i, s:o, s:O*}}", "jsonrpc", "2.0", "id", MCP_JSON(id), "error", "code",
				       code, "message", mcp_jsonrpc_string(message), "data", MCP_JSON(data)));
}

char *mcp_jsonrpc_request(const json_t *id, const char *method, const json_t *params)
{
	return write_message(json_pack("{s:s, s:O*, s:s, s:O*}", "jsonrpc", "2.0", "id", MCP_JSON(id), "method", method, "params",
				       MCP_JSON(params)));
}

char *mcp_jsonrpc_notification(const char *method, const json_t *params)
{
	return mcp_jsonrpc_request(NULL, method, params);
}
