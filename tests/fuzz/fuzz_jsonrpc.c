/* A message of an MCP peer. The reader must not accept what jansson's own refuses, nor read anything else into it; and a
 * message that is written again is read as the same. */
#include "fuzz/fuzz.h"
#include "mcp/jsonrpc.h"
#include "mcp/parse.h"

enum { DEPTH = 32 };

static void compare_readers(const char *text, size_t n)
{
	json_t *ours = NULL;
	struct err e = ERR_INIT;
	if (mcp_parse(text, n, DEPTH, &ours, &e) < 0) {
		assert(e.text[0]);
		return;
	}
	json_t *theirs = json_loadb(text, n, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	assert(theirs && json_equal(ours, theirs));
	json_decref(theirs);
	json_decref(ours);
}

/* The message's members are those of the object that jansson reads, and no name came twice. */
static void compare_members(const char *text, size_t n, const struct mcp_jsonrpc *m)
{
	static const char *const NAMES[MCP_MEMBERS] = { "jsonrpc", "id", "method", "params", "result", "error" };
	json_t *theirs = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
	assert(json_is_object(theirs));
	for (int i = 0; i < MCP_MEMBERS; i++) {
		json_t *own = json_object_get(theirs, NAMES[i]);
		assert(own ? json_equal(own, m->members[i]) : m->members[i] == NULL);
	}
	json_decref(theirs);
}

static void write_again(const struct mcp_jsonrpc *m, struct buf *b)
{
	switch (m->kind) {
	case MCP_REQUEST: mcp_jsonrpc_add_request(b, m->id, m->method, m->params); break;
	case MCP_NOTIFICATION: mcp_jsonrpc_add_notification(b, m->method, m->params); break;
	case MCP_RESPONSE:
		if (m->result)
			mcp_jsonrpc_add_result(b, m->id, m->result);
		else
			mcp_jsonrpc_add_error(b, m->id, MCP_INTERNAL_ERROR, "fuzz", m->error);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = (char *)fuzz_bytes(data, size);
	struct mcp_jsonrpc m, again;
	struct err e = ERR_INIT;
	int code = 0;
	compare_readers(text, size);
	if (mcp_jsonrpc_parse(text, size, DEPTH, &m, &code, &e) == 0) {
		compare_members(text, size, &m);
		struct buf b = BUF_INIT;
		write_again(&m, &b);
		assert(mcp_jsonrpc_parse(b.data, b.len, DEPTH + 2, &again, &code, &e) == 0 && again.kind == m.kind);
		mcp_jsonrpc_fini(&again);
		buf_fini(&b);
	} else {
		assert(code < 0 && e.text[0]);
	}
	mcp_jsonrpc_fini(&m);
	free(text);
	return 0;
}
