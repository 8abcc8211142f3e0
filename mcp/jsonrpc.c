/* jsonrpc: reading and writing of messages; see jsonrpc.h. Called by mcp/server.c for what arrives and by calls and
 * notifications for what leaves. */
#include "mcp/jsonrpc.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define MEMBER(name, index, below)                                                                                     \
	{                                                                                                              \
		name, sizeof name - 1, index, below                                                                    \
	}
#define SHAPE(members)                                                                                                 \
	{                                                                                                              \
		members, MEM_COUNT(members)                                                                            \
	}

static const struct mcp_parse_member META_MEMBERS[] = {
	MEMBER("progressToken", MCP_META_TOKEN, NULL),
	MEMBER("io.modelcontextprotocol/protocolVersion", MCP_META_VERSION, NULL),
	MEMBER("io.modelcontextprotocol/clientCapabilities", MCP_META_CAPABILITIES, NULL),
	MEMBER("io.modelcontextprotocol/clientInfo", MCP_META_CLIENT, NULL),
	MEMBER("io.modelcontextprotocol/logLevel", MCP_META_LEVEL, NULL),
};
static const struct mcp_parse_shape META = SHAPE(META_MEMBERS);

static const struct mcp_parse_member PARAMS_MEMBERS[] = {
	MEMBER("name", MCP_PARAM_NAME, NULL),
	MEMBER("arguments", MCP_PARAM_ARGUMENTS, NULL),
	MEMBER("_meta", MCP_PARAM_META, &META),
	MEMBER("uri", MCP_PARAM_URI, NULL),
	MEMBER("cursor", MCP_PARAM_CURSOR, NULL),
	MEMBER("inputResponses", MCP_PARAM_INPUT_RESPONSES, NULL),
	MEMBER("requestState", MCP_PARAM_REQUEST_STATE, NULL),
	MEMBER("taskId", MCP_PARAM_TASK_ID, NULL),
	MEMBER("notifications", MCP_PARAM_NOTIFICATIONS, NULL),
	MEMBER("protocolVersion", MCP_PARAM_PROTOCOL_VERSION, NULL),
	MEMBER("clientInfo", MCP_PARAM_CLIENT_INFO, NULL),
	MEMBER("capabilities", MCP_PARAM_CAPABILITIES, NULL),
	MEMBER("level", MCP_PARAM_LEVEL, NULL),
	MEMBER("ref", MCP_PARAM_REF, NULL),
	MEMBER("argument", MCP_PARAM_ARGUMENT, NULL),
	MEMBER("context", MCP_PARAM_CONTEXT, NULL),
	MEMBER("requestId", MCP_PARAM_REQUEST_ID, NULL),
};
static const struct mcp_parse_shape PARAMS = SHAPE(PARAMS_MEMBERS);

static const struct mcp_parse_member MESSAGE_MEMBERS[] = {
	MEMBER("jsonrpc", MCP_JSONRPC, NULL),  MEMBER("id", MCP_ID, NULL),         MEMBER("method", MCP_METHOD, NULL),
	MEMBER("params", MCP_PARAMS, &PARAMS), MEMBER("result", MCP_RESULT, NULL), MEMBER("error", MCP_ERROR, NULL),
};
static const struct mcp_parse_shape MESSAGE = SHAPE(MESSAGE_MEMBERS);

static const char *name_in(const struct mcp_parse_shape *shape, enum mcp_jsonrpc_member member)
{
	const char *name = NULL;
	for (size_t i = 0; name == NULL && i < shape->count; i++) {
		const struct mcp_parse_member *m = &shape->members[i];
		name = m->index == (int)member ? m->name : m->below ? name_in(m->below, member) : NULL;
	}
	return name;
}

const char *mcp_jsonrpc_name(enum mcp_jsonrpc_member member)
{
	const char *name = name_in(&MESSAGE, member);
	assert(name);
	return name;
}

static int fail(struct mcp_jsonrpc *m, int *ret_code, int code, struct err *e, const char *why)
{
	m->method = NULL;
	*ret_code = code;
	return err_set(e, ERR_INPUT, "%s", why);
}

