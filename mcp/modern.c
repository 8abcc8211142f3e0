/* modern: what 2026-07-28 demands of a request before its method runs, and questions to the client, whose state travels
 * sealed; see inner.h. Called by mcp/server.c and mcp/call.c. Rules from the specification's pages basic/index (_meta),
 * basic/versioning, basic/transports/streamable-http (Server Validation) and basic/patterns/mrtr. */
#include "mcp/inner.h"

#include <nettle/base64.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

enum { SEAL_LIFE_MS = 15 * 60 * 1000 }; /* how long a person may take to answer */

#define VERSION MCP_META "protocolVersion"
#define CAPABILITIES MCP_META "clientCapabilities"
#define LOG_LEVEL MCP_META "logLevel"

static const struct mcp_done *discover(struct mcp_call *call)
{
	const struct mcp_server_config *config = &call->server->config;
	call->ttl_ms = MCP_LIST_TTL_MS;
	call->shared = 1;
	return mcp_call_answer(call, json_pack("{s:[s], s:o, s:s*, s:{s:O}}", "supportedVersions", MCP_MODERN, "capabilities",
					       mcp_server_capabilities(call->server, 1), "instructions", config->instructions,
					       "_meta", MCP_META "serverInfo", call->server->info));
}

static const struct mcp_method METHODS[] = {
	{ "tools/call", mcp_methods_tools_call, MCP_OFFER_TOOLS },
	{ "server/discover", discover, MCP_OFFER_ALWAYS },
	{ "tools/list", mcp_methods_tools_list, MCP_OFFER_TOOLS },
	{ "resources/list", mcp_methods_resources_list, MCP_OFFER_RESOURCES },
	{ "resources/templates/list", mcp_methods_resources_templates, MCP_OFFER_RESOURCES },
	{ "resources/read", mcp_methods_resources_read, MCP_OFFER_RESOURCES },
	{ "prompts/list", mcp_methods_prompts_list, MCP_OFFER_PROMPTS },
	{ "prompts/get", mcp_methods_prompts_get, MCP_OFFER_PROMPTS },
	{ "completion/complete", mcp_methods_complete, MCP_OFFER_COMPLETIONS },
	{ "subscriptions/listen", mcp_server_listen, MCP_OFFER_ALWAYS },
	{ "tasks/get", mcp_methods_tasks, MCP_OFFER_TASKS },
	{ "tasks/update", mcp_methods_tasks, MCP_OFFER_TASKS },
	{ "tasks/cancel", mcp_methods_tasks, MCP_OFFER_TASKS },
	{ NULL, NULL, 0 },
};

/* --- headers that repeat the body: basic/transports/streamable-http, "Request Metadata" ------------------------------ */

static const char MARK[] = "x-mcp-header";

/* Appends decoded bytes; -1 when the text is not Base64. */
static int add_decoded(struct buf *b, const char *text, size_t n)
{
	struct base64_decode_ctx ctx;
	base64_decode_init(&ctx);
	size_t got = BASE64_DECODE_LENGTH(n);
	uint8_t *bytes = mem_new(got + 1, 1);
	int good = base64_decode_update(&ctx, &got, bytes, n, text) && base64_decode_final(&ctx);
	if (good)
		buf_add(b, bytes, got);
	free(bytes);
	return good ? 0 : -1;
}

/* The text that a header value stands for, without the white space around it (RFC 9110 section 5.5) and decoded from
 * "=?base64?…?="; NULL when its Base64 is broken. free(). */
static char *header_text(const char *value)
{
	static const char PREFIX[] = "=?base64?", SUFFIX[] = "?=";
	size_t head = sizeof PREFIX - 1, tail = sizeof SUFFIX - 1;
	value += strspn(value, " \t");
	size_t n = strlen(value);
	while (n > 0 && strchr(" \t", value[n - 1]))
		n--;
	if (n < head + tail || strncmp(value, PREFIX, head) != 0 || strncmp(value + n - tail, SUFFIX, tail) != 0)
		return mem_strn(value, n);
	struct buf text = BUF_INIT;
	return add_decoded(&text, value + head, n - head - tail) == 0 ? buf_steal(&text) : NULL;
}

