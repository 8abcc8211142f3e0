/* call: a request from its arrival to its answer; see call.h for handlers and inner.h for mcp/. What handlers answer with
 * is in mcp/call_reply.c.
 *
 * A call is over exactly once: by an answer, or by a cancellation while it waits for its client. Progress is sent under
 * the call's lock, so that none can follow the answer. */
#include "mcp/call.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "mcp/inner.h"
#include "mcp/pool.h"

struct mcp_call *mcp_call_new(struct mcp_server *server, int modern, struct mcp_jsonrpc *take_m, struct mcp_stream *stream,
			      struct mcp_session *session)
{
	struct mcp_call *c = MEM_NEW(struct mcp_call);
	atomic_init(&c->refs, 1);
	lock_init(&c->lock, LOCK_SESSION);
	lock_bell_init(&c->bell);
	c->server = server;
	c->modern = modern;
	c->revision = MCP_MODERN;
	c->stream = mcp_stream_ref(stream);
	c->session = session ? mcp_session_ref(session) : NULL;
	c->message = *take_m;
	memset(take_m, 0, sizeof *take_m);
	c->meta = json_object_get(c->message.params, "_meta");
	const json_t *token = json_object_get(c->meta, "progressToken");
	c->token = json_is_string(token) || json_is_integer(token) ? token : NULL;
	c->arguments = json_object();
	c->capabilities = json_object();
	c->log_level = -1;
	c->ttl_ms = -1;
	c->progress = -1;
	mcp_server_add_call(server, c);
	return c;
}

struct mcp_call *mcp_call_ref(struct mcp_call *call)
{
	int before = atomic_fetch_add(&call->refs, 1);
	assert(before > 0);
	(void)before;
	return call;
}

int mcp_call_try_ref(struct mcp_call *call)
{
	int n = atomic_load(&call->refs);
	while (n > 0)
		if (atomic_compare_exchange_weak(&call->refs, &n, n + 1))
			return 1;
	return 0;
}

void mcp_call_unref(struct mcp_call *c)
{
	if (c == NULL || atomic_fetch_sub(&c->refs, 1) > 1)
		return;
	if (c->phase != MCP_CALL_OVER) {
		/* Nobody is left to answer, so the call answers itself. The list of live calls may lend it meanwhile. */
		atomic_store(&c->refs, 1);
		mcp_call_was_pending(
			mcp_call_answer_error(c, MCP_INTERNAL_ERROR, NULL, "the request was dropped without an answer"));
		if (atomic_fetch_sub(&c->refs, 1) > 1)
			return;
	}
	mcp_server_remove_call(c->server, c);
	mcp_stream_unref(c->stream);
	mcp_session_unref(c->session);
	mcp_jsonrpc_fini(&c->message);
	json_decref(c->arguments);
	json_decref(c->variables);
	json_decref(c->capabilities);
	json_decref(c->state);
	json_decref(c->inputs);
	lock_bell_fini(&c->bell);
	lock_fini(&c->lock);
	free(c);
}

const struct mcp_done *mcp_call_pending(struct mcp_call *call)
{
	return (const struct mcp_done *)call;
}

void mcp_call_was_pending(const struct mcp_done *done)
{
	(void)done;
}

/* --- running the handler ---------------------------------------------------------------------------------------- */

static void run(void *arg)
{
	struct mcp_call *call = arg;
	mcp_call_was_pending(call->handler(call));
	mcp_call_unref(call);
}

const struct mcp_done *mcp_call_run_later(struct mcp_call *call, mcp_handler *handler)
{
	const struct mcp_done *failed = call->modern ? mcp_modern_retry(call) : NULL;
	if (failed)
		return failed;
	call->handler = handler;
	if (call->tool && (call->tool->flags & MCP_TOOL_QUICK))
		return handler(call);
	if (mcp_pool_add(call->server->pool, run, mcp_call_ref(call), 0) < 0) {
		const struct mcp_done *done =
			mcp_call_answer_full(call, "the server is busy: too many requests at once; try again in a second");
		mcp_call_unref(call);
		return done;
	}
	return mcp_call_pending(call);
}

void mcp_call_continue(struct mcp_call *take_call)
{
	mcp_pool_add(take_call->server->pool, run, take_call, 1);
}

/* --- what was asked --------------------------------------------------------------------------------------------- */

const json_t *mcp_call_arguments(const struct mcp_call *call)
{
	return call->arguments;
}

const char *mcp_call_name(const struct mcp_call *call)
{
	return call->name ? call->name : "";
}

const char *mcp_call_variable(const struct mcp_call *call, const char *name)
{
	return json_string_value(json_object_get(call->variables, name));
}

const char *mcp_call_meta(const struct mcp_call *call, const char *key)
{
	return json_string_value(json_object_get(call->meta, key));
}

void *mcp_call_user(const struct mcp_call *call)
{
	return call->server->config.user;
}

int mcp_call_client_has(const struct mcp_call *call, const char *path)
{
	const json_t *at = call->capabilities;
	for (const char *p = path; at && *p;) {
		size_t n = strcspn(p, ".");
		at = json_object_getn(at, p, n);
		p += n + (p[n] == '.');
	}
	return json_is_object(at);
}

