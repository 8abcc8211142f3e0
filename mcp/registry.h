/* registry: what a server offers, as tables that its owner writes: tools, resources, templates, prompts.
 *
 * The owner (a daemon, a test program) fills these tables with literals. The server keeps pointers to them, so they must
 * live as long as it does. Every table ends with an entry whose first field is NULL. Handlers are explained in
 * mcp/call.h. Lists are sent in the order of the tables. */
#ifndef PEAKD_MCP_REGISTRY_H
#define PEAKD_MCP_REGISTRY_H

#include <jansson.h>

#include "base/err.h"

struct mcp_call;
struct mcp_done;

/* A handler: replies, fails, asks, or declares itself pending; see mcp/call.h. Runs on a thread of the pool, a
 * MCP_TOOL_QUICK one on the thread that read the request. */
typedef const struct mcp_done *mcp_handler(struct mcp_call *call);

/* The first four are hints for clients (annotations of the same names, whose defaults are not sent). */
enum mcp_tool_flags {
	MCP_TOOL_READ_ONLY = 1 << 0,   /* readOnlyHint: changes nothing */
	MCP_TOOL_DESTRUCTIVE = 1 << 1, /* destructiveHint: may remove or overwrite */
	MCP_TOOL_IDEMPOTENT = 1 << 2,  /* idempotentHint: the same call twice is as good as once */
	MCP_TOOL_OPEN_WORLD = 1 << 3,  /* openWorldHint: talks to the world outside, e.g. to a model */
	MCP_TOOL_TASK_ONLY = 1 << 4,   /* answers with a task only: clients without the tasks extension get -32021 */
	MCP_TOOL_QUICK = 1 << 5,       /* the handler computes for microseconds and waits for nothing: it runs on the
	                                  transport's own thread, which saves two changes of threads */
	MCP_TOOL_UNCHECKED = 1 << 6,   /* the schemas are only shown, since they use keywords that mcp/schema.h does not
	                                  know; the handler checks its arguments itself */
};

struct mcp_tool {
	const char *name;          /* 1 to 64 of [A-Za-z0-9_.-] */
	const char *title;         /* for people; may be NULL */
	const char *description;   /* when to use it, what comes back, what to do next */
	const char *input_schema;  /* JSON Schema 2020-12 text, root of type object; NULL: no arguments */
	const char *output_schema; /* of the structured content, or NULL */
	const char *ui;            /* the resource ui://… that shows its answers to people (MCP Apps), or NULL */
	unsigned flags;            /* of enum mcp_tool_flags */
	mcp_handler *handler;      /* called with arguments that conform to input_schema */
};

struct mcp_resource {
	const char *uri;
	const char *name;
	const char *title; /* may be NULL, as all below */
	const char *description;
	const char *mime_type;
	mcp_handler *read; /* answers with mcp_call_reply_text or _absent */
	int ttl_ms;        /* how long clients may keep what was read; 0: it changes */
};

/* A family of resources: `{name}` stands for one path segment, `{+name}` for any rest (RFC 6570, levels 1 and 2). */
struct mcp_template {
	const char *uri_template;
	const char *name;
	const char *title;
	const char *description;
	const char *mime_type;
	mcp_handler *read; /* mcp_call_variable() gives what stands for each name */
	int ttl_ms;        /* as above */
};

struct mcp_prompt_argument {
	const char *name;
	const char *description; /* may be NULL */
	int required;
};

struct mcp_prompt {
	const char *name;
	const char *title;
	const char *description;
	const struct mcp_prompt_argument *arguments; /* ends with a NULL name; NULL: none */
	mcp_handler *get;                            /* answers with mcp_call_reply_messages; arguments are strings */
};

/* What a completion is for. */
struct mcp_completion {
	const char *prompt;       /* a prompt's name, or NULL */
	const char *uri_template; /* a template's (or resource's) URI, or NULL */
	const char *argument;     /* the argument or variable to complete */
	const char *value;        /* what is typed so far */
	const json_t *context;    /* the other arguments so far: object of strings, never NULL */
};

/* Durable work behind the tasks extension, by unguessable ids that the owner makes. Called on threads of the pool. */
struct mcp_task_hooks {
	/* A new object with status ("working", "input_required", "completed", "failed", "cancelled"), createdAt and
	 * lastUpdatedAt (ISO 8601), ttlMs (integer or null); maybe statusMessage and pollIntervalMs; and as its status
	 * wants it inputRequests, result (see mcp_call_result) or error {code, message}. The server adds taskId.
	 * ERR_NOT_FOUND for an unknown id. */
	int (*get)(void *user, const char *id, json_t **ret_task, struct err *e);
	/* Answers to the task's inputRequests, by key; ignores unknown keys and those answered before. NULL: it takes
	 * none. */
	int (*update)(void *user, const char *id, const json_t *responses, struct err *e);
	/* Asks for the end; returning 0 promises nothing about when. */
	int (*cancel)(void *user, const char *id, struct err *e);
};

/* The entry of this size with exactly that name or URI, which is its first field; NULL when there is none, or no table. */
const void *mcp_registry_find(const void *table, size_t size, const char *name);
/* The first template that matches; *ret_variables is a new object of decoded strings. */
const struct mcp_template *mcp_registry_template(const struct mcp_template *templates, const char *uri, json_t **ret_variables);

#endif