/* Whether two texts are the same number; "42.0" is 42. */
static int same_number(const char *a, const char *b)
{
	char *end_a, *end_b;
	double x = strtod(a, &end_a), y = strtod(b, &end_b);
	return end_a != a && end_b != b && *end_a == '\0' && *end_b == '\0' && x == y;
}

/* Whether a header says what the body says; value: the header's, or NULL. */
static int compare_header(const char *header, const char *value, const char *body, int as_number, struct err *e)
{
	if (value == NULL)
		return err_set(e, ERR_INPUT, "header mismatch: the header %s is missing; the body says \"%s\"", header, body);
	char *text = header_text(value);
	int same = text && (strcmp(text, body) == 0 || (as_number && same_number(text, body)));
	int rc =
		same ? 0
		     : err_set(e, ERR_INPUT, "header mismatch: %s says \"%s\", the body \"%s\"", header, text ? text : value, body);
	free(text);
	return rc;
}

static int check_version_header(const struct mcp_headers *headers, const char *version, struct err *e)
{
	return compare_header("MCP-Protocol-Version", headers->version, version, 0, e);
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
			rc = compare_header(header, said, json_string_value(value), 0, e);
		} else if (value && !json_is_object(value) && !json_is_array(value) && !json_is_null(value)) {
			char *text = mcp_jsonrpc_text(value);
			rc = compare_header(header, said, text, json_is_number(value), e);
			free(text);
		} else if (said) {
			rc = err_set(e, ERR_INPUT, "header mismatch: %s is there, but the body has no such argument", header);
		}
		free(header);
	}
	return rc;
}

static int check_headers(const struct mcp_headers *headers, const struct mcp_jsonrpc *m, const json_t *schema, struct err *e)
{
	static const struct {
		const char *method, *field;
	} NAMES[] = {
		{ "tools/call", "name" },  { "prompts/get", "name" },    { "resources/read", "uri" },
		{ "tasks/get", "taskId" }, { "tasks/update", "taskId" }, { "tasks/cancel", "taskId" },
	};
	int rc = compare_header("Mcp-Method", headers->method, m->method, 0, e);
	for (size_t i = 0; rc == 0 && i < MEM_COUNT(NAMES); i++) {
		const char *name = json_string_value(json_object_get(m->params, NAMES[i].field));
		if (name && strcmp(m->method, NAMES[i].method) == 0)
			rc = compare_header("Mcp-Name", headers->name, name, 0, e);
	}
	if (rc == 0 && schema)
		rc = check_params(headers, schema, json_object_get(m->params, "arguments"), e);
	return rc;
}

int mcp_modern_count_marks(const json_t *schema)
{
	const char *name;
	json_t *property;
	int n = 0;
	json_object_foreach(json_object_get(schema, "properties"), name, property)
	{
		n += json_object_get(property, MARK) ? 1 : mcp_modern_count_marks(property);
	}
	return n;
}

/* --- the request ------------------------------------------------------------------------------------------------ */

int mcp_modern_is(const struct mcp_jsonrpc *m, const struct mcp_headers *headers)
{
	const json_t *meta = json_object_get(m->params, "_meta");
	if (json_object_get(meta, VERSION) || json_object_get(meta, CAPABILITIES))
		return 1;
	if (strcmp(m->method, "server/discover") == 0 || strcmp(m->method, "subscriptions/listen") == 0)
		return 1;
	return headers && headers->version && strcmp(headers->version, MCP_MODERN) == 0;
}

/* The input schema of the tool that a request calls, if it marks arguments that headers repeat; else NULL. */
static const json_t *marked_schema(const struct mcp_call *call)
{
	const struct mcp_tool *tools = call->server->config.tools, *tool = NULL;
	const char *name = json_string_value(json_object_get(call->message.params, "name"));
	if (name && strcmp(call->message.method, "tools/call") == 0)
		tool = mcp_registry_find(tools, sizeof(struct mcp_tool), name);
	const struct mcp_tool_entry *entry = tool ? &call->server->tools[tool - tools] : NULL;
	return entry && entry->header_marks > 0 ? entry->input : NULL;
}

