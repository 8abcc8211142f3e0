/* transform: the tool; the work is core/jobs/work_transform. */
#include "daemon/tools/tools.h"

static const struct mcp_done *handler(struct mcp_call *call)
{
	if (tools_text(call, "transformation") == NULL && tools_text(call, "pending") == NULL)
		return mcp_call_refuse(call, "transformation: give a name (see transformations) or a sentence");
	return tools_start(call, "transform");
}

const struct tool tool_transform = {
	.name = "transform", .title = "Transform a checkpoint",
	.description = "Let the configured model carry out a transformation (a name, or your own sentence) on a checkpoint, pass by "
	               "pass, with repair; the result is validated and becomes a new checkpoint. A workflow in `at` is advanced. "
	               "Answers with the checkpoint or a job id (then: job wait). Next: tune. Without a model: transform_begin.",
	.flags = MCP_TOOL_OPEN_WORLD, .handler = handler,
};
