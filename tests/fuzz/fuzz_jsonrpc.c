/* A message of an MCP peer. An accepted message is JSON without duplicate names and within the depth. A message that is
 * written and read again is the same. */
#include "fuzz/fuzz.h"
#include "mcp/jsonrpc.h"

enum { DEPTH = 32 };

static int depth_of(const json_t *value)
{
	int deepest = 0, below;
	const char *key;
	json_t *one;
	size_t i;
	json_object_foreach(MCP_JSON(value), key, one)
	{
		below = depth_of(one);
		deepest = below > deepest ? below : deepest;
	}
	json_array_foreach(value, i, one)
	{
		below = depth_of(one);
		deepest = below > deepest ? below : deepest;
	}
	return json_is_object(value) || json_is_array(value) ? deepest + 1 : 0;
}

static char *write_again(const struct mcp_jsonrpc *m)
{
	switch (m->kind) {
	case MCP_REQUEST: return mcp_jsonrpc_request(m->id, m->method, m->params);
	case MCP_NOTIFICATION: return mcp_jsonrpc_notification(m->method, m->params);
	case MCP_RESPONSE: break;
	}
	return m->result ? mcp_jsonrpc_result(m->id, m->result) : mcp_jsonrpc_error(m->id, MCP_INTERNAL_ERROR, "fuzz", m->error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = (char *)fuzz_bytes(data, size);
	struct mcp_jsonrpc m, again;
	struct err e = ERR_INIT;
	int code = 0;
	if (mcp_jsonrpc_parse(text, size, DEPTH, &m, &code, &e) == 0) {
		json_t *theirs = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
		assert(json_is_object(theirs) && json_equal(theirs, m.whole) && depth_of(theirs) <= DEPTH);
		json_decref(theirs);
		char *written = write_again(&m);
		assert(strchr(written, '\n') == NULL);
		assert(mcp_jsonrpc_parse(written, strlen(written), DEPTH + 2, &again, &code, &e) == 0);
		assert(again.kind == m.kind && (m.id == NULL || json_equal(m.id, again.id)));
		mcp_jsonrpc_fini(&again);
		free(written);
	} else {
		assert(code < 0 && e.text[0]);
	}
	mcp_jsonrpc_fini(&m);
	free(text);
	return 0;
}
