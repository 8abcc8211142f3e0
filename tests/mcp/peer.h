/* peer: the client's side of a stdio connection for tests of mcp/: the server runs on a thread, lines go in and out. */
#ifndef PEAKD_TESTS_MCP_PEER_H
#define PEAKD_TESTS_MCP_PEER_H

#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "mcp/server.h"
#include "mcp/stdio.h"

struct peer {
	struct mcp_server *server;
	int fd;     /* ours */
	int served; /* the server's */
	pthread_t thread;
	struct buf in;
	int rc; /* of mcp_stdio_run */
};

static void *peer_serve(void *arg)
{
	struct peer *p = arg;
	struct err e = ERR_INIT;
	p->rc = mcp_stdio_run(p->server, p->served, p->served, &e);
	return NULL;
}

__attribute__((unused)) static void peer_open(struct peer *p, struct mcp_server *server)
{
	int pair[2];
	memset(p, 0, sizeof *p);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		abort();
	p->server = server;
	p->fd = pair[0];
	p->served = pair[1];
	pthread_create(&p->thread, NULL, peer_serve, p);
}

/* Sends a text and a newline. */
__attribute__((unused)) static void peer_send(struct peer *p, const char *text)
{
	struct buf b = BUF_INIT;
	buf_adds(&b, text);
	buf_addc(&b, '\n');
	for (size_t at = 0; at < b.len;) {
		ssize_t n = send(p->fd, b.data + at, b.len - at, MSG_NOSIGNAL);
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	buf_fini(&b);
}

/* The next message, or NULL when none came within ms milliseconds. New reference. */
__attribute__((unused)) static json_t *peer_read(struct peer *p, int ms)
{
	for (;;) {
		char *nl = p->in.len ? memchr(p->in.data, '\n', p->in.len) : NULL;
		if (nl) {
			size_t n = (size_t)(nl - p->in.data);
			json_t *m = json_loadb(p->in.data, n, 0, NULL);
			buf_drop(&p->in, n + 1);
			return m;
		}
		struct pollfd fd = { .fd = p->fd, .events = POLLIN };
		char chunk[65536];
		if (poll(&fd, 1, ms) <= 0)
			return NULL;
		ssize_t n = read(p->fd, chunk, sizeof chunk);
		if (n <= 0)
			return NULL;
		buf_add(&p->in, chunk, (size_t)n);
	}
}

/* Sends and reads one message. */
__attribute__((unused)) static json_t *peer_ask(struct peer *p, const char *text)
{
	peer_send(p, text);
	return peer_read(p, 60000);
}

__attribute__((unused)) static void peer_close(struct peer *p)
{
	shutdown(p->fd, SHUT_WR);
	pthread_join(p->thread, NULL);
	close(p->fd);
	close(p->served);
	buf_fini(&p->in);
}

/* A string, integer or boolean deep in a message, by path "result.tools.0.name", as text; "(none)" when absent. Static
 * storage, four at a time. */
__attribute__((unused)) static const char *at(const json_t *m, const char *path)
{
	static char text[4][4096];
	static int turn;
	char *out = text[turn++ % 4];
	for (const char *p = path; *p && m;) {
		size_t n = strcspn(p, ".");
		if (json_is_array(m))
			m = json_array_get(m, strtoul(p, NULL, 10));
		else if (p[0] == '<') /* a key with dots: <key> */
			n = strcspn(p, ">") + 1, m = json_object_getn(m, p + 1, n - 2);
		else
			m = json_object_getn(m, p, n);
		p += n + (p[n] == '.');
	}
	if (m == NULL)
		return "(none)";
	if (json_is_string(m)) {
		snprintf(out, 4096, "%s", json_string_value(m));
	} else {
		char *dump = json_dumps(m, JSON_ENCODE_ANY | JSON_COMPACT);
		snprintf(out, 4096, "%s", dump);
		free(dump);
	}
	return out;
}

#define MODERN_META                                                                                                    \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                       \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"

#endif
