/* Bytes on a connection of the HTTP transport: request lines, headers, bodies, several requests in a row. For any input the
 * connection is answered with HTTP or closed, and the server survives. The server is made once, because it has threads. */
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "mcp/http.h"

static const struct mcp_done *echo(struct mcp_call *call)
{
	return mcp_call_reply(call, NULL, "%s", mcp_call_name(call));
}

static const struct mcp_tool TOOLS[] = {
	{ .name = "echo", .description = "Echoes.", .handler = echo, .flags = MCP_TOOL_QUICK },
	{ .name = NULL },
};

static int serve(void)
{
	static struct mcp_http *http;
	if (http)
		return mcp_http_port(http);
	struct mcp_server_config config = { .name = "fuzz", .version = "1", .tools = TOOLS, .threads = 1, .max_message = 4096 };
	struct mcp_http_config listen = { .token = NULL, .max_connections = 64, .keep_alive_ms = 20 };
	struct mcp_server *server;
	struct err e = ERR_INIT;
	int rc = mcp_server_new(&config, &server, &e);
	if (rc == 0)
		rc = mcp_http_start(server, &listen, &http, &e);
	assert(rc == 0);
	return mcp_http_port(http);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)serve()),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct linger reset = { .l_onoff = 1, .l_linger = 0 }; /* ports are free again at once */
	char answer[4096];
	size_t got = 0;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int rc = connect(fd, (struct sockaddr *)&to, sizeof to);
	assert(rc == 0);
	(void)rc;
	ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	do { /* a stream of events goes on: what it sends within 50 ms is enough */
		struct pollfd p = { .fd = fd, .events = POLLIN };
		n = poll(&p, 1, 50) > 0 ? recv(fd, answer + got, sizeof answer - got, 0) : 0;
		got += n > 0 ? (size_t)n : 0;
	} while (n > 0 && got < sizeof answer);
	assert(got < 9 || memcmp(answer, "HTTP/1.1 ", 9) == 0 || memcmp(answer, "HTTP/1.0 ", 9) == 0);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
	close(fd);
	return 0;
}
