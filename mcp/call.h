/* call: one request of a client while a handler works on it. Handlers see nothing of the protocol but this.
 *
 * A handler (mcp_handler, mcp/registry.h) runs on a thread of the server's pool and must say how it ends. It returns what
 * one of mcp_call_reply…, _refuse, _fail, _need, _ask or _task returned: then the call is answered. Or it returns
 * mcp_call_pending: then somebody holds a reference and answers later, from any thread. A `struct mcp_done *` comes from
 * nowhere else, so the compiler sees a forgotten answer.
 *
 *     static const struct mcp_done *echo(struct mcp_call *call)
 *     {
 *             const char *text = json_string_value(json_object_get(mcp_call_arguments(call), "text"));
 *             return mcp_call_reply(call, json_pack("{s:s}", "text", text), "%s", text);
 *     }
 *
 * Handlers share the server's threads (mcp_server_config.threads): one that has to wait should be pending, not sleep.
 *
 * Answering later:   job->call = mcp_call_ref(call);  return mcp_call_pending(call);
 * and on any thread: mcp_call_was_pending(mcp_call_reply(job->call, …));  mcp_call_unref(job->call);
 *
 * Every function is safe on any thread as long as the caller holds a reference, as a running handler does. */
#ifndef PEAKD_MCP_CALL_H
#define PEAKD_MCP_CALL_H

#include <jansson.h>

#include "base/err.h"

struct mcp_call;
struct mcp_done; /* never defined: proof that a call was answered or is pending */

#define MCP_MUST_RETURN __attribute__((warn_unused_result))

/* --- what was asked --------------------------------------------------------------------------------------------- */

/* The arguments: an object that conforms to the tool's input_schema, never NULL, valid as long as the call. */
const json_t *mcp_call_arguments(const struct mcp_call *call);
/* Name of the tool or prompt, or URI of the resource. */
const char *mcp_call_name(const struct mcp_call *call);
/* What stands for {name} of a template in the URI, percent-decoded; NULL when there is no such variable. */
const char *mcp_call_variable(const struct mcp_call *call, const char *name);
/* A string that the client put into the request's _meta, such as "traceparent" (W3C Trace Context); NULL when it is not there. */
const char *mcp_call_meta(const struct mcp_call *call, const char *key);
/* The server's user pointer. */
void *mcp_call_user(const struct mcp_call *call);
/* Whether the client declared a capability, by path: "elicitation", "sampling", "roots", "sampling.tools". */
int mcp_call_client_has(const struct mcp_call *call, const char *path);
/* True when the client accepts a task as the answer (mcp_call_task). */
int mcp_call_client_has_tasks(const struct mcp_call *call);
/* The protocol revision that this request is served under, e.g. "2026-07-28". */
const char *mcp_call_revision(const struct mcp_call *call);

/* --- while it runs ---------------------------------------------------------------------------------------------- */

/* Sends progress if the client wants it. Values that do not increase are dropped; total 0 means unknown; message may be
 * NULL. After the answer nothing is sent. */
void mcp_call_progress(struct mcp_call *call, double progress, double total, const char *message);

enum mcp_log_level {
	MCP_LOG_DEBUG,
	MCP_LOG_INFO,
	MCP_LOG_NOTICE,
	MCP_LOG_WARNING,
	MCP_LOG_ERROR,
	MCP_LOG_CRITICAL,
	MCP_LOG_ALERT,
	MCP_LOG_EMERGENCY
};
/* Sends a log message to the client if it asked for this level. take_data is any JSON value; logger may be NULL. */
void mcp_call_log(struct mcp_call *call, enum mcp_log_level level, const char *logger, json_t *take_data);

/* Closes the response's stream, so that the client comes back for the rest (revision 2025-11-25 over HTTP: it reconnects
 * with Last-Event-ID after retry_ms). Does nothing elsewhere. */
void mcp_call_close_stream(struct mcp_call *call, int retry_ms);

/* Why a call is not wanted any more. */
enum mcp_cancel {
	MCP_CANCEL_NONE,  /* it still is: 0, so that this reads as a truth value */
	MCP_CANCEL_ASKED, /* the client sent notifications/cancelled */
	MCP_CANCEL_LEFT,  /* 2026-07-28 over HTTP: the client closed the stream, its only way to cancel */
	MCP_CANCEL_ENDED, /* the session, the stdio connection or the server ended: nobody asked for anything */
};
enum mcp_cancel mcp_call_cancelled(const struct mcp_call *call);
/* cb(arg) runs once when the call is cancelled, on another thread, or at once when it is already. It must be quick and
 * must not answer the call. One callback per call; it does not run after the answer. */
