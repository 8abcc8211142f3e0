/* headers: comparing repeated headers with the body; see headers.h. Called by mcp/modern.c, and by mcp/methods_tools.c for
 * the schemas. Rules: basic/transports/streamable-http, "Request Metadata" (encoding, required headers, server
 * validation). */
#include "mcp/headers.h"

#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char MARK[] = "x-mcp-header";

/* The text that a header value stands for, without the white space around it (RFC 9110 section 5.5) and decoded from
 * "=?base64?…?="; NULL when its Base64 is broken. free(). */
static char *decode(const char *value)
{
	static const char PREFIX[] = "=?base64?", SUFFIX[] = "?=";
	size_t head = sizeof PREFIX - 1, tail = sizeof SUFFIX - 1;
	value += strspn(value, " \t");
	size_t n = strlen(value);
	while (n > 0 && strchr(" \t", value[n - 1]))
		n--;
	if (n < head + tail || strncmp(value, PREFIX, head) != 0 || strncmp(value + n - tail, SUFFIX, tail) != 0)
		return mem_strn(value, n);
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

/* Whether two texts are the same number; "42.0" is 42. */
static int same_number(const char *a, const char *b)
{
	char *end_a, *end_b;
	double x = strtod(a, &end_a), y = strtod(b, &end_b);
	return end_a != a && end_b != b && *end_a == '\0' && *end_b == '\0' && x == y;
}

/* Whether a header says what the body says; value: the header's, or NULL. */
static int compare(const char *header, const char *value, const char *body, int as_number, struct err *e)
{
	if (value == NULL)
		return err_set(e, ERR_INPUT, "header mismatch: the header %s is missing; the body says \"%s\"", header, body);
	char *text = decode(value);
	int same = text && (strcmp(text, body) == 0 || (as_number && same_number(text, body)));
	int rc =
		same ? 0
		     : err_set(e, ERR_INPUT, "header mismatch: %s says \"%s\", the body \"%s\"", header, text ? text : value, body);
	free(text);
	return rc;
}

int mcp_headers_check_version(const struct mcp_headers *headers, const char *version, struct err *e)
{
	return compare("MCP-Protocol-Version", headers->version, version, 0, e);
}

/* The marked properties below a schema. */
static int check_params(const struct mcp_headers *headers, const json_t *schema, const json_t *arguments, struct err *e)
{
	const char *name;
	json_t *property;
	int rc = 0;
	json_object_foreach(json_object_get(schema, "properties"), name, property)
	{
		const char *mark = json_string_value(json_object_get(property, MARK));
		const json_t *value = json_object_get(arguments, name);
		if (rc < 0)
			return rc;
		if (mark == NULL) {
			rc = check_params(headers, property, value, e);
			continue;
		}
		char *header = mem_fmt("Mcp-Param-%s", mark);
		const char *said = headers->get(headers->ctx, header);
		if (json_is_string(value)) {
			rc = compare(header, said, json_string_value(value), 0, e);
		} else if (value && !json_is_object(value) && !json_is_array(value) && !json_is_null(value)) {
			char *text = mcp_jsonrpc_text(value);
			rc = compare(header, said, text, json_is_number(value), e);
			free(text);
		} else if (said) {
			rc = err_set(e, ERR_INPUT, "header mismatch: %s is there, but the body has no such argument", header);
		}
		free(header);
	}
	return rc;
}

int mcp_headers_check(const struct mcp_headers *headers, const struct mcp_jsonrpc *m, const json_t *schema, struct err *e)
{
	static const struct {
		const char *method, *field;
	} NAMES[] = {
		{ "tools/call", "name" },  { "prompts/get", "name" },    { "resources/read", "uri" },
		{ "tasks/get", "taskId" }, { "tasks/update", "taskId" }, { "tasks/cancel", "taskId" },
	};
	int rc = compare("Mcp-Method", headers->method, m->method, 0, e);
	for (size_t i = 0; rc == 0 && i < MEM_COUNT(NAMES); i++) {
		const char *name = json_string_value(json_object_get(m->params, NAMES[i].field));
		if (name && strcmp(m->method, NAMES[i].method) == 0)
			rc = compare("Mcp-Name", headers->name, name, 0, e);
	}
	if (rc == 0 && schema)
		rc = check_params(headers, schema, json_object_get(m->params, "arguments"), e);
	return rc;
}

int mcp_headers_count_marks(const json_t *schema)
{
	const char *name;
	json_t *property;
	int n = 0;
	json_object_foreach(json_object_get(schema, "properties"), name, property)
	{
		n += json_object_get(property, MARK) ? 1 : mcp_headers_count_marks(property);
	}
	return n;
}