/* Checks _meta as basic/index wants it, and the headers. NULL when all is in order. */
static const struct mcp_done *check_meta(struct mcp_call *call, const struct mcp_headers *headers)
{
	const char *version = json_string_value(json_object_get(call->meta, VERSION));
	json_t *capabilities = json_object_get(call->meta, CAPABILITIES);
	struct err e;
	err_init(&e);
	if (version == NULL)
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "params._meta needs \"" VERSION "\", a string");
	if (headers && check_version_header(headers, version, &e) < 0)
		return mcp_call_fail(call, MCP_HEADER_MISMATCH, "%s", e.text);
	if (strcmp(version, MCP_MODERN) != 0)
		return mcp_call_answer_error(
			call, MCP_UNSUPPORTED_VERSION, json_pack("{s:[s], s:s}", "supported", MCP_MODERN, "requested", version),
			"this protocol version is not supported with metadata in each request; earlier ones begin "
			"with initialize");
	if (!json_is_object(capabilities))
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "params._meta needs \"" CAPABILITIES "\", an object");
	if (headers && check_headers(headers, &call->message, marked_schema(call), &e) < 0)
		return mcp_call_fail(call, MCP_HEADER_MISMATCH, "%s", e.text);

	const json_t *level = json_object_get(call->meta, LOG_LEVEL);
	call->log_level = json_is_string(level) ? mcp_server_level_parse(json_string_value(level)) : -1;
	if (level && call->log_level < 0)
		return mcp_call_fail(call, MCP_INVALID_PARAMS,
				     "params._meta." LOG_LEVEL " must be one of debug, info, notice, warning, error, "
				     "critical, alert, emergency");
	json_decref(call->capabilities);
	call->capabilities = json_incref(capabilities);
	return NULL;
}

static const struct mcp_done *serve(struct mcp_call *call, const struct mcp_headers *headers)
{
	const struct mcp_done *failed = check_meta(call, headers);
	if (failed)
		return failed;
	const struct mcp_method *method = mcp_methods_find(call->server, METHODS, call->message.method);
	if (method == NULL)
		return mcp_call_fail(call, MCP_METHOD_NOT_FOUND,
				     "there is no method \"%s\" in " MCP_MODERN ", or this server does not offer it",
				     call->message.method);
	call->accepted = 1;
	if (mcp_server_is_full(call->server))
		return mcp_call_answer_full(call, "the server is busy: too many requests at once; try again in a second");
	return method->run(call);
}

void mcp_modern_request(struct mcp_server *server, const struct mcp_arrival *a, struct mcp_jsonrpc *m, struct mcp_receipt *receipt)
{
	receipt->call = mcp_call_new(server, 1, m, a->stream, a->headers ? NULL : a->session);
	mcp_call_was_pending(serve(receipt->call, a->headers));
}

/* --- questions to the client ------------------------------------------------------------------------------------ */

/* The state is sealed with HMAC-SHA256 (RFC 2104) over itself, its expiry and a digest of the request: mrtr, server
 * requirements 4 and 5, ask for integrity, expiry and binding. */
static struct hash digest_of(const struct mcp_call *call)
{
	char *arguments = json_dumps(call->arguments, JSON_COMPACT | JSON_SORT_KEYS);
	char *text = mem_fmt("%s\n%s\n%s", call->message.method, mcp_call_name(call), arguments);
	struct hash h = hash_text(text);
	free(arguments);
	free(text);
	return h;
}

static void sign(const struct mcp_call *call, const void *text, size_t n, uint8_t mac[SHA256_DIGEST_SIZE])
{
	struct hmac_sha256_ctx ctx;
	hmac_sha256_set_key(&ctx, MCP_SECRET, call->server->secret);
	hmac_sha256_update(&ctx, n, text);
	hmac_sha256_digest(&ctx, SHA256_DIGEST_SIZE, mac);
}

