/* call: a request from its arrival to what became of its answer; see call.h for handlers and call_inner.h for mcp/.
 *
 * A call is over exactly once: an answer, or a cancellation while it was asking. Progress is sent under the call's
 * lock, so that none can follow the answer. */
#include "mcp/call.h"
#include "mcp/call_inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "mcp/server_inner.h"
#include "mcp/session.h"

enum { ANSWER = 512 }; /* bytes that most answers need */

struct mcp_call *mcp_call_new(struct mcp_server *server, const struct mcp_era *era, struct mcp_jsonrpc *m,
			      struct mcp_stream *stream, struct mcp_session *session)
{
	struct mcp_call *c = MEM_NEW(struct mcp_call);
	atomic_init(&c->refs, 1);
	lock_init(&c->lock, LOCK_SESSION);
	lock_bell_init(&c->bell);
	c->server = server;
	c->era = era;
	c->stream = mcp_stream_ref(stream);
	c->session = session ? mcp_session_ref(session) : NULL;
	memcpy(c->members, m->members, sizeof c->members);
	m->given = 1;
	c->id = c->members[MCP_ID];
	c->arguments = json_incref(server->nothing);
	c->capabilities = json_incref(server->nothing);
	c->method = m->method;
	c->log_level = -1;
	c->progress = -1;
	json_t *token = c->members[MCP_META_TOKEN];
	c->token = json_is_string(token) || json_is_integer(token) ? token : NULL;
	mcp_server_add_call(server, c);
	return c;
}

