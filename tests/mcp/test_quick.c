/* Quick tools, which run on the thread that read the request: they overtake what waits for the pool, and when a hundred and
 * more connections become ready while one of them runs, all are answered (libmicrohttpd 0.9.75 by itself waits for ever
 * when they are exactly 128). */
#include <stdatomic.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http_client.h"
#include "mcp/http.h"
#include "peer.h"
#include "tap.h"

#define MODERN(id, tool)                                                                                               \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool "\"," MODERN_META  \
	"}}"
#define HEADERS(tool) "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: " tool "\r\n"

static const struct mcp_done *quick(struct mcp_call *call)
{
	return mcp_call_reply(call, NULL, "quick");
}

static const struct mcp_done *nap(struct mcp_call *call)
{
	clock_sleep(100 * CLOCK_MS);
	return mcp_call_reply(call, NULL, "rested");
}

static const struct mcp_done *stuck(struct mcp_call *call)
{
	_Atomic int *go = mcp_call_user(call);
	while (!*go)
		clock_sleep(CLOCK_MS);
	return mcp_call_reply(call, NULL, "free");
}

static const struct mcp_tool TOOLS[] = {
	{ .name = "quick", .description = "Is quick.", .handler = quick, .flags = MCP_TOOL_QUICK },
	{ .name = "nap", .description = "Only says that it is.", .handler = nap, .flags = MCP_TOOL_QUICK },
	{ .name = "stuck", .description = "Waits.", .handler = stuck },
	{ .name = NULL },
};

static void test_overtakes(struct mcp_server *server, _Atomic int *go)
{
	struct peer p;
	peer_open(&p, server);
	peer_send(&p, MODERN("1", "stuck"));
	json_t *m = peer_ask(&p, MODERN("2", "quick"));
	is_str(at(m, "id"), "2", "a quick tool answers while the only thread of the pool is taken");
	is_str(at(m, "result.content.0.text"), "quick", "as any tool does");
	json_decref(m);
	*go = 1;
	m = peer_read(&p, 60000);
	is_str(at(m, "id"), "1", "the other one later");
	json_decref(m);
	peer_close(&p);
}

/* n connections that ask something while the network thread is busy. */
static void test_ready_at_once(int port, int n)
{
	int *fds = MEM_NEW_N(int, (size_t)n), busy = dial(port), answered = 0;
	for (int i = 0; i < n; i++)
		fds[i] = dial(port);
	ask(port, "POST", "/mcp", HEADERS("quick"), MODERN("1", "quick")); /* all have been accepted */
	request(busy, "POST", "/mcp", HEADERS("nap"), MODERN("1", "nap"));
	clock_sleep(30 * CLOCK_MS);
	for (int i = 0; i < n; i++)
		request(fds[i], "POST", "/mcp", HEADERS("quick"), MODERN("1", "quick"));
	for (int i = 0; i < n; i++) {
		struct buf b = BUF_INIT;
		if (answered == i)
			answered += read_until(fds[i], &b, "}}", 60000) == 0;
		buf_fini(&b);
		close(fds[i]);
	}
	is_int(answered, n, "%d connections that become ready at once are answered", n);
	close(busy);
	free(fds);
}

int main(void)
{
	_Atomic int go = 0;
	struct mcp_server_config config = {
		.name = "test", .version = "1", .tools = TOOLS, .threads = 1, .user = (void *)&go
	};
	struct mcp_http_config listen = { .port = 0 };
	struct mcp_server *server;
	struct mcp_http *http;
	struct err e = ERR_INIT;
	is_int(mcp_server_new(&config, &server, &e), 0, "a server starts %s", e.text);
	is_int(mcp_http_start(server, &listen, &http, &e), 0, "and listens %s", e.text);
	test_overtakes(server, &go);
	test_ready_at_once(mcp_http_port(http), 127);
	test_ready_at_once(mcp_http_port(http), 128);
	test_ready_at_once(mcp_http_port(http), 256);
	mcp_http_stop(http);
	mcp_server_free(server);
	return tap_done();
}
