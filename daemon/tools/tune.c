/* tune: the tool; the work is core/work_tune. */
#include "daemon/tools/tools.h"

static const struct mcp_done *handler(struct mcp_call *call)
{
	return tools_start(call, "tune");
}

const struct tool tool_tune = {
	.name = "tune", .title = "Tune a checkpoint",
	.description = "Find the fastest tuning parameters of a checkpoint on a device. Compiles variants in parallel, checks every one "
	               "that it times, times the leaders again and validates the winner. Answers with the best time, configuration and "
	               "what failed, or with a job id (then: job wait). Next: workflow log, or transform.",
	.flags = MCP_TOOL_IDEMPOTENT, .handler = handler,
};
