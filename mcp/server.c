/* server: starting and ending a server, its live calls and sessions, and the way of a message to its era; see server.h
 * and inner.h. */
#include "mcp/server.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "mcp/inner.h"
#include "mcp/pool.h"

enum { QUEUED_MAX = 256 }; /* calls that wait for a thread; more are refused */

static void set_default(int *value, int otherwise)
{
	if (*value <= 0)
		*value = otherwise;
}

static int check_tables(const struct mcp_server_config *c, struct err *e)
{
	for (const struct mcp_prompt *p = c->prompts; p && p->name; p++)
		if (p->get == NULL || mcp_registry_find(c->prompts, sizeof(struct mcp_prompt), p->name) != p)
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
	struct mcp_server_config *c = &s->config;
	*c = *config;
	set_default(&c->threads, 8);
	set_default(&c->max_calls, 1024);
	set_default(&c->max_depth, 64);
	set_default(&c->max_sessions, 256);
	if (c->max_message == 0)
		c->max_message = (size_t)8 << 20;
	if (c->page == 0)
		c->page = 100;
	lock_init(&s->lock, LOCK_REGISTRY);
	hash_random(s->secret, sizeof s->secret);
	s->brief = json_pack("{s:s, s:s*, s:s}", "name", c->name, "title", c->title, "version", c->version);
	s->info = json_copy(s->brief);
	if (c->website)
		json_object_set_new(s->info, "websiteUrl", json_string(c->website));
	if (c->icon)
		json_object_set_new(s->info, "icons",
				    json_pack("[{s:s, s:s, s:[s]}]", "src", c->icon, "mimeType", "image/svg+xml", "sizes", "any"));
	int rc = mcp_methods_tools_prepare(s, e);
	if (rc == 0)
		rc = check_tables(c, e);
	if (rc < 0) {
		mcp_server_free(s);
		return rc;
	}
	s->pool = mcp_pool_new(c->threads, QUEUED_MAX);
	*ret_server = s;
	return 0;
}

/* Cancels every call of the session (NULL: all), each once. */
static void cancel_all(struct mcp_server *s, const struct mcp_session *session)
{
	struct mcp_call *call;
	do {
		lock_take(&s->lock);
		call = s->calls;
		while (call && ((session && call->session != session) || call->swept || !mcp_call_try_ref(call)))
			call = call->next;
		if (call)
			call->swept = 1;
		lock_release(&s->lock);
		if (call)
			mcp_call_cancel(call, MCP_CANCEL_ENDED);
		mcp_call_unref(call);
	} while (call);
}

void mcp_server_free(struct mcp_server *server)
{
	if (server == NULL)
		return;
	mcp_server_end_subscriptions(server, NULL);
	cancel_all(server, NULL);
	mcp_pool_free(server->pool);
	while (server->session_count > 0)
		mcp_server_end_session(server, server->sessions[0]);
	assert(server->calls == NULL); /* the owner must answer pending calls before */
	mcp_methods_tools_free(server);
	json_decref(server->info);
	json_decref(server->brief);
	free(server->sessions);
	free(server->subscriptions);
	lock_fini(&server->lock);
	free(server);
}

/* --- calls ------------------------------------------------------------------------------------------------------ */

void mcp_server_add_call(struct mcp_server *server, struct mcp_call *call)
{
	atomic_fetch_add(&server->requests, 1);
	atomic_fetch_add(&server->running, 1);
	lock_take(&server->lock);
	call->next = server->calls;
	if (call->next)
		call->next->prev = call;
	server->calls = call;
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
	lock_release(&server->lock);
	atomic_fetch_sub(&server->running, 1);
}

static unsigned long running_locked(const struct mcp_server *server, const struct mcp_session *session)
{
	unsigned long n = 0;
	for (const struct mcp_call *c = server->calls; c; c = c->next)
		n += c->session == session;
	return n;
}

unsigned long mcp_server_running(struct mcp_server *server, const struct mcp_session *session)
{
	lock_take(&server->lock);
	unsigned long n = running_locked(server, session);
	lock_release(&server->lock);
	return n;
}

int mcp_server_is_full(struct mcp_server *server)
{
	return atomic_load(&server->running) > (unsigned long)server->config.max_calls;
}

/* --- sessions --------------------------------------------------------------------------------------------------- */

