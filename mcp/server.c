/* server: configuration, the way of a message from a transport to its era, and what lives: calls, sessions; see
 * server.h for owners and server_inner.h for mcp/. Notifications are in mcp/server_notify.c. */
#include "mcp/server.h"
#include "mcp/server_inner.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "mcp/legacy.h"
#include "mcp/listen.h"
#include "mcp/methods.h"
#include "mcp/modern.h"
#include "mcp/pool.h"
#include "mcp/session.h"
#include "mcp/tools.h"

static void set_default(int *value, int otherwise)
{
	if (*value <= 0)
		*value = otherwise;
}

static void set_defaults(struct mcp_server_config *c)
{
	set_default(&c->threads, 8);
	set_default(&c->max_queued, 256);
	set_default(&c->max_calls, 1024);
	set_default(&c->max_depth, 64);
	set_default(&c->list_ttl_ms, 60 * 1000);
	set_default(&c->max_sessions, 256);
	if (c->max_message == 0)
		c->max_message = (size_t)8 << 20;
	if (c->page == 0)
		c->page = 100;
}

static int check_prompts(const struct mcp_server_config *c, struct err *e)
{
	for (const struct mcp_prompt *p = c->prompts; p && p->name; p++)
		if (p->get == NULL || mcp_registry_prompt(c->prompts, p->name) != p)
			return err_set(e, ERR_INPUT, "prompt \"%s\" has no handler, or is in the table twice", p->name);
	for (const struct mcp_resource *r = c->resources; r && r->uri; r++)
		if (r->read == NULL || r->name == NULL)
			return err_set(e, ERR_INPUT, "resource \"%s\" has no handler or no name", r->uri);
	for (const struct mcp_template *t = c->templates; t && t->uri_template; t++)
		if (t->read == NULL || t->name == NULL)
			return err_set(e, ERR_INPUT, "template \"%s\" has no handler or no name", t->uri_template);
	return 0;
}

int mcp_server_new(const struct mcp_server_config *config, struct mcp_server **ret_server, struct err *e)
{
	assert(config->name && config->version);
	struct mcp_server *s = MEM_NEW(struct mcp_server);
	s->config = *config;
	set_defaults(&s->config);
	lock_init(&s->lock, LOCK_REGISTRY);
	hash_random(s->secret, sizeof s->secret);
	s->info =
		json_pack("{s:s, s:s*, s:s}", "name", config->name, "title", config->title, "version", config->version);
	s->nothing = json_object();
	s->manners = mcp_modern_manners(s);
	int rc = mcp_tools_compile(s, e);
	if (rc == 0)
		rc = check_prompts(&s->config, e);
	if (rc < 0) {
		mcp_server_free(s);
		return rc;
	}
	s->pool = mcp_pool_new(s->config.threads, s->config.max_queued);
	*ret_server = s;
	return 0;
}

/* Some call that is not over, held; NULL when there is none. session NULL: of any. */
static struct mcp_call *some_call(struct mcp_server *s, const struct mcp_session *session,
				  int (*match)(const struct mcp_call *call, const void *arg), const void *arg)
{
	struct mcp_call *found = NULL;
	lock_take(&s->lock);
	for (struct mcp_call *c = s->calls; c && !found; c = c->next)
		if ((session == NULL || c->session == session) && (match == NULL || match(c, arg)) &&
		    mcp_call_try_ref(c))
			found = c;
	lock_release(&s->lock);
	return found;
}

static int not_cancelled(const struct mcp_call *call, const void *arg)
{
	(void)arg;
	return !call->cancel_seen;
}

/* Cancels every call of the session (NULL: all). */
static void cancel_all(struct mcp_server *s, const struct mcp_session *session)
{
	struct mcp_call *c;
	while ((c = some_call(s, session, not_cancelled, NULL)) != NULL) {
		c->cancel_seen = 1;
		mcp_call_cancel(c);
		mcp_call_unref(c);
	}
}

void mcp_server_free(struct mcp_server *server)
{
	if (server == NULL)
		return;
	mcp_listen_end_all(server);
	cancel_all(server, NULL);
	mcp_pool_free(server->pool);
	while (server->session_count > 0)
		mcp_server_end_session(server, server->sessions[0]);
	assert(server->calls == NULL); /* pending calls must be answered by their owner before */
	mcp_tools_free(server);
	json_decref(server->info);
	free(server->manners);
	json_decref(server->nothing);
	free(server->sessions);
	free(server->listeners);
	lock_fini(&server->lock);
	free(server);
}