static int read_response(struct mcp_jsonrpc *m, int *ret_code, struct err *e)
{
	m->kind = MCP_RESPONSE;
	m->result = m->members[MCP_RESULT];
	m->error = m->members[MCP_ERROR];
	if ((m->result == NULL) == (m->error == NULL))
		return fail(m, ret_code, MCP_INVALID_REQUEST, e,
			    "the message has neither a \"method\" nor exactly one of \"result\" and \"error\"");
	if (m->id == NULL)
		return fail(m, ret_code, MCP_INVALID_REQUEST, e, "a response needs the \"id\" of its request");
	return 0;
}

static int read_object(struct mcp_jsonrpc *m, int *ret_code, struct err *e)
{
	const json_t *id = m->members[MCP_ID];
	if (json_is_string(id) || json_is_integer(id))
		m->id = id;
	const char *version = json_string_value(m->members[MCP_JSONRPC]);
	if (version == NULL || strcmp(version, "2.0") != 0)
		return fail(m, ret_code, MCP_INVALID_REQUEST, e, "the message needs \"jsonrpc\": \"2.0\"");
	if (id != NULL && m->id == NULL)
		return fail(m, ret_code, MCP_INVALID_REQUEST, e, "\"id\" must be a string or an integer, and not null");
	const json_t *method = m->members[MCP_METHOD];
	if (method == NULL)
		return read_response(m, ret_code, e);
	if (!json_is_string(method))
		return fail(m, ret_code, MCP_INVALID_REQUEST, e, "\"method\" must be a string");
	if (m->members[MCP_PARAMS] != NULL && !json_is_true(m->members[MCP_PARAMS]))
		return fail(m, ret_code, MCP_INVALID_PARAMS, e, "\"params\" must be an object");
	m->kind = m->id ? MCP_REQUEST : MCP_NOTIFICATION;
	m->method = json_string_value(method);
	return 0;
}

int mcp_jsonrpc_parse(const char *text, size_t n, int max_depth, struct mcp_parse_memory *memory,
		      struct mcp_jsonrpc *ret_m, int *ret_code, struct err *e)
{
	memset(ret_m, 0, sizeof *ret_m);
	struct err why;
	err_init(&why);
	json_t *other;
	int rc = mcp_parse_object(text, n, max_depth, &MESSAGE, memory, ret_m->members, &other, &why);
	if (rc == -ERR_UNSUPPORTED) {
		*ret_code = MCP_INVALID_REQUEST;
		return err_set(e, ERR_INPUT, "the message is nested deeper than %d levels", max_depth);
	}
	if (rc < 0) {
		*ret_code = MCP_PARSE_ERROR;
		return err_set(e, ERR_INPUT, "the message is not JSON: %s", why.text);
	}
	int is_array = json_is_array(other);
	json_decref(other);
	if (is_array)
		return fail(ret_m, ret_code, MCP_INVALID_REQUEST, e,
			    "batches are not accepted: send one message at a time");
	if (other)
		return fail(ret_m, ret_code, MCP_INVALID_REQUEST, e, "the message must be an object");
	return read_object(ret_m, ret_code, e);
}

void mcp_jsonrpc_fini(struct mcp_jsonrpc *m)
{
	for (int i = 0; i < MCP_MEMBERS && !m->given; i++)
		mcp_parse_drop(m->members[i]);
	memset(m, 0, sizeof *m);
}

/* Text between quotes: runs of what needs no escape are copied whole (RFC 8259 section 7 says what does). */
static void add_quoted(struct buf *b, const char *text, size_t n)
{
	size_t from = 0;
	buf_addc(b, '"');
	for (size_t i = 0; i < n; i++) {
		if ((i += mcp_parse_plain(text + i, n - i)) >= n)
			break;
		unsigned char c = (unsigned char)text[i];
		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		buf_add(b, text + from, i - from);
		from = i + 1;
		if (c == '"' || c == '\\')
			buf_add(b, (const char[]){ '\\', (char)c }, 2);
		else if (c == '\n')
			buf_adds(b, "\\n");
		else if (c == '\t')
			buf_adds(b, "\\t");
		else
			buf_addf(b, "\\u%04x", c);
	}
	buf_add(b, text + from, n - from);
	buf_addc(b, '"');
}

/* 15 digits: what a double keeps of any decimal, so that 0.27 is not written as 0.27000000000000002. */
static void add_real(struct buf *b, double value)
{
	char text[40];
	snprintf(text, sizeof text, "%.15g", value);
	text[strcspn(text, ",")] = text[strcspn(text, ",")] ? '.' : '\0'; /* a locale's comma */
	buf_adds(b, text);
	if (text[strcspn(text, ".e")] == '\0')
		buf_adds(b, ".0");
}

