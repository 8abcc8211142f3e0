/* inner: what the files of mcp/ share and owners of servers do not see: streams, calls, the server, a message on its way in,
 * sessions, the two eras and their methods. Owners see call.h, registry.h, server.h, stdio.h and http.h. */
#ifndef PEAKD_MCP_INNER_H
#define PEAKD_MCP_INNER_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/lock.h"
#include "mcp/jsonrpc.h"
#include "mcp/server.h"

#define MCP_MODERN "2026-07-28"
#define MCP_META "io.modelcontextprotocol/" /* prefix of the protocol's own keys in _meta */
#define MCP_TASKS_EXTENSION MCP_META "tasks"

enum { MCP_SECRET = 32, MCP_SESSION_ID = 36, MCP_LIST_TTL_MS = 60 * 1000 /* how long clients may keep lists of tables */ };

struct mcp_session;
struct mcp_pool;
struct mcp_subscription;

/* --- streams: where the messages of one exchange go ------------------------------------------------------------- */

/* One message on its way out, or with n = 0 the end of a stream whose request is not answered. */
struct mcp_outgoing {
	const char *text; /* JSON without newlines; borrowed */
	size_t n;
	int final;            /* the answer: nothing follows on this stream (stdio: for this request) */
	int status;           /* HTTP status, if this is final and nothing went before; 0: 200 */
	const char *event_id; /* of server-sent events, or NULL */
};

/* A line on stdio, the response to one POST, or a legacy session's stream. Calls and subscriptions hold a reference. */
struct mcp_stream {
	const struct mcp_stream_ops *ops;
	atomic_int refs;
};

struct mcp_stream_ops {
	/* Takes a copy of the message and does not wait for the peer. What comes after the peer has gone is dropped. */
	void (*send)(struct mcp_stream *s, const struct mcp_outgoing *m);
	/* Legacy HTTP, NULL elsewhere: ends the response; the rest is for a client that comes back after retry_ms, or for
	 * nobody (negative). */
	void (*close)(struct mcp_stream *s, int retry_ms);
	/* The last reference is gone. */
	void (*free)(struct mcp_stream *s);
};

static inline void mcp_stream_init(struct mcp_stream *s, const struct mcp_stream_ops *ops)
{
	s->ops = ops;
	atomic_init(&s->refs, 1); /* the caller's */
}

static inline struct mcp_stream *mcp_stream_ref(struct mcp_stream *s)
{
	atomic_fetch_add(&s->refs, 1);
	return s;
}

/* NULL is allowed. */
static inline void mcp_stream_unref(struct mcp_stream *s)
{
	if (s && atomic_fetch_sub(&s->refs, 1) == 1)
		s->ops->free(s);
}

/* --- calls ------------------------------------------------------------------------------------------------------ */

/* Where a call is; it moves only downwards, except from ASKING back to RUNNING. */
enum mcp_call_phase {
	MCP_CALL_RUNNING, /* a handler works on it, or it is pending */
	MCP_CALL_ASKING,  /* legacy: it waits for the client's answers; no thread is involved */
	MCP_CALL_OVER,    /* answered, or nobody wants the answer any more */
};

/* More than 20 fields: handlers on any thread use a call for everything that they need to know of a request. */
struct mcp_call {
	atomic_int refs;
	struct lock lock;      /* LOCK_SESSION, of all below the line */
	struct lock_bell bell; /* rung when the cancel callback has returned */
	struct mcp_server *server;
	struct mcp_session *session;  /* held; NULL for modern HTTP */
	struct mcp_call *prev, *next; /* the server's list of live calls, under the server's lock */
	int swept;                    /* cancelled with all calls of its session; of the thread that ends that */
	struct mcp_jsonrpc message;   /* owns id, method and params */
	const json_t *meta;           /* params._meta, or NULL */
	const json_t *token;          /* its progressToken, or NULL */
	int modern;                   /* 2026-07-28, else an earlier revision */
	int accepted;                 /* modern: its metadata and method are in order */
	const char *revision;         /* static storage */
	mcp_handler *handler;         /* what runs on the pool */
	const struct mcp_tool *tool;  /* of tools/call, else NULL */
	const char *name;             /* of a tool or prompt, URI or task id, from the params; may be NULL */
	const char *mime_type;        /* of the resource's table entry, or NULL */
	int log_level;                /* least enum mcp_log_level that is sent; -1: none */
	int ttl_ms;                   /* how long the client may keep the answer; -1: the method says nothing of it */
	int shared;                   /* the answer is the same for every client */
	json_t *arguments;            /* an object; owned, as all JSON below */
	json_t *variables;            /* of a template, or NULL */
	json_t *capabilities;         /* the client's, an object */
	json_t *state;                /* what mcp_call_ask was given, or NULL */
	/* ---- under the lock ---- */
	enum mcp_call_phase phase;
	json_t *inputs;            /* the client's answers by key, an object; NULL: none were asked for */
	int inputs_missing;        /* legacy: answers that have not come */
	struct mcp_stream *stream; /* held until the call is over */
	double progress;           /* the last that was sent; negative before the first */
	enum mcp_cancel cancelled;
	int in_cancel; /* the cancel callback runs */
	void (*on_cancel)(void *arg);
	void *cancel_arg;
};