/* A session with running calls or open streams is never evicted, so an eviction cancels nothing. */
int mcp_server_add_session(struct mcp_server *server, struct mcp_session *session)
{
	struct mcp_session *idlest = NULL;
	int over_http = 0, full = 0;
	lock_take(&server->lock);
	for (size_t i = 0; i < server->session_count; i++) {
		struct mcp_session *s = server->sessions[i];
		over_http += s->id[0] != '\0';
		int busy = s->id[0] == '\0' || atomic_load(&s->streams) > 0 || running_locked(server, s) > 0;
		if (!busy && (idlest == NULL || atomic_load(&s->used) < atomic_load(&idlest->used)))
			idlest = s;
	}
	if (session->id[0] == '\0' || over_http < server->config.max_sessions)
		idlest = NULL;
	else
		full = idlest == NULL;
	if (idlest)
		mcp_session_ref(idlest);
	if (!full)
		*MEM_PUSH(server->sessions, server->session_count) = mcp_session_ref(session);
	lock_release(&server->lock);
	if (idlest)
		mcp_server_end_session(server, idlest);
	mcp_session_unref(idlest);
	return full ? -1 : 0;
}

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
	mcp_session_end(session);
	mcp_session_unref(session);
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

struct mcp_session **mcp_server_sessions(struct mcp_server *server, size_t *ret_count)
{
	struct mcp_session **sessions = NULL;
	size_t count = 0;
	lock_take(&server->lock);
	for (size_t i = 0; i < server->session_count; i++)
		*MEM_PUSH(sessions, count) = mcp_session_ref(server->sessions[i]);
	lock_release(&server->lock);
	*ret_count = count;
	return sessions;
}

/* --- messages --------------------------------------------------------------------------------------------------- */

void mcp_server_refuse(struct mcp_server *server, struct mcp_stream *stream, const json_t *id, int status, int code,
		       const char *why)
{
	char *text = mcp_jsonrpc_error(id, code, why, NULL);
	struct mcp_outgoing o = { .text = text, .n = strlen(text), .final = 1, .status = status };
	atomic_fetch_add(&server->errors, 1);
	stream->ops->send(stream, &o);
	free(text);
}

void mcp_server_receive(struct mcp_server *server, const struct mcp_arrival *a, struct mcp_receipt *ret_receipt)
{
	struct mcp_jsonrpc m;
	struct err e;
	int code;
	err_init(&e);
	memset(ret_receipt, 0, sizeof *ret_receipt);
	if (mcp_jsonrpc_parse(a->text, a->n, server->config.max_depth, &m, &code, &e) < 0) {
		mcp_server_refuse(server, a->stream, m.id, 400, code, e.text);
	} else if (m.kind == MCP_NOTIFICATION) {
		ret_receipt->accepted = 1;
		const json_t *id = json_object_get(m.params, "requestId");
		if (a->session && id && strcmp(m.method, "notifications/cancelled") == 0) {
			/* The client does not want the answer to this request any more. `initialize` cannot be cancelled. */
			struct mcp_call *call;
			lock_take(&server->lock);
			call = server->calls;
			while (call &&
			       (call->session != a->session || !json_equal(call->message.id, id) || !mcp_call_try_ref(call)))
				call = call->next;
			lock_release(&server->lock);
			if (call && strcmp(call->message.method, "initialize") != 0)
				mcp_call_cancel(call, MCP_CANCEL_ASKED);
			mcp_call_unref(call);
		}
		/* notifications/initialized, roots/list_changed and whatever else may come need nothing */
	} else if (m.kind == MCP_RESPONSE) {
		ret_receipt->accepted = 1;
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

struct mcp_server_stats mcp_server_stats(struct mcp_server *server)
{
	struct mcp_server_stats stats = { .running = atomic_load(&server->running),
					  .requests = atomic_load(&server->requests),
					  .errors = atomic_load(&server->errors),
					  .cancelled = atomic_load(&server->cancelled) };
	lock_take(&server->lock);
	for (size_t i = 0; i < server->session_count; i++)
		stats.sessions += server->sessions[i]->id[0] != '\0';
	lock_release(&server->lock);
	return stats;
}

int mcp_server_has_resources(const struct mcp_server *server)
{
	const struct mcp_server_config *c = &server->config;
	return c->resources || c->templates || c->list_resources;
}

json_t *mcp_server_capabilities(const struct mcp_server *server, int modern)
{
	const struct mcp_server_config *c = &server->config;
	json_t *all = json_object();
	if (c->tools)
		json_object_set_new(all, "tools", json_pack("{s:b}", "listChanged", c->list_changed));
	if (mcp_server_has_resources(server))
		json_object_set_new(all, "resources", json_pack("{s:b, s:b}", "subscribe", 1, "listChanged", c->list_changed));
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