int mcp_call_client_has_tasks(const struct mcp_call *call)
{
	const json_t *extensions = json_object_get(call->capabilities, "extensions");
	return call->modern && call->server->config.tasks && json_is_object(json_object_get(extensions, MCP_TASKS_EXTENSION));
}

const char *mcp_call_revision(const struct mcp_call *call)
{
	return call->revision;
}

const char *mcp_call_param(struct mcp_call *call, const char *field, const struct mcp_done **ret_done)
{
	const char *value = json_string_value(json_object_get(call->message.params, field));
	if (value && *value)
		return value;
	*ret_done = mcp_call_fail(call, MCP_INVALID_PARAMS, "%s needs params.%s, a string", call->message.method, field);
	return NULL;
}

const json_t *mcp_call_input(const struct mcp_call *call, const char *key)
{
	return json_object_get(call->inputs, key);
}

const json_t *mcp_call_state(const struct mcp_call *call)
{
	return call->state;
}

/* --- while it runs ---------------------------------------------------------------------------------------------- */

/* Whether messages of this call may still go out. */
static int may_send_locked(const struct mcp_call *c)
{
	return c->phase != MCP_CALL_OVER && !c->cancelled && c->stream;
}

static void send_locked(struct mcp_call *c, const char *text)
{
	struct mcp_outgoing m = { .text = text, .n = strlen(text) };
	c->stream->ops->send(c->stream, &m);
}

void mcp_call_send(struct mcp_call *call, const char *text)
{
	lock_take(&call->lock);
	if (may_send_locked(call))
		send_locked(call, text);
	lock_release(&call->lock);
}

/* A whole number is sent as an integer. New reference. */
static json_t *number(double value)
{
	int whole = fabs(value) < 9007199254740992.0 && floor(value) == value;
	return whole ? json_integer((json_int_t)value) : json_real(value);
}

void mcp_call_progress(struct mcp_call *call, double progress, double total, const char *message)
{
	if (call->token == NULL)
		return;
	json_t *params = json_pack("{s:O, s:o}", "progressToken", call->token, "progress", number(progress));
	if (total > 0)
		json_object_set_new(params, "total", number(total));
	if (message)
		json_object_set_new(params, "message", mcp_jsonrpc_string(message));
	char *text = mcp_jsonrpc_notification("notifications/progress", params);
	lock_take(&call->lock);
	if (may_send_locked(call) && progress > call->progress) {
		call->progress = progress;
		send_locked(call, text);
	}
	lock_release(&call->lock);
	free(text);
	json_decref(params);
}

void mcp_call_log(struct mcp_call *call, enum mcp_log_level level, const char *logger, json_t *take_data)
{
	if (call->log_level >= 0 && (int)level >= call->log_level) {
		json_t *params =
			json_pack("{s:s, s:O, s:s*}", "level", mcp_server_level_name(level), "data", take_data, "logger", logger);
		char *text = mcp_jsonrpc_notification("notifications/message", params);
		mcp_call_send(call, text);
		free(text);
		json_decref(params);
	}
	json_decref(take_data);
}

void mcp_call_close_stream(struct mcp_call *call, int retry_ms)
{
	lock_take(&call->lock);
	if (may_send_locked(call) && call->stream->ops->close)
		call->stream->ops->close(call->stream, retry_ms);
	lock_release(&call->lock);
}

/* Sends the answer, or with n = 0 only ends the stream. */
static void end_stream(struct mcp_stream *take_stream, const char *text, size_t n, int status)
{
	struct mcp_outgoing m = { .text = text, .n = n, .final = 1, .status = status };
	take_stream->ops->send(take_stream, &m);
	mcp_stream_unref(take_stream);
}

/* --- cancelling ------------------------------------------------------------------------------------------------- */

enum mcp_cancel mcp_call_cancelled(const struct mcp_call *call)
{
	struct mcp_call *c = (struct mcp_call *)(uintptr_t)call;
	lock_take(&c->lock);
	enum mcp_cancel cancelled = c->cancelled;
	lock_release(&c->lock);
	return cancelled;
}

void mcp_call_on_cancel(struct mcp_call *call, void (*cb)(void *arg), void *arg)
{
	lock_take(&call->lock);
	assert(call->on_cancel == NULL);
	int now = call->cancelled != MCP_CANCEL_NONE;
	call->on_cancel = cb;
	call->cancel_arg = arg;
	lock_release(&call->lock);
	if (now)
		cb(arg);
}

