/* server: the smallest MCP server on mcp/ alone. Its one tool returns its argument. bench/mcp/run.sh measures it:
 *     build/bench/mcp/server PORT | --stdio
 * With a port (0: any free one) it prints its URL and serves until its standard input ends. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mcp/http.h"
#include "mcp/server.h"
#include "mcp/stdio.h"

static const char ECHO_SCHEMA[] = "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},"
				  "\"required\":[\"text\"],\"additionalProperties\":false}";

static const struct mcp_done *echo(struct mcp_call *call)
{
	return mcp_call_reply(call, NULL, "%s", json_string_value(json_object_get(mcp_call_arguments(call), "text")));
}

static const struct mcp_tool TOOLS[] = {
	{ .name = "echo",
	  .description = "Says what it is told",
	  .input_schema = ECHO_SCHEMA,
	  .handler = echo,
	  .flags = MCP_TOOL_QUICK },
	{ .name = NULL },
};

static int serve_http(struct mcp_server *server, int port, struct err *e)
{
	struct mcp_http_config config = { .port = port, .max_connections = 1024, .max_per_client = 1024 };
	struct mcp_http *http;
	char byte;
	int rc = mcp_http_start(server, &config, &http, e);
	if (rc < 0)
		return rc;
	printf("http://127.0.0.1:%d/mcp\n", mcp_http_port(http));
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	mcp_http_stop(http);
	return 0;
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	struct mcp_server *server;
	struct mcp_server_config config = { .name = "bench", .version = "1.0.0", .tools = TOOLS };
	if (argc != 2) {
		fprintf(stderr, "usage: %s PORT | --stdio\n", argv[0]);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	int rc = mcp_server_new(&config, &server, &e);
	if (rc == 0) {
		rc = strcmp(argv[1], "--stdio") == 0 ? mcp_stdio_run(server, 0, 1, &e)
						     : serve_http(server, atoi(argv[1]), &e);
		mcp_server_free(server);
	}
	if (rc < 0)
		fprintf(stderr, "server: %s\n", e.text);
	return rc < 0;
}
