/* mcp/http under attack: what dribbles, hangs, floods and never reads keeps nobody out and holds no memory; each limit has
 * its own status. While an attack runs, an honest client's call must be answered within HONEST_MS. */
#include <errno.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http_client.h"
#include "mcp/http.h"
#include "pace.h"
#include "peer.h"
#include "tap.h"

enum { MOST = 200, PER_CLIENT = 1000, STREAMS = 8, CALLS = 240, IDLE_MS = 600, HONEST_MS = 1000, MANY = 10000 };
enum { MEMORY_KB = 64 * 1024 }; /* that an attack may cost, for a while */

#define MODERN(id, method, params)                                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params MODERN_META "}}"
#define MODERN_HEADERS(method) "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " method "\r\n"
#define CALL_HEADERS(tool) MODERN_HEADERS("tools/call") "Mcp-Name: " tool "\r\n"
#define LISTEN_HEADERS MODERN_HEADERS("subscriptions/listen")
#define LISTEN MODERN("7", "subscriptions/listen", "\"notifications\":{\"toolsListChanged\":true},")

struct world {
	struct mcp_server *server;
	int port;
	_Atomic int cancelled; /* floods that noticed that nobody reads */
};

static const struct mcp_done *echo(struct mcp_call *call)
{
	return mcp_call_reply(call, NULL, "%s", json_string_value(json_object_get(mcp_call_arguments(call), "text")));
}

static const struct mcp_done *hold(struct mcp_call *call)
{
	mcp_call_ref(call); /* until the client goes: nobody answers */
	mcp_call_on_cancel(call, (void (*)(void *))mcp_call_unref, call);
	return mcp_call_pending(call);
}

/* Progress, 16 KB each, until the client is gone. */
static const struct mcp_done *flood(struct mcp_call *call)
{
	struct world *w = mcp_call_user(call);
	char *text = mem_new(16384, 1);
	memset(text, 'x', 16383);
	for (int i = 1; i < 1000000 && !mcp_call_cancelled(call); i++) {
		mcp_call_progress(call, i, 0, text);
		if (i % 16 == 0)
			clock_sleep(CLOCK_MS / 10);
	}
	free(text);
	w->cancelled += mcp_call_cancelled(call) == MCP_CANCEL_LEFT;
	return mcp_call_reply(call, NULL, "done");
}

static const struct mcp_tool TOOLS[] = {
	{ .name = "echo",
	  .description = "Echoes.",
	  .handler = echo,
	  .input_schema = "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"]}" },
	{ .name = "hold", .description = "Never answers.", .handler = hold },
	{ .name = "flood", .description = "Never ends.", .handler = flood },
	{ .name = NULL },
};

