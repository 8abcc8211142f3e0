/* transform: the tool; the work is core/work_transform. */
#include "daemon/tools/tools.h"

#include <stdlib.h>

static const struct mcp_done *call_with(struct mcp_call *call, struct db *db)
{
	struct fields request = FIELDS_INIT;
	struct err e = ERR_INIT;
	int64_t checkpoint;
	char *workflow;
	const struct mcp_done *done;
	if (tools_text(call, "transformation") == NULL && tools_text(call, "pending") == NULL)
		return mcp_call_refuse(call, "transformation: give a name (see transformations) or a sentence");
	if (tools_at(call, db, &checkpoint, &workflow, &e) < 0)
		return tools_refuse(call, &e);
	fields_setf(&request, "checkpoint", "%lld", (long long)checkpoint);
	fields_set(&request, "workflow", workflow);
	tools_copy(call, &request, "transformation", "model", "device", "samples", "pending", NULL);
	done = tools_start(call, db, "transform", &request);
	fields_fini(&request);
	free(workflow);
	return done;
}

static const struct mcp_done *handler(struct mcp_call *call)
{
	return tools_with_db(call, call_with);
}

const struct tool tool_transform = {
	.name = "transform", .title = "Transform a checkpoint",
	.description = "Let the configured model carry out a natural transformation (a name from `transformations`, or your own sentence) "
	               "on a checkpoint, pass by pass, with repair; the result is compiled, validated and becomes a new checkpoint. Name a "
	               "workflow in `at` to advance it. Answers with the checkpoint or a job id (then: job wait). Next: tune it. Without a "
	               "model: transform_begin.",
	.flags = MCP_TOOL_OPEN_WORLD, .handler = handler,
};
