/* compare: the tool; the work is core/jobs/work_compare. */
#include "daemon/tools/tools.h"

static const struct mcp_done *handler(struct mcp_call *call)
{
	return tools_start(call, "compare");
}

const struct tool tool_compare = {
	.name = "compare", .title = "Compare two checkpoints",
	.description = "Is B faster than A? Both at their best configuration, checked, timed alternately in one process. Answers for each size "
	               "with the verdict on B (faster, slower, same within 1 % or 0.2 us, unclear), the ratio of times and its 95 % interval. "
	               "Next: profile, or transform.",
	.flags = MCP_TOOL_IDEMPOTENT, .handler = handler,
};
