/* server_subscriptions: who is told what: subscriptions/listen of 2026-07-28, and the sessions of earlier revisions. The
 * owner's notifications of server.h end here. Nothing waits for a client, and nothing is sent under the server's lock but
 * acknowledgements. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/inner.h"
#include "mcp/server.h"

/* One subscription: its call stays pending, and the filter is what was acknowledged. */
struct mcp_subscription {
	struct mcp_call *call; /* held */
	json_t *filter;        /* owned */
};

/* --- listening -------------------------------------------------------------------------------------------------- */

static void honour_flag(json_t *honoured, const json_t *wanted, const char *key, int offered)
{
	if (offered && json_is_true(json_object_get(wanted, key)))
		json_object_set_new(honoured, key, json_true());
}

/* The strings of a list; of task ids only those that exist. */
static void honour_list(struct mcp_server *server, json_t *honoured, const json_t *wanted, const char *key, int tasks)
{
	json_t *kept = json_array(), *item, *task;
	size_t i;
	json_array_foreach(json_object_get(wanted, key), i, item)
	{
		struct err e = ERR_INIT;
		if (!json_is_string(item))
			continue;
		if (tasks && mcp_methods_tasks_read(server, json_string_value(item), &task, &e) < 0)
			continue;
		if (tasks)
			json_decref(task);
		json_array_append(kept, item);
	}
	if (json_array_size(kept) > 0)
		json_object_set(honoured, key, kept);
	json_decref(kept);
}

static void subscription_free(struct mcp_subscription *s)
{
	json_decref(s->filter);
	mcp_call_unref(s->call);
	free(s);
}

/* Takes out the subscription of a call, or any of a session, or any at all; NULL when there is none (any more). */
static struct mcp_subscription *take(struct mcp_server *server, const struct mcp_call *call, const struct mcp_session *session)
{
	struct mcp_subscription *found = NULL;
	lock_take(&server->lock);
	for (size_t i = 0; i < server->subscription_count && !found; i++) {
		const struct mcp_call *its = server->subscriptions[i]->call;
		if ((call == NULL || its == call) && (session == NULL || its->session == session)) {
			found = server->subscriptions[i];
			server->subscriptions[i] = server->subscriptions[--server->subscription_count];
		}
	}
	lock_release(&server->lock);
	return found;
}

/* The client ended it. The call still needs an answer to be over; a cancel callback must not give it, so the pool does. */
static void cancelled(void *arg)
{
	struct mcp_call *call = arg;
	struct mcp_subscription *s = take(call->server, call, NULL);
	if (s == NULL)
		return;
	mcp_call_continue(mcp_call_ref(call));
	subscription_free(s);
}

/* The end of a subscription: a result that carries its id. */
static const struct mcp_done *end(struct mcp_call *call)
{
	return mcp_call_answer(call, json_pack("{s:{s:O}}", "_meta", MCP_META "subscriptionId", call->message.id));
}

static void send_tagged(struct mcp_call *call, const char *method, const json_t *params)
{
	json_t *tagged = params ? json_copy(MCP_JSON(params)) : json_object();
	json_object_set_new(tagged, "_meta", json_pack("{s:O}", MCP_META "subscriptionId", call->message.id));
	char *text = mcp_jsonrpc_notification(method, tagged);
	mcp_call_send(call, text);
	free(text);
	json_decref(tagged);
}

static const struct mcp_done *start(struct mcp_call *call)
{
	struct mcp_server *s = call->server;
	const struct mcp_server_config *c = &s->config;
	const json_t *wanted = json_object_get(call->message.params, "notifications");
	json_t *filter = json_object();
	honour_flag(filter, wanted, "toolsListChanged", c->list_changed && c->tools);
	honour_flag(filter, wanted, "promptsListChanged", c->list_changed && c->prompts);
	honour_flag(filter, wanted, "resourcesListChanged", c->list_changed && mcp_server_has_resources(s));
	if (mcp_server_has_resources(s))
		honour_list(s, filter, wanted, "resourceSubscriptions", 0);
	if (c->tasks)
		honour_list(s, filter, wanted, "taskIds", 1);

	json_t *params = json_pack("{s:O}", "notifications", filter);
	struct mcp_subscription *subscription = MEM_NEW(struct mcp_subscription);
	subscription->call = mcp_call_ref(call);
	subscription->filter = filter;
	call->handler = end;
	/* Under the server's lock nothing is told to subscribers: what happens before the acknowledgement is not told,
	 * what happens after it is. */
	lock_take(&s->lock);
	*MEM_PUSH(s->subscriptions, s->subscription_count) = subscription;
	send_tagged(call, "notifications/subscriptions/acknowledged", params);
	lock_release(&s->lock);
	json_decref(params);
	mcp_call_on_cancel(call, cancelled, call);
	if (c->listened)
		c->listened(c->user);
	return mcp_call_pending(call);
}