/* Under AddressSanitizer freed memory stays for a while: nothing is measured then. */
static long rss_kb(void)
{
#ifdef __SANITIZE_ADDRESS__
	return 0;
#endif
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (f == NULL || fscanf(f, "%*s %ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Calls echo ten times, each on a connection of its own. */
static void honest(const struct world *w, const char *during)
{
	int good = 0;
	int64_t longest = 0;
	for (int i = 0; i < 10; i++) {
		int64_t before = clock_now();
		good += strstr(ask(w->port, "POST", "/mcp", CALL_HEADERS("echo"),
				   MODERN("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"still here\"},")),
			       "still here") != NULL;
		int64_t took = clock_now() - before;
		longest = took > longest ? took : longest;
	}
	is_int(good, 10, "%s: an honest client is answered", during);
	double slow = pace_slowness();
	ok((double)longest < (double)(HONEST_MS * CLOCK_MS) * slow,
	   "%s: the answer comes soon (%.1f ms at most, the machine being %.1f times slower than itself)", during,
	   (double)longest / 1e6, slow);
}

static void say(int fd, const char *text)
{
	if (send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) /* closed already: that is what is tested */
		return;
}

/* Whether the server has ended the connection. */
static int is_ended(int fd)
{
	char bytes[4096];
	ssize_t n;
	while ((n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
		;
	return n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

static int count_ended(const int *fds, int n)
{
	int ended = 0;
	for (int i = 0; i < n; i++)
		ended += is_ended(fds[i]);
	return ended;
}

static void hang_up(int *fds, int n)
{
	for (int i = 0; i < n; i++)
		close(fds[i]);
}

/* As many connections as there may be send `first` and then a byte every now and then. */
static void test_dribble(const struct world *w, const char *first, const char *byte, const char *what)
{
	int fds[MOST];
	for (int i = 0; i < MOST; i++) {
		fds[i] = dial(w->port);
		say(fds[i], first);
	}
	honest(w, what);
	for (int64_t end = clock_now() + 60 * CLOCK_S; count_ended(fds, MOST) < MOST && clock_now() < end;) {
		clock_sleep(2 * IDLE_MS / 10 * CLOCK_MS);
		for (int i = 0; i < MOST; i++)
			say(fds[i], byte);
	}
	is_int(count_ended(fds, MOST), MOST, "%s: all are ended, however often a byte comes", what);
	hang_up(fds, MOST);
}

static unsigned long running(const struct world *w, unsigned long want)
{
	PACE_WAIT(mcp_server_stats(w->server).running == want);
	return mcp_server_stats(w->server).running;
}

/* Streams whose clients vanish in both ways: the connection is reset, or only their half of it is closed. */
static void test_half_open(const struct world *w)
{
	int fds[STREAMS];
	struct buf b = BUF_INIT;
	for (int i = 0; i < STREAMS; i++) {
		fds[i] = dial(w->port);
		request(fds[i], "POST", "/mcp", LISTEN_HEADERS, LISTEN);
		buf_clear(&b);
		read_until(fds[i], &b, "acknowledged", 60000);
	}
	is_int((long)running(w, STREAMS), STREAMS, "half-open streams: all are open");
	has_str(ask(w->port, "POST", "/mcp", LISTEN_HEADERS, LISTEN), "HTTP/1.1 429 ", "one stream more is 429");
	has_str(ask(w->port, "POST", "/mcp", LISTEN_HEADERS, LISTEN), "Retry-After: 1", "the 429 says when to come back");
	honest(w, "half-open streams");
	for (int i = 0; i < STREAMS; i++) {
		struct linger reset = { .l_onoff = 1, .l_linger = 0 };
		if (i % 2 == 0)
			shutdown(fds[i], SHUT_WR);
		else
			setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
		if (i % 2)
			close(fds[i]);
	}
	is_int((long)running(w, 0), 0, "half-open streams: they end with their clients");
	for (int i = 0; i < STREAMS; i += 2)
		close(fds[i]);
	int fd = dial(w->port);
	request(fd, "POST", "/mcp", LISTEN_HEADERS, LISTEN);
	buf_clear(&b);
	is_int(read_until(fd, &b, "acknowledged", 60000), 0, "an ended stream makes room for another");
	close(fd);
	is_int((long)running(w, 0), 0, "a closed subscription ends");
	buf_fini(&b);
}

static void test_never_reads(struct world *w)
{
	int fds[4];
	long before = rss_kb(), most = 0;
	w->cancelled = 0;
	for (int i = 0; i < 4; i++) {
		fds[i] = dial(w->port);
		request(fds[i], "POST", "/mcp", CALL_HEADERS("flood"),
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
			"call\",\"params\":{\"name\":\"flood\",\"_meta\":{"
			"\"progressToken\":\"p\",\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
			"\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
	}
	honest(w, "readers that never read");
	for (int64_t end = clock_now() + 60 * CLOCK_S; w->cancelled < 4 && clock_now() < end; clock_sleep(CLOCK_MS)) {
		long now = rss_kb();
		most = now > most ? now : most;
	}
	is_int(w->cancelled, 4, "readers that never read: their calls are ended");
	/* 16 MB may wait for each reader, in buffers that double. */
	ok(most - before < 4 * 40 * 1024, "readers that never read cost little memory (%ld KB more)", most - before);
	hang_up(fds, 4);
	is_int((long)running(w, 0), 0, "nothing is left of readers that never read");
}

/* Connections that ask for nothing, as many as descriptors allow (both ends are in this process). */
static void test_many(const struct world *w)
{
	struct rlimit limit = { 0, 0 };
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	long room = limit.rlim_cur > MANY + 2 * MOST + 200 ? MANY : (long)limit.rlim_cur - 2 * MOST - 200;
	int n = (int)room, *fds = MEM_NEW_N(int, (size_t)n);
	long before = rss_kb();
	for (int i = 0; i < n; i++) {
		fds[i] = dial(w->port);
		if (i % (n / 4) == n / 8)
			honest(w, "thousands of connections");
	}
	honest(w, "all are there");
	ok(rss_kb() - before < MEMORY_KB, "%d connections cost %ld KB", n, rss_kb() - before);
	int ended = count_ended(fds, n);
	ok(ended >= n - MOST, "all but the newest were ended (%d of %d)", ended, n);
	hang_up(fds, n);
	free(fds);
}

/* When every connection has a request that is being worked on, there is nothing to take away from anybody. */
static void test_all_busy(const struct world *w)
{
	int fds[MOST];
	for (int i = 0; i < MOST; i++) {
		fds[i] = dial(w->port);
		request(fds[i], "POST", "/mcp", CALL_HEADERS("hold"), MODERN("1", "tools/call", "\"name\":\"hold\","));
	}
	is_int((long)running(w, MOST), MOST, "all connections are busy");
	const char *answer = ask(w->port, "GET", "/mcp", "", "");
	is_int(status_of(answer), 503, "a connection more than the limit is 503");
	has_str(answer, "Retry-After: 1", "the 503 says when to come back");
	is_int(count_ended(fds, MOST), 0, "no busy connection is closed");
	hang_up(fds, MOST);
	is_int((long)running(w, 0), 0, "a modern client that goes cancels its call");
	honest(w, "after it");
}

static void test_calls(const struct mcp_server_config *like)
{
	struct mcp_server_config config = *like;
	struct mcp_http_config listen = { .max_connections = 40, .max_per_client = 20 };
	struct world w = { .port = 0 };
	struct mcp_http *http;
	struct err e = ERR_INIT;
	int fds[20];
	config.max_calls = 10;
	config.user = &w;
	is_int(mcp_server_new(&config, &w.server, &e), 0, "a server of ten calls starts %s", e.text);
	is_int(mcp_http_start(w.server, &listen, &http, &e), 0, "HTTP listens with 20 connections per client %s", e.text);
	w.port = mcp_http_port(http);
	for (int i = 0; i < 20; i++) {
		fds[i] = dial(w.port);
		if (i < 10)
			request(fds[i], "POST", "/mcp", CALL_HEADERS("hold"), MODERN("1", "tools/call", "\"name\":\"hold\","));
	}
	is_int((long)running(&w, 10), 10, "ten calls are running");
	struct buf b = BUF_INIT;
	request(fds[10], "POST", "/mcp", CALL_HEADERS("hold"), MODERN("1", "tools/call", "\"name\":\"hold\","));
	read_until(fds[10], &b, "}}", 60000);
	is_int(status_of(buf_text(&b)), 503, "the eleventh request at once is 503");
	is_str(ask(w.port, "GET", "/mcp", "", ""), "", "the 21st connection of one client is closed");
	buf_fini(&b);
	hang_up(fds, 20);
	running(&w, 0);
	mcp_http_stop(http);
	mcp_server_free(w.server);
}

/* What is too large or too deep. */
static void test_sizes(const struct world *w)
{
	char *big = mem_new(300001, 1), *headers = mem_new(100001, 1), *deep = mem_new(1001, 1);
	memset(big, ' ', 300000);
	strcpy(headers, "X-Long: ");
	memset(headers + 8, 'x', 60000);
	strcpy(headers + 60008, "\r\n");
	memset(deep, '[', 1000);
	is_int(status_of(ask(w->port, "POST", "/mcp", "", big)), 413, "a body over the limit is 413");
	is_int(status_of(ask(w->port, "POST", "/mcp", headers, "{}")), 431, "headers over the limit are 431");
	char *body = mem_fmt("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":%s", deep);
	const char *answer = ask(w->port, "POST", "/mcp", "", body);
	is_int(status_of(answer), 400, "JSON over the depth limit is 400");
	has_str(answer, "nested deeper than 64 levels", "the answer names the depth limit");
	free(big);
	free(headers);
	free(deep);
	free(body);
	honest(w, "after it");
}

/* Bodies that never end, together more than may be held, where nobody is ended for idling over the second half of one. */
static void test_bodies(const struct world *of, const struct mcp_http_config *like)
{
	enum { N = 40, PIECE = 60000 };
	int fds[N];
	struct mcp_http_config patient = *like;
	struct mcp_http *http;
	struct err e = ERR_INIT;
	patient.idle_ms = 300000;
	is_int(mcp_http_start(of->server, &patient, &http, &e), 0, "a listener with a long idle time starts %s", e.text);
	struct world here = { .server = of->server, .port = mcp_http_port(http) }, *w = &here;
	long before = rss_kb();
	char *piece = mem_new(PIECE + 1, 1);
	memset(piece, ' ', PIECE);
	for (int i = 0; i < N; i++) {
		fds[i] = dial(w->port);
		say(fds[i], "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
			    "Content-Length: 65000\r\n\r\n");
		say(fds[i], piece);
	}
	honest(w, "bodies that never end");
	ok(rss_kb() - before < MEMORY_KB, "bodies that never end cost %ld KB", rss_kb() - before);
	int refused = 0;
	piece[65000 - PIECE] = '\0';
	for (int i = 0; i < N; i++) {
		struct buf b = BUF_INIT;
		say(fds[i], piece);
		read_until(fds[i], &b, "}}", 60000);
		refused += status_of(buf_text(&b)) == 503;
		buf_fini(&b);
	}
	/* HELD_MAX messages of the greatest length may wait at once. */
	ok(refused >= N - 9, "those that did not fit are 503 (%d of %d)", refused, N);
	hang_up(fds, N);
	free(piece);
	mcp_http_stop(http);
}

int main(void)
{
	struct world w = { .port = 0 };
	struct mcp_server_config config = { .name = "test",
					    .version = "1",
					    .tools = TOOLS,
					    .user = &w,
					    .max_message = 65536,
					    .list_changed = 1,
					    .max_calls = CALLS };
	struct mcp_http_config listen = { .keep_alive_ms = 60,
					  .max_connections = MOST,
					  .max_streams = STREAMS,
					  .idle_ms = IDLE_MS,
					  .max_per_client = PER_CLIENT };
	struct mcp_http *http;
	struct err e = ERR_INIT;
	is_int(mcp_server_new(&config, &w.server, &e), 0, "the server starts %s", e.text);
	is_int(mcp_http_start(w.server, &listen, &http, &e), 0, "HTTP listens on a free port %s", e.text);
	w.port = mcp_http_port(http);
	test_dribble(&w, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", "x", "slow headers");
	test_dribble(&w,
		     "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
		     "Content-Length: 60000\r\n\r\n{",
		     " ", "slow bodies");
	test_dribble(&w, "", "", "connections without a word");
	test_half_open(&w);
	test_never_reads(&w);
	test_many(&w);
	test_all_busy(&w);
	test_sizes(&w);
	test_bodies(&w, &listen);
	mcp_http_stop(http);
	mcp_server_free(w.server);
	test_calls(&config);
	return tap_done();
}
