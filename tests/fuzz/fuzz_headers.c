/* The headers and the body of a POST, as a transport passes them to the server: lines "Name: value" up to an empty line, then the
 * message. Every request gets exactly one answer, which is JSON with its id. Nothing else gets an answer with an id. The same input
 * on the same connection gets the same answer again. */
#include <strings.h>

#include "fuzz/fuzz.h"
#include "mcp/inner.h"

static const char SCHEMA[] = "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\",\"x-mcp-header\":\"Text\"},"
			     "\"n\":{\"type\":\"integer\",\"x-mcp-header\":\"N\"}}}";

static const struct mcp_done *echo(struct mcp_call *call)
{
	const char *text = json_string_value(json_object_get(mcp_call_arguments(call), "text"));
	return mcp_call_reply(call, NULL, "%s", text ? text : "nothing");
}

static const struct mcp_tool TOOLS[] = {
	{ .name = "echo", .description = "Echoes.", .input_schema = SCHEMA, .handler = echo, .flags = MCP_TOOL_QUICK },
	{ .name = NULL },
};

/* The bytes sent on a request's stream. */
struct sink {
	struct mcp_stream stream; /* first: streams are cast to this */
	int answers;
	json_t *last;
};

static void sink_send(struct mcp_stream *stream, const struct mcp_outgoing *m)
{
	struct sink *s = (struct sink *)stream;
	if (m->n == 0) /* the end of a stream whose request is not answered */
		return;
	json_decref(s->last);
	s->last = NULL;
	s->answers += m->final;
	s->last = json_loadb(m->text, m->n, JSON_REJECT_DUPLICATES, NULL);
	assert(s->last && memchr(m->text, '\n', m->n) == NULL);
}

static void sink_free(struct mcp_stream *stream)
{
	(void)stream;
}

static const struct mcp_stream_ops SINK = { .send = sink_send, .free = sink_free };

/* The value behind the first "name:" of the lines, cut at its end. The text is the context. */
static const char *header(void *ctx, const char *name)
{
	size_t n = strlen(name);
	for (char *line = ctx; *line; line += strlen(line) + 1)
		if (strncasecmp(line, name, n) == 0 && line[n] == ':')
			return line + n + 1 + strspn(line + n + 1, " ");
	return NULL;
}

/* Lines become strings, one after the other, an empty one at the end. Returns where the body begins. */
static size_t split(char *text, size_t size)
{
	size_t line = 0;
	for (size_t i = 0; i < size; i++) {
		if (text[i] != '\n')
			continue;
		text[i] = '\0';
		if (i == line)
			return i + 1;
		line = i + 1;
	}
	return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mcp_server_config config = { .name = "fuzz", .version = "1", .tools = TOOLS, .threads = 1, .max_depth = 32 };
	struct mcp_server *server;
	struct err e = ERR_INIT;
	int rc = mcp_server_new(&config, &server, &e);
	assert(rc == 0);
	(void)rc;
	char *head = mem_new(size + 2, 1);
	memcpy(head, data, size);
	size_t from = split(head, size);
	uint8_t *body = fuzz_bytes(data + from, size - from);
	struct sink sink = { .answers = 0 };
	struct mcp_headers headers = { .version = header(head, "MCP-Protocol-Version"),
				       .method = header(head, "Mcp-Method"),
				       .name = header(head, "Mcp-Name"),
				       .get = header,
				       .ctx = head };
	struct mcp_receipt receipt;
	mcp_stream_init(&sink.stream, &SINK);
	struct mcp_arrival a = { .text = (const char *)body, .n = size - from, .stream = &sink.stream, .headers = &headers };
	int listens = memmem(data, size, "listen", 6) != NULL;
	mcp_server_receive(server, &a, &receipt);
	mcp_call_unref(receipt.call);
	mcp_session_unref(receipt.session);
	if (!listens) {
		json_t *first = sink.last;
		int answers = sink.answers;
		sink.last = NULL;
		mcp_server_receive(server, &a, &receipt);
		mcp_call_unref(receipt.call);
		mcp_session_unref(receipt.session);
		assert(sink.answers == 2 * answers && (first ? json_equal(first, sink.last) : sink.last == NULL));
		sink.answers = answers;
		json_decref(first);
	}
	mcp_server_free(server); /* ends subscriptions: with an answer, or, before they began, without */
	assert(sink.answers == (receipt.accepted ? 0 : 1) || (listens && sink.answers == 0));
	json_decref(sink.last);
	free(body);
	free(head);
	return 0;
}