static void add_base64(struct buf *b, const void *bytes, size_t n)
{
	char *text = mem_new(BASE64_ENCODE_RAW_LENGTH(n) + 1, 1);
	base64_encode_raw(text, n, bytes);
	buf_adds(b, text);
	free(text);
}

/* MAC and envelope in Base64, with a dot between them. New reference. */
static json_t *seal(const struct mcp_call *call, const json_t *state)
{
	struct hash digest = digest_of(call);
	json_t *envelope = json_pack("{s:s, s:I, s:O*}", "for", digest.hex, "until", (json_int_t)(clock_wall_ms() + SEAL_LIFE_MS),
				     "state", MCP_JSON(state));
	char *plain = mcp_jsonrpc_text(envelope);
	uint8_t mac[SHA256_DIGEST_SIZE];
	struct buf b = BUF_INIT;
	sign(call, plain, strlen(plain), mac);
	add_base64(&b, mac, sizeof mac);
	buf_addc(&b, '.');
	add_base64(&b, plain, strlen(plain));
	json_t *sealed = json_string(buf_text(&b));
	json_decref(envelope);
	free(plain);
	buf_fini(&b);
	return sealed;
}

static int unseal(const struct mcp_call *call, const char *text, json_t **ret_state, struct err *e)
{
	struct buf mac = BUF_INIT, plain = BUF_INIT;
	struct hash digest = digest_of(call);
	json_t *envelope = NULL;
	uint8_t want[SHA256_DIGEST_SIZE];
	int rc;
	size_t dot = strcspn(text, ".");
	if (text[dot] != '.' || add_decoded(&mac, text, dot) < 0 ||
	    add_decoded(&plain, text + dot + 1, strlen(text + dot + 1)) < 0) {
		rc = err_set(e, ERR_INPUT, "it does not come from this server");
		goto out;
	}
	sign(call, buf_text(&plain), plain.len, want);
	if (mac.len != sizeof want || !memeql_sec(buf_text(&mac), want, sizeof want)) {
		rc = err_set(e, ERR_INPUT,
			     "it was changed, or comes from another server or from before a restart; start over without it");
		goto out;
	}
	envelope = json_loadb(buf_text(&plain), plain.len, 0, NULL);
	const char *bound_to = json_string_value(json_object_get(envelope, "for"));
	if (bound_to == NULL || strcmp(bound_to, digest.hex) != 0) {
		rc = err_set(e, ERR_INPUT, "it belongs to another request; repeat the original one with the same arguments");
		goto out;
	}
	if (json_integer_value(json_object_get(envelope, "until")) < clock_wall_ms()) {
		rc = err_set(e, ERR_INPUT, "it has expired; start over without it");
		goto out;
	}
	*ret_state = json_incref(json_object_get(envelope, "state"));
	rc = 0;
out:
	json_decref(envelope);
	buf_fini(&mac);
	buf_fini(&plain);
	return rc;
}

const struct mcp_done *mcp_modern_ask(struct mcp_call *call, json_t *take_requests, json_t *take_state)
{
	json_t *result = json_pack("{s:s}", "resultType", "input_required");
	int asks = json_object_size(take_requests) > 0;
	if (asks)
		json_object_set(result, "inputRequests", take_requests);
	if (take_state || !asks)
		json_object_set_new(result, "requestState", seal(call, take_state));
	json_decref(take_requests);
	json_decref(take_state);
	return mcp_call_answer(call, result);
}

const struct mcp_done *mcp_modern_retry(struct mcp_call *call)
{
	json_t *answers = json_object_get(call->message.params, "inputResponses");
	const json_t *sealed = json_object_get(call->message.params, "requestState");
	struct err e;
	err_init(&e);
	if (answers && !json_is_object(answers))
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "params.inputResponses must be an object of answers by key");
	if (answers)
		call->inputs = json_incref(answers);
	if (sealed && !json_is_string(sealed))
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "params.requestState must be the string that this server gave");
	if (sealed && unseal(call, json_string_value(sealed), &call->state, &e) < 0)
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "params.requestState cannot be accepted: %s", e.text);
	return NULL;
}
