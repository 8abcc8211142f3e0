/* server_notify: the notifications of mcp/server.h: to those who listen (2026-07-28) and to the sessions of earlier
 * revisions. Nothing here waits for a client. */
#include "mcp/server_notify.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "mcp/listen.h"
#include "mcp/server_inner.h"
#include "mcp/session.h"
#include "mcp/tasks.h"

/* All sessions, held; the array is the caller's. */
static struct mcp_session **hold_sessions(struct mcp_server *s, size_t *ret_count)
{
	struct mcp_session **sessions = NULL;
	size_t count = 0;
	lock_take(&s->lock);
	for (size_t i = 0; i < s->session_count; i++)
		*MEM_PUSH(sessions, count) = mcp_session_ref(s->sessions[i]);
	lock_release(&s->lock);
	*ret_count = count;
	return sessions;
}

static void tell_sessions(struct mcp_server *s, const char *uri, const char *method, const json_t *params)
{
	size_t count;
	struct mcp_session **sessions = hold_sessions(s, &count);
	struct buf b = BUF_INIT;
	mcp_jsonrpc_add_notification(&b, method, params);
	for (size_t i = 0; i < count; i++) {
		mcp_session_notify(sessions[i], uri, buf_text(&b), b.len);
		mcp_session_unref(sessions[i]);
	}
	buf_fini(&b);
	free(sessions);
}

static void changed(struct mcp_server *server, const char *key, const char *method)
{
	mcp_listen_tell(server, key, NULL, method, NULL);
	tell_sessions(server, NULL, method, NULL);
}

void mcp_server_tools_changed(struct mcp_server *server)
{
	changed(server, "toolsListChanged", "notifications/tools/list_changed");
}

void mcp_server_prompts_changed(struct mcp_server *server)
{
	changed(server, "promptsListChanged", "notifications/prompts/list_changed");
}

void mcp_server_resources_changed(struct mcp_server *server)
{
	changed(server, "resourcesListChanged", "notifications/resources/list_changed");
}

void mcp_server_resource_updated(struct mcp_server *server, const char *uri)
{
	json_t *params = json_pack("{s:s}", "uri", uri);
	mcp_listen_tell(server, "resourceSubscriptions", uri, "notifications/resources/updated", params);
	tell_sessions(server, uri, "notifications/resources/updated", params);
	json_decref(params);
}

void mcp_server_task_updated(struct mcp_server *server, const char *task_id)
{
	struct err e = ERR_INIT;
	json_t *task;
	if (server->config.tasks && mcp_tasks_read(server, task_id, &task, &e) == 0) {
		mcp_listen_tell(server, "taskIds", task_id, "notifications/tasks", task);
		json_decref(task);
	}
}

void mcp_server_watched(struct mcp_server *server, void (*each)(void *arg, const char *task_id, const char *uri),
			void *arg)
{
	json_t *tasks = json_array(), *uris = json_array(), *item;
	size_t i, count;
	mcp_listen_collect(server, "taskIds", tasks);
	mcp_listen_collect(server, "resourceSubscriptions", uris);
	struct mcp_session **sessions = hold_sessions(server, &count);
	for (i = 0; i < count; i++) {
		mcp_session_watched(sessions[i], uris);
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
