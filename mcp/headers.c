/* headers: comparing mirrored headers with the body; see headers.h. Called by mcp/modern.c.
 * Rules: basic/transports/streamable-http, "Request Metadata" (encoding, required headers, server validation). */
#include "mcp/headers.h"

#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/jsonrpc.h"

static const char PREFIX[] = "=?base64?", SUFFIX[] = "?=";

static int is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* A header value without the white space around it, which does not count (RFC 9110 section 5.5). */
static const char *trimmed(const char *value, size_t *ret_n)
{
	while (is_blank(*value))
		value++;
	size_t n = strlen(value);
	while (n > 0 && is_blank(value[n - 1]))
		n--;
	*ret_n = n;
	return value;
}

/* The text that a header value stands for; NULL when its Base64 is broken. The caller frees. */
static char *decode(const char *given)
{
	size_t n, head = sizeof PREFIX - 1, tail = sizeof SUFFIX - 1;
	const char *value = trimmed(given, &n);
	if (n < head + tail || strncmp(value, PREFIX, head) != 0 || strncmp(value + n - tail, SUFFIX, tail) != 0)
		return mem_strn(value, n);
	struct base64_decode_ctx ctx;
	base64_decode_init(&ctx);
	size_t got = BASE64_DECODE_LENGTH(n);
	char *text = mem_new(got + 1, 1);
	if (base64_decode_update(&ctx, &got, (uint8_t *)text, n - head - tail, value + head) &&
	    base64_decode_final(&ctx)) {
		text[got] = '\0';
		return text;
	}
	free(text);
	return NULL;
}

/* Whether two texts are the same integer; "42.0" is 42. */
static int same_integer(const char *a, const char *b)
{
	char *end_a, *end_b;
	double x = strtod(a, &end_a), y = strtod(b, &end_b);
	return end_a != a && end_b != b && *end_a == '\0' && *end_b == '\0' && x == y;
}

/* Whether a header says what the body says; value: the header's, or NULL. */
static int compare(const char *header, const char *value, const char *body, int as_number, struct err *e)
{
	if (value == NULL)
		return err_set(e, ERR_INPUT, "header mismatch: the header %s is missing; the body says \"%s\"", header,
			       body);
	size_t n;
	const char *bare = trimmed(value, &n);
	if (strlen(body) == n && memcmp(bare, body, n) == 0 && strncmp(bare, PREFIX, sizeof PREFIX - 1) != 0)
		return 0; /* nearly always */
	char *text = decode(value);
	int same = text && (strcmp(text, body) == 0 || (as_number && same_integer(text, body)));
	int rc = same ? 0
		      : err_set(e, ERR_INPUT, "header mismatch: %s says \"%s\", the body \"%s\"", header,
				text ? text : value, body);
	free(text);
	return rc;
}

int mcp_headers_check_version(const struct mcp_headers *headers, const char *version, struct err *e)
{
	return compare("MCP-Protocol-Version", headers->version, version, 0, e);
}

/* What Mcp-Name mirrors; NULL: nothing. */
static const char *mirrored_name(const char *method, json_t *const *members)
{
	static const struct {
		const char *method;
		enum mcp_jsonrpc_member member;
	} FIELDS[] = {
		{ "tools/call", MCP_PARAM_NAME },      { "prompts/get", MCP_PARAM_NAME },
		{ "resources/read", MCP_PARAM_URI },   { "tasks/get", MCP_PARAM_TASK_ID },
		{ "tasks/update", MCP_PARAM_TASK_ID }, { "tasks/cancel", MCP_PARAM_TASK_ID },
	};
	for (size_t i = 0; i < MEM_COUNT(FIELDS); i++)
		if (strcmp(method, FIELDS[i].method) == 0)
			return json_string_value(members[FIELDS[i].member]);
	return NULL;
}

int mcp_headers_check(const struct mcp_headers *headers, const char *method, json_t *const *members, struct err *e)
{
	int rc = compare("Mcp-Method", headers->method, method, 0, e);
	const char *name = mirrored_name(method, members);
	if (rc == 0 && name)
		rc = compare("Mcp-Name", headers->name, name, 0, e);
	return rc;
}

