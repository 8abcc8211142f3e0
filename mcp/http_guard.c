/* http_guard: who may come in: Host and Origin against DNS rebinding, the bearer token, and configurations that would let
 * strangers in. And what those outside are told: where the token goes (RFC 9728, "OAuth 2.0 Protected Resource Metadata")
 * and which pages may call (CORS). Called by mcp/http.c for every request. */
#include <arpa/inet.h>
#include <ctype.h>
#include <nettle/memops.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/mem.h"
#include "mcp/http_inner.h"

static const char WELL_KNOWN[] = "/.well-known/oauth-protected-resource";

static int is_loopback(const char *address)
{
	struct in_addr v4;
	struct in6_addr v6;
	if (inet_pton(AF_INET, address, &v4) == 1)
		return (ntohl(v4.s_addr) >> 24) == 127;
	return inet_pton(AF_INET6, address, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

int http_guard_check(const struct mcp_http_config *c, struct err *e)
{
	int open = !is_loopback(c->address);
	if (open && (c->token == NULL || c->token[0] == '\0'))
		return err_set(e, ERR_INPUT, "listening on %s, which others can reach, needs a bearer token", c->address);
	if (open && (c->tls_cert == NULL || c->tls_key == NULL))
		return err_set(e, ERR_INPUT, "listening on %s, which others can reach, needs a TLS certificate and key",
			       c->address);
	return 0;
}

/* --- judging a request ------------------------------------------------------------------------------------------ */

/* Why a request is not let in. */
enum verdict { WELCOME, SURPLUS, TWICE, BAD_HOST, BAD_ORIGIN, BAD_TOKEN };

static enum MHD_Result note_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	static const char *const NAMES[HTTP_HEADERS] = {
		[HTTP_HOST] = "Host",
		[HTTP_ORIGIN] = "Origin",
		[HTTP_ACCEPT] = "Accept",
		[HTTP_CONTENT_TYPE] = "Content-Type",
		[HTTP_CONTENT_LENGTH] = "Content-Length",
		[HTTP_AUTHORIZATION] = "Authorization",
		[HTTP_MCP_PROTOCOL_VERSION] = "MCP-Protocol-Version",
		[HTTP_MCP_METHOD] = "Mcp-Method",
		[HTTP_MCP_NAME] = "Mcp-Name",
		[HTTP_MCP_SESSION_ID] = "Mcp-Session-Id",
		[HTTP_LAST_EVENT_ID] = "Last-Event-ID",
	};
	struct http_exchange *x = arg;
	int i = 0;
	(void)kind;
	while (i < HTTP_HEADERS && strcasecmp(NAMES[i], name) != 0)
		i++;
	if (i == HTTP_HEADERS)
		return MHD_YES;
	if (x->headers[i] && i != HTTP_ACCEPT) /* that one is a list, which may come in parts */
		x->twice = NAMES[i];
	if (x->headers[i] == NULL)
		x->headers[i] = value;
	return MHD_YES;
}

/* Length of the name in "name:port" or "[v6]:port". */
static size_t name_length(const char *host)
{
	if (host[0] != '[')
		return strcspn(host, ":/");
	const char *end = strchr(host, ']');
	return end ? (size_t)(end + 1 - host) : strlen(host);
}

static int host_is_allowed(const struct mcp_http_config *c, const char *host)
{
	const char *const always[] = { "localhost", "127.0.0.1", "[::1]", c->address, NULL };
	size_t n = name_length(host);
	for (const char *const *h = always; *h; h++)
		if (strlen(*h) == n && strncasecmp(host, *h, n) == 0)
			return 1;
	for (const char *const *h = c->allowed_hosts; h && *h; h++)
		if (strlen(*h) == n && strncasecmp(host, *h, n) == 0)
			return 1;
	return 0;
}

static int origin_is_allowed(const struct mcp_http_config *c, const char *origin)
{
	for (const char *const *o = c->allowed_origins; o && *o; o++)
		if (strcasecmp(origin, *o) == 0)
			return 1;
	if (strncasecmp(origin, "http://", 7) != 0 && strncasecmp(origin, "https://", 8) != 0)
		return 0;
	return host_is_allowed(c, strstr(origin, "//") + 2);
}

/* Compared as hashes, in a time that says nothing of how much is right. */
static int token_is_right(const char *want, const char *header)
{
	if (header == NULL || strncasecmp(header, "Bearer ", 7) != 0)
		return 0;
	struct hash a = hash_text(want), b = hash_text(header + 7);
	return memeql_sec(a.hex, b.hex, HASH_HEX);
}

void http_guard_judge(struct http_exchange *x, int open)
{
	const struct mcp_http_config *c = &x->http->config;
	MHD_get_connection_values(x->mhd, MHD_HEADER_KIND, note_header, x);
	const char *host = x->headers[HTTP_HOST], *origin = x->headers[HTTP_ORIGIN];
	if (x->connection->is_surplus)
		x->verdict = SURPLUS;
	else if (x->twice)
		x->verdict = TWICE;
	else if (host == NULL || !host_is_allowed(c, host))
		x->verdict = BAD_HOST;
	else if (origin && !origin_is_allowed(c, origin))
		x->verdict = BAD_ORIGIN;
	else if (c->token && !open && !token_is_right(c->token, x->headers[HTTP_AUTHORIZATION]))
		x->verdict = BAD_TOKEN;
}

int http_guard_welcome(const struct http_exchange *x)
{
	return x->verdict == WELCOME;
}

/* "https://name:port" as the client names this server. The name was checked; of the rest only a port is repeated. */
static char *server_origin(struct http_exchange *x)
{
	const char *host = x->headers[HTTP_HOST], *scheme = x->http->config.tls_cert ? "https" : "http";
	size_t n = name_length(host);
	if (host[n] == ':')
		do
			n++;
		while (isdigit((unsigned char)host[n]));
	return mem_fmt("%s://%.*s", scheme, (int)n, host);
}

int http_guard_admit(struct http_exchange *x, enum MHD_Result *ret_result)
{
	char *origin, *challenge;
	switch ((enum verdict)x->verdict) {
	case WELCOME: return 1;
	case SURPLUS:
		*ret_result = http_exchange_refuse(x, MHD_HTTP_SERVICE_UNAVAILABLE, "Retry-After", "1",
						   "the server is busy: too many connections at once");
		break;
	case TWICE:
		*ret_result = http_exchange_refuse(x, MHD_HTTP_BAD_REQUEST, NULL, NULL,
						   "the header %s is there twice: send it once", x->twice);
		break;
	case BAD_HOST:
		*ret_result = http_exchange_refuse(x, MHD_HTTP_MISDIRECTED_REQUEST, NULL, NULL,
						   "the Host header names a host that this server does not answer for");
		break;
	case BAD_ORIGIN:
		*ret_result = http_exchange_refuse(x, MHD_HTTP_FORBIDDEN, NULL, NULL,
						   "pages of this Origin may not call; the owner can allow it");
		break;
	case BAD_TOKEN:
		origin = server_origin(x);
		challenge = mem_fmt("Bearer realm=\"mcp\"%s, resource_metadata=\"%s%s%s\"", /* RFC 6750 */
				    x->headers[HTTP_AUTHORIZATION] ? ", error=\"invalid_token\"" : "", origin, WELL_KNOWN,
				    x->http->config.path);
		*ret_result = http_exchange_refuse(x, MHD_HTTP_UNAUTHORIZED, "WWW-Authenticate", challenge,
						   "this server needs its bearer token: send \"Authorization: Bearer TOKEN\"");
		free(origin);
		free(challenge);
		break;
	}
	return 0;
}

/* --- what those outside are told -------------------------------------------------------------------------------- */

/* Section 3.1: the resource's path follows the well-known one; clients try the root too. */
int http_guard_is_metadata(const struct mcp_http *http, const char *path)
{
	size_t n = sizeof WELL_KNOWN - 1;
	return http->config.token && strncmp(path, WELL_KNOWN, n) == 0 &&
	       (path[n] == '\0' || strcmp(path + n, http->config.path) == 0);
}

/* There is no authorization server, since the owner hands the token out: authorization_servers is left out. */
enum MHD_Result http_guard_metadata(struct http_exchange *x)
{
	char *origin = server_origin(x);
	json_t *about = json_pack("{s:s+, s:[s], s:s}", "resource", origin, x->http->config.path, "bearer_methods_supported",
				  "header", "resource_name", x->http->server->config.name);
	char *text = mcp_jsonrpc_text(about);
	json_decref(about);
	free(origin);
	return http_exchange_text(x, MHD_HTTP_OK, "application/json", text, strlen(text), NULL, NULL);
}

void http_guard_add_cors(const struct http_exchange *x, struct MHD_Response *r)
{
	const char *origin = x->headers[HTTP_ORIGIN];
	if (origin == NULL || x->verdict == BAD_ORIGIN || x->verdict == BAD_HOST)
		return;
	MHD_add_response_header(r, "Access-Control-Allow-Origin", origin);
	MHD_add_response_header(r, "Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate");
	MHD_add_response_header(r, "Vary", "Origin");
}

/* Every header is allowed: tools name their own (Mcp-Param-…), and the origin is trusted already. */
enum MHD_Result http_guard_preflight(struct http_exchange *x)
{
	const char *headers = MHD_lookup_connection_value(x->mhd, MHD_HEADER_KIND, "Access-Control-Request-Headers");
	struct MHD_Response *r = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	MHD_add_response_header(r, "Allow", "GET, POST, DELETE, OPTIONS");
	if (x->headers[HTTP_ORIGIN]) {
		MHD_add_response_header(r, "Access-Control-Allow-Methods", "GET, POST, DELETE");
		MHD_add_response_header(r, "Access-Control-Allow-Headers", headers ? headers : "Content-Type");
		MHD_add_response_header(r, "Access-Control-Max-Age", "600");
	}
	return http_exchange_queue(x, MHD_HTTP_NO_CONTENT, r);
}
