/* http: Streamable HTTP for both eras on one path, and plain pages beside it, on libmicrohttpd. */
#ifndef PEAKD_MCP_HTTP_H
#define PEAKD_MCP_HTTP_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "mcp/server.h"

struct mcp_http;

/* The answer of a plain page, filled by its handler. */
struct mcp_http_page {
	int status;               /* 200 at first */
	const char *content_type; /* "text/plain; charset=utf-8" at first; static storage */
	const char *policy;       /* Content-Security-Policy; NULL: none. Static storage */
	struct buf body;          /* freed by the library */
};

/* A page beside the MCP endpoint for GET and HEAD: /healthz, /metrics, /, /page.js. Handlers run on the network thread and must be
 * quick. */
struct mcp_http_plain {
	const char *path;
	void (*get)(void *user, struct mcp_http_page *page);
	int open; /* true: needs no bearer token */
};

/* Everything may be 0 or NULL. Strings and tables are borrowed until mcp_http_stop. */
struct mcp_http_config {
	const char *address;  /* numeric; NULL: 127.0.0.1 */
	int port;             /* 0: any free one, see mcp_http_port */
	int listener;         /* a socket that listens, instead of address and port; stays the caller's; 0: none */
	const char *path;     /* of the endpoint; NULL: "/mcp" */
	const char *token;    /* bearer token; needed when the address is not loopback */
	const char *tls_cert; /* PEM text of certificate chain and key; needed when the address is not loopback */
	const char *tls_key;
	const char *const *allowed_hosts;   /* further Host names (no port), NULL-terminated; loopback's are allowed */
	const char *const *allowed_origins; /* further Origins ("https://ide.example"), NULL-terminated */
	const struct mcp_http_plain *plain; /* ends with a NULL path */
	void *user;                         /* for plain handlers */
	int max_connections; /* a further one takes the place of the longest idle, or gets 503 when all are busy; 0: 512 */
	int max_per_client;  /* connections of one address; further ones are closed at once; 0: no such limit */
	int max_streams;     /* GET and subscriptions/listen streams; a further one gets 429; 0: 128 */
	int idle_ms;         /* a connection ends after so long without a whole request; 0: 60 s */
	int keep_alive_ms;   /* a stream that is quiet for so long gets a comment, within 1.4 times that; 0: 10 s */
};

/* Listens and serves on its own threads. ERR_INPUT for a configuration that is not safe, ERR_NETWORK when the address
 * cannot be had. */
int mcp_http_start(struct mcp_server *server, const struct mcp_http_config *config, struct mcp_http **ret_http, struct err *e);
/* The address, valid until mcp_http_stop, and the port that it listens on. */
const char *mcp_http_address(const struct mcp_http *http);
int mcp_http_port(const struct mcp_http *http);
/* Whether the network thread has done anything since the last call (true at first). Gives it something to do for the next one: a
 * connection to itself. For a watchdog, at intervals of seconds; on one thread. */
bool mcp_http_alive(struct mcp_http *http);
/* Ends every stream gracefully, stops listening, waits for the threads. NULL is allowed. */
void mcp_http_stop(struct mcp_http *http);
/* The same, but returns the socket, which goes on listening: clients wait there for another mcp_http_start. -1: none. */
int mcp_http_pause(struct mcp_http *http);

#endif
