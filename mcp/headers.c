/* headers: comparing mirrored headers with the body; see headers.h. Called by mcp/modern.c.
 * Rules: basic/transports/streamable-http, "Request Metadata" (encoding, required headers, server validation). */
#include "mcp/headers.h"

#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/jsonrpc.h"

static const char PREFIX[] = "=?base64?", SUFFIX[] = "?=";

/* The text that a header value stands for; NULL when its Base64 is broken. The caller frees. */
static char *decode(const char *value)
{
	size_t n = strlen(value), head = sizeof PREFIX - 1, tail = sizeof SUFFIX - 1;
	if (n < head + tail || strncmp(value, PREFIX, head) != 0 || strcmp(value + n - tail, SUFFIX) != 0)
		return mem_str(value);
	struct base64_decode_ctx ctx;
	base64_decode_init(&ctx);
	size_t got = BASE64_DECODE_LENGTH(n);
	char *text = mem_new(got + 1, 1);
	if (base64_decode_update(&ctx, &got, (uint8_t *)text, n - head - tail, value + head) && base64_decode_final(&ctx)) {
		text[got] = '\0';
		return text;
	}
	free(text);
	return NULL;
}

static int compare(const struct mcp_headers *headers, const char *header, const char *body, struct err *e)
{
	const char *value = headers->get(headers->ctx, header);
	if (value == NULL)
		return err_set(e, ERR_INPUT, "header mismatch: the header %s is missing; the body says \"%s\"", header, body);
	char *text = decode(value);
	int same = text && strcmp(text, body) == 0;
	int rc = same ? 0 : err_set(e, ERR_INPUT, "header mismatch: %s says \"%s\", the body \"%s\"", header,
	                            text ? text : value, body);
	free(text);
	return rc;
}

int mcp_headers_check_version(const struct mcp_headers *headers, const char *version, struct err *e)
{
	return compare(headers, "MCP-Protocol-Version", version, e);
}

/* Which member of params Mcp-Name mirrors; NULL: none. */
static const char *name_field(const char *method)
{
	static const struct { const char *method, *field; } FIELDS[] = {
		{ "tools/call", "name" },     { "prompts/get", "name" },      { "resources/read", "uri" },
		{ "tasks/get", "taskId" },    { "tasks/update", "taskId" },   { "tasks/cancel", "taskId" },
	};
	for (size_t i = 0; i < MEM_COUNT(FIELDS); i++)
		if (strcmp(method, FIELDS[i].method) == 0)
			return FIELDS[i].field;
	return NULL;
}

int mcp_headers_check(const struct mcp_headers *headers, const char *method, const json_t *params, struct err *e)
{
	int rc = compare(headers, "Mcp-Method", method, e);
	const char *field = name_field(method);
	const char *name = field ? json_string_value(json_object_get(params, field)) : NULL;
	if (rc == 0 && name)
		rc = compare(headers, "Mcp-Name", name, e);
	return rc;
}
