/* tools: the MCP tools of peakd, one file each; JSON ends in this folder. A tool parses its (already schema-checked) arguments into
 * a struct or job fields, calls core, and shows what comes back: structured, with a short text for people and models. */
#ifndef PEAKD_DAEMON_TOOLS_TOOLS_H
#define PEAKD_DAEMON_TOOLS_TOOLS_H

#include <jansson.h>

#include "base/fields.h"
#include "core/record/job.h"
#include "core/record/store.h"
#include "daemon/app.h"
#include "mcp/call.h"
#include "mcp/registry.h"

/* Answers stay below about 2,000 tokens unless the client asks for more: bytes of one text. */
enum { TOOLS_TEXT_MAX = 6000 };

/* One entry; its schemas are schema/NAME.input.json and schema/NAME.output.json. */
struct tool {
	const char *name, *title, *description;
	unsigned flags;             /* of enum mcp_tool_flags */
	mcp_handler *handler;
};

extern const struct tool tool_context_create, tool_transformations, tool_transform, tool_transform_begin, tool_transform_submit,
	tool_edit, tool_validate, tool_tune, tool_compare, tool_profile,
	tool_workflow, tool_job, tool_devices, tool_draft;

/* Makes the server with all tools, resources and task hooks. */
int tools_server(struct app *app, struct mcp_server **ret_server, struct err *e);

/* --- what tools share ------------------------------------------------------------------------------------------------- */

struct app *tools_app(const struct mcp_call *call);
/* An argument; NULL (0, false) when it was not given. */
const char *tools_text(const struct mcp_call *call, const char *key);
json_int_t tools_int(const struct mcp_call *call, const char *key, json_int_t or_else);
int tools_flag(const struct mcp_call *call, const char *key);
/* The error as a result that the model reads. */
const struct mcp_done *tools_refuse(struct mcp_call *call, const struct err *e);
/* The checkpoint that argument `at` names; *ret_workflow (may be NULL) is the workflow to advance when `at` is one's plain name,
 * else "" ; free(). */
int tools_at(const struct mcp_call *call, struct db *db, int64_t *ret_checkpoint, char **ret_workflow, struct err *e);
/* Runs a handler with a database handle. */
const struct mcp_done *tools_with_db(struct mcp_call *call, const struct mcp_done *(*handler)(struct mcp_call *, struct db *));
/* Starts a job of this kind and answers with it: as a task where the client has tasks, else when it ends or after wait_s. Its request
 * is the call's arguments, `at` resolved into "checkpoint" and "workflow" ("" when `at` is no workflow's plain name). */
const struct mcp_done *tools_start(struct mcp_call *call, const char *kind);
/* A page of a long text: from character offset `from` (argument, default 0), at most `limit` bytes (argument, default
 * TOOLS_TEXT_MAX), ending at a line's end where there is one, with a note behind it when more follows. free(). */
char *tools_page(const struct mcp_call *call, const char *text);
/* join.c: with the argument `resume`, the job of this kind that has the same request and has not ended; one that was interrupted is queued
 * again. *ret_id: free(); NULL when there is none. -ERR_CONFLICT when one with another request is at work on the same checkpoint. */
int tools_join(struct app *app, struct db *db, const char *kind, const struct fields *request, char **ret_id, struct err *e);
/* Waits for a job that exists, as tools_start does. */
const struct mcp_done *tools_wait(struct mcp_call *call, const char *job, int fresh);

/* --- show.c: rows as JSON and words -------------------------------------------------------------------------------------- */

/* A job as the job tools answer it; *ret_text (free()) for people. New reference. */
json_t *tools_show_job(struct app *app, struct db *db, const struct job *job, char **ret_text);
/* One line of a list of jobs: without its result, the message cut, and of one that has not ended its workflow. New reference. */
json_t *tools_show_job_line(struct db *db, const struct job *job);
/* The first `limit` checkpoints of a log, newest first, with best times, speed-ups over the root and over the parent. New reference. */
struct checkpoint_list;
json_t *tools_show_log(struct db *db, const struct checkpoint_list *log, size_t limit);
/* "0.2714 ms", "13.2 us". */
char *tools_show_ns(double ns, char text[32]);

#endif
