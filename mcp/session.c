/* session: memory between messages; see inner.h. Called by legacy methods, by calls that ask their client, and by the
 * transports. */

#include "mcp/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

struct mcp_session *mcp_session_new(struct mcp_server *server, struct mcp_stream *stream, int with_id)
{
	struct mcp_session *s = MEM_NEW(struct mcp_session);
	atomic_init(&s->refs, 1);
	lock_init(&s->lock, LOCK_SESSION);
	lock_init(&s->kept_lock, LOCK_OUTPUT);
	s->server = server;
	s->stream = stream ? mcp_stream_ref(stream) : NULL;
	s->capabilities = json_object();
	s->log_level = MCP_LOG_INFO;
	s->watched = json_object();
	s->used = clock_now();
	if (with_id) {
		unsigned char raw[MCP_SESSION_ID / 2];
		hash_random(raw, sizeof raw);
		for (size_t i = 0; i < sizeof raw; i++)
			snprintf(s->id + 2 * i, 3, "%02x", raw[i]);
	}
	if (mcp_server_add_session(server, s) < 0) {
		mcp_session_unref(s);
		return NULL;
	}
	return s;
}

struct mcp_session *mcp_session_ref(struct mcp_session *s)
{
	int before = atomic_fetch_add(&s->refs, 1);
	assert(before > 0);
	(void)before;
	return s;
}

void mcp_session_unref(struct mcp_session *s)
{
	if (s == NULL || atomic_fetch_sub(&s->refs, 1) > 1)
		return;
	assert(s->ask_count == 0);  /* each held a call, and each call held the session */
	assert(s->kept_count == 0); /* each held the session */
	mcp_stream_unref(s->stream);
	json_decref(s->capabilities);
	json_decref(s->watched);
	free(s->asks);
	free(s->kept);
	lock_fini(&s->kept_lock);
	lock_fini(&s->lock);
	free(s);
}

void mcp_session_end(struct mcp_session *s)
{
	lock_take(&s->lock);
	s->ended = 1;
	lock_release(&s->lock);
	mcp_session_set_stream(s, NULL);
	for (;;) {
		lock_take(&s->kept_lock);
		struct mcp_stream *kept = s->kept_count > 0 ? s->kept[--s->kept_count] : NULL;
		lock_release(&s->kept_lock);
		if (kept == NULL)
			return;
		kept->ops->close(kept, -1);
		mcp_stream_unref(kept);
	}
}

const char *mcp_session_revision(struct mcp_session *s)
{
	lock_take(&s->lock);
	const char *revision = s->revision;
	lock_release(&s->lock);
	return revision;
}

/* The call gets a copy: it may end on another thread than that of the session's next message. */
void mcp_session_describe(struct mcp_session *s, struct mcp_call *call)
{
	lock_take(&s->lock);
	s->used = clock_now();
	json_decref(call->capabilities);
	call->capabilities = json_deep_copy(s->capabilities);
	call->log_level = s->log_level;
	call->revision = s->revision;
	lock_release(&s->lock);
}

void mcp_session_set_stream(struct mcp_session *s, struct mcp_stream *stream)
{
	lock_take(&s->lock);
	struct mcp_stream *old = s->stream;
	s->stream = stream ? mcp_stream_ref(stream) : NULL;
	lock_release(&s->lock);
	mcp_stream_unref(old);
}

void mcp_session_notify(struct mcp_session *s, const char *uri, const char *text)
{
	lock_take(&s->lock);
	int wanted = s->revision && s->stream && !s->ended && (uri == NULL || json_object_get(s->watched, uri));
	struct mcp_stream *stream = wanted ? mcp_stream_ref(s->stream) : NULL;
	lock_release(&s->lock);
	if (stream) {
		struct mcp_outgoing m = { .text = text, .n = strlen(text) };
		stream->ops->send(stream, &m);
		mcp_stream_unref(stream);
	}
}

/* --- questions to the client ------------------------------------------------------------------------------------ */

const struct mcp_done *mcp_session_ask(struct mcp_call *call, json_t *take_requests, json_t *take_state)
{
	struct mcp_session *s = call->session;
	const char *key;
	json_t *request;
	json_decref(call->state);
	call->state = take_state;
	int empty = json_object_size(take_requests) == 0;
	if (empty || !mcp_call_wait_inputs(call, (int)json_object_size(take_requests))) {
		json_decref(take_requests);
		return mcp_call_fail(call, MCP_INTERNAL_ERROR, empty ? "this needs a client of revision " MCP_MODERN : "cancelled");
	}
	mcp_call_ref(call); /* an answer may end the call while its other questions are still being sent */
	json_object_foreach(take_requests, key, request)
	{
		lock_take(&s->lock); /* the question is noted before it is sent: the answer may come at once */
		struct mcp_session_ask *ask = MEM_PUSH(s->asks, s->ask_count);
		json_t *id = json_integer(ask->number = ++s->last_number);
		ask->call = mcp_call_ref(call);
		ask->key = mem_str(key);
		lock_release(&s->lock);
		char *text = mcp_jsonrpc_request(id, json_string_value(json_object_get(request, "method")),
						 json_object_get(request, "params"));
		mcp_call_send(call, text);
		free(text);
		json_decref(id);
	}
	const struct mcp_done *done = mcp_call_pending(call);
	mcp_call_unref(call);
	json_decref(take_requests);
	return done;
}

/* Takes out the question of that number, or any of a call, or any at all; its call is NULL when there is none. */
static struct mcp_session_ask take_ask(struct mcp_session *s, json_int_t number, const struct mcp_call *call)
{
	struct mcp_session_ask found = { .call = NULL };
	lock_take(&s->lock);
	for (size_t i = 0; i < s->ask_count && found.call == NULL; i++) {
		if ((number == 0 || s->asks[i].number == number) && (call == NULL || s->asks[i].call == call)) {
			found = s->asks[i];
			s->asks[i] = s->asks[--s->ask_count];
		}
	}
	lock_release(&s->lock);
	return found;
}

void mcp_session_answer(struct mcp_session *s, const struct mcp_jsonrpc *m)
{
	json_int_t number = json_integer_value(m->id);
	struct mcp_session_ask ask = { .call = NULL };
	if (number > 0)
		ask = take_ask(s, number, NULL);
	if (ask.call == NULL)
		return;
	/* An error is an answer too: the handler sees {"error": …} under the key and decides. It gets a copy, because it
	 * runs on another thread than the one that reads. */
	json_t *answer = m->result ? json_deep_copy(m->result) : json_pack("{s:o}", "error", json_deep_copy(m->error));
	if (mcp_call_take_input(ask.call, ask.key, answer))
		mcp_call_continue(ask.call);
	else
		mcp_call_unref(ask.call);
	free(ask.key);
}

void mcp_session_forget(struct mcp_session *s, const struct mcp_call *call)
{
	struct mcp_session_ask ask;
	while ((ask = take_ask(s, 0, call)).call != NULL) {
		free(ask.key);
		mcp_call_unref(ask.call);
	}
}

void mcp_session_cancel_asks(struct mcp_session *s)
{
	struct mcp_session_ask ask;
	while ((ask = take_ask(s, 0, NULL)).call != NULL) {
		mcp_call_cancel(ask.call, MCP_CANCEL_ENDED);
		free(ask.key);
		mcp_call_unref(ask.call);
	}
}
