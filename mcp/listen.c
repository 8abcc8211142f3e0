/* listen: who listens to what; see listen.h. mcp/server_notify.c tells; each listener's filter decides. Messages are
 * sent outside of the server's lock. */
#include "mcp/listen.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "mcp/server_inner.h"
#include "mcp/tasks.h"

/* One subscription: its call stays pending, and the filter is what was acknowledged. */
struct mcp_listener {
	struct mcp_call *call; /* held */
	json_t *filter;        /* owned */
};

/* --- the filter ------------------------------------------------------------------------------------------------- */

static void honour_flag(json_t *honoured, const json_t *wanted, const char *key, int offered)
{
	if (offered && json_is_true(json_object_get(wanted, key)))
		json_object_set_new(honoured, key, json_true());
}

static void honour_list(json_t *honoured, const json_t *wanted, const char *key)
{
	const json_t *list = json_object_get(wanted, key);
	json_t *kept = json_array(), *item;
	size_t i;
	json_array_foreach(list, i, item)
	{
		if (json_is_string(item))
			json_array_append(kept, item);
	}
	if (json_array_size(kept) > 0)
		json_object_set(honoured, key, kept);
	json_decref(kept);
}

/* Task ids that exist; the others are left out of the acknowledgement. */
static void honour_tasks(struct mcp_server *server, json_t *honoured, const json_t *wanted)
{
	json_t *kept = json_array(), *item;
	size_t i;
	json_array_foreach(json_object_get(wanted, "taskIds"), i, item)
	{
		struct err e = ERR_INIT;
		json_t *task;
		if (json_is_string(item) && mcp_tasks_read(server, json_string_value(item), &task, &e) == 0) {
			json_decref(task);
			json_array_append(kept, item);
		}
	}
	if (json_array_size(kept) > 0)
		json_object_set(honoured, "taskIds", kept);
	json_decref(kept);
}

static json_t *honour(struct mcp_call *call, const json_t *wanted)
{
	const struct mcp_server *s = call->server;
	json_t *honoured = json_object();
	honour_flag(honoured, wanted, "toolsListChanged", s->config.list_changed && s->config.tools);
	honour_flag(honoured, wanted, "promptsListChanged", s->config.list_changed && s->config.prompts);
	int resources = mcp_methods_offered(s, MCP_OFFER_RESOURCES);
	honour_flag(honoured, wanted, "resourcesListChanged", s->config.list_changed && resources);
	if (resources)
		honour_list(honoured, wanted, "resourceSubscriptions");
	if (s->config.tasks)
		honour_tasks(call->server, honoured, wanted);
	return honoured;
}

/* --- listeners -------------------------------------------------------------------------------------------------- */

static void listener_free(struct mcp_listener *l)
{
	json_decref(l->filter);
	mcp_call_unref(l->call);
	free(l);
}

/* Takes out the listener of a call, or any of a session, or any at all; NULL when there is none (any more). */
static struct mcp_listener *take(struct mcp_server *server, const struct mcp_call *call,
				 const struct mcp_session *session)
{
	struct mcp_listener *found = NULL;
	lock_take(&server->lock);
	for (size_t i = 0; i < server->listener_count && !found; i++) {
		const struct mcp_call *its = server->listeners[i]->call;
		if ((call == NULL || its == call) && (session == NULL || its->session == session)) {
			found = server->listeners[i];
			server->listeners[i] = server->listeners[--server->listener_count];
		}
	}
	lock_release(&server->lock);
	return found;
}

/* The client ended it: the call needs an answer to be over, which nobody will see. */
static void cancelled(void *arg)
{
	struct mcp_call *call = arg;
	struct mcp_listener *l = take(call->server, call, NULL);
	if (l)
		mcp_server_continue(call->server,
				    mcp_call_ref(call)); /* answers on another thread: see mcp_call_on_cancel */
	if (l)
		listener_free(l);
}

/* The end of a subscription: a result that carries its id. */
static const struct mcp_done *end(struct mcp_call *call)
{
	return mcp_call_answer(call,
			       json_pack("{s:{s:O}}", "_meta", "io.modelcontextprotocol/subscriptionId", call->id));
}

