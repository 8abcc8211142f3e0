/* http_metadata: what a client without a token is told: where the metadata of this resource is (RFC 9728, "OAuth 2.0
 * Protected Resource Metadata") and what they say. There is no authorization server: the token is one that the server's
 * owner hands out, so authorization_servers, which is optional, is left out. Called by mcp/http.c and mcp/http_guard.c. */
#include "mcp/http_metadata.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/http_guard.h"

static const char WELL_KNOWN[] = "/.well-known/oauth-protected-resource";

int http_metadata_is(const struct mcp_http *http, const char *path)
{
	size_t n = sizeof WELL_KNOWN - 1;
	if (http->config.token == NULL || strncmp(path, WELL_KNOWN, n) != 0)
		return 0;
	/* RFC 9728 §3.1: the resource's path follows the well-known one; clients try the root too. */
	return path[n] == '\0' || strcmp(path + n, http->config.path) == 0;
}

/* "https://name:port" as the client names this server. The name was checked; of the rest only a port is repeated. */
static char *origin_of(struct http_exchange *x)
{
	const char *host = x->headers[HTTP_HOST];
	const char *scheme = x->http->config.tls_cert ? "https" : "http";
	if (host == NULL) /* a Unix socket's client need not name one */
		host = "localhost";
	size_t name = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/"), n = name;
	if (host[name] == ':')
		for (n = name + 1; isdigit((unsigned char)host[n]); n++)
			;
	return mem_fmt("%s://%.*s", scheme, (int)n, host);
}

char *http_metadata_challenge(struct http_exchange *x, int wrong)
{
	char *origin = origin_of(x);
	char *challenge = mem_fmt("Bearer realm=\"mcp\"%s, resource_metadata=\"%s%s%s\"",
				  wrong ? ", error=\"invalid_token\"" : "", origin, WELL_KNOWN, x->http->config.path);
	free(origin);
	return challenge;
}

enum MHD_Result http_metadata_get(struct http_exchange *x)
{
	char *origin = origin_of(x);
	json_t *about = json_pack("{s:s+, s:[s], s:s}", "resource", origin, x->http->config.path,
				  "bearer_methods_supported", "header", "resource_name", x->http->server->config.name);
	char *text = json_dumps(about, JSON_COMPACT);
	struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
	MHD_add_response_header(r, "Content-Type", "application/json");
	enum MHD_Result result = MHD_queue_response(x->conn, MHD_HTTP_OK, r);
	MHD_destroy_response(r);
	json_decref(about);
	free(origin);
	return result;
}