/* --- calls ------------------------------------------------------------------------------------------------------ */

void mcp_server_add_call(struct mcp_server *server, struct mcp_call *call)
{
	atomic_fetch_add(&server->requests, 1);
	lock_take(&server->lock);
	call->next = server->calls;
	if (call->next)
		call->next->prev = call;
	server->calls = call;
	atomic_fetch_add(&server->running, 1);
	lock_release(&server->lock);
}

void mcp_server_remove_call(struct mcp_server *server, struct mcp_call *call)
{
	lock_take(&server->lock);
	if (call->prev)
		call->prev->next = call->next;
	else
		server->calls = call->next;
	if (call->next)
		call->next->prev = call->prev;
	atomic_fetch_sub(&server->running, 1);
	lock_release(&server->lock);
}

static int has_id(const struct mcp_call *call, const void *id)
{
	return json_equal(call->id, id);
}

void mcp_server_cancel_id(struct mcp_server *server, const struct mcp_session *session, const json_t *id)
{
	struct mcp_call *call = some_call(server, session, has_id, id);
	if (call && strcmp(call->method, "initialize") != 0)
		mcp_call_cancel(call);
	mcp_call_unref(call);
}

unsigned long mcp_server_running(struct mcp_server *server, const struct mcp_session *session)
{
	unsigned long n = 0;
	lock_take(&server->lock);
	for (const struct mcp_call *c = server->calls; c; c = c->next)
		n += c->session == session;
	lock_release(&server->lock);
	return n;
}

const struct mcp_done *mcp_server_refuse_full(struct mcp_call *call)
{
	return mcp_call_answer_full(call, "the server is busy: too many requests at once; try again in a second");
}

int mcp_server_is_full(struct mcp_server *server)
{
	return atomic_load(&server->running) > (unsigned long)server->config.max_calls;
}

void mcp_server_dispatch(struct mcp_server *server, struct mcp_call *take_call)
{
	if (mcp_pool_add(server->pool, mcp_call_run, take_call) < 0) {
		mcp_call_was_pending(mcp_server_refuse_full(take_call));
		mcp_call_unref(take_call);
	}
}

void mcp_server_continue(struct mcp_server *server, struct mcp_call *take_call)
{
	mcp_pool_again(server->pool, mcp_call_run, take_call);
}

/* --- sessions --------------------------------------------------------------------------------------------------- */

void mcp_server_end_session(struct mcp_server *server, struct mcp_session *session)
{
	int found = 0;
	lock_take(&server->lock);
	for (size_t i = 0; i < server->session_count && !found; i++) {
		if (server->sessions[i] == session) {
			server->sessions[i] = server->sessions[--server->session_count];
			found = 1;
		}
	}
	lock_release(&server->lock);
	if (!found)
		return;
	cancel_all(server, session);
	lock_take(&session->lock);
	session->ended = 1;
	lock_release(&session->lock);
	mcp_session_set_stream(session, NULL);
	mcp_session_unref(session);
}

/* The HTTP session that was quiet for the longest and has nothing running, held; NULL when there is none. */
static struct mcp_session *idlest_locked(struct mcp_server *server)
{
	struct mcp_session *idlest = NULL;
	for (size_t i = 0; i < server->session_count; i++) {
		struct mcp_session *s = server->sessions[i];
		if (s->id[0] && (idlest == NULL || atomic_load(&s->used) < atomic_load(&idlest->used)))
			idlest = s;
	}
	return idlest ? mcp_session_ref(idlest) : NULL;
}

void mcp_server_add_session(struct mcp_server *server, struct mcp_session *session)
{
	struct mcp_session *old = NULL;
	lock_take(&server->lock);
	if (server->session_count >= (size_t)server->config.max_sessions)
		old = idlest_locked(server);
	*MEM_PUSH(server->sessions, server->session_count) = mcp_session_ref(session);
	lock_release(&server->lock);
	if (old) {
		mcp_server_end_session(server, old);
		mcp_session_unref(old);
	}
}

struct mcp_session *mcp_server_session(struct mcp_server *server, const char *id)
{
	struct mcp_session *found = NULL;
	lock_take(&server->lock);
	for (size_t i = 0; i < server->session_count && !found; i++)
		if (server->sessions[i]->id[0] && strcmp(server->sessions[i]->id, id) == 0)
			found = mcp_session_ref(server->sessions[i]);
	lock_release(&server->lock);
	return found;
}

