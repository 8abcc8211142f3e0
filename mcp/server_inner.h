/* server_inner: the inside of a server, for mcp/ alone. Owners of servers see mcp/server.h only. */
#ifndef PEAKD_MCP_SERVER_INNER_H
#define PEAKD_MCP_SERVER_INNER_H

#include <jansson.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "mcp/call_inner.h"
#include "mcp/schema.h"
#include "mcp/server.h"
#include "mcp/stream.h"

#define MCP_TASKS_EXTENSION "io.modelcontextprotocol/tasks"

enum { MCP_SECRET = 32, MCP_SESSION_ID = 36 };

struct mcp_session;
struct mcp_listener;
struct mcp_pool;

/* The compiled schemas of one tool, in the order of the table. */
struct mcp_tool_schemas {
	struct mcp_schema *input, *output; /* output may be NULL */
	int header_marks;                  /* arguments that HTTP clients mirror in headers */
	json_t *entry;                     /* the tool as tools/list shows it */
	json_t *legacy_entry; /* the same without an outputSchema that is no object; may be the same object */
};

struct mcp_server {
	struct mcp_server_config config; /* with the defaults filled in */
	struct mcp_pool *pool;
	struct mcp_tool_schemas *tools; /* one per entry of config.tools */
	size_t tool_count;
	int header_marks;                 /* of all tools together */
	json_t *info;                     /* serverInfo */
	char *manners;                    /* mcp_modern_manners */
	json_t *nothing;                  /* {}; shared by calls, which never change it */
	unsigned char secret[MCP_SECRET]; /* seals requestState */
	struct lock lock;                 /* LOCK_REGISTRY, of all below */
	struct mcp_call *calls;           /* live ones; the list holds no reference */
	struct mcp_session **sessions;    /* those of legacy HTTP clients (held) and of stdio connections */
	size_t session_count;
	struct mcp_listener **listeners; /* modern subscriptions, held */
	size_t listener_count;
	atomic_ulong running, requests, errors, cancelled; /* not of the lock */
};

/* HTTP headers of a request; NULL when absent. */
struct mcp_headers {
	const char *version, *method, *name; /* MCP-Protocol-Version, Mcp-Method, Mcp-Name */
	/* Any other, by name without regard to case. */
	const char *(*get)(void *ctx, const char *name);
	void *ctx;
};

/* One message that a transport received. */
struct mcp_arrival {
	const char *text;
	size_t n;
	struct mcp_stream *stream;         /* where the answer goes; borrowed */
	struct mcp_session *session;       /* stdio: the connection's; HTTP: that of Mcp-Session-Id, or NULL */
	const struct mcp_headers *headers; /* HTTP: the request's; stdio: NULL */
	struct mcp_parse_memory *memory;   /* of the connection, for MCP_COMMON members; or NULL */
};

/* What the transport has to do about it. */
struct mcp_receipt {
	int status;            /* 0: an answer comes or came on the stream; 202: accepted, nothing comes; 400, 404:
	                                      a message without an id that was refused */
	char why[200];         /* for 4xx: plain text */
	struct mcp_call *call; /* held for the caller, when the answer takes a while; or NULL */
	struct mcp_session *session; /* held for the caller: a new legacy session, or NULL */
};

void mcp_server_receive(struct mcp_server *server, const struct mcp_arrival *a, struct mcp_receipt *ret_receipt);

/* The calls and sessions that live. Ending a session cancels its calls. */
void mcp_server_add_call(struct mcp_server *server, struct mcp_call *call);
void mcp_server_remove_call(struct mcp_server *server, struct mcp_call *call);
void mcp_server_cancel_id(struct mcp_server *server, const struct mcp_session *session, const json_t *id);
void mcp_server_add_session(struct mcp_server *server, struct mcp_session *session);
void mcp_server_end_session(struct mcp_server *server, struct mcp_session *session);
/* The legacy HTTP session of this id, held for the caller; NULL when there is none. */
struct mcp_session *mcp_server_session(struct mcp_server *server, const char *id);
/* How many calls of a session are not over. */
unsigned long mcp_server_running(struct mcp_server *server, const struct mcp_session *session);

/* Has call->handler run on the pool, giving it the caller's reference; refuses when the queue is full. */
void mcp_server_dispatch(struct mcp_server *server, struct mcp_call *take_call);
/* Whether there are more calls than the configuration allows, the newest included; and the answer to that one. */
int mcp_server_is_full(struct mcp_server *server);
const struct mcp_done *mcp_server_refuse_full(struct mcp_call *call) MCP_MUST_RETURN;
/* The same for a call that was accepted before: never refused. */
void mcp_server_continue(struct mcp_server *server, struct mcp_call *take_call);

void mcp_server_count_error(struct mcp_server *server);
void mcp_server_count_cancelled(struct mcp_server *server);

/* The capabilities object; new reference. */
json_t *mcp_server_capabilities(const struct mcp_server *server, int modern);
/* An integer when the number is one. New reference. */
json_t *mcp_server_number(double value);
const char *mcp_server_level_name(enum mcp_log_level level);
/* -1 for an unknown word. */
int mcp_server_level_parse(const char *name);

#endif
