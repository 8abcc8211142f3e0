/* session: memory between messages; see session.h. Legacy methods (mcp/legacy.c) and transports call it. */
#include "mcp/session.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

struct mcp_session *mcp_session_new(struct mcp_server *server, struct mcp_stream *stream, int with_id)
{
	struct mcp_session *s = MEM_NEW(struct mcp_session);
	atomic_init(&s->refs, 1);
	lock_init(&s->lock, LOCK_SESSION);
	s->server = server;
	s->stream = stream ? mcp_stream_ref(stream) : NULL;
	s->capabilities = json_object();
	s->client = mem_str("");
	s->log_level = MCP_LOG_INFO;
	s->watched = json_object();
	s->used = clock_now();
	if (with_id) {
		unsigned char raw[MCP_SESSION_ID / 2];
		hash_random(raw, sizeof raw);
		for (size_t i = 0; i < sizeof raw; i++)
			snprintf(s->id + 2 * i, 3, "%02x", raw[i]);
	}
	mcp_server_add_session(server, s);
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
	assert(s->ask_count == 0); /* each held a call, and each call held the session */
	if (s->transport_free)
		s->transport_free(s->transport);
	mcp_stream_unref(s->stream);
	json_decref(s->capabilities);
	json_decref(s->watched);
	free(s->client);
	free(s->asks);
	lock_fini(&s->lock);
	free(s);
}

void mcp_session_open(struct mcp_session *s, const char *revision, const json_t *capabilities, const char *client)
{
	lock_take(&s->lock);
	s->revision = revision;
	json_decref(s->capabilities);
	s->capabilities = json_is_object(capabilities) ? json_incref(MCP_JSON(capabilities)) : json_object();
	free(s->client);
	s->client = mem_str(client);
	lock_release(&s->lock);
}

const char *mcp_session_revision(struct mcp_session *s)
{
	lock_take(&s->lock);
	const char *revision = s->revision;
	lock_release(&s->lock);
	return revision;
}

void mcp_session_describe(struct mcp_session *s, struct mcp_call *call)
{
	lock_take(&s->lock);
	s->used = clock_now();
	json_decref(call->capabilities);
	call->capabilities = json_incref(s->capabilities);
	free(call->client);
	call->client = mem_str(s->client);
	call->log_level = s->log_level;
	call->revision = s->revision;
	lock_release(&s->lock);
}

void mcp_session_set_level(struct mcp_session *s, int level)
{
	lock_take(&s->lock);
	s->log_level = level;
	lock_release(&s->lock);
}

void mcp_session_watch(struct mcp_session *s, const char *uri, int on)
{
	lock_take(&s->lock);
	if (on)
		json_object_set_new(s->watched, uri, json_true());
	else
		json_object_del(s->watched, uri);
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

void mcp_session_watched(struct mcp_session *s, json_t *array)
{
	const char *uri;
	json_t *value;
	lock_take(&s->lock);
	json_object_foreach(s->watched, uri, value)
	{
		json_array_append_new(array, json_string(uri));
	}
	lock_release(&s->lock);
}

void mcp_session_notify(struct mcp_session *s, const char *uri, const char *text, size_t n)
{
	lock_take(&s->lock);
	int wanted = s->revision && s->stream && !s->ended && (uri == NULL || json_object_get(s->watched, uri));
	struct mcp_stream *stream = wanted ? mcp_stream_ref(s->stream) : NULL;
	lock_release(&s->lock);
	if (stream) {
		struct mcp_outgoing m = { .text = text, .n = n };
		mcp_stream_send(stream, &m);
		mcp_stream_unref(stream);
	}
}

/* --- questions to the client ------------------------------------------------------------------------------------ */

/* Writes down the question before it is sent, since the answer may be here at once. Returns its id. */
static long ask_add(struct mcp_session *s, struct mcp_call *call, const char *key)
{
	lock_take(&s->lock);
	struct mcp_session_ask *ask = MEM_PUSH(s->asks, s->ask_count);
	long number = ask->number = ++s->last_number;
	ask->call = mcp_call_ref(call);
	ask->key = mem_str(key);
	lock_release(&s->lock);
	return number;
}

const struct mcp_done *mcp_session_ask(struct mcp_session *s, struct mcp_call *call, json_t *take_requests)
{
	const char *key;
	json_t *request;
	if (!mcp_call_wait_inputs(call, (int)json_object_size(take_requests))) {
		json_decref(take_requests);
		return mcp_call_fail(call, MCP_INTERNAL_ERROR, "cancelled");
	}
	mcp_call_ref(call); /* an answer may end the call while its other questions are still being sent */
	json_object_foreach(take_requests, key, request)
	{
		json_t *id = json_integer(ask_add(s, call, key));
		struct buf b = BUF_INIT;
		mcp_jsonrpc_add_request(&b, id, json_string_value(json_object_get(request, "method")),
					json_object_get(request, "params"));
		mcp_call_send(call, buf_text(&b), b.len);
		buf_fini(&b);
		json_decref(id);
	}
	const struct mcp_done *done = mcp_call_done(call);
	mcp_call_unref(call);
	json_decref(take_requests);
	return done;
}

/* Takes the question of that id out of the session; call is NULL when there is none. */
static struct mcp_session_ask ask_take(struct mcp_session *s, json_int_t number)
{
	struct mcp_session_ask found = { .call = NULL };
	lock_take(&s->lock);
	for (size_t i = 0; i < s->ask_count; i++) {
		if (s->asks[i].number == number) {
			found = s->asks[i];
			s->asks[i] = s->asks[--s->ask_count];
			break;
		}
	}
	lock_release(&s->lock);
	return found;
}

void mcp_session_answer(struct mcp_session *s, struct mcp_jsonrpc *m)
{
	if (!json_is_integer(m->id))
		return;
	struct mcp_session_ask ask = ask_take(s, json_integer_value(m->id));
	if (ask.call == NULL)
		return;
	/* An error is an answer too: the handler sees {"error": …} under the key and decides. Taken out of the message,
	 * because the handler is on another thread. */
	json_t *answer = m->result ? m->members[MCP_RESULT] : json_pack("{s:o}", "error", m->members[MCP_ERROR]);
	m->members[MCP_RESULT] = m->members[MCP_ERROR] = NULL;
	if (mcp_call_take_input(ask.call, ask.key, answer))
		mcp_server_continue(s->server, ask.call);
	else
		mcp_call_unref(ask.call);
	free(ask.key);
}

void mcp_session_forget(struct mcp_session *s, const struct mcp_call *call)
{
	for (;;) {
		struct mcp_session_ask ask = { .call = NULL };
		lock_take(&s->lock);
		for (size_t i = 0; i < s->ask_count && ask.call == NULL; i++) {
			if (s->asks[i].call == call) {
				ask = s->asks[i];
				s->asks[i] = s->asks[--s->ask_count];
			}
		}
		lock_release(&s->lock);
		if (ask.call == NULL)
			return;
		free(ask.key);
		mcp_call_unref(ask.call);
	}
}

void mcp_session_cancel_asks(struct mcp_session *s)
{
	for (;;) {
		lock_take(&s->lock);
		struct mcp_call *call = s->ask_count > 0 ? mcp_call_ref(s->asks[0].call) : NULL;
		lock_release(&s->lock);
		if (call == NULL)
			return;
		mcp_call_cancel(call);
		mcp_session_forget(s, call); /* also when it was cancelled before */
		mcp_call_unref(call);
	}
}