/* --- messages --------------------------------------------------------------------------------------------------- */

static void notification(struct mcp_server *server, const struct mcp_arrival *a, const struct mcp_jsonrpc *m)
{
	if (a->session && strcmp(m->method, "notifications/cancelled") == 0) {
		const json_t *id = m->members[MCP_PARAM_REQUEST_ID];
		if (id)
			mcp_server_cancel_id(server, a->session, id);
	}
	/* notifications/initialized, roots/list_changed and whatever else may come need nothing */
}

/* A message that is not acceptable: answered when it has an id, or nothing else could be an answer to it. */
static void refuse(struct mcp_server *server, const struct mcp_arrival *a, const struct mcp_jsonrpc *m, int code,
		   const struct err *why)
{
	mcp_server_count_error(server);
	struct buf b = BUF_INIT;
	mcp_jsonrpc_add_error(&b, m->id, code, why->text, NULL);
	struct mcp_outgoing o = { .text = buf_text(&b), .n = b.len, .final = 1, .status = 400 };
	mcp_stream_send(a->stream, &o);
	buf_fini(&b);
}

void mcp_server_receive(struct mcp_server *server, const struct mcp_arrival *a, struct mcp_receipt *ret_receipt)
{
	struct mcp_jsonrpc m;
	struct err e;
	err_init(&e);
	int code;
	memset(ret_receipt, 0, sizeof *ret_receipt);
	if (mcp_jsonrpc_parse(a->text, a->n, server->config.max_depth, a->memory, &m, &code, &e) < 0) {
		refuse(server, a, &m, code, &e);
	} else if (m.kind == MCP_NOTIFICATION) {
		ret_receipt->status = 202;
		notification(server, a, &m);
	} else if (m.kind == MCP_RESPONSE) {
		ret_receipt->status = 202;
		if (a->session)
			mcp_session_answer(a->session, &m);
	} else if (mcp_modern_is(&m, a->headers)) {
		mcp_modern_request(server, a, &m, ret_receipt);
	} else {
		mcp_legacy_request(server, a, &m, ret_receipt);
	}
	mcp_jsonrpc_fini(&m);
}

/* --- small facts ------------------------------------------------------------------------------------------------ */

void mcp_server_count_error(struct mcp_server *server)
{
	atomic_fetch_add(&server->errors, 1);
}

void mcp_server_count_cancelled(struct mcp_server *server)
{
	atomic_fetch_add(&server->cancelled, 1);
}

struct mcp_server_stats mcp_server_stats(struct mcp_server *server)
{
	struct mcp_server_stats st = { .requests = atomic_load(&server->requests),
				       .errors = atomic_load(&server->errors),
				       .cancelled = atomic_load(&server->cancelled) };
	lock_take(&server->lock);
	st.running = atomic_load(&server->running);
	for (size_t i = 0; i < server->session_count; i++)
		st.sessions += server->sessions[i]->id[0] != '\0';
	lock_release(&server->lock);
	return st;
}

json_t *mcp_server_capabilities(const struct mcp_server *server, int modern)
{
	const struct mcp_server_config *c = &server->config;
	json_t *all = json_object();
	if (c->tools)
		json_object_set_new(all, "tools", json_pack("{s:b}", "listChanged", c->list_changed));
	if (mcp_methods_offered(server, MCP_OFFER_RESOURCES))
		json_object_set_new(all, "resources",
				    json_pack("{s:b, s:b}", "subscribe", 1, "listChanged", c->list_changed));
	if (c->prompts)
		json_object_set_new(all, "prompts", json_pack("{s:b}", "listChanged", c->list_changed));
	if (c->complete)
		json_object_set_new(all, "completions", json_object());
	if (c->logging)
		json_object_set_new(all, "logging", json_object());
	if (c->tasks && modern)
		json_object_set_new(all, "extensions", json_pack("{s:{}}", MCP_TASKS_EXTENSION));
	return all;
}

json_t *mcp_server_number(double value)
{
	if (fabs(value) < 9007199254740992.0 && floor(value) == value)
		return json_integer((json_int_t)value);
	return json_real(value);
}

static const char *const LEVELS[] = { "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency" };

const char *mcp_server_level_name(enum mcp_log_level level)
{
	return LEVELS[level];
}

int mcp_server_level_parse(const char *name)
{
	for (size_t i = 0; i < MEM_COUNT(LEVELS); i++)
		if (strcmp(name, LEVELS[i]) == 0)
			return (int)i;
	return -1;
}
