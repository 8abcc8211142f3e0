/* tools: the MCP tools of peakd; JSON ends in this folder. A tool reads its arguments, which were checked against its schema, into
 * a struct, calls core, and shows what comes back: structured, with a short text for people and models. */
#ifndef PEAKD_DAEMON_TOOLS_TOOLS_H
#define PEAKD_DAEMON_TOOLS_TOOLS_H

#include <jansson.h>

#include "core/record/job.h"
#include "core/record/store.h"
#include "daemon/app.h"
#include "mcp/call.h"
#include "mcp/registry.h"

/* Answers stay below about 2,000 tokens unless the client asks for more: bytes of one text. */
enum { TOOLS_TEXT_MAX = 6000 };

/* One entry; its schemas are schema/NAME.input.json and schema/NAME.output.json. A tool whose answer is a job's has `kind` instead
 * of the latter: its output schema is made from the layout of the kind's result. One whose answer is
 * a text alone has neither. */
struct tool {
	const char *name, *title, *description;
	const char *kind; /* of its job; NULL: it answers by itself */
	const char *ui;   /* as in struct mcp_tool */
	const char *set;  /* the toolset that it belongs to; NULL: it reads, and is always offered */
	unsigned flags;   /* of enum mcp_tool_flags */
	/* One of both, or neither: then a call starts a job of its kind. */
	mcp_handler *handler;
	const struct mcp_done *(*answer)(struct mcp_call *call, struct db *db);
};

extern const struct tool tool_context_create, tool_draft, tool_transformations, tool_transform, tool_transform_begin,
	tool_transform_submit, tool_edit, tool_optimize, tool_workflow, tool_workflow_change, tool_job, tool_job_control,
	tool_read, tool_devices;

/* Makes the server with the tools that the configuration wants, and with all resources. ERR_INPUT: an unknown toolset. */
int tools_server(struct app *app, const struct app_config *config, struct mcp_server **ret_server, struct err *e);
/* Frees the server's table of tools, when the server is gone. */
void tools_free(struct app *app);

/* --- what tools share ------------------------------------------------------------------------------------------------- */

struct app *tools_app(const struct mcp_call *call);
/* Asks the person at the client to choose the argument `name` out of `take_choices`, [{const, title}]; tools_text gives the answer
 * when the handler runs again. NULL: there is nothing to choose from, the client cannot ask, or it did. */
const struct mcp_done *tools_choose(struct mcp_call *call, const char *name, const char *message, json_t *take_choices);
/* An argument; NULL (0, false) when it was not given. */
const char *tools_text(const struct mcp_call *call, const char *key);
json_int_t tools_int(const struct mcp_call *call, const char *key, json_int_t or_else);
int tools_flag(const struct mcp_call *call, const char *key);
/* A long text as the whole answer. It travels once: clients that are given a structure as well show the model nothing else. */
const struct mcp_done *tools_say(struct mcp_call *call, const char *text);
/* An answer out of the database; a refusal where something of it could not be read, since it would say too little. */
const struct mcp_done *tools_reply(struct mcp_call *call, const struct db *db, json_t *take_structured, const char *text);
/* The error as a result that the model reads. */
const struct mcp_done *tools_refuse(struct mcp_call *call, const struct err *e);
/* The checkpoint that argument `at` names; *ret_workflow (may be NULL) is the workflow to advance when `at` is one's plain name,
 * else "" ; free(). */
int tools_at(const struct mcp_call *call, struct db *db, int64_t *ret_checkpoint, char **ret_workflow, struct err *e);
/* The checkpoint to look at beside `id`: argument `with`, or the parent. */
int tools_other(const struct mcp_call *call, struct db *db, int64_t id, int64_t *ret_other, struct err *e);
/* Runs a handler with a database handle. */
const struct mcp_done *tools_with_db(struct mcp_call *call, const struct mcp_done *(*handler)(struct mcp_call *, struct db *));
/* Resources about experts' notes (knowledge.c). */
const struct mcp_done *tools_knowledge_list(struct mcp_call *call);
const struct mcp_done *tools_knowledge_show(struct mcp_call *call);
/* Starts a job of this kind and answers with it: as a task where the client has tasks, else when it ends or after wait_s. Its
 * request is the call's arguments, `at` resolved into "checkpoint" and "workflow" ("" when `at` is no workflow's plain name). */
const struct mcp_done *tools_start(struct mcp_call *call, const char *kind);
/* A page of a long text: from character offset `from` (argument, default 0), at most `limit` bytes (argument, default
 * TOOLS_TEXT_MAX). It ends at a line's end where there is one, with a note behind it when more follows. free(). */
char *tools_page(const struct mcp_call *call, const char *text);
/* Whether a comparison is with PyTorch, which runs the reference. */
int tools_beside_pytorch(const struct mcp_call *call);
/* What can be known to be wrong with the call's arguments, about this checkpoint, before a job is made (check.c). */
int tools_check(const struct mcp_call *call, struct db *db, int64_t checkpoint, struct err *e);
/* Waits for a job that exists, as tools_start does; events after number `after` are sent on (negative: after the last one that any
 * answer about this job gave). */
const struct mcp_done *tools_wait(struct mcp_call *call, const char *job, int64_t after, int fresh);

/* --- the other files of this folder ------------------------------------------------------------------------------------------ */

/* What a search decided and why, as an answer of the job tool; named: the optimize job, or a checkpoint that it made. */
const struct mcp_done *optimize_explain(struct mcp_call *call, struct db *db, const char *named);
/* The winner of a checkpoint as source files, as an answer of the workflow tool. */
const struct mcp_done *export_answer(struct mcp_call *call, struct db *db, int64_t checkpoint);
/* One of its files, for peak://export/AT/DEVICE/FILE. */
const struct mcp_done *export_read(struct mcp_call *call);
/* A device as the devices tool and peak://device/… show it. New reference. */
struct facts;
json_t *devices_entry(const struct facts *facts);
/* Where a part of a checkpoint (or its source) is read: peak://checkpoint/AT/PART, names percent-encoded. free() */
char *resources_address(const char *at, const char *part);
extern const struct mcp_resource resources_table[];
extern const struct mcp_template resources_templates[];
/* For struct mcp_server_config: resources that are not in the table, and completion of names. */
void resources_list(void *user, size_t offset, size_t limit, json_t *array);
void resources_complete(void *user, const struct mcp_completion *what, json_t *candidates);
extern const struct mcp_prompt prompts_table[];
extern const struct mcp_task_hooks tasks_hooks;

/* --- show.c: rows as JSON and words -------------------------------------------------------------------------------------- */

/* A job as the job tools answer it; *ret_text (free()) for people. New reference. */
json_t *tools_show_job(struct db *db, const struct job *job, char **ret_text);
/* The schema of that answer for one kind of job. New reference. */
json_t *tools_show_schema(const struct engine_kind *kind);
/* One line of a list of jobs: without its result, the message cut, and of one that has not ended its workflow. New reference. */
json_t *tools_show_job_line(struct db *db, const struct job *job);
/* The first `limit` checkpoints of a log, newest first, with best times, speed-ups over the baseline and over the parent. New
 * reference. */
struct checkpoint_list;
json_t *tools_show_log(struct db *db, const struct checkpoint_list *log, size_t limit);

#endif
