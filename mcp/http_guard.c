/* http_guard: Host and Origin against DNS rebinding, the bearer token, and refusing configurations that would let
 * strangers in. Called by mcp/http.c for every request. */
#include "mcp/http_guard.h"

#include <arpa/inet.h>
#include <nettle/memops.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "mcp/http_metadata.h"

static const struct {
	const char *name;
	size_t n;
} HEADERS[HTTP_HEADERS] = {
#define HEADER(name)                                                                                                   \
	{                                                                                                              \
		name, sizeof name - 1                                                                                  \
	}
	[HTTP_HOST] = HEADER("Host"),
	[HTTP_ORIGIN] = HEADER("Origin"),
	[HTTP_ACCEPT] = HEADER("Accept"),
	[HTTP_CONTENT_TYPE] = HEADER("Content-Type"),
	[HTTP_CONTENT_LENGTH] = HEADER("Content-Length"),
	[HTTP_AUTHORIZATION] = HEADER("Authorization"),
	[HTTP_MCP_PROTOCOL_VERSION] = HEADER("MCP-Protocol-Version"),
	[HTTP_MCP_METHOD] = HEADER("Mcp-Method"),
	[HTTP_MCP_NAME] = HEADER("Mcp-Name"),
	[HTTP_MCP_SESSION_ID] = HEADER("Mcp-Session-Id"),
	[HTTP_LAST_EVENT_ID] = HEADER("Last-Event-ID"),
#undef HEADER
};

static enum MHD_Result note_header(void *arg, enum MHD_ValueKind kind, const char *name, size_t n, const char *value,
				   size_t value_n)
{
	struct http_exchange *x = arg;
	(void)kind, (void)value_n;
	int i = 0;
	while (i < HTTP_HEADERS &&
	       (HEADERS[i].n != n || (memcmp(HEADERS[i].name, name, n) != 0 && strcasecmp(HEADERS[i].name, name) != 0)))
		i++;
	if (i < HTTP_HEADERS && x->headers[i] == NULL)
		x->headers[i] = value;
	return MHD_YES;
}

void http_guard_note_headers(struct http_exchange *x)
{
	MHD_get_connection_values_n(x->conn, MHD_HEADER_KIND, note_header, x);
}

static int is_loopback_address(const char *address)
{
	struct in_addr v4;
	struct in6_addr v6;
	if (inet_pton(AF_INET, address, &v4) == 1)
		return (ntohl(v4.s_addr) >> 24) == 127;
	return inet_pton(AF_INET6, address, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

int http_guard_check(const struct mcp_http_config *c, struct err *e)
{
	if (c->unix_path || c->address == NULL || is_loopback_address(c->address))
		return 0;
	if (c->token == NULL || c->token[0] == '\0')
		return err_set(e, ERR_INPUT, "listening on %s, which others can reach, needs a bearer token",
			       c->address);
	if (c->tls_cert == NULL || c->tls_key == NULL)
		return err_set(e, ERR_INPUT, "listening on %s, which others can reach, needs a TLS certificate and key",
			       c->address);
	return 0;
}

/* A host name, n characters, without its port. */
static int same_name(const char *host, size_t n, const char *name)
{
	return strlen(name) == n && strncasecmp(host, name, n) == 0;
}

static int host_is_allowed(const struct mcp_http_config *c, const char *host, size_t n)
{
	static const char *const LOOPBACK[] = { "localhost", "127.0.0.1", "[::1]" };
	for (size_t i = 0; i < sizeof LOOPBACK / sizeof LOOPBACK[0]; i++)
		if (same_name(host, n, LOOPBACK[i]))
			return 1;
	if (c->address && same_name(host, n, c->address))
		return 1;
	for (const char *const *h = c->allowed_hosts; h && *h; h++)
		if (same_name(host, n, *h))
			return 1;
	return 0;
}

/* Length of the name in "name:port" or "[v6]:port". */
static size_t name_length(const char *host)
{
	if (host[0] == '[') {
		const char *end = strchr(host, ']');
		return end ? (size_t)(end + 1 - host) : strlen(host);
	}
	return strcspn(host, ":/");
}

static int origin_is_allowed(const struct mcp_http_config *c, const char *origin)
{
	for (const char *const *o = c->allowed_origins; o && *o; o++)
		if (strcasecmp(origin, *o) == 0)
			return 1;
	const char *host = strncasecmp(origin, "http://", 7) == 0    ? origin + 7
			   : strncasecmp(origin, "https://", 8) == 0 ? origin + 8
								     : NULL;
	return host && host_is_allowed(c, host, name_length(host));
}

/* Compared as hashes, in a time that says nothing of how much is right. */
static int token_is_right(const char *want, const char *header)
{
	if (header == NULL || strncasecmp(header, "Bearer ", 7) != 0)
		return 0;
	struct hash a = hash_text(want), b = hash_text(header + 7);
	return memeql_sec(a.hex, b.hex, HASH_HEX);
}

/* Why a request is not let in. */
enum refusal { WELCOME, TOO_MANY, BAD_HOST, BAD_ORIGIN, BAD_TOKEN };

static enum refusal judge(struct http_exchange *x, int open)
{
	const struct mcp_http_config *c = &x->http->config;
	const char *why;
	if (http_peers_refused(x, &why))
		return TOO_MANY;
	const char *host = x->headers[HTTP_HOST], *origin = x->headers[HTTP_ORIGIN];
	if (c->unix_path == NULL && (host == NULL || !host_is_allowed(c, host, name_length(host))))
		return BAD_HOST;
	if (origin && !origin_is_allowed(c, origin))
		return BAD_ORIGIN;
	if (c->token && !open && !token_is_right(c->token, x->headers[HTTP_AUTHORIZATION]))
		return BAD_TOKEN;
	return WELCOME;
}

void http_guard_judge(struct http_exchange *x, int open)
{
	x->verdict = (int)judge(x, open);
}

int http_guard_welcome(const struct http_exchange *x)
{
	return x->verdict == WELCOME;
}

int http_guard_admit(struct http_exchange *x, enum MHD_Result *ret_result)
{
	char *challenge;
	const char *why;
	int status;
	switch ((enum refusal)x->verdict) {
	case WELCOME: return 1;
	case TOO_MANY:
		status = http_peers_refused(x, &why);
		*ret_result = http_exchange_refuse(x, status, "Retry-After", "1", "%s", why);
		return 0;
	case BAD_HOST:
		*ret_result = http_exchange_refuse(x, MHD_HTTP_MISDIRECTED_REQUEST, NULL, NULL,
						   "the Host header names a host that this server does not answer for");
		return 0;
	case BAD_ORIGIN:
		*ret_result = http_exchange_refuse(x, MHD_HTTP_FORBIDDEN, NULL, NULL,
						   "the Origin header is not an allowed one");
		return 0;
	case BAD_TOKEN:
		challenge = http_metadata_challenge(x, x->headers[HTTP_AUTHORIZATION] != NULL);
		*ret_result = http_exchange_refuse(
			x, MHD_HTTP_UNAUTHORIZED, "WWW-Authenticate", challenge,
			"this server needs its bearer token: send \"Authorization: Bearer TOKEN\"");
		free(challenge);
		return 0;
	}
	return 0;
}