const struct mcp_done *mcp_server_listen(struct mcp_call *call)
{
	const json_t *wanted = json_object_get(call->message.params, "notifications");
	if (!json_is_object(wanted))
		return mcp_call_fail(call, MCP_INVALID_PARAMS,
				     "subscriptions/listen needs params.notifications, an object that says what to send");
	if (json_object_get(wanted, "taskIds") && !mcp_call_client_has_tasks(call))
		return mcp_call_need_tasks(call);
	return mcp_call_run_later(call, start);
}

void mcp_server_end_subscriptions(struct mcp_server *server, const struct mcp_session *session)
{
	struct mcp_subscription *s;
	while ((s = take(server, NULL, session)) != NULL) {
		mcp_call_was_pending(end(s->call));
		subscription_free(s);
	}
}

/* --- telling ---------------------------------------------------------------------------------------------------- */

/* Whether a filter wants this: value NULL: its flag is set; else its list has the value. */
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

static void tell_subscribers(struct mcp_server *s, const char *key, const char *value, const char *method, const json_t *params)
{
	struct mcp_call **calls = NULL;
	size_t count = 0;
	lock_take(&s->lock);
	for (size_t i = 0; i < s->subscription_count; i++)
		if (wants(s->subscriptions[i]->filter, key, value))
			*MEM_PUSH(calls, count) = mcp_call_ref(s->subscriptions[i]->call);
	lock_release(&s->lock);
	for (size_t i = 0; i < count; i++) {
		send_tagged(calls[i], method, params);
		mcp_call_unref(calls[i]);
	}
	free(calls);
}

/* uri NULL: all sessions, else those that watch it. */
static void tell_sessions(struct mcp_server *s, const char *uri, const char *method, const json_t *params)
{
	size_t count;
	struct mcp_session **sessions = mcp_server_sessions(s, &count);
	char *text = mcp_jsonrpc_notification(method, params);
	for (size_t i = 0; i < count; i++) {
		mcp_session_notify(sessions[i], uri, text);
		mcp_session_unref(sessions[i]);
	}
	free(text);
	free(sessions);
}

void mcp_server_list_changed(struct mcp_server *server, const char *what)
{
	char *key = mem_fmt("%sListChanged", what), *method = mem_fmt("notifications/%s/list_changed", what);
	tell_subscribers(server, key, NULL, method, NULL);
	tell_sessions(server, NULL, method, NULL);
	free(key);
	free(method);
}

void mcp_server_resource_updated(struct mcp_server *server, const char *uri)
{
	json_t *params = json_pack("{s:s}", "uri", uri);
	tell_subscribers(server, "resourceSubscriptions", uri, "notifications/resources/updated", params);
	tell_sessions(server, uri, "notifications/resources/updated", params);
	json_decref(params);
}

void mcp_server_task_updated(struct mcp_server *server, const char *task_id)
{
	struct err e = ERR_INIT;
	json_t *task;
	if (server->config.tasks && mcp_methods_tasks_read(server, task_id, &task, &e) == 0) {
		tell_subscribers(server, "taskIds", task_id, "notifications/tasks", task);
		json_decref(task);
	}
}

void mcp_server_watched(struct mcp_server *server, void (*each)(void *arg, const char *task_id, const char *uri), void *arg)
{
	json_t *tasks = json_array(), *uris = json_array(), *item;
	const char *uri;
	size_t i, count;
	lock_take(&server->lock);
	for (i = 0; i < server->subscription_count; i++) {
		const json_t *filter = server->subscriptions[i]->filter;
		json_array_extend(tasks, json_object_get(filter, "taskIds"));
		json_array_extend(uris, json_object_get(filter, "resourceSubscriptions"));
	}
	lock_release(&server->lock);
	struct mcp_session **sessions = mcp_server_sessions(server, &count);
	for (i = 0; i < count; i++) {
		lock_take(&sessions[i]->lock);
		json_object_foreach(sessions[i]->watched, uri, item)
		{
			json_array_append_new(uris, json_string(uri));
		}
		lock_release(&sessions[i]->lock);
		mcp_session_unref(sessions[i]);
	}
	free(sessions);
	json_array_foreach(tasks, i, item)
	{
		each(arg, json_string_value(item), NULL);
	}
	json_array_foreach(uris, i, item)
	{
		each(arg, NULL, json_string_value(item));
	}
	json_decref(tasks);
	json_decref(uris);
}
