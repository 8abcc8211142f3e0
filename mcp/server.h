/* server: one MCP server: what it offers, the threads that handle calls, and who is notified.
 *
 * The owner makes one with mcp_server_new and gives it to any number of transports (mcp/stdio.h, mcp/http.h) at once.
 * Both protocol eras are served: requests with 2026-07-28 metadata without a session, the rest after an `initialize`.
 *
 * The way of a message through mcp/, which knows nothing of kernels and includes base/ only:
 *
 *     stdio, http           a transport cuts out one message and names the stream where the answer goes
 *     server, jsonrpc       reads it: a notification, a response, or a request of one of the eras
 *     modern, legacy        check what their era demands (headers; session) and find the method in their table
 *     methods, methods_*    tools, resources, prompts, tasks: check the arguments (schema, registry), make a call
 *     pool                  runs the owner's handler on a thread; a quick tool runs where it was read
 *     call, call_reply      the handler's view of the request; its answer goes to the stream
 *     server_subscriptions  what the owner announces goes to subscribers and sessions */
#ifndef PEAKD_MCP_SERVER_H
#define PEAKD_MCP_SERVER_H

#include "base/err.h"
#include "mcp/call.h"
#include "mcp/registry.h"

struct mcp_server;

/* Everything may be 0 or NULL except name and version. Strings and tables are borrowed for the server's life. More than 20
 * fields: this is all that an owner says of a server. */
struct mcp_server_config {
	const char *name;  /* as the server calls itself */
	const char *title; /* for people */
	const char *version;
	const char *website;
	const char *icon;             /* an SVG as a data: URI of base64 */
	const char *missing_tools;    /* why a tool that is not there may be missing, for messages */
	const char *instructions;     /* for the model: what this server is for, how to begin */
	void *user;                   /* handed to handlers and hooks */
	const struct mcp_tool *tools; /* NULL-terminated tables; a NULL table: the feature is not offered */
	const struct mcp_resource *resources;
	const struct mcp_template *templates;
	const struct mcp_prompt *prompts;
	/* Appends resource objects {uri, name, …} that are not in the table, from the offset-th on, at most `limit`. */
	void (*list_resources)(void *user, size_t offset, size_t limit, json_t *array);
	/* Appends candidate strings; the library keeps those that contain the value, best first, at most 100. */
	void (*complete)(void *user, const struct mcp_completion *what, json_t *candidates);
	const struct mcp_task_hooks *tasks; /* NULL: the tasks extension is not offered */
	int logging;                        /* true: handlers use mcp_call_log */
	/* Somebody began to listen to tasks or resources (mcp_server_watched). They may have changed before, so the owner
	 * announces them as they are now. NULL: nobody is told. Must be quick. */
	void (*listened)(void *user);
	int list_changed;   /* true: tools, prompts or the list of resources may change */
	int threads;        /* that run handlers; 0: 8 */
	int max_calls;      /* requests at once, pending ones and subscriptions too; more are refused; 0: 1024 */
	int max_depth;      /* of nested JSON; 0: 64 */
	size_t max_message; /* bytes of one message; 0: 8 MiB */
	size_t page;        /* entries of one page of a list; 0: 100 */
	int max_sessions;   /* legacy HTTP sessions: the longest idle makes room; when all are busy, a new one is refused.
	                     * 0: 256 */
};

/* Checks the tables (names, schemas) and starts the threads. ERR_INPUT names the wrong entry. */
int mcp_server_new(const struct mcp_server_config *config, struct mcp_server **ret_server, struct err *e);
/* Cancels what still runs, waits for the handlers, frees. Transports must have been stopped. NULL is allowed. */
void mcp_server_free(struct mcp_server *server);

/* Notifications, from any thread; they go to those who subscribed and never wait for a slow client. */
void mcp_server_list_changed(struct mcp_server *server, const char *what); /* "tools", "prompts" or "resources" */
void mcp_server_resource_updated(struct mcp_server *server, const char *uri);
/* Sends the task's present state (from the get hook, on the caller's thread) to those who listen for it. */
void mcp_server_task_updated(struct mcp_server *server, const char *task_id);

/* What anybody listens to at present: each(arg, task_id, NULL) for tasks, each(arg, NULL, uri) for resources. On this
 * thread, out of any lock; the same one may come more than once. */
void mcp_server_watched(struct mcp_server *server, void (*each)(void *arg, const char *task_id, const char *uri), void *arg);

/* Figures for /metrics; all since the start but the first two. */
struct mcp_server_stats {
	unsigned long running;   /* calls with a handler or pending */
	unsigned long sessions;  /* legacy HTTP sessions */
	unsigned long requests;  /* requests received */
	unsigned long errors;    /* answered with a protocol error */
	unsigned long cancelled; /* calls cancelled */
};
struct mcp_server_stats mcp_server_stats(struct mcp_server *server);

#endif