/* A call for a request; takes the message over. It joins the server's live calls. session NULL: modern HTTP. */
struct mcp_call *mcp_call_new(struct mcp_server *server, int modern, struct mcp_jsonrpc *take_m, struct mcp_stream *stream,
			      struct mcp_session *session);
/* Another reference if the call is not being freed already. For lists that hold none. */
int mcp_call_try_ref(struct mcp_call *call);
/* Has the handler run on the pool, or here when the tool is quick. */
const struct mcp_done *mcp_call_run_later(struct mcp_call *call, mcp_handler *handler) MCP_MUST_RETURN;
/* The same for a call that waited for its client: never refused. Drops the reference when it has run. */
void mcp_call_continue(struct mcp_call *take_call);
/* The client does not want it any more: flag, callback, and no answer is sent. */
void mcp_call_cancel(struct mcp_call *call, enum mcp_cancel why);
const struct mcp_done *mcp_call_answer_error(struct mcp_call *call, int code, json_t *take_data, const char *text) MCP_MUST_RETURN;
/* Too much is going on: an error that HTTP clients see as 503. */
const struct mcp_done *mcp_call_answer_full(struct mcp_call *call, const char *text) MCP_MUST_RETURN;
/* The client did not declare the tasks extension. */
const struct mcp_done *mcp_call_need_tasks(struct mcp_call *call) MCP_MUST_RETURN;
/* Legacy: the call waits for `n` answers of the client; false when it was cancelled meanwhile. The caller keeps its
 * reference for them, until mcp_call_take_input says that the last one came or the call is cancelled. */
int mcp_call_wait_inputs(struct mcp_call *call, int n);
/* One answer came; true when it was the last one: then mcp_call_continue. */
int mcp_call_take_input(struct mcp_call *call, const char *key, json_t *take_answer);
/* Sends a message that belongs to this call, before its answer; nothing when the call is over. */
void mcp_call_send(struct mcp_call *call, const char *text);
/* A member of params that must be a non-empty string; NULL after failing the call. */
const char *mcp_call_param(struct mcp_call *call, const char *field, const struct mcp_done **ret_done);

/* --- the server ------------------------------------------------------------------------------------------------- */

/* What mcp/methods_tools.c prepares for one tool, in the order of the table. */
struct mcp_tool_entry {
	json_t *input, *output; /* schemas; output may be NULL */
	int header_marks;       /* arguments that HTTP clients repeat in headers */
	json_t *shown;          /* the tool as tools/list shows it */
	json_t *legacy_shown;   /* the same without an outputSchema whose root is not an object */
};

struct mcp_server {
	struct mcp_server_config config; /* with the defaults filled in */
	struct mcp_pool *pool;
	struct mcp_tool_entry *tools; /* one for each entry of config.tools */
	size_t tool_count;
	json_t *info, *brief;             /* serverInfo, in whole for those who get to know the server; and in every result */
	unsigned char secret[MCP_SECRET]; /* seals requestState */
	struct lock lock;                 /* LOCK_REGISTRY, of all below */
	struct mcp_call *calls;           /* live ones; the list holds no reference */
	struct mcp_session **sessions;    /* those of legacy HTTP clients and of stdio connections, held */
	size_t session_count;
	struct mcp_subscription **subscriptions; /* modern ones, held */
	size_t subscription_count;
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
};

/* What the transport has to do about it. */
struct mcp_receipt {
	int accepted;                /* a notification or a response: nothing is sent; HTTP answers 202 */
	struct mcp_call *call;       /* held for the caller, when the answer takes a while; or NULL */
	struct mcp_session *session; /* held for the caller: a new legacy session, or NULL */
};

void mcp_server_receive(struct mcp_server *server, const struct mcp_arrival *a, struct mcp_receipt *ret_receipt);
/* Refuses a message before it becomes a call; status: for HTTP. */
void mcp_server_refuse(struct mcp_server *server, struct mcp_stream *stream, const json_t *id, int status, int code,
		       const char *why);