void mcp_call_on_cancel(struct mcp_call *call, void (*cb)(void *arg), void *arg);

struct mcp_call *mcp_call_ref(struct mcp_call *call);
/* NULL is allowed. A pending call that nobody holds any more answers itself with an error. */
void mcp_call_unref(struct mcp_call *call);

/* --- answers ---------------------------------------------------------------------------------------------------- */

/* A tool's result: structured content (NULL: none) and text. fmt NULL: the text is the structured content as JSON. */
const struct mcp_done *mcp_call_reply(struct mcp_call *call, json_t *take_structured, const char *fmt, ...) MCP_MUST_RETURN
	__attribute__((format(printf, 3, 4)));
/* A tool's failure that the model should read and act upon: a result with isError and this text. */
const struct mcp_done *mcp_call_refuse(struct mcp_call *call, const char *fmt, ...) MCP_MUST_RETURN
	__attribute__((format(printf, 2, 3)));
/* The same with structured content, e.g. the verdicts that led to it. */
const struct mcp_done *mcp_call_refuse_with(struct mcp_call *call, json_t *take_structured, const char *text) MCP_MUST_RETURN;
/* A resource's content. mime_type NULL: the table's. */
const struct mcp_done *mcp_call_reply_text(struct mcp_call *call, const char *mime_type, const char *text) MCP_MUST_RETURN;
/* "There is no such resource", with what to do about it in `hint` (may be NULL). */
const struct mcp_done *mcp_call_reply_absent(struct mcp_call *call, const char *hint) MCP_MUST_RETURN;
/* A prompt: array of {role, content}; description may be NULL. */
const struct mcp_done *mcp_call_reply_messages(struct mcp_call *call, json_t *take_messages,
					       const char *description) MCP_MUST_RETURN;
/* A whole result object, for everything else; every result ends here and is completed for the call's era. */
const struct mcp_done *mcp_call_answer(struct mcp_call *call, json_t *take_result) MCP_MUST_RETURN;

/* A protocol error. Codes are JSON-RPC's (mcp/jsonrpc.h); models do not see these, so prefer mcp_call_refuse. */
const struct mcp_done *mcp_call_fail(struct mcp_call *call, int code, const char *fmt, ...) MCP_MUST_RETURN
	__attribute__((format(printf, 3, 4)));
/* The client lacks a capability that this needs, by path as in mcp_call_client_has. */
const struct mcp_done *mcp_call_need(struct mcp_call *call, const char *path) MCP_MUST_RETURN;

/* Asks the client for input: requests is an object of {key: {method, params}} (elicitation/create,
 * sampling/createMessage, roots/list). The handler then runs again, with the answers in mcp_call_input and the state in
 * mcp_call_state. In between, the call does not exist (2026-07-28) or waits without a thread (legacy). requests may be
 * NULL or empty when only the state matters (2026-07-28). A request that the client cannot serve turns into
 * mcp_call_need. */
const struct mcp_done *mcp_call_ask(struct mcp_call *call, json_t *take_requests, json_t *take_state) MCP_MUST_RETURN;
/* The client's answer to the request of that key; NULL when there is none (yet). */
const json_t *mcp_call_input(const struct mcp_call *call, const char *key);
/* What was given to mcp_call_ask; NULL the first time. It travels sealed through the client. */
const json_t *mcp_call_state(const struct mcp_call *call);

/* The answer is a task that exists durably under this id (struct mcp_task_hooks). Only when the client has tasks. */
const struct mcp_done *mcp_call_task(struct mcp_call *call, const char *id) MCP_MUST_RETURN;

/* Answered later. The call stays alive while a reference is held. */
const struct mcp_done *mcp_call_pending(struct mcp_call *call) MCP_MUST_RETURN;
/* For answers given outside a handler: takes what a handler would have returned. */
void mcp_call_was_pending(const struct mcp_done *done);

/* A tool's result object, without a call: what a task keeps as its result. Either may be NULL. New reference. */
json_t *mcp_call_result(json_t *take_structured, const char *text, int is_error);
#endif
