/* A message of an MCP peer. The reader must not accept what jansson's own refuses, nor read anything else into it, whatever it
 * remembers of messages before; and a message that is written again is read as the same. */
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

/* In which object of the message a member is. */
static const json_t *home_of(const json_t *message, enum mcp_jsonrpc_member member)
{
	const json_t *params = json_object_get(message, "params");
	if (member == MCP_JSONRPC || member == MCP_METHOD || (member >= MCP_ID && member <= MCP_ERROR))
		return message;
	int of_meta = member == MCP_META_VERSION || member == MCP_META_CAPABILITIES || member == MCP_META_CLIENT ||
		      member >= MCP_META_TOKEN;
	return of_meta ? json_object_get(params, "_meta") : params;
}

/* The message's members are those of the object that jansson reads, and no name came twice. */
static void compare_members(const json_t *theirs, const struct mcp_jsonrpc *m)
{
	for (int i = 0; i < MCP_MEMBERS; i++) {
		const json_t *own = json_object_get(home_of(theirs, i), mcp_jsonrpc_name(i));
		if (own && (i == MCP_PARAMS || i == MCP_PARAM_META)) /* their members stand for them */
			assert(json_is_true(m->members[i]) == json_is_object(own) && json_is_boolean(m->members[i]));
		else
			assert(own ? json_equal(own, m->members[i]) : m->members[i] == NULL);
	}
}

static void write_again(const struct mcp_jsonrpc *m, const json_t *params, struct buf *b)
{
	switch (m->kind) {
	case MCP_REQUEST: mcp_jsonrpc_add_request(b, m->id, m->method, params); break;
	case MCP_NOTIFICATION: mcp_jsonrpc_add_notification(b, m->method, params); break;
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
	/* Up to a NUL, which no message has, it is what came before on the same connection. */
	const uint8_t *nul = memchr(data, 0, size);
	size_t before = nul ? (size_t)(nul - data) : 0, skip = nul ? before + 1 : 0, n = size - skip;
	char *text = (char *)fuzz_bytes(data + skip, n);
	struct mcp_parse_memory memory;
	struct mcp_jsonrpc m, again;
	struct err e = ERR_INIT;
	int code = 0;
	mcp_parse_memory_init(&memory, MCP_COMMON);
	mcp_jsonrpc_parse((const char *)data, before, DEPTH, &memory, &m, &code, NULL);
	mcp_jsonrpc_fini(&m);
	compare_readers(text, n);
	if (mcp_jsonrpc_parse(text, n, DEPTH, &memory, &m, &code, &e) == 0) {
		json_t *theirs = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
		assert(json_is_object(theirs));
		compare_members(theirs, &m);
		struct buf b = BUF_INIT;
		write_again(&m, json_object_get(theirs, "params"), &b);
		assert(mcp_jsonrpc_parse(b.data, b.len, DEPTH + 2, NULL, &again, &code, &e) == 0 &&
		       again.kind == m.kind);
		mcp_jsonrpc_fini(&again);
		buf_fini(&b);
		json_decref(theirs);
	} else {
		assert(code < 0 && e.text[0]);
	}
	mcp_jsonrpc_fini(&m);
	mcp_parse_memory_fini(&memory);
	free(text);
	return 0;
}