void mcp_call_cancel(struct mcp_call *call, enum mcp_cancel why)
{
	struct mcp_stream *stream = NULL;
	lock_take(&call->lock);
	if (call->phase == MCP_CALL_OVER || call->cancelled) {
		lock_release(&call->lock);
		return;
	}
	call->cancelled = why;
	int was_asking = call->phase == MCP_CALL_ASKING;
	if (was_asking) { /* there is no handler that would answer */
		call->phase = MCP_CALL_OVER;
		stream = call->stream;
		call->stream = NULL;
	}
	void (*cb)(void *arg) = call->on_cancel;
	void *arg = call->cancel_arg;
	call->in_cancel = cb != NULL;
	lock_release(&call->lock);
	atomic_fetch_add(&call->server->cancelled, 1);
	if (cb) {
		cb(arg);
		lock_take(&call->lock);
		call->in_cancel = 0;
		lock_bell_ring(&call->bell);
		lock_release(&call->lock);
	}
	if (was_asking) {
		mcp_session_forget(call->session, call);
		end_stream(stream, "", 0, 200);
	}
}

/* --- the end ---------------------------------------------------------------------------------------------------- */

/* The one place where a running call becomes over. */
static const struct mcp_done *finish(struct mcp_call *c, char *take_text, int status)
{
	lock_take(&c->lock);
	assert(c->phase == MCP_CALL_RUNNING); /* a second answer is a bug of the handler */
	c->phase = MCP_CALL_OVER;
	while (c->in_cancel)
		lock_bell_wait(&c->bell, &c->lock, CLOCK_NEVER);
	struct mcp_stream *stream = c->stream;
	c->stream = NULL;
	size_t n = c->cancelled ? 0 : strlen(take_text);
	lock_release(&c->lock);
	end_stream(stream, take_text, n, status);
	free(take_text);
	return mcp_call_pending(c);
}

/* What each era wants to see in a result. */
static void complete_result(struct mcp_call *call, json_t *result)
{
	if (!call->modern) { /* structuredContent had to be an object; its text is there all the same */
		const json_t *structured = json_object_get(result, "structuredContent");
		if (structured && !json_is_object(structured))
			json_object_del(result, "structuredContent");
		return;
	}
	if (json_object_get(result, "resultType") == NULL)
		json_object_set_new(result, "resultType", json_string("complete"));
	int complete = strcmp(json_string_value(json_object_get(result, "resultType")), "complete") == 0;
	if (call->ttl_ms >= 0 && complete && json_object_get(result, "ttlMs") == NULL) {
		json_object_set_new(result, "ttlMs", json_integer(call->ttl_ms));
		json_object_set_new(result, "cacheScope", json_string(call->shared ? "public" : "private"));
	}
	if (json_object_get(result, "_meta") == NULL)
		json_object_set_new(result, "_meta", json_object());
	json_t *meta = json_object_get(result, "_meta");
	if (json_object_get(meta, MCP_META "serverInfo") == NULL)
		json_object_set(meta, MCP_META "serverInfo", call->server->brief);
}

const struct mcp_done *mcp_call_answer(struct mcp_call *call, json_t *take_result)
{
	assert(json_is_object(take_result));
	complete_result(call, take_result);
	char *text = mcp_jsonrpc_result(call->message.id, take_result);
	json_decref(take_result);
	return finish(call, text, 200);
}

/* HTTP status of an error: streamable-http, "Protocol Version Header" and "Server Validation". A modern request that is
 * malformed is 400 whatever its code. Legacy answers are always 200. */
static int status_of(const struct mcp_call *call, int code)
{
	if (!call->modern)
		return 200;
	switch (code) {
	case MCP_METHOD_NOT_FOUND: return 404;
	case MCP_PARSE_ERROR:
	case MCP_INVALID_REQUEST:
	case MCP_HEADER_MISMATCH:
	case MCP_MISSING_CAPABILITY:
	case MCP_UNSUPPORTED_VERSION: return 400;
	}
	return call->accepted ? 200 : 400;
}

const struct mcp_done *mcp_call_answer_error(struct mcp_call *call, int code, json_t *take_data, const char *text)
{
	char *message = mcp_jsonrpc_error(call->message.id, code, text, take_data);
	json_decref(take_data);
	atomic_fetch_add(&call->server->errors, 1);
	return finish(call, message, status_of(call, code));
}

const struct mcp_done *mcp_call_answer_full(struct mcp_call *call, const char *text)
{
	atomic_fetch_add(&call->server->errors, 1);
	return finish(call, mcp_jsonrpc_error(call->message.id, MCP_INTERNAL_ERROR, text, NULL), 503);
}

/* --- waiting for the client's answers, legacy ------------------------------------------------------------------- */

int mcp_call_wait_inputs(struct mcp_call *call, int n)
{
	lock_take(&call->lock);
	assert(call->phase == MCP_CALL_RUNNING);
	json_decref(call->inputs);
	call->inputs = json_object();
	int go = !call->cancelled;
	if (go) {
		call->phase = MCP_CALL_ASKING;
		call->inputs_missing = n;
	}
	lock_release(&call->lock);
	return go;
}

int mcp_call_take_input(struct mcp_call *call, const char *key, json_t *take_answer)
{
	int last = 0;
	lock_take(&call->lock);
	if (call->phase == MCP_CALL_ASKING) {
		json_object_set(call->inputs, key, take_answer);
		last = --call->inputs_missing == 0;
		if (last)
			call->phase = MCP_CALL_RUNNING;
	}
	lock_release(&call->lock);
	json_decref(take_answer);
	return last;
}
