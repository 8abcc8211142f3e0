/* methods_tasks: the extension io.modelcontextprotocol/tasks (SEP-2663) over the owner's durable jobs (struct
 * mcp_task_hooks); see inner.h. server_subscriptions.c reads tasks here for its notifications. */
#include "mcp/inner.h"

#include <string.h>

int mcp_methods_tasks_read(struct mcp_server *server, const char *id, json_t **ret_task, struct err *e)
{
	json_t *task = NULL;
	int rc = server->config.tasks->get(server->config.user, id, &task, e);
	if (rc < 0)
		return rc;
	json_object_set_new(task, "taskId", json_string(id));
	json_t *result = json_object_get(task, "result");
	if (result && json_object_get(result, "resultType") == NULL) /* it is a result like any other of this era */
		json_object_set_new(result, "resultType", json_string("complete"));
	*ret_task = task;
	return 0;
}

/* An unknown id is the client's mistake, the rest is ours. */
static const struct mcp_done *fail(struct mcp_call *call, const struct err *e)
{
	int code = e->code == ERR_NOT_FOUND || e->code == ERR_INPUT ? MCP_INVALID_PARAMS : MCP_INTERNAL_ERROR;
	return mcp_call_fail(call, code, "%s", e->text);
}

const struct mcp_done *mcp_methods_tasks_answer(struct mcp_call *call, const char *id)
{
	struct err e = ERR_INIT;
	json_t *task;
	if (!mcp_call_client_has_tasks(call))
		return mcp_call_need_tasks(call);
	if (mcp_methods_tasks_read(call->server, id, &task, &e) < 0)
		return fail(call, &e);
	/* A call is answered with the bare task; the payloads come with tasks/get. */
	json_object_del(task, "result");
	json_object_del(task, "error");
	json_object_del(task, "inputRequests");
	json_object_set_new(task, "resultType", json_string("task"));
	return mcp_call_answer(call, task);
}

static const struct mcp_done *get(struct mcp_call *call)
{
	struct err e = ERR_INIT;
	json_t *task;
	if (mcp_methods_tasks_read(call->server, call->name, &task, &e) < 0)
		return fail(call, &e);
	return mcp_call_answer(call, task);
}

static const struct mcp_done *update(struct mcp_call *call)
{
	const struct mcp_server_config *config = &call->server->config;
	struct err e = ERR_INIT;
	json_t *task;
	int rc = mcp_methods_tasks_read(call->server, call->name, &task, &e);
	if (rc < 0)
		return fail(call, &e);
	json_decref(task);
	if (config->tasks->update)
		rc = config->tasks->update(config->user, call->name, json_object_get(call->message.params, "inputResponses"), &e);
	return rc < 0 ? fail(call, &e) : mcp_call_answer(call, json_object());
}

static const struct mcp_done *cancel(struct mcp_call *call)
{
	struct err e = ERR_INIT;
	if (call->server->config.tasks->cancel(call->server->config.user, call->name, &e) < 0)
		return fail(call, &e);
	return mcp_call_answer(call, json_object());
}

/* The owner's hooks may ask a database, so they run on the pool. */
const struct mcp_done *mcp_methods_tasks(struct mcp_call *call)
{
	const char *method = call->message.method;
	const struct mcp_done *done;
	int updates = strcmp(method, "tasks/update") == 0;
	if (updates && !json_is_object(json_object_get(call->message.params, "inputResponses")))
		return mcp_call_fail(call, MCP_INVALID_PARAMS, "tasks/update needs params.inputResponses, an object");
	if (!mcp_call_client_has_tasks(call))
		return mcp_call_need_tasks(call);
	call->name = mcp_call_param(call, "taskId", &done);
	if (call->name == NULL)
		return done;
	return mcp_call_run_later(call, updates ? update : strcmp(method, "tasks/cancel") == 0 ? cancel : get);
}