static void send_tagged(struct mcp_call *call, const char *method, const json_t *params)
{
	json_t *tagged = params ? json_copy(MCP_JSON(params)) : json_object();
	json_object_set_new(tagged, "_meta", json_pack("{s:O}", "io.modelcontextprotocol/subscriptionId", call->id));
	struct buf b = BUF_INIT;
	mcp_jsonrpc_add_notification(&b, method, tagged);
	mcp_call_send(call, buf_text(&b), b.len);
	buf_fini(&b);
	json_decref(tagged);
}

static const struct mcp_done *start(struct mcp_call *call)
{
	const json_t *wanted = call->members[MCP_PARAM_NOTIFICATIONS];
	json_t *filter = honour(call, wanted);
	json_t *params = json_pack("{s:O}", "notifications", filter);
	struct mcp_listener *l = MEM_NEW(struct mcp_listener);
	l->call = mcp_call_ref(call);
	l->filter = filter;
	call->handler = end;
	/* Under the server's lock nothing can be told to listeners: what happens before the acknowledgement is not
	 * told, what happens after it is. */
	lock_take(&call->server->lock);
	*MEM_PUSH(call->server->listeners, call->server->listener_count) = l;
	send_tagged(call, "notifications/subscriptions/acknowledged", params);
	lock_release(&call->server->lock);
	json_decref(params);
	mcp_call_on_cancel(call, cancelled, call);
	if (call->server->config.listened)
		call->server->config.listened(call->server->config.user);
	return mcp_call_pending(call);
}

const struct mcp_done *mcp_listen_start(struct mcp_call *call)
{
	const json_t *wanted = call->members[MCP_PARAM_NOTIFICATIONS];
	if (!json_is_object(wanted))
		return mcp_call_fail(
			call, MCP_INVALID_PARAMS,
			"subscriptions/listen needs params.notifications, an object that says what to send");
	if (json_object_get(wanted, "taskIds") && !mcp_call_client_has_tasks(call))
		return mcp_call_need_tasks(call);
	return mcp_methods_run_later(call, start);
}

static void end_some(struct mcp_server *server, const struct mcp_session *session)
{
	struct mcp_listener *l;
	while ((l = take(server, NULL, session)) != NULL) {
		mcp_call_was_pending(end(l->call));
		listener_free(l);
	}
}

void mcp_listen_end_all(struct mcp_server *server)
{
	end_some(server, NULL);
}

void mcp_listen_end_session(struct mcp_server *server, const struct mcp_session *session)
{
	end_some(server, session);
}

/* --- notifications ---------------------------------------------------------------------------------------------- */

/* Whether a filter wants this: a flag, or a list that contains the value. */
static int wants(const json_t *filter, const char *key, const char *value)
{
	const json_t *f = json_object_get(filter, key);
	size_t i;
	json_t *item;
	if (value == NULL)
		return json_is_true(f);
	json_array_foreach(f, i, item)
	{
		if (strcmp(json_string_value(item), value) == 0)
			return 1;
	}
	return 0;
}

void mcp_listen_collect(struct mcp_server *server, const char *key, json_t *array)
{
	lock_take(&server->lock);
	for (size_t i = 0; i < server->listener_count; i++)
		json_array_extend(array, json_object_get(server->listeners[i]->filter, key));
	lock_release(&server->lock);
}

void mcp_listen_tell(struct mcp_server *s, const char *key, const char *value, const char *method, const json_t *params)
{
	struct mcp_call **calls = NULL;
	size_t count = 0;
	lock_take(&s->lock);
	for (size_t i = 0; i < s->listener_count; i++)
		if (wants(s->listeners[i]->filter, key, value))
			*MEM_PUSH(calls, count) = mcp_call_ref(s->listeners[i]->call);
	lock_release(&s->lock);
	for (size_t i = 0; i < count; i++) {
		send_tagged(calls[i], method, params);
		mcp_call_unref(calls[i]);
	}
	free(calls);
}
