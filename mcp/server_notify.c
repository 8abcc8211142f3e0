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

static void tell_sessions(struct mcp_server *s, const char *uri, const char *method, const json_t *params)
{
	struct mcp_session **sessions = NULL;
	size_t count = 0;
	lock_take(&s->lock);
	for (size_t i = 0; i < s->session_count; i++)
		*MEM_PUSH(sessions, count) = mcp_session_ref(s->sessions[i]);
	lock_release(&s->lock);
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
