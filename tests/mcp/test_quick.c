/* Quick tools, which run on the thread that read the request: they overtake what waits for the pool. When a hundred and more
 * connections become ready while one of them runs, all are answered. (libmicrohttpd 0.9.75 by itself waits for ever when they are
 * exactly 128.) */
#include <signal.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http_client.h"
#include "mcp/http.h"
#include "pace.h"
#include "peer.h"
#include "tap.h"

#define MODERN(id, tool)                                                                                                           \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool "\"," MODERN_META "}}"
#define HEADERS(tool) "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: " tool "\r\n"

static const struct mcp_done *quick(struct mcp_call *call)
{
	return mcp_call_reply(call, NULL, "quick");
}

/* What the tools share with the test. */
struct world {
	_Atomic int go;          /* lets "stuck" go */
	_Atomic int naps, woken; /* naps that began; how many of them may end */
};

static const struct mcp_done *nap(struct mcp_call *call)
{
	struct world *w = mcp_call_user(call);
	int number = ++w->naps;
	PACE_WAIT(w->woken >= number);
	return mcp_call_reply(call, NULL, "rested");
}

static const struct mcp_done *stuck(struct mcp_call *call)
{
	struct world *w = mcp_call_user(call);
	while (!w->go)
		clock_sleep(CLOCK_MS);
	return mcp_call_reply(call, NULL, "free");
}

static const struct mcp_tool TOOLS[] = {
	{ .name = "quick", .description = "Is quick.", .handler = quick, .flags = MCP_TOOL_QUICK },
	{ .name = "nap", .description = "Only says that it is.", .handler = nap, .flags = MCP_TOOL_QUICK },
	{ .name = "stuck", .description = "Waits.", .handler = stuck },
	{ .name = NULL },
};

static void test_overtakes(struct mcp_server *server, struct world *w)
{
	struct peer p;
	peer_open(&p, server);
	peer_send(&p, MODERN("1", "stuck"));
	json_t *m = peer_ask(&p, MODERN("2", "quick"));
	is_str(at(m, "id"), "2", "a quick tool answers while the only thread of the pool is taken");
	is_str(at(m, "result.content.0.text"), "quick", "a quick tool's answer has its text");
	json_decref(m);
	w->go = 1;
	m = peer_read(&p, 60000);
	is_str(at(m, "id"), "1", "the slow tool answers later");
	json_decref(m);
	peer_close(&p);
}

/* --- over pipes, where the thread that reads also writes what quick tools answer ----------------------------------- */

struct piped {
	struct mcp_server *server;
	int in[2], out[2];
	pthread_t thread;
	int rc, raised; /* of mcp_stdio_run; whether SIGPIPE is pending or blocked behind it */
};

static void *piped_serve(void *arg)
{
	struct piped *p = arg;
	struct err e = ERR_INIT;
	sigset_t pending, blocked;
	p->rc = mcp_stdio_run(p->server, p->in[0], p->out[1], &e);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	p->raised = sigismember(&pending, SIGPIPE) || sigismember(&blocked, SIGPIPE);
	return NULL;
}

static void piped_open(struct piped *p, struct mcp_server *server)
{
	p->server = server;
	if (pipe(p->in) < 0 || pipe(p->out) < 0)
		abort();
	pthread_create(&p->thread, NULL, piped_serve, p);
}

static void piped_close(struct piped *p)
{
	close(p->in[1]);
	pthread_join(p->thread, NULL);
	close(p->in[0]);
	close(p->out[1]);
}

static void piped_ask(struct piped *p, int id, const char *tool)
{
	struct buf b = BUF_INIT;
	buf_addf(&b, MODERN("%d", "%s") "\n", id, tool);
	if (write(p->in[1], b.data, b.len) != (ssize_t)b.len)
		abort();
	buf_fini(&b);
}

/* More answers than a pipe holds to a client that reads none before it has asked for all; every 50th comes from the
 * pool. */
static void test_piped(struct mcp_server *server)
{
	enum { ASKED = 3000 };
	struct piped p;
	struct peer in = { .fd = -1 };
	int seen[ASKED] = { 0 }, last = -1, out_of_order = 0, once = 0;
	piped_open(&p, server);
	for (int i = 0; i < ASKED; i++)
		piped_ask(&p, i, i % 50 == 0 ? "stuck" : "quick");
	in.fd = p.out[0];
	for (int i = 0; i < ASKED; i++) {
		json_t *m = peer_read(&in, 60000);
		int id = m ? (int)json_integer_value(json_object_get(m, "id")) : -1;
		json_decref(m);
		if (id < 0 || id >= ASKED)
			break;
		once += seen[id]++ == 0;
		if (id % 50 != 0) {
			out_of_order += id < last;
			last = id;
		}
	}
	is_int(once, ASKED, "every call is answered once although the client reads late");
	is_int(out_of_order, 0, "the answers of quick tools stay in order");
	piped_close(&p);
	is_int(p.rc, 0, "the end of the input is no error");
	close(p.out[0]);
	buf_fini(&in.in);
}

static void test_broken_pipe(struct mcp_server *server)
{
	struct piped p;
	piped_open(&p, server);
	close(p.out[0]);
	piped_ask(&p, 1, "quick");
	piped_close(&p);
	is_int(p.rc, 0, "a client that closed its end is no error");
	is_int(p.raised, 0, "no SIGPIPE is left pending or blocked");
}

/* n connections that ask something while the network thread is busy. */
static void test_ready_at_once(int port, struct world *w, int n)
{
	int *fds = MEM_NEW_N(int, (size_t)n), busy = dial(port), answered = 0;
	for (int i = 0; i < n; i++)
		fds[i] = dial(port);
	ask(port, "POST", "/mcp", HEADERS("quick"), MODERN("1", "quick")); /* all have been accepted */
	request(busy, "POST", "/mcp", HEADERS("nap"), MODERN("1", "nap"));
	PACE_WAIT(w->naps > w->woken);
	is_int(w->naps, w->woken + 1, "the network thread is busy");
	for (int i = 0; i < n; i++)
		request(fds[i], "POST", "/mcp", HEADERS("quick"), MODERN("1", "quick"));
	w->woken++;
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
	struct world w = { .go = 0 };
	struct mcp_server_config config = { .name = "test", .version = "1", .tools = TOOLS, .threads = 1, .user = &w };
	struct mcp_http_config listen = { .port = 0 };
	struct mcp_server *server;
	struct mcp_http *http;
	struct err e = ERR_INIT;
	is_int(mcp_server_new(&config, &server, &e), 0, "the server starts %s", e.text);
	is_int(mcp_http_start(server, &listen, &http, &e), 0, "HTTP listens on a free port %s", e.text);
	test_overtakes(server, &w);
	test_piped(server);
	test_broken_pipe(server);
	test_ready_at_once(mcp_http_port(http), &w, 127);
	test_ready_at_once(mcp_http_port(http), &w, 128);
	test_ready_at_once(mcp_http_port(http), &w, 256);
	mcp_http_stop(http);
	mcp_server_free(server);
	return tap_done();
}
