/* transform: the tool; the work is core/jobs/work_transform. */
#include "daemon/tools/tools.h"

static const struct mcp_done *handler(struct mcp_call *call)
{
	bool pending = tools_text(call, "pending") != NULL, named = tools_text(call, "transformation") != NULL;
	if (pending && named)
		return mcp_call_refuse(call, "pending: this transformation has begun already: leave transformation out");
	if (!pending && tools_flag(call, "discard"))
		return mcp_call_refuse(call, "discard: name the half-done transformation to drop (pending)");
	if (!pending && (!named || tools_text(call, "at") == NULL))
		return mcp_call_refuse(call, "give a checkpoint (at) and a transformation (a name, see "
					     "transformations, or a sentence), or the "
					     "half-done one to continue (pending)");
	return tools_start(call, "transform");
}

const struct tool tool_transform = {
	.name = "transform",
	.kind = "transform",
	.title = "Transform a checkpoint",
	.description = "Let the configured model apply a transformation (a name or your own sentence) to a checkpoint, pass "
		       "by pass, with repair. The validated result is a new checkpoint and advances the workflow in `at`. "
		       "Answers with it or a job id (then: job wait). Next: tune. Without a model: transform_begin.",
	.set = "transform",
	.flags = MCP_TOOL_OPEN_WORLD,
	.handler = handler,
};