/* --- Mcp-Param-… --------------------------------------------------------------------------------------------- */

static const char MARK[] = "x-mcp-header";

/* The argument as the client had to write it; NULL for what is not mirrored. The caller frees. */
static char *as_text(const json_t *value)
{
	if (json_is_string(value))
		return mem_str(json_string_value(value));
	if (json_is_boolean(value))
		return mem_str(json_is_true(value) ? "true" : "false");
	if (json_is_integer(value))
		return mem_fmt("%" JSON_INTEGER_FORMAT, json_integer_value(value));
	return json_is_real(value) ? mem_fmt("%.17g", json_real_value(value)) : NULL;
}

static int check_param(const struct mcp_headers *headers, const char *mark, const json_t *value, struct err *e)
{
	char *header = mem_fmt("Mcp-Param-%s", mark), *text = as_text(value);
	const char *said = headers->get(headers->ctx, header);
	int rc = text ? compare(header, said, text, json_is_number(value), e) : 0;
	if (text == NULL && said)
		rc = err_set(e, ERR_INPUT, "header mismatch: %s is there, but the body has no such argument", header);
	free(header);
	free(text);
	return rc;
}

int mcp_headers_check_params(const struct mcp_headers *headers, const json_t *schema, const json_t *arguments,
			     struct err *e)
{
	const char *name;
	json_t *property;
	json_object_foreach(json_object_get(schema, "properties"), name, property)
	{
		const char *mark = json_string_value(json_object_get(property, MARK));
		const json_t *value = json_object_get(arguments, name);
		int rc = mark ? check_param(headers, mark, value, e)
			      : mcp_headers_check_params(headers, property, value, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Marks anywhere below a value; those in the right places are a subset. */
static int count_all(const json_t *value)
{
	const char *key;
	json_t *below;
	size_t i;
	int n = json_is_object(value) && json_object_get(value, MARK) != NULL;
	json_object_foreach(MCP_JSON(value), key, below)
	{
		n += count_all(below);
	}
	json_array_foreach(value, i, below)
	{
		n += count_all(below);
	}
	return n;
}

/* Whether this mark may stand at this property, and was not used before. */
static int check_mark(const char *name, const json_t *property, const char *mark, json_t *seen, struct err *e)
{
	static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";
	const char *type = json_string_value(json_object_get(property, "type"));
	if (mark == NULL || *mark == '\0' || mark[strspn(mark, token)] != '\0')
		return err_set(e, ERR_INPUT, "\"%s\": %s must be a header name of letters, digits and !#$%%&'*+-.^_`|~",
			       name, MARK);
	if (type == NULL ||
	    (strcmp(type, "string") != 0 && strcmp(type, "integer") != 0 && strcmp(type, "boolean") != 0))
		return err_set(e, ERR_INPUT, "\"%s\": %s is for properties of type string, integer or boolean", name,
			       MARK);
	char *lower = mem_str(mark);
	for (char *p = lower; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	int twice = json_object_get(seen, lower) != NULL;
	json_object_set_new(seen, lower, json_true());
	free(lower);
	return twice ? err_set(e, ERR_INPUT, "\"%s\": the %s \"%s\" is used twice", name, MARK, mark) : 0;
}

/* Marks that are reached through `properties` alone. */
static int count_reachable(const json_t *schema, json_t *seen, struct err *e)
{
	const char *name;
	json_t *property;
	int n = 0, rc;
	json_object_foreach(json_object_get(schema, "properties"), name, property)
	{
		const json_t *mark = json_object_get(property, MARK);
		rc = mark ? check_mark(name, property, json_string_value(mark), seen, e)
			  : count_reachable(property, seen, e);
		if (rc < 0)
			return rc;
		n += mark ? 1 : rc;
	}
	return n;
}

int mcp_headers_count_marks(const json_t *schema, struct err *e)
{
	json_t *seen = json_object();
	int n = count_reachable(schema, seen, e);
	json_decref(seen);
	if (n >= 0 && n != count_all(schema))
		return err_set(e, ERR_INPUT,
			       "%s may only stand at properties that are reached through \"properties\" from the root",
			       MARK);
	return n;
}
