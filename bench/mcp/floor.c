/* floor: the least that a server on libmicrohttpd costs. It gives the same answer to every request, without reading it.
 * bench/mcp/run.py compares the library with it:
 *     build/bench/mcp/floor PORT
 * It serves until its standard input ends. */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { POOL = 32 * 1024 }; /* as in mcp/http.c */

static const char ANSWER[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
			     "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}],\"resultType\":\"complete\",\"_meta\":{"
			     "\"io.modelcontextprotocol/serverInfo\":{\"name\":\"bench\",\"version\":\"1.0.0\"}}}}";

static enum MHD_Result on_access(void *arg, struct MHD_Connection *conn, const char *path, const char *method,
				 const char *version, const char *data, size_t *size, void **state)
{
	(void)arg, (void)path, (void)method, (void)version, (void)data;
	if (*state == NULL || *size > 0) {
		*state = conn;
		*size = 0;
		return MHD_YES;
	}
	struct MHD_Response *r =
		MHD_create_response_from_buffer(sizeof ANSWER - 1, (void *)(uintptr_t)ANSWER, MHD_RESPMEM_PERSISTENT);
	MHD_add_response_header(r, "Content-Type", "application/json");
	enum MHD_Result result = MHD_queue_response(conn, MHD_HTTP_OK, r);
	MHD_destroy_response(r);
	return result;
}

int main(int argc, char **argv)
{
	char byte;
	if (argc != 2) {
		fprintf(stderr, "usage: %s PORT\n", argv[0]);
		return 2;
	}
	struct sockaddr_in here = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t)atoi(argv[1])),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct MHD_Daemon *daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL,
						     on_access, NULL, MHD_OPTION_SOCK_ADDR, &here,
						     MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL, MHD_OPTION_END);
	if (daemon == NULL) {
		perror(argv[1]);
		return 1;
	}
	while (read(0, &byte, 1) > 0)
		;
	MHD_stop_daemon(daemon);
	return 0;
}