/* Live calls. */
void mcp_server_add_call(struct mcp_server *server, struct mcp_call *call);
void mcp_server_remove_call(struct mcp_server *server, struct mcp_call *call);
unsigned long mcp_server_running(struct mcp_server *server, const struct mcp_session *session);
/* Whether there are more calls than the configuration allows, the newest included. */
int mcp_server_is_full(struct mcp_server *server);
/* Sessions. A new one takes the place of the longest idle; -1 when there are too many and all are busy. Ending a session
 * cancels its calls with MCP_CANCEL_ENDED. */
int mcp_server_add_session(struct mcp_server *server, struct mcp_session *session);
void mcp_server_end_session(struct mcp_server *server, struct mcp_session *session);
/* The legacy HTTP session of this id, held for the caller; NULL when there is none. */
struct mcp_session *mcp_server_session(struct mcp_server *server, const char *id);
/* All sessions, held; the array is the caller's. */
struct mcp_session **mcp_server_sessions(struct mcp_server *server, size_t *ret_count);

/* server_subscriptions.c: subscriptions/listen, which acknowledges and stays open; and ending every subscription (of a
 * stdio connection, or NULL: of all) with its result. */
const struct mcp_done *mcp_server_listen(struct mcp_call *call);
void mcp_server_end_subscriptions(struct mcp_server *server, const struct mcp_session *session);

/* The capabilities object; new reference. */
json_t *mcp_server_capabilities(const struct mcp_server *server, int modern);
int mcp_server_has_resources(const struct mcp_server *server);
const char *mcp_server_level_name(enum mcp_log_level level);
/* -1 for an unknown word. */
int mcp_server_level_parse(const char *name);

/* --- session.c: what is remembered between messages: one legacy HTTP session, or one stdio connection of either era. It keeps
 * what `initialize` said, which resources are watched, and which questions to the client are open. */

/* A request to the client whose answer is awaited. */
struct mcp_session_ask {
	long number;           /* its JSON-RPC id */
	struct mcp_call *call; /* held */
	char *key;             /* of the handler's requests */
};

struct mcp_session {
	atomic_int refs;
	struct mcp_server *server;
	char id[MCP_SESSION_ID + 1]; /* of Mcp-Session-Id; "" on stdio */
	_Atomic int64_t used;        /* monotonic time of the last message */
	atomic_int streams;          /* HTTP responses that are open for it: while there are any, it is busy */
	struct lock lock;            /* LOCK_SESSION, of all below */
	const char *revision;        /* static storage; NULL before `initialize` */
	json_t *capabilities;        /* the client's, an object */
	int log_level;
	json_t *watched;           /* URIs of resources/subscribe: keys of an object */
	struct mcp_stream *stream; /* for notifications that belong to no request; held; NULL when there is none */
	struct mcp_session_ask *asks;
	size_t ask_count;
	long last_number;
	int ended;
	struct lock kept_lock;    /* LOCK_OUTPUT, of the rest */
	struct mcp_stream **kept; /* HTTP: streams that a client may resume (mcp/http_replay.c), held */
	size_t kept_count;
	long last_kept; /* number of the newest */
};

/* stream is borrowed and may be NULL; with_id: for HTTP. One reference, the caller's. NULL when there are too many HTTP
 * sessions and all of them are busy. */
struct mcp_session *mcp_session_new(struct mcp_server *server, struct mcp_stream *stream, int with_id);
struct mcp_session *mcp_session_ref(struct mcp_session *s);
void mcp_session_unref(struct mcp_session *s); /* NULL is allowed */
/* Nothing is sent to its client any more. Called by the server, which has cancelled its calls. */
void mcp_session_end(struct mcp_session *s);
/* NULL before `initialize`. */
const char *mcp_session_revision(struct mcp_session *s);
/* Gives a new call what the session knows of the client. */
void mcp_session_describe(struct mcp_session *s, struct mcp_call *call);
/* mcp_call_ask: sends requests to the client on the call's stream; the handler runs again when all answers are there. */
const struct mcp_done *mcp_session_ask(struct mcp_call *call, json_t *take_requests, json_t *take_state);
/* An answer of the client; unknown ids are ignored. */
void mcp_session_answer(struct mcp_session *s, const struct mcp_jsonrpc *m);
/* Drops the open questions of a call. */
void mcp_session_forget(struct mcp_session *s, const struct mcp_call *call);
/* Cancels the calls that wait for an answer of the client, who is gone. */
void mcp_session_cancel_asks(struct mcp_session *s);
/* Sends a notification if the session was opened; uri not NULL: only when it is watched. */
void mcp_session_notify(struct mcp_session *s, const char *uri, const char *text);
void mcp_session_set_stream(struct mcp_session *s, struct mcp_stream *stream);

