/* call_inner: the inside of a call, for mcp/ alone: what the eras, methods and transports do with it.
 * Owners of servers see mcp/call.h only. Implemented in mcp/call.c. */
#ifndef PEAKD_MCP_CALL_INNER_H
#define PEAKD_MCP_CALL_INNER_H

#include <jansson.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/lock.h"
#include "mcp/call.h"
#include "mcp/jsonrpc.h"
#include "mcp/registry.h"
#include "mcp/stream.h"

struct mcp_server;
struct mcp_session;

/* What differs between the eras once a request was accepted. */
struct mcp_era {
	int modern;
	/* Completes a result object before it is sent: resultType, serverInfo. */
	void (*dress)(struct mcp_call *call, json_t *result);
	/* The same for a complete result that is written by hand: the text of the members that follow its own. */
	const char *(*manners)(const struct mcp_call *call);
	/* mcp_call_ask, after the client's capabilities were checked. */
	const struct mcp_done *(*ask)(struct mcp_call *call, json_t *take_requests, json_t *take_state);
	/* HTTP status of a protocol error that comes before anything else. */
	int (*status)(int code);
	int absent_code; /* of a resource that does not exist */
};

/* Where a call is; moves only downwards, except ASKING back to RUNNING. */
enum mcp_call_state {
	MCP_CALL_RUNNING, /* a handler works on it, or it is pending */
	MCP_CALL_ASKING,  /* legacy: waits for the client's answers, no thread is involved */
	MCP_CALL_OVER,    /* answered, or nobody wants the answer any more */
};

struct mcp_call {
	atomic_int refs;
	struct lock lock;      /* of all below the line */
	struct lock_bell bell; /* rung when the cancel callback has returned */
	struct mcp_server *server;
	const struct mcp_era *era;
	const char *revision;         /* static storage */
	struct mcp_session *session;  /* held; NULL for modern HTTP */
	struct mcp_call *prev, *next; /* the server's list of live calls, under the server's lock */
	int cancel_seen;              /* cancelled with all others of its session; of the thread that ends it */
	mcp_handler *handler;         /* what runs on the pool */
	const struct mcp_tool *tool;  /* of tools/call, else NULL */
	const struct mcp_prompt *prompt;
	const char *mime_type;        /* of the resource's table entry, or NULL */
	json_t *members[MCP_MEMBERS]; /* of the request, by enum mcp_jsonrpc_member; owned, as all json below */
	json_t *arguments;            /* an object */
	json_t *variables;            /* of a template, or NULL */
	json_t *capabilities;         /* the client's, an object */
	json_t *input_state;          /* what mcp_call_ask was given, or NULL */
	json_t *id;                   /* these four are in `members`, borrowed */
	json_t *token;                /* progressToken, or NULL */
	const char *method;
	const char *name;      /* or uri or taskId; may be NULL */
	char *client;          /* what mcp_call_client_name says; of a modern request under the lock, NULL until then */
	int log_level;         /* least enum mcp_log_level that is sent; -1: none */
	const char *ttl_scope; /* set by cacheable methods: "public" or "private" */
	/* ---- under the lock ---- */
	enum mcp_call_state state;
	json_t *inputs;            /* the client's answers by key, an object; NULL: none were asked for */
	int inputs_missing;        /* legacy: answers that have not come */
	struct mcp_stream *stream; /* held until the call is over */
	json_t *extra;             /* content blocks for the answer, or NULL */
	double progress;           /* the last sent; negative before the first */
	int cancelled, in_cancel, ended;
	void (*on_cancel)(void *arg);
	void *cancel_arg;
	void (*on_end)(void *arg, enum mcp_end end);
	void *end_arg;
	enum mcp_end end; /* valid when ended */
};

/* A call for a request, which takes the members out of the message: they live as long as it does, and but for the common
 * ones are not shared, since it may end on another thread. It joins the server's live calls. */
struct mcp_call *mcp_call_new(struct mcp_server *server, const struct mcp_era *era, struct mcp_jsonrpc *m,
			      struct mcp_stream *stream, struct mcp_session *session);
/* Another reference if the call is not being freed already. For lists that hold none. */
int mcp_call_try_ref(struct mcp_call *call);
/* Runs call->handler and drops the reference that the pool was given; the argument is the call. */
void mcp_call_run(void *call);
/* The client does not want it any more: flag, callback, and no answer is sent. */
void mcp_call_cancel(struct mcp_call *call);
/* Its stream is gone: cancels under the modern era, else nothing. */
void mcp_call_gone(struct mcp_call *call);
/* What became of the final message; the first word counts. */
void mcp_call_ended(struct mcp_call *call, enum mcp_end end);
/* A result or an error, dressed for the era; every answer ends here. */
const struct mcp_done *mcp_call_answer(struct mcp_call *call, json_t *take_result) MCP_MUST_RETURN;
/* The same for a whole message that was written by hand, manners included. */
const struct mcp_done *mcp_call_answer_text(struct mcp_call *call, struct buf *take_text) MCP_MUST_RETURN;
const struct mcp_done *mcp_call_answer_error(struct mcp_call *call, int code, json_t *take_data,
					     const char *text) MCP_MUST_RETURN;
/* The call waits for `n` answers of the client; false when it was cancelled meanwhile. The caller keeps its reference
 * for them. Ends with mcp_call_resume (the last answer came) or with the call being cancelled. */
int mcp_call_wait_inputs(struct mcp_call *call, int n);
/* One answer came; true when it was the last one: then the handler is to run again. */
int mcp_call_take_input(struct mcp_call *call, const char *key, json_t *take_answer);
/* Sends a message that belongs to this call, before its answer. Returns -1 when the call is over. */
int mcp_call_send(struct mcp_call *call, const char *text, size_t n);
/* The client did not declare the tasks extension. */
const struct mcp_done *mcp_call_need_tasks(struct mcp_call *call) MCP_MUST_RETURN;
/* Too much is going on: an error that HTTP clients see as 503. */
const struct mcp_done *mcp_call_answer_full(struct mcp_call *call, const char *text) MCP_MUST_RETURN;
/* Proof of an answer that was given by other means. */
const struct mcp_done *mcp_call_done(struct mcp_call *call);

#endif
