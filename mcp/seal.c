/* seal: HMAC-SHA256 (RFC 2104) over the state, its expiry and a digest of the request; see seal.h.
 * The specification (basic/patterns/mrtr, server requirements 4 and 5) asks for integrity, expiry and binding. */
#include "mcp/seal.h"

#include <nettle/base64.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "mcp/server_inner.h"

enum { LIFE_MS = 15 * 60 * 1000 }; /* how long a person may take to answer */

/* Which request a state belongs to. */
static struct hash digest_of(const struct mcp_call *call)
{
	struct buf b = BUF_INIT;
	char *arguments = json_dumps(call->arguments, JSON_COMPACT | JSON_SORT_KEYS);
	buf_addf(&b, "%s\n%s\n%s", call->method, call->name ? call->name : "", arguments ? arguments : "");
	struct hash h = hash_bytes(buf_text(&b), b.len);
	free(arguments);
	buf_fini(&b);
	return h;
}

static void sign(const struct mcp_call *call, const char *text, size_t n, uint8_t mac[SHA256_DIGEST_SIZE])
{
	struct hmac_sha256_ctx ctx;
	hmac_sha256_set_key(&ctx, MCP_SECRET, call->server->secret);
	hmac_sha256_update(&ctx, n, (const uint8_t *)text);
	hmac_sha256_digest(&ctx, SHA256_DIGEST_SIZE, mac);
}

static void add_base64(struct buf *b, const void *bytes, size_t n)
{
	char *text = mem_new(BASE64_ENCODE_RAW_LENGTH(n) + 1, 1);
	base64_encode_raw(text, n, bytes);
	buf_adds(b, text);
	free(text);
}

char *mcp_seal_close(const struct mcp_call *call, const json_t *state)
{
	struct hash digest = digest_of(call);
	json_t *envelope = json_pack("{s:s, s:I, s:O*}", "for", digest.hex, "until",
				     (json_int_t)(clock_wall_ms() + LIFE_MS), "state", MCP_JSON(state));
	struct buf plain = BUF_INIT, text = BUF_INIT;
	mcp_jsonrpc_add_json(&plain, envelope);
	uint8_t mac[SHA256_DIGEST_SIZE];
	sign(call, buf_text(&plain), plain.len, mac);
	add_base64(&text, mac, sizeof mac);
	buf_addc(&text, '.');
	add_base64(&text, buf_text(&plain), plain.len);
	json_decref(envelope);
	buf_fini(&plain);
	return buf_steal(&text);
}

/* Appends decoded bytes; -1 when the text is not base64. */
static int decode(struct buf *b, const char *text, size_t n)
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

int mcp_seal_open(const struct mcp_call *call, const char *text, json_t **ret_state, struct err *e)
{
	struct buf mac = BUF_INIT, plain = BUF_INIT;
	json_t *envelope = NULL;
	uint8_t want[SHA256_DIGEST_SIZE];
	int rc = -ERR_INPUT;
	size_t dot = strcspn(text, ".");
	if (text[dot] != '.' || decode(&mac, text, dot) < 0 ||
	    decode(&plain, text + dot + 1, strlen(text + dot + 1)) < 0) {
		err_set(e, ERR_INPUT, "it is not a state that this server gave");
		goto out;
	}
	sign(call, buf_text(&plain), plain.len, want);
	if (mac.len != sizeof want || !memeql_sec(buf_text(&mac), want, sizeof want)) {
		err_set(e, ERR_INPUT,
			"it was changed, or given by another server or before a restart; start over without it");
		goto out;
	}
	envelope = json_loadb(buf_text(&plain), plain.len, 0, NULL);
	struct hash digest = digest_of(call);
	const char *for_digest = json_string_value(json_object_get(envelope, "for"));
	if (for_digest == NULL || strcmp(for_digest, digest.hex) != 0) {
		err_set(e, ERR_INPUT, "it belongs to another request; repeat the original one with the same arguments");
		goto out;
	}
	if (json_integer_value(json_object_get(envelope, "until")) < clock_wall_ms()) {
		err_set(e, ERR_INPUT, "it has expired; start over without it");
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