void mcp_jsonrpc_add_text(struct buf *b, const char *text, size_t n)
{
	if (mcp_parse_utf8(text, n) == n) {
		add_quoted(b, text, n);
		return;
	}
	json_t *clean = mcp_parse_string(text);
	add_quoted(b, json_string_value(clean), json_string_length(clean));
	json_decref(clean);
}

void mcp_jsonrpc_add_members(struct buf *b, const json_t *object)
{
	const char *key;
	json_t *value;
	int more = 0;
	json_object_foreach(MCP_JSON(object), key, value)
	{
		if (more++)
			buf_addc(b, ',');
		add_quoted(b, key, strlen(key));
		buf_addc(b, ':');
		mcp_jsonrpc_add_json(b, value);
	}
}

static void add_object(struct buf *b, const json_t *object)
{
	buf_addc(b, '{');
	mcp_jsonrpc_add_members(b, object);
	buf_addc(b, '}');
}

static void add_integer(struct buf *b, json_int_t value)
{
	char text[24], *at = text + sizeof text;
	unsigned long long rest = value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value;
	do {
		*--at = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (value < 0)
		*--at = '-';
	buf_add(b, at, (size_t)(text + sizeof text - at));
}

static void add_items(struct buf *b, const json_t *array)
{
	size_t i;
	json_t *value;
	buf_addc(b, '[');
	json_array_foreach(array, i, value)
	{
		if (i > 0)
			buf_addc(b, ',');
		mcp_jsonrpc_add_json(b, value);
	}
	buf_addc(b, ']');
}

/* jansson's own writer looks at each character of a string several times; long texts are most of what is sent here. */
void mcp_jsonrpc_add_json(struct buf *b, const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT: add_object(b, value); break;
	case JSON_ARRAY: add_items(b, value); break;
	case JSON_STRING: add_quoted(b, json_string_value(value), json_string_length(value)); break;
	case JSON_INTEGER: add_integer(b, json_integer_value(value)); break;
	case JSON_REAL: add_real(b, json_real_value(value)); break;
	case JSON_TRUE: buf_adds(b, "true"); break;
	case JSON_FALSE: buf_adds(b, "false"); break;
	case JSON_NULL: buf_adds(b, "null"); break;
	}
}

static void add_head(struct buf *b, const json_t *id)
{
	buf_adds(b, "{\"jsonrpc\":\"2.0\"");
	if (id) {
		buf_adds(b, ",\"id\":");
		mcp_jsonrpc_add_json(b, id);
	}
}

static void add_string(struct buf *b, const char *text)
{
	json_t *s = json_string(text);
	if (s == NULL) /* not UTF-8: our own bug, but the peer must still get an answer */
		s = json_string("(text that is not UTF-8)");
	mcp_jsonrpc_add_json(b, s);
	json_decref(s);
}

void mcp_jsonrpc_add_result_head(struct buf *b, const json_t *id)
{
	add_head(b, id);
	buf_adds(b, ",\"result\":");
}

void mcp_jsonrpc_add_result(struct buf *b, const json_t *id, const json_t *result)
{
	mcp_jsonrpc_add_result_head(b, id);
	mcp_jsonrpc_add_json(b, result);
	buf_addc(b, '}');
}

void mcp_jsonrpc_add_error(struct buf *b, const json_t *id, int code, const char *message, const json_t *data)
{
	add_head(b, id);
	buf_addf(b, ",\"error\":{\"code\":%d,\"message\":", code);
	add_string(b, message);
	if (data) {
		buf_adds(b, ",\"data\":");
		mcp_jsonrpc_add_json(b, data);
	}
	buf_adds(b, "}}");
}

static void add_method(struct buf *b, const char *method, const json_t *params)
{
	buf_adds(b, ",\"method\":");
	add_string(b, method);
	if (params) {
		buf_adds(b, ",\"params\":");
		mcp_jsonrpc_add_json(b, params);
	}
	buf_addc(b, '}');
}

void mcp_jsonrpc_add_notification(struct buf *b, const char *method, const json_t *params)
{
	add_head(b, NULL);
	add_method(b, method, params);
}

void mcp_jsonrpc_add_request(struct buf *b, const json_t *id, const char *method, const json_t *params)
{
	add_head(b, id);
	add_method(b, method, params);
}