/* --- legacy.c: revisions 2024-11-05 to 2025-11-25, where `initialize` opens a session that remembers the client ---- */

/* Whether this server speaks that revision. */
int mcp_legacy_speaks(const char *revision);
/* Handles a request; takes the message over. `initialize` over HTTP puts the new session into the receipt. */
void mcp_legacy_request(struct mcp_server *server, const struct mcp_arrival *a, struct mcp_jsonrpc *m, struct mcp_receipt *receipt);

/* --- modern.c: revision 2026-07-28, where every request says all that the server must know of its client ------------ */

/* Whether this message belongs to the modern era. */
int mcp_modern_is(const struct mcp_jsonrpc *m, const struct mcp_headers *headers);
/* Handles a request; takes the message over. */
void mcp_modern_request(struct mcp_server *server, const struct mcp_arrival *a, struct mcp_jsonrpc *m, struct mcp_receipt *receipt);
/* Reads what a retry brings back: the client's answers and the sealed state. NULL when that is in order. */
const struct mcp_done *mcp_modern_retry(struct mcp_call *call);
/* mcp_call_ask: the questions are the result. */
const struct mcp_done *mcp_modern_ask(struct mcp_call *call, json_t *take_requests, json_t *take_state) MCP_MUST_RETURN;
/* How many properties of a tool's input schema HTTP clients repeat in headers, where "properties" alone lead from the root. */
int mcp_modern_count_marks(const json_t *schema);

/* --- methods: what clients can ask for, one function for each method, shared by both eras. Each answers its call, at once or
 * by having a handler run on the pool. The tables of mcp/modern.c and mcp/legacy.c name them. methods.c has resources,
 * prompts and completion, methods_tools.c tools, methods_tasks.c the tasks extension. */

/* A method borrows the call and returns proof that it answered or will. */
typedef const struct mcp_done *mcp_method_run(struct mcp_call *call);

/* The feature that a server must have to offer a method. */
enum mcp_offer {
	MCP_OFFER_ALWAYS,
	MCP_OFFER_TOOLS,
	MCP_OFFER_RESOURCES,
	MCP_OFFER_PROMPTS,
	MCP_OFFER_COMPLETIONS,
	MCP_OFFER_TASKS,
	MCP_OFFER_LOGGING
};

struct mcp_method {
	const char *name;
	mcp_method_run *run;
	enum mcp_offer offer;
};

/* The method of that name, if the server offers its feature; the table ends with a NULL name. */
const struct mcp_method *mcp_methods_find(const struct mcp_server *server, const struct mcp_method *table, const char *name);

/* The part of a list of `count` entries that the request's cursor names. False when the cursor is not one of ours; then
 * the call was failed. */
int mcp_methods_page(struct mcp_call *call, size_t count, size_t *ret_from, size_t *ret_to, const struct mcp_done **ret_done);
/* Answers with {field: entries}; next: where the following page begins, 0 on the last. */
const struct mcp_done *mcp_methods_list(struct mcp_call *call, const char *field, json_t *take_entries, size_t next);

/* Fails a call that names an unknown tool or prompt (`what`); best: the nearest name, or NULL. */
const struct mcp_done *mcp_methods_unknown(struct mcp_call *call, const char *what, const char *name, const char *best);

mcp_method_run mcp_methods_resources_list, mcp_methods_resources_templates, mcp_methods_resources_read;
mcp_method_run mcp_methods_prompts_list, mcp_methods_prompts_get, mcp_methods_complete;
mcp_method_run mcp_methods_tools_list, mcp_methods_tools_call;
mcp_method_run mcp_methods_tasks; /* tasks/get, tasks/update, tasks/cancel */

/* Validates the server's tools and prepares their entries; ERR_INPUT names the wrong tool. */
int mcp_methods_tools_prepare(struct mcp_server *server, struct err *e);
void mcp_methods_tools_free(struct mcp_server *server);

/* Answers a tools/call with the task as it is now; fails the call when the task does not exist. */
const struct mcp_done *mcp_methods_tasks_answer(struct mcp_call *call, const char *id);
/* The task as tasks/get shows it, with its taskId; new reference. */
int mcp_methods_tasks_read(struct mcp_server *server, const char *id, json_t **ret_task, struct err *e);

#endif