static void call_free(struct mcp_call *c)
{
	mcp_server_remove_call(c->server, c);
	mcp_stream_unref(c->stream);
	mcp_session_unref(c->session);
	for (int i = 0; i < MCP_MEMBERS; i++)
		mcp_parse_drop(c->members[i]);
	json_decref(c->arguments);
	json_decref(c->variables);
	mcp_parse_drop(c->capabilities);
	json_decref(c->input_state);
	json_decref(c->inputs);
	json_decref(c->extra);
	free(c->client);
	lock_bell_fini(&c->bell);
	lock_fini(&c->lock);
	free(c);
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

void mcp_call_unref(struct mcp_call *call)
{
	if (call == NULL || atomic_fetch_sub(&call->refs, 1) > 1)
		return;
	if (call->state != MCP_CALL_OVER) {
		/* Nobody is left to answer, so the call does it itself, for as long as its stream may need it. */
		atomic_store(&call->refs, 1);
		mcp_call_was_pending(mcp_call_answer_error(call, MCP_INTERNAL_ERROR, NULL,
							   "the request was dropped without an answer"));
		if (atomic_fetch_sub(&call->refs, 1) > 1)
			return;
	}
	call_free(call);
}

const struct mcp_done *mcp_call_done(struct mcp_call *call)
{
	return (const struct mcp_done *)call;
}

const struct mcp_done *mcp_call_pending(struct mcp_call *call)
{
	return mcp_call_done(call);
}

void mcp_call_was_pending(const struct mcp_done *done)
{
	(void)done;
}

void mcp_call_run(void *arg)
{
	struct mcp_call *c = arg;
	mcp_call_was_pending(c->handler(c));
	mcp_call_unref(c);
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
	const json_t *ext = json_object_get(call->capabilities, "extensions");
	return call->era->modern && call->server->config.tasks &&
	       json_is_object(json_object_get(ext, MCP_TASKS_EXTENSION));
}

/* Written when it is first asked for, which few calls are. */
const char *mcp_call_client_name(const struct mcp_call *call)
{
	struct mcp_call *c = (struct mcp_call *)(uintptr_t)call;
	const json_t *info = call->members[MCP_META_CLIENT];
	const char *name = json_string_value(json_object_get(info, "name"));
	const char *version = json_string_value(json_object_get(info, "version"));
	lock_take(&c->lock);
	if (c->client == NULL)
		c->client = name ? mem_fmt("%s %s", name, version ? version : "") : mem_str("");
	lock_release(&c->lock);
	return c->client;
}

const char *mcp_call_revision(const struct mcp_call *call)
{
	return call->revision;
}

/* --- while it runs ---------------------------------------------------------------------------------------------- */

static void send_locked(struct mcp_call *c, const struct buf *text)
{
	struct mcp_outgoing m = { .text = buf_text(text), .n = text->len };
	mcp_stream_send(c->stream, &m);
}

/* Whether messages of this call may still go out. */
static int talking_locked(const struct mcp_call *c)
{
	return c->state != MCP_CALL_OVER && !c->cancelled && c->stream;
}

int mcp_call_send(struct mcp_call *call, const char *text, size_t n)
{
	lock_take(&call->lock);
	int talking = talking_locked(call);
	if (talking) {
		struct mcp_outgoing m = { .text = text, .n = n };
		mcp_stream_send(call->stream, &m);
	}
	lock_release(&call->lock);
	return talking ? 0 : -1;
}

int mcp_call_wants_progress(const struct mcp_call *call)
{
	return call->token != NULL;
}

void mcp_call_progress(struct mcp_call *call, double progress, double total, const char *message)
{
	if (call->token == NULL)
		return;
	json_t *params = json_pack("{s:O, s:o}", "progressToken", call->token, "progress", mcp_server_number(progress));
	if (total > 0)
		json_object_set_new(params, "total", mcp_server_number(total));
	if (message)
		json_object_set_new(params, "message", json_string(message));
	struct buf b = BUF_INIT;
	mcp_jsonrpc_add_notification(&b, "notifications/progress", params);
	lock_take(&call->lock);
	if (talking_locked(call) && progress > call->progress) {
		call->progress = progress;
		send_locked(call, &b);
	}
	lock_release(&call->lock);
	buf_fini(&b);
	json_decref(params);
}

void mcp_call_log(struct mcp_call *call, enum mcp_log_level level, const char *logger, json_t *take_data)
{
	if (call->log_level >= 0 && (int)level >= call->log_level) {
		json_t *params = json_pack("{s:s, s:O}", "level", mcp_server_level_name(level), "data", take_data);
		if (logger)
			json_object_set_new(params, "logger", json_string(logger));
		struct buf b = BUF_INIT;
		mcp_jsonrpc_add_notification(&b, "notifications/message", params);
		mcp_call_send(call, buf_text(&b), b.len);
		buf_fini(&b);
		json_decref(params);
	}
	json_decref(take_data);
}

void mcp_call_close_stream(struct mcp_call *call, int retry_ms)
{
	lock_take(&call->lock);
	if (talking_locked(call) && call->stream->ops->close)
		call->stream->ops->close(call->stream, retry_ms);
	lock_release(&call->lock);
}

int mcp_call_cancelled(const struct mcp_call *call)
{
	struct mcp_call *c = (struct mcp_call *)(uintptr_t)call;
	lock_take(&c->lock);
	int cancelled = c->cancelled;
	lock_release(&c->lock);
	return cancelled;
}

void mcp_call_on_cancel(struct mcp_call *call, void (*cb)(void *arg), void *arg)
{
	lock_take(&call->lock);
	assert(call->on_cancel == NULL);
	int now = call->cancelled;
	call->on_cancel = cb;
	call->cancel_arg = arg;
	lock_release(&call->lock);
	if (now)
		cb(arg);
}

void mcp_call_cancel(struct mcp_call *call)
{
	lock_take(&call->lock);
	if (call->state == MCP_CALL_OVER || call->cancelled) {
		lock_release(&call->lock);
		return;
	}
	call->cancelled = 1;
	int was_asking = call->state == MCP_CALL_ASKING;
	struct mcp_stream *stream = NULL;
	if (was_asking) { /* no handler is there to answer */
		call->state = MCP_CALL_OVER;
		stream = call->stream;
		call->stream = NULL;
	}
	void (*cb)(void *arg) = call->on_cancel;
	void *arg = call->cancel_arg;
	call->in_cancel = cb != NULL;
	lock_release(&call->lock);
	mcp_server_count_cancelled(call->server);
	if (cb) {
		cb(arg);
		lock_take(&call->lock);
		call->in_cancel = 0;
		lock_bell_ring(&call->bell);
		lock_release(&call->lock);
	}
	if (was_asking) {
		mcp_session_forget(call->session, call);
		mcp_call_ended(call, MCP_END_GONE);
		mcp_stream_unref(stream);
	}
}

void mcp_call_gone(struct mcp_call *call)
{
	if (call->era->modern)
		mcp_call_cancel(call);
}

void mcp_call_on_end(struct mcp_call *call, void (*cb)(void *arg, enum mcp_end end), void *arg)
{
	lock_take(&call->lock);
	assert(call->on_end == NULL);
	int now = call->ended;
	call->on_end = cb;
	call->end_arg = arg;
	lock_release(&call->lock);
	if (now)
		cb(arg, call->end);
}

void mcp_call_ended(struct mcp_call *call, enum mcp_end end)
{
	lock_take(&call->lock);
	int first = !call->ended;
	if (first) {
		call->ended = 1;
		call->end = end;
	}
	void (*cb)(void *arg, enum mcp_end end) = call->on_end;
	void *arg = call->end_arg;
	lock_release(&call->lock);
	if (first && cb)
		cb(arg, end);
}

/* --- answers ---------------------------------------------------------------------------------------------------- */

/* The one place where a running call becomes over. */
static const struct mcp_done *finish(struct mcp_call *c, struct buf *take_text, int status)
{
	lock_take(&c->lock);
	assert(c->state == MCP_CALL_RUNNING); /* a second answer is a bug of the handler */
	c->state = MCP_CALL_OVER;
	while (c->in_cancel)
		lock_bell_wait(&c->bell, &c->lock, CLOCK_NEVER);
	struct mcp_stream *stream = c->stream;
	c->stream = NULL;
	int wanted = !c->cancelled;
	lock_release(&c->lock);
	if (wanted) {
		struct mcp_outgoing m = { .text = buf_text(take_text),
					  .n = take_text->len,
					  .own = take_text,
					  .final = 1,
					  .status = status,
					  .call = c };
		mcp_stream_send(stream, &m);
	} else {
		mcp_call_ended(c, MCP_END_GONE);
	}
	mcp_stream_unref(stream);
	buf_fini(take_text);
	return mcp_call_done(c);
}

const struct mcp_done *mcp_call_answer(struct mcp_call *call, json_t *take_result)
{
	assert(json_is_object(take_result));
	call->era->dress(call, take_result);
	struct buf b = BUF_INIT;
	buf_reserve(&b, ANSWER);
	mcp_jsonrpc_add_result(&b, call->id, take_result);
	json_decref(take_result);
	return finish(call, &b, 200);
}

const struct mcp_done *mcp_call_answer_text(struct mcp_call *call, struct buf *take_text)
{
	return finish(call, take_text, 200);
}

const struct mcp_done *mcp_call_answer_error(struct mcp_call *call, int code, json_t *take_data, const char *text)
{
	struct buf b = BUF_INIT;
	mcp_jsonrpc_add_error(&b, call->id, code, text, take_data);
	json_decref(take_data);
	mcp_server_count_error(call->server);
	return finish(call, &b, call->era->status(code));
}

const struct mcp_done *mcp_call_answer_full(struct mcp_call *call, const char *text)
{
	struct buf b = BUF_INIT;
	mcp_jsonrpc_add_error(&b, call->id, MCP_INTERNAL_ERROR, text, NULL);
	mcp_server_count_error(call->server);
	return finish(call, &b, 503);
}

const struct mcp_done *mcp_call_fail(struct mcp_call *call, int code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *text = mem_fmtv(fmt, ap);
	va_end(ap);
	const struct mcp_done *done = mcp_call_answer_error(call, code, NULL, text);
	free(text);
	return done;
}

int mcp_call_wait_inputs(struct mcp_call *call, int n)
{
	lock_take(&call->lock);
	assert(call->state == MCP_CALL_RUNNING);
	json_decref(call->inputs);
	call->inputs = json_object();
	int go = !call->cancelled;
	if (go) {
		call->state = MCP_CALL_ASKING;
		call->inputs_missing = n;
	}
	lock_release(&call->lock);
	return go;
}

int mcp_call_take_input(struct mcp_call *call, const char *key, json_t *take_answer)
{
	lock_take(&call->lock);
	int last = 0;
	if (call->state == MCP_CALL_ASKING) {
		json_object_set(call->inputs, key, take_answer);
		last = --call->inputs_missing == 0;
		if (last)
			call->state = MCP_CALL_RUNNING;
	}
	lock_release(&call->lock);
	json_decref(take_answer);
	return last;
}

const json_t *mcp_call_input(const struct mcp_call *call, const char *key)
{
	return json_object_get(call->inputs, key);
}

const json_t *mcp_call_state(const struct mcp_call *call)
{
	return call->input_state;
}
